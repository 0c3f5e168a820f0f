//! Sums, parts, stacks, scaling and diagonals of sparse matrices; operations of sparse vectors.
//!
//! | file | what it does |
//! |---|---|
//! | `add` | `alpha * A + beta * B` |
//! | `select` | large entries, triangles, rows and columns |
//! | `stack` | matrices one below the other, or side by side |
//! | `scale` | scales rows and columns |
//! | `sums` | sums of rows and columns, diagonals |
//! | `vectors` | operations of a sparse vector and a dense one |

mod add;
mod scale;
mod select;
mod stack;
mod sums;
mod vectors;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: super::SparseElement, I: super::SparseIndex>(
    registry: &mut crate::engines::worker::Registry,
) {
    super::made::register::<add::Add<T, I>>(registry);
    super::made::register::<select::Select<T, I>>(registry);
    registry.call::<stack::Stack<T, I>>();
    registry.call::<scale::Scale<T, I>>();
    registry.call::<sums::Sums<T, I>>();
    registry.call::<sums::Diagonal<T, I>>();
    registry.call::<vectors::Axpby<T, I>>();
    registry.call::<vectors::Gather<T, I>>();
    registry.call::<vectors::Scatter<T, I>>();
    registry.call::<vectors::Rot<T, I>>();
    registry.call::<vectors::Dot<T, I>>();
}

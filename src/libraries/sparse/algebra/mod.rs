//! Sums, parts, stacks, scaling and diagonals of sparse matrices; operations of sparse vectors.
//!
//! | file | what it does |
//! |---|---|
//! | `add` | `alpha * A + beta * B` |
//! | `select` | large entries, triangles, rows and columns |
//! | `stack` | matrices one below the other, or side by side |
//! | `scale` | rows and columns times factors |
//! | `sums` | sums of rows and columns, diagonals |
//! | `vectors` | a sparse vector and a dense one |

mod add;
mod scale;
mod select;
mod stack;
mod sums;
mod vectors;

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register<T: super::SparseElement, I: super::SparseIndex>(registry: &mut crate::worker::Registry) {
    super::made::register::<add::Add<T, I>>(registry);
    super::made::register::<select::Select<T, I>>(registry);
    registry.sparse::<stack::Stack<T, I>>();
    registry.sparse::<scale::Scale<T, I>>();
    registry.sparse::<sums::Sums<T, I>>();
    registry.sparse::<sums::Diagonal<T, I>>();
    registry.sparse::<vectors::Axpby<T, I>>();
    registry.sparse::<vectors::Gather<T, I>>();
    registry.sparse::<vectors::Scatter<T, I>>();
    registry.sparse::<vectors::Rot<T, I>>();
    registry.sparse::<vectors::Dot<T, I>>();
}

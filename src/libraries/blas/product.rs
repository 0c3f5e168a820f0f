//! The plain data of a product of matrices: what the layouts of its operands say to the library.

use super::matrix::{check_matrix, check_size, fills};
use super::{GemmElement, Transpose};
use crate::core::error::{Error, Result};
use crate::core::op::Cost;
use crate::device::tensor::Layout;
use crate::libraries::flags::Order;
use crate::libraries::operands::{Matrices, sizes};
#[cfg(feature = "host")]
use crate::numerics::GemmSpec;

/// One product of column-major matrices: `first` is `m x k`, `second` is `k x n`, C is `m x n`, each factor as its `trans` says.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: GemmElement")]
pub(super) struct Product<T: GemmElement> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Of the first and the second factor.
    pub(super) trans: [Transpose; 2],
    /// Leading dimensions of the first and the second factor, and of C.
    pub(super) ld: [usize; 3],
    /// Whether B is the first factor and A the second: for a row-major C, whose columns are those of the transposed product.
    pub(super) is_swapped: bool,
    pub(super) alpha: T::Scalar,
    pub(super) beta: T::Scalar,
}

/// The number of the matrices of a batch, and the elements from one to the next: of A, B and C.
pub(super) type Batch = (usize, [usize; 3]);

impl<T: GemmElement> Product<T> {
    /// Of A, B and C, of which the first two may be conjugated; with a batch if C has more than two axes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for shapes that do not agree and for layouts that the library cannot take;
    /// [`Error::Unsupported`] for the conjugate of a factor that it does not transpose.
    pub(super) fn of(
        [of_a, of_b, of_c]: [&Layout; 3],
        conjugate: [bool; 2],
        (alpha, beta): (T::Scalar, T::Scalar),
    ) -> Result<(Self, Option<Batch>)> {
        let c = Matrices::from_layout("c", of_c)?;
        let batch = of_c.shape().split_last_chunk::<2>().map_or(&[][..], |(batch, _)| batch);
        let (a, b) = (Matrices::along("a", of_a, batch)?, Matrices::along("b", of_b, batch)?);
        let (m, n, k) = sizes(&a, &b, &c)?;
        let [conj_a, conj_b] = conjugate.map(|conjugate| conjugate && T::DTYPE.is_complex());
        // A factor in the other order than C is read transposed, as one must be that is conjugated.
        let preferred = wanted(&a, conj_a).or_else(|| wanted(&b, conj_b)).unwrap_or(Order::Row);
        let (order, ldc) = c.lines("c", preferred)?;
        let factor = |name: &'static str, x: &Matrices, conjugate: bool| {
            let (own, ld) = x.lines(name, if conjugate { other(order) } else { order })?;
            match (own == order, conjugate) {
                (true, false) => Ok((Transpose::No, ld)),
                (false, false) => Ok((Transpose::Yes, ld)),
                (false, true) => Ok((Transpose::Conjugate, ld)),
                (true, true) => Err(unconjugated(name, own)),
            }
        };
        let ((trans_a, lda), (trans_b, ldb)) = (factor("a", &a, conj_a)?, factor("b", &b, conj_b)?);
        let product = match order {
            Order::Column => {
                Product { m, n, k, trans: [trans_a, trans_b], ld: [lda, ldb, ldc], is_swapped: false, alpha, beta }
            }
            Order::Row => {
                let (m, n, trans, ld) = (n, m, [trans_b, trans_a], [ldb, lda, ldc]);
                Product { m, n, k, trans, ld, is_swapped: true, alpha, beta }
            }
        };
        Ok((product, (of_c.rank() > 2).then_some((c.count, [a.stride, b.stride, c.stride]))))
    }

    /// What belongs to A and to B, of what belongs to the first and to the second factor; and the other way around.
    pub(super) fn factors<X>(&self, a: X, b: X) -> (X, X) {
        if self.is_swapped { (b, a) } else { (a, b) }
    }

    /// The rows and columns of the first factor, of the second one, and of C, as they lie in memory.
    pub(super) fn stored(&self) -> [(usize, usize); 3] {
        let [first, second] = self.trans;
        [first.stored(self.m, self.k), second.stored(self.k, self.n), (self.m, self.n)]
    }

    /// Rows, columns and leading dimension of A, B and C, as they lie in memory.
    pub(super) fn matrices(&self) -> [(&'static str, usize, usize, usize); 3] {
        let ([first, second, (m, n)], [ld_first, ld_second, ldc]) = (self.stored(), self.ld);
        let (((rows_a, cols_a), lda), ((rows_b, cols_b), ldb)) = self.factors((first, ld_first), (second, ld_second));
        [("a", rows_a, cols_a, lda), ("b", rows_b, cols_b, ldb), ("c", m, n, ldc)]
    }

    /// Whether nothing is written.
    pub(super) fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0
    }

    /// Whether the matrices of both lie in the same way.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let of = |x: &Self| (x.m, x.n, x.k, x.trans, x.ld, x.is_swapped);
        of(self) == of(other)
    }

    /// Checks the sizes.
    pub(super) fn check_sizes(&self) -> Result<()> {
        [("m", self.m), ("n", self.n), ("k", self.k)].into_iter().try_for_each(|(name, size)| check_size(name, size))
    }

    /// Checks that the matrices lie inside buffers of these numbers of elements.
    pub(super) fn check(&self, lengths: [usize; 3]) -> Result<()> {
        self.check_sizes()?;
        let mut all = self.matrices().into_iter().zip(lengths);
        all.try_for_each(|((name, rows, cols, ld), len)| check_matrix(name, rows, cols, ld, len))
    }

    /// Whether C has no gaps, and fills a buffer of `len` elements.
    pub(super) fn fills(&self, len: usize) -> bool {
        let [.., ldc] = self.ld;
        fills(self.m, self.n, ldc, len)
    }

    /// Whether C is not read, by its factor.
    pub(super) fn discards(&self) -> bool {
        self.beta == T::Scalar::default()
    }

    pub(super) fn cost(&self, out: usize) -> Cost {
        let (m, n, k) = (self.m as u64, self.n as u64, self.k as u64);
        let reads = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_mul(size_of::<T>() as u64);
        let writes = m.saturating_mul(n).saturating_mul(out as u64);
        Cost { flops: 2u64.saturating_mul(m).saturating_mul(n).saturating_mul(k), bytes: reads.saturating_add(writes) }
    }

    /// The specification for `numerics`, of the first and the second factor.
    #[cfg(feature = "host")]
    pub(super) fn on_host(&self, alpha: T::Scalar, beta: T::Scalar) -> GemmSpec<T::Scalar> {
        let (Product { m, n, k, .. }, [lda, ldb, ldc], [first, second]) = (*self, self.ld, self.trans);
        GemmSpec { m, n, k, op_a: first.on_host(), lda, op_b: second.on_host(), ldb, ldc, alpha, beta }
    }
}

fn other(order: Order) -> Order {
    match order {
        Order::Row => Order::Column,
        Order::Column => Order::Row,
    }
}

/// The order of C in which a factor is read transposed, if its conjugate is wanted and it has one order only.
fn wanted(x: &Matrices, conjugate: bool) -> Option<Order> {
    let own = |order| x.lines("x", order).ok().map(|(own, _)| own);
    let own = conjugate.then(|| own(Order::Row)).flatten().filter(|row| own(Order::Column) == Some(*row));
    own.map(other)
}

fn unconjugated(name: &str, own: Order) -> Error {
    let lines = if own == Order::Row { "rows" } else { "columns" };
    Error::unsupported(format!(
        "BLAS conjugates a factor only where it transposes it, but the {lines} of `{name}` are contiguous as those of `c` are: \
         multiply by `{name}.conj().eval(&device)?`, or write a `c` in the other order"
    ))
}

/// Whether a product that writes `c` reads this operand transposed, if it can be; `None` if it cannot read or write them.
#[cfg(feature = "tensor")]
pub(in crate::libraries) fn is_turned(operand: &Layout, c: &Layout) -> Option<bool> {
    let (order, _) = Matrices::from_layout("c", c).ok()?.lines("c", Order::Row).ok()?;
    let (own, _) = Matrices::from_layout("a", operand).ok()?.lines("a", other(order)).ok()?;
    Some(own != order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    type Z = Complex<f64>;

    fn rows(extents: &[usize]) -> Layout {
        Layout::row_major(extents).unwrap()
    }

    fn columns(extents: &[usize]) -> Layout {
        Layout::column_major(extents).unwrap()
    }

    fn product<T: GemmElement>(of: [&Layout; 3], conjugate: [bool; 2]) -> Result<(Product<T>, Option<Batch>)> {
        Product::of(of, conjugate, (T::ONE, T::Scalar::default()))
    }

    #[test]
    fn a_product_of_rows_is_the_transposed_one_of_columns() {
        let (of, _) = product::<f64>([&columns(&[2, 3]), &rows(&[3, 4]), &columns(&[2, 4])], [true; 2]).unwrap();
        assert_eq!((of.m, of.n, of.k, of.is_swapped), (2, 4, 3, false));
        assert_eq!((of.trans, of.ld), ([Transpose::No, Transpose::Yes], [2, 4, 2]), "a real number is its conjugate");
        let (of, batch) = product::<f64>([&columns(&[2, 3]), &rows(&[3, 4]), &rows(&[2, 4])], [false; 2]).unwrap();
        assert_eq!((of.m, of.n, of.k, of.is_swapped, batch), (4, 2, 3, true, None));
        assert_eq!((of.trans, of.ld), ([Transpose::No, Transpose::Yes], [4, 2, 4]));
        assert_eq!(of.matrices(), [("a", 2, 3, 2), ("b", 4, 3, 4), ("c", 4, 2, 4)]);
        let (of, batch) =
            product::<f64>([&rows(&[2, 3]), &rows(&[5, 1, 3, 4]), &rows(&[5, 1, 2, 4])], [false; 2]).unwrap();
        assert_eq!((batch, of.trans), (Some((5, [0, 12, 8])), [Transpose::No; 2]));
    }

    #[test]
    fn a_conjugate_is_read_where_a_factor_is_turned_and_else_refused_with_the_remedy() {
        let (a, c) = (columns(&[2, 3]), rows(&[2, 4]));
        let (of, _) = product::<Z>([&a, &columns(&[3, 4]), &c], [true, true]).unwrap();
        assert_eq!(of.trans, [Transpose::Conjugate; 2]);
        for (b, conjugate, name) in [(rows(&[3, 4]), [true, true], "`b`"), (columns(&[3, 4]), [true, false], "`a`")] {
            let a = if name == "`a`" { rows(&[2, 3]) } else { a.clone() };
            match product::<Z>([&a, &b, &c], conjugate) {
                Err(error @ Error::Unsupported { .. }) => {
                    let text = error.to_string();
                    assert!(text.contains(name) && text.contains(".conj().eval("), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
        // What has both orders is read in the one that serves.
        let line = rows(&[1, 4]);
        for (a, b) in
            [(rows(&[1, 3]), rows(&[3, 4])), (rows(&[1, 3]), columns(&[3, 4])), (columns(&[1, 3]), rows(&[3, 4]))]
        {
            let (of, _) = product::<Z>([&a, &b, &line], [true; 2]).unwrap();
            assert_eq!(of.trans, [Transpose::Conjugate; 2], "{a:?} {b:?}");
        }
        assert!(product::<Z>([&rows(&[0, 3]), &columns(&[3, 4]), &rows(&[0, 4])], [true; 2]).is_ok());
    }
}

//! A factor of the product, and the matrices, in the library's terms.

use super::super::Order;
use super::super::sizes::Layout;
use crate::libraries::blaslt::native::MatrixOf;

/// `CUBLAS_OP_C`.
pub(super) const CONJUGATE: u32 = 2;

/// A factor of the product.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) data_type: u32,
    pub(super) layout: Layout,
    /// `cublasOperation_t`.
    pub(super) trans: u32,
    pub(super) address: u64,
    pub(super) scale: u64,
    pub(super) outer: bool,
}

/// A leading dimension that is a multiple of this many elements meets every alignment.
const FAR: usize = 256;

/// A matrix in the library's terms.
pub(super) fn matrix(data_type: u32, layout: Layout) -> MatrixOf {
    let Layout { rows, columns, order, ld, stride, .. } = layout;
    // The leading dimension of a single line is not used, but may be huge. It is limited here, because the library's
    // arithmetic with it must not overflow.
    let (line, lines) = if order == Order::Row { (columns, rows) } else { (rows, columns) };
    let ld = if lines > 1 { ld } else { ld.min(line.max(1).next_multiple_of(FAR)) };
    let order = u32::from(order == Order::Row);
    let [rows, columns] = [rows, columns].map(|x| x as u64);
    MatrixOf { data_type, order, rows, columns, ld: ld as i64, stride: stride as i64 }
}

impl Side {
    /// The transpose of the factor.
    pub(super) fn transposed(self) -> Self {
        match self.trans {
            // A plain transpose changes the operation. If the factor is conjugated, the layout changes instead.
            CONJUGATE => Side { layout: self.layout.transposed(), ..self },
            trans => Side { trans: 1 - trans.min(1), ..self },
        }
    }

    /// The same factor in column order, for which the library has more algorithms, unless it is conjugated.
    pub(super) fn by_columns(self) -> Self {
        if self.layout.order == Order::Column || self.trans == CONJUGATE {
            return self;
        }
        Side { layout: self.layout.transposed(), ..self }.transposed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_line_has_a_next_one_no_farther_than_it_is_long() {
        const HUGE: usize = 1 << 61;
        let [by_columns, by_rows] = [Order::Column, Order::Row];
        for (order, [rows, columns], ld, told) in [
            (by_columns, [4, 1], HUGE, 256),
            (by_columns, [257, 1], HUGE, 512),
            (by_columns, [257, 1], 300, 300),
            (by_columns, [0, 5], HUGE, HUGE),
            (by_columns, [4, 0], HUGE, 256),
            (by_columns, [1, 2], HUGE, HUGE),
            (by_rows, [1, 4], HUGE, 256),
            (by_rows, [1, 4], 5, 5),
            (by_rows, [2, 1], HUGE, HUGE),
        ] {
            let layout = Layout { rows, columns, order, ld, ..Layout::default() };
            assert_eq!(matrix(0, layout).ld, told as i64, "{rows} x {columns}, {order:?}, {ld}");
        }
    }
}

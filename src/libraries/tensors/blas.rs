//! Products of tensors by cuBLAS.

use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::libraries::blas::{Blas, Gemm, GemmElement};
use crate::libraries::flags::{Order, Transpose};
use crate::libraries::operands::{Matrices, sizes, spread};

impl Blas {
    /// `C = alpha * A * B + beta * C` for the matrices of the last two axes ([`gemm`](Self::gemm)). The axes before are a
    /// batch ([`gemm_strided_batched`](Self::gemm_strided_batched)): those of A and B are broadcast to those of C. Nothing is
    /// copied: transposed views, parts of matrices, and one matrix for all of a batch are as good as any.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree; when neither the rows nor the columns of an operand are
    /// contiguous, or its batch is not at even distances: [`Device::contiguous`](crate::Device::contiguous) makes a copy that
    /// is; else as [`gemm`](Self::gemm). `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0])?;
    /// let b = device.tensor([2, 2], [1.0f64, 0.0, 1.0, 1.0])?;
    /// let c = device.full([3, 2, 2], 1.0f64)?;
    /// let part = c.part(|all| all.index(0, 1))?;
    /// let c = device.blas().gemm_tensor(2.0, a.transpose(), &b, 1.0, part)?.await_result()?;
    /// assert_eq!(device.show(c.index(0, 1)?)?.to_string(), "[[ 9.  7.]\n [13.  9.]]");
    /// assert_eq!(device.item(c.slice((2, 0, 0))?)?, 1.0);
    /// # Ok(()) }
    /// ```
    pub fn gemm_tensor<'a, 'b, T: GemmElement>(
        &self,
        alpha: T::Scalar,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        beta: T::Scalar,
        c: impl WritableTensor<T::Out>,
    ) -> Submitted<Tensor<T::Out>> {
        self.multiply([alpha, beta], [a.into(), b.into()], [false; 2], c.into())
    }

    /// As [`gemm_tensor`](Self::gemm_tensor), of the conjugates of operands, which a product takes where [`is_turned`] says so.
    pub(in crate::libraries) fn multiply<T: GemmElement>(
        &self,
        [alpha, beta]: [T::Scalar; 2],
        [a, b]: [TensorRef<'_, T>; 2],
        conjugate: [bool; 2],
        c: Part<T::Out>,
    ) -> Submitted<Tensor<T::Out>> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            Ok((a, b, Product::<T>::from_layouts([&of_a, &of_b], conjugate, c.layout())?))
        });
        let (a, b, product) = match made {
            Ok(made) => made,
            Err(error) => return Err(Rejected::new(error.in_op("gemm", "blas"), (c.into_tensor(),))),
        };
        let spec = product.spec.alpha(alpha).beta(beta);
        let (c, _, whole) = c.operand();
        whole.submitted(match product.batch {
            None => self.gemm(spec, a, b, c),
            Some((count, [stride_a, stride_b, stride_c])) => {
                let spec = spec.batch(count).stride_a(stride_a).stride_b(stride_b).stride_c(stride_c);
                self.gemm_strided_batched(spec, a, b, c)
            }
        })
    }

    /// The product of the matrices of the last two axes, as a new row-major tensor: NumPy's `a @ b`, with the batch axes
    /// broadcast ([`gemm_tensor`](Self::gemm_tensor)).
    ///
    /// # Errors
    /// As [`gemm_tensor`](Self::gemm_tensor) and [`Device::uninit_tensor`](crate::Device::uninit_tensor).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let gram = device.blas().product(&x, x.transpose())?.await_result()?;
    /// assert_eq!(device.show(&gram)?.to_string(), "[[14. 32.]\n [32. 77.]]");
    /// # Ok(()) }
    /// ```
    pub fn product<'a, 'b, T: GemmElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
    ) -> Result<PendingDispatch<Tensor<T::Out>>> {
        let (a, b) = (a.into(), b.into());
        let extents = match (a.shape(), b.shape()) {
            ([batch_a @ .., m, _], [batch_b @ .., _, n]) => {
                [&Layout::broadcast_extents(&[batch_a, batch_b])?[..], &[*m, *n]].concat()
            }
            _ => return Err(Error::invalid("a", "a product needs tensors of two axes at least")),
        };
        let c = self.device().uninit_tensor(extents)?;
        Ok(self.gemm_tensor(T::ONE, a, b, T::Scalar::default(), c)?)
    }
}

/// Whether a product that writes `c` reads this operand transposed; `None` if it cannot read or write them.
#[cfg(feature = "tensor")]
pub(in crate::libraries) fn is_turned(operand: &Layout, c: &Layout) -> Option<bool> {
    let (order, _) = Matrices::from_layout("c", c).ok()?.lines("c", Order::Row).ok()?;
    let (own, _) = Matrices::from_layout("a", operand).ok()?.lines("a", order).ok()?;
    Some(own != order)
}

/// A product, and the distances between the matrices of a batch, if there is one.
struct Product<T: GemmElement> {
    spec: Gemm<T>,
    batch: Option<(usize, [usize; 3])>,
}

impl<T: GemmElement> Product<T> {
    fn from_layouts([of_a, of_b]: [&Layout; 2], conjugate: [bool; 2], of_c: &Layout) -> Result<Self> {
        let a = Matrices::from_layout("a", &spread("a", of_a, of_c)?)?;
        let b = Matrices::from_layout("b", &spread("b", of_b, of_c)?)?;
        let c = Matrices::from_layout("c", of_c)?;
        let (m, n, k) = sizes(&a, &b, &c)?;
        let (order, ldc) = c.lines("c", Order::Row)?;
        let ((order_a, lda), (order_b, ldb)) = (a.lines("a", order)?, b.lines("b", order)?);
        // A matrix in the other order is, in this one, the transposed matrix.
        let turned = |other: Order, conjugate: bool| match (other == order, conjugate) {
            (true, false) => Ok(Transpose::No),
            (false, false) => Ok(Transpose::Yes),
            (false, true) => Ok(Transpose::Conjugate),
            (true, true) => Err(Error::unsupported("the conjugate of a matrix that a product does not transpose")),
        };
        let [conj_a, conj_b] = conjugate;
        let (trans_a, trans_b) = (turned(order_a, conj_a)?, turned(order_b, conj_b)?);
        let spec = Gemm::new(m, n, k).trans_a(trans_a).trans_b(trans_b).lda(lda).ldb(ldb).ldc(ldc);
        let spec = if order == Order::Row { spec.row_major() } else { spec };
        let batch = (of_c.rank() > 2).then_some((c.count, [a.stride, b.stride, c.stride]));
        Ok(Product { spec, batch })
    }
}

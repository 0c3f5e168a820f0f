//! Products of tensors by cuBLASLt.

use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, ReadableTensor, Tensor, WritableTensor};
use crate::libraries::blaslt::{BlasLt, Matmul, MatmulElement, MatmulTypes};
use crate::libraries::flags::Order;
use crate::libraries::operands::{Matrices, sizes, spread};

impl BlasLt {
    /// `D = A * B` for the matrices of the last two axes, of any supported combination of types ([`matmul`](Self::matmul)).
    /// The axes before are a batch: those of A and B are broadcast to those of D. Nothing is copied.
    ///
    /// # Errors
    /// As [`Blas::gemm_tensor`](crate::Blas::gemm_tensor) and [`matmul`](Self::matmul). `d` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (a, b) = (device.tensor([2, 2], [1i8, 2, 3, 4])?, device.tensor([1, 2], [100i8, 1])?);
    /// let d = device.blas_lt().matmul_tensor(&a, b.transpose(), device.uninit_tensor::<i32>([2, 1])?)?.await_result()?;
    /// assert_eq!(device.show(&d)?.to_string(), "[[102]\n [304]]");
    /// # Ok(()) }
    /// ```
    pub fn matmul_tensor<'a, 'b, A, B, D>(
        &self,
        a: impl ReadableTensor<'a, A>,
        b: impl ReadableTensor<'b, B>,
        d: impl WritableTensor<D>,
    ) -> Submitted<Tensor<D>>
    where
        A: MatmulElement<B, D>,
        B: Element,
        D: Element,
    {
        let (a, b, d) = (a.into(), b.into(), d.into());
        let made = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            Ok((a, b, spec::<<A::Types as MatmulTypes>::Scalar>(&of_a, &of_b, d.layout())?))
        });
        match made {
            Ok((a, b, spec)) => {
                let (d, _, whole) = d.operand();
                whole.submitted(self.matmul(spec, a, b, d))
            }
            Err(error) => Err(Rejected::new(error.in_op("matmul", "blaslt"), (d.into_tensor(),))),
        }
    }
}

fn spec<S: Element>(of_a: &Layout, of_b: &Layout, of_d: &Layout) -> Result<Matmul<S>> {
    let a = Matrices::from_layout("a", &spread("a", of_a, of_d)?)?;
    let b = Matrices::from_layout("b", &spread("b", of_b, of_d)?)?;
    let d = Matrices::from_layout("d", of_d)?;
    let (m, n, k) = sizes(&a, &b, &d)?;
    let (order_d, ldd) = d.lines("d", Order::Row)?;
    let ((order_a, lda), (order_b, ldb)) = (a.lines("a", order_d)?, b.lines("b", order_d)?);
    let spec = Matmul::new(m, n, k).order_a(order_a).order_b(order_b).order_c(order_d).order_d(order_d);
    let spec = spec.lda(lda).ldb(ldb).ldd(ldd);
    Ok(match of_d.rank() {
        2 => spec,
        _ => spec.batch(d.count).stride_a(a.stride).stride_b(b.stride).stride_d(d.stride),
    })
}

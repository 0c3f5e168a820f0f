//! The general matrix product.

use super::matrix::{check_matrix, check_size, fills};
use super::modes::Math;
#[cfg(feature = "blas")]
use super::routine::Queue;
use super::routine::Routine;
#[cfg(feature = "blas")]
use super::scalar::Scalar;
#[cfg(feature = "host")]
use super::scalar::value;
use super::scalar::{check_scalar, scalars};
use super::{Blas, Scaled, Transpose};
#[cfg(feature = "host")]
use crate::numerics::{GemmSpec, gemm::HostGemm};
use crate::op::{Cost, Spans};
use crate::{Complex, DeviceBuffer, Element, Error, In, Result, Submitted, bf16, f16};
use std::fmt::Debug;

/// `C = alpha * op(A) * op(B) + beta * C`: `op(A)` is `m x k`, `op(B)` is `k x n`, `C` is `m x n`, all column-major.
///
/// Unless set: nothing is transposed, leading dimensions leave no gaps, `alpha` is 1 and `beta` 0. The routine behind it
/// is `cublasGemmEx`; i8 products accumulate in i32 exactly (wrapping past its range).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Gemm<T: GemmElement> {
    m: usize,
    n: usize,
    k: usize,
    trans_a: Transpose,
    trans_b: Transpose,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    alpha: T::Scalar,
    beta: T::Scalar,
}

/// An element type that matrices are multiplied of: f32, f64, `Complex` of both, f16, bf16 (scalars in f32), and i8
/// (scalars and result in i32). Sealed, as [`Element`] is.
pub trait GemmElement: Element {
    /// The type of `alpha` and `beta`.
    type Scalar: Element;
    /// The type of `C`.
    type Out: Element;
    #[doc(hidden)]
    const ONE: Self::Scalar;
    /// The library's codes of the types of A, C and the computation.
    #[doc(hidden)]
    const CODES: GemmCodes;
    #[doc(hidden)]
    #[cfg(feature = "host")]
    fn multiply(spec: &crate::numerics::GemmSpec<Self::Scalar>, a: &[Self], b: &[Self], c: &mut [Self::Out]);
}

/// cuBLAS's codes for a product's types.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct GemmCodes {
    /// `cudaDataType` of A and B.
    pub input: u32,
    /// `cudaDataType` of C.
    pub output: u32,
    /// `cublasComputeType_t`.
    pub compute: u32,
}

#[cfg(feature = "blas")]
impl GemmCodes {
    /// `cublasComputeType_t` in a math mode.
    pub(super) fn compute_in(self, math: Math) -> u32 {
        const SINGLE: [u32; 2] = [0, 4];
        match math {
            // Each type's pedantic code follows the plain one.
            Math::Pedantic => self.compute + 1,
            Math::Tf32 if SINGLE.contains(&self.input) => 77, // 32F_FAST_TF32
            Math::Default | Math::Tf32 | Math::EmulatedBf16x9 => self.compute,
        }
    }
}

macro_rules! gemm_elements { ($($t:ty, $scalar:ty, $out:ty, $one:expr, $i:literal, $o:literal, $c:literal;)*) => { $(
    impl GemmElement for $t {
        type Scalar = $scalar;
        type Out = $out;
        const ONE: $scalar = $one;
        const CODES: GemmCodes = GemmCodes { input: $i, output: $o, compute: $c };
        #[cfg(feature = "host")]
        fn multiply(spec: &crate::numerics::GemmSpec<$scalar>, a: &[$t], b: &[$t], c: &mut [$out]) {
            <$t as HostGemm>::gemm(spec, a, b, c);
        }
    }
)* } }
// cudaDataType: R_32F 0, R_64F 1, R_16F 2, R_8I 3, C_32F 4, C_64F 5, R_32I 10, R_16BF 14;
// cublasComputeType_t: 32F 68, 64F 70, 32I 72.
gemm_elements! {
    f32, f32, f32, 1.0, 0, 0, 68;
    f64, f64, f64, 1.0, 1, 1, 70;
    Complex<f32>, Complex<f32>, Complex<f32>, Complex { re: 1.0, im: 0.0 }, 4, 4, 68;
    Complex<f64>, Complex<f64>, Complex<f64>, Complex { re: 1.0, im: 0.0 }, 5, 5, 70;
    f16, f32, f16, 1.0, 2, 2, 68;
    bf16, f32, bf16, 1.0, 14, 14, 68;
    i8, i32, i32, 1, 3, 10, 72;
}

impl<T: GemmElement> Gemm<T> {
    /// The plain product of an `m x k` and a `k x n` matrix.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Gemm {
            m,
            n,
            k,
            trans_a: Transpose::No,
            trans_b: Transpose::No,
            lda: None,
            ldb: None,
            ldc: None,
            alpha: T::ONE,
            beta: T::Scalar::default(),
        }
    }

    /// What is done to A before.
    pub fn trans_a(mut self, trans: Transpose) -> Self {
        self.trans_a = trans;
        self
    }

    /// What is done to B before.
    pub fn trans_b(mut self, trans: Transpose) -> Self {
        self.trans_b = trans;
        self
    }

    /// Elements between the columns of A as stored.
    pub fn lda(mut self, lda: usize) -> Self {
        self.lda = Some(lda);
        self
    }

    /// Elements between the columns of B as stored.
    pub fn ldb(mut self, ldb: usize) -> Self {
        self.ldb = Some(ldb);
        self
    }

    /// Elements between the columns of C.
    pub fn ldc(mut self, ldc: usize) -> Self {
        self.ldc = Some(ldc);
        self
    }

    /// Rows and columns of A and B as stored.
    fn stored(&self) -> [(usize, usize); 2] {
        [self.trans_a.stored(self.m, self.k), self.trans_b.stored(self.k, self.n)]
    }

    /// Leading dimensions of A, B and C.
    fn leading(&self) -> [usize; 3] {
        let [(rows_a, _), (rows_b, _)] = self.stored();
        [self.lda.unwrap_or(rows_a.max(1)), self.ldb.unwrap_or(rows_b.max(1)), self.ldc.unwrap_or(self.m.max(1))]
    }
}

scalars!(Gemm<T: GemmElement>, alpha: T::Scalar, beta: T::Scalar);

/// A product and where its scalars are.
struct Product<T: GemmElement> {
    spec: Gemm<T>,
    /// In device memory.
    scalars_at: bool,
}

impl<T: GemmElement> Routine for Product<T> {
    const NAME: &'static str = "gemm";
    type Reads = (T, T, Option<T::Scalar>, Option<T::Scalar>);
    type Output = DeviceBuffer<T::Out>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(T::Out,)>) -> Result<()> {
        let Gemm { m, n, k, .. } = self.spec;
        for (name, value) in [("m", m), ("n", n), ("k", k)] {
            check_size(name, value)?;
        }
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let [(rows_a, cols_a), (rows_b, cols_b)] = self.spec.stored();
        let [lda, ldb, ldc] = self.spec.leading();
        check_matrix("a", rows_a, cols_a, lda, a.len())?;
        check_matrix("b", rows_b, cols_b, ldb, b.len())?;
        check_matrix("c", m, n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T::Out,)>) -> bool {
        let ([_, _, ldc], Gemm { m, n, beta, .. }) = (self.spec.leading(), self.spec);
        !self.scalars_at && beta == T::Scalar::default() && fills(m, n, ldc, c.len())
    }

    fn cost(&self) -> Cost {
        let (m, n, k) = (self.spec.m as u64, self.spec.n as u64, self.spec.k as u64);
        let reads = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_mul(size_of::<T>() as u64);
        let writes = m.saturating_mul(n).saturating_mul(size_of::<T::Out>() as u64);
        Cost { flops: 2u64.saturating_mul(m).saturating_mul(n).saturating_mul(k), bytes: reads.saturating_add(writes) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, b, alpha, beta): (&[T], &[T], Option<&[T::Scalar]>, Option<&[T::Scalar]>),
        (c,): (&mut [T::Out],),
    ) -> Result<()> {
        let (Gemm { m, n, k, .. }, [lda, ldb, ldc]) = (self.spec, self.spec.leading());
        let (op_a, op_b) = (self.spec.trans_a.on_host(), self.spec.trans_b.on_host());
        let (alpha, beta) = (value(self.spec.alpha, alpha), value(self.spec.beta, beta));
        T::multiply(&GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha, beta }, a, b, c);
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (spec, (a, b, alpha, beta), (c,)) = (&self.spec, *queue.reads(), *queue.writes());
        if spec.m == 0 || spec.n == 0 {
            return Ok(());
        }
        let (alpha, beta) = (Scalar::new(spec.alpha, &alpha), Scalar::new(spec.beta, &beta));
        // Where alpha is 0 the library would still read A and B for some types, so that a NaN there came through.
        let k = if alpha.is_zero() { 0 } else { spec.k };
        let (mut a, mut b) = (a.address(), b.address());
        let [mut lda, mut ldb, ldc] = spec.leading();
        if size_of::<T>() == 1 {
            if self.scalars_at {
                return Err(Error::unsupported("scalars of 8-bit products are given by value"));
            }
            // The library multiplies 8-bit integers only where columns begin at multiples of four bytes.
            let [(rows_a, cols_a), (rows_b, cols_b)] = spec.stored();
            (a, lda) = queue.align_columns(a, rows_a, cols_a, lda, 4)?;
            (b, ldb) = queue.align_columns(b, rows_b, cols_b, ldb, 4)?;
        }
        let compute = T::CODES.compute_in(queue.math());
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked), which are alive until this work is done; scalars in host memory are read before the call returns.
        let status = unsafe {
            blas.api.gemm_ex(
                blas.handle,
                spec.trans_a.code::<T>(),
                spec.trans_b.code::<T>(),
                spec.m as i64,
                spec.n as i64,
                k as i64,
                alpha.pointer(),
                a as *const _,
                T::CODES.input,
                lda as i64,
                b as *const _,
                T::CODES.input,
                ldb as i64,
                beta.pointer(),
                c.address() as *mut _,
                T::CODES.output,
                ldc as i64,
                compute,
                -1,
            )
        };
        const NOT_SUPPORTED: i32 = 15;
        if size_of::<T>() == 1 && status.0 == NOT_SUPPORTED {
            return self.multiply_bytes(queue, k);
        }
        queue.blas_status("cublasGemmEx_64", status)
    }
}

#[cfg(feature = "blas")]
impl<T: GemmElement> Product<T> {
    /// What the library refuses of 8-bit integers, by our own kernel.
    fn multiply_bytes(&self, queue: &mut Queue<'_, '_, Self>, k: usize) -> Result<()> {
        let strides = |trans, ld| if trans == Transpose::No { (1, ld) } else { (ld, 1) };
        let (spec, [lda, ldb, ldc]) = (&self.spec, self.spec.leading());
        let (a, b) = (strides(spec.trans_a, lda), strides(spec.trans_b, ldb));
        let product = super::gemm_i8::Product { m: spec.m, n: spec.n, k, a, b, ldc };
        let ((a, b, _, _), (c,)) = (*queue.reads(), *queue.writes());
        let word = |scalar: &T::Scalar| bytemuck::bytes_of(scalar).try_into().map(u32::from_ne_bytes);
        match (word(&spec.alpha), word(&spec.beta)) {
            (Ok(alpha), Ok(beta)) => {
                product.enqueue(&mut **queue, (a.address(), b.address(), c.address()), (alpha, beta))
            }
            _ => Err(Error::library("the scalars of a product of 8-bit integers are 32-bit integers")),
        }
    }
}

impl Blas {
    /// The general matrix product, `C = alpha * op(A) * op(B) + beta * C`; see [`Gemm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small or a matrix does not lie inside its buffer; a
    /// stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, Transpose};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f32, 2.0, 3.0, 4.0])?.into_output(); // columns (1, 2) and (3, 4)
    /// let spec = Gemm::new(2, 2, 2).trans_b(Transpose::Yes).alpha(0.5);
    /// let c = device.blas().gemm(spec, &a, &a, device.uninit(4)?)?.await_result()?; // A * A^T / 2
    /// assert_eq!(device.download(&c)?.await_result()?, [5.0, 7.0, 7.0, 10.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemm<'a, T: GemmElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemm<T>>>,
        a: impl Into<In<'a, T>>,
        b: impl Into<In<'a, T>>,
        c: DeviceBuffer<T::Out>,
    ) -> Submitted<DeviceBuffer<T::Out>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let scalars_at = beta.is_some();
        self.submit(Product { spec, scalars_at }, (a.into(), b.into(), alpha, beta), (c,))
    }
}

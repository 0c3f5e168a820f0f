//! The general matrix product.

use super::Blas;
#[cfg(feature = "blas")]
use super::scalar::Aligned;
#[cfg(feature = "host")]
use crate::numerics::gemm::HostGemm;
use crate::op::{Cost, Op, Slices, SlicesMut, Spans};
use crate::{Complex, DeviceBuffer, Element, Enqueue, Error, In, Result, Submitted, Wire, bf16, f16};
use std::fmt::Debug;

/// What is done to a stored matrix before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Transpose {
    /// As stored.
    #[default]
    No,
    /// Transposed.
    Yes,
    /// Conjugated and transposed; the same as `Yes` for real types.
    Conjugate,
}

/// `C = alpha * op(A) * op(B) + beta * C`: `op(A)` is `m x k`, `op(B)` is `k x n`, `C` is `m x n`, all column-major.
///
/// Unless set: nothing is transposed, leading dimensions leave no gaps, `alpha` is 1 and `beta` 0. The routine behind it
/// is `cublasGemmEx`; i8 products accumulate in i32 exactly (wrapping past its range).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: GemmElement")]
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

    /// The factor of the product.
    pub fn alpha(mut self, alpha: T::Scalar) -> Self {
        self.alpha = alpha;
        self
    }

    /// The factor of C.
    pub fn beta(mut self, beta: T::Scalar) -> Self {
        self.beta = beta;
        self
    }

    /// Rows and columns of A and B as stored.
    fn stored(&self) -> [(usize, usize); 2] {
        let shape = |trans, rows, cols| if trans == Transpose::No { (rows, cols) } else { (cols, rows) };
        [shape(self.trans_a, self.m, self.k), shape(self.trans_b, self.k, self.n)]
    }

    /// Leading dimensions of A, B and C.
    fn leading(&self) -> [usize; 3] {
        let [(rows_a, _), (rows_b, _)] = self.stored();
        [self.lda.unwrap_or(rows_a.max(1)), self.ldb.unwrap_or(rows_b.max(1)), self.ldc.unwrap_or(self.m.max(1))]
    }
}

/// Elements that a column-major matrix spans; `None` past the address space.
pub(super) fn span(rows: usize, cols: usize, ld: usize) -> Option<usize> {
    if rows == 0 || cols == 0 { Some(0) } else { ld.checked_mul(cols - 1)?.checked_add(rows) }
}

/// Checks that a `rows x cols` matrix with leading dimension `ld` lies inside a buffer of `len` elements.
pub(super) fn check_matrix(name: &'static str, rows: usize, cols: usize, ld: usize, len: usize) -> Result<()> {
    const LEADING: [(&str, &str); 3] = [("a", "lda"), ("b", "ldb"), ("c", "ldc")];
    let leading = LEADING.iter().find(|(matrix, _)| *matrix == name).map_or("ld", |(_, ld)| ld);
    if ld < rows.max(1) {
        return Err(Error::invalid(leading, format!("{ld} is less than the {rows} rows of {name}, or than 1")));
    }
    if ld > i64::MAX as usize {
        return Err(Error::invalid(leading, format!("{ld} does not fit the library's 64-bit integers")));
    }
    match span(rows, cols, ld) {
        Some(need) if need <= len => Ok(()),
        Some(need) => Err(Error::invalid(
            name,
            format!("{len} elements do not hold a {rows} x {cols} matrix with {leading} = {ld}, which spans {need}"),
        )),
        None => Err(Error::invalid(name, format!("a {rows} x {cols} matrix with {leading} = {ld} overflows"))),
    }
}

impl<T: GemmElement> Op for Gemm<T> {
    const NAME: &'static str = "gemm";
    const LIBRARY: &'static str = "blas";
    type Reads = (T, T);
    type Output = DeviceBuffer<T::Out>;
    type Raw = ();

    fn check(&self, (a, b): &Spans<(T, T)>, (c,): &Spans<(T::Out,)>) -> Result<()> {
        for (name, value) in [("m", self.m), ("n", self.n), ("k", self.k)] {
            if value > i64::MAX as usize {
                return Err(Error::invalid(name, format!("{value} does not fit the library's 64-bit integers")));
            }
        }
        let [(rows_a, cols_a), (rows_b, cols_b)] = self.stored();
        let [lda, ldb, ldc] = self.leading();
        check_matrix("a", rows_a, cols_a, lda, a.len())?;
        check_matrix("b", rows_b, cols_b, ldb, b.len())?;
        check_matrix("c", self.m, self.n, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(T::Out,)>) -> bool {
        let [_, _, ldc] = self.leading();
        let gapless = ldc == self.m || self.n <= 1;
        self.beta == T::Scalar::default() && gapless && self.m.checked_mul(self.n) == Some(c.len())
    }

    fn cost(&self) -> Cost {
        let (m, n, k) = (self.m as u64, self.n as u64, self.k as u64);
        let reads = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_mul(size_of::<T>() as u64);
        let writes = m.saturating_mul(n).saturating_mul(size_of::<T::Out>() as u64);
        Cost { flops: 2u64.saturating_mul(m).saturating_mul(n).saturating_mul(k), bytes: reads.saturating_add(writes) }
    }

    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        #[cfg(feature = "host")]
        {
            use crate::numerics::{GemmSpec, Trans};
            let trans = |t| match t {
                Transpose::No => Trans::No,
                Transpose::Yes => Trans::Yes,
                Transpose::Conjugate => Trans::Conj,
            };
            let ((a, b), (c,), [lda, ldb, ldc]) = (reads, writes, self.leading());
            let (op_a, op_b) = (trans(self.trans_a), trans(self.trans_b));
            let (m, n, k, alpha, beta) = (self.m, self.n, self.k, self.alpha, self.beta);
            T::multiply(&GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha, beta }, a, b, c);
        }
        #[cfg(not(feature = "host"))]
        let _ = (reads, writes);
        Ok(())
    }

    #[cfg(feature = "blas")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if self.m == 0 || self.n == 0 {
            return Ok(());
        }
        // Where alpha is 0 the library would still read A and B for some types, so that a NaN there came through.
        let k = if self.alpha == T::Scalar::default() { 0 } else { self.k };
        let ((mut a, mut b), (c,)) = ((queue.reads().0.address(), queue.reads().1.address()), *queue.writes());
        let [mut lda, mut ldb, ldc] = self.leading();
        if size_of::<T>() == 1 {
            // The library multiplies 8-bit integers only where columns begin at multiples of four bytes.
            let [(rows_a, cols_a), (rows_b, cols_b)] = self.stored();
            (a, lda) = queue.align_columns(a, rows_a, cols_a, lda, 4)?;
            (b, ldb) = queue.align_columns(b, rows_b, cols_b, ldb, 4)?;
        }
        let code = |t| match t {
            Transpose::No => 0,
            Transpose::Yes => 1,
            // The library refuses to conjugate integers; for every real type it is the same as to transpose.
            Transpose::Conjugate if T::DTYPE.is_complex() => 2,
            Transpose::Conjugate => 1,
        };
        let blas = queue.blas(crate::cuda::PointerMode::Host)?;
        let (alpha, beta) = (Aligned(self.alpha), Aligned(self.beta));
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked), which are alive until this work is done; the scalars are read before the call returns.
        let status = unsafe {
            blas.api.gemm_ex(
                blas.handle,
                code(self.trans_a),
                code(self.trans_b),
                self.m as i64,
                self.n as i64,
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
                T::CODES.compute,
                -1,
            )
        };
        const NOT_SUPPORTED: i32 = 15;
        if size_of::<T>() == 1 && status.0 == NOT_SUPPORTED {
            return self.multiply_bytes(queue, k);
        }
        queue.blas_status("cublasGemmEx_64", status)
    }

    #[cfg(not(feature = "blas"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::unsupported("this build has no cuBLAS front (feature `blas`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "blas")]
impl<T: GemmElement> Gemm<T> {
    /// What the library refuses of 8-bit integers, by our own kernel.
    fn multiply_bytes(&self, queue: &mut Enqueue<'_, Self>, k: usize) -> Result<()> {
        let strides = |trans, ld| if trans == Transpose::No { (1, ld) } else { (ld, 1) };
        let [lda, ldb, ldc] = self.leading();
        let product = super::gemm_i8::Product {
            m: self.m,
            n: self.n,
            k,
            a: strides(self.trans_a, lda),
            b: strides(self.trans_b, ldb),
            ldc,
        };
        let ((a, b), (c,)) = (*queue.reads(), *queue.writes());
        let word = |scalar: &T::Scalar| bytemuck::bytes_of(scalar).try_into().map(u32::from_ne_bytes);
        match (word(&self.alpha), word(&self.beta)) {
            (Ok(alpha), Ok(beta)) => product.enqueue(queue, (a.address(), b.address(), c.address()), (alpha, beta)),
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
        spec: Gemm<T>,
        a: impl Into<In<'a, T>>,
        b: impl Into<In<'a, T>>,
        c: DeviceBuffer<T::Out>,
    ) -> Submitted<DeviceBuffer<T::Out>> {
        self.device.dispatch(spec, (a.into(), b.into()), (c,))
    }
}

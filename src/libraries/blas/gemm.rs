//! The general matrix product.

pub(super) use super::gemm_element::{Kind, Same, Single};
#[cfg(feature = "cuda")]
use super::gemm_i8::{Products, Where};
use super::prelude::*;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;
#[cfg(feature = "host")]
use crate::numerics::GemmSpec;

/// `C = alpha * op(A) * op(B) + beta * C`: `op(A)` is `m x k`, `op(B)` is `k x n`, `C` is `m x n`.
///
/// Unless set: matrices are column-major, nothing is transposed, leading dimensions leave no gaps, `alpha` is 1 and
/// `beta` 0. The routine behind it is `cublasGemmEx`; i8 products accumulate in i32 exactly (wrapping past its range).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "T: GemmElement")]
#[must_use]
pub struct Gemm<T: GemmElement> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) trans_a: Transpose,
    pub(super) trans_b: Transpose,
    row_major: bool,
    lda: Option<usize>,
    ldb: Option<usize>,
    ldc: Option<usize>,
    pub(super) alpha: T::Scalar,
    pub(super) beta: T::Scalar,
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
            row_major: false,
            lda: None,
            ldb: None,
            ldc: None,
            alpha: T::ONE,
            beta: T::Scalar::default(),
        }
    }

    /// All three matrices are row-major: element `(i, j)` of `A` is at `i * lda + j`, and leading dimensions are those of
    /// rows. Costs nothing: the transposed product is the same numbers in column-major order.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm};
    /// let device = Device::host()?;
    /// let a = device.upload([1.0f32, 2.0, 3.0, 4.0])?.into_output(); // rows (1, 2) and (3, 4)
    /// let b = device.upload([10.0f32, 100.0])?.into_output();
    /// let spec = Gemm::new(2, 1, 2).row_major();
    /// let c = device.blas().gemm(spec, &a, &b, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [210.0, 430.0]);
    /// # Ok(()) }
    /// ```
    pub fn row_major(mut self) -> Self {
        self.row_major = true;
        self
    }

    /// For A, B and C as stored: the elements of a line (a column, or a row in row-major order), and the number of
    /// lines.
    pub(super) fn stored(&self) -> [(usize, usize); 3] {
        let all = [self.trans_a.stored(self.m, self.k), self.trans_b.stored(self.k, self.n), (self.m, self.n)];
        all.map(|(rows, cols)| if self.row_major { (cols, rows) } else { (rows, cols) })
    }

    /// Leading dimensions of A, B and C.
    pub(super) fn leading(&self) -> [usize; 3] {
        let [a, b, c] = self.stored().map(|(line, _)| line.max(1));
        [self.lda.unwrap_or(a), self.ldb.unwrap_or(b), self.ldc.unwrap_or(c)]
    }

    /// The equivalent product in column-major order, its leading dimensions, and its factors. If this product is
    /// row-major, the factors are swapped.
    pub(super) fn column_major<X>(&self, a: X, b: X) -> (Self, [usize; 3], (X, X)) {
        let [lda, ldb, ldc] = self.leading();
        if !self.row_major {
            return (*self, [lda, ldb, ldc], (a, b));
        }
        let (m, n, trans_a, trans_b) = (self.n, self.m, self.trans_b, self.trans_a);
        let (lda, ldb) = (Some(ldb), Some(lda));
        let spec = Gemm { m, n, trans_a, trans_b, lda, ldb, ldc: Some(ldc), row_major: false, ..*self };
        (spec, spec.leading(), (b, a))
    }

    /// Checks the sizes.
    pub(super) fn check_sizes(&self) -> Result<()> {
        [("m", self.m), ("n", self.n), ("k", self.k)].into_iter().try_for_each(|(name, size)| check_size(name, size))
    }

    pub(super) fn cost(&self, out: usize) -> Cost {
        let (m, n, k) = (self.m as u64, self.n as u64, self.k as u64);
        let reads = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_mul(size_of::<T>() as u64);
        let writes = m.saturating_mul(n).saturating_mul(out as u64);
        Cost { flops: 2u64.saturating_mul(m).saturating_mul(n).saturating_mul(k), bytes: reads.saturating_add(writes) }
    }

    /// The specification for `numerics`; this product must be column-major.
    #[cfg(feature = "host")]
    pub(super) fn on_host(&self, alpha: T::Scalar, beta: T::Scalar) -> GemmSpec<T::Scalar> {
        let (Gemm { m, n, k, .. }, [lda, ldb, ldc]) = (*self, self.leading());
        let (op_a, op_b) = (self.trans_a.on_host(), self.trans_b.on_host());
        GemmSpec { m, n, k, op_a, lda, op_b, ldb, ldc, alpha, beta }
    }
}

setters!(Gemm<T: GemmElement> {
    /// What is done to A before the product.
    trans_a: Transpose;
    /// What is done to B before the product.
    trans_b: Transpose;
    /// Elements between the columns (in row-major order the rows) of A as stored.
    lda: usize;
    /// Elements between the columns (in row-major order the rows) of B as stored.
    ldb: usize;
    /// Elements between the columns (in row-major order the rows) of C.
    ldc: usize;
});
scalars!(Gemm<T: GemmElement>, alpha: T::Scalar, beta: T::Scalar);

/// A product, and where its scalars are.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
struct Product<T: GemmElement, K> {
    spec: Gemm<T>,
    /// Whether the scalars are in device memory.
    scalars_at: bool,
    _kind: PhantomData<K>,
}

impl<T: GemmElement, K: Kind<T>> Routine for Product<T, K> {
    const NAME: &'static str = if K::MIXED { "gemm_mixed" } else { "gemm" };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T::Scalar>, Option<T::Scalar>);
    type Output = DeviceBuffer<K::Out>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(K::Out,)>) -> Result<()> {
        self.spec.check_sizes()?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let [lda, ldb, ldc] = self.spec.leading();
        let [(line_a, lines_a), (line_b, lines_b), (line_c, lines_c)] = self.spec.stored();
        check_matrix("a", line_a, lines_a, lda, a.len())?;
        check_matrix("b", line_b, lines_b, ldb, b.len())?;
        check_matrix("c", line_c, lines_c, ldc, c.len())
    }

    fn overwrites(&self, (c,): &Spans<(K::Out,)>) -> bool {
        let ([_, _, ldc], [_, _, (line, lines)]) = (self.spec.leading(), self.spec.stored());
        !self.scalars_at && self.spec.beta == T::Scalar::default() && fills(line, lines, ldc, c.len())
    }

    fn cost(&self) -> Cost {
        self.spec.cost(size_of::<K::Out>())
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, b, alpha, beta): (&[T], &[T], Option<&[T::Scalar]>, Option<&[T::Scalar]>),
        (c,): (&mut [K::Out],),
    ) -> Result<()> {
        let (spec, _, (a, b)) = self.spec.column_major(a, b);
        K::multiply(&spec.on_host(value(spec.alpha, alpha), value(spec.beta, beta)), a, b, c);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        let scalars = (Scalar::new(self.spec.alpha, &alpha), Scalar::new(self.spec.beta, &beta));
        enqueue::<T, K, _>(queue, &self.spec, &scalars, (a.address(), b.address(), c.address()))
    }
}

/// The library does not support the call: `CUBLAS_STATUS_NOT_SUPPORTED`.
#[cfg(feature = "cuda")]
pub(super) const REFUSED: crate::engines::library::Code = crate::engines::library::Code(15);

/// Enqueues one product of matrices at these addresses.
#[cfg(feature = "cuda")]
pub(super) fn enqueue<T: GemmElement, K: Kind<T>, R: Routine>(
    queue: &mut Queue<'_, '_, R>,
    spec: &Gemm<T>,
    scalars: &(Scalar<T::Scalar>, Scalar<T::Scalar>),
    (a, b, c): (u64, u64, u64),
) -> Result<()> {
    let (alpha, beta) = scalars;
    let (spec, [mut lda, mut ldb, ldc], (mut a, mut b)) = spec.column_major(a, b);
    if spec.m == 0 || spec.n == 0 {
        return Ok(());
    }
    let bytes = size_of::<T>() == 1;
    // If alpha is 0, the library would still read A and B for some types, and a NaN in them would propagate.
    let k = if alpha.is_zero() { 0 } else { spec.k };
    let whole = [a, b, c];
    if bytes {
        // The library multiplies 8-bit integers only if columns begin at multiples of four bytes.
        let [(rows_a, cols_a), (rows_b, cols_b), _] = spec.stored();
        // SAFETY: both matrices lie inside their buffers (the routine's check), and their elements are bytes.
        unsafe {
            (a, lda) = queue.align_columns(a, rows_a, cols_a, lda, 4)?;
            (b, ldb) = queue.align_columns(b, rows_b, cols_b, ldb, 4)?;
        }
    }
    let compute = T::CODES.compute_in(queue.math());
    let blas = queue.blas(alpha.mode())?;
    // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers (the
    // routine's check), which are alive until this work is done; scalars in host memory are read before the call returns.
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
            c as *mut _,
            K::OUTPUT,
            ldc as i64,
            compute,
            -1,
        )
    };
    if bytes && status == REFUSED {
        // 8-bit products that the library refuses are computed by our own kernel, which needs no alignment.
        return Products::from_spec(&spec, scalars)?.enqueue(queue, Where::Even(whole, [0; 3]), 1);
    }
    handle::blas_status(queue, "cublasGemmEx_64", status)
}

impl Blas {
    /// The general matrix product, `C = alpha * op(A) * op(B) + beta * C`; see [`Gemm`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small or a matrix does not lie inside its buffer; a stale
    /// or foreign buffer. `c` comes back.
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
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T::Out>,
    ) -> Submitted<DeviceBuffer<T::Out>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let scalars_at = beta.is_some();
        self.submit(
            Product::<T, Same> { spec, scalars_at, _kind: PhantomData },
            (a.into(), b.into(), alpha, beta),
            (c,),
        )
    }

    /// The product of halves with the result in f32 (`cublasGemmEx`): nothing is rounded to a half; see [`Gemm`].
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, f16};
    /// let device = Device::host()?;
    /// let a = device.upload([f16::from_f32(300.0)])?.into_output();
    /// let c = device.blas().gemm_mixed(Gemm::new(1, 1, 1), &a, &a, device.uninit(1)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [90_000.0f32]); // an f16 ends at 65504
    /// # Ok(()) }
    /// ```
    pub fn gemm_mixed<'a, T: MixedElement>(
        &self,
        spec: impl Into<Scaled<'a, Gemm<T>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<f32>,
    ) -> Submitted<DeviceBuffer<f32>> {
        let Scaled { spec, alpha, beta } = spec.into();
        let scalars_at = beta.is_some();
        self.submit(
            Product::<T, Single> { spec, scalars_at, _kind: PhantomData },
            (a.into(), b.into(), alpha, beta),
            (c,),
        )
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn products<T: GemmElement>(registry: &mut crate::engines::worker::Registry) {
    registry.routine::<Product<T, Same>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn products_into_f32<T: MixedElement>(registry: &mut crate::engines::worker::Registry) {
    registry.routine::<Product<T, Single>>();
}

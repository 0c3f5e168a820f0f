//! The general matrix product, of two matrices or of batches.

pub(super) use super::gemm_element::{Kind, Same, Single};
#[cfg(feature = "cuda")]
use super::gemm_i8::{Products, Where};
use super::level3::Operand;
#[cfg(feature = "cuda")]
use super::level3::{apart, is_aligned};
use super::prelude::*;
use super::product::{Batch, Product};
use crate::core::buffer::Elems;
#[cfg(feature = "host")]
use crate::core::room::collected;
use crate::device::tensor::Part;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::{Called, handle};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// `C = alpha * A * B + beta * C`, of [`gemm`](Blas::gemm) and its kind: the factors, by default 1 and 0.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Complex, Device, Gemm};
/// let device = Device::host()?;
/// let a = device.tensor([2, 1], [Complex::new(1.0, 2.0), Complex::new(3.0, -1.0)])?;
/// let spec = Gemm::new().alpha(Complex::new(0.5, 0.0)).conjugate_a();
/// let c = device.blas().gemm(spec, a.transpose(), &a, device.uninit([1, 1])?)?; // half of the squared length
/// assert_eq!(device.to_vec(&c)?, [Complex::new(7.5, 0.0)]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Gemm<'a, T: GemmElement> {
    alpha: Numbers<'a, T::Scalar>,
    beta: Numbers<'a, T::Scalar>,
    conjugate: [bool; 2],
}

impl<T: GemmElement> Gemm<'_, T> {
    /// The plain product.
    pub fn new() -> Self {
        Gemm { alpha: T::ONE.into(), beta: T::Scalar::default().into(), conjugate: [false; 2] }
    }

    /// Multiplies the conjugate of A. BLAS conjugates a factor only where it transposes it: if the rows of C are contiguous, those of
    /// A must not be (a transposed view of rows is columns), and the other way around. Real numbers are their conjugates.
    pub fn conjugate_a(mut self) -> Self {
        let [a, _] = &mut self.conjugate;
        *a = true;
        self
    }

    /// Multiplies by the conjugate of B; else as [`conjugate_a`](Self::conjugate_a).
    pub fn conjugate_b(mut self) -> Self {
        let [_, b] = &mut self.conjugate;
        *b = true;
        self
    }

    /// The plain data of the product of operands with these layouts, and the factors that are on the device.
    #[expect(clippy::type_complexity, reason = "what is made of a specification")]
    pub(super) fn product(
        &self,
        layouts: [&Layout; 3],
    ) -> Result<(Product<T>, Option<Batch>, [Option<In<'_, T::Scalar>>; 2])> {
        let ((alpha, alpha_at), (beta, beta_at)) = (self.alpha.one("alpha")?, self.beta.one("beta")?);
        let (product, batch) = Product::of(layouts, self.conjugate, (alpha, beta))?;
        Ok((product, batch, [alpha_at, beta_at]))
    }
}

impl<T: GemmElement> Default for Gemm<'_, T> {
    fn default() -> Self {
        Gemm::new()
    }
}

factors!(Gemm<T: GemmElement>, alpha: T::Scalar, beta: T::Scalar);

/// A product, or one for each of a batch.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
struct Multiply<T: GemmElement, K> {
    product: Product<T>,
    batch: Option<Batch>,
    /// Whether beta is in device memory.
    beta_at: bool,
    _kind: PhantomData<K>,
}

/// What it reads.
type Reads<T> = (T, T, Option<<T as GemmElement>::Scalar>, Option<<T as GemmElement>::Scalar>);

impl<T: GemmElement, K: Kind<T>> Multiply<T, K> {
    /// The routine, and what it reads.
    fn new<'x>(
        spec: &'x Gemm<'_, T>,
        (a, b): (&'x TensorRef<'_, T>, &'x TensorRef<'_, T>),
        c: &Layout,
    ) -> Result<(Self, <Reads<T> as Elems>::Ins<'x>)> {
        let (product, batch, [alpha, beta]) = spec.product([a.layout(), b.layout(), c])?;
        let routine = Multiply { product, batch, beta_at: beta.is_some(), _kind: PhantomData };
        Ok((routine, (a.window()?, b.window()?, alpha, beta)))
    }

    /// Of a batch.
    fn operands(&self, strides: [usize; 3]) -> [Operand; 3] {
        let [a, b, c] = self.product.matrices();
        let of = |(name, rows, cols, ld), stride| Operand { name, rows, cols, ld, stride };
        let [stride_a, stride_b, stride_c] = strides;
        [of(a, stride_a), of(b, stride_b), of(c, stride_c)]
    }
}

impl<T: GemmElement, K: Kind<T>> Routine for Multiply<T, K> {
    const NAME: &'static str = if K::MIXED { "gemm_mixed" } else { "gemm" };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = Reads<T>;
    type Output = DeviceBuffer<K::Out>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(K::Out,)>) -> Result<()> {
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        if beta.is_some() != self.beta_at {
            // Only what was received can say so.
            return Err(Error::invalid("beta", "it is said to be a value and to be on the device"));
        }
        let lengths = [a.len(), b.len(), c.len()];
        let Some((count, strides)) = self.batch else { return self.product.check(lengths) };
        self.product.check_sizes()?;
        let mut all = self.operands(strides).into_iter().zip(lengths).zip([false, false, true]);
        all.try_for_each(|((operand, len), written)| operand.check(count, len, written))
    }

    fn overwrites(&self, (c,): &Spans<(K::Out,)>) -> bool {
        !self.beta_at
            && self.product.discards()
            && match self.batch {
                None => self.product.fills(c.len()),
                Some((count, strides)) => {
                    let [_, _, of_c] = self.operands(strides);
                    of_c.fills(count, c.len())
                }
            }
    }

    fn cost(&self) -> Cost {
        let (Cost { flops, bytes }, count) =
            (self.product.cost(size_of::<K::Out>()), self.batch.map_or(1, |(count, _)| count as u64));
        Cost { flops: flops.saturating_mul(count), bytes: bytes.saturating_mul(count) }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, alpha, beta): <Reads<T> as Elems>::Slices<'_>, (c,): (&mut [K::Out],)) -> Result<()> {
        let product = &self.product;
        let spec = product.on_host(value(product.alpha, alpha), value(product.beta, beta));
        let Some((count, [stride_a, stride_b, stride_c])) = self.batch else {
            let (a, b) = product.factors(a, b);
            K::multiply(&spec, a, b, c);
            return Ok(());
        };
        // The number of products that write nothing is not limited.
        if product.is_empty() || count == 0 {
            return Ok(());
        }
        let ((a, stride_a), (b, stride_b)) = product.factors((a, stride_a), (b, stride_b));
        let factors = batch::parts(a, stride_a, count).zip(batch::parts(b, stride_b, count));
        let items: Vec<_> = collected(factors.zip(batch::parts_mut(c, stride_c, count)))?;
        batch::each(items, spec.work(), |((a, b), c)| K::multiply(&spec, a, b, c));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        let (product, at) = (&self.product, (a.address(), b.address(), c.address()));
        if product.is_empty() || self.batch.is_some_and(|(count, _)| count == 0) {
            return Ok(());
        }
        let scalars = queue.scalars((product.alpha, &alpha), (product.beta, &beta))?;
        match self.batch {
            None => enqueue::<T, K, _>(queue, product, &scalars, at),
            Some(batch) => self.enqueue_batch(queue, batch, &scalars, at),
        }
    }
}

#[cfg(feature = "cuda")]
impl<T: GemmElement, K: Kind<T>> Multiply<T, K> {
    /// Enqueues a batch that is not empty.
    fn enqueue_batch(
        &self,
        queue: &mut Queue<'_, '_, Self>,
        (count, strides): Batch,
        scalars: &(Scalar<T::Scalar>, Scalar<T::Scalar>),
        (a, b, c): (u64, u64, u64),
    ) -> Result<()> {
        let product = &self.product;
        let bytes = (size_of::<T>() == 1).then(|| {
            let [of_a, of_b, of_c] = self.operands(strides);
            [of_a.places::<T>(count, a), of_b.places::<T>(count, b), of_c.places::<K::Out>(count, c)]
        });
        if let Some(all) = &bytes
            && !is_aligned::<T, K::Out>(all.each_ref(), product.ld)
        {
            return apart::<T, K, _>(queue, product, scalars, all.each_ref());
        }
        let [stride_a, stride_b, stride_c] = strides;
        let ((first, stride_first), (second, stride_second)) = product.factors((a, stride_a), (b, stride_b));
        let ((alpha, beta), [trans_first, trans_second], [ld_first, ld_second, ldc]) =
            (scalars, product.trans, product.ld);
        let k = if alpha.is_zero() { 0 } else { product.k };
        let compute = T::CODES.compute_in(queue.math());
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked), which are alive until this work is done; scalars in host memory are read before the call returns.
        let code = unsafe {
            blas.api.gemm_strided_batched_ex(
                blas.handle,
                trans_first.code::<T>(),
                trans_second.code::<T>(),
                product.m as i64,
                product.n as i64,
                k as i64,
                alpha.pointer(),
                first as *const _,
                T::CODES.input,
                ld_first as i64,
                stride_first as i64,
                second as *const _,
                T::CODES.input,
                ld_second as i64,
                stride_second as i64,
                beta.pointer(),
                c as *mut _,
                K::OUTPUT,
                ldc as i64,
                stride_c as i64,
                count as i64,
                compute,
                -1,
            )
        };
        if let (Some(all), Some(REFUSED)) = (&bytes, code) {
            return apart::<T, K, _>(queue, product, scalars, all.each_ref());
        }
        handle::blas_called(queue, Called { name: "cublasGemmStridedBatchedEx_64", code })
    }
}

/// The library does not support the call: `CUBLAS_STATUS_NOT_SUPPORTED`.
#[cfg(feature = "cuda")]
pub(super) const REFUSED: crate::engines::library::Code = crate::engines::library::Code(15);

/// Enqueues one product of matrices at these addresses.
#[cfg(feature = "cuda")]
pub(super) fn enqueue<T: GemmElement, K: Kind<T>, R: Routine>(
    queue: &mut Queue<'_, '_, R>,
    product: &Product<T>,
    scalars: &(Scalar<T::Scalar>, Scalar<T::Scalar>),
    (a, b, c): (u64, u64, u64),
) -> Result<()> {
    if product.is_empty() {
        return Ok(());
    }
    let ((alpha, beta), [mut lda, mut ldb, ldc], (mut a, mut b)) = (scalars, product.ld, product.factors(a, b));
    let bytes = size_of::<T>() == 1;
    // If alpha is 0, the library would still read A and B for some types, and a NaN in them would propagate.
    let k = if alpha.is_zero() { 0 } else { product.k };
    let whole = [a, b, c];
    if bytes {
        // The library multiplies 8-bit integers only if columns begin at multiples of four bytes.
        let [(rows_a, cols_a), (rows_b, cols_b), _] = product.stored();
        // SAFETY: both matrices lie inside their buffers (the routine's check), and their elements are bytes.
        unsafe {
            (a, lda) = queue.align_columns(a, rows_a, cols_a, lda, 4)?;
            (b, ldb) = queue.align_columns(b, rows_b, cols_b, ldb, 4)?;
        }
    }
    let ([trans_a, trans_b], compute) = (product.trans, T::CODES.compute_in(queue.math()));
    let blas = queue.blas(alpha.mode())?;
    // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers (the
    // routine's check), which are alive until this work is done; scalars in host memory are read before the call returns.
    let status = unsafe {
        blas.api.gemm_ex(
            blas.handle,
            trans_a.code::<T>(),
            trans_b.code::<T>(),
            product.m as i64,
            product.n as i64,
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
        return Products::new(product, scalars)?.enqueue(queue, Where::Even(whole, [0; 3]), 1);
    }
    handle::blas_status(queue, "cublasGemmEx_64", status)
}

impl Blas {
    /// `C = alpha * A * B + beta * C` for the matrices of the last two axes (`cublasGemmEx`); see [`Gemm`]. The axes before are a
    /// batch (`cublasGemmStridedBatchedEx`): those of A and B are broadcast to those of C. 8-bit integers are multiplied and added in
    /// i32, exactly (wrapping past its range).
    ///
    /// Nothing is copied: transposed views, parts of matrices, and one matrix for all of a batch are as good as any.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree; when neither the rows nor the columns of an operand are
    /// contiguous, or its batch is not at even distances: [`Device::contiguous`](crate::Device::contiguous) makes a copy that
    /// is. [`Error::Unsupported`] for a conjugate that BLAS has not. A stale or foreign tensor. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, tensor::Layout};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 4.0])?;
    /// let b = device.tensor([2, 2], [1.0f64, 0.0, 1.0, 1.0])?;
    /// let c = device.full([3, 2, 2], 1.0f64)?;
    /// let part = c.part(|all| all.index(0, 1))?;
    /// let c = device.blas().gemm(Gemm::new().alpha(2.0).beta(1.0), a.transpose(), &b, part)?.await_result()?;
    /// assert_eq!(device.show(c.index(0, 1)?)?.to_string(), "[[ 9.  7.]\n [13.  9.]]");
    /// assert_eq!(device.item(c.slice((2, 0, 0))?)?, 1.0);
    /// // A buffer with columns that are three elements apart.
    /// let columns = device.buffer([1.0, 2.0, 0.0, 3.0, 4.0, 0.0])?;
    /// let x = columns.view(Layout::columns(2, 2).ld(3))?;
    /// let squares = device.blas().gemm(Gemm::new(), &x, &x, device.uninit([2, 2])?)?;
    /// assert_eq!(device.show(&squares)?.to_string(), "[[ 7. 15.]\n [10. 22.]]");
    /// # Ok(()) }
    /// ```
    pub fn gemm<'a, 'b, T: GemmElement>(
        &self,
        spec: Gemm<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<T::Out>,
    ) -> Submitted<Tensor<T::Out>> {
        self.multiply::<T, Same>(&spec, (&a.into(), &b.into()), c.into())
    }

    /// As [`gemm`](Self::gemm), of halves with the result in f32: nothing is rounded to a half.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, f16};
    /// let device = Device::host()?;
    /// let a = device.tensor([1, 1], [f16::from_f32(300.0)])?;
    /// let c = device.blas().gemm_mixed(Gemm::new(), &a, &a, device.uninit([1, 1])?)?;
    /// assert_eq!(device.to_vec(&c)?, [90_000.0f32]); // an f16 ends at 65504
    /// # Ok(()) }
    /// ```
    pub fn gemm_mixed<'a, 'b, T: MixedElement>(
        &self,
        spec: Gemm<'_, T>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'b, T>,
        c: impl WritableTensor<f32>,
    ) -> Submitted<Tensor<f32>> {
        self.multiply::<T, Single>(&spec, (&a.into(), &b.into()), c.into())
    }

    fn multiply<T: GemmElement, K: Kind<T>>(
        &self,
        spec: &Gemm<'_, T>,
        factors: (&TensorRef<'_, T>, &TensorRef<'_, T>),
        c: Part<K::Out>,
    ) -> Submitted<Tensor<K::Out>> {
        self.writes(Multiply::<T, K>::new(spec, factors, c.layout()), c)
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn products<T: GemmElement>(registry: &mut crate::engines::worker::Registry) {
    registry.routine::<Multiply<T, Same>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn products_into_f32<T: MixedElement>(registry: &mut crate::engines::worker::Registry) {
    registry.routine::<Multiply<T, Single>>();
}

//! Batches of products at fixed distances: gemm, strided and batched.

#[cfg(feature = "cuda")]
use super::super::gemm::REFUSED;
use super::super::gemm::{Kind, Same, Single};
use super::super::prelude::*;
use super::Batched;
use super::batch::{Batch, Operand};
#[cfg(feature = "cuda")]
use super::gemm_bytes::{apart, is_aligned};
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "cuda")]
use crate::libraries::blas::native::handle;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Strided<T: GemmElement, K> {
    spec: Gemm<T>,
    batch: Batch,
    scalars_at: bool,
    _kind: PhantomData<K>,
}

impl<T: GemmElement, K> Strided<T, K> {
    /// Whether nothing is written. The number of such products is not limited.
    fn is_empty(&self) -> bool {
        self.spec.m == 0 || self.spec.n == 0 || self.batch.count == 0
    }

    fn operands(&self) -> [Operand; 3] {
        let (stored, leading) = (self.spec.stored(), self.spec.leading());
        let [(line_a, lines_a), (line_b, lines_b), (line_c, lines_c)] = stored;
        let [lda, ldb, ldc] = leading;
        let [stride_a, stride_b, stride_c] = self.batch.strides([(lda, lines_a), (ldb, lines_b), (ldc, lines_c)]);
        [
            Operand { name: "a", rows: line_a, cols: lines_a, ld: lda, stride: stride_a },
            Operand { name: "b", rows: line_b, cols: lines_b, ld: ldb, stride: stride_b },
            Operand { name: "c", rows: line_c, cols: lines_c, ld: ldc, stride: stride_c },
        ]
    }
}

impl<T: GemmElement, K: Kind<T>> Routine for Strided<T, K> {
    const NAME: &'static str = if K::MIXED { "gemm_mixed_strided_batched" } else { "gemm_strided_batched" };
    const OPERANDS: OperandNames = (&["a", "b", "alpha", "beta"], &["c"]);
    type Reads = (T, T, Option<T::Scalar>, Option<T::Scalar>);
    type Output = DeviceBuffer<K::Out>;
    type Raw = ();

    fn check(&self, (a, b, alpha, beta): &Spans<Self::Reads>, (c,): &Spans<(K::Out,)>) -> Result<()> {
        self.spec.check_sizes()?;
        check_scalar("alpha", alpha)?;
        check_scalar("beta", beta)?;
        let (count, [of_a, of_b, of_c]) = (self.batch.count, self.operands());
        of_a.check(count, a.len(), false)?;
        of_b.check(count, b.len(), false)?;
        of_c.check(count, c.len(), true)
    }

    fn overwrites(&self, (c,): &Spans<(K::Out,)>) -> bool {
        let [_, _, of_c] = self.operands();
        !self.scalars_at && self.spec.beta == T::Scalar::default() && of_c.fills(self.batch.count, c.len())
    }

    fn cost(&self) -> Cost {
        let (Cost { flops, bytes }, count) = (self.spec.cost(size_of::<K::Out>()), self.batch.count as u64);
        Cost { flops: flops.saturating_mul(count), bytes: bytes.saturating_mul(count) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, b, alpha, beta): (&[T], &[T], Option<&[T::Scalar]>, Option<&[T::Scalar]>),
        (c,): (&mut [K::Out],),
    ) -> Result<()> {
        let (count, [of_a, of_b, of_c]) = (self.batch.count, self.operands());
        if self.is_empty() {
            return Ok(());
        }
        let (spec, _, ((a, stride_a), (b, stride_b))) = self.spec.column_major((a, of_a.stride), (b, of_b.stride));
        let spec = spec.on_host(value(spec.alpha, alpha), value(spec.beta, beta));
        let factors = batch::parts(a, stride_a, count).zip(batch::parts(b, stride_b, count));
        let items: Vec<_> = collected(factors.zip(batch::parts_mut(c, of_c.stride, count)))?;
        batch::each(items, spec.work(), |((a, b), c)| K::multiply(&spec, a, b, c));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, b, alpha, beta), (c,)) = (*queue.reads(), *queue.writes());
        let (count, [of_a, of_b, of_c]) = (self.batch.count, self.operands());
        let scalars = (Scalar::new(self.spec.alpha, &alpha), Scalar::new(self.spec.beta, &beta));
        if self.is_empty() {
            return Ok(());
        }
        let bytes = (size_of::<T>() == 1).then(|| {
            let (a, b) = (of_a.places::<T>(count, a.address()), of_b.places::<T>(count, b.address()));
            [a, b, of_c.places::<K::Out>(count, c.address())]
        });
        if let Some(all) = &bytes
            && !is_aligned::<T, K::Out>(all.each_ref(), [of_a.ld, of_b.ld, of_c.ld])
        {
            return apart::<T, K, _>(queue, &self.spec, &scalars, all.each_ref());
        }
        let factors = ((a.address(), of_a.stride), (b.address(), of_b.stride));
        let (spec, [lda, ldb, ldc], ((a, stride_a), (b, stride_b))) = self.spec.column_major(factors.0, factors.1);
        let (alpha, beta) = &scalars;
        let k = if alpha.is_zero() { 0 } else { spec.k };
        let compute = T::CODES.compute_in(queue.math());
        let blas = queue.blas(alpha.mode())?;
        // SAFETY: the handle is bound to this slot's stream, which is leased; the matrices lie inside their buffers
        // (checked), which are alive until this work is done; scalars in host memory are read before the call returns.
        let code = unsafe {
            blas.api.gemm_strided_batched_ex(
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
                stride_a as i64,
                b as *const _,
                T::CODES.input,
                ldb as i64,
                stride_b as i64,
                beta.pointer(),
                c.address() as *mut _,
                K::OUTPUT,
                ldc as i64,
                of_c.stride as i64,
                count as i64,
                compute,
                -1,
            )
        };
        if let (Some(all), Some(REFUSED)) = (&bytes, code) {
            return apart::<T, K, _>(queue, &self.spec, &scalars, all.each_ref());
        }
        handle::blas_called(
            queue,
            crate::libraries::blas::native::Called { name: "cublasGemmStridedBatchedEx_64", code },
        )
    }
}

impl<T: GemmElement> Gemm<T> {
    /// `count` products of this shape, for [`Blas::gemm_strided_batched`].
    pub fn batch(self, count: usize) -> Batched<Self> {
        Batched::new(self, count)
    }
}

impl<T: GemmElement> Batched<Gemm<T>> {
    /// Reads both scalars of all products from device memory, each the first element, when the work runs.
    pub fn scalars_at<'a>(
        self,
        alpha: impl Readable<'a, T::Scalar>,
        beta: impl Readable<'a, T::Scalar>,
    ) -> Scaled<'a, Self> {
        Scaled { spec: self, alpha: Some(alpha.into()), beta: Some(beta.into()) }
    }
}

impl Blas {
    /// A product for each of a batch whose matrices lie at fixed distances (`cublasGemmStridedBatchedEx`); see
    /// [`Gemm::batch`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a leading dimension is too small, the matrices do
    /// not lie inside their buffers, or those of C overlap; a stale or foreign buffer. `c` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm};
    /// let device = Device::host()?;
    /// let a = device.upload([2.0f32])?.into_output();
    /// let b = device.upload([1.0f32, 2.0, 3.0])?.into_output();
    /// let spec = Gemm::new(1, 1, 1).batch(3).stride_a(0); // one A for all
    /// let c = device.blas().gemm_strided_batched(spec, &a, &b, device.uninit(3)?)?.await_result()?;
    /// assert_eq!(device.download(&c)?.await_result()?, [2.0, 4.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn gemm_strided_batched<'a, T: GemmElement>(
        &self,
        spec: impl Into<Scaled<'a, Batched<Gemm<T>>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<T::Out>,
    ) -> Submitted<DeviceBuffer<T::Out>> {
        let Scaled { spec: Batched { spec, batch }, alpha, beta } = spec.into();
        let scalars_at = beta.is_some();
        let routine = Strided::<T, Same> { spec, batch, scalars_at, _kind: PhantomData };
        self.submit(routine, (a.into(), b.into(), alpha, beta), (c,))
    }

    /// As [`gemm_strided_batched`](Self::gemm_strided_batched) for halves, with the results in f32.
    ///
    /// # Errors
    /// As [`gemm_strided_batched`](Self::gemm_strided_batched).
    pub fn gemm_mixed_strided_batched<'a, T: MixedElement>(
        &self,
        spec: impl Into<Scaled<'a, Batched<Gemm<T>>>>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        c: DeviceBuffer<f32>,
    ) -> Submitted<DeviceBuffer<f32>> {
        let Scaled { spec: Batched { spec, batch }, alpha, beta } = spec.into();
        let scalars_at = beta.is_some();
        let routine = Strided::<T, Single> { spec, batch, scalars_at, _kind: PhantomData };
        self.submit(routine, (a.into(), b.into(), alpha, beta), (c,))
    }
}

//! What all routines have in common, so that the file of a routine contains only its data, its checks, one library call
//! and one host call.

use super::modes::Modes;
use super::{Blas, Submitted};
use crate::core::buffer::{DeviceBuffer, Elems};
use crate::core::element::{DType, Element};
use crate::core::error::{Rejected, Result};
use crate::core::op::{Bufs, Cost, OperandNames, Output, Raw, Spans, Wire};
use crate::device::tensor::{Part, Tensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{HostOf, Op, Slices, SlicesMut, WritesOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;

/// One routine as plain data, which can be sent to a worker process. [`Call`] makes an [`Op`] from it, with the modes
/// of its front.
pub(super) trait Routine: Serialize + DeserializeOwned + Sized + Send + Sync + 'static {
    /// The routine's name.
    const NAME: &'static str;
    /// As [`Op::OPERANDS`].
    const OPERANDS: OperandNames;
    /// The element types it reads.
    type Reads: Elems;
    /// Its output.
    type Output: Output;
    /// The part of the output that the device leaves for the host.
    type Raw: Raw + Into<<Self::Output as Output>::Host>;

    /// As [`Op::check`].
    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<Writes<Self>>) -> Result<()>;

    /// As [`Op::overwrites`].
    fn overwrites(&self, writes: &Spans<Writes<Self>>) -> bool {
        let _ = writes;
        false
    }

    /// As [`Op::overwrites_each`].
    fn overwrites_each(&self, writes: &Spans<Writes<Self>>, index: usize) -> bool {
        let _ = index;
        self.overwrites(writes)
    }

    /// As [`Op::cost`].
    fn cost(&self) -> Cost;

    /// As [`Op::host`].
    #[cfg(feature = "host")]
    fn host(
        &self,
        reads: <Self::Reads as Elems>::Slices<'_>,
        writes: <Writes<Self> as Elems>::SlicesMut<'_>,
    ) -> Result<Self::Raw>;

    /// As [`Op::cuda`].
    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()>;
}

/// The element types that a routine writes.
pub(super) type Writes<R> = <<R as Routine>::Output as Output>::Writes;

/// A routine with its modes.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "R: Routine")]
pub(super) struct Call<R> {
    routine: R,
    /// How many of the element types of its operands are read, for traces: scalars come last, and are read only if they
    /// are in device memory.
    given: usize,
    modes: Modes,
}

impl<R: Routine> Op for Call<R> {
    const NAME: &'static str = R::NAME;
    const OPERANDS: OperandNames = R::OPERANDS;
    const LIBRARY: &'static str = "blas";
    type Reads = R::Reads;
    type Output = R::Output;
    type Raw = R::Raw;

    fn check(&self, reads: &Spans<Self::Reads>, writes: &Spans<WritesOf<Self>>) -> Result<()> {
        self.routine.check(reads, writes)
    }

    fn overwrites(&self, writes: &Spans<WritesOf<Self>>) -> bool {
        self.routine.overwrites(writes)
    }

    fn overwrites_each(&self, writes: &Spans<WritesOf<Self>>, index: usize) -> bool {
        self.routine.overwrites_each(writes, index)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let reads = Self::Reads::DTYPES;
        (reads.get(..self.given).unwrap_or(reads), <WritesOf<Self>>::DTYPES)
    }

    fn cost(&self) -> Cost {
        self.routine.cost()
    }

    #[cfg(feature = "host")]
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<R::Raw> {
        self.routine.host(reads, writes)
    }

    #[cfg(not(feature = "host"))]
    fn host(&self, _: Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<R::Raw> {
        Err(crate::core::error::Error::unsupported("this build has no host engine (feature `host`)"))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.routine.cuda(&mut Queue { enqueue: queue, modes: self.modes })
    }

    #[cfg(not(feature = "cuda"))]
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(crate::core::error::Error::unsupported("this build has no CUDA engine (feature `cuda`)"))
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, raw: R::Raw) -> Result<HostOf<Self>> {
        Ok(raw.into())
    }
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
impl crate::engines::worker::Registry {
    /// Registers the routine.
    pub(super) fn routine<R: Routine>(&mut self) {
        self.add::<Call<R>>();
    }
}

impl Blas {
    /// Submits a routine.
    pub(super) fn submit<R: Routine>(
        &self,
        routine: R,
        reads: <R::Reads as Elems>::Ins<'_>,
        writes: Bufs<R::Output>,
    ) -> Submitted<R::Output, <R::Raw as Raw>::Left> {
        let given = R::Reads::given(&reads);
        self.device.dispatch(Call { routine, given, modes: self.modes }, reads, writes)
    }
}

impl Blas {
    /// Submits a routine that writes a tensor, if it could be made of its operands.
    pub(super) fn writes<T: Element, R: Routine<Output = DeviceBuffer<T>, Raw = ()>>(
        &self,
        made: Result<(R, <R::Reads as Elems>::Ins<'_>)>,
        y: Part<T>,
    ) -> Submitted<Tensor<T>> {
        y.submit((R::NAME, "blas"), made, |(routine, reads), y| self.submit(routine, reads, (y,)))
    }

    /// As [`writes`](Self::writes), of two tensors.
    pub(super) fn writes_two<T: Element, R: Routine<Output = (DeviceBuffer<T>, DeviceBuffer<T>), Raw = ()>>(
        &self,
        made: Result<(R, <R::Reads as Elems>::Ins<'_>)>,
        [x, y]: [Part<T>; 2],
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let ((x, whole_x), (y, whole_y)) = (x.window(), y.window());
        self.writes_windows(made, (x, y), |(x, y)| (whole_x.tensor(x), whole_y.tensor(y)))
    }

    /// As [`writes`](Self::writes), of windows of buffers, of which `whole` makes what comes back.
    pub(super) fn writes_windows<R: Routine<Raw = ()>, P: Output<Host = <R::Output as Output>::Host>>(
        &self,
        made: Result<(R, <R::Reads as Elems>::Ins<'_>)>,
        windows: Bufs<R::Output>,
        whole: impl FnOnce(Bufs<R::Output>) -> Bufs<P>,
    ) -> Submitted<P>
    where
        Writes<R>: Elems<Failure = Rejected<Bufs<R::Output>>>,
        P::Writes: Elems<Failure = Rejected<Bufs<P>>>,
    {
        match made {
            Err(error) => Err(Rejected::new(error.in_op(R::NAME, "blas"), whole(windows))),
            Ok((routine, reads)) => match self.submit(routine, reads, windows) {
                Ok(pending) => Ok(pending
                    .retype(|buffers| Ok::<_, Infallible>(whole(buffers)))
                    .unwrap_or_else(|never| match never {})),
                Err(rejected) => Err(rejected.map(whole)),
            },
        }
    }
}

#[cfg(feature = "cuda")]
pub(super) use cuda::Queue;

#[cfg(feature = "cuda")]
mod cuda {
    use super::super::modes::{Math, Modes};
    use super::super::scalar::Scalar;
    use super::super::vector::Strided;
    use super::super::{BlasElement, GemmElement};
    use super::{Call, Routine};
    use crate::core::buffer::Span;
    use crate::core::element::Element;
    use crate::core::error::Result;
    use crate::engines::cuda_enqueue::Enqueue;
    use crate::libraries::blas::native::handle;
    use crate::libraries::blas::native::{BlasCall, Called, CublasTyped, PointerMode};
    use cudarc::cublas::sys::cublasHandle_t;
    use std::ops::{Deref, DerefMut};

    /// The leased stream, and the modes of the call.
    pub(in crate::libraries::blas) struct Queue<'a, 'q, R: Routine> {
        pub(super) enqueue: &'a mut Enqueue<'q, Call<R>>,
        pub(super) modes: Modes,
    }

    impl<'q, R: Routine> Deref for Queue<'_, 'q, R> {
        type Target = Enqueue<'q, Call<R>>;
        fn deref(&self) -> &Self::Target {
            self.enqueue
        }
    }

    impl<R: Routine> DerefMut for Queue<'_, '_, R> {
        fn deref_mut(&mut self) -> &mut Self::Target {
            self.enqueue
        }
    }

    impl<R: Routine> Queue<'_, '_, R> {
        /// The math mode.
        pub(in crate::libraries::blas) fn math(&self) -> Math {
            self.modes.math
        }

        /// The slot's handle, set to the pointer mode `mode` and to the modes of the call.
        pub(in crate::libraries::blas) fn blas(&mut self, mode: PointerMode) -> Result<BlasCall> {
            let modes = self.modes;
            handle::blas(self.enqueue, mode, modes)
        }

        /// Both scalars for one call, which reads either from host memory or either from the device's: if one is there, the
        /// other's value is written beside it, in scratch.
        pub(in crate::libraries::blas) fn scalars<A: Element, B: Element>(
            &mut self,
            alpha: (A, &Option<Span<A>>),
            beta: (B, &Option<Span<B>>),
        ) -> Result<(Scalar<A>, Scalar<B>)> {
            let (mut alpha, mut beta) = (Scalar::new(alpha.0, alpha.1), Scalar::new(beta.0, beta.1));
            match (alpha.mode(), beta.mode()) {
                (PointerMode::Host, PointerMode::Device) => alpha = self.on_device(alpha)?,
                (PointerMode::Device, PointerMode::Host) => beta = self.on_device(beta)?,
                _ => {}
            }
            Ok((alpha, beta))
        }

        /// A scalar by value, written to scratch.
        fn on_device<S: Element>(&mut self, scalar: Scalar<S>) -> Result<Scalar<S>> {
            let to = self.enqueue.scratch(size_of::<S>())?;
            if let Some(bytes) = scalar.bytes() {
                // SAFETY: scratch of this dispatch, which has as many bytes.
                unsafe { self.enqueue.fill(to, 1, bytes) }?;
            }
            Ok(scalar.copied(to))
        }

        /// Makes one call of a typed routine.
        pub(in crate::libraries::blas) fn typed(
            &mut self,
            mode: PointerMode,
            call: impl FnOnce(&CublasTyped, cublasHandle_t) -> Called,
        ) -> Result<()> {
            let modes = self.modes;
            handle::blas_typed(self.enqueue, mode, modes, call)
        }

        /// `y = beta * y`, for a product that is known to be zero and whose operands must not be read. Computed as a
        /// product with `k = 0`, which does not read y either if `beta` is zero.
        pub(in crate::libraries::blas) fn scale<T: BlasElement>(
            &mut self,
            y: Span<T>,
            at: Strided,
            beta: &Scalar<T>,
        ) -> Result<()> {
            let (blas, codes) = (self.blas(beta.mode())?, <T as GemmElement>::CODES);
            let (code, n, step) = (codes.input, at.len64(), at.inc64().abs());
            let (y, nothing) = (y.address() as *mut std::ffi::c_void, y.address() as *const _);
            let factor = beta.pointer();
            // SAFETY: the handle is bound to this slot's stream, which is leased; the elements of the vector, as a matrix
            // of one row, lie inside its buffer (checked), which lives until this work is done; matrices without
            // elements are not read; a scalar in host memory is read before the call returns.
            let status = unsafe {
                blas.api.gemm_ex(
                    blas.handle,
                    0,
                    0,
                    1,
                    n,
                    0,
                    factor,
                    nothing,
                    code,
                    1,
                    nothing,
                    code,
                    1,
                    factor,
                    y,
                    code,
                    step,
                    codes.compute,
                    -1,
                )
            };
            handle::blas_status(self.enqueue, "cublasGemmEx_64", status)
        }
    }
}

//! The launch of a kernel, as an operation like any other.

#[cfg(feature = "host")]
use super::interpreted::Interpreted;
#[cfg(feature = "cuda")]
use super::loaded::Function;
use super::packed::{PackedArguments, Slot};
#[cfg(target_os = "linux")]
use super::static_twin::Function as TwinFunction;
use super::twin::{self, Twin};
use crate::core::buffer::{AnyBuffers, Dyn};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchConfig;
#[cfg(feature = "cuda")]
use crate::core::op::Retention;
use crate::core::op::{Cost, Spans};
use crate::core::sync::Arc;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};
use smallvec::SmallVec;

/// The number of arguments of most launches, and the maximum of typed ones.
#[cfg(feature = "cuda")]
const FEW: usize = 16;

/// The code that runs. It does not hold an epoch: work in flight holds it.
#[derive(Clone)]
pub(super) enum KernelCode {
    Twin(Arc<Twin>),
    /// The PTX itself, on a host device.
    #[cfg(feature = "host")]
    Interpreted(Interpreted),
    /// A twin of the client process, in a worker.
    #[cfg(target_os = "linux")]
    StaticTwin(TwinFunction),
    #[cfg(feature = "cuda")]
    Cuda(Function),
    /// The code of a GPU kernel, already handed to the work in flight, which holds it until it has run.
    #[cfg(feature = "cuda")]
    Sent,
}

/// Made only by a kernel, which has checked everything against its own parameters and limits.
pub(super) struct Launch {
    pub(super) kernel: &'static &'static str,
    pub(super) code: KernelCode,
    pub(super) config: LaunchConfig,
    pub(super) packed: PackedArguments,
    pub(super) bytes: u64,
}

impl Launch {
    /// The position of the first argument for which `is` is true.
    fn argument(&self, is: impl Fn(&Slot) -> bool) -> Option<usize> {
        self.packed.slots.iter().position(is)
    }

    /// Of an argument that is written and has no contents yet: what makes it acceptable.
    #[cold]
    pub(super) fn tell_of_out(&self, mut error: Error) -> Error {
        if let Error::InvalidArgument { argument, reason, .. } = &mut error
            && reason.starts_with(crate::device::dispatch::UNDEFINED)
            && let Some(place) = argument.strip_prefix("argument ").and_then(|place| place.parse().ok())
            && matches!(self.packed.slots.get::<usize>(place), Some(Slot::Write(..)))
        {
            reason.push_str(": a kernel does if its signature has `nvrtc::Out` there, or it is passed `Arg::out`");
        }
        error
    }
}

impl Op for Launch {
    const NAME: &'static str = "launch";
    const LIBRARY: &'static str = "nvrtc";
    const GATED: crate::core::op::Internal = crate::core::op::Internal::YES;
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, _: &Spans<Dyn>, _: &Spans<Dyn>) -> Result<()> {
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<Dyn>, index: usize) -> bool {
        self.packed.overwrites(index)
    }

    fn dtypes(&self) -> (&'static [DType], &'static [DType]) {
        let of = |pick: fn(&Slot) -> Option<DType>| -> SmallVec<[DType; 16]> {
            self.packed.slots.iter().filter_map(pick).collect()
        };
        let reads = of(|slot| if let Slot::Read(dtype, _) = slot { Some(*dtype) } else { None });
        let writes = of(|slot| if let Slot::Write(dtype, ..) = slot { Some(*dtype) } else { None });
        (crate::core::intern::types(&reads), crate::core::intern::types(&writes))
    }

    fn subject(&self) -> Option<&'static &'static str> {
        Some(self.kernel)
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        let place = match index.checked_sub(read_count) {
            None => self.argument(|slot| matches!(slot, Slot::Read(_, i) if *i as usize == index)),
            Some(write) => self.argument(|slot| matches!(slot, Slot::Write(_, i, _) if *i as usize == write)),
        };
        Some(place.map_or_else(|| "globals".into(), |place| format!("argument {place}")))
    }

    /// The driver has read the arguments when the call returns; the code must stay loaded.
    #[cfg(feature = "cuda")]
    fn keeps(&mut self) -> Retention {
        match std::mem::replace(&mut self.code, KernelCode::Sent) {
            KernelCode::Cuda(Function::Here(function)) => Retention::this(function),
            other => {
                self.code = other;
                Retention::ALL
            }
        }
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.bytes }
    }

    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        match &self.code {
            KernelCode::Twin(twin) => {
                twin::run(&*twin.threads, self.kernel, &self.config, &self.packed, &reads, writes)
            }
            #[cfg(feature = "host")]
            KernelCode::Interpreted(code) => code.run(&self.config, &self.packed, &reads, writes),
            #[cfg(target_os = "linux")]
            KernelCode::StaticTwin(twin) => {
                let twin = *twin;
                let threads = move |run: &twin::Run<'_>, config: &LaunchConfig, first, count| {
                    twin.threads(run, config, first, count)
                };
                twin::run(&threads, self.kernel, &self.config, &self.packed, &reads, writes)
            }
            #[cfg(feature = "cuda")]
            KernelCode::Cuda(_) | KernelCode::Sent => {
                Err(Error::library("internal error: a GPU kernel on a host device"))
            }
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let KernelCode::Cuda(Function::Here(function)) = &self.code else {
            return Err(Error::library("internal error: this process has no code for the launch"));
        };
        let (reads, writes) = (queue.reads(), queue.writes());
        let missing = || Error::library("internal error: an argument without its buffer");
        let (slots, words) = (&*self.packed.slots, &self.packed.words[..]);
        // The parameter of a buffer is its address, which is read directly from the operands.
        let place = |slot: &Slot| -> Option<*const u64> {
            Some(match slot {
                Slot::Read(_, i) => reads.get(*i as usize)?.place(),
                Slot::Write(_, i, _) => writes.get(*i as usize)?.place(),
                // All of its words are there: see `PackedArguments`. An empty value has none.
                Slot::Value { at, .. } => words.get(*at as usize..)?.as_ptr(),
            })
        };
        let mut few = [std::ptr::null_mut(); FEW];
        let mut many = Vec::new();
        let pointers = match few.get_mut(..slots.len()) {
            Some(few) => few,
            None => {
                many.resize(slots.len(), std::ptr::null_mut());
                &mut many[..]
            }
        };
        for (pointer, slot) in pointers.iter_mut().zip(slots) {
            *pointer = place(slot).ok_or_else(missing)?.cast_mut().cast();
        }
        // SAFETY: number and sizes were compared with the kernel's own parameters. The driver copies each value as
        // bytes before the call returns, so it needs no alignment. The caller of `Kernel::launch` or of `Kernel::typed`
        // promised that the kernel touches only what it was given.
        unsafe { function.launch(queue, &self.config, pointers) }
    }

    #[cfg(target_os = "linux")]
    fn wire() -> Option<crate::core::op::Wire<Self>> {
        super::cross::wire()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

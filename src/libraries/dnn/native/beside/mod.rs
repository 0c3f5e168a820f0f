//! Measurements on a GPU: `beside --ignored --nocapture`. They print, and assert nothing.
//!
//! | file | what | PyTorch |
//! |---|---|---|
//! | `convolutions` | the layers of a ResNet-50 beside the library's own calls in a bare loop | `benches/convolutions.py` |
//! | `attention` | attention beside the same | `benches/attention.py` |
//! | `rows` | softmax, normalisations and pooling | `benches/networks.py` |
//! | `parts` | the parts of a dispatch | |
//!
//! Both sides execute a plan of the same choice. The bare one sets up a variant pack and executes it on a stream of its own, as
//! every user of the library must; its memory and its plan are there before.

mod attention;
mod convolutions;
mod layers;
mod parts;
mod rows;

use super::descriptor::Descriptor;
use super::functions::RawHandle;
use super::handle::{Cudnn, Functions};
use crate::core::clock::Clock;
use crate::core::sync::Arc;
use crate::device::Device;
use crate::engines::cuda::Core;
use crate::engines::library::CudaLibrary;
use cudarc::driver::sys::{CUevent, CUstream};

const ROUNDS: usize = 7;

/// Median microseconds of a call: until it was submitted, and until it was done.
struct Times([Vec<f64>; 2]);

impl Times {
    const fn new() -> Self {
        Times([Vec::new(), Vec::new()])
    }

    fn round(&mut self, calls: u32, mut call: impl FnMut(), wait: impl FnOnce()) {
        let begin = Clock::SYSTEM.start();
        (0..calls).for_each(|_| call());
        let submitted = begin.elapsed();
        wait();
        for (all, took) in self.0.iter_mut().zip([submitted, begin.elapsed()]) {
            all.push(took.as_secs_f64() * 1e6 / f64::from(calls));
        }
    }

    fn medians(mut self) -> [f64; 2] {
        for all in &mut self.0 {
            all.sort_by(f64::total_cmp);
        }
        self.0.map(|all| all[all.len() / 2])
    }
}

/// A handle with its stream, for the bare side.
struct Bare {
    core: Arc<Core>,
    api: &'static Functions,
    handle: RawHandle,
    stream: CUstream,
    event: CUevent,
}

impl Bare {
    fn new(device: &Device) -> Self {
        let api = Cudnn::load().unwrap_or_else(|error| panic!("{error}"));
        device.zeros::<f32>([1]).unwrap();
        let engine = device.asked();
        let core = engine.engine.as_cuda().unwrap().core.clone();
        let (mut handle, mut stream, mut event) = (RawHandle::NULL, std::ptr::null_mut(), std::ptr::null_mut());
        {
            let _bound = core.context.bind().unwrap();
            // SAFETY: the places are valid for the writes; the context is current; 1: it does not wait for the default stream.
            unsafe {
                core.context.api.stream_create(&mut stream, 1).ok().unwrap();
                core.context.api.event_create(&mut event, 2).ok().unwrap(); // without times
                api.create(&mut handle).ok().unwrap();
                api.set_stream(handle, stream).ok().unwrap();
            }
        }
        Bare { core, api, handle, stream, event }
    }

    fn pack(&self, numbers: &[i64], addresses: &[u64], area: u64) -> Descriptor {
        let pack = Descriptor::new(self.api, 16).unwrap().ints(1000, numbers).unwrap();
        pack.pointers(1001, addresses).unwrap().pointers(1003, &[area]).unwrap().finalized().unwrap()
    }

    /// # Safety
    /// The memory in the pack is as long as the plan says.
    unsafe fn execute(&self, plan: &Descriptor, pack: &Descriptor) {
        // SAFETY: handle, plan and pack are alive and used by this thread alone; the memory is the caller's promise.
        unsafe { self.api.execute(self.handle, plan.raw(), pack.raw()) }.ok().unwrap();
    }

    fn mark(&self) {
        // SAFETY: event and stream are alive.
        unsafe { self.core.context.api.event_record(self.event, self.stream) }.ok().unwrap();
    }

    fn wait(&self) {
        // SAFETY: the stream is alive.
        unsafe { self.core.context.api.stream_synchronize(self.stream) }.ok().unwrap();
    }
}

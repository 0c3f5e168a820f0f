//! An operation that stands in its CUDA half, its slot leased and its buffers looked at, until the test lets it go on.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use windlass::{DeviceBuffer, Enqueue, Error, LaunchDims, Op, Ptx, Result, Slices, SlicesMut, Spans};

static KERNELS: Ptx = Ptx::new(
    ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry add_one_f32(.param .u64 data, .param .u64 n) { ret; }\n",
);

/// Adds one, or, told `false`, enqueues nothing and fails.
pub(crate) struct Held {
    arrived: Sender<()>,
    go_on: Arc<Mutex<Receiver<bool>>>,
}

/// The test's end of it.
pub(crate) struct Hold {
    arrived: Receiver<()>,
    go_on: Sender<bool>,
}

pub(crate) fn held() -> (Held, Hold) {
    let ((arrived, seen), (go_on, told)) = (channel(), channel());
    (Held { arrived, go_on: Arc::new(Mutex::new(told)) }, Hold { arrived: seen, go_on })
}

impl Hold {
    #[track_caller]
    pub(crate) fn await_arrival(&self) {
        self.arrived.recv_timeout(crate::common::LONG).expect("it never came to its CUDA half");
    }

    pub(crate) fn go_on(&self, with_work: bool) {
        self.go_on.send(with_work).expect("it waits");
    }
}

impl Op for Held {
    const NAME: &'static str = "held";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }

    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("it stands on a GPU's slot"))
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.arrived.send(()).expect("the test is there");
        // Not for ever: a test that fails tells nothing.
        if !self.go_on.lock().unwrap().recv_timeout(crate::common::LONG).unwrap_or(false) {
            return Err(Error::unsupported("as the test wanted"));
        }
        let (x,) = *queue.writes();
        let dims = LaunchDims::for_elements(x.len())?;
        // SAFETY: the kernel has these parameters, and touches the buffer alone.
        unsafe { queue.launch(&KERNELS, c"add_one_f32", dims, &[x.into(), x.len().into()]) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

//! Work for the simulated device: kernels that it knows by name.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Result,
    op::{Enqueue, LaunchDims, Op, Ptx, Slices, SlicesMut, Spans},
};

static KERNELS: Ptx = Ptx::new(
    ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry empty() { ret; }\n\
     .visible .entry endless() { ret; }\n\
     .visible .entry fault() { ret; }\n\
     .visible .entry add_one_f32(.param .u64 data, .param .u64 n) { ret; }\n",
);

/// Launches one of these kernels on a buffer; may have to stand before it does.
pub(crate) struct Launch(&'static CStr, Option<Stand>);

/// Where a launch stands in its CUDA half, its slot leased and its buffers looked at, until the test lets it go on.
struct Stand {
    arrived: Sender<()>,
    go_on: Mutex<Receiver<bool>>,
}

/// The test's end of it.
pub(crate) struct Hold {
    arrived: Receiver<()>,
    go_on: Sender<bool>,
}

impl Launch {
    pub(crate) fn of(kernel: &'static CStr) -> Self {
        Launch(kernel, None)
    }

    /// One that stands, and, told `false`, enqueues nothing and fails.
    pub(crate) fn held(kernel: &'static CStr) -> (Self, Hold) {
        let ((arrived, seen), (go_on, told)) = (channel(), channel());
        (Launch(kernel, Some(Stand { arrived, go_on: Mutex::new(told) })), Hold { arrived: seen, go_on })
    }
}

impl Hold {
    #[track_caller]
    pub(crate) fn await_arrival(&self) {
        self.arrived.recv_timeout(Duration::from_secs(60)).expect("it never came to its CUDA half");
    }

    pub(crate) fn go_on(&self, with_work: bool) {
        self.go_on.send(with_work).expect("it waits");
    }
}

impl Op for Launch {
    const NAME: &'static str = "launch";
    type Reads = ();
    type Output = DeviceBuffer<f32>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f32,)>) -> Result<()> {
        Ok(())
    }

    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Err(Error::unsupported("a kernel of the simulated device"))
    }

    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        if let Some(Stand { arrived, go_on }) = &self.1 {
            arrived.send(()).expect("the test is there");
            // Not for ever: a test that fails tells nothing.
            if !go_on.lock().unwrap().recv_timeout(Duration::from_secs(60)).unwrap_or(false) {
                return Err(Error::unsupported("as the test wanted"));
            }
        }
        let (x,) = *queue.writes();
        let dims = LaunchDims::for_elements(x.len())?;
        let takes_data = self.0 == c"add_one_f32";
        let arguments: &[_] = if takes_data { &[x.into(), x.len().into()] } else { &[] };
        // SAFETY: the kernels have these parameters, and touch the buffer or nothing.
        unsafe { queue.launch(&KERNELS, self.0, dims, arguments) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// The simulated device, with so many stream slots.
#[track_caller]
pub(crate) fn device(slots: usize) -> Device {
    Device::builder().cuda(0).slots(slots).open().expect("the stand-in opens")
}

/// `kernel` on `x`, in flight.
#[track_caller]
pub(crate) fn launch(
    device: &Device,
    kernel: &'static CStr,
    x: DeviceBuffer<f32>,
) -> PendingDispatch<DeviceBuffer<f32>> {
    device.dispatch(Launch::of(kernel), (), (x,)).expect("a launch")
}

/// A kernel that runs until [`Driver::release`](super::Driver::release), on a buffer of its own.
#[track_caller]
pub(crate) fn endless(device: &Device) -> PendingDispatch<DeviceBuffer<f32>> {
    launch(device, c"endless", device.zeros(4).expect("a buffer").into_buffer())
}

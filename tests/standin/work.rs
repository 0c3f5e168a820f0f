//! Work for the simulated device: kernels that it knows by name.

use std::ffi::CStr;

use windlass::{
    Device, DeviceBuffer, Enqueue, Error, LaunchDims, Op, PendingDispatch, Ptx, Result, Slices, SlicesMut, Spans,
};

static KERNELS: Ptx = Ptx::new(
    ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry empty() { ret; }\n\
     .visible .entry endless() { ret; }\n\
     .visible .entry fault() { ret; }\n\
     .visible .entry add_one_f32(.param .u64 data, .param .u64 n) { ret; }\n",
);

/// Launches one of these kernels on a buffer.
pub(crate) struct Launch(pub(crate) &'static CStr);

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

/// `kernel` on `x`, in flight.
#[track_caller]
pub(crate) fn launch(
    device: &Device,
    kernel: &'static CStr,
    x: DeviceBuffer<f32>,
) -> PendingDispatch<DeviceBuffer<f32>> {
    device.dispatch(Launch(kernel), (), (x,)).expect("a launch")
}

/// A kernel that runs until [`Driver::release`](super::Driver::release), on a buffer of its own.
#[track_caller]
pub(crate) fn endless(device: &Device) -> PendingDispatch<DeviceBuffer<f32>> {
    launch(device, c"endless", device.zeros(4).expect("a buffer"))
}

//! Tests a new generation: memory, a copy in, work with a known result, a copy out. The work is a kernel of our own, so
//! that a device recovers even if a library is missing.

use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result, Site};
use crate::core::op::{Cost, Spans, Wire};
use crate::device::Device;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Op, Slices, SlicesMut};

#[cfg(feature = "cuda")]
static KERNEL: crate::engines::cuda::Ptx = crate::engines::cuda::Ptx::new(include_str!("self_test.ptx"));

/// `y = x * x + 1`, element by element.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct SelfTest;

impl Op for SelfTest {
    const NAME: &'static str = "self_test";
    const LIBRARY: &'static str = "windlass";
    type Reads = (u32,);
    type Output = DeviceBuffer<u32>;
    type Raw = ();

    fn check(&self, (x,): &Spans<Self::Reads>, (y,): &Spans<(u32,)>) -> Result<()> {
        if x.len() == y.len() {
            Ok(())
        } else {
            Err(Error::invalid("y", format!("y has {} elements, but x has {}", y.len(), x.len())))
        }
    }

    fn overwrites(&self, _: &Spans<(u32,)>) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    fn host(&self, (x,): Slices<'_, Self>, (y,): SlicesMut<'_, Self>) -> Result<()> {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_mul(*x).wrapping_add(1));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let ((x,), (y,)) = (*queue.reads(), *queue.writes());
        let dims = crate::core::launch::LaunchDims::for_elements(x.len())?;
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads and writes `x.len()` elements
        // of two operands of that length (checked).
        unsafe { queue.launch(&KERNEL, c"self_test", dims, &[y.into(), x.into(), x.len().into()]) }
    }

    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Tests a device. A new generation in this process has the same code as the previous one, so the kernel runs only if
/// the device is in another process.
pub(crate) fn self_test(device: &Device) -> Result<()> {
    copies(device)?;
    if device.is_isolated() { work(device) } else { Ok(()) }
}

/// Runs the kernel, to test a device that was opened from scratch.
pub(crate) fn work(device: &Device) -> Result<()> {
    let x = device.upload(vec![1u32, 2, 3, u32::MAX])?.into_output();
    let y = device.dispatch(SelfTest, (x.as_in(),), (device.unwritten(4)?,))?.into_output();
    expect(device, &y, &[2, 5, 10, 2])
}

fn copies(device: &Device) -> Result<()> {
    let x = device.upload(vec![1u32, 2, 3, 4])?.into_output().narrow(1..3).map_err(Error::from)?;
    let x = device.filled(x, 7)?.into_output().widen();
    expect(device, &x, &[1, 7, 7, 4])
}

fn expect(device: &Device, buffer: &DeviceBuffer<u32>, wanted: &[u32]) -> Result<()> {
    let patience = device.inner().config.engine.timing.recovery.self_test;
    match device.download(buffer)?.await_timeout(patience) {
        Ok(Ok(answer)) if *answer == *wanted => Ok(()),
        Ok(Ok(answer)) => Err(Error::library(format!("the self-test returned {answer:?} instead of {wanted:?}"))),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Timeout { waited: patience, site: Site::none() }),
    }
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_any_library_passes() {
        let device = Device::host().unwrap();
        copies(&device).unwrap();
        work(&device).unwrap();
    }

    #[test]
    fn another_answer_is_an_error_that_shows_both() {
        let device = Device::host().unwrap();
        let x = device.upload(vec![1u32, 2]).unwrap().into_output();
        let error = expect(&device, &x, &[1, 3]).unwrap_err().to_string();
        assert!(error.contains("[1, 2]") && error.contains("[1, 3]"), "{error}");
    }
}

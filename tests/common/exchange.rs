//! An operation over several devices, for host devices and for the stand-in driver's GPUs.

use super::LONG;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use windlass::{
    Device, DeviceBuffer, Error, Result, Submitted,
    op::{Enqueue, List, Op, OpKind, Slices, SlicesMut, Spans},
};

#[cfg(feature = "cuda")]
static KERNELS: windlass::op::Ptx = windlass::op::Ptx::new(include_str!("../../src/device/supervisor/self_test.ptx")); // `y = x * x + 1`

/// The output of each device becomes `x * x + 1`, where `x` is the input on the next device.
#[derive(Default)]
pub struct Exchange<const BLOCKING: bool> {
    /// Before it fails, it has enqueued its work on this many devices.
    pub fails_after: Option<usize>,
    /// Where its half waits for the test.
    pub stand: Option<Stand>,
    /// Dropped with the operation.
    pub kept: Arc<()>,
}

/// Where a half waits until the test lets it go on.
pub struct Stand(Sender<()>, Mutex<Receiver<()>>);

/// The test's end of a [`Stand`]. Dropped, it lets the half go on.
pub struct Hold(Receiver<()>, Sender<()>);

impl Hold {
    #[track_caller]
    pub fn await_arrival(&self) {
        self.0.recv_timeout(LONG).expect("it never came there");
    }

    pub fn has_arrived(&self) -> bool {
        self.0.try_recv().is_ok()
    }

    pub fn go_on(self) {
        drop(self.1);
    }
}

impl<const BLOCKING: bool> Exchange<BLOCKING> {
    pub fn held() -> (Self, Hold) {
        let ((arrived, seen), (go_on, told)) = (channel(), channel());
        (Exchange { stand: Some(Stand(arrived, Mutex::new(told))), ..Self::default() }, Hold(seen, go_on))
    }

    /// Submits it: `inputs` and `outputs` are in the order of `devices`.
    pub fn submit(
        self,
        devices: &[&Device],
        inputs: &[&DeviceBuffer<u32>],
        outputs: Vec<DeviceBuffer<u32>>,
    ) -> Submitted<Vec<DeviceBuffer<u32>>> {
        let inputs: Vec<_> = inputs.iter().map(|input| input.as_in()).collect();
        Device::dispatch_across(devices, self, (&inputs,), (outputs,))
    }

    fn wait(&self) {
        if let Some(Stand(arrived, go_on)) = &self.stand {
            let _ = arrived.send(());
            // Not for ever: a test that fails tells nothing.
            let _ = go_on.lock().unwrap().recv_timeout(LONG);
        }
    }
}

/// What an exchange of a buffer that holds `x` leaves on the device before.
pub fn exchanged(x: u32) -> u32 {
    x.wrapping_mul(x).wrapping_add(1)
}

#[cold]
fn as_the_test_wanted() -> Error {
    Error::unsupported("as the test wanted")
}

impl<const BLOCKING: bool> Op for Exchange<BLOCKING> {
    const NAME: &'static str = "exchange";
    const LIBRARY: &'static str = "test";
    const KIND: OpKind = if BLOCKING { OpKind::Blocking } else { OpKind::Enqueue };
    const ACROSS_DEVICES: bool = true;
    type Reads = (List<u32>,);
    type Output = Vec<DeviceBuffer<u32>>;
    type Raw = ();

    fn check(&self, (inputs,): &Spans<Self::Reads>, (outputs,): &Spans<(List<u32>,)>) -> Result<()> {
        if inputs.len() != outputs.len() {
            return Err(Error::invalid("inputs", format!("{} for {} outputs", inputs.len(), outputs.len())));
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(List<u32>,)>) -> bool {
        true
    }

    fn host(&self, (inputs,): Slices<'_, Self>, (outputs,): SlicesMut<'_, Self>) -> Result<()> {
        self.wait();
        let count = outputs.len();
        for (device, output) in outputs.into_iter().enumerate() {
            if self.fails_after == Some(device) {
                return Err(as_the_test_wanted());
            }
            output.iter_mut().zip(inputs[(device + 1) % count]).for_each(|(y, x)| *y = exchanged(*x));
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        self.wait();
        let ((inputs,), (outputs,)) = (queue.reads(), queue.writes());
        let count = queue.devices();
        assert_eq!(count, outputs.len(), "an output on each device");
        for device in 0..count {
            queue.follow(device, (device + 1) % count)?;
        }
        for (device, output) in outputs.iter().enumerate() {
            if self.fails_after == Some(device) {
                return Err(as_the_test_wanted());
            }
            let input = inputs[(device + 1) % count];
            let dims = windlass::op::LaunchDims::for_elements(output.len())?;
            let arguments = [(*output).into(), input.into(), output.len().into()];
            // SAFETY: the kernel has these parameters, reads the input and writes the output, which are of one length.
            unsafe { queue.on(device)?.launch(&KERNELS, c"self_test", dims, &arguments)? };
        }
        for device in 0..count {
            queue.follow((device + 1) % count, device)?;
        }
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Opens the paths between all of these devices: a kernel may access the memory of another GPU only then.
pub fn open_paths(devices: &[&Device]) {
    for (from, to) in devices.iter().flat_map(|from| devices.iter().map(move |to| (from, to))) {
        if from.kind() == windlass::DeviceKind::Cuda {
            drop(to.copy_peer(&super::up(from, [0u32; 4]), to.uninit(4).unwrap()).unwrap().await_result().unwrap());
        }
    }
}

/// The buffers of an exchange, whether it was submitted or refused.
pub fn outputs(submitted: Submitted<Vec<DeviceBuffer<u32>>>) -> (Vec<DeviceBuffer<u32>>, Option<Error>) {
    match submitted {
        Ok(pending) => (pending.into_output(), None),
        Err(rejected) => (rejected.back.expect("the outputs come back").0, Some(rejected.error)),
    }
}

/// A buffer on one of the devices, and the value that each of its elements must have; `None` after a failure.
struct Cell {
    device: usize,
    buffer: Option<DeviceBuffer<u32>>,
    model: Option<u32>,
}

const LEN: usize = 8;
/// The cells of a thread on each device.
const CELLS: usize = 2;

/// Runs random programs on several threads over these devices, and compares with a sequential model: fills, copies on a
/// device and between devices, exchanges of all kinds between random devices in a random order, some of which fail.
pub fn random_programs(devices: &[Device], rng: &mut super::Rng, steps: usize) {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut rng = super::Rng::new(rng.next());
            scope.spawn(move || {
                let new = |i: usize| {
                    let (device, value) = (i % devices.len(), i as u32);
                    let buffer = Some(super::up(&devices[device], [value; LEN]));
                    Cell { device, buffer, model: Some(value) }
                };
                let mut cells: Vec<Cell> = (0..CELLS * devices.len()).map(new).collect();
                (0..steps).for_each(|_| step(devices, &mut rng, &mut cells));
                for Cell { device, buffer, model } in cells {
                    match (devices[device].download(&buffer.unwrap()), model) {
                        (Ok(data), Some(model)) => assert_eq!(data.await_result().unwrap(), [model; LEN]),
                        (Ok(data), None) => drop(data.await_result()),
                        (Err(_), None) => {}
                        (Err(error), Some(_)) => panic!("{error}"),
                    }
                }
            });
        }
    });
}

fn step(devices: &[Device], rng: &mut super::Rng, cells: &mut [Cell]) {
    let (at, from) = (rng.below(cells.len()), rng.below(cells.len()));
    let choice = rng.below(8);
    if choice < 4 || at == from {
        let count = 1 + rng.below(devices.len());
        return match rng.below(3) {
            0 => exchange_some::<true>(devices, rng, cells, count),
            _ => exchange_some::<false>(devices, rng, cells, count),
        };
    }
    let x = cells[at].buffer.take().unwrap();
    let (here, there) = (cells[at].device, cells[from].device);
    let device = &devices[here];
    let (submitted, model) = match choice {
        4 => (device.fill(x, 7), Some(7)),
        _ if here == there => (device.copy(cells[from].buffer.as_ref().unwrap(), x), cells[from].model),
        _ => (device.copy_peer(cells[from].buffer.as_ref().unwrap(), x), cells[from].model),
    };
    (cells[at].buffer, cells[at].model) = match submitted {
        Ok(pending) => (Some(pending.into_buffer()), model),
        // Its source has failed.
        Err(rejected) => (Some(rejected.back.expect("the target comes back").0.into_buffer()), None),
    };
}

/// An exchange between the first cells of `count` devices in a random order. The outputs are the second cells.
fn exchange_some<const BLOCKING: bool>(devices: &[Device], rng: &mut super::Rng, cells: &mut [Cell], count: usize) {
    let mut order: Vec<usize> = (0..devices.len()).collect();
    (0..order.len()).for_each(|i| order.swap(i, rng.below(devices.len())));
    order.truncate(count);
    let fails_after = (rng.below(10) == 0).then(|| rng.below(count));
    let swap = rng.below(2);
    let cell = |device: usize, which: usize| device + devices.len() * ((which + swap) % CELLS);
    let written: Vec<_> = order.iter().map(|device| cells[cell(*device, 1)].buffer.take().unwrap()).collect();
    let read: Vec<_> = order.iter().map(|device| cells[cell(*device, 0)].buffer.as_ref().unwrap()).collect();
    let chosen: Vec<&Device> = order.iter().map(|device| &devices[*device]).collect();
    let op = Exchange::<BLOCKING> { fails_after, ..Exchange::default() };
    let (written, error) = outputs(op.submit(&chosen, &read, written));
    let inputs: Vec<Option<u32>> = order.iter().map(|device| cells[cell(*device, 0)].model).collect();
    // One failed input fails it on all devices.
    let fails = error.is_some() || fails_after.is_some() || inputs.contains(&None);
    assert!(error.is_none() || fails_after.is_some() || inputs.contains(&None), "{error:?}");
    for ((i, device), buffer) in order.iter().enumerate().zip(written) {
        let model = inputs[(i + 1) % count].map(exchanged).filter(|_| !fails);
        cells[cell(*device, 1)] = Cell { device: *device, buffer: Some(buffer), model };
    }
}

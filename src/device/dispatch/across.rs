//! A dispatch over several devices: the same path, taken as a whole.
//!
//! ```text
//!   1 admit     each device once, all of one engine; each operand on one of them
//!   2 check     the op's own
//!   3 lease     a stream slot on each device, in the order of the devices' numbers
//!   4 order     each of them, for what this work must follow on that device
//!   5 enqueue   the op's half, once, with the slots of all devices
//!   6 record    a completion on each device, publish it to the buffers there
//! ```
//!
//! Nothing of it is enqueued on one device alone: if the half fails on its way, what it had enqueued is kept alive to its
//! end, the outputs have no contents, and there is one error. If some of what it follows is not enqueued yet, it is late
//! on all devices. A device that ends settles it on all.

use crate::core::buffer::{Captured, Elems, View, Views, Visit};
use crate::core::dispatch::{PendingDispatch, Task, TaskHold};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{OpKind, Raw, guarded};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::device::dispatch::{Submitted, is_eager, mark_overwritten};
use crate::device::engine::Engine;
use crate::engines::dispatch::{Call, Part, Submission};
use crate::engines::op::Facts;
use crate::engines::op::{Ins, Op, OpMemory, Outs, StackOp, WritesOf, conclude};
use smallvec::SmallVec;

/// Operations of your own, on several devices.
impl Device {
    /// Submits one unit of work that uses several devices at once, such as an exchange of data between them.
    ///
    /// The op's operands may be on any of `devices`. On each device the work follows all earlier operations on its
    /// operands there, and later ones follow it. It is one dispatch, with one pending: it is done when it is done on all
    /// devices. On GPUs its CUDA half gets a stream of each device ([`Enqueue::on`](crate::op::Enqueue::on)), in the order of
    /// `devices`. On host devices its host half runs once, in the pool of the first. The first device also gives the
    /// settings (label, wait policy, timing), and its listeners see the dispatch.
    ///
    /// The dispatch is enqueued on all devices or fails as a whole. If the CUDA half fails after it has enqueued
    /// something, the contents of all outputs are undefined.
    ///
    /// # Errors
    /// A typed error before any native call, with the moved-in buffers. [`Error::InvalidArgument`]: no device, a device
    /// that is named twice, or an operand on none of the devices. [`Error::Unsupported`]: an op that does not declare
    /// [`Op::ACROSS_DEVICES`], has phases or needs plans; devices of different engines; an isolated device; a recording.
    /// Also the errors of [`dispatch`](Self::dispatch), from any of the devices.
    ///
    /// ```
    /// use windlass::{Device, DeviceBuffer, Error, Result, op::{List, Op, Slices, SlicesMut, Spans}};
    ///
    /// /// Each output is the sum of all inputs.
    /// struct AllReduce;
    ///
    /// impl Op for AllReduce {
    ///     const NAME: &'static str = "all_reduce";
    ///     const ACROSS_DEVICES: bool = true;
    ///     type Reads = (List<f32>,);
    ///     type Output = Vec<DeviceBuffer<f32>>;
    ///     type Raw = ();
    ///
    ///     fn check(&self, (inputs,): &Spans<Self::Reads>, (outputs,): &Spans<(List<f32>,)>) -> Result<()> {
    ///         let len = inputs.first().map_or(0, |input| input.len());
    ///         if inputs.iter().chain(outputs).all(|operand| operand.len() == len) {
    ///             return Ok(());
    ///         }
    ///         Err(Error::invalid("inputs", "the lengths differ"))
    ///     }
    ///     fn overwrites(&self, _: &Spans<(List<f32>,)>) -> bool {
    ///         true
    ///     }
    ///     fn host(&self, (inputs,): Slices<'_, Self>, (outputs,): SlicesMut<'_, Self>) -> Result<()> {
    ///         for output in outputs {
    ///             for (i, y) in output.iter_mut().enumerate() {
    ///                 *y = inputs.iter().map(|input| input[i]).sum();
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    ///     fn finish(&self, _: ()) -> Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let (one, two) = (Device::host()?, Device::host()?);
    /// let (x, y) = (one.buffer([1.0f32, 2.0])?, two.buffer([10.0f32, 20.0])?);
    /// let outputs = vec![one.uninit(2)?.into_buffer(), two.uninit(2)?.into_buffer()];
    /// let sums = Device::dispatch_across(&[&one, &two], AllReduce, (&[x.as_in(), y.as_in()],), (outputs,))?;
    /// let sums = sums.await_result()?;
    /// assert_eq!(two.to_vec(&sums[1])?, [11.0, 22.0]);
    /// # Ok(()) }
    /// ```
    pub fn dispatch_across<O: Op>(
        devices: &[&Device],
        op: O,
        reads: Ins<'_, O>,
        writes: Outs<O>,
    ) -> Submitted<O::Output, <O::Raw as Raw>::Left> {
        let (facts, mut op) = (Facts::of::<O>(), StackOp::new(op));
        let mut views = Views::new();
        let task = {
            let spans = O::Reads::read(&reads, &mut Visit(&mut views));
            let read_count = views.len();
            op.set((spans, WritesOf::<O>::write(&writes, &mut Visit(&mut views))));
            submit(devices, op.memory(), (&mut views, read_count))
        };
        drop(views);
        let Some(lead) = devices.first() else {
            let error = Error::invalid("devices", "the list is empty").in_op(facts.name, facts.library);
            return Err(Rejected::new(error, writes).into());
        };
        match task {
            Ok(hold) => {
                let task = Task { hold, conclude: conclude::<O> };
                Ok(PendingDispatch::new(task, writes, (lead.wait_policy(), is_eager::<O>())))
            }
            Err(error) => Err(Rejected::new(lead.refused(error, facts), writes).into()),
        }
    }
}

/// The part that does not depend on the type of the op.
fn submit<'x>(
    devices: &[&Device],
    memory: OpMemory<'_>,
    (views, read_count): (&mut [View<'x>], usize),
) -> Result<TaskHold> {
    let (facts, mut call) = (memory.facts(), Call::new(memory));
    crate::core::inside::refuse_inside("a dispatch")?;
    let epochs: SmallVec<[Arc<Epoch>; 2]> = devices.iter().map(|device| device.epoch()).collect();
    let (Some(lead), Some(device)) = (epochs.first(), devices.first()) else { return call.task() };
    admit_devices(&epochs, facts)?;
    guarded(&mut || {
        mark_overwritten(&call, views, read_count);
        for index in facts.leaves_undefined {
            if let Some(view) = views.get_mut(read_count + index) {
                view.undefined = true;
            }
        }
        for (i, view) in views.iter().enumerate() {
            admit_operand(view, &epochs, &|| call.operand_name(i, read_count))?;
        }
        call.check()
    })?;
    for (device, epoch) in devices.iter().zip(&epochs) {
        device.inner().in_flight.admit(epoch, device.options())?;
    }
    let mut captured = Captured::default();
    for (index, view) in views.iter().enumerate().filter(|(_, view)| view.meets_captures()) {
        view.captures(index < read_count, &mut captured);
    }
    let mut all: Views<'_> = views.iter().copied().collect();
    all.extend(captured.views());
    let on = |epoch: &Arc<Epoch>, range: &[View<'_>]| -> usize {
        range.iter().filter(|view| Arc::ptr_eq(&view.region.epoch, epoch)).count()
    };
    let parts: SmallVec<[Part<'_, '_>; 2]> = epochs
        .iter()
        .zip(devices)
        .map(|(epoch, device)| Part {
            epoch,
            options: device.options(),
            views: all.iter().filter(|view| Arc::ptr_eq(&view.region.epoch, epoch)).copied().collect(),
            read_count: on(epoch, views.get(..read_count).unwrap_or_default()),
        })
        .collect();
    let mut submission = Submission::new(&mut call, facts, lead, device.options(), (&all, read_count));
    submission.operand_count = views.len();
    match Engine::for_epoch(lead) {
        #[cfg(feature = "host")]
        Engine::Host(engine) => engine.submit_across(&mut submission, &parts),
        #[cfg(feature = "cuda")]
        Engine::Cuda(engine) => engine.submit_across(&mut submission, &parts),
        #[cfg(target_os = "linux")]
        Engine::Worker(_) => Err(isolated(lead)),
        Engine::Tape(_) => Err(recording()),
    }?;
    call.task()
}

#[cfg(target_os = "linux")]
#[cold]
fn isolated(epoch: &Epoch) -> Error {
    Error::unsupported(format!(
        "{} is isolated: its memory belongs to another process; use download and upload instead",
        epoch.label
    ))
}

#[cold]
fn recording() -> Error {
    Error::unsupported("a recording has one device; submit the operation between replays instead")
}

/// Whether this op may be submitted over these devices.
fn admit_devices(epochs: &[Arc<Epoch>], facts: &Facts) -> Result<()> {
    if !facts.across {
        return Err(Error::unsupported("it runs on one device: `Op::ACROSS_DEVICES` is false"));
    }
    if facts.kind == OpKind::Phased || facts.prepared {
        return Err(Error::unsupported("an operation over several devices cannot have phases or plans"));
    }
    for (i, epoch) in epochs.iter().enumerate() {
        let label = &epoch.label;
        if epochs.iter().take(i).any(|other| other.device == epoch.device) {
            return Err(Error::invalid("devices", format!("{label} is named twice; name each device once")));
        }
        match (Engine::for_epoch(epoch), epochs.first().map(|lead| Engine::for_epoch(lead))) {
            #[cfg(target_os = "linux")]
            (Engine::Worker(_), _) => return Err(isolated(epoch)),
            (Engine::Tape(_), _) => return Err(recording()),
            #[cfg(feature = "host")]
            (Engine::Host(_), Some(Engine::Host(_))) => {}
            #[cfg(feature = "cuda")]
            (Engine::Cuda(_), Some(Engine::Cuda(_))) => {}
            _ => {
                let lead = epochs.first().map_or("", |lead| &*lead.label);
                return Err(Error::unsupported(format!(
                    "{label} and {lead} have different engines; use download and upload between them instead"
                )));
            }
        }
        epoch.admit()?;
    }
    Ok(())
}

/// Checks that the operand is on one of the devices, is of its generation, and has contents.
fn admit_operand(view: &View<'_>, epochs: &[Arc<Epoch>], name: &dyn Fn() -> String) -> Result<()> {
    let of = &view.region.epoch;
    if !epochs.iter().any(|epoch| Arc::ptr_eq(epoch, of)) {
        of.admit()?; // of an earlier generation
        let reason = format!("the buffer belongs to {}, which is not one of the devices of the operation", of.label);
        return Err(Error::invalid(name(), reason));
    }
    crate::device::dispatch::admit_contents(view, name)
}

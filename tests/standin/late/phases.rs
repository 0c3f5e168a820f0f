//! Operations in phases: what one leaves decides what is made for the next.

use super::ops::{Stand, Trouble, stand};
use crate::common::{LONG, down, eventually, up};
use crate::standin::{Driver, Mode, device, session};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Result, Verdict,
    op::{Enqueue, LaunchDims, Made, Make, Next, Op, OpKind, Output, Ptx, Readable, Slices, SlicesMut, Span, Spans},
};

static KERNELS: Ptx = Ptx::new(
    ".version 8.0\n.target sm_90\n.address_size 64\n\
     .visible .entry axpb_f32(.param .u64 x, .param .u64 y, .param .u64 n, .param .f32 a, .param .f32 b) { ret; }\n",
);

/// The first elements of `x`, of which the first says how many, each as `2 x + 1`. In three phases: the number; a part of
/// `x` in memory that lasts from there on; the answer.
#[derive(Default)]
struct Take {
    /// Where a phase stands before it enqueues.
    stand: Option<(usize, Stand)>,
    before: Option<(usize, Trouble)>,
    after: Option<(usize, Trouble)>,
    between: Option<(usize, Trouble)>,
}

/// What was taken, made by the device.
#[derive(Debug)]
struct Taken(DeviceBuffer<f32>);

impl Output for Taken {
    type Writes = ();
    type Host = DeviceBuffer<f32>;
    fn join((): (), made: DeviceBuffer<f32>) -> Result<Self> {
        Ok(Taken(made))
    }
}

fn happens(trouble: Option<(usize, Trouble)>, phase: usize) -> Result<()> {
    match trouble {
        Some((at, trouble)) if at == phase => Err(trouble.happen()),
        _ => Ok(()),
    }
}

fn axpb(queue: &mut Enqueue<'_, Take>, from: u64, to: u64, n: usize, (a, b): (f32, f32)) -> Result<()> {
    let dims = LaunchDims::for_elements(n.max(1))?;
    // SAFETY: the kernel has these parameters; both sides hold so many elements.
    unsafe { queue.launch(&KERNELS, c"axpb_f32", dims, &[from.into(), to.into(), n.into(), a.into(), b.into()]) }
}

impl Op for Take {
    const NAME: &'static str = "take";
    const LIBRARY: &'static str = "test";
    const KIND: OpKind = OpKind::Phased;
    type Reads = (f32,);
    type Output = Taken;
    type Raw = f32;

    fn check(&self, (x,): &Spans<(f32,)>, (): &Spans<()>) -> Result<()> {
        if x.is_empty() { Err(Error::invalid("x", "it is empty")) } else { Ok(()) }
    }
    fn host(&self, _: Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<f32> {
        Err(Error::unsupported("it makes its output"))
    }
    fn host_made(&self, (x,): Slices<'_, Self>, (): SlicesMut<'_, Self>, make: &mut Make<'_>) -> Result<f32> {
        happens(self.between, 0)?;
        let taken: Vec<f32> = x[..x[0] as usize].iter().map(|x| 2.0 * x + 1.0).collect();
        make.filled(&taken)?;
        Ok(x[0])
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let phase = queue.phase();
        if let Some((at, stand)) = &self.stand
            && *at == phase
        {
            stand.wait();
        }
        happens(self.before, phase)?;
        let (x,): (Span<f32>,) = *queue.reads();
        let result = queue.result()?;
        axpb(queue, x.address(), result, 1, (1.0, 0.0))?;
        match phase {
            0 => assert!(queue.made::<f32>(0).is_err() && queue.made_scratch(0).is_err()),
            1 => {
                let scratch = queue.made_scratch(0)?;
                axpb(queue, x.address(), scratch, x.len(), (2.0, 1.0))?;
            }
            _ => {
                let (made, scratch) = (queue.made::<f32>(0)?, queue.made_scratch(0)?);
                assert!(queue.made::<f64>(0).is_err() && queue.made::<f32>(1).is_err());
                axpb(queue, scratch, made.address(), made.len(), (1.0, 0.0))?;
            }
        }
        happens(self.after, phase)
    }
    fn next(&self, phase: usize, count: &f32, make: &mut Make<'_>) -> Result<Next> {
        happens(self.between, phase)?;
        match phase {
            0 => {
                make.scratch(64)?;
                Ok(Next::Phase)
            }
            _ => {
                make.buffer::<f32>(*count as usize)?;
                Ok(Next::Last)
            }
        }
    }
    fn finish(&self, _: f32) -> Result<DeviceBuffer<f32>> {
        Err(Error::unsupported("it makes its output"))
    }
    fn conclude(&self, count: f32, made: &mut Made) -> Result<DeviceBuffer<f32>> {
        assert_eq!(made.len(), 1);
        assert!(made.take::<f64>().is_err(), "of another type");
        let taken = made.take::<f32>()?;
        assert!(taken.len() == count as usize && made.is_empty() && made.take::<f32>().is_err());
        Ok(taken)
    }
}

fn take<'a>(device: &Device, op: Take, x: impl Readable<'a, f32>) -> PendingDispatch<Taken, Verdict> {
    device.dispatch(op, (x.into(),), ()).unwrap()
}

/// Eight elements, of which three are to be taken.
fn eight(device: &Device) -> DeviceBuffer<f32> {
    up(device, [3.0f32, 1.0, 2.0, 9.0, 9.0, 9.0, 9.0, 9.0])
}

const TAKEN: [f32; 3] = [7.0, 3.0, 5.0];

#[test]
fn what_a_phase_leaves_decides_what_is_made_and_the_host_agrees() {
    let driver = session();
    for mode in [Mode::Auto, Mode::Eager, Mode::Background] {
        driver.reset();
        driver.mode(mode);
        for device in [device(2), Device::host().unwrap()] {
            let x = eight(&device);
            let pending = take(&device, Take::default(), &x);
            // Written while the phases read it.
            let x = device.fill(x, 0.0).unwrap().into_buffer();
            let Taken(taken) = pending.await_result().unwrap();
            assert_eq!((down(&device, &taken), down(&device, &x)), (TAKEN.to_vec(), vec![0.0; 8]));
            // Nothing at all is something too; and what was made is a buffer like any other.
            let Taken(none) = take(&device, Take::default(), &x).await_result().unwrap();
            assert!(none.is_empty() && down(&device, &none).is_empty());
            let taken = device.blas().scal(2.0, taken).unwrap().into_buffer();
            assert_eq!(down(&device, &taken), [14.0, 6.0, 10.0]);
            assert!(device.dispatch(Take::default(), (none.as_in(),), ()).is_err());
            drop((x, none, taken, device));
        }
        driver.assert_finished();
    }
}

#[test]
fn a_failure_in_any_phase_gives_back_all_that_was_made_and_touches_no_input() {
    let driver = session();
    for phase in 0..3 {
        for trouble in [Trouble::Fails, Trouble::Panics] {
            let at = Some((phase, trouble));
            let ops = [
                Take { before: at, ..Take::default() },
                Take { after: at, ..Take::default() },
                Take { between: at, ..Take::default() },
            ];
            for op in ops {
                if phase == 2 && op.between.is_some() {
                    continue; // nothing comes after the last
                }
                driver.reset();
                let device = device(2);
                let x = eight(&device);
                device.synchronize(LONG).unwrap();
                let held = device.stats().allocations;
                let pending = take(&device, op, &x);
                let y = device.blas().axpy(1.0, &x, up(&device, [0.0f32; 8])).unwrap();
                let x = device.blas().scal(2.0, x).unwrap();
                let error = pending.await_result().unwrap_err();
                assert!(matches!(error, Error::Unsupported { .. } | Error::Panicked { .. }), "{error:?}");
                let (x, y) = (x.await_result().unwrap(), y.await_result().unwrap());
                assert_eq!((down(&device, &x)[0], down(&device, &y)[0]), (6.0, 3.0));
                drop(y);
                assert!(eventually(30, || device.stats().allocations == held), "{:?}", device.stats());
                drop((x, device));
                driver.assert_finished();
            }
        }
    }
}

/// The memory ladder, then the error.
fn no_memory(driver: &Driver, attempts: i32) -> Result<Vec<f32>> {
    driver.reset();
    let device = device(2);
    let x = eight(&device);
    // All that the phases themselves want is there.
    let warm = take(&device, Take::default(), &x).await_result().unwrap();
    drop(warm);
    device.synchronize(LONG).unwrap();
    let (held, hold) = stand();
    let pending = take(&device, Take { stand: Some((1, held)), ..Take::default() }, &x);
    hold.await_arrival();
    (0..attempts).for_each(|_| driver.fail("cuMemAllocFromPoolAsync", 0, 2));
    hold.go_on();
    let taken = pending.await_result().map(|Taken(taken)| down(&device, &taken));
    drop((x, device));
    driver.clear();
    driver.assert_finished();
    taken
}

#[test]
fn a_buffer_between_phases_that_finds_no_memory_is_tried_once_more() {
    let driver = session();
    assert_eq!(no_memory(&driver, 0).unwrap(), TAKEN);
    // Memory of the same size that waits to be used again asks nobody.
    let _ = no_memory(&driver, 1).map(|taken| assert_eq!(taken, TAKEN));
}

#[test]
fn pendings_that_are_dropped_between_phases_change_nothing() {
    let driver = session();
    for phase in 0..3 {
        driver.reset();
        let device = device(2);
        let x = eight(&device);
        let (held, hold) = stand();
        let pending = take(&device, Take { stand: Some((phase, held)), ..Take::default() }, &x);
        hold.await_arrival();
        assert!(!pending.is_ready());
        drop((pending, x));
        hold.go_on();
        drop(device);
        driver.assert_finished();
    }
}

#[test]
fn a_rebuild_waits_for_the_last_phase() {
    let driver = session();
    let device = device(2);
    let x = eight(&device);
    let (held, hold) = stand();
    let pending = take(&device, Take { stand: Some((1, held)), ..Take::default() }, &x);
    hold.await_arrival();
    assert!(matches!(device.rebuild(Duration::from_millis(20)), Err(Error::Timeout { .. })));
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| device.rebuild(LONG));
        assert!(eventually(30, || device.uninit::<u8>(8).is_err()));
        hold.go_on();
        rebuild.join().unwrap().unwrap();
    });
    let Taken(taken) = pending.await_result().expect("it was admitted before");
    assert!(matches!(device.download(&taken).unwrap_err(), Error::GpuRefStale { .. }));
    drop((x, taken));
    let x = eight(&device);
    let Taken(taken) = take(&device, Take::default(), &x).await_result().unwrap();
    assert_eq!(down(&device, &taken), TAKEN);
    drop((x, taken, device));
    driver.assert_finished();
}

/// More at a time than there are streams for them.
#[test]
fn many_in_phases_take_turns() {
    let driver = session();
    driver.mode(Mode::Background);
    let device = device(2);
    let x = eight(&device);
    let work: Vec<_> = (0..12).map(|_| take(&device, Take::default(), &x)).collect();
    for pending in work {
        let Taken(taken) = pending.await_result().unwrap();
        assert_eq!(down(&device, &taken), TAKEN);
    }
    drop((x, device));
    driver.assert_finished();
}

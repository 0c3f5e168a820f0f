//! Operations of one's own: plain data crosses, a closure does not.

use crate::common::{InPlace, down, host, map, refused, up};
use crate::gate::{Gate, Pass};
use crate::{LONG, alone, isolated};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, Error, PendingDispatch, Result,
    op::{AnyBuffers, AnyIn, Dyn, Op, Slices, SlicesMut, Spans, Wire},
};

/// What an operation does to its worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Deed {
    Nothing,
    /// Milliseconds.
    Sleep(u64),
    /// Until the gate is open.
    Held(Pass),
    /// Leaves a process behind that holds everything open for that many milliseconds.
    Fork(u64),
    Fail(String),
    Panic(String),
    Abort,
    Exit(i32),
    /// An access to address 8.
    Segfault,
    /// Carries that many bytes.
    Heavy(Vec<u8>),
    /// Is written, and not read again.
    Lost(Unreadable),
    /// Takes so many milliseconds to be read: the worker cannot get it on its way before.
    Slow(Slow),
    /// Is not read before the gate is open.
    Late(Late),
    /// Panics where it is read.
    Startled(Startled),
    /// Panics where it is written.
    Stubborn(Stubborn),
    /// Panics where it is dropped, in a worker.
    Clinging(Clinging),
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
        panic!("it is not told")
    }
}

/// With the process that made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Clinging(pub(crate) u32);

impl Drop for Clinging {
    fn drop(&mut self) {
        assert!(self.0 == std::process::id(), "it stays");
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Slow(pub(crate) u64);

impl<'de> Deserialize<'de> for Slow {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = u64;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("milliseconds")
            }
            fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, from: D) -> std::result::Result<u64, D::Error> {
                u64::deserialize(from)
            }
        }
        let ms = from.deserialize_newtype_struct("Slow", Visitor)?;
        std::thread::sleep(Duration::from_millis(ms));
        Ok(Slow(ms))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Pass")]
pub(crate) struct Late(pub(crate) Pass);

impl From<Pass> for Late {
    fn from(pass: Pass) -> Self {
        pass.stand();
        Late(pass)
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Startled;

impl<'de> Deserialize<'de> for Startled {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> std::result::Result<Self, D::Error> {
        panic!("what is this")
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Unreadable;

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> std::result::Result<Self, D::Error> {
        Err(serde::de::Error::custom("it cannot be read"))
    }
}

impl crate::common::Deed for Deed {
    const NAME: &'static str = "do";
    type Element = f64;

    fn host(&self, x: &mut [f64]) -> Result<()> {
        match self {
            Deed::Nothing | Deed::Lost(_) | Deed::Slow(_) | Deed::Late(_) => {}
            Deed::Startled(_) | Deed::Stubborn(_) | Deed::Clinging(_) => {}
            Deed::Sleep(ms) => std::thread::sleep(Duration::from_millis(*ms)),
            Deed::Held(pass) => pass.stand(),
            Deed::Fork(ms) => {
                // SAFETY: the child sleeps and ends, and touches nothing that a lock could guard.
                unsafe {
                    if libc::fork() == 0 {
                        libc::usleep(*ms as u32 * 1_000);
                        libc::_exit(0);
                    }
                }
            }
            Deed::Fail(why) => return Err(Error::library(why.clone())),
            Deed::Panic(why) => panic!("{why}"),
            Deed::Abort => std::process::abort(),
            Deed::Exit(code) => std::process::exit(*code),
            // SAFETY: none: this is meant to be killed for it, in a process that is there to be lost.
            Deed::Segfault => unsafe { std::ptr::with_exposed_provenance_mut::<u8>(8).write_volatile(1) },
            Deed::Heavy(bytes) => x.fill(bytes.len() as f64),
        }
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

/// Submits it on a buffer of its own.
pub(crate) fn submit(device: &Device, deed: Deed) -> Result<PendingDispatch<DeviceBuffer<f64>>> {
    Ok(device.dispatch(InPlace(deed), (), (device.zeros::<f64>(1)?.into_buffer(),))?)
}

/// Gives every second element back, as data of a length that only the device knows.
#[derive(Serialize, Deserialize)]
struct Odd;

impl Op for Odd {
    const NAME: &'static str = "odd";
    type Reads = (Option<f64>, windlass::op::List<f64>);
    type Output = Vec<f64>;
    type Raw = windlass::op::Landed<f64>;

    fn check(&self, _: &Spans<Self::Reads>, (): &Spans<()>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (first, rest): Slices<'_, Self>, (): SlicesMut<'_, Self>) -> Result<Self::Raw> {
        let all = first.into_iter().chain(rest).flatten().copied();
        Ok(all.enumerate().filter(|(i, _)| i % 2 == 1).map(|(_, x)| x).collect::<Vec<_>>().into())
    }
    fn finish(&self, raw: Self::Raw) -> Result<Self::Raw> {
        Ok(raw)
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

/// Adds one to whatever elements it is given, and says how many of each type it read.
#[derive(Serialize, Deserialize)]
struct AddOne;

impl Op for AddOne {
    const NAME: &'static str = "add_one";
    type Reads = Dyn;
    type Output = AnyBuffers;
    type Raw = ();

    fn check(&self, reads: &Spans<Dyn>, writes: &Spans<Dyn>) -> Result<()> {
        let same = reads.iter().map(|x| (x.dtype(), x.len())).eq(writes.iter().map(|x| (x.dtype(), x.len())));
        if same { Ok(()) } else { Err(Error::invalid("reads", "other types or lengths than the writes")) }
    }
    fn host(&self, reads: Slices<'_, Self>, writes: SlicesMut<'_, Self>) -> Result<()> {
        for (from, to) in reads.into_iter().zip(writes) {
            match (from.downcast::<f32>(), from.downcast::<u8>()) {
                (Some(from), _) => to.downcast::<f32>().unwrap().iter_mut().zip(from).for_each(|(y, x)| *y = x + 1.0),
                (_, Some(from)) => to.downcast::<u8>().unwrap().iter_mut().zip(from).for_each(|(y, x)| *y = x + 1),
                _ => return Err(Error::unsupported(format!("{}", from.dtype()))),
            }
        }
        Ok(())
    }
    fn overwrites(&self, _: &Spans<Dyn>) -> bool {
        true
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
}

#[test]
fn operands_of_types_known_at_run_time_cross() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let (x, y) = (up(&device, [1.0f32, 2.0, 3.0]), up(&device, [7u8]));
    let reads = [AnyIn::from(x.as_in().slice(1..3).unwrap()), AnyIn::from(&y)];
    let writes =
        [device.uninit::<f32>(2).unwrap().into_buffer().into(), device.uninit::<u8>(1).unwrap().into_buffer().into()];
    let pending = device.dispatch(AddOne, reads.into_iter().collect(), writes.into_iter().collect()).unwrap();
    let (x, y) = pending.into_output().downcast::<(DeviceBuffer<f32>, DeviceBuffer<u8>)>().unwrap();
    assert_eq!((down(&device, &x), down(&device, &y)), (vec![3.0, 4.0], vec![8]));
    let writes = [device.uninit::<u8>(2).unwrap().into_buffer().into()];
    let rejected = device.dispatch(AddOne, [AnyIn::from(&x)].into_iter().collect(), writes.into_iter().collect());
    assert_eq!(refused(&rejected.unwrap_err().error).0, "reads");
}

#[test]
fn an_operation_of_ones_own_crosses_with_no_registration() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    assert!(device.is_isolated() && device.worker_pid().is_some());
    let x = submit(&device, Deed::Heavy(vec![7; 1000])).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [1000.0]);
    let stats = device.stats();
    assert!(stats.orders >= 3 && stats.bytes_crossed > 1000, "{stats:?}");
}

#[test]
fn options_lists_and_answers_of_any_length_cross() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let (a, b) = (up(&device, [1.0, 2.0, 3.0]), up(&device, [4.0, 5.0]));
    let list = [a.as_in(), b.as_in().slice(1..2).unwrap()];
    for (first, want) in [(None, vec![2.0, 5.0]), (Some(b.as_in()), vec![5.0, 2.0, 5.0])] {
        let got = device.dispatch(Odd, (first, &list[..]), ()).unwrap().await_result().unwrap();
        assert_eq!(got, want);
    }
}

#[test]
fn a_closure_does_not_cross_and_says_why() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = up(&device, [1.0f64]);
    let rejected = device.dispatch(crate::common::Map::new(|_: &mut [f64]| Ok(())), (), (x,)).unwrap_err();
    assert!(matches!(&rejected.error, Error::Unsupported { reason, .. } if reason.contains("Op::wire")), "{rejected}");
    let (x,) = rejected.back.expect("the buffer");
    assert_eq!(down(&device, &x), [1.0], "nothing has happened");
}

#[test]
fn errors_and_panics_of_an_operation_come_back_typed_and_cost_nothing_else() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let rejected = submit(&device, Deed::Fail("no luck".into())).unwrap().await_result().unwrap_err();
    assert!(matches!(&rejected.error, Error::LibraryError { message, .. } if message == "no luck"), "{rejected}");
    let site = rejected.error.site().unwrap();
    assert_eq!((site.op(), site.library(), site.device()), (Some("do"), Some("test"), Some(&*device.name())));
    let (x,) = rejected.back.expect("the buffer");
    let upstream = device.blas().nrm2(&x).unwrap().await_result().unwrap_err();
    assert!(matches!(upstream, Error::Upstream { .. }), "{upstream}");
    let first = upstream.first_failure().expect("the first failure");
    assert!(matches!(first, Error::LibraryError { message, .. } if message == "no luck"), "{first}");
    let panicked = submit(&device, Deed::Panic("pivot 7".into())).unwrap().await_result().unwrap_err().error;
    assert!(matches!(&panicked, Error::Panicked { message, .. } if message == "pivot 7"), "{panicked}");
    assert_eq!((device.generation(), down(&device, &up(&device, [3.0f64]))), (0, vec![3.0]));
}

/// The output was given on before the worker found that it cannot even begin: nobody may take what lies there for it.
#[test]
fn what_was_not_carried_out_is_nothing_to_go_on_with() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let upstream = |pending: PendingDispatch<f64, windlass::Verdict>| {
        let error = pending.await_result().unwrap_err();
        assert!(matches!(error, Error::Upstream { .. }), "{error}");
    };
    let ((x,), verdict) = submit(&device, Deed::Lost(Unreadable)).unwrap().into_parts();
    let ((y,), copied) = device.copy(&x, device.zeros(1).unwrap()).unwrap().into_parts();
    upstream(device.blas().nrm2(&x).unwrap());
    upstream(device.blas().nrm2(&y).unwrap());
    assert!(verdict.await_result().is_err() && copied.await_result().is_err());
    // What is overwritten is well again.
    let x = device.fill(x, 3.0).unwrap().into_output();
    assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 3.0);
}

#[test]
fn a_panic_where_an_operation_is_read_is_its_answer_and_costs_nothing_else() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let ((x,), verdict) = submit(&device, Deed::Startled(Startled)).unwrap().into_parts();
    let upstream = device.blas().nrm2(&x).unwrap().await_result().unwrap_err();
    assert!(matches!(upstream, Error::Upstream { .. }), "{upstream}");
    assert!(upstream.first_failure().is_some_and(|first| first.to_string().contains("what is this")), "{upstream}");
    let panicked = verdict.await_result().unwrap_err();
    assert!(matches!(&panicked, Error::Panicked { message, .. } if message == "what is this"), "{panicked}");
    assert_eq!((device.generation(), down(&device, &up(&device, [3.0f64]))), (0, vec![3.0]));
}

/// Whether the worker runs it on the thread that reads this one's orders.
#[derive(Serialize, Deserialize)]
struct Where(u64);

impl crate::common::Deed for Where {
    const NAME: &'static str = "where";
    type Element = f64;

    fn cost(&self) -> windlass::op::Cost {
        assert_ne!(self.0, u64::MAX, "too dear");
        windlass::op::Cost { flops: self.0, bytes: 0 }
    }
    fn host(&self, x: &mut [f64]) -> Result<()> {
        x.fill(f64::from(u8::from(std::thread::current().name().is_some_and(|name| name.contains(" lane ")))));
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

/// To wake another thread for it would take longer. What is not known to be small must not hold the thread up, nor what has
/// to wait; and no more run at a time than may.
#[test]
fn what_is_small_is_run_by_the_thread_that_has_read_the_order() {
    let _alone = alone();
    let device = isolated().host_pool(windlass::HostPool::Threads(1)).open().unwrap();
    let run = |flops| {
        device
            .dispatch(InPlace(Where(flops)), (), (device.zeros::<f64>(1).unwrap().into_buffer(),))
            .unwrap()
            .into_output()
    };
    device.synchronize(Duration::from_secs(60)).unwrap();
    let here = |flops| {
        let x = run(flops);
        let here = down(&device, &x) == [1.0];
        device.synchronize(LONG).unwrap();
        here
    };
    // The one thread may still be on its way out of what it ran before.
    assert!((0..50).any(|_| here(100)), "a small one");
    assert!(!here(0) && !here(1 << 30), "one that is not known to be small");
    assert!((0..50).any(|_| here(100)), "a small one after others");
    let gate = Gate::new();
    let slow = submit(&device, Deed::Held(gate.pass())).unwrap();
    gate.await_arrival(); // the one thread is at it
    let (beside, behind) =
        (run(100), device.dispatch(InPlace(Where(100)), (), (slow.into_output(),)).unwrap().into_output());
    // Answered where it is read, and those before it were read before.
    assert!(submit(&device, Deed::Lost(Unreadable)).unwrap().await_result().is_err());
    gate.open();
    assert_eq!((down(&device, &beside), down(&device, &behind)), (vec![0.0], vec![0.0]));
}

#[test]
fn an_operation_whose_cost_panics_in_the_worker_is_done_and_holds_up_nobody() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = device.zeros::<f64>(1).unwrap();
    let ((x,), verdict) = device.dispatch(InPlace(Where(u64::MAX)), (), (x.into_buffer(),)).unwrap().into_parts();
    match device.blas().nrm2(&x).unwrap().await_timeout(Duration::from_secs(60)) {
        Ok(answer) => assert_eq!(answer.unwrap(), 0.0, "what is not known to be small is not done by the lane"),
        Err(_) => panic!("what came after it waits for ever"),
    }
    verdict.await_result().unwrap();
    // What overwrites it follows it all the same.
    let Ok(filled) = device.fill(x, 3.0).unwrap().await_timeout(Duration::from_secs(60)) else {
        panic!("what overwrites it waits for ever")
    };
    assert_eq!((device.generation(), down(&device, &filled.unwrap())), (0, vec![3.0]));
}

#[test]
fn time_on_the_device_crosses() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let timed = submit(&device.timed(), Deed::Sleep(20)).unwrap().await_timed().unwrap();
    assert!(timed.device.unwrap() >= Duration::from_millis(20), "{:?}", timed.device);
    assert!(submit(&device, Deed::Nothing).unwrap().await_timed().unwrap().device.is_none());
}

#[test]
fn buffers_of_an_isolated_device_are_no_other_devices_to_read() {
    let _alone = alone();
    let (isolated, plain) = (isolated().open().unwrap(), host(1).open().unwrap());
    let (there, here) = (up(&isolated, [1.0f64]), up(&plain, [2.0f64]));
    assert!(plain.copy_peer(&there, plain.uninit(1).unwrap()).is_err());
    assert!(isolated.copy_peer(&here, isolated.uninit(1).unwrap()).is_err());
    assert!(plain.copy(&there, plain.uninit(1).unwrap()).is_err());
    drop(map(&plain, here, |_| ()));
}

/// What an operation's author wrote may panic on either side: the operation fails, or nothing does.
#[test]
fn panics_of_serde_and_drop_are_the_operations_own() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let error = submit(&device, Deed::Stubborn(Stubborn)).unwrap_err();
    assert!(matches!(&error, Error::Panicked { message, .. } if message.contains("not told")), "{error}");
    for _ in 0..5 {
        let x = submit(&device, Deed::Clinging(Clinging(std::process::id()))).unwrap();
        assert_eq!(down(&device, &x.await_result().unwrap()), [0.0]);
        let next = submit(&device, Deed::Nothing).unwrap();
        assert_eq!(down(&device, &next.await_result().unwrap()), [0.0], "the next one has no part in it");
    }
    assert_eq!(device.generation(), 0, "the worker lives");
}

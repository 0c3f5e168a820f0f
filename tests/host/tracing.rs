//! What a trace is told, and what a device counts.

use crate::common;

use common::{Gate, builders, columns, down, eventually, host, inline, is_host, let_others_run, up, within};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{
    Complex, DType, Device, DeviceBuffer, DeviceBuilder, FaultPlan, Gemm, Result,
    op::{Cost, Op, Slices, SlicesMut, Spans},
    trace::{OpInfo, Trace},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    BeforeEnqueue,
    AfterEnqueue,
    BeforeComplete,
    AfterComplete(Duration),
}

/// Writes down everything it is told.
#[derive(Default)]
struct Recorder(Mutex<Vec<(Event, OpInfo, ThreadId)>>);

impl Recorder {
    fn note(&self, event: Event, op: &OpInfo) {
        self.0.lock().unwrap().push((event, *op, std::thread::current().id()));
    }

    fn events(&self) -> Vec<(Event, OpInfo, ThreadId)> {
        self.0.lock().unwrap().clone()
    }

    /// The events, once `n` operations are complete.
    #[track_caller]
    fn complete(&self, n: usize) -> Vec<(Event, OpInfo, ThreadId)> {
        let completed = || self.events().iter().filter(|e| matches!(e.0, Event::AfterComplete(_))).count();
        assert!(eventually(10, || completed() == n), "{} of {n} operations completed", completed());
        self.events()
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl Trace for Recorder {
    fn before_enqueue(&self, op: &OpInfo) {
        self.note(Event::BeforeEnqueue, op);
    }
    fn after_enqueue(&self, op: &OpInfo) {
        self.note(Event::AfterEnqueue, op);
    }
    fn before_complete(&self, op: &OpInfo) {
        self.note(Event::BeforeComplete, op);
    }
    fn after_complete(&self, op: &OpInfo, latency: Duration) {
        self.note(Event::AfterComplete(latency), op);
    }
}

fn traced(builder: DeviceBuilder) -> (Device, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    (builder.trace(recorder.clone()).open().unwrap(), recorder)
}

/// Every device under test with a recorder.
fn traced_devices() -> Vec<(Device, Arc<Recorder>)> {
    builders().into_iter().map(traced).collect()
}

#[test]
fn each_operation_has_its_four_hooks_once_and_in_order() {
    for (device, recorder) in traced_devices() {
        let x = up(&device, [1.0f64; 4]);
        let x = device.blas().scal(2.0, x).unwrap().into_buffer();
        assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 16.0);
        recorder.complete(3);
        assert!(eventually(10, || recorder.events().len() == 12));
        let events = recorder.events();
        for op in ["upload", "scal", "dot"] {
            let mut own: Vec<_> = events.iter().filter(|e| e.1.op == op).collect();
            if !is_host(&device) || device.is_isolated() {
                // What is short may be over before its submitter comes to say that it was enqueued.
                own[1..].sort_by_key(|e| e.0 != Event::AfterEnqueue);
            }
            let kinds = own.iter().map(|e| e.0).collect::<Vec<_>>();
            let Event::AfterComplete(latency) = kinds[3] else { panic!("{kinds:?}") };
            let want = [Event::BeforeEnqueue, Event::AfterEnqueue, Event::BeforeComplete, kinds[3]];
            assert_eq!(kinds, want, "{op} on {device:?}");
            assert!(latency > Duration::ZERO && latency < common::LONG, "{latency:?}");
            let here = std::thread::current().id();
            assert!(own[0].2 == here && own[1].2 == here, "the submitter's thread is told of the enqueue");
        }
        let order: Vec<_> = events.iter().filter(|e| e.0 == Event::BeforeEnqueue).map(|e| e.1.op).collect();
        assert_eq!(order, ["upload", "scal", "dot"]);
    }
}

#[test]
fn hooks_name_the_operation_its_library_types_work_and_label() {
    for (device, recorder) in traced_devices() {
        let a = up(&device, vec![1i8; 6]);
        let (of_a, of_b) = (columns(&a, 2, 3), columns(&a, 3, 2));
        let z = up(&device, vec![Complex::new(1.0f32, 0.0); 10]);
        recorder.complete(2);
        recorder.clear();
        let labelled = device.labelled("layer 3").blas();
        let c = labelled.gemm(Gemm::new(), of_a, of_b, device.uninit([2, 2]).unwrap()).unwrap();
        drop(c.await_result().unwrap());
        device.blas().nrm2(&z).unwrap().await_result().unwrap();
        let events = recorder.complete(2);
        let gemm = events.iter().find(|e| e.1.op == "gemm").unwrap().1;
        assert_eq!((gemm.library, gemm.label), ("blas", Some("layer 3")));
        assert_eq!((gemm.reads, gemm.writes), (&[DType::I8, DType::I8][..], &[DType::I32][..]));
        assert_eq!((gemm.flops, gemm.bytes), (2 * 2 * 2 * 3, 6 + 6 + 4 * 4));
        let nrm2 = events.iter().find(|e| e.1.op == "nrm2").unwrap().1;
        assert_eq!((nrm2.label, nrm2.reads, nrm2.writes), (None, &[DType::C32][..], &[][..]));
        assert_eq!(nrm2.bytes, 80);
        for (_, info, _) in &events {
            assert!(info.stream.is_none() || !is_host(&device), "a host device has no streams");
        }
    }
}

#[test]
fn an_operation_that_is_refused_fires_no_completion() {
    for (device, recorder) in traced_devices() {
        let x = up(&device, [1.0f64; 3]);
        recorder.complete(1);
        recorder.clear();
        assert!(device.blas().axpy(1.0, &x, up(&device, [1.0f64; 4])).is_err());
        assert!(device.download(&device.uninit::<u8>(1).unwrap()).is_err());
        assert!(device.blas().gemm(Gemm::new(), &x, &x, device.zeros(1).unwrap()).is_err());
        device.synchronize(Duration::from_secs(60)).unwrap();
        let told: Vec<_> = recorder.events().into_iter().map(|e| e.1.op).collect();
        assert!(["axpy", "download", "gemm"].iter().all(|op| !told.contains(op)), "{told:?} on {device:?}");
    }
}

#[test]
fn a_failing_operation_completes_like_any_other() {
    for builder in [host(2), inline()] {
        let (device, recorder) = traced(builder.fault_plan(FaultPlan::new().fail(1)));
        let x = device.blas().scal(2.0, up(&device, [1.0f64])).unwrap().into_buffer();
        assert!(device.download(&x).unwrap().await_result().is_err());
        assert_eq!(recorder.complete(3).len(), 12);
    }
}

#[test]
fn latency_counts_from_submission() {
    let clock = ManualClock::new();
    let (device, recorder) = traced(host(1).timing(Timing::by(clock)));
    let gate = Gate::default();
    let x = gate.hold(&device, up(&device, [1u8])).into_output();
    let behind = device.download(&x).unwrap();
    clock.advance(Duration::from_millis(30));
    gate.open();
    drop(behind.await_result().unwrap());
    let events = recorder.complete(3);
    for op in ["map", "download"] {
        let latency = events.iter().find_map(|e| match e.0 {
            Event::AfterComplete(latency) if e.1.op == op => Some(latency),
            _ => None,
        });
        assert_eq!(latency, Some(Duration::from_millis(30)), "{op}");
    }
}

#[test]
fn nobody_is_told_of_an_answer_before_its_first_completion_hook() {
    struct Slow(Mutex<Vec<&'static str>>);
    impl Trace for Slow {
        fn before_complete(&self, op: &OpInfo) {
            let_others_run();
            self.0.lock().unwrap().push(op.op);
        }
    }
    for builder in builders() {
        let slow = Arc::new(Slow(Mutex::default()));
        let device = builder.trace(slow.clone()).open().unwrap();
        let x = up(&device, [3.0f64, 4.0]);
        assert_eq!(device.blas().nrm2(&x).unwrap().await_result().unwrap(), 5.0);
        assert!(slow.0.lock().unwrap().contains(&"nrm2"), "{device:?}");
    }
}

#[test]
fn hooks_that_panic_are_caught_and_the_work_goes_on() {
    struct Rude;
    impl Trace for Rude {
        fn before_enqueue(&self, _: &OpInfo) {
            std::panic::resume_unwind(Box::new("rude"));
        }
        fn after_enqueue(&self, _: &OpInfo) {
            std::panic::resume_unwind(Box::new("rude"));
        }
        fn before_complete(&self, _: &OpInfo) {
            std::panic::resume_unwind(Box::new("rude"));
        }
        fn after_complete(&self, _: &OpInfo, _: Duration) {
            std::panic::resume_unwind(Box::new("rude"));
        }
    }
    for builder in builders() {
        let device = builder.trace(Arc::new(Rude)).open().unwrap();
        within(20, move || {
            let mut x = up(&device, [1.0f64]);
            for _ in 0..100 {
                x = device.blas().scal(-1.0, x).unwrap().await_result().unwrap().into_buffer();
            }
            assert_eq!(down(&device, &x), [1.0]);
        });
    }
}

#[test]
fn a_hook_may_look_at_the_device() {
    struct Looks(Mutex<Option<Device>>, Mutex<u64>);
    impl Trace for Looks {
        fn before_complete(&self, _: &OpInfo) {
            if let Some(device) = &*self.0.lock().unwrap() {
                *self.1.lock().unwrap() += device.stats().dispatches + device.health().generation;
            }
        }
    }
    for builder in builders() {
        let looks = Arc::new(Looks(Mutex::default(), Mutex::default()));
        let device = builder.trace(looks.clone()).open().unwrap();
        *looks.0.lock().unwrap() = Some(device.clone());
        within(20, move || {
            assert_eq!(down(&device, &up(&device, [1u8])), [1]);
        });
        assert!(*looks.1.lock().unwrap() > 0);
        looks.0.lock().unwrap().take();
    }
}

#[test]
fn hooks_from_many_threads_add_up() {
    for (device, recorder) in traced_devices() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|i| assert_eq!(down(&device, &up(&device, [i])), [i])));
            }
        });
        let events = recorder.complete(400);
        assert_eq!((events.len(), device.stats().dispatches), (1600, 400));
    }
}

#[test]
fn a_device_counts_what_it_did_and_holds() {
    for builder in builders() {
        let device = builder.memory_limit(1 << 24).open().unwrap();
        let base = device.stats();
        assert_eq!((base.dispatches, base.in_flight, base.bytes_used, base.allocations), (0, 0, 0, 0));
        assert_eq!((base.generation, base.rebuilds, base.faults, base.leaked), (0, 0, 0, 0));
        assert!(base.slots >= 1 && base.bytes_limit == 1 << 24 && base.errors.is_empty());
        let x = up(&device, vec![1u16; 1000]);
        let y = device.duplicate(&x).unwrap().await_result().unwrap();
        assert_eq!(device.download(&y).unwrap().await_result().unwrap(), [1; 1000]);
        let stats = device.stats();
        assert_eq!((stats.dispatches, stats.bytes_up, stats.bytes_down), (3, 2000, 2000));
        assert!(stats.bytes_used >= 4000 && stats.allocations == 2, "{stats:?}");
        let memory = device.memory().unwrap();
        assert!(memory.used == stats.bytes_used && memory.free <= memory.total && memory.limit == 1 << 24);
        assert_eq!(memory.pool.is_none(), is_host(&device));
        if let Some(pool) = memory.pool {
            assert!(pool.used >= 4000 && pool.used <= pool.reserved && pool.used <= pool.used_peak, "{pool:?}");
            assert!(pool.reserved <= pool.reserved_peak && pool.used_peak <= pool.reserved_peak, "{pool:?}");
            assert!(eventually(10, || device.stats().pool_hits + device.stats().pool_misses >= 2));
        }
        drop((x, y));
        assert!(eventually(10, || device.stats().bytes_used == 0 && device.stats().allocations == 0));
        assert!(device.stats().bytes_peak >= 4000 && eventually(10, || device.stats().in_flight == 0));
        device.rebuild(Duration::from_secs(60)).unwrap();
        assert_eq!((device.stats().rebuilds, device.stats().generation), (1, 1));
    }
}

/// A GPU is asked for what it has; the host has none of it.
#[cfg(feature = "cuda")]
#[test]
fn a_device_says_which_libraries_it_works_with() {
    use windlass::loader::Library;
    for builder in builders() {
        let device = builder.open().unwrap();
        for library in [Library::Driver, Library::Cublas, Library::CublasLt] {
            let version = device.library_version(library).unwrap();
            println!("{}: {library} {version:?}", device.name());
            assert_eq!(version.is_none(), is_host(&device), "{library}");
            assert!(version.is_none_or(|version| version.major >= 12), "{library}: {version:?}");
        }
    }
}

/// An operation that tells its cost so many times, and panics when it is asked once more.
struct Priceless(Arc<AtomicU32>);

impl Op for Priceless {
    const NAME: &'static str = "priceless";
    type Reads = ();
    type Output = DeviceBuffer<f64>;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f64,)>) -> Result<()> {
        Ok(())
    }
    fn cost(&self) -> Cost {
        let left = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map(|_| Cost { flops: 7, bytes: 7 }).expect("too dear")
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[test]
fn an_operation_whose_own_cost_panics_is_done_and_its_cost_is_not_known() {
    for builder in [host(2), inline()] {
        let device = builder.trace(Arc::new(Recorder::default())).open().unwrap();
        let x = up(&device, [1.0f64]);
        let x = device.dispatch(Priceless(Arc::default()), (), (x,)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &x), [1.0]);
        device.synchronize(Duration::from_secs(60)).unwrap();
        assert_eq!(device.stats().in_flight, 0);
    }
}

#[test]
fn a_panic_of_an_operations_own_cost_at_its_end_hangs_nobody() {
    for builder in [host(2), inline()] {
        let recorder = Arc::new(Recorder::default());
        let device = builder.trace(recorder.clone()).open().unwrap();
        let x = up(&device, [1.0f64]);
        recorder.complete(1);
        recorder.clear();
        let x = device.dispatch(Priceless(Arc::new(1.into())), (), (x,)).unwrap().into_output();
        let x = within(10, move || device.download(&x).unwrap().await_result());
        assert_eq!(x.unwrap(), [1.0]);
        let told = recorder
            .complete(2)
            .into_iter()
            .find(|(event, info, _)| matches!(event, Event::AfterComplete(_)) && info.op == "priceless");
        assert_eq!(told.expect("its end is told").1.flops, 0);
    }
}

/// What a trace is told costs questions to the operation and a copy: nobody pays for that where nobody listens.
#[test]
fn an_operation_is_not_asked_for_its_cost_where_nobody_is_told() {
    let times = || Arc::new(AtomicU32::new(9));
    for builder in [host(2), inline()] {
        let device = builder.open().unwrap();
        let (left, x) = (times(), up(&device, [1.0f64]));
        let x = device.dispatch(Priceless(left.clone()), (), (x,)).unwrap().await_result().unwrap();
        device.synchronize(Duration::from_secs(60)).unwrap();
        assert_eq!((down(&device, &x), left.load(Relaxed)), (vec![1.0], 9));
    }
    // Where somebody listens, it is: so the number tells.
    let (left, device) = (times(), inline().trace(Arc::new(Recorder::default())).open().unwrap());
    drop(device.dispatch(Priceless(left.clone()), (), (up(&device, [1.0f64]),)).unwrap().await_result().unwrap());
    assert!(left.load(Relaxed) < 9);
}

/// Waits for all that came before, at the beginning of each operation.
#[derive(Default)]
struct Patient(Mutex<Option<Device>>, Mutex<Vec<bool>>);

impl Trace for Patient {
    fn before_enqueue(&self, _: &OpInfo) {
        let device = self.0.lock().unwrap().clone();
        if let Some(device) = device {
            self.1.lock().unwrap().push(device.synchronize(Duration::from_secs(20)).is_ok());
        }
    }
}

#[test]
fn a_hook_may_wait_for_what_came_before_its_operation() {
    for builder in builders() {
        let patient = Arc::new(Patient::default());
        let device = builder.trace(patient.clone()).open().unwrap();
        let x = up(&device, [1.0f64]);
        *patient.0.lock().unwrap() = Some(device.clone());
        let x = device.fill(x, 2.0).unwrap().into_output();
        let x = device.fill(x, 3.0).unwrap().into_output();
        *patient.0.lock().unwrap() = None;
        assert_eq!(down(&device, &x), [3.0]);
        assert_eq!(*patient.1.lock().unwrap(), [true, true], "on {device:?}");
    }
}

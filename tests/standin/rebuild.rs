//! A rebuild that is asked for: everything native is made anew, nothing stale reaches the driver, handles go on.

use crate::common;
use crate::standin;

use common::child::this_test;
use common::{down, eventually, up};
use standin::{Current, Mode, endless, launch, session};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error, GpuRef, error::Stale, health::Phase};

const LIMIT: Duration = Duration::from_secs(60);

fn device() -> Device {
    standin::device(3)
}

/// The generations of a buffer that was refused.
#[track_caller]
fn stale(error: &Error) -> (u64, u64) {
    match error {
        Error::GpuRefStale { reason: Stale::Generation { made, now }, .. } => (*made, *now),
        other => panic!("expected a stale buffer, got {other:?}"),
    }
}

#[test]
fn handles_go_on_and_data_is_stale_and_its_drop_calls_nothing() {
    let driver = session();
    let device = device();
    let blas = device.blas();
    let (x, y) = (up(&device, [1.0f32; 8]), up(&device, [2.0f32; 8]));
    let shared = up(&device, [3.0f32; 8]).share();
    let y = blas.axpy(1.0, &x, y).unwrap().into_buffer();
    let x = launch(&device, c"add_one_f32", x).into_output();
    device.rebuild(LIMIT).unwrap();
    assert_eq!((device.generation(), device.stats().rebuilds, device.stats().leaked), (1, 1, 0));
    let refused = driver.silently("a stale operand", || blas.axpy(1.0, &x, y).unwrap_err());
    assert_eq!(stale(&refused.error), (0, 1));
    driver.silently("a stale download", || assert_eq!(stale(&device.download(&shared).unwrap_err()), (0, 1)));
    let fresh = up(&device, [5.0f32; 8]);
    let mixed = blas.axpy(1.0, &shared, fresh).unwrap_err();
    assert_eq!(stale(&mixed.error), (0, 1));
    let fresh = blas.axpy(2.0, &mixed.back.unwrap().0, up(&device, [1.0f32; 8])).unwrap().into_buffer();
    let fresh = launch(&device, c"add_one_f32", fresh).into_output();
    assert_eq!(down(&device, &fresh), [12.0; 8]);
    driver.silently("dropping stale buffers", || drop((x, refused, shared)));
    assert_eq!(driver.calls_of("cuDevicePrimaryCtxReset"), 0, "other code of the process may be using the context");
    drop((fresh, device, blas));
    driver.assert_finished();
}

#[test]
fn what_is_in_flight_is_finished_first_and_answered_in_the_old_generation() {
    let driver = session();
    let device = device();
    let x = up(&device, vec![2.0f64; 100]);
    let (dot, data) = (device.blas().dot(&x, &x).unwrap(), device.download(&x).unwrap());
    let scaled = device.blas().scal(0.5, x).unwrap();
    device.rebuild(LIMIT).unwrap();
    assert_eq!(dot.await_result().unwrap(), 400.0);
    assert_eq!(data.await_result().unwrap(), [2.0; 100]);
    let x = scaled.await_result().expect("it was done before");
    assert_eq!(stale(&device.download(&x).unwrap_err()), (0, 1));
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn a_deadline_on_an_endless_kernel_changes_nothing() {
    let driver = session();
    let device = device();
    let x = up(&device, [1.0f32; 4]);
    let busy = endless(&device);
    let error = device.rebuild(Duration::from_millis(30)).expect_err("it does not end");
    assert!(matches!(error, Error::Timeout { .. }) && error.is_retryable(), "{error:?}");
    assert_eq!((device.generation(), device.health().phase, device.stats().rebuilds), (0, Phase::Healthy, 0));
    assert_eq!(down(&device, &launch(&device, c"add_one_f32", x).into_output()), [2.0; 4]);
    assert!(!busy.is_ready());
    driver.release();
    busy.await_result().unwrap();
    device.rebuild(LIMIT).unwrap();
    assert_eq!(device.generation(), 1);
    drop(device);
    driver.assert_finished();
}

#[test]
fn hooks_put_data_back_before_anybody_else_is_admitted() {
    let driver = session();
    static TABLE: Mutex<Option<GpuRef<f32>>> = Mutex::new(None);
    let fill = |device: &Device| {
        let table = device.upload([7.0f32; 4])?.into_output();
        *TABLE.lock().unwrap() = Some(table.share());
        Ok(())
    };
    let after = Arc::new(AtomicUsize::new(0));
    let seen = after.clone();
    let notice = move |device: &Device| {
        assert_eq!(down(device, TABLE.lock().unwrap().as_ref().unwrap()), [7.0; 4]);
        seen.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let device = Device::builder().cuda(0).slots(2).before_admission(fill).after_admission(notice).open().unwrap();
    fill(&device).unwrap();
    for generation in 1..=3 {
        device.rebuild(LIMIT).unwrap();
        let table = TABLE.lock().unwrap().clone().unwrap();
        assert_eq!((table.generation(), after.load(Ordering::Relaxed) as u64), (generation, generation));
        assert_eq!(down(&device, &table), [7.0; 4]);
    }
    *TABLE.lock().unwrap() = None;
    drop(device);
    driver.assert_finished();
}

#[test]
fn threads_that_submit_meanwhile_get_answers_or_typed_errors() {
    let driver = session();
    driver.mode(Mode::Background);
    let device = Device::builder().cuda(0).slots(4).open().unwrap();
    let (stop, done, failed) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |x: &mut DeviceBuffer<f64>| -> Result<(), Error> {
        let y = device.blas().axpy(1.0, &*x, device.zeros(16)?)?.into_buffer();
        assert_eq!(device.blas().dot(&y, &*x)?.await_result()?, 16.0);
        *x = device.duplicate(&*x)?.into_buffer();
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut x = None;
                while !stop.load(Ordering::Relaxed) {
                    let kept = x.take().map_or_else(|| Ok(device.upload([1.0f64; 16])?.into_output()), Ok);
                    match kept.and_then(|mut x| work(&mut x).map(|()| x)) {
                        Ok(kept) => {
                            done.fetch_add(1, Ordering::Relaxed);
                            x = Some(kept);
                        }
                        Err(Error::ContextPoisoned { .. } | Error::GpuRefStale { .. }) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
        // More of them where nobody was at it in one.
        for rebuilds in 1.. {
            let before = done.load(Ordering::Relaxed);
            assert!(eventually(10, || done.load(Ordering::Relaxed) > before + 8));
            device.rebuild(LIMIT).unwrap();
            assert_eq!((device.generation(), device.health().phase), (rebuilds, Phase::Healthy));
            if rebuilds >= 12 && failed.load(Ordering::Relaxed) > 0 {
                break;
            }
            assert!(rebuilds < 500, "nobody noticed");
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(device);
    driver.assert_finished();
}

#[test]
fn fifty_rebuilds_leave_nothing_behind() {
    let driver = session();
    let others = threads();
    let device = device();
    let counts = || {
        let work = up(&device, [1.0f32; 64]);
        let y = device.blas().axpy(1.0, &work, device.zeros(64).unwrap()).unwrap().into_buffer();
        assert_eq!(down(&device, &launch(&device, c"add_one_f32", y).into_output()), [2.0; 64]);
        drop(work);
        device.rebuild(LIMIT).unwrap();
        let left = || driver.left().into_iter().filter(|(what, _)| *what != "pinned").collect::<Vec<_>>();
        // The housekeeping threads of earlier generations are on their way out.
        assert!(eventually(4, || threads() <= others + 1), "{} threads, {others} before", threads());
        (left(), driver.live("contexts"), threads())
    };
    let first = counts();
    for _ in 0..48 {
        counts();
    }
    let (left, contexts, threads) = counts();
    assert!(threads <= first.2 + 1, "{} threads, then {threads}", first.2);
    assert_eq!(contexts, 1);
    for (what, now) in left {
        // Of an earlier generation something may be on its way out.
        let before = first.0.iter().find(|(same, _)| *same == what).map_or(0, |(_, count)| *count);
        assert!(now <= before + 4, "{before} {what}, then {now}");
    }
    assert_eq!(device.stats().leaked, 0);
    drop(device);
    driver.assert_finished();
}

/// Those of the library. (The harness's own come and go.)
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a list of threads").flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("windlass")).count()
}

/// Plays another crate that resets the primary context.
fn reset_by_somebody_else() {
    let theirs = Current::of(0);
    // SAFETY: takes no pointer; that it destroys what others made is the point.
    unsafe { cudarc::driver::sys::cuDevicePrimaryCtxReset_v2(0).result().unwrap() };
    drop(theirs);
}

/// Streams, events and pinned memory went with the context that was reset; a library's handle, and its memory, can
/// never be given back.
#[track_caller]
fn assert_finished_after_a_reset(driver: &standin::Driver, handles: i64) {
    let counts = [("contexts", 0), ("pools", 0), ("allocations", handles), ("blas", handles)];
    let gone = || counts.iter().all(|(what, count)| driver.live(what) == *count);
    assert!(eventually(4, gone), "{:?}", driver.left());
    // Asking whether the old context can be made current is how it was noticed.
    let violations = driver.violations();
    let known = |line: &String| line == "makes current a destroyed context (in cuCtxSetCurrent)";
    assert!(violations.iter().all(known), "{violations:?}");
    driver.clear_violations();
}

/// No device fault, so the device comes back.
#[test]
fn a_context_reset_by_somebody_else_is_made_anew() {
    let driver = session();
    let device = device();
    let x = up(&device, [1.0f32; 4]);
    assert_eq!(down(&device, &x), [1.0; 4]);
    driver.await_rest(); // else the housekeeping thread may be the first to see it
    reset_by_somebody_else();
    let error = device.fill(x, 2.0).map(drop).expect_err("its stream is gone").error;
    assert!(matches!(error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{error:?}");
    assert_eq!(error.site().unwrap().code(), Some(709));
    device.wait_healthy(LIMIT).unwrap();
    assert_eq!(device.generation(), 1);
    let y = up(&device, [1.0f32; 4]);
    let y = device.blas().axpy(1.0, &y, device.zeros(4).unwrap()).unwrap().into_buffer();
    assert_eq!(down(&device, &y), [1.0; 4]);
    drop((y, device));
    assert_finished_after_a_reset(&driver, 0);
}

/// The thread that has the context current need not make it so, which is how others learn that it is gone.
#[test]
fn a_context_reset_by_somebody_else_is_seen_before_anything_is_called_with_what_went_with_it() {
    let driver = session();
    let theirs = Current::of(0);
    let device = device();
    let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [2.0f32; 4]));
    let y = device.blas().axpy(1.0, &x, y).unwrap().await_result().unwrap().into_buffer();
    driver.await_rest(); // else the housekeeping thread may be the first to see it
    // SAFETY: takes no pointer; that it destroys what others made is the point.
    unsafe { cudarc::driver::sys::cuDevicePrimaryCtxReset_v2(0).result().unwrap() };
    let (rejected, calls) = driver.calls_in(|| device.blas().axpy(1.0, &x, y).map(drop).expect_err("it is gone"));
    assert_eq!(calls, ["cuCtxGetCurrent", "cuDevicePrimaryCtxGetState"]);
    let error = rejected.error;
    assert!(matches!(error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{error:?}");
    assert_eq!(error.site().unwrap().code(), Some(709));
    device.wait_healthy(LIMIT).unwrap();
    let y = up(&device, [1.0f32; 4]);
    let y = device.blas().axpy(1.0, &y, device.zeros(4).unwrap()).unwrap().into_buffer();
    assert_eq!((device.generation(), down(&device, &y)), (1, vec![1.0; 4]));
    drop((rejected.back, x, y, device, theirs));
    assert_finished_after_a_reset(&driver, 1);
}

/// Memory that waits to be freed is no memory any more: it is not given to who asks for as much.
#[test]
fn a_reset_is_seen_before_memory_is_had_again() {
    let driver = session();
    // The housekeeping thread looks after what is in flight, and may be the first to see it.
    assert!((0..20).any(|_| asks_after_a_reset(&driver)), "the housekeeping came first each time");
}

/// False where the device was made anew before anything was asked of it.
fn asks_after_a_reset(driver: &standin::Driver) -> bool {
    let device = device();
    driver.mode(Mode::Manual);
    drop(device.fill(device.uninit::<f32>(4).unwrap(), 1.0).unwrap());
    reset_by_somebody_else();
    let answer = device.uninit::<f32>(4).map(drop);
    // It may also come in between.
    let between = matches!(answer, Err(Error::GpuRefStale { .. }));
    let first = !between && (answer.is_err() || device.generation() == 0);
    if first {
        let error = answer.expect_err("it is gone");
        assert!(matches!(error, Error::ContextPoisoned { .. }) && error.is_retryable(), "{error:?}");
    }
    driver.mode(Mode::Auto);
    device.wait_healthy(LIMIT).unwrap();
    assert_eq!((device.generation(), down(&device, &device.zeros::<f32>(4).unwrap())), (1, vec![0.0; 4]));
    drop(device);
    assert!(eventually(4, || driver.live("contexts") == 0));
    driver.clear_violations(); // memory in use when its context goes is freed with no order
    first
}

#[test]
fn who_waits_while_somebody_resets_the_context_is_told() {
    let driver = session();
    let device = device();
    driver.mode(Mode::Manual);
    let pending = device.fill(device.uninit(4).unwrap(), 1.0f32).unwrap();
    reset_by_somebody_else();
    let answer = common::within(10, move || pending.await_result());
    assert!(matches!(answer.unwrap_err().error, Error::ContextPoisoned { .. }));
    driver.mode(Mode::Auto);
    device.wait_healthy(LIMIT).unwrap();
    assert_eq!(device.generation(), 1);
    drop(device);
    driver.clear_violations(); // memory in use when its context goes is freed with no order
    assert!(eventually(4, || driver.live("contexts") == 0));
}

#[test]
fn a_rebuild_after_a_reset_by_somebody_else_does_not_wait_for_what_is_gone() {
    let driver = session();
    let device = device();
    let x = up(&device, [1.0f32; 4]);
    assert_eq!(down(&device, &x), [1.0; 4]);
    driver.await_rest(); // else the housekeeping thread may be the first to see it
    reset_by_somebody_else();
    let rebuilt = device.clone();
    let answer = common::within(10, move || rebuilt.rebuild(LIMIT));
    assert!(answer.is_ok() || answer.is_err_and(|error| error.is_retryable()));
    device.wait_healthy(LIMIT).unwrap();
    assert_eq!((device.generation(), device.health().phase), (1, Phase::Healthy));
    assert_eq!(down(&device, &up(&device, [4.0f32; 4])), [4.0; 4]);
    drop((x, device));
    assert_finished_after_a_reset(&driver, 0);
}

/// The memory of a GPU's life goes with it, whoever still holds a handle of it.
#[test]
fn a_mirror_of_more_than_half_the_memory_is_put_back_beside_stale_handles() {
    let driver = session();
    let device = Device::builder().cuda(0).slots(3).memory_limit(1 << 20).open().unwrap();
    let table = device.mirrored(vec![7u8; 600 << 10]).unwrap();
    let stale = table.get();
    for generation in 1..=2 {
        device.rebuild(LIMIT).unwrap();
        assert_eq!((table.get().generation(), down(&device, table.get())), (generation, vec![7u8; 600 << 10]));
        // What the self-test dropped may still wait for the housekeeping.
        assert!(eventually(5, || device.stats().bytes_used == 600 << 10), "{:?}", device.stats());
        assert!(device.stats().bytes_peak < 601 << 10, "{:?}", device.stats());
    }
    drop(table);
    assert!(eventually(5, || device.stats().allocations == 0));
    assert_eq!(stale.len(), 600 << 10);
    drop((stale, device));
    driver.assert_finished();
}

/// Also where the hook itself says nothing of it.
fn dies_in_a_hook(driver: &standin::Driver, break_it: impl Fn() + Send + Sync + 'static) {
    let hook = move |device: &Device| {
        break_it();
        assert!(device.upload([1.0f32; 4]).is_err());
        Ok(())
    };
    let device = Device::builder().cuda(0).slots(3).before_admission(hook).open().unwrap();
    drop(up(&device, [1.0f32; 4]));
    let error = device.rebuild(LIMIT).expect_err("it died");
    assert!(error.is_poisoning(), "{error}");
    assert_eq!(device.health().phase, Phase::Lost);
    let left = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>();
    // The context stays for as long as the device may be asked for another life.
    let all = || left() <= device.stats().leaked + driver.live("contexts") as u64;
    assert!(eventually(5, all), "{:?} left, {} counted", driver.left(), device.stats().leaked);
    let leaked = device.stats().leaked;
    drop(device);
    // The context goes with the device, or is lost with it, when nobody can read the count any more.
    let rest = || left() - driver.live("contexts") as u64;
    assert!(eventually(5, || rest() <= leaked), "{:?} left, {leaked} counted", driver.left());
}

#[test]
fn a_life_whose_context_is_destroyed_in_a_hook_is_given_back() {
    let driver = session();
    dies_in_a_hook(&driver, || standin::driver().fail("cuMemcpyHtoDAsync", 0, 709));
    driver.assert_finished();
}

#[test]
fn a_life_that_a_fault_ends_in_a_hook_is_counted() {
    let name = &this_test!();
    standin::in_child(name, &["700"], |driver, _| {
        dies_in_a_hook(driver, || standin::driver().fault(700));
        driver.assert_clean();
    });
}

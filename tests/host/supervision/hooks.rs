//! Hooks around a rebuild: data is put back before anybody else may use the new life.

use super::{LONG, SELF_TEST, suffer, suffer_and_recover, suffering};
use crate::common::{down, host, up, within};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use windlass::{Device, Error, FaultPlan, GpuRef, RestartPolicy, health::Phase};

#[test]
fn data_is_back_before_anybody_sees_the_new_life() {
    let mirror = Arc::new(Mutex::new(None::<GpuRef<f64>>));
    let slot = mirror.clone();
    let device = suffering(FaultPlan::new().poison(1))
        .before_admission(move |device| {
            assert_eq!((device.generation(), device.health().phase), (1, Phase::Rebuilding));
            let x = device.upload([1.0f64, 2.0])?.into_output();
            let x = device.blas().scal(10.0, x)?.await_result()?.into_buffer();
            assert_eq!(device.download(&x)?.await_result()?, [10.0, 20.0], "the handle works in the new life");
            *slot.lock().unwrap() = Some(x.share());
            Ok(())
        })
        .open()
        .unwrap();
    let old = up(&device, [0.0f64]);
    suffer(&device);
    let early = device.clone();
    let watcher = std::thread::spawn(move || {
        // Whoever is admitted finds the data there.
        loop {
            if early.generation() == 1 {
                return mirror.lock().unwrap().clone().expect("put back before admission");
            }
            std::thread::yield_now();
        }
    });
    device.wait_healthy(LONG).unwrap();
    assert_eq!(down(&device, watcher.join().unwrap()), [10.0, 20.0]);
    assert!(matches!(device.download(&old), Err(Error::GpuRefStale { .. })));
}

#[test]
fn hooks_run_once_a_rebuild_in_the_order_they_were_given() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = order.clone();
        move |device: &Device| {
            order.lock().unwrap().push((name, device.generation(), device.health().phase));
            Ok(())
        }
    };
    let device = host(2)
        .after_admission(note("after 1"))
        .before_admission(note("before 1"))
        .before_admission(note("before 2"))
        .after_admission(note("after 2"))
        .open()
        .unwrap();
    assert!(order.lock().unwrap().is_empty(), "no hook runs when a device is opened");
    device.rebuild(LONG).unwrap();
    device.rebuild(LONG).unwrap();
    let want = [1, 2].map(|generation| {
        let (during, then) = (Phase::Rebuilding, Phase::Healthy);
        [("before 1", during), ("before 2", during), ("after 1", then), ("after 2", then)]
            .map(|(name, phase)| (name, generation, phase))
    });
    assert_eq!(*order.lock().unwrap(), want.concat());
}

#[test]
fn an_error_before_admission_is_a_failed_attempt_and_the_next_one_may_do() {
    for panics in [false, true] {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counter = attempts.clone();
        let device = suffering(FaultPlan::new().poison(0))
            .before_admission(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
                0 | 1 if panics => std::panic::resume_unwind(Box::new("no luck")),
                0 | 1 => Err(Error::library("no luck")),
                _ => Ok(()),
            })
            .open()
            .unwrap();
        suffer_and_recover(&device);
        assert_eq!((attempts.load(Ordering::SeqCst), device.stats().rebuilds), (3, 1));
        assert!(device.health().reason.unwrap().contains(if panics { "panicked" } else { "no luck" }));
    }
}

#[test]
fn a_hook_that_never_succeeds_costs_the_device() {
    let policy = RestartPolicy { restarts: 2, backoff: std::time::Duration::ZERO, ..RestartPolicy::default() };
    let builder = host(1).fault_plan(FaultPlan::new().poison(0)).restart_policy(policy);
    let device = builder.before_admission(|_| Err(Error::library("no luck"))).open().unwrap();
    suffer(&device);
    assert!(matches!(device.wait_healthy(LONG), Err(Error::DeviceLost { .. })));
    // Of one that was asked for the first error is told, and the loss says what it came from.
    let device = host(1).restart_policy(policy).before_admission(|_| Err(Error::library("no luck"))).open().unwrap();
    assert!(matches!(device.rebuild(LONG), Err(Error::LibraryError { message, .. }) if message == "no luck"));
    assert_eq!(device.health().phase, Phase::Lost);
    let Err(Error::DeviceLost { cause, remedy, .. }) = device.upload([1u8]) else { panic!("it is lost") };
    assert!(cause.contains("a rebuild was requested") && cause.contains("no luck"), "{cause}");
    assert!(remedy.contains("restart policy"), "{remedy}");
    // Where more attempts would not help, the remedy is what would.
    let builder = host(1).memory_limit(1 << 20).restart_policy(policy);
    let device = builder.before_admission(|device| device.zeros::<u8>(2 << 20).map(drop)).open().unwrap();
    assert!(matches!(device.rebuild(LONG), Err(Error::OutOfMemory { .. })));
    let Err(Error::DeviceLost { cause, remedy, .. }) = device.upload([1u8]) else { panic!("it is lost") };
    assert!(cause.contains("out of memory") && remedy.contains("free memory"), "{cause}; {remedy}");
}

/// As after a fault: one that was asked for has as many attempts.
#[test]
fn a_rebuild_that_was_asked_for_is_tried_again() {
    for panics in [false, true] {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counter = attempts.clone();
        let device = host(1)
            .before_admission(move |_| match counter.fetch_add(1, Ordering::SeqCst) {
                0 | 1 if panics => std::panic::resume_unwind(Box::new("no luck")),
                0 | 1 => Err(Error::library("no luck")),
                _ => Ok(()),
            })
            .open()
            .unwrap();
        device.rebuild(LONG).unwrap();
        assert_eq!((attempts.load(Ordering::SeqCst), device.generation()), (3, 1));
        assert_eq!(device.health().phase, Phase::Healthy);
    }
    // A fault in its self-test.
    let device = host(1).fault_plan(FaultPlan::new().poison(0)).open().unwrap();
    device.rebuild(LONG).unwrap();
    assert_eq!((device.generation(), device.health().phase), (1, Phase::Healthy));
}

#[test]
fn an_error_after_admission_is_counted_and_costs_nothing() {
    let device = host(1)
        .after_admission(|_| Err(Error::library("no luck")))
        .after_admission(|_| std::panic::resume_unwind(Box::new("no luck")))
        .after_admission(|device| device.upload([1u8])?.await_result().map(drop).map_err(Error::from))
        .open()
        .unwrap();
    device.rebuild(LONG).unwrap();
    assert_eq!((device.generation(), device.health().phase), (1, Phase::Healthy));
    let errors = device.stats().errors;
    assert_eq!((errors.get("LibraryError"), errors.get("Panicked")), (Some(&1), Some(&1)));
}

#[test]
fn a_handle_kept_from_a_hook_survives_the_next_rebuild() {
    let kept = Arc::new(Mutex::new(None::<Device>));
    let slot = Arc::downgrade(&kept); // the device's own hooks must not keep the device
    let device = host(1)
        .before_admission(move |device| {
            if let Some(slot) = slot.upgrade() {
                slot.lock().unwrap().get_or_insert_with(|| device.clone());
            }
            Ok(())
        })
        .open()
        .unwrap();
    device.rebuild(LONG).unwrap();
    let kept = kept.lock().unwrap().take().expect("the hook ran");
    assert_eq!(down(&kept, &up(&kept, [1u8])), [1]);
    device.rebuild(LONG).unwrap();
    assert_eq!(kept.generation(), 2);
    assert_eq!(down(&kept, &up(&kept, [2u8])), [2], "a handle lives through every rebuild");
}

#[test]
fn a_buffer_made_by_a_failed_attempt_is_refused_in_the_life_that_followed() {
    let leftover = Arc::new(Mutex::new(None::<GpuRef<u8>>));
    let (slot, attempt) = (leftover.clone(), AtomicU64::new(0));
    let device = suffering(FaultPlan::new().poison(0))
        .before_admission(move |device| {
            if attempt.fetch_add(1, Ordering::SeqCst) > 0 {
                return Ok(());
            }
            *slot.lock().unwrap() = Some(device.upload([1u8])?.into_output().share());
            Err(Error::library("no luck"))
        })
        .open()
        .unwrap();
    suffer_and_recover(&device);
    let leftover = leftover.lock().unwrap().take().unwrap();
    assert!(matches!(device.download(&leftover), Err(Error::GpuRefStale { .. })));
    assert!(device.stats().dispatches >= 2 * SELF_TEST);
}

#[test]
fn a_hook_that_would_wait_for_its_own_rebuild_is_refused() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (notes, own) = (told.clone(), Arc::new(Mutex::new(None::<std::sync::Weak<Device>>)));
    let outer = own.clone();
    let device = host(1)
        .before_admission(move |device| {
            let outer = outer.lock().unwrap().as_ref().and_then(std::sync::Weak::upgrade).expect("the device is there");
            for handle in [device, &*outer] {
                notes.lock().unwrap().push(handle.wait_healthy(LONG).map(drop));
                notes.lock().unwrap().push(handle.rebuild(LONG));
            }
            let other = host(1).open()?;
            other.rebuild(LONG)?;
            other.wait_healthy(LONG).map(drop)
        })
        .open()
        .unwrap();
    let device = Arc::new(device);
    *own.lock().unwrap() = Some(Arc::downgrade(&device));
    let rebuilt = device.clone();
    within(30, move || rebuilt.rebuild(LONG)).unwrap();
    assert!(told.lock().unwrap().iter().all(|answer| matches!(answer, Err(Error::Unsupported { .. }))), "{told:?}");
    assert_eq!((told.lock().unwrap().len(), device.generation(), device.health().phase), (4, 1, Phase::Healthy));
}

/// Who wants memory names no buffer of the life that ends.
#[test]
fn an_allocation_beside_a_rebuild_is_told_of_the_rebuild_and_not_of_a_stale_buffer() {
    let (arrived, seen) = std::sync::mpsc::channel();
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    let (arrived, told) = (Mutex::new(arrived), Mutex::new(told));
    let device = host(2)
        .before_admission(move |_| {
            arrived.lock().unwrap().send(()).unwrap();
            let _ = told.lock().unwrap().recv_timeout(LONG);
            Ok(())
        })
        .open()
        .unwrap();
    let again = device.clone();
    let rebuild = std::thread::spawn(move || again.rebuild(LONG).unwrap());
    seen.recv_timeout(LONG).unwrap();
    for error in [device.zeros::<f32>(4).map(drop), device.uninit::<f32>(4).map(drop)].map(Result::unwrap_err) {
        assert!(matches!(&error, Error::ContextPoisoned { cause, .. } if cause.contains("rebuil")), "{error:?}");
    }
    go_on.send(()).unwrap();
    rebuild.join().unwrap();
    assert_eq!(down(&device, &device.zeros::<f32>(4).unwrap()), [0.0; 4]);
}

/// Between the look at the life of today and the memory, another may have come.
#[test]
fn an_allocation_that_a_rebuild_overtakes_is_served_by_the_next_life() {
    let device = host(2).restart_policy(RestartPolicy::unlimited()).open().unwrap();
    let again = device.clone();
    let rebuilds = std::thread::spawn(move || (0..200).for_each(|_| again.rebuild(LONG).unwrap()));
    let mut served = 0;
    while !rebuilds.is_finished() {
        match device.uninit::<f32>(4) {
            Ok(_) => served += 1,
            Err(Error::ContextPoisoned { .. }) => {}
            Err(other) => panic!("after {served} that were served: {other:?}"),
        }
    }
    rebuilds.join().unwrap();
    assert!(served > 0);
}

//! Pipelines: a bounded window of work in flight over iterators, in order, as completed, and over rayon.

use crate::common;

use common::{concurrent_devices, devices};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass::{Device, DeviceBuffer, Error, PendingDispatch, Result, Verdict};

/// `n` ones are added up.
fn sum(device: &Device, n: usize) -> Result<PendingDispatch<f32, Verdict>> {
    let x = device.upload(vec![1.0f32; n])?.into_output();
    device.blas().asum(&x)
}

/// As [`sum`], but item 7 is refused: its lengths do not agree.
fn all_but_seven(device: &Device, n: usize) -> Result<PendingDispatch<f32, Verdict>> {
    if n != 7 {
        return sum(device, n);
    }
    let (x, y) = (device.zeros::<f32>(2)?, device.zeros::<f32>(3)?);
    device.blas().dot(&x, &y)
}

#[test]
fn outputs_come_in_the_order_of_the_items() {
    for device in devices() {
        for window in [0, 1, 3, 100] {
            let sums: Vec<f32> = device.pipeline(0..40, window, sum).collect::<Result<_>>().unwrap();
            assert_eq!(sums, (0..40).map(|n| n as f32).collect::<Vec<_>>());
        }
    }
}

#[test]
fn no_more_than_the_window_is_in_flight() {
    for device in concurrent_devices() {
        for window in [1, 4] {
            let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (gave, peak) = (open.clone(), most.clone());
            let submit = move |device: &Device, n: usize| {
                peak.fetch_max(gave.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                sum(device, n)
            };
            for (n, answer) in device.pipeline(0..20, window, submit).enumerate() {
                assert_eq!(answer.unwrap(), n as f32);
                open.fetch_sub(1, Ordering::Relaxed);
            }
            assert_eq!(most.load(Ordering::Relaxed), window);
        }
    }
}

#[test]
fn what_is_ready_first_comes_first_when_asked_for_and_says_whose_it_is() {
    for device in devices() {
        let mut seen = [false; 30];
        for answer in device.pipeline(0..30, 5, sum).as_completed() {
            let (index, sum) = answer.unwrap();
            assert_eq!(sum, index as f32);
            assert!(!std::mem::replace(&mut seen[index], true), "item {index} twice");
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}

#[test]
fn a_pipeline_that_was_begun_in_order_may_go_on_as_completed() {
    for device in devices() {
        let mut pipeline = device.pipeline(0..10, 3, sum);
        assert_eq!(pipeline.next().unwrap().unwrap(), 0.0);
        let mut rest: Vec<(usize, f32)> = pipeline.as_completed().collect::<Result<_>>().unwrap();
        rest.sort_by_key(|&(index, _)| index);
        assert_eq!(rest, (1..10).map(|n| (n, n as f32)).collect::<Vec<_>>());
    }
}

#[test]
fn after_the_first_error_nothing_more_is_submitted() {
    for device in devices() {
        let tried = AtomicUsize::new(0);
        let submit = |device: &Device, n| {
            tried.fetch_add(1, Ordering::Relaxed);
            all_but_seven(device, n)
        };
        let mut pipeline = device.pipeline(0..1_000, 4, submit);
        for n in 0..7 {
            assert_eq!(pipeline.next().unwrap().unwrap(), n as f32, "what was submitted before the error comes out");
        }
        assert!(matches!(pipeline.next(), Some(Err(Error::InvalidArgument { .. }))));
        assert!(pipeline.next().is_none());
        drop(pipeline);
        assert_eq!(tried.load(Ordering::Relaxed), 8);
    }
}

/// A host device whose n-th operation of a kernel fails, and a pipeline's `submit` that does one for each item.
#[cfg(feature = "host")]
fn failing(nth: u64) -> Device {
    common::host(2).fault_plan(windlass::FaultPlan::new().fail(nth)).open().unwrap()
}

#[cfg(feature = "host")]
fn filled(device: &Device, n: usize) -> Result<PendingDispatch<DeviceBuffer<f32>>> {
    let x: DeviceBuffer<f32> = device.uninit(n)?.into_buffer();
    device.blas().scal(0.0, x).map(PendingDispatch::from).map_err(Error::from)
}

#[cfg(feature = "host")]
#[test]
fn an_error_stands_at_the_place_of_its_item_and_those_in_flight_follow() {
    for nth in 0..6 {
        let device = failing(nth);
        let answers: Vec<_> = device.pipeline(1..100, 4, filled).collect();
        let failed = answers.iter().position(Result::is_err).unwrap();
        assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
        assert!(answers.len() - failed <= 4, "{} results behind the error", answers.len() - failed - 1);
        for (n, answer) in (1..100).zip(&answers).filter(|(_, answer)| answer.is_ok()) {
            assert_eq!(answer.as_ref().unwrap().len(), n, "the result of another item (of {nth} the error)");
        }
        assert_eq!(device.stats().in_flight, 0);
    }
}

#[cfg(feature = "host")]
#[test]
fn outputs_that_come_as_completed_carry_their_own_index_after_an_error() {
    let device = failing(2);
    let answers: Vec<_> = device.pipeline(1..100, 4, filled).as_completed().collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
    for (index, output) in answers.into_iter().flatten() {
        assert_eq!(output.len(), index + 1);
    }
}

#[test]
fn a_refused_item_of_a_rayon_pipeline_comes_behind_those_before_it() {
    for device in devices() {
        let items = (0..20usize).into_par_iter().with_min_len(20);
        let answers: Vec<Result<f32>> = device.par_pipeline(items, 4, all_but_seven).collect();
        assert!(answers[7].is_err());
        assert_eq!(answers.iter().flatten().copied().collect::<Vec<_>>(), (0..7).map(|n| n as f32).collect::<Vec<_>>());
    }
}

#[test]
fn a_panic_in_the_hook_loses_no_output() {
    for device in devices() {
        for panics_at in 0..24 {
            let told = AtomicUsize::new(0);
            let mut pipeline = device.pipeline(0..12, 3, sum).on_progress(move |_| {
                assert!(told.fetch_add(1, Ordering::Relaxed) != panics_at, "a panic that the test provokes");
            });
            let (mut sums, mut panics) = (Vec::new(), 0);
            loop {
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pipeline.next())) {
                    Ok(Some(answer)) => sums.push(answer.unwrap()),
                    Ok(None) => break,
                    Err(_) => panics += 1,
                }
            }
            assert_eq!(panics, 1);
            assert_eq!(
                sums,
                (0..12).map(|n| n as f32).collect::<Vec<_>>(),
                "the hook panicked at its call {panics_at}"
            );
        }
    }
}

#[test]
fn progress_is_told_of_every_item_and_ends_at_the_total() {
    for device in devices() {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hook = told.clone();
        let pipeline = device.pipeline(0..12, 3, sum).on_progress(move |progress| hook.lock().unwrap().push(progress));
        assert_eq!(pipeline.count(), 12);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 24);
        let last = told.last().unwrap();
        assert_eq!((last.submitted, last.done, last.total), (12, 12, Some(12)));
        assert!(told.iter().all(|p| p.submitted - p.done <= 3));
    }
}

#[test]
fn rayon_pieces_each_have_a_window_and_the_order_is_kept() {
    for device in devices() {
        let told = Arc::new(AtomicUsize::new(0));
        let hook = told.clone();
        let items = (0..200usize).into_par_iter().with_min_len(20);
        let sums: Vec<f32> = device
            .par_pipeline(items, 4, sum)
            .on_progress(move |progress| {
                hook.fetch_max(progress.done, Ordering::Relaxed);
            })
            .collect::<Result<_>>()
            .unwrap();
        assert_eq!(sums, (0..200).map(|n| n as f32).collect::<Vec<_>>());
        assert_eq!(told.load(Ordering::Relaxed), 200);
    }
}

#[test]
fn an_error_ends_a_rayon_pipeline() {
    for device in devices() {
        let items = (0..1_000usize).into_par_iter().with_min_len(50);
        let all: Result<Vec<f32>> = device.par_pipeline(items, 4, all_but_seven).collect();
        assert!(matches!(all, Err(Error::InvalidArgument { .. })));
        device.synchronize(common::LONG).unwrap();
    }
}

#[test]
fn a_pipeline_of_nothing_gives_nothing() {
    for device in devices() {
        assert_eq!(device.pipeline(std::iter::empty::<usize>(), 4, sum).count(), 0);
        assert_eq!(device.par_pipeline(Vec::<usize>::new(), 4, sum).count(), 0);
    }
}

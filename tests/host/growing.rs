//! Buffers that grow where they lie, on every engine.

use crate::common::{
    Gate, LONG, assert_back_at, builders, devices, down, eventually, host, let_others_run, map, refused, up,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, FaultPlan, Tensor};

/// Devices that have it: a GPU may not.
fn growing() -> Vec<Device> {
    let has = |device: &Device| match device.growing::<u8>([0], 1) {
        Ok(_) => true,
        Err(Error::Unsupported { reason, .. }) => {
            println!("SKIPPED: {device:?}: {reason}");
            false
        }
        Err(error) => panic!("{device:?}: {error}"),
    };
    devices().into_iter().filter(has).collect()
}

/// Its last `n` elements are `value`.
fn end_with(device: &Device, x: DeviceBuffer<f64>, n: usize, value: f64) -> DeviceBuffer<f64> {
    let at = x.len() - n;
    device.fill(x.narrow(at..).unwrap(), value).unwrap().into_buffer().widen()
}

#[test]
fn it_grows_by_zeros_and_keeps_what_it_holds() {
    for device in growing() {
        let mut x = device.growing::<f64>([0, 3], 100_000).unwrap();
        assert_eq!((x.shape(), x.buffer().capacity()), (&[0, 3][..], 300_000));
        assert_eq!(down(&device, &x), [0.0; 0]);
        let mut expected: Vec<f64> = Vec::new();
        for (step, rows) in [1, 2, 1000, 0, 3, 50_000, 7].into_iter().enumerate() {
            x.grow(rows).unwrap();
            if rows > 0 {
                let shape = x.shape().to_vec();
                let buffer = end_with(&device, x.into_buffer(), 3 * rows, step as f64 + 1.0);
                x = buffer.with_layout(Layout::row_major(shape).unwrap()).unwrap();
            }
            expected.extend(std::iter::repeat_n(step as f64 + 1.0, 3 * rows));
        }
        assert_eq!(down(&device, &x), expected);
        x.grow(2).unwrap();
        expected.extend([0.0; 6]);
        assert_eq!(down(&device, &x), expected);
        let sum = device.blas().asum(x.buffer()).unwrap().await_result().unwrap();
        assert_eq!(sum, expected.iter().sum::<f64>());
        drop(x);
        assert_back_at(&device, (0, 0, 0));
        assert_eq!(device.memory().unwrap().addresses, 0);
    }
}

/// Both grow while a dispatch on the old part is held, which writes it afterwards.
#[test]
fn it_grows_while_work_on_the_old_part_is_in_flight() {
    let gate = Gate::default();
    let device = host(2).open().unwrap();
    let mut x = device.growing::<f64>([2], 1 << 20).unwrap().into_buffer();
    x = gate.hold(&device, x).into_output();
    gate.await_arrivals(1);
    x.grow(70_000).unwrap();
    let x = map(&device, x, |all| all.iter_mut().for_each(|one| *one += 1.0)).into_output();
    gate.open();
    assert_eq!(down(&device, &x), vec![1.0; 70_002]);
    for device in growing() {
        let mut x = device.growing::<f64>([1000], 1 << 20).unwrap().into_buffer();
        for round in 1..40 {
            x = device.blas().scal(2.0, x).unwrap().into_buffer();
            x.grow(1000).unwrap();
            x = end_with(&device, x, 1000, f64::from(round));
        }
        let all = down(&device, &x);
        for (block, values) in all.chunks(1000).enumerate() {
            let expected = if block == 0 { 0.0 } else { block as f64 * 2f64.powi(39 - block as i32) };
            assert!(values.iter().all(|value| *value == expected), "block {block}: {} {expected}", values[0]);
        }
    }
}

#[test]
fn what_shrinks_gives_memory_back_and_grows_again_by_zeros() {
    for device in growing() {
        let mut x = device.growing::<f64>([3], 1 << 22).unwrap().into_buffer();
        x = device.fill(x, 5.0).unwrap().into_buffer();
        let small = device.stats().bytes_used;
        for _ in 0..3 {
            x.grow((1 << 21) - 1).unwrap();
            x = device.fill(x, 5.0).unwrap().into_buffer();
            assert!(device.stats().bytes_used >= small + (15 << 20));
            x.shrink((1 << 21) - 1).unwrap();
            assert_eq!(device.stats().bytes_used, small);
            x.grow(2).unwrap();
            assert_eq!(down(&device, &x), [5.0, 5.0, 5.0, 0.0, 0.0], "what was given back is not seen again");
            x.shrink(2).unwrap();
        }
        x.shrink(3).unwrap();
        assert!(x.is_empty() && device.stats().bytes_used == 0);
        x.shrink(0).unwrap();
        x.grow(1).unwrap();
        assert_eq!(down(&device, &x), [0.0]);
        drop(x);
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn shared_parts_stay_and_only_the_last_part_grows() {
    for device in growing() {
        let x = device.growing::<f64>([4], 1000).unwrap();
        let x = device.fill(x, 2.0).unwrap().into_buffer();
        let (mut old, mut rest) = x.split_at(4).unwrap();
        assert_eq!((old.capacity(), rest.capacity()), (1000, 996), "no elements lie behind the first part yet");
        rest.grow(1).unwrap();
        assert_eq!((old.capacity(), rest.capacity()), (4, 996));
        let (argument, reason) = refused(&old.grow(1).unwrap_err());
        assert!(argument == "buffer" && reason.contains("join"), "{reason}");
        let shared = old.share();
        let reader = shared.clone();
        for _ in 0..50 {
            rest.grow(7).unwrap();
            assert_eq!(device.blas().asum(&reader).unwrap().await_result().unwrap(), 8.0);
        }
        rest = device.fill(rest, 1.0).unwrap().into_buffer();
        assert_eq!(device.blas().asum(&rest).unwrap().await_result().unwrap(), 351.0);
        drop(reader);
        let mut all = shared.try_unique().unwrap().join(rest).unwrap();
        assert_eq!((all.len(), device.blas().asum(&all).unwrap().await_result().unwrap()), (355, 359.0));
        let mut narrowed = all.narrow(..5).unwrap();
        assert_eq!(narrowed.capacity(), 5);
        assert!(refused(&narrowed.grow(1).unwrap_err()).1.contains("widen"));
        assert!(refused(&narrowed.shrink(1).unwrap_err()).1.contains("widen"));
        all = narrowed.widen();
        all.shrink(355).unwrap();
    }
}

/// One of them has no elements, so both end where the memory in use ends.
#[test]
fn of_two_parts_that_grow_at_once_one_is_refused() {
    for device in growing() {
        for _ in 0..30 {
            let x = device.growing::<u8>([4], 1 << 20).unwrap().into_buffer();
            let (mut old, mut rest) = x.split_at(4).unwrap();
            let start = Barrier::new(2);
            let grow = |part: &mut DeviceBuffer<u8>| {
                start.wait();
                part.grow(3)
            };
            let (one, other) = std::thread::scope(|scope| {
                let one = scope.spawn(|| grow(&mut old));
                let other = grow(&mut rest);
                (one.join().unwrap(), other)
            });
            assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
            let error = one.and(other).unwrap_err();
            assert!(refused(&error).1.contains("join"), "{error}");
            let expected = if old.len() == 7 { (7, 0) } else { (4, 3) };
            assert_eq!((down(&device, &old).len(), down(&device, &rest).len()), expected);
        }
    }
}

#[test]
fn threads_grow_buffers_of_one_device_beside_each_other() {
    for device in growing() {
        std::thread::scope(|scope| {
            for thread in 1..9u32 {
                let device = &device;
                scope.spawn(move || {
                    let value = f64::from(thread);
                    let mut x = device.growing::<f64>([1], 1 << 20).unwrap().into_buffer();
                    for round in 0..20 {
                        x.grow(5000 + 100 * round).unwrap();
                        x = device.fill(x, value).unwrap().into_buffer();
                        x.shrink(4000).unwrap();
                        x.grow(1).unwrap();
                    }
                    let all = down(device, &x);
                    let (last, rest) = all.split_last().unwrap();
                    assert!(*last == 0.0 && rest.iter().all(|one| *one == value), "thread {thread}");
                });
            }
        });
        assert_back_at(&device, (0, 0, 0));
    }
}

/// Both lie in one page.
#[test]
fn a_part_shrinks_behind_the_work_on_what_was_given_back_behind_it() {
    const LEFT: usize = (1 << 13) + 10;
    let (gate, seen) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let device = host(2).open().unwrap();
    let x = device.growing::<f64>([LEFT + 10], 1 << 20).unwrap();
    let (mut left, right) = device.fill(x, 9.0).unwrap().into_buffer().split_at(LEFT).unwrap();
    let right = gate.hold(&device, right).into_output();
    gate.await_arrivals(1);
    let counted = seen.clone();
    let mut right = map(&device, right, move |all| {
        counted.fetch_add(all.iter().filter(|one| **one == 9.0).count(), Ordering::SeqCst);
    })
    .into_output();
    right.shrink(10).unwrap();
    left.shrink(LEFT).unwrap();
    let_others_run();
    gate.open();
    device.synchronize(LONG).unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 10, "its page went while it was read");
    drop((left, right));
    assert_back_at(&device, (0, 0, 0));
}

/// Its program reads the old part at its address, while the buffer grows, and does not let it shrink.
#[test]
fn a_program_keeps_the_addresses_that_it_captured() {
    for device in growing() {
        let x = device.growing::<f64>([3], 1 << 20).unwrap();
        let mut x = device.fill(x, 4.0).unwrap().into_buffer();
        let recorded = device.record(|r| r.blas().axpy(1.0, &x, r.operand::<f64>(3)?).map(drop).map_err(Error::from));
        let (program, ()) = recorded.unwrap();
        let replay = || {
            let (y,) = program.replay((), (up(&device, vec![1.0; 3]),)).unwrap().into_operands().unwrap();
            down(&device, &y)
        };
        assert_eq!(replay(), [5.0; 3]);
        x.grow(100_000).unwrap();
        assert_eq!(replay(), [5.0; 3]);
        x = device.fill(x, 6.0).unwrap().into_buffer();
        assert_eq!(replay(), [7.0; 3]);
        let (argument, reason) = refused(&x.shrink(1).unwrap_err());
        assert!(argument == "buffer" && reason.contains("program"), "{reason}");
        assert_eq!(x.len(), 100_003);
        drop(program);
        x.shrink(100_001).unwrap();
        assert_eq!(down(&device, &x), [6.0; 2]);
        let recorded = device.record(|r| r.growing::<f64>([1], 2).map(drop));
        assert!(matches!(recorded.map(drop), Err(Error::Unsupported { .. })));
    }
}

#[test]
fn what_is_refused_is_refused_by_name_and_changes_nothing() {
    for device in growing() {
        let refusal = |tensor: Result<Tensor<f64>, Error>| refused(&tensor.unwrap_err()).0;
        assert_eq!(refusal(device.growing([], 3)), "shape");
        assert_eq!(refusal(device.growing([3], 2)), "rows");
        assert_eq!(refusal(device.growing([1, 4], usize::MAX / 16)), "rows");
        let mut x = device.growing::<f64>([2, 5], 3).unwrap();
        let (argument, reason) = refused(&x.grow(2).unwrap_err());
        assert!(argument == "rows" && reason.contains("2 rows more than 2, but the reserve has 3"), "{reason}");
        assert!(x.grow(usize::MAX).is_err() && x.shrink(3).is_err());
        x.grow(1).unwrap();
        assert_eq!((x.shape(), down(&device, &x)), (&[3, 5][..], vec![0.0; 15]));
        let mut all = x.into_buffer();
        for n in [1, isize::MAX as usize, usize::MAX / 8, usize::MAX] {
            let (argument, reason) = refused(&all.grow(n).unwrap_err());
            assert!(argument == "n" && reason.contains("larger reserve"), "{n}: {argument}: {reason}");
        }
        assert_eq!((all.len(), all.capacity()), (15, 15));
        let error = device.growing::<u8>([1], 1 << 60).unwrap_err();
        assert!(!error.to_string().contains("0 free of 0"), "no process has so many addresses: {error}");
        let mut turned = all.with_layout(Layout::columns(5, 3)).unwrap();
        assert_eq!(refused(&turned.grow(1).unwrap_err()).0, "tensor");
        let mut plain = up(&device, [1.0f64]);
        assert!(matches!(plain.grow(1), Err(Error::Unsupported { .. })));
        assert!(matches!(plain.shrink(1), Err(Error::Unsupported { .. })));
        assert_eq!((plain.capacity(), down(&device, &plain)), (1, vec![1.0]));
        let device_bytes = device.stats().bytes_used;
        let mut none = device.growing::<f64>([0, 0], 7).unwrap();
        none.grow(5).unwrap();
        assert_eq!((none.shape(), none.buffer().capacity()), (&[5, 0][..], 7));
        let (argument, reason) = refused(&none.grow(3).unwrap_err());
        assert!(argument == "rows" && reason.contains("3 rows more than 5, but the reserve has 7"), "{reason}");
        none.grow(2).unwrap();
        assert_eq!((none.shape(), device.stats().bytes_used), (&[7, 0][..], device_bytes));
        assert_eq!(refused(&device.growing::<f64>([0, 0], 0).unwrap().grow(1).unwrap_err()).0, "rows");
    }
}

#[test]
fn memory_counts_as_it_comes_and_addresses_do_not() {
    for builder in builders() {
        let device = builder.memory_limit(64 << 20).open().unwrap();
        let Ok(mut x) = device.labelled("cache").growing::<u8>([0], 1 << 40) else { continue };
        assert_eq!((device.stats().bytes_used, device.memory().unwrap().addresses), (0, 1 << 40));
        x.grow(20 << 20).unwrap();
        let report = device.memory_report();
        assert!(report.used >= 20 << 20 && report.used <= 22 << 20, "{report}");
        assert_eq!(report.labels[0].label.as_deref(), Some("cache"));
        assert_eq!(report.largest[0].bytes, report.used);
        let error = x.grow(60 << 20).unwrap_err();
        let Error::OutOfMemory { largest, .. } = &error else { panic!("{error:?}") };
        assert_eq!(largest[0].label.as_deref(), Some("cache"));
        assert_eq!(device.memory_report().used, report.used);
        x.grow(30 << 20).unwrap();
        assert_eq!(x.len(), 50 << 20);
        drop(x);
        assert!(eventually(20, || device.growing::<u8>([60 << 20], 1 << 30).is_ok()));
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn three_thousand_reserves_at_once() {
    let device = host(1).open().unwrap();
    let mut all: Vec<_> = (0..3000).map(|_| device.growing::<f32>([1], 1 << 28).unwrap()).collect();
    all.iter_mut().for_each(|one| one.grow(1).unwrap());
    assert_eq!(device.memory().unwrap().addresses, 3000 << 30);
    assert_eq!((device.stats().bytes_used, device.stats().allocations), (24_000, 3000));
    drop(all);
    assert_back_at(&device, (0, 0, 0));
}

#[test]
fn a_rebuild_makes_it_stale_and_frees_its_addresses() {
    for device in growing() {
        let mut x = device.growing::<f64>([2], 1000).unwrap();
        device.rebuild(LONG).unwrap();
        for error in [x.grow(1), x.shrink(1)] {
            assert!(matches!(error, Err(Error::GpuRefStale { .. })), "{error:?}");
        }
        assert_eq!(x.shape(), [2]);
        let mut y = device.growing::<f64>([1], 1000).unwrap();
        y.grow(1).unwrap();
        assert_eq!(down(&device, &y), [0.0; 2]);
        drop((x, y));
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn memory_that_the_plan_refuses_leaves_it_as_it_was() {
    let device = host(1).fault_plan(FaultPlan::new().out_of_memory(1)).open().unwrap();
    let mut x = device.growing::<f64>([0], 1000).unwrap(); // allocation 0; what follows is not `allocated`
    let error = x.grow(1).and_then(|()| x.grow(1)).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let len = x.len();
    x.grow(2).unwrap();
    assert_eq!(down(&device, &x), vec![0.0; len + 2]);
}

#[test]
fn a_device_that_is_gone_has_no_more_memory_and_takes_its_buffers_along() {
    for builder in builders() {
        let device = builder.open().unwrap();
        let Ok(mut x) = device.growing::<f64>([1], 10) else { continue };
        drop(device);
        assert!(x.grow(1).is_err() && x.shrink(1).is_err() && x.shape() == [1]);
    }
}

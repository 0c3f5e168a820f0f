//! Managed memory: an operand like any other, whose elements the host reads and writes where they lie.

use crate::common::{
    Asleep, Gate, LONG, assert_back_at, assert_same_bits, builders, busy, devices, down, host, is_host, let_others_run,
    map, refused, up,
};
use windlass::managed::{Advice, PagePlace};
use windlass::tensor::Layout;
use windlass::{Device, Error, FaultPlan, RestartPolicy, Tensor, error::Stale};

/// Devices that have managed memory: not those in workers, nor on a system that refuses it.
fn managing() -> Vec<Device> {
    let has = |device: &Device| match device.managed::<u8>(1) {
        Ok(_) => true,
        Err(Error::Unsupported { reason, .. }) => {
            println!("SKIPPED: {device:?}: {reason}");
            false
        }
        Err(error) => panic!("{device:?}: {error}"),
    };
    devices().into_iter().filter(has).collect()
}

fn numbers(device: &Device, data: &[f64]) -> Tensor<f64> {
    let mut x = device.managed::<f64>(data.len()).unwrap();
    x.host_mut().unwrap().copy_from_slice(data);
    x
}

#[test]
fn what_the_host_writes_the_device_reads_and_the_other_way_round() {
    for device in managing() {
        let mut x = device.managed::<f64>([2, 3]).unwrap();
        assert_eq!((x.shape(), &*x.host().unwrap()), (&[2, 3][..], &[0.0; 6][..]));
        x.host_mut().unwrap().copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let x = x.into_buffer();
        assert_eq!(device.blas().asum(&x).unwrap().await_result().unwrap(), 21.0);
        let mut x = device.blas().scal(2.0, x).unwrap().await_result().unwrap();
        assert_eq!(*x.host().unwrap(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        for round in 0..20 {
            {
                let mut slice = x.host_mut().unwrap();
                slice.iter_mut().for_each(|value| *value += 1.0);
            }
            x = device.blas().scal(2.0, x).unwrap().into_output();
            let slice = x.host().unwrap();
            assert_eq!(slice[0], 2.0 * (1u64 << (round + 1)) as f64 * 2.0 - 2.0, "round {round}");
        }
        drop(x);
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn no_elements_one_element_and_any_bits() {
    for device in managing() {
        let mut empty = device.managed::<f32>([3, 0]).unwrap();
        assert!(empty.host().unwrap().is_empty() && empty.host_mut().unwrap().is_empty());
        empty.prefetch(PagePlace::Device).unwrap();
        let mut empty = empty.into_buffer();
        empty.advise(Advice::ReadMostly).unwrap();
        let mut one = device.managed::<u8>(1).unwrap();
        one.host_mut().unwrap()[0] = 200;
        assert_eq!(down(&device, &one), [200]);
        let odd = [f64::NAN, -0.0, f64::INFINITY, f64::from_bits(1), f64::from_bits(0xfff0_dead_beef_0001)];
        let x = numbers(&device, &odd);
        assert_same_bits(&down(&device, &x), &odd, "on the device");
        assert_same_bits(&x.host().unwrap(), &odd, "on the host");
        assert!(device.managed::<f64>(usize::MAX).is_err() && device.managed::<f64>([1 << 40, 1 << 40]).is_err());
        drop((empty, one, x));
        assert_back_at(&device, (0, 0, 0));
    }
}

/// More than a page, and more than the driver moves at a time.
#[test]
fn many_pages_are_all_there() {
    for device in managing() {
        let n = (5 << 20) / 8 + 3;
        let mut x = device.managed::<f64>(n).unwrap();
        x.host_mut().unwrap().iter_mut().enumerate().for_each(|(i, value)| *value = i as f64);
        x.prefetch(PagePlace::Device).unwrap();
        let x = device.blas().scal(3.0, x).unwrap().into_output();
        let slice = x.host().unwrap();
        assert!((0..n).all(|i| slice[i] == 3.0 * i as f64));
    }
}

#[test]
fn every_advice_and_place_is_taken_and_changes_no_contents() {
    for device in managing() {
        let mut x = numbers(&device, &[1.0, 2.0, 3.0]).into_buffer();
        for advice in [
            Advice::ReadMostly,
            Advice::NotReadMostly,
            Advice::Prefer(PagePlace::Host),
            Advice::Prefer(PagePlace::Device),
            Advice::NoPreference,
            Advice::AccessedBy(PagePlace::Device),
            Advice::NotAccessedBy(PagePlace::Device),
            Advice::AccessedBy(PagePlace::Host),
            Advice::NotAccessedBy(PagePlace::Host),
        ] {
            x.advise(advice).unwrap();
            for place in [PagePlace::Device, PagePlace::Host] {
                x.prefetch(place).unwrap();
                assert_eq!(device.blas().asum(&x).unwrap().await_result().unwrap(), 6.0, "{advice:?} {place:?}");
                assert_eq!(*x.host().unwrap(), [1.0, 2.0, 3.0], "{advice:?} {place:?}");
            }
        }
        x.host_mut().unwrap()[1] = 5.0;
        assert_eq!(down(&device, &x), [1.0, 5.0, 3.0]);
    }
}

#[test]
fn a_slice_waits_for_what_writes_and_one_to_write_also_for_what_reads() {
    for device in managing() {
        let x = busy(&device, numbers(&device, &[1.0; 100]).into_buffer(), 30);
        let mut x = device.blas().scal(2.0, x).unwrap().into_output().into_buffer();
        assert_eq!(*x.host().unwrap(), [2.0; 100]);
        let read = device.download(&x).unwrap();
        x.host_mut().unwrap().fill(7.0);
        assert_eq!(read.await_result().unwrap(), [2.0; 100], "the reader had the earlier elements");
        assert_eq!(down(&device, &x), [7.0; 100]);
    }
    // By a gate: it is still at it.
    let device = host(1).open().unwrap();
    let gate = Gate::default();
    let mut x = gate.hold(&device, numbers(&device, &[1.0]).into_buffer()).into_output();
    let asleep = Asleep::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            asleep.here();
            x.host_mut().unwrap()[0] = 3.0;
        });
        asleep.wait();
        let_others_run();
        assert!(!waiting.is_finished(), "beside a writer");
        gate.open();
        waiting.join().unwrap();
    });
    assert_eq!(down(&device, &x), [3.0]);
}

/// The borrow keeps writers away; readers go on.
#[test]
fn the_device_reads_beside_a_slice_and_threads_have_slices_at_the_same_time() {
    for device in managing() {
        let x = numbers(&device, &[1.0, 2.0, 3.0, 4.0]);
        let slice = x.host().unwrap();
        for _ in 0..20 {
            assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 30.0);
            assert_eq!(*slice, [1.0, 2.0, 3.0, 4.0]);
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        assert_eq!(x.host().unwrap()[3], 4.0);
                        assert_eq!(device.blas().asum(&x).unwrap().await_result().unwrap(), 10.0);
                    }
                });
            }
        });
        assert_eq!(*slice, [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn windows_and_dense_tensors_have_slices_and_other_layouts_and_parts_are_refused_by_name() {
    for device in managing() {
        let mut x = numbers(&device, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).into_buffer().narrow(1..4).unwrap();
        assert_eq!(*x.host().unwrap(), [1.0, 2.0, 3.0]);
        x.host_mut().unwrap()[0] = 9.0;
        let x = x.widen();
        assert_eq!(down(&device, &x), [0.0, 9.0, 2.0, 3.0, 4.0, 5.0]);
        let rows = x.with_layout(Layout::row_major([2, 2]).unwrap().slice((1.., ..)).unwrap()).unwrap();
        assert_eq!(*rows.host().unwrap(), [2.0, 3.0], "a row, behind an offset");
        let mut columns = rows.into_buffer().with_layout(Layout::columns(2, 3)).unwrap();
        let (argument, reason) = refused(&columns.host().unwrap_err());
        assert!(argument == "tensor" && reason.contains("contiguous"), "{reason}");
        assert!(columns.host_mut().is_err());
        let (mut left, right) = columns.into_buffer().split_at(3).unwrap();
        for error in [left.host().map(drop), right.host().map(drop), left.host_mut().map(drop)] {
            let (argument, reason) = refused(&error.unwrap_err());
            assert!(argument == "buffer" && reason.contains("join"), "{reason}");
        }
        assert!(left.advise(Advice::ReadMostly).is_err());
        left.prefetch(PagePlace::Host).unwrap();
        let left = device.fill(left, 1.0).unwrap().into_output();
        let all = left.into_buffer().join(right).unwrap();
        assert_eq!(*all.host().unwrap(), [1.0, 1.0, 1.0, 3.0, 4.0, 5.0]);
    }
}

#[test]
fn memory_that_is_not_managed_and_devices_that_have_none_are_told_what_to_use() {
    let reason = |result: Result<(), Error>| match result.unwrap_err() {
        Error::Unsupported { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    for device in devices() {
        let mut x = up(&device, [1.0f64]);
        assert!(reason(x.host().map(drop)).contains("download"));
        assert!(reason(x.host_mut().map(drop)).contains("Device::managed"));
        assert!(reason(x.prefetch(PagePlace::Host)).contains("managed"));
        assert!(reason(x.advise(Advice::ReadMostly)).contains("managed"));
        assert!(!x.is_managed());
        if device.is_isolated() {
            assert!(reason(device.managed::<f64>(4).map(drop)).contains("worker process has the pages"));
            assert_back_at(&device, (8, 1, 0));
        } else {
            let recorded = device.record(|r| r.managed::<f64>(4).map(drop));
            assert!(reason(recorded.map(drop)).contains("recorded"));
        }
    }
    let isolated = host(1).isolated().open().unwrap();
    assert!(reason(isolated.managed::<f64>(4).map(drop)).contains("worker"));
}

#[test]
fn a_failed_writer_is_told_by_the_slice_and_overwriting_helps() {
    let device = host(1).fault_plan(FaultPlan::new().fail(1)).open().unwrap();
    let x = numbers(&device, &[1.0; 3]).into_buffer(); // operation 0
    let mut x = map(&device, x, |_| ()).into_output();
    for error in [x.host().map(drop).unwrap_err(), x.host_mut().map(drop).unwrap_err()] {
        assert!(matches!(error, Error::Upstream { .. }), "{error}");
    }
    let x = device.fill(x, 2.0).unwrap().into_output();
    assert_eq!(*x.host().unwrap(), [2.0; 3]);
}

#[test]
fn a_captured_buffer_has_slices_to_read_and_none_to_write_while_its_program_exists() {
    for device in managing() {
        let mut x = numbers(&device, &[1.0, 2.0, 3.0]).into_buffer();
        let recorded = device.record(|r| {
            let y = r.operand::<f64>(3)?;
            r.blas().axpy(1.0, &x, y).map(drop).map_err(Error::from)
        });
        let (program, ()) = recorded.unwrap();
        let replay = || {
            let (y,) = program.replay((), (up(&device, vec![0.0; 3]),)).unwrap().into_operands().unwrap();
            y
        };
        let replayed = replay();
        let slice = x.host().unwrap();
        let beside = replay();
        assert_eq!((&*slice, down(&device, &replayed)), (&[1.0, 2.0, 3.0][..], vec![1.0, 2.0, 3.0]));
        assert_eq!(down(&device, &beside), *slice);
        drop(slice);
        let (argument, reason) = refused(&x.host_mut().map(drop).unwrap_err());
        assert!(argument == "buffer" && reason.contains("program"), "{reason}");
        // The last replay may still run when its program is gone: the slice waits for it.
        let last = replay();
        drop(program);
        x.host_mut().unwrap().fill(5.0);
        assert_eq!((down(&device, &last), down(&device, &x)), (vec![1.0, 2.0, 3.0], vec![5.0; 3]));
    }
}

#[test]
fn after_a_rebuild_it_is_stale_and_its_slices_have_ended_or_the_memory_is_the_hosts() {
    for device in managing() {
        let mut x = numbers(&device, &[1.0, 2.0]).into_buffer();
        let slice = x.host().unwrap();
        let rebuilt = device.rebuild(std::time::Duration::from_millis(50));
        // On the host the pages are this process's own, whatever becomes of the generation.
        assert_eq!(rebuilt.is_ok(), is_host(&device), "{rebuilt:?}");
        assert_eq!(*slice, [1.0, 2.0]);
        drop(slice);
        device.rebuild(LONG).unwrap();
        for error in [x.host().map(drop), x.host_mut().map(drop), x.prefetch(PagePlace::Host)] {
            assert!(matches!(error, Err(Error::GpuRefStale { .. })), "{error:?}");
        }
        let y = numbers(&device, &[3.0]);
        assert_eq!(down(&device, &y), [3.0]);
        drop((x, y));
        assert_back_at(&device, (0, 0, 0));
    }
}

/// The work resolves at once, and a thread may still be at it: no slice lies beside that.
#[test]
fn after_a_fault_of_the_host_engine_there_is_no_slice_beside_what_still_runs() {
    let gate = Gate::default();
    let plan = FaultPlan::new().poison(4);
    let device = host(2).fault_plan(plan).restart_policy(RestartPolicy::unlimited()).open().unwrap();
    let x = numbers(&device, &[1.0]).into_buffer(); // operation 0
    let y = numbers(&device, &[2.0]); // operation 1
    let slice = y.host().unwrap(); // operation 2; that at the gate is 3
    let x = gate.hold(&device, x).into_output();
    gate.await_arrivals(1);
    let _ = device.upload([5.0f64]).map(|pending| pending.await_result().map(drop));
    let _ = device.upload([5.0f64]).map(|pending| pending.await_result().map(drop));
    device.wait_healthy(LONG).unwrap();
    assert!(device.generation() > 0);
    assert!(x.host().is_err());
    assert_eq!(*slice, [2.0], "a slice that was out lies in memory of this process");
    gate.open();
}

#[test]
fn a_slice_outlives_the_handles_of_its_device_and_no_new_one_is_made_then() {
    for builder in builders() {
        let device = builder.open().unwrap();
        let Ok(mut x) = device.managed::<f64>(3) else { continue };
        x.host_mut().unwrap().fill(4.0);
        let slice = x.host().unwrap();
        drop(device);
        assert_eq!(*slice, [4.0; 3]);
        drop(slice);
        let error = x.host().map(drop).unwrap_err();
        assert!(matches!(error, Error::GpuRefStale { reason: Stale::DeviceGone, .. }), "{error:?}");
        assert!(x.host_mut().is_err());
    }
}

#[test]
fn it_counts_against_the_limit_and_carries_its_label() {
    for builder in builders() {
        let device = builder.memory_limit(2 << 20).open().unwrap();
        let Ok(x) = device.labelled("shared").managed::<u8>(1 << 20) else { continue };
        let report = device.memory_report();
        assert_eq!((report.used, report.labels.len()), (1 << 20, 1));
        assert_eq!(report.labels[0].label.as_deref(), Some("shared"));
        let error = device.managed::<u8>((1 << 20) + 1).map(drop).unwrap_err();
        let Error::OutOfMemory { requested, largest, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*requested, largest.len(), largest[0].bytes), ((1 << 20) + 1, 1, 1 << 20));
        drop(x);
        assert!(crate::common::eventually(10, || device.managed::<u8>(2 << 20).is_ok()));
        assert_back_at(&device, (0, 0, 0));
    }
}

#[test]
fn a_slice_that_is_forgotten_harms_nobody() {
    let device = host(1).open().unwrap();
    let x = numbers(&device, &[1.0]);
    std::mem::forget(x.host().unwrap());
    let x = device.blas().scal(2.0, x).unwrap().await_result().unwrap();
    assert_eq!(*x.host().unwrap(), [2.0]);
    device.rebuild(LONG).unwrap();
}

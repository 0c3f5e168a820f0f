//! The host engine: one call a thread, in parallel, checked at every access.

use crate::common::{down, host, inline, up};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use windlass::nvrtc::{LaunchConfig, Out, Plain, Read, Write};
use windlass::{Complex, Device, Element, Error, F8E4M3, F8E5M2, FaultPlan, Kernel, bf16, f16};

fn hosts() -> [Device; 2] {
    [host(3).open().unwrap(), inline().open().unwrap()]
}

fn kernel(device: &Device) -> Kernel {
    device.nvrtc().twins().kernel("any").unwrap()
}

/// Copies by a twin, element by element.
fn copies<T: Element>(device: &Device, data: Vec<T>) {
    let n = data.len();
    let kernel = kernel(device).twin::<(Read<T>, Out<T>)>(|at, (x, y)| {
        if at.x() < x.len() {
            y.set(at.x(), x.get(at.x()));
            assert!(y.get(at.x()) == x.as_slice()[at.x()]);
        }
    });
    // SAFETY: the twin is all there is, and it writes every element.
    let kernel = unsafe { kernel.unwrap().typed::<(Read<T>, Out<T>)>() }.unwrap();
    let (x, y) = (up(device, data.clone()), device.uninit::<T>(n).unwrap());
    let y = kernel.launch(LaunchConfig::for_elements(n).unwrap(), (&x, y)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &y), data, "{}", T::DTYPE);
}

#[test]
fn every_element_type_is_read_and_written() {
    for device in hosts() {
        let numbers = || 0..10_001u16;
        copies::<f32>(&device, numbers().map(f32::from).collect());
        copies::<f64>(&device, numbers().map(f64::from).collect());
        copies::<f16>(&device, numbers().map(|x| f16::from_f64(f64::from(x % 1000))).collect());
        copies::<bf16>(&device, numbers().map(|x| bf16::from_f64(f64::from(x % 100))).collect());
        copies::<Complex<f32>>(&device, numbers().map(|x| Complex::new(f32::from(x), -1.0)).collect());
        copies::<Complex<f64>>(&device, numbers().map(|x| Complex::new(-1.0, f64::from(x))).collect());
        copies::<i8>(&device, numbers().map(|x| x as i8).collect());
        copies::<u8>(&device, numbers().map(|x| x as u8).collect());
        copies::<i16>(&device, numbers().map(|x| x as i16).collect());
        copies::<u16>(&device, numbers().collect());
        copies::<i32>(&device, numbers().map(i32::from).collect());
        copies::<u32>(&device, numbers().map(u32::from).collect());
        copies::<i64>(&device, numbers().map(i64::from).collect());
        copies::<u64>(&device, numbers().map(u64::from).collect());
        copies::<F8E4M3>(&device, numbers().map(|x| F8E4M3::from_f32(f32::from(x % 64))).collect());
        copies::<F8E5M2>(&device, numbers().map(|x| F8E5M2::from_f32(f32::from(x % 64))).collect());
    }
}

#[test]
fn atomic_updates_of_all_threads_add_up() {
    for device in hosts() {
        let kernel = kernel(&device)
            .twin::<(Write<f64>, Write<u8>, Write<i16>, Write<F8E4M3>, Write<F8E5M2>)>(
                |at, (sum, bytes, words, e4m3, e5m2)| {
                    sum.atomic_update(0, |s| s + at.x() as f64);
                    bytes.atomic_update(at.x() % 3, |b| b.wrapping_add(1));
                    words.atomic_update(0, |w| w.wrapping_sub(1));
                    e4m3.atomic_update(0, |x| F8E4M3::from_bits(x.to_bits().wrapping_add(3)));
                    e5m2.atomic_update(0, |x| F8E5M2::from_bits(x.to_bits().wrapping_add(5)));
                },
            )
            .unwrap();
        let eighths = (up(&device, [F8E4M3::from_bits(0)]), up(&device, [F8E5M2::from_bits(0)]));
        let args = (up(&device, [0f64]), up(&device, [0u8; 3]), up(&device, [0i16]), eighths.0, eighths.1);
        // SAFETY: the twin is all there is.
        let written = unsafe { kernel.launch(LaunchConfig::new(300, 100), args) }.unwrap().await_result().unwrap();
        type Of<T> = windlass::DeviceBuffer<T>;
        let all = written.downcast::<(Of<f64>, Of<u8>, Of<i16>, Of<F8E4M3>, Of<F8E5M2>)>();
        let (sum, bytes, words, e4m3, e5m2) = all.unwrap();
        assert_eq!(down(&device, &e4m3)[0].to_bits(), (3 * 30_000 % 256) as u8);
        assert_eq!(down(&device, &e5m2)[0].to_bits(), (5 * 30_000 % 256) as u8);
        assert_eq!(down(&device, &sum), [30_000.0 * 29_999.0 / 2.0]);
        assert_eq!(down(&device, &bytes), [(10_000 % 256) as u8; 3]);
        assert_eq!(down(&device, &words), [(-30_000i32) as i16]);
    }
}

#[test]
fn an_access_past_the_end_fails_the_launch_with_its_place() {
    for device in hosts() {
        for past_write in [true, false] {
            let kernel = kernel(&device)
                .twin::<(Read<f32>, u32, Write<f32>)>(move |at, (x, _, y)| {
                    let i = at.x();
                    if past_write { y.set(i, 1.0) } else { y.set(0, x.get(i) + y.get(i - i.min(1))) }
                })
                .unwrap();
            let (x, y) = (up(&device, [1f32; 5]), up(&device, [0f32; 5]));
            // SAFETY: the twin is all there is.
            let pending = unsafe { kernel.launch(LaunchConfig::new(1, 6), (&x, 0u32, y)) }.unwrap();
            let rejected = pending.await_result().unwrap_err();
            let what = if past_write { "wrote element 5 of argument 2" } else { "read element 5 of argument 0" };
            let text = rejected.error.to_string();
            assert!(matches!(rejected.error, Error::LibraryError { .. }), "{text}");
            assert!(text.contains(what) && text.contains("which has 5") && text.contains("`any`"), "{text}");
            assert!(rejected.back.is_some(), "the buffer comes back");
        }
    }
}

#[test]
fn a_twin_that_panics_is_an_error_and_the_device_goes_on() {
    for device in hosts() {
        let kernel = kernel(&device)
            .twin::<(Write<f32>,)>(|at, _| {
                if at.x() == 40_000 {
                    panic!("thread {} gives up", at.x());
                }
            })
            .unwrap();
        let x = up(&device, [0f32]);
        // SAFETY: the twin is all there is.
        let rejected = unsafe { kernel.launch(LaunchConfig::new(500, 100), (x,)) }.unwrap().await_result().unwrap_err();
        let text = rejected.error.to_string();
        assert!(matches!(rejected.error, Error::Panicked { .. }) && text.contains("thread 40000 gives up"), "{text}");
        let x = device.fill(up(&device, [0f32]), 2.0).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0]);
    }
}

#[test]
fn every_thread_of_a_large_grid_is_called_once() {
    for device in hosts() {
        let count = Arc::new(AtomicU64::new(0));
        let seen = count.clone();
        let kernel = kernel(&device)
            .twin::<(Plain<[u32; 2]>,)>(move |at, (step,)| {
                assert_eq!(step, [3, 4]);
                seen.fetch_add(1 + at.y() as u64, Ordering::Relaxed);
            })
            .unwrap();
        let config = LaunchConfig::new((70_000, 3), (1, 7));
        // SAFETY: the twin is all there is.
        unsafe { kernel.launch(config, (Plain([3u32, 4]),)) }.unwrap().await_result().unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 70_000 * (1..=21).sum::<u64>());
    }
}

#[test]
fn a_fault_at_the_beginning_ends_a_grid_that_would_never_end() {
    for device in hosts() {
        let kernel = kernel(&device).twin::<(Write<u8>,)>(|_, (x,)| x.set(1, 0)).unwrap();
        let config = LaunchConfig::new((i32::MAX as u32, 65535, 65535), 1024);
        // SAFETY: the twin is all there is.
        let pending = unsafe { kernel.launch(config, (up(&device, [0u8]),)) }.unwrap();
        assert!(pending.await_result().is_err());
    }
}

#[test]
fn a_twin_may_not_dispatch() {
    let device = host(2).open().unwrap();
    let inner = device.clone();
    let kernel = kernel(&device)
        .twin::<(Write<u32>,)>(move |_, (x,)| {
            let refused =
                matches!(inner.zeros::<f32>(1).and_then(|b| Ok(inner.fill(b, 1.0)?)), Err(Error::Unsupported { .. }));
            x.set(0, u32::from(refused));
        })
        .unwrap();
    // SAFETY: the twin is all there is.
    let written = unsafe { kernel.launch(LaunchConfig::new(1, 1), (up(&device, [0u32]),)) }.unwrap();
    let (x,) = written.await_result().unwrap().downcast::<windlass::DeviceBuffer<u32>>().unwrap();
    assert_eq!(down(&device, &x), [1]);
}

/// Whether two threads are inside a twin at a time: the first waits until another has come.
#[test]
fn threads_of_a_grid_run_side_by_side() {
    let device = host(3).open().unwrap();
    let (inside, most, met) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let seen = Arc::new((inside, most, met));
    let shared = seen.clone();
    let meet = device.nvrtc().twin::<(Write<u32>,)>("meet", move |at, (x,)| {
        let (inside, most, met) = &*shared;
        let now = 1 + inside.fetch_add(1, Ordering::SeqCst);
        most.fetch_max(now, Ordering::SeqCst);
        met.fetch_or(now > 1, Ordering::SeqCst);
        let until = Instant::now() + crate::common::LONG;
        // Once they have met, or the time is over for the first, nobody waits any more.
        while !met.load(Ordering::SeqCst) && Instant::now() < until {
            std::thread::yield_now();
        }
        met.store(true, Ordering::SeqCst);
        inside.fetch_sub(1, Ordering::SeqCst);
        x.set(at.x(), 1);
    });
    // 64 pieces of work.
    let n = 64 * 4096;
    let x = meet.unwrap().launch(LaunchConfig::new(64 * 16, 256), (device.zeros::<u32>(n).unwrap(),)).unwrap();
    assert_eq!(down(&device, &x.await_result().unwrap()), vec![1; n]);
    let most = seen.1.load(Ordering::SeqCst);
    assert!((2..=3).contains(&most), "{most} threads at a time, on a pool of 3");
}

#[test]
fn a_kernel_of_rust_alone_is_launched_without_a_promise() {
    for device in hosts() {
        let nvrtc = device.nvrtc();
        // It writes less than all of what it was given to write: what was there stays.
        let first = nvrtc.twin::<(Read<i32>, Out<i32>)>("first", |at, (x, y)| {
            if at.x() == 0 {
                y.set(0, x.get(0) + 1);
            }
        });
        let first = first.unwrap();
        assert_eq!(first.kernel().name(), "first");
        let (x, y) = (up(&device, [41]), device.uninit::<i32>(3).unwrap());
        let y = first.launch(LaunchConfig::new(1, 3), (&x, y)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &y)[0], 42);
        let past = nvrtc.twin::<(Write<i32>,)>("past", |_, (x,)| x.set(3, 0)).unwrap();
        assert!(past.launch(LaunchConfig::new(1, 1), (y,)).unwrap().await_result().is_err());
        let nameless = nvrtc.twin::<()>("", |_, ()| ()).unwrap_err();
        assert!(matches!(nameless, Error::InvalidArgument { .. }), "{nameless}");
    }
}

#[test]
fn the_last_operations_before_a_fault_name_the_kernel() {
    let device = host(2).fault_plan(FaultPlan::new().poison(2)).open().unwrap();
    let touch = device.nvrtc().twin::<(Write<f32>,)>("touch", |_, (x,)| x.set(0, 1.0)).unwrap();
    let x = touch.launch(LaunchConfig::new(1, 1), (up(&device, [0f32]),)).unwrap().into_output();
    let error = device.fill(x, 2.0).unwrap().await_result().unwrap_err().error;
    let last: Vec<_> = error.site().unwrap().last_ops().map(str::to_owned).collect();
    assert_eq!(last, ["upload", "touch", "fill"]);
}

/// A kernel of nothing, as README's first one with `n` of 0: its buffers are empty, and the launch is one like any other.
#[test]
fn a_twin_of_empty_buffers_runs() {
    for device in hosts() {
        copies::<f32>(&device, vec![]);
        copies::<f64>(&device, vec![]);
        copies::<u8>(&device, vec![]);
        copies::<Complex<f64>>(&device, vec![]);
        let kernel = kernel(&device).twin::<(f32, Read<f32>, Write<f32>, windlass::nvrtc::Len)>(|at, (a, x, y, n)| {
            if at.x() < n {
                y.set(at.x(), a * x.get(at.x()) + y.get(at.x()));
            }
        });
        // SAFETY: the twin is all there is.
        let saxpy = unsafe { kernel.unwrap().typed::<(f32, Read<f32>, Write<f32>, windlass::nvrtc::Len)>() }.unwrap();
        let (x, y) = (device.zeros::<f32>(0).unwrap(), device.zeros::<f32>(0).unwrap());
        let config = LaunchConfig::for_elements(0).unwrap();
        let y = saxpy.launch(config, (2.0, &x, y, windlass::nvrtc::Len)).unwrap().await_result().unwrap();
        assert!(y.is_empty());
    }
}

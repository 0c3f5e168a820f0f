//! What another user of the same GPU costs in this process: round trips of one device beside work of seconds, while another
//! device is opened and closed, compiles, or loads modules all the time.
//!
//! Each row is compared with the same round trips beside the work alone. A call of CUDA that holds up the launches of other
//! threads until the GPU is idle shows as a longest round trip of as long as the work takes. The raw rows show what such a
//! call does: freeing pinned memory is what a device did when it closed.

use crate::harness::{Bench, Goal, Unit};
use crate::ops::{Busy, Empty};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use windlass::nvrtc::{Compiler, DiskCache, Emit, Image, Source};
use windlass::{Device, Wait};

/// What the neighbour does once; told how often it did it.
type Habit<'a> = (&'static str, Goal, &'a (dyn Fn(u64) + Sync));

pub(crate) fn run(bench: &mut Bench) {
    let device = bench.device.waiting(Wait::Spin);
    let (work, rounds) =
        if bench.tiny { (Duration::from_millis(2), 1) } else { (Duration::from_secs(2), bench.rounds(4)) };
    let compiler = Compiler::builder().disk(DiskCache::Off).memory_images(1).build();
    let other = Device::cuda(0).unwrap();
    // The first of a process are made by now.
    let open = |number: u64| {
        let device = Device::cuda(0).unwrap();
        let data = vec![number as f32; 1 << 20];
        let x = device.upload(&data[..]).unwrap().into_output();
        assert!(device.download(&x).unwrap().await_result().unwrap() == data);
    };
    let source = |number: u64| format!("extern \"C\" __global__ void k(float* x) {{ x[threadIdx.x] += {number}.0f; }}");
    let compile = |number: u64| match compiler.compile(&Source::new(source(number)).emit(Emit::Cubin)) {
        Ok(_) | Err(windlass::Error::LibraryMissing { .. }) => {}
        Err(error) => panic!("{error}"),
    };
    let text = |number: u64| {
        format!(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k{number}() {{ ret; }}\n")
    };
    let load = |number: u64| {
        let module = other.nvrtc().load(&Image::ptx(text(number)).unwrap()).unwrap();
        drop(module.kernel(&format!("k{number}")).unwrap());
    };
    let transfer = |number: u64| {
        let data = vec![number as f32; 4 << 20];
        let x = other.upload(&data[..]).unwrap().into_output();
        assert!(other.download(&x).unwrap().await_result().unwrap() == data);
    };
    let raw = bench.raw;
    let pinned = |_: u64| {
        raw.enter();
        raw.free_pinned(raw.pinned(1 << 20));
        raw.leave();
    };
    let register = |_: u64| {
        let mut memory = vec![1u8; 1 << 20];
        raw.enter();
        raw.register(&mut memory);
        raw.leave();
    };
    let library = |number: u64| {
        raw.enter();
        let (text, name) = (CString::new(text(number)).unwrap(), CString::new(format!("k{number}")).unwrap());
        if !raw.library(&text, &name) {
            std::thread::sleep(Duration::from_millis(1));
        }
        raw.leave();
    };
    let nothing = |_: u64| std::thread::sleep(Duration::from_millis(1));
    let held = Goal::AtMost(1_000_000.0);
    let habits: [Habit<'_>; 7] = [
        ("opening and closing", held, &open),
        ("compiling", held, &compile),
        ("transfers", held, &transfer),
        ("loading modules", Goal::None, &load),
        ("cuLibraryLoadData, cuKernelGetFunction and cuLibraryUnload", Goal::None, &library),
        ("cuMemHostAlloc and cuMemFreeHost", Goal::None, &pinned),
        ("cuMemHostRegister and cuMemHostUnregister", Goal::None, &register),
    ];
    for habit in [&open as &(dyn Fn(u64) + Sync), &compile, &load, &transfer] {
        habit(0);
    }
    let mut alone = trips(&device, work, rounds, &nothing).0;
    for (name, goal, habit) in habits {
        let name = format!("round trip beside {name} and work of {work:?}");
        if !bench.wants(&name) {
            continue;
        }
        raw.leave();
        let (mut beside, times) = trips(&device, work, rounds, habit);
        raw.enter();
        println!("  {name}: {} round trips, {times} times", beside.len());
        for (part, percent) in [("p50", 50), ("p99", 99), ("longest", 100)] {
            let goal = if percent == 100 { goal } else { Goal::None };
            let of = |samples: &mut Vec<f64>| {
                samples.sort_by(f64::total_cmp);
                samples[(samples.len() * percent / 100).min(samples.len() - 1)]
            };
            bench.compare(&format!("{name}, {part}"), Unit::Ns, goal, &[of(&mut beside)], &[of(&mut alone)]);
        }
    }
}

/// Round trips of an empty kernel beside so much work, so many times, while a neighbour does one thing all the time; and how
/// often that did it.
fn trips(device: &Device, work: Duration, rounds: usize, habit: &(dyn Fn(u64) + Sync)) -> (Vec<f64>, u64) {
    let (over, times) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                habit(times.fetch_add(1, Ordering::Relaxed) + 1);
            }
        });
        for _ in 0..rounds {
            let busy = device.dispatch(Busy(work.as_nanos() as u64), (), ()).unwrap();
            while !busy.is_ready() {
                let start = Instant::now();
                device.dispatch(Empty, (), ()).unwrap().await_result().unwrap();
                samples.push(start.elapsed().as_nanos() as f64);
                std::thread::sleep(Duration::from_micros(200));
            }
            busy.await_result().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    (samples, times.into_inner())
}

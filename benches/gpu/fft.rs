//! Transforms beside cuFFT itself: its stream and work area set each time, as ours sets them, and an event recorded behind.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::raw::{Memory, NO_TIMING, Raw, ok};
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::c_int;
use std::time::Duration;
use windlass::fft::{FftReal, FftSpec, Kind};
use windlass::tensor::Layout;
use windlass::{Device, Element, Tensor, Wait};

const LONG: Duration = Duration::from_secs(60);

macro_rules! functions { ($($name:ident($($arg:ty),*) = $symbol:literal;)*) => {
    /// Functions of `libcufft`, with its enums as integers.
    struct Cufft { $($name: unsafe extern "C" fn($($arg),*) -> c_int,)* }
    impl Cufft {
        /// Of the library that windlass has opened.
        fn load() -> Option<Self> {
            // SAFETY: a library that is loaded already.
            let open = |name| unsafe { Library::new(name) }.ok();
            let library = ["libcufft.so.12", "libcufft.so.11"].into_iter().find_map(open)?;
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: the signatures are those of the library's header.
            Some(Cufft { $($name: unsafe { *library.get($symbol).ok()? },)* })
        }
    }
} }
functions! {
    create(*mut c_int) = b"cufftCreate\0";
    destroy(c_int) = b"cufftDestroy\0";
    set_auto_allocation(c_int, c_int) = b"cufftSetAutoAllocation\0";
    set_stream(c_int, CUstream) = b"cufftSetStream\0";
    set_work_area(c_int, u64) = b"cufftSetWorkArea\0";
    make(c_int, c_int, *mut i64, *mut i64, i64, i64, u32, *mut i64, i64, i64, u32, i64, *mut usize, u32)
        = b"cufftXtMakePlanMany\0";
    exec(c_int, u64, u64, c_int) = b"cufftXtExec\0";
}

/// A plan with its memory.
struct Plan<'a> {
    api: &'a Cufft,
    raw: Raw,
    plan: c_int,
    stream: CUstream,
    work: Memory,
    from: Memory,
    to: Memory,
}

impl Plan<'_> {
    fn run(&self) {
        // SAFETY: the plan is made, its sides and its work area hold what it takes.
        unsafe {
            ok((self.api.set_stream)(self.plan, self.stream));
            ok((self.api.set_work_area)(self.plan, self.work.address));
            ok((self.api.exec)(self.plan, self.from.address, self.to.address, -1));
        }
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        self.raw.settle();
        // SAFETY: made once, and at rest.
        ok(unsafe { (self.api.destroy)(self.plan) });
    }
}

pub(crate) fn run(bench: &mut Bench) {
    let small = bench
        .device
        .fft()
        .prepare::<f32>(Kind::C2c, &FftSpec::new(), Layout::rows(1, 16), Layout::rows(1, 16))
        .and_then(windlass::PendingDispatch::await_result);
    if let Err(error) = small {
        return bench.skip("fft", &error.to_string());
    }
    let Some(api) = Cufft::load() else { return bench.skip("fft", "no libcufft.so.12 or .11") };
    let shapes: [(usize, &[usize]); 9] = [
        (1, &[1 << 10]),
        (1, &[1 << 20]),
        (1, &[1 << 24]),
        (4096, &[1024]),
        (1 << 14, &[1 << 10]),
        (1, &[1_000_003]),
        (1, &[4096, 4096]),
        (1, &[256, 256, 256]),
        (1, &[512, 512, 512]),
    ];
    let tiny: [(usize, &[usize]); 2] = [(1, &[16]), (4, &[8])];
    for (count, shape) in if bench.tiny { tiny.to_vec() } else { shapes.to_vec() } {
        let text = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let text = if count > 1 { format!("{count} * {text}") } else { text };
        both::<f32>(bench, &api, (count, shape), &text, "f32", [0, 4]);
        both::<f64>(bench, &api, (count, shape), &text, "f64", [1, 5]);
    }
}

fn both<R: FftReal>(
    bench: &mut Bench,
    api: &Cufft,
    (count, shape): (usize, &[usize]),
    text: &str,
    dtype: &str,
    [real, complex]: [u32; 2],
) {
    let sizes = (count, shape);
    let spec = FftSpec::new().axes((1..=shape.len() as isize).map(|axis| -axis).rev().collect::<Vec<_>>());
    row::<R::Complex, R::Complex>(bench, api, &format!("c2c {text} {dtype}"), sizes, [complex; 2], &|device, x, y| {
        device.fft().c2c(&spec, x, y).unwrap().into_output()
    });
    row::<R, R::Complex>(bench, api, &format!("r2c {text} {dtype}"), sizes, [real, complex], &|device, x, y| {
        device.fft().r2c(&spec, x, y).unwrap().into_output()
    });
}

type Call<'c, T, U> = &'c dyn Fn(&Device, &Tensor<T>, Tensor<U>) -> Tensor<U>;

/// One kind and shape: all of the work, and the enqueue alone.
fn row<T: Element, U: Element>(
    bench: &mut Bench,
    api: &Cufft,
    name: &str,
    (count, shape): (usize, &[usize]),
    [from, to]: [u32; 2],
    call: Call<'_, T, U>,
) {
    let enqueue = format!("{name}, enqueue");
    if !bench.wants(name) && !bench.wants(&enqueue) {
        return;
    }
    let (raw, device) = (bench.raw, bench.device.clone());
    let stream = raw.stream();
    let mut n: Vec<i64> = shape.iter().map(|n| *n as i64).collect();
    let mut out = n.clone();
    if from != to {
        // Half of the spectrum along the last axis.
        out.iter_mut().last().into_iter().for_each(|n| *n = *n / 2 + 1);
    }
    let (each, each_out) = (n.iter().product::<i64>(), out.iter().product::<i64>());
    let (len, len_out) = (count * each as usize, count * each_out as usize);
    // Ours, theirs, and a work area.
    if 3 * (len * size_of::<T>() + len_out * size_of::<U>()) > raw.free_bytes() {
        return bench.skip(name, "not enough memory");
    }
    let (mut plan, mut work, mut embed) = (0, 0, n.clone());
    let rank = n.len() as c_int;
    // SAFETY: valid for the writes; the arrays hold `rank` sizes.
    unsafe {
        ok((api.create)(&mut plan));
        ok((api.set_auto_allocation)(plan, 0));
        let (n, embed, out) = (n.as_mut_ptr(), embed.as_mut_ptr(), out.as_mut_ptr());
        ok((api.make)(plan, rank, n, embed, 1, each, from, out, 1, each_out, to, count as i64, &mut work, to));
    }
    let input = Memory::new(&raw, len * size_of::<T>(), stream);
    raw.zero(input.address, input.bytes / 4, stream);
    let output = Memory::new(&raw, len_out * size_of::<U>(), stream);
    let work = Memory::new(&raw, work.max(16), stream);
    let plan = Plan { api, raw, plan, stream, work, from: input, to: output };
    let extents = |of: &[i64]| [count].into_iter().chain(of.iter().map(|n| *n as usize)).collect::<Vec<_>>();
    let x = device.zeros::<T>(extents(&n)).unwrap();
    let mut y = Some(device.zeros::<U>(extents(&out)).unwrap());
    const BATCH: usize = 8;
    let event = raw.event(NO_TIMING);

    let mut ours = |waits: bool| {
        let begin = y.take().unwrap();
        let mut end = None;
        let time = timed(BATCH, || {
            end = Some((0..BATCH).fold(begin, |y, _| call(&device, &x, y)));
            if waits {
                device.waiting(Wait::Spin).synchronize(LONG).unwrap();
            }
        });
        device.waiting(Wait::Spin).synchronize(LONG).unwrap();
        y = end;
        time / if waits { 1e3 } else { 1.0 }
    };
    let theirs = |waits: bool| {
        let time = timed(BATCH, || {
            for _ in 0..BATCH {
                plan.run();
                raw.record(event, stream);
            }
            if waits {
                raw.settle();
            }
        });
        raw.settle();
        time / if waits { 1e3 } else { 1.0 }
    };
    bench.pair(name, Unit::Us, Goal::TimesAtMost(1.01), 20, || ours(true), || theirs(true));
    if count * each as usize <= 1 << 20 {
        bench.pair(&enqueue, Unit::Ns, Goal::Over(1500.0), 40, || ours(false), || theirs(false));
    }
}

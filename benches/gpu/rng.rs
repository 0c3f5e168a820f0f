//! Random numbers beside a plain fill of as many bytes, what writes them takes at least; and beside cuRAND itself.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::raw::ok;
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{c_int, c_void};
use windlass::Wait;
use windlass::rng::{Between, Bits, Distribution, Exponential, Generator, Normal, Poisson, Random, Stream, Uniform};

/// Draws between two waits.
const BATCH: usize = 8;

pub(crate) fn run(bench: &mut Bench) {
    let most = if bench.tiny { 12 } else { 26 };
    for power in [10, 16, 20, 26] {
        let n = 1 << power.min(most);
        // Short ones measure the dispatch.
        let goal = if power == 26 { Goal::TimesAtLeast(0.9) } else { Goal::None };
        row::<f32>(bench, &format!("uniform f32, 2^{power}"), Uniform::above_zero(), n, goal);
        row::<f32>(bench, &format!("normal f32, 2^{power}"), Normal::standard(), n, Goal::None);
    }
    let n = 1 << 24_usize.min(most);
    row::<u32>(bench, "bits u32, 2^24", Bits, n, Goal::None);
    row::<f64>(bench, "uniform f64, 2^24", Uniform::above_zero(), n, Goal::None);
    row::<f64>(bench, "normal f64, 2^24", Normal::standard(), n, Goal::None);
    row::<f32>(bench, "exponential f32, 2^24", Exponential::new(1.0), n, Goal::None);
    row::<u32>(bench, "integers below 1000, 2^24", Between::new(0u32..1000), n, Goal::None);
    row::<u32>(bench, "Poisson of mean 3, 2^24", Poisson::new(3.0), n, Goal::None);
    beside_curand(bench);
}

macro_rules! functions { ($($name:ident($($arg:ty),*) = $symbol:literal;)*) => {
    /// Functions of `libcurand`, with its enums as integers.
    struct Curand { $($name: unsafe extern "C" fn($($arg),*) -> c_int,)* }
    impl Curand {
        fn load() -> Option<Self> {
            // SAFETY: NVIDIA's library, found as any program finds it.
            let library = unsafe { Library::new("libcurand.so.10") }.ok()?;
            let library: &'static Library = Box::leak(Box::new(library));
            // SAFETY: the signatures are those of the library's header.
            Some(Curand { $($name: unsafe { *library.get($symbol).ok()? },)* })
        }
    }
} }
functions! {
    create(*mut *mut c_void, u32) = b"curandCreateGenerator\0";
    set_stream(*mut c_void, CUstream) = b"curandSetStream\0";
    set_seed(*mut c_void, u64) = b"curandSetPseudoRandomGeneratorSeed\0";
    prepare(*mut c_void) = b"curandGenerateSeeds\0";
    destroy(*mut c_void) = b"curandDestroyGenerator\0";
    uniform(*mut c_void, u64, usize) = b"curandGenerateUniform\0";
    uniform_double(*mut c_void, u64, usize) = b"curandGenerateUniformDouble\0";
    normal(*mut c_void, u64, usize, f32, f32) = b"curandGenerateNormal\0";
    normal_double(*mut c_void, u64, usize, f64, f64) = b"curandGenerateNormalDouble\0";
}

/// `CURAND_RNG_PSEUDO_*`, and ours.
const KINDS: [(&str, u32, Generator); 3] =
    [("Philox", 161, Generator::Philox), ("XORWOW", 101, Generator::Xorwow), ("MRG32k3a", 121, Generator::Mrg32k3a)];

/// Our kernels beside the library's, 2^26 numbers at a time.
fn beside_curand(bench: &mut Bench) {
    let Some(api) = Curand::load() else { return bench.skip("cuRAND", "no libcurand.so.10") };
    let n = 1usize << if bench.tiny { 12 } else { 26 };
    for (text, kind, generator) in KINDS {
        let raw = bench.raw;
        let (stream, mut theirs) = (raw.stream(), std::ptr::null_mut());
        raw.enter();
        // SAFETY: valid for the write; the stream stays.
        unsafe {
            ok((api.create)(&mut theirs, kind));
            ok((api.set_stream)(theirs, stream));
            ok((api.set_seed)(theirs, 42));
            ok((api.prepare)(theirs));
        }
        let address = raw.alloc(8 * n, stream);
        raw.settle();
        let (unit, standard) = (Uniform::above_zero(), Normal::standard());
        let name = |what: &str| format!("{text} {what} beside cuRAND");
        beside::<f32>(bench, &name("uniform f32"), generator, unit, n, &mut || {
            // SAFETY: the memory holds `n` numbers of the type.
            ok(unsafe { (api.uniform)(theirs, address, n) });
        });
        beside::<f64>(bench, &name("uniform f64"), generator, unit, n, &mut || {
            // SAFETY: as above.
            ok(unsafe { (api.uniform_double)(theirs, address, n) });
        });
        beside::<f32>(bench, &name("normal f32"), generator, standard, n, &mut || {
            // SAFETY: as above.
            ok(unsafe { (api.normal)(theirs, address, n, 0.0, 1.0) });
        });
        beside::<f64>(bench, &name("normal f64"), generator, standard, n, &mut || {
            // SAFETY: as above.
            ok(unsafe { (api.normal_double)(theirs, address, n, 0.0, 1.0) });
        });
        raw.enter();
        raw.settle();
        raw.free(address, stream);
        raw.settle();
        // SAFETY: created above, at rest, destroyed once.
        ok(unsafe { (api.destroy)(theirs) });
    }
}

fn beside<T: Random>(
    bench: &mut Bench,
    name: &str,
    generator: Generator,
    of: impl Distribution<T>,
    n: usize,
    fill: &mut dyn FnMut(),
) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let mut rng = device.rng_of(Stream::new(generator, 42));
    let mut kept = Some(device.zeros::<T>([n]).unwrap());
    let rate = |ns: f64| (n * size_of::<T>()) as f64 / ns;
    let ours = || {
        rate(timed(BATCH, || {
            let x = (0..BATCH).fold(kept.take().unwrap(), |x, _| rng.fill(of, x).unwrap().into_output());
            device.waiting(Wait::Spin).synchronize(std::time::Duration::from_secs(60)).unwrap();
            kept = Some(x);
        }))
    };
    let theirs = || {
        rate(timed(BATCH, || {
            (0..BATCH).for_each(|_| fill());
            raw.settle();
        }))
    };
    bench.pair(name, Unit::GBs, Goal::TimesAtLeast(1.0), 20, ours, theirs);
}

fn row<T: Random>(bench: &mut Bench, name: &str, of: impl Distribution<T>, n: usize, goal: Goal) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let bytes = n * size_of::<T>();
    let rate = |ns: f64| bytes as f64 / ns;
    let mut rng = device.rng(42);
    let mut kept = Some(device.zeros::<T>([n]).unwrap());
    let ours = || {
        rate(timed(BATCH, || {
            let x = (0..BATCH).fold(kept.take().unwrap(), |x, _| rng.fill(of, x).unwrap().into_output());
            device.waiting(Wait::Spin).synchronize(std::time::Duration::from_secs(60)).unwrap();
            kept = Some(x);
        }))
    };
    let stream = raw.stream();
    let address = raw.alloc(bytes, stream);
    let floor = || {
        rate(timed(BATCH, || {
            (0..BATCH).for_each(|_| raw.zero(address, bytes / 4, stream));
            raw.settle();
        }))
    };
    bench.pair(name, Unit::GBs, goal, 40, ours, floor);
    raw.free(address, stream);
    raw.settle();
}

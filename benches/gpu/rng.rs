//! Random numbers beside a plain fill of as many bytes: what writes them takes at least.

use crate::harness::{Bench, Goal, Unit, timed};
use windlass::rng::{Between, Bits, Distribution, Exponential, Normal, Poisson, Random, Uniform};

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
}

fn row<T: Random>(bench: &mut Bench, name: &str, of: impl Distribution<T>, n: usize, goal: Goal) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let bytes = n * size_of::<T>();
    let rate = |ns: f64| bytes as f64 / ns;
    let mut rng = device.rng(42);
    let mut kept = Some(device.zeros::<T>(n).unwrap());
    let ours = || {
        rate(timed(BATCH, || {
            let x = (0..BATCH).fold(kept.take().unwrap(), |x, _| rng.fill(of, x).unwrap().into_output());
            device.synchronize(std::time::Duration::from_secs(60)).unwrap();
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

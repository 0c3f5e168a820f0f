//! Elements at places: sampling by a grid beside its definition, gradients of tables and biases, unpooling, dropout; the same bits on
//! all devices.

use crate::common::refused;
use crate::sample::{Laid, Number, Rng, read, same_bits, typed};
use windlass::dnn::{Beyond, DnnElement, GridSample, Pool, Sampling};
use windlass::reductions::SoftmaxElement;
use windlass::{Device, bf16, f16};

/// A place along an axis, by the definition.
fn place(at: f64, n: usize, (sampling, beyond, align): (Sampling, Beyond, bool)) -> f64 {
    let n = n as f64;
    let at = if align { (at + 1.0) / 2.0 * (n - 1.0) } else { ((at + 1.0) * n - 1.0) / 2.0 };
    let at = if sampling == Sampling::Nearest { at.round_ties_even() } else { at };
    let edges = if align { (0.0, n - 1.0) } else { (-0.5, n - 0.5) };
    match beyond {
        // Of a cubic only the elements are moved.
        Beyond::Border if sampling == Sampling::Cubic => at,
        Beyond::Border if at < edges.0 || at > edges.1 => at.clamp(0.0, n - 1.0),
        Beyond::Reflection => mirrored(at, edges),
        _ => at,
    }
}

fn mirrored(mut at: f64, (low, high): (f64, f64)) -> f64 {
    if high <= low {
        return low;
    }
    while at < low || at > high {
        at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
    }
    at
}

/// The elements around a place along an axis, `None` beyond, and their weights.
fn taps(at: f64, n: usize, spec: (Sampling, Beyond, bool)) -> Vec<(Option<usize>, f64)> {
    let at = place(at, n, spec);
    let (first, part) = (at.floor(), at - at.floor());
    let cubic = |x: f64| {
        let x = x.abs();
        let a = -0.75;
        if x <= 1.0 {
            ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        } else {
            ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        }
    };
    let around: Vec<(f64, f64)> = match spec.0 {
        Sampling::Nearest => vec![(at, 1.0)],
        Sampling::Linear => vec![(first, 1.0 - part), (first + 1.0, part)],
        Sampling::Cubic => (-1..3).map(|k| (first + f64::from(k), cubic(part - f64::from(k)))).collect(),
    };
    let last = n as f64 - 1.0;
    let edges = if spec.2 { (0.0, last) } else { (-0.5, last + 0.5) };
    let number = |at: f64| match spec.1 {
        Beyond::Zeros => (0.0..=last).contains(&at).then_some(at as usize),
        Beyond::Border => Some(at.clamp(0.0, last) as usize),
        Beyond::Reflection => Some(mirrored(at, edges).clamp(0.0, last) as usize),
    };
    around.into_iter().map(|(at, weight)| (number(at), weight)).collect()
}

fn sampled<T: Number + SoftmaxElement>(devices: &[Device], rng: &mut Rng, what: &str) {
    let rank = 1 + rng.below(3);
    let spec = (
        rng.among(&[Sampling::Nearest, Sampling::Linear, Sampling::Cubic]),
        rng.among(&[Beyond::Zeros, Beyond::Border, Beyond::Reflection]),
        rng.below(2) == 0,
    );
    let (batch, channels) = (rng.among(&[0, 1, 2, 2]), rng.among(&[1, 3]));
    let elements: Vec<usize> = (0..rank).map(|_| rng.among(&[1, 2, 3, 5])).collect();
    let places: Vec<usize> = (0..rank).map(|_| rng.among(&[0, 1, 2, 3, 3])).collect();
    let x = Laid::<T>::random(rng, &[&[batch, channels], &elements[..]].concat(), |rng| rng.unit());
    let grid = Laid::<T>::random(rng, &[&[batch], &places[..], &[rank]].concat(), |rng| match rng.below(8) {
        0 => rng.among(&[-1.0, 1.0, 0.0]),
        _ => rng.unit() * 2.5,
    });
    let what = format!("{what} {spec:?} {batch} {channels} {elements:?} at {places:?}");
    let call = GridSample::new(spec.0).beyond(spec.1).align_corners(spec.2);
    let mut ways = vec![];
    for device in devices {
        let (x, grid) = (x.up(device), grid.up(device));
        let y = device.dnn().grid_sample(typed::<T>(&x), typed::<T>(&grid), call).unwrap().await_result().unwrap();
        assert_eq!(y.shape(), [&[batch, channels], &places[..]].concat(), "{what}");
        ways.push(read(device, &y));
    }
    same_bits(&ways, &what);
    let (count, size): (usize, usize) = (places.iter().product(), elements.iter().product());
    for (k, got) in ways[0].iter().enumerate() {
        let (b, c, p) = (k / count / channels, k / count % channels, k % count);
        // Elements and weights of the axes so far; the last coordinate is that of the first axis.
        let mut all = vec![(Some(0), 1.0)];
        let mut near = false;
        for (d, n) in elements.iter().enumerate() {
            let at = grid.elements[(b * count + p) * rank + rank - 1 - d].number();
            let own = taps(at, *n, spec);
            // Between two nearest ones the last bit of a coordinate decides.
            let exact = place(at, *n, (Sampling::Linear, Beyond::Zeros, spec.2));
            near |= (exact - exact.floor() - 0.5).abs() < 1e-4 && exact.fract() != 0.5 && exact.fract() != -0.5;
            let join = |(before, w): &(Option<usize>, f64)| {
                let (before, w) = (*before, *w);
                own.iter().map(move |(i, own)| (before.zip(*i).map(|(a, b)| a * n + b), w * own)).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(join).collect();
        }
        if near && spec.0 == Sampling::Nearest {
            continue;
        }
        let of = |i: usize| x.elements[(b * channels + c) * size + i].number();
        let want: f64 = all.iter().filter_map(|(i, weight)| Some(of((*i)?) * weight)).sum();
        let bound = (T::of(want).number() - want).abs() * 2.0 + if size_of::<T>() == 8 { 1e-12 } else { 2e-5 };
        let got = got.number();
        assert!((got - want).abs() <= bound, "{what}: element {k} is {got}, not {want}");
    }
}

pub(crate) fn cases(devices: &[Device], first: u64, count: u64) {
    for seed in first..first + count {
        let rng = &mut Rng::new(seed + 5);
        let what = format!("seed {seed}");
        match seed % 4 {
            0 => sampled::<f64>(devices, rng, &what),
            1 => sampled::<f16>(devices, rng, &what),
            2 => sampled::<bf16>(devices, rng, &what),
            _ => sampled::<f32>(devices, rng, &what),
        }
    }
    // What is no number is no place: nothing is read elsewhere.
    let mut ways = vec![];
    for device in devices {
        let x = device.tensor([1, 1, 3], [1.0f32, 2.0, 3.0]).unwrap();
        let grid = device.tensor([1, 3, 1], [f32::NAN, f32::INFINITY, -1e30]).unwrap();
        for sampling in [Sampling::Nearest, Sampling::Linear, Sampling::Cubic] {
            for beyond in [Beyond::Zeros, Beyond::Border, Beyond::Reflection] {
                let spec = GridSample::new(sampling).beyond(beyond);
                let y = device.dnn().grid_sample(&x, &grid, spec).unwrap().await_result().unwrap();
                ways.push(read(device, &y));
            }
        }
    }
    for (k, own) in ways.iter().enumerate() {
        same_bits(&[ways[k % 9].clone(), own.clone()], "no numbers");
    }
}

fn table<T: Number + SoftmaxElement>(devices: &[Device], seed: u64) {
    let rng = &mut Rng::new(seed);
    let (rows, width) = (rng.among(&[1, 3, 7]), rng.among(&[1, 4, 33]));
    let extents = [rng.among(&[0, 1, 5]), rng.among(&[1, 40])];
    let padding = rng.among(&[None, Some(0), Some(rows - 1)]);
    let indices = Laid::<i8>::random(rng, &extents, |rng| rng.unit());
    let indices: Vec<i64> = indices.elements.iter().map(|k| i64::from(*k) % rows as i64).collect();
    let dy = Laid::<T>::random(rng, &[extents[0], extents[1], width], |rng| rng.unit());
    let mut ways = vec![];
    for device in devices {
        let (numbers, dy) = (device.tensor(extents, indices.clone()).unwrap(), dy.up(device));
        let dw = device.dnn().embedding_gradient(typed::<T>(&dy), &numbers, rows, padding).unwrap();
        ways.push(read(device, &dw.await_result().unwrap()));
        let w = device.zeros::<T>([rows, width]).unwrap();
        let y = device.dnn().embedding(&w, &numbers).unwrap().await_result().unwrap();
        assert_eq!(y.shape(), [extents[0], extents[1], width]);
    }
    same_bits(&ways, &format!("table, seed {seed}"));
    let mut want = vec![0f64; rows * width];
    for (place, index) in indices.iter().enumerate() {
        let row = index.rem_euclid(rows as i64) as usize;
        if Some(row) != padding {
            (0..width).for_each(|k| want[row * width + k] += dy.elements[place * width + k].number());
        }
    }
    for (got, want) in ways[0].iter().zip(want) {
        let bound = (T::of(want).number() - want).abs() * 2.0 + 1e-4;
        assert!((got.number() - want).abs() <= bound, "seed {seed}: {got:?}, not {want}");
    }
}

pub(crate) fn tables(devices: &[Device]) {
    for seed in 0..8 {
        table::<f32>(devices, 3 * seed);
        table::<f64>(devices, 3 * seed + 1);
        table::<bf16>(devices, 3 * seed + 2);
    }
}

fn bias<T: Number + DnnElement>(devices: &[Device], seed: u64) {
    let rng = &mut Rng::new(seed);
    let extents = [rng.among(&[0, 1, 3]), rng.among(&[1, 40]), rng.among(&[1, 9]), rng.among(&[1, 30])];
    let extents = &extents[..3 + rng.below(2)];
    let dy = Laid::<T>::random(rng, extents, |rng| rng.unit());
    let mut ways = vec![];
    for device in devices {
        let dy = dy.up(device);
        ways.push(read(device, &device.dnn().convolve_bias(typed::<T>(&dy)).unwrap().await_result().unwrap()));
    }
    same_bits(&ways, &format!("bias, seed {seed}"));
    let (channels, inner): (usize, usize) = (extents[1], extents[2..].iter().product());
    let mut want = vec![0f64; channels];
    dy.elements.iter().enumerate().for_each(|(k, x)| want[k / inner % channels] += x.number());
    for (got, want) in ways[0].iter().zip(want) {
        let bound = (T::of(want).number() - want).abs() * 2.0 + 1e-4;
        assert!((got.number() - want).abs() <= bound, "seed {seed}: {got:?}, not {want}");
    }
}

pub(crate) fn biases(devices: &[Device]) {
    for seed in 0..8 {
        bias::<f32>(devices, seed);
        bias::<f16>(devices, seed + 100);
        bias::<f64>(devices, seed + 200);
    }
}

pub(crate) fn unpooled(devices: &[Device]) {
    for device in devices {
        let dnn = device.dnn();
        let all: Vec<f32> = (0..2 * 3 * 36).map(|k| ((k * 37) % 101) as f32 + 1.0).collect();
        let x = device.tensor([2, 3, 6, 6], &all[..]).unwrap();
        let pool = Pool::new([2, 3]).stride([2, 3]);
        let (y, places) = dnn.max_pool_places(&x, &pool).unwrap().await_result().unwrap();
        let back = dnn.max_unpool(&y, &places, x.shape(), 2).unwrap().await_result().unwrap();
        // Windows that do not overlap: the gradient goes the same way.
        let same = dnn.max_pool_gradient(&y, &places, x.shape(), &pool).unwrap().await_result().unwrap();
        same_bits(&[read(device, &back), read(device, &same)], "unpooled");
        let none = device.zeros::<f32>([0, 3, 2]).unwrap();
        let no_places = device.zeros::<i64>([0, 3, 2]).unwrap();
        let back = dnn.max_unpool(&none, &no_places, &[0, 3, 9], 1).unwrap().await_result().unwrap();
        assert_eq!(back.shape(), [0, 3, 9]);
        let far = device.tensor([1, 1], [4i64]).unwrap();
        let one = device.tensor([1, 1], [1.0f32]).unwrap();
        let told = dnn.max_unpool(&one, &far, &[1, 4], 1).unwrap().await_result().unwrap_err();
        assert!(told.to_string().contains("out of range"), "{told}");
    }
}

#[cfg(feature = "rng")]
pub(crate) fn dropout(devices: &[Device]) {
    use windlass::rng::{Generator, Stream};
    fn of<T: Number + SoftmaxElement>(devices: &[Device]) {
        let stream = Stream::new(Generator::Philox, 11);
        let n = 4099;
        let elements: Vec<T> = (0..n).map(|k| T::of(f64::from(k % 17) + 1.0)).collect();
        for rate in [0.0, 0.25, 0.999] {
            let mut ways = vec![];
            for device in devices {
                let dnn = device.dnn();
                let x = device.tensor([n as usize], &elements[..]).unwrap();
                let call = || read(device, &dnn.dropout(&x, rate, &stream).unwrap().await_result().unwrap());
                ways.push(call());
                // Again: the mask is that of the stream, not of the call.
                ways.push(call());
                // The gradient of what was dropped is 0, of the rest the same factor.
                let ones = device.full([n as usize], T::of(1.0)).unwrap();
                let slopes = read(device, &dnn.dropout(&ones, rate, &stream).unwrap().await_result().unwrap());
                let kept = ways.last().unwrap().iter().zip(&slopes);
                assert!(kept.clone().all(|(y, slope)| (y.number() == 0.0) == (slope.number() == 0.0)), "{rate}");
                let factor = T::of(1.0 / (1.0 - rate)).number();
                assert!(slopes.iter().all(|slope| [0.0, factor].contains(&slope.number())), "{rate}");
            }
            same_bits(&ways, "dropout");
            let dropped = ways[0].iter().filter(|y| y.number() == 0.0).count() as f64;
            let expected = f64::from(n) * rate;
            assert!(
                (dropped - expected).abs() <= 5.0 * (expected * (1.0 - rate)).sqrt(),
                "{dropped} of {n}, at {rate}"
            );
        }
        for device in devices {
            let x = device.tensor([n as usize], &elements[..]).unwrap();
            for rate in [1.0, -0.1, f64::NAN] {
                let error = device.dnn().dropout(&x, rate, &stream).unwrap_err();
                assert_eq!(refused(&error).0, "probability", "{error}");
            }
            let none = device.zeros::<T>([0, 3]).unwrap();
            assert!(
                read(device, &device.dnn().dropout(&none, 0.5, &stream).unwrap().await_result().unwrap()).is_empty()
            );
        }
    }
    of::<f32>(devices);
    of::<f64>(devices);
    of::<bf16>(devices);
}

pub(crate) fn what_does_not_fit(device: &Device) {
    let dnn = device.dnn();
    let x = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
    let spec = GridSample::new(Sampling::Linear);
    let named = |error: windlass::Error, argument: &str| assert_eq!(refused(&error).0, argument, "{error}");
    named(dnn.grid_sample(&x(&[1, 2]), &x(&[1, 1]), spec).unwrap_err(), "x");
    named(dnn.grid_sample(&x(&[1, 2, 3, 3]), &x(&[1, 4, 4, 3]), spec).unwrap_err(), "grid");
    named(dnn.grid_sample(&x(&[1, 2, 3, 3]), &x(&[2, 4, 4, 2]), spec).unwrap_err(), "grid");
    named(dnn.grid_sample(&x(&[1, 2, 0, 3]), &x(&[1, 4, 4, 2]), spec).unwrap_err(), "x");
    named(dnn.convolve_bias(&x(&[2, 3])).unwrap_err(), "dy");
    let numbers = device.zeros::<i64>([2]).unwrap();
    named(dnn.embedding(&x(&[2, 3, 4]), &numbers).unwrap_err(), "table");
    named(dnn.embedding_gradient(&x(&[3, 4]), &numbers, 2, None).unwrap_err(), "dy");
    named(dnn.embedding_gradient(&x(&[2, 4]), &numbers, 2, Some(2)).unwrap_err(), "padding");
    // Into a table without rows: the index is told, on a GPU too.
    let none = dnn.embedding_gradient(&x(&[2, 4]), &numbers, 0, None).and_then(|dw| Ok(dw.await_result()?));
    assert!(matches!(none, Err(windlass::Error::InvalidArgument { .. })), "{none:?}");
    let wide = 1usize << 33;
    let numbers_of_one = device.zeros::<i64>([1, 1, 1]).unwrap();
    assert!(dnn.max_unpool(&x(&[1, 1, 1]), &numbers_of_one, &[1, wide, wide], 2).is_err());
    named(dnn.max_unpool(&x(&[2, 4]), &numbers, &[2, 8], 1).unwrap_err(), "places");
    named(dnn.max_unpool(&x(&[2, 4]), &numbers, &[3, 8], 1).unwrap_err(), "elements");
    named(dnn.max_unpool(&x(&[2, 4]), &numbers, &[2, 8], 3).unwrap_err(), "elements");
}

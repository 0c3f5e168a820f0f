//! Normalisation beside its definition in `f64`; gradients beside central differences; the same bits on all devices.

use crate::sample::{Laid, Number, Rng, read, same_bits, typed};
use windlass::dnn::{Affine, NormKind, Running};
use windlass::reductions::SoftmaxElement;
use windlass::{Complex, Device, Element, bf16, f16};

/// For each element the number of those with which it is normalised, and the number of its weight.
fn groups(norm: NormKind, extents: &[usize]) -> Groups {
    let len: usize = extents.iter().product();
    let behind: usize = extents.iter().skip(2).product();
    let channels = extents.get(1).copied().unwrap_or(1);
    let of = |at: usize| match norm {
        NormKind::Layer(count) | NormKind::Rms(count) => {
            let row: usize = extents[extents.len() - count..].iter().product();
            (at / row, at % row)
        }
        NormKind::Group(groups) => {
            let (batch, channel) = (at / behind / channels, at / behind % channels);
            (batch * groups + channel / (channels / groups), channel)
        }
        NormKind::Instance => (at / behind, at / behind % channels),
        // Of a batch.
        _ => (at / behind % channels, at / behind % channels),
    };
    (0..len).map(of).unzip()
}

/// The numbers of [`groups`], which all forward passes of a case share.
type Groups = (Vec<usize>, Vec<usize>);

fn forward(
    norm: NormKind,
    (group, weight): &Groups,
    x: &[f64],
    weights: Option<(&[f64], &[f64])>,
    epsilon: f64,
) -> Vec<f64> {
    let count = group.iter().max().map_or(0, |most| most + 1);
    let sums = |of: &dyn Fn(usize) -> f64| {
        let mut all = vec![(0.0, 0.0); count];
        for (at, g) in group.iter().enumerate() {
            all[*g].0 += of(at);
            all[*g].1 += 1.0;
        }
        all.into_iter().map(|(sum, n)| sum / n).collect::<Vec<f64>>()
    };
    let means = if matches!(norm, NormKind::Rms(_)) { vec![0.0; count] } else { sums(&|at| x[at]) };
    let variances = sums(&|at| (x[at] - means[group[at]]) * (x[at] - means[group[at]]));
    let of = |((x, g), w): ((&f64, &usize), &usize)| {
        let y = (x - means[*g]) / (variances[*g] + epsilon).sqrt();
        weights.map_or(y, |(weight, bias)| y * weight[*w] + bias[*w])
    };
    x.iter().zip(group).zip(weight).map(of).collect()
}

fn numbers<T: Number>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.number()).collect()
}

fn near<T: Number>(got: &[T], want: &[f64], allowed: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        let (got, rounded) = (got.number(), T::of(*want).number());
        let near = (got - want).abs() <= allowed * largest + 2.0 * (rounded - want).abs();
        assert!(near || (got.is_nan() && want.is_nan()), "{what}: element {k} is {got}, not {want}");
    }
}

fn run<T: Number + SoftmaxElement>(devices: &[Device], norm: NormKind, extents: &[usize], rng: &mut Rng, what: &str) {
    let numbered = groups(norm, extents);
    let weights = numbered.1.iter().max().map_or(0, |most| most + 1);
    let weight_extents = match norm {
        NormKind::Layer(count) | NormKind::Rms(count) => extents[extents.len() - count..].to_vec(),
        _ => vec![extents[1]],
    };
    let (scale, shift) = (rng.among(&[0.01, 1.0, 100.0]), rng.among(&[0.0, 3.0]));
    let x = Laid::<T>::random(rng, extents, |rng| (rng.unit() + shift) * scale);
    let dy = Laid::<T>::random(rng, extents, |rng| rng.unit());
    let weight = Laid::<T>::random(rng, &weight_extents, |rng| rng.unit() + 1.0);
    let bias = Laid::<T>::random(rng, &weight_extents, |rng| rng.unit());
    let (with, epsilon) = (rng.below(3) > 0, 1e-5);
    let allowed = if size_of::<T>() == 8 { 1e-11 } else { 2e-5 };
    let (x64, dy64, w64, b64) =
        (numbers(&x.elements), numbers(&dy.elements), numbers(&weight.elements), numbers(&bias.elements));
    let pair = (&w64[..], &b64[..]);
    let want = forward(norm, &numbered, &x64, with.then_some(pair), epsilon);
    let mut made = vec![vec![]; 4];
    for device in devices {
        let (x, dy, weight, bias) = (x.up(device), dy.up(device), weight.up(device), bias.up(device));
        let affine = if with { Affine::new(typed::<T>(&weight), typed::<T>(&bias)) } else { Affine::none() };
        let (y, moments) = device.dnn().norm(typed::<T>(&x), norm, epsilon, &affine).unwrap().await_result().unwrap();
        assert_eq!(y.shape(), extents, "{what}");
        let got = read(device, &y);
        near(&got, &want, allowed, what);
        made[0].push(got);
        let dx = device.dnn().norm_gradient(typed::<T>(&x), typed::<T>(&dy), &moments, norm, &affine).unwrap();
        made[1].push(read(device, &dx.await_result().unwrap()));
        let made_of = device.dnn().norm_weight_gradient(typed::<T>(&x), typed::<T>(&dy), &moments, norm).unwrap();
        let (dw, db) = made_of.await_result().unwrap();
        assert_eq!((dw.shape(), db.shape()), (&weight_extents[..], &weight_extents[..]), "{what}");
        made[2].push(read(device, &dw));
        made[3].push(read(device, &db));
    }
    made.iter().for_each(|all| same_bits(all, what));
    if size_of::<T>() < 8 || x64.len() > 200 {
        return;
    }
    let loss = |x: &[f64], w: &[f64], b: &[f64]| -> f64 {
        let y = forward(norm, &numbered, x, with.then_some((w, b)), epsilon);
        y.iter().zip(&dy64).map(|(y, dy)| y * dy).sum()
    };
    let slope = |at: usize, of: &dyn Fn(f64) -> f64, x: f64| {
        let _ = at;
        let h = 1e-5 * scale.max(x.abs());
        (of(h) - of(-h)) / (2.0 * h)
    };
    let moved = |list: &[f64], at: usize, h: f64| {
        let mut list = list.to_vec();
        list[at] += h;
        list
    };
    let dx: Vec<f64> = (0..x64.len()).map(|k| slope(k, &|h| loss(&moved(&x64, k, h), &w64, &b64), x64[k])).collect();
    near(&made[1][0], &dx, 2e-5, &format!("{what}, gradient"));
    if with {
        let dw: Vec<f64> = (0..weights).map(|k| slope(k, &|h| loss(&x64, &moved(&w64, k, h), &b64), w64[k])).collect();
        near(&made[2][0], &dw, 2e-5, &format!("{what}, gradient of weights"));
        let db: Vec<f64> = (0..weights).map(|k| slope(k, &|h| loss(&x64, &w64, &moved(&b64, k, h)), b64[k])).collect();
        near(&made[3][0], &db, 2e-5, &format!("{what}, gradient of biases"));
    }
}

/// Rows of many, with gaps between them, and some of them as if they were alone: the same bits.
fn beside<T: Number + SoftmaxElement>(
    device: &Device,
    rng: &mut Rng,
    [rows, n]: [usize; 2],
    norm: NormKind,
    there: [bool; 2],
) {
    let (dnn, gap) = (device.dnn(), rng.among(&[0, 0, 3]));
    let mut tensor = |rows: usize| {
        let special = rng.below(3) == 0;
        let number = |_| match rng.below(401) {
            0 if special => f64::NAN,
            1 if special => f64::INFINITY,
            2..40 => -0.0,
            _ => rng.unit() * 3.0,
        };
        let data: Vec<T> = (0..rows * (n + gap)).map(number).map(T::of).collect();
        device.tensor([rows, n + gap], data).unwrap()
    };
    let (x, dy, weight, bias) = (tensor(rows), tensor(rows), tensor(1), tensor(1));
    let [x, dy] = [&x, &dy].map(|x| x.view().slice((.., gap as isize..)).unwrap());
    let [weight, bias] = [&weight, &bias].map(|x| x.view().slice((.., ..n as isize)).unwrap().reshape([n]).unwrap());
    let affine = match there {
        [true, true] => Affine::new(&weight, &bias),
        [true, false] => Affine::weight(&weight),
        _ => Affine::none(),
    };
    let (y, moments) = dnn.norm(&x, norm, 1e-5, &affine).unwrap().await_result().unwrap();
    let dx = dnn.norm_gradient(&x, &dy, &moments, norm, &affine).unwrap().await_result().unwrap();
    let (all, all_moments, all_dx) = (read(device, &y), read(device, &moments), read(device, &dx));
    let same = |a: &[T], b: &[T]| bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b);
    for row in (0..rows).step_by(rows / 11).chain([rows - 1]) {
        let [x, dy] = [&x, &dy].map(|x| x.index(0, row as isize).unwrap());
        let what = format!("row {row} of {rows}x{n} {}, {norm:?}, {there:?}, a gap of {gap}", T::DTYPE);
        let (y, moments) = dnn.norm(&x, norm, 1e-5, &affine).unwrap().await_result().unwrap();
        assert!(same(&read(device, &y), &all[row * n..][..n]), "{what}");
        let own = read(device, &moments);
        assert!(bytemuck::bytes_of(&own[0]) == bytemuck::bytes_of(&all_moments[row]), "moments of {what}");
        let dx = dnn.norm_gradient(&x, &dy, &moments, norm, &affine).unwrap().await_result().unwrap();
        assert!(same(&read(device, &dx), &all_dx[row * n..][..n]), "gradient of {what}");
    }
}

/// See [`beside`].
pub(crate) fn rows_beside_themselves(devices: &[Device]) {
    let (mut rng, mut k) = (Rng::new(77), 0);
    for device in devices {
        for size in [[257, 301], [70, 1024], [65, 1025], [1100, 63], [2100, 33], [33, 2049], [5000, 17], [80, 1040]] {
            for norm in [NormKind::Layer(1), NormKind::Rms(1)] {
                for there in [[true, true], [true, false], [false, false]] {
                    k += 1;
                    match k % 4 {
                        0 | 1 => beside::<f32>(device, &mut rng, size, norm, there),
                        2 => beside::<f64>(device, &mut rng, size, norm, there),
                        _ => beside::<f16>(device, &mut rng, size, norm, there),
                    }
                    beside::<f32>(device, &mut rng, size, norm, there);
                }
            }
        }
    }
}

/// Random normalisations, of seeds from `first` on.
pub(crate) fn cases(devices: &[Device], first: u64, count: u64) {
    for seed in first..first + count {
        let mut rng = Rng::new(seed + 1000);
        let (kind, long) = (rng.below(5), rng.below(3) == 0);
        let last: &[usize] = if long { &[64, 100, 256, 1000, 1024, 1500, 4096] } else { &[1, 2, 3, 5, 8] };
        let mut extents: Vec<usize> = (0..1 + rng.below(3)).map(|_| rng.among(&[1, 2, 3, 4])).collect();
        extents.push(rng.among(last));
        let norm = match kind {
            0 => NormKind::Layer(1 + rng.below(extents.len())),
            1 => NormKind::Rms(1 + rng.below(extents.len())),
            2 => NormKind::Group(if extents[1].is_multiple_of(2) { 2 } else { 1 }),
            3 => NormKind::Instance,
            _ => NormKind::Batch,
        };
        let what = format!("seed {seed}: {norm:?} of {extents:?}");
        match rng.below(5) {
            0 => run::<f16>(devices, norm, &extents, &mut rng, &what),
            1 => run::<bf16>(devices, norm, &extents, &mut rng, &what),
            2 => run::<f32>(devices, norm, &extents, &mut rng, &what),
            _ => run::<f64>(devices, norm, &extents, &mut rng, &what),
        }
    }
}

fn list<T: Element, const N: usize>(device: &Device, x: [T; N]) -> windlass::Tensor<T> {
    device.tensor([N], x).unwrap()
}

/// Statistics of a training, and what is made of them.
pub(crate) fn statistics(devices: &[Device]) {
    for device in devices {
        let dnn = device.dnn();
        let x = device.tensor([2, 2, 2], [1.0f32, 3.0, 10.0, 30.0, 5.0, 7.0, 50.0, 70.0]).unwrap();
        let (_, moments) = dnn.norm(&x, NormKind::Batch, 1e-3, &Affine::none()).unwrap().await_result().unwrap();
        let got: Vec<Complex<f32>> = read(device, &moments);
        assert_eq!(got.iter().map(|m| m.re).collect::<Vec<_>>(), [4.0, 40.0]);
        let old = (list(device, [0.0f32, 1.0]), list(device, [1.0f32, 2.0]));
        let running = Running { momentum: 0.25, epsilon: 1e-3, sample: 4 };
        let (mean, variance) = dnn.update_running::<f32>(&moments, old, running).unwrap().await_result().unwrap();
        near(&read(device, &mean), &[1.0, 10.75], 1e-6, "mean");
        let of = |old: f64, square: f64| 0.75 * old + 0.25 * square / 3.0;
        near(&read(device, &variance), &[of(1.0, 20.0), of(2.0, 2000.0)], 1e-5, "variance");
        let y = dnn.batch_norm(&x, &mean, &variance, 0.0, &Affine::none()).unwrap().await_result().unwrap();
        // The first element is the mean.
        assert!(read(device, &y)[0].abs() < 1e-6);
        let wrong = (list(device, [0.0f32; 3]), list(device, [0.0f32; 3]));
        let error = dnn.update_running::<f32>(&moments, wrong, running).unwrap_err();
        assert!(windlass::Error::from(error).to_string().contains("2 channels"));
    }
}

pub(crate) fn axes_that_do_not_fit_are_told(device: &Device) {
    let (dnn, x) = (device.dnn(), device.zeros::<f32>([2, 6, 4]).unwrap());
    let weight = device.zeros::<f32>([5]).unwrap();
    let told = |norm: NormKind, affine: &Affine<'_, f32>, epsilon: f64| {
        dnn.norm(&x, norm, epsilon, affine).unwrap_err().to_string()
    };
    for (norm, what) in [
        (NormKind::Layer(0), "the last 0 axes of [2, 6, 4]"),
        (NormKind::Rms(4), "the last 4 axes of [2, 6, 4]"),
        (NormKind::Group(4), "4 groups of 6 channels"),
        (NormKind::Group(0), "0 groups of 6 channels"),
    ] {
        let error = told(norm, &Affine::none(), 0.0);
        assert!(error.contains(what), "{error}");
    }
    let error = told(NormKind::Batch, &Affine::weight(&weight), 0.0);
    assert!(error.contains("weight") && error.contains("[5] instead of [6]"), "{error}");
    let error = told(NormKind::Batch, &Affine::none(), -1.0);
    assert!(error.contains("epsilon"), "{error}");
}

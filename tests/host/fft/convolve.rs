//! Convolution and correlation against direct sums.

use super::number::{C64, Real, assert_close, complex};
use crate::common::{Rng, devices, down, refused, seeds, up};
use windlass::fft::{Convolve, Mode};
use windlass::reference::dft_error_bound;
use windlass::{Device, Tensor, bf16, f16};

/// All of the convolution, or the correlation, of two arrays.
fn full(x: &[C64], xs: &[usize], h: &[C64], hs: &[usize], correlate: bool) -> (Vec<C64>, Vec<usize>) {
    let shape: Vec<usize> = xs.iter().zip(hs).map(|(x, h)| x + h - 1).collect();
    let mut y = vec![C64::default(); shape.iter().product()];
    let place = |mut i: usize, shape: &[usize]| -> Vec<usize> {
        let mut index = vec![0; shape.len()];
        for (at, n) in index.iter_mut().zip(shape).rev() {
            (*at, i) = (i % n, i / n);
        }
        index
    };
    for (i, x) in x.iter().enumerate() {
        for (j, h) in h.iter().enumerate() {
            let (at, mut by) = (place(i, xs), place(j, hs));
            if correlate {
                by.iter_mut().zip(hs).for_each(|(by, n)| *by = n - 1 - *by);
            }
            let to = at.iter().zip(&by).zip(&shape).fold(0, |to, ((a, b), n)| to * n + a + b);
            y[to] += x * if correlate { h.conj() } else { *h };
        }
    }
    (y, shape)
}

/// What SciPy's `_centered` takes.
fn part(y: &[C64], shape: &[usize], begin: &[usize], out: &[usize]) -> Vec<C64> {
    super::case::indices(out)
        .iter()
        .map(|index| y[index.iter().zip(begin).zip(shape).fold(0, |at, ((i, b), n)| at * n + i + b)])
        .collect()
}

fn check<R: Real>(device: &Device, rng: &mut Rng, of_complex: bool) {
    let rank = 1 + rng.below(3);
    let most = [40, 9, 5][rank - 1];
    let xs: Vec<usize> = (0..rank).map(|_| 1 + rng.below(most)).collect();
    let mode = rng.pick(&[Mode::Full, Mode::Same, Mode::Valid]);
    let smaller = rng.below(2) == 0;
    let hs: Vec<usize> = match mode {
        Mode::Valid if smaller => xs.iter().map(|n| 1 + rng.below(*n)).collect(),
        Mode::Valid => xs.iter().map(|n| n + rng.below(3)).collect(),
        _ => (0..rank).map(|_| 1 + rng.below(most)).collect(),
    };
    let (batch, own, correlate) = (1 + rng.below(3), rng.below(2) == 0, rng.below(2) == 0);
    let kernels = if own { batch } else { 1 };
    let mut numbers = |count: usize| -> Vec<C64> {
        let mut number = || C64::new(R::sample(rng), if of_complex { R::sample(rng) } else { 0.0 });
        (0..count).map(|_| number()).collect()
    };
    let (each_x, each_h): (usize, usize) = (xs.iter().product(), hs.iter().product());
    let (x, h) = (numbers(each_x * batch), numbers(each_h * kernels));
    let of_x = [&[batch], &xs[..]].concat();
    let of_h = if own { [&[batch], &hs[..]].concat() } else { hs.clone() };
    let spec = Convolve::new().mode(mode);
    let spec = if own { spec.axes(rank) } else { spec };
    let of_y = spec.output_shape(&of_x, &of_h).unwrap();
    let out = of_y[1..].to_vec();
    let want: Vec<C64> = (0..batch)
        .flat_map(|b| {
            let k = if own { b } else { 0 };
            let (y, shape) = full(&x[b * each_x..][..each_x], &xs, &h[k * each_h..][..each_h], &hs, correlate);
            let begin: Vec<usize> = shape.iter().zip(&out).map(|(all, out)| (all - out) / 2).collect();
            part(&y, &shape, &begin, &out)
        })
        .collect();
    let what = format!("{} {spec:?} correlate {correlate} complex {of_complex}", R::DTYPE);
    let fft = device.fft();
    assert_eq!(of_y.iter().product::<usize>(), want.len(), "{what}");
    let got = if of_complex {
        let (x, h) = (R::tensor(device, &x, &of_x), R::tensor(device, &h, &of_h));
        let y = R::room(device, &of_y);
        let y =
            if correlate { fft.correlate_complex(&spec, &x, &h, y) } else { fft.convolve_complex(&spec, &x, &h, y) };
        R::numbers(&down(device, &y.unwrap().await_result().unwrap()))
    } else {
        let real = |x: &[C64], extents: &[usize]| {
            let x = up(device, x.iter().map(|x| R::near(x.re)).collect::<Vec<_>>());
            Tensor::from_buffer(x, extents).unwrap()
        };
        let (x, h, y) = (real(&x, &of_x), real(&h, &of_h), device.uninit::<R>(&of_y).unwrap());
        let y = if correlate { fft.correlate(&spec, &x, &h, y) } else { fft.convolve(&spec, &x, &h, y) };
        complex(&down(device, &y.unwrap().await_result().unwrap()).into_iter().map(R::wide).collect::<Vec<_>>())
    };
    // Three transforms of numbers that are as large as the product of both.
    let size = |x: &[C64]| x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
    let points: usize = xs.iter().zip(&hs).map(|(x, h)| 2 * (x + h)).product();
    let unit = R::UNIT.max(2f64.powi(-24));
    let computed = if R::UNIT < unit { R::UNIT } else { unit };
    let bound = 3.0 * dft_error_bound(points, computed) * size(&x) * size(&h);
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let error = (got - want).norm();
        assert!(error <= bound + 2.0 * R::UNIT * want.norm(), "{what}: {i} is {got}, not {want}");
    }
    // And together better than the worst that each may be.
    assert_close(&got, &want, 1e6 * R::UNIT, &what);
}

fn sweep<R: Real>(count: u64) {
    for device in devices() {
        seeds(count, |rng, _| check::<R>(&device, rng, false));
        seeds(count, |rng, _| check::<R>(&device, rng, true));
    }
}

#[test]
fn convolutions_are_the_sums_that_they_stand_for() {
    sweep::<f32>(60);
    sweep::<f64>(60);
}

#[test]
fn convolutions_of_halves_are_the_sums_that_they_stand_for() {
    sweep::<f16>(30);
    sweep::<bf16>(30);
}

/// Every point is made of every number; the arrays of a batch are not.
#[test]
fn a_number_that_is_not_finite_spoils_its_own_array_alone() {
    for device in devices() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut x = vec![1.0f64; 24];
            x[12] = bad;
            let (x, h) = (device.tensor([3, 8], x).unwrap(), up(&device, [1.0f64, 2.0, 3.0]));
            let y = device.fft().convolve(&Convolve::new(), &x, &h, device.uninit([3, 10]).unwrap()).unwrap();
            let y = down(&device, &y.await_result().unwrap());
            assert!(y[..10].iter().chain(&y[20..]).all(|y| y.is_finite()), "{device:?} {y:?}");
            // The formula's own are among them.
            assert!(y[14..17].iter().all(|y| !y.is_finite()), "{device:?} {y:?}");
        }
    }
}

#[test]
fn extents_that_do_not_go_together_are_refused() {
    for device in devices() {
        let fft = device.fft();
        let zeros = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
        let plain = Convolve::new();
        #[expect(clippy::type_complexity, reason = "a table")]
        let cases: [(Convolve, &[usize], &[usize], &[usize], &str); 11] = [
            (plain, &[4], &[3, 4], &[7], "x"),
            (plain, &[3, 0], &[2, 2], &[4, 1], "x"),
            (plain, &[12], &[0], &[12], "h"),
            (plain, &[12], &[], &[12], "h"),
            (plain.mode(Mode::Valid), &[3, 4], &[4, 1], &[3, 4], "h"),
            (plain, &[12], &[4], &[14], "y"),
            (plain, &[2, 12], &[4], &[30], "y"),
            (plain.axes(2), &[12], &[4], &[15], "h"),
            (plain.axes(1), &[3, 12], &[2, 4], &[3, 15], "h"),
            (plain.axes(1), &[2, 3, 12], &[3, 4], &[2, 3, 15], "h"),
            (plain, &[1; 9], &[1; 9], &[1; 9], "x"),
        ];
        for (spec, x, h, y, name) in cases {
            let rejected = fft.convolve(&spec, &zeros(x), &zeros(h), zeros(y)).map(drop).unwrap_err();
            assert_eq!(refused(&rejected.error).0, name, "{spec:?} of {x:?} and {h:?}: {}", rejected.error);
            assert_eq!(rejected.back.unwrap().0.shape(), y);
        }
        assert!(plain.output_shape([usize::MAX], [4]).is_err() && plain.output_shape([1 << 40; 2], [1; 2]).is_err());
        let x = zeros(&[4, 12]);
        for view in [x.flip(1).unwrap(), x.flip(0).unwrap(), x.index(0, 0).unwrap().broadcast([4, 12]).unwrap()] {
            let rejected = fft.convolve(&plain, &view, &zeros(&[4]), zeros(&[4, 15])).map(drop).unwrap_err();
            assert!(refused(&rejected.error).1.contains("`contiguous`"), "{}", rejected.error);
        }
        let none = fft.convolve(&plain, &zeros(&[0, 12]), &zeros(&[4]), zeros(&[0, 15])).unwrap();
        assert_eq!(none.await_result().unwrap().shape(), [0, 15]);
    }
}

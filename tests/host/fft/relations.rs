//! What must hold between transforms: in place and out of place, round trips, kinds among each other, long ones.

use super::number::{C64, Real, assert_close, complex, last};
use crate::common::{Rng, assert_same_bits, devices, down, is_host, seeds, up};
use windlass::fft::{FftSpec, Normalization};
use windlass::reference::{dft_error_bound, root_of_unity};
use windlass::tensor::Layout;
use windlass::{Complex, Device, Tensor, bf16, f16};

fn samples<R: Real>(rng: &mut Rng, n: usize) -> Vec<C64> {
    (0..n).map(|_| C64::new(R::sample(rng), R::sample(rng))).collect()
}

const SHAPES: [&[usize]; 8] = [&[1], &[2], &[5], &[64], &[3, 4], &[4, 5], &[2, 3, 6], &[2, 2, 3, 5]];

fn in_place<R: Real>(device: &Device, rng: &mut Rng) {
    for shape in SHAPES {
        let batch = 1 + rng.below(3);
        let what = format!("{} {shape:?} x {batch}", R::DTYPE);
        let n: usize = shape.iter().product();
        let input = samples::<R>(rng, n * batch);
        let extents = [&[batch], shape].concat();
        // Complex.
        let spec = FftSpec::new().axes(last(shape.len())).norm(Normalization::Ortho);
        let fft = device.fft();
        let x = || R::tensor(device, &input, &extents);
        let y = fft.c2c(&spec, &x(), R::room(device, &extents)).unwrap().await_result().unwrap();
        let x = fft.c2c_in_place(&spec, x()).unwrap().await_result().unwrap();
        let bound = 2.0 * shape.iter().map(|n| dft_error_bound(*n, R::UNIT)).sum::<f64>() + 4.0 * R::UNIT;
        assert_close(&R::numbers(&down(device, &x)), &R::numbers(&down(device, &y)), bound, &what);
        // Real, in lines with room for their spectra; what is behind the numbers is not read.
        let of_last = *shape.last().unwrap();
        let (lines, half) = (n * batch / of_last, of_last / 2 + 1);
        let mut padded = vec![R::NAN; lines * 2 * half];
        let reals: Vec<R> = input.iter().map(|x| R::near(x.re)).collect();
        let each = padded.chunks_mut(2 * half).zip(reals.chunks(of_last));
        each.for_each(|(to, from)| to[..of_last].copy_from_slice(from));
        let with_last = |n: usize| [&extents[..extents.len() - 1], &[n]].concat();
        let x = Tensor::from_buffer(up(device, reals.clone()), &extents).unwrap();
        let y = fft.r2c(&spec, &x, R::room(device, &with_last(half))).unwrap().await_result().unwrap();
        let spec = spec.n(shape);
        let x = Tensor::from_buffer(up(device, padded), with_last(2 * half)).unwrap();
        let x = fft.r2c_in_place(&spec, x).unwrap().await_result().unwrap();
        let want = R::numbers(&down(device, &y));
        let got: Vec<C64> = down(device, &x).chunks(2).map(|x| C64::new(x[0].wide(), x[1].wide())).collect();
        assert_close(&got, &want, bound, &what);
        // And back, from the same memory.
        let x = fft.c2r_in_place(&spec, x).unwrap().await_result().unwrap();
        let back: Vec<f64> =
            down(device, &x).chunks(2 * half).flat_map(|line| &line[..of_last]).map(|x| x.wide()).collect();
        let reals: Vec<f64> = reals.into_iter().map(R::wide).collect();
        assert_close(&complex(&back), &complex(&reals), 2.0 * bound, &what);
    }
}

#[test]
fn in_place_gives_what_out_of_place_gives() {
    for device in devices() {
        seeds(2, |rng, _| {
            in_place::<f32>(&device, rng);
            in_place::<f64>(&device, rng);
            in_place::<f16>(&device, rng);
            in_place::<bf16>(&device, rng);
        });
    }
}

fn destroying<R: Real>(device: &Device, rng: &mut Rng) {
    for shape in SHAPES {
        let mut half = shape.to_vec();
        *half.last_mut().unwrap() = shape.last().unwrap() / 2 + 1;
        let input = samples::<R>(rng, half.iter().product());
        let spec = FftSpec::new().norm(Normalization::Ortho);
        let kept = R::tensor(device, &input, &half);
        let y = device.fft().c2r(&spec, &kept, device.uninit(shape).unwrap()).unwrap().await_result().unwrap();
        let want = complex(&down(device, &y).into_iter().map(R::wide).collect::<Vec<_>>());
        let x = R::tensor(device, &input, &half);
        let (x, y) = device.fft().c2r_destroying(&spec, x, y).unwrap().await_result().unwrap();
        assert_eq!((x.shape(), y.shape()), (&R::extents(&half)[..], shape));
        let input = R::buffer(&input);
        let got = complex(&down(device, &y).into_iter().map(R::wide).collect::<Vec<_>>());
        let bound = 2.0 * shape.iter().map(|n| dft_error_bound(*n, R::UNIT)).sum::<f64>() + 4.0 * R::UNIT;
        assert_close(&got, &want, bound, &format!("{} {shape:?}", R::DTYPE));
        assert_same_bits(&down(device, &kept), &input, "the spectrum that is to be kept");
    }
}

#[test]
fn a_spectrum_that_may_be_destroyed_gives_the_same_and_one_that_may_not_is_kept() {
    for device in devices() {
        seeds(2, |rng, _| {
            destroying::<f32>(&device, rng);
            destroying::<f64>(&device, rng);
            destroying::<f16>(&device, rng);
        });
    }
}

#[test]
fn scipys_names_undo_each_other() {
    for device in devices() {
        seeds(3, |rng, _| {
            let fft = device.fft();
            for shape in SHAPES {
                let n = shape.iter().product::<usize>();
                let of_last = *shape.last().unwrap();
                let bound = 2.0 * shape.iter().map(|n| dft_error_bound(*n, f64::UNIT)).sum::<f64>();
                let x = samples::<f64>(rng, n);
                let y = fft.fft(&f64::tensor(&device, &x, shape), &[]).unwrap();
                let back = fft.ifft(&y, &[]).unwrap().await_result().unwrap();
                assert_close(&down(&device, &back), &x, bound, "ifft(fft(x))");
                let reals: Vec<f64> = x.iter().map(|x| x.re).collect();
                let x = Tensor::from_buffer(up(&device, reals.clone()), shape).unwrap();
                let y = fft.rfft(&x, &[]).unwrap();
                let back = fft.irfft(&y, of_last, &[]).unwrap().await_result().unwrap();
                assert_close(&complex(&down(&device, &back)), &complex(&reals), bound, "irfft(rfft(x))");
                let y = fft.ihfft(&x, &[]).unwrap();
                let back = fft.hfft(&y, of_last, &[]).unwrap().await_result().unwrap();
                assert_close(&complex(&down(&device, &back)), &complex(&reals), bound, "hfft(ihfft(x))");
            }
            // Pairs of halves.
            let x = samples::<f16>(rng, 12);
            let y = fft.fft(&f16::tensor(&device, &x, &[3, 4]), &[0, -1]).unwrap();
            let back = fft.ifft(&y, &[]).unwrap().await_result().unwrap();
            assert_eq!(back.shape(), [3, 4, 2]);
            assert_close(&f16::numbers(&down(&device, &back)), &x, 0.02, "halves");
            let reals = device.tensor([3, 4], x.iter().map(|x| f16::near(x.re)).collect::<Vec<_>>()).unwrap();
            let half = fft.rfft(&reals, &[-1]).unwrap();
            assert_eq!(half.shape(), [3, 3, 2]);
            let back = fft.irfft(&half, 4, &[-1]).unwrap().await_result().unwrap();
            let (got, want) = (down(&device, &back), down(&device, &reals));
            let wide = |x: Vec<f16>| complex(&x.into_iter().map(Real::wide).collect::<Vec<_>>());
            assert_close(&wide(got), &wide(want), 0.02, "real halves");
        });
    }
}

/// A wave of a whole number of periods is one line, for lengths at which the definition would take minutes.
fn long_wave<R: Real>(device: &Device, n: usize) {
    let at = n / 3;
    let wave: Vec<C64> = (0..n)
        .map(|j| {
            let angle = (j as u128 * at as u128 % n as u128) as f64 / n as f64 * std::f64::consts::TAU;
            C64::new(angle.cos(), angle.sin())
        })
        .collect();
    let mut want = vec![C64::default(); n];
    want[at] = C64::new(n as f64, 0.0);
    let x = R::tensor(device, &wave, &[n]);
    let y = device.fft().fft(&x, &[]).unwrap().await_result().unwrap();
    // The wave itself is rounded.
    assert_close(
        &R::numbers(&down(device, &y)),
        &want,
        2.0 * dft_error_bound(n, R::UNIT) + 4.0 * R::UNIT,
        "a long wave",
    );
    let half = device.fft().rfft(&up(device, wave.iter().map(|x| R::near(x.re)).collect::<Vec<_>>()), &[]).unwrap();
    let half = half.await_result().unwrap();
    let mut want = vec![C64::default(); n / 2 + 1];
    want[at] = C64::new(n as f64 / 2.0, 0.0);
    assert_close(
        &R::numbers(&down(device, &half)),
        &want,
        4.0 * dft_error_bound(n, R::UNIT) + 8.0 * R::UNIT,
        "a real one",
    );
}

#[test]
fn long_transforms_are_right() {
    for device in devices() {
        for n in [4093, 4099, 5040, 8191, 65_536, 65_537, 3 << 14, 100_003] {
            long_wave::<f32>(&device, n);
            long_wave::<f64>(&device, n);
        }
    }
}

#[test]
fn a_shift_in_time_is_a_phase() {
    for device in devices() {
        seeds(4, |rng, _| {
            let n = rng.pick(&[5, 16, 60, 127, 1000]);
            let by = rng.below(n);
            let x = samples::<f64>(rng, n);
            let moved: Vec<C64> = (0..n).map(|j| x[(j + by) % n]).collect();
            let spectrum =
                |x: Vec<C64>| down(&device, &device.fft().fft(&up(&device, x), &[0]).unwrap().await_result().unwrap());
            let want: Vec<C64> = spectrum(x)
                .into_iter()
                .enumerate()
                .map(|(k, x)| {
                    let (c, s) = root_of_unity(k * by, n);
                    x * C64::new(c.to_f64(), s.to_f64())
                })
                .collect();
            assert_close(&spectrum(moved), &want, 2.0 * dft_error_bound(n, f64::UNIT), "a shifted array");
        });
    }
}

/// Frames that overlap are read without a copy.
#[test]
fn arrays_of_an_input_may_overlap() {
    for device in devices() {
        let x: Vec<C64> = (0..20).map(|j| C64::new(f64::from(j), 1.0)).collect();
        let signal = Tensor::from(up(&device, x.clone()));
        let y = device.fft().fft(signal.windows(0, 8, 4).unwrap(), &[-1]).unwrap().await_result().unwrap();
        let got = down(&device, &y);
        for frame in 0..4 {
            let want = windlass::reference::dft(&x[4 * frame..4 * frame + 8], false);
            assert_close(&got[8 * frame..8 * frame + 8], &want, dft_error_bound(8, f64::UNIT), "a frame");
        }
    }
}

#[test]
fn windows_that_begin_at_odd_places_are_transformed() {
    for device in devices() {
        seeds(2, |rng, _| {
            for offset in [1, 2, 3, 5] {
                for n in [7, 8, 64] {
                    let x = samples::<f32>(rng, n + offset);
                    let reals: Vec<f32> = x.iter().map(|x| x.re as f32).collect();
                    let buffer = up(&device, reals.clone());
                    let window = buffer.as_in().slice(offset..offset + n).unwrap();
                    let room = device.zeros::<Complex<f32>>(n / 2 + 1 + offset).unwrap();
                    let room = room.into_buffer().narrow(offset..offset + n / 2 + 1).unwrap();
                    let spec = FftSpec::new();
                    let y = device.fft().r2c(&spec, window, room).unwrap().await_result().unwrap();
                    let numbers: Vec<f64> = reals[offset..].iter().map(|x| f64::from(*x)).collect();
                    let want = &windlass::reference::dft(&complex(&numbers), false)[..n / 2 + 1];
                    let bound = dft_error_bound(n, f32::UNIT) + 2.0 * f32::UNIT;
                    assert_close(&f32::numbers(&down(&device, &y)), want, bound, &format!("from {offset} on"));
                    // And back into a window of a real buffer at such a place.
                    let room =
                        device.zeros::<f32>(n + offset).unwrap().into_buffer().narrow(offset..offset + n).unwrap();
                    let back = device.fft().c2r(&spec, &y, room).unwrap().await_result().unwrap();
                    let back: Vec<f64> = down(&device, &back).into_iter().map(f64::from).collect();
                    assert_close(&complex(&back), &complex(&numbers), 3.0 * bound, &format!("back to {offset} on"));
                    // Halves: a pair may begin at an odd element.
                    let halves = up(&device, f16::buffer(&x));
                    let pairs = |at: usize| Layout::rows(n, 2).offset(at);
                    let window = halves.view(pairs(offset)).unwrap();
                    let room = device.zeros::<f16>(2 * n + offset).unwrap().with_layout(pairs(offset)).unwrap();
                    let spec = FftSpec::new().norm(Normalization::Ortho);
                    let y = device.fft().c2c(&spec, window, room).unwrap().await_result().unwrap();
                    let same = device.fft().fft(halves.view(pairs(offset)).unwrap(), &[]).unwrap();
                    assert_eq!(same.shape(), [n, 2]);
                    let numbers = f16::numbers(&f16::buffer(&x).split_off(offset)[..2 * n]);
                    let want: Vec<C64> =
                        windlass::reference::dft(&numbers, false).into_iter().map(|x| x / (n as f64).sqrt()).collect();
                    let bound = dft_error_bound(n, f16::UNIT) + 2.0 * f16::UNIT;
                    assert_close(&f16::numbers(&down(&device, &y)), &want, bound, &format!("halves from {offset} on"));
                }
            }
        });
    }
}

#[test]
fn one_that_is_not_a_number_stays_in_its_array() {
    for device in devices() {
        let mut x = vec![Complex::new(1.0f32, 0.0); 3 * 16];
        x[20].re = f32::NAN;
        let x = device.tensor([3, 16], x).unwrap();
        let y = device.fft().fft(&x, &[1]).unwrap().await_result().unwrap();
        let y = down(&device, &y);
        // A turn by a quarter takes only one part of a number to each part of the result.
        assert!(y[16..32].iter().all(|x| x.re.is_nan() || x.im.is_nan()), "its own");
        assert!(y[..16].iter().chain(&y[32..]).all(|x| x.re.is_finite() && x.im.is_finite()), "the others");
    }
}

#[test]
fn the_same_call_gives_the_same_bits_each_time() {
    for device in devices() {
        seeds(2, |rng, _| {
            let x = f32::tensor(&device, &samples::<f32>(rng, 60 * 70), &[60, 70]);
            let once = || down(&device, &device.fft().fft(&x, &[]).unwrap().await_result().unwrap());
            let first = once();
            (0..3).for_each(|_| assert_same_bits(&once(), &first, "again"));
        });
    }
    // And on the CPU for any number of threads.
    let hosts: Vec<_> = devices().into_iter().filter(is_host).collect();
    let mut rng = Rng::new(7);
    let x = samples::<f64>(&mut rng, 128 * 130);
    let answers: Vec<Vec<C64>> = hosts
        .iter()
        .map(|d| down(d, &d.fft().fft(&f64::tensor(d, &x, &[128, 130]), &[]).unwrap().await_result().unwrap()))
        .collect();
    answers.iter().for_each(|y| assert_same_bits(y, &answers[0], "on other threads"));
}

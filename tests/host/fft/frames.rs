//! Short-time transforms against the definition, and back.

use super::number::{C64, Real, assert_close, complex};
use crate::common::{Rng, devices, down, refused, seeds, up};
use windlass::fft::{Edges, Normalization, Stft, Window, window};
use windlass::reference::{dft, dft_error_bound};
use windlass::{Device, Tensor, bf16, f16};

/// The element of a signal that a place beyond its ends stands for.
fn source(at: i64, len: usize, edges: Edges) -> Option<usize> {
    let last = len as i64 - 1;
    match edges {
        Edges::Mirrored if at < 0 => Some(-at as usize),
        Edges::Mirrored if at > last => Some((2 * last - at) as usize),
        _ => usize::try_from(at).ok().filter(|at| *at < len),
    }
}

fn check<R: Real>(device: &Device, rng: &mut Rng) {
    let (n, hop, batch) = (1 + rng.below(33), 1 + rng.below(9), 1 + rng.below(3));
    let edges = rng.pick(&[Edges::Inside, Edges::Zeros, Edges::Mirrored]);
    let len = n + rng.below(60);
    let norm = rng.pick(&[Normalization::Backward, Normalization::Ortho, Normalization::Forward]);
    let spec = Stft::new(n).hop(hop).edges(edges).norm(norm);
    let (frames, bins) = (spec.frames(len).unwrap(), spec.bins());
    let what = format!("{} {spec:?}", R::DTYPE);
    let x: Vec<f64> = (0..len * batch).map(|_| R::sample(rng)).collect();
    let weights: Vec<f64> = (0..n).map(|_| R::near(0.5 + R::sample(rng).abs() / 2.0).wide()).collect();
    let before = if edges == Edges::Inside { 0 } else { n / 2 };
    let factor = match norm {
        Normalization::Ortho => 1.0 / (n as f64).sqrt(),
        Normalization::Forward => 1.0 / n as f64,
        _ => 1.0,
    };
    let mut want = Vec::new();
    for signal in x.chunks(len) {
        for frame in 0..frames {
            let at = |j: usize| (frame * hop + j) as i64 - before as i64;
            let number = |j: usize| source(at(j), len, edges).map_or(0.0, |at| signal[at]) * weights[j];
            let line: Vec<C64> = (0..n).map(|j| C64::new(number(j), 0.0)).collect();
            want.extend(dft(&line, false).into_iter().take(bins).map(|x| x * factor));
        }
    }
    let fft = device.fft();
    let near = |x: &[f64]| x.iter().map(|x| R::near(*x)).collect::<Vec<_>>();
    let (on_device, window) = (up(device, near(&x)), up(device, near(&weights)));
    let on_device = Tensor::from_buffer(on_device, [batch, len]).unwrap();
    let spectra = R::room(device, &[batch, frames, bins]);
    let spectra = fft.stft(&spec, &on_device, &window, spectra).expect(&what).await_result().expect(&what);
    let bound = dft_error_bound(n, R::UNIT) + 4.0 * R::UNIT;
    assert_close(&R::numbers(&down(device, &spectra)), &want, bound, &what);
    // And back, wherever a frame was.
    let y = fft.istft(&spec, &spectra, &window, device.uninit([batch, len]).unwrap()).expect(&what);
    let y: Vec<f64> = down(device, &y.await_result().expect(&what)).into_iter().map(R::wide).collect();
    let reached = |at: usize| (0..frames).any(|frame| (frame * hop..frame * hop + n).contains(&(at + before)));
    let want: Vec<f64> = x.iter().enumerate().map(|(i, x)| if reached(i % len) { *x } else { 0.0 }).collect();
    assert_close(&complex(&y), &complex(&want), 40.0 * bound, &what);
}

fn sweep<R: Real>(count: u64) {
    for device in devices() {
        seeds(count, |rng, _| check::<R>(&device, rng));
    }
}

#[test]
fn spectra_of_frames_are_those_of_the_definition_and_give_the_signal_back() {
    sweep::<f32>(60);
    sweep::<f64>(60);
    sweep::<f16>(30);
    sweep::<bf16>(30);
}

#[test]
fn windows_are_those_of_scipy() {
    let close = |got: Vec<f64>, want: &[f64]| assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-15));
    close(window(Window::Rectangular, 3).unwrap(), &[1.0; 3]);
    close(
        window(Window::Hann, 5).unwrap(),
        &[0.0, 0.3454915028125263, 0.9045084971874737, 0.9045084971874737, 0.3454915028125264],
    );
    close(window(Window::Hamming, 4).unwrap(), &[0.08, 0.54, 1.0, 0.54]);
    close(window(Window::Blackman, 4).unwrap(), &[0.0, 0.34, 1.0, 0.34]);
    assert!((1..100).all(|n| window(Window::Blackman, n).unwrap()[0].to_bits() == 0), "exactly 0");
    assert!(window(Window::Hann, 0).unwrap().is_empty());
}

/// Where only the smallest of weights reach, a number divided by them would be noise.
#[test]
fn a_weight_that_is_a_rounding_error_beside_the_largest_one_counts_as_zero() {
    fn check<R: Real>(device: &Device, first: f64, scale: f64, kept: bool) {
        let (n, len) = (16, 64);
        let spec = Stft::new(n).hop(4).edges(Edges::Inside);
        let mut weights = window(Window::Blackman, n).unwrap();
        weights[0] = first;
        let x: Vec<f64> = (0..len).map(|i| R::near(1.0 + 0.01 * i as f64).wide()).collect();
        let (x_up, w) = (
            up(device, x.iter().map(|x| R::near(*x)).collect::<Vec<_>>()),
            up(device, weights.iter().map(|w| R::near(scale * w)).collect::<Vec<_>>()),
        );
        let spectra = R::room(device, &[spec.frames(len).unwrap(), spec.bins()]);
        let spectra = device.fft().stft(&spec, &x_up, &w, spectra).unwrap().await_result().unwrap();
        let y = device.fft().istft(&spec, &spectra, &w, device.uninit(len).unwrap()).unwrap().await_result().unwrap();
        let y: Vec<f64> = down(device, &y).into_iter().map(R::wide).collect();
        let what = format!("{device:?} {} {first:e} {scale:e}: {y:?}", R::DTYPE);
        // A weight of 1e-3 leaves three digits less.
        let close = |i: usize| (y[i] - x[i]).abs() < 1e4 * R::UNIT;
        assert!((1..len).all(close), "{what}");
        assert!(if kept { close(0) } else { y[0] == 0.0 }, "{what}");
    }
    for device in devices() {
        for scale in [1.0, 1e-10, 1e10] {
            check::<f64>(&device, -1.4e-17, scale, false);
            check::<f64>(&device, 1e-3, scale, true);
            check::<f32>(&device, 1e-9, scale, false);
            check::<f32>(&device, 1e-2, scale, true);
        }
        check::<f64>(&device, 0.0, 1.0, false);
    }
}

#[test]
fn sizes_that_are_none_are_refused() {
    for device in devices() {
        let fft = device.fft();
        let w = up(&device, [1.0f64; 8]);
        let (real, room) = (|n: usize| device.zeros::<f64>(n).unwrap(), |of: &[usize]| f64::room(&device, of));
        let cases: [(Stft, usize, &[usize], &str); 9] = [
            (Stft::new(8), 0, &[11, 5], "len"),
            (Stft::new(0), 20, &[11, 5], "n"),
            (Stft::new(8).hop(0), 20, &[11, 5], "hop"),
            (Stft::new(8).edges(Edges::Inside), 7, &[1, 5], "n"),
            (Stft::new(8).edges(Edges::Mirrored), 4, &[1, 5], "n"),
            (Stft::new(8), 22, &[11, 5], "y"),
            (Stft::new(6).hop(2), 20, &[11, 4], "window"),
            (Stft::new(8), 20, &[11, 4], "y"),
            (Stft::new(8), 20, &[55], "y"),
        ];
        for (spec, len, of_y, name) in cases {
            let rejected = fft.stft(&spec, &real(len), &w, room(of_y)).map(drop).unwrap_err();
            assert_eq!(refused(&rejected.error).0, name, "{spec:?}: {}", rejected.error);
            assert_eq!(rejected.back.unwrap().0.shape(), of_y);
        }
        let spec = Stft::new(8);
        assert!(spec.frames(usize::MAX).is_err());
        let spectra = device.zeros([11, 4]).unwrap();
        let rejected = fft.istft(&spec, &spectra, &w, real(20)).map(drop).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
        let signals = device.zeros::<f64>([20, 2]).unwrap();
        let rejected = fft.stft(&spec, signals.transpose(), &w, room(&[2, 11, 5])).map(drop).unwrap_err();
        assert!(refused(&rejected.error).1.contains("`contiguous`"), "{}", rejected.error);
        let one = signals.slice((0, 0)).unwrap();
        assert_eq!(refused(&fft.stft(&spec, one, &w, room(&[5])).map(drop).unwrap_err().error).0, "x");
        let none = fft.stft(&spec, &device.zeros::<f64>([0, 20]).unwrap(), &w, room(&[0, 11, 5])).unwrap();
        assert_eq!(none.await_result().unwrap().shape(), [0, 11, 5]);
    }
}

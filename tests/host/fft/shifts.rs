//! Halves of arrays exchanged, of every element type, against indices.

use super::case::indices;
use crate::common::{Rng, assert_same_bits, devices, down, refused, seeds, up};
use windlass::{Complex, Device, Element, F8E4M3, bf16, f16};

fn check<T: Element>(device: &Device, rng: &mut Rng) {
    let rank = 1 + rng.below(4);
    let shape: Vec<usize> = (0..rank).map(|_| rng.pick(&[0, 1, 2, 3, 4, 5, 8, 9])).collect();
    let axes: Vec<usize> = (0..rank).filter(|_| rng.below(3) > 0).collect();
    let n = shape.iter().product();
    let x: Vec<T> = rng.bits(n);
    let place = |index: &[usize]| index.iter().zip(&shape).fold(0, |at, (i, n)| at * n + i);
    let mut want = x.clone();
    for index in indices(&shape) {
        let mut to = index.clone();
        axes.iter().for_each(|axis| to[*axis] = (index[*axis] + shape[*axis] / 2) % shape[*axis]);
        want[place(&to)] = x[place(&index)];
    }
    let what = format!("{} {shape:?} along {axes:?}", T::DTYPE);
    let y = device.fft().fftshift(&shape, &axes, &up(device, x.clone()), device.uninit(n).unwrap()).unwrap();
    let y = y.await_result().unwrap();
    assert_same_bits(&down(device, &y), &want, &what);
    let back = device.fft().ifftshift(&shape, &axes, &y, device.uninit(n).unwrap()).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &back), &x, &what);
}

#[test]
fn every_element_goes_half_an_axis_on_and_back() {
    for device in devices() {
        seeds(12, |rng, _| {
            check::<f32>(&device, rng);
            check::<f64>(&device, rng);
            check::<f16>(&device, rng);
            check::<bf16>(&device, rng);
            check::<Complex<f32>>(&device, rng);
            check::<Complex<f64>>(&device, rng);
            check::<u8>(&device, rng);
            check::<F8E4M3>(&device, rng);
            check::<i64>(&device, rng);
        });
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_and_the_buffer_comes_back() {
    for device in devices() {
        let x = up(&device, [1.0f32; 6]);
        let cases: [(&[usize], &[usize], usize, &str); 5] = [
            (&[6], &[1], 6, "axes"),
            (&[7], &[0], 6, "x"),
            (&[6], &[0], 5, "y"),
            (&[usize::MAX, 3], &[0], 6, "shape"),
            (&[1; 9], &[0], 6, "shape"),
        ];
        for (shape, axes, len, name) in cases {
            let error = device.fft().fftshift(shape, axes, &x, device.uninit(len).unwrap()).map(drop).unwrap_err();
            assert_eq!(refused(&error.error).0, name, "{shape:?}");
            assert_eq!(error.back.unwrap().0.len(), len);
        }
    }
}

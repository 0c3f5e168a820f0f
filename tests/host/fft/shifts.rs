//! Halves of arrays exchanged, of every element type, against indices.

use super::case::indices;
use crate::common::{Rng, assert_same_bits, devices, down, refused, seeds, up};
use windlass::{Complex, Device, Element, F8E4M3, Tensor, bf16, f16};

fn check<T: Element>(device: &Device, rng: &mut Rng) {
    let rank = 1 + rng.below(4);
    let shape: Vec<usize> = (0..rank).map(|_| rng.pick(&[0, 1, 2, 3, 4, 5, 8, 9])).collect();
    let mut axes: Vec<usize> = (0..rank).filter(|_| rng.below(3) > 0).collect();
    if axes.is_empty() {
        axes = (0..rank).collect(); // as an empty list says
    }
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
    let on_device = Tensor::from_buffer(up(device, x.clone()), &shape).unwrap();
    let named: Vec<isize> = axes.iter().map(|axis| *axis as isize - rank as isize).collect();
    let y = device.fft().fftshift(&on_device, &named).unwrap().await_result().unwrap();
    assert_same_bits(&down(device, &y), &want, &what);
    let back = device.fft().ifftshift(&y, &named).unwrap().await_result().unwrap();
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
fn axes_and_layouts_that_do_not_fit_are_refused() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        for (axes, name) in [(&[2isize][..], "axes"), (&[-3], "axes"), (&[0, -2], "axes")] {
            assert_eq!(refused(&device.fft().fftshift(&x, axes).map(drop).unwrap_err()).0, name, "{axes:?}");
        }
        for view in [x.transpose(), x.flip(0).unwrap(), x.index(1, 0).unwrap(), x.broadcast([2, 2, 3]).unwrap()] {
            let error = device.fft().ifftshift(&view, &[]).map(drop).unwrap_err();
            assert!(refused(&error).1.contains("`contiguous`"), "{view:?}: {error}");
        }
        for extents in [&[][..], &[1; 9]] {
            let x = device.zeros::<f32>(extents).unwrap();
            assert_eq!(refused(&device.fft().fftshift(&x, &[]).map(drop).unwrap_err()).0, "x", "{extents:?}");
        }
    }
}

//! Sizes that no machine has memory for: a typed error, or nothing at all if there is nothing to do.

use crate::common::{devices, down, up};
use windlass::fft::{FftSpec, Kind, RealTransform, Trig, Window, fftfreq, rfftfreq, window};
use windlass::rng::{Generator, Stream};
use windlass::tensor::Layout;
use windlass::{DeviceBuffer, Error, Result};

#[track_caller]
fn is_out_of_memory<T>(result: Result<T>) {
    match result {
        Err(Error::OutOfMemory { requested, .. }) => assert!(requested >= 1 << 40, "{requested} bytes"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it had the memory"),
    }
}

#[test]
fn functions_on_the_caller_s_thread_are_out_of_memory() {
    for n in [1usize << 46, 1 << 60, usize::MAX] {
        is_out_of_memory(fftfreq(n, 1.0));
        is_out_of_memory(rfftfreq(n, 1.0));
        is_out_of_memory(window(Window::Hann, n));
        is_out_of_memory(Stream::new(Generator::Philox, 7).split(n));
    }
}

#[test]
fn an_array_without_elements_may_have_axes_of_any_length() {
    for device in devices() {
        let fft = device.fft();
        let none = || device.uninit::<f64>(0).unwrap();
        for trig in [Trig::Dct1, Trig::Dct2, Trig::Dct3, Trig::Dct4, Trig::Dst1, Trig::Dst4] {
            let (spec, none) = (RealTransform::new(trig).axes([1]), || device.uninit::<f64>([0, 1 << 40]).unwrap());
            assert!(fft.real_transform(&spec, &none(), none()).unwrap().await_result().unwrap().is_empty());
        }
        for shape in [[0, 1usize << 61], [1 << 61, 0]] {
            let none = device.uninit::<f64>(shape).unwrap();
            assert!(fft.fftshift(&none, &[]).unwrap().await_result().unwrap().is_empty());
        }
        let solver = device.solver();
        let far = i32::MAX as usize;
        for (m, n) in [(0, far), (far, 0)] {
            let a: DeviceBuffer<f64> = none().into_buffer();
            solver.qr(a.with_layout(windlass::tensor::Layout::columns(m, n)).unwrap()).unwrap().await_result().unwrap();
        }
        let x = up(&device, [1.0f64, 2.0]);
        assert_eq!(down(&device, &x), [1.0, 2.0], "the device works");
    }
}

#[cfg(feature = "host")]
#[test]
fn a_plan_that_no_memory_is_there_for_is_an_error_at_the_wait() {
    let device = crate::common::host(2).open().unwrap();
    let prepared = |kind: Kind, x: &[usize], y: &[usize]| {
        let [x, y] = [x, y].map(|extents| Layout::row_major(extents).unwrap());
        device.fft().prepare::<f64>(kind, &FftSpec::new().axes([-1]), x, y).unwrap().await_result()
    };
    is_out_of_memory(prepared(Kind::R2c, &[1 << 46], &[(1 << 45) + 1]));
    is_out_of_memory(prepared(Kind::C2c, &[(1 << 46) - 1], &[(1 << 46) - 1]));
    is_out_of_memory(prepared(Kind::C2r, &[3, (1 << 56) + 1], &[3, 1 << 57]));
    prepared(Kind::R2c, &[0, 1 << 46], &[0, (1 << 45) + 1]).unwrap();
}

//! Transforms on the CUDA engine: which calls of cuFFT they make, in which order, how long its plans live, and what becomes of
//! failures. What a transform is made of on a GPU is held against the host engine here; the definition is `host fft::`.

use crate::common::child::this_test;
use crate::common::{down, up};
use crate::standin::{Session, device, in_child, session};
use windlass::fft::{Convolve, Edges, Mode, RealTransform, Stft, Trig};
use windlass::{Complex, Device, Error, FftSpec};

type C = Complex<f32>;

fn bench(slots: usize) -> (Session, Device) {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let device = device(slots);
    (driver, device)
}

fn transformed(device: &Device, n: usize) -> Result<Vec<C>, Error> {
    let x = device.upload(vec![C::new(1.0, 0.0); n])?.into_output();
    let pending = device.fft().c2c(&FftSpec::new(), &x, device.uninit(n)?)?;
    let y = pending.await_result()?;
    device.download(&y)?.await_result()
}

/// What a constant is transformed to.
fn impulse(n: usize) -> Vec<C> {
    (0..n).map(|k| C::new(if k == 0 { n as f32 } else { 0.0 }, 0.0)).collect()
}

#[track_caller]
fn assert_impulse(got: &[C]) {
    let worst = got.iter().zip(impulse(got.len())).map(|(a, b)| (a - b).norm()).fold(0.0, f32::max);
    assert!(worst < 1e-4, "{got:?}");
}

#[test]
fn a_plan_is_made_once_and_told_its_stream_and_its_work_area_before_each_execution() {
    let (driver, device) = bench(2);
    assert_impulse(&transformed(&device, 16).unwrap());
    driver.log(true);
    assert_impulse(&transformed(&device, 16).unwrap());
    assert_impulse(&transformed(&device, 8).unwrap());
    driver.log(false);
    let log = driver.take_log();
    let calls: Vec<&str> = log
        .iter()
        .filter(|line| line.starts_with("cufft"))
        .map(|line| line.split([' ', '(']).next().unwrap_or_default())
        .collect();
    let run = ["cufftSetStream", "cufftSetWorkArea", "cufftXtExec"];
    let made = ["cufftCreate", "cufftSetAutoAllocation", "cufftXtMakePlanMany"];
    assert_eq!(calls, [&run[..], &made, &run].concat());
    let stats = device.stats();
    assert_eq!((stats.plan_hits, stats.plan_misses, stats.plans), (1, 2, 2));
    assert!(stats.plan_bytes > 0);
    assert_eq!(driver.calls_of("cufftDestroy"), 0, "plans are kept");
    drop(device);
    driver.assert_finished();
    assert_eq!(driver.calls_of("cufftDestroy"), 2, "and end with their device");
}

/// The stand-in complains of two threads inside one plan, and of an execution whose stream or area was not set.
#[test]
fn threads_share_a_plan_and_each_execution_has_its_own_work_area() {
    let (driver, device) = bench(4);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let device = &device;
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_impulse(&transformed(device, if thread % 2 == 0 { 32 } else { 60 }).unwrap());
                }
            });
        }
    });
    assert_eq!(driver.calls_of("cufftCreate"), 2);
    drop(device);
    driver.assert_finished();
}

#[test]
fn what_fails_while_a_plan_is_made_is_an_error_and_the_next_transform_makes_it() {
    for (function, code) in [("cufftCreate", 5), ("cufftSetAutoAllocation", 5), ("cufftXtMakePlanMany", 5)] {
        let (driver, device) = bench(1);
        driver.fail(function, 0, code);
        let error = transformed(&device, 16).unwrap_err();
        assert!(matches!(error, Error::LibraryError { .. }), "{function}: {error:?}");
        driver.clear();
        let (made, destroyed) = (driver.calls_of("cufftCreate"), driver.calls_of("cufftDestroy"));
        assert_eq!((made, destroyed), (1, u64::from(function != "cufftCreate")), "{function}: nothing is left over");
        assert_impulse(&transformed(&device, 16).unwrap());
        drop(device);
        driver.assert_finished();
    }
}

#[test]
fn an_execution_that_fails_is_an_error_and_the_plan_goes_on() {
    let (driver, device) = bench(1);
    assert_impulse(&transformed(&device, 16).unwrap());
    for function in ["cufftSetStream", "cufftSetWorkArea", "cufftXtExec"] {
        driver.fail(function, 0, 5);
        let error = transformed(&device, 16).unwrap_err();
        assert!(matches!(error, Error::LibraryError { .. }), "{function}: {error:?}");
        driver.clear();
        assert_impulse(&transformed(&device, 16).unwrap());
    }
    assert_eq!(driver.calls_of("cufftCreate"), 1);
    drop(device);
    driver.assert_finished();
}

#[test]
fn after_a_device_fault_no_plan_is_touched() {
    in_child(&this_test!(), &["700"], |driver, code| {
        let device = device(2);
        assert_impulse(&transformed(&device, 16).unwrap());
        driver.fault(code.parse().unwrap());
        let error = transformed(&device, 16).unwrap_err();
        assert!(error.is_poisoning(), "{error:?}");
        drop(device);
        assert_eq!(driver.calls_of("cufftDestroy"), 0, "it went with its context");
    });
}

/// Nearly the same numbers.
#[track_caller]
fn assert_alike(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let size = want.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= 1e-12 * size, "{what}: {worst}");
}

/// The composed operations: every kind of cosine and sine transform along rows and columns, convolutions with arrays read
/// backwards, frames and their overlap.
#[test]
fn what_is_composed_of_transforms_and_kernels_is_what_the_host_engine_makes() {
    let (driver, device) = bench(2);
    let host = Device::host().unwrap();
    let numbers = |n: usize| -> Vec<f64> { (0..n).map(|j| f64::from((j * 7 % 11) as u8) - 4.5).collect() };
    let kinds = [Trig::Dct1, Trig::Dct2, Trig::Dct3, Trig::Dct4, Trig::Dst1, Trig::Dst2, Trig::Dst3, Trig::Dst4];
    for trig in kinds {
        let spec = RealTransform::new(trig).axes([-2, -1]).norm(windlass::fft::Normalization::Ortho);
        let on = |device: &Device| {
            let x = device.tensor([2, 4, 5], numbers(40)).unwrap();
            let y = device.uninit([2, 4, 5]).unwrap();
            down(device, &device.fft().real_transform(&spec, &x, y).unwrap().await_result().unwrap())
        };
        assert_alike(&on(&device), &on(&host), &format!("{trig:?}"));
    }
    for mode in [Mode::Full, Mode::Same, Mode::Valid] {
        let spec = Convolve::new().mode(mode).axes(2);
        let of_y = spec.output_shape([2, 5, 6], [2, 2, 3]).unwrap();
        let on = |device: &Device, correlate: bool| {
            let [x, h] = [[2, 5, 6], [2, 2, 3]].map(|of| device.tensor(of, numbers(of.iter().product())).unwrap());
            let y = device.uninit(&of_y).unwrap();
            let fft = device.fft();
            let y = if correlate { fft.correlate(&spec, &x, &h, y) } else { fft.convolve(&spec, &x, &h, y) };
            down(device, &y.unwrap().await_result().unwrap())
        };
        assert_alike(&on(&device, false), &on(&host, false), &format!("{mode:?}"));
        assert_alike(&on(&device, true), &on(&host, true), &format!("{mode:?} backwards"));
    }
    for edges in [Edges::Inside, Edges::Zeros, Edges::Mirrored] {
        let spec = Stft::new(8).hop(3).edges(edges);
        let on = |device: &Device| {
            let x = device.tensor([2, 30], numbers(60)).unwrap();
            let window = up(device, vec![0.5, 1.0, 1.5, 2.0, 2.0, 1.5, 1.0, 0.5]);
            let spectra = device.uninit([2, spec.frames(30).unwrap(), spec.bins()]).unwrap();
            let spectra = device.fft().stft(&spec, &x, &window, spectra).unwrap().into_output();
            let y = device.fft().istft(&spec, &spectra, &window, device.uninit([2, 30]).unwrap()).unwrap();
            down(device, &y.await_result().unwrap())
        };
        assert_alike(&on(&device), &on(&host), &format!("{edges:?}"));
    }
    drop((host, device));
    driver.assert_finished();
}

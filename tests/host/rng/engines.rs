//! Whatever carries a draw out, and however often it was interrupted: the same numbers.

use super::{drawn, having};
use crate::common::{LONG, assert_same_bits, down, host, inline};
use windlass::rng::{Bits, Exponential, Generator, Normal, Poisson, Stream, Uniform};
use windlass::{Device, Error, FaultPlan};

/// Some of everything, as bytes.
fn sample(device: &Device, generator: Generator) -> Vec<u8> {
    let n = if generator == Generator::Mt19937 { 700 } else { 70_003 };
    let stream = Stream::new(generator, 77).at(9);
    let mut all = Vec::new();
    all.extend_from_slice(bytemuck::cast_slice(&drawn::<f32>(device, &stream, Uniform::below_one(), n)));
    all.extend_from_slice(bytemuck::cast_slice(&drawn::<f64>(device, &stream, Normal::new(-1.0, 3.0), n)));
    all.extend_from_slice(bytemuck::cast_slice(&drawn::<f32>(device, &stream, Exponential::new(3.0), n)));
    all.extend_from_slice(bytemuck::cast_slice(&drawn::<u32>(device, &stream, Poisson::new(20.0), n / 10)));
    all
}

#[test]
fn threads_change_no_bit() {
    for generator in [Generator::Philox, Generator::Xorwow, Generator::Mtgp32, Generator::Mt19937] {
        let want = sample(&inline().open().unwrap(), generator);
        for threads in [1, 2, 5] {
            assert_same_bits(
                &sample(&host(threads).open().unwrap(), generator),
                &want,
                &format!("{threads} {generator:?}"),
            );
        }
        for device in having(&Stream::new(generator, 1)) {
            assert_same_bits(&sample(&device, generator), &want, &format!("{device:?} {generator:?}"));
        }
    }
}

#[test]
fn threads_of_the_caller_draw_from_streams_of_their_own() {
    for device in having(&Stream::new(Generator::Philox, 1)) {
        let rngs = || device.rng(3).split(6).unwrap();
        let want: Vec<Vec<f32>> =
            rngs().iter_mut().map(|rng| down(&device, &rng.normal::<f32>([1000]).unwrap().into_output())).collect();
        std::thread::scope(|scope| {
            for (mut rng, want) in rngs().into_iter().zip(&want) {
                scope.spawn(move || {
                    let drawn = rng.normal::<f32>([1000]).unwrap().into_output();
                    let got = down(rng.device(), &drawn);
                    assert_eq!(got, *want);
                });
            }
        });
    }
}

#[test]
fn a_stream_goes_on_after_a_rebuild() {
    for device in having(&Stream::new(Generator::Mtgp32, 1)) {
        for generator in [Generator::Philox, Generator::Xorwow, Generator::Mtgp32] {
            let whole = drawn::<u32>(&device, &Stream::new(generator, 5), Bits, 3000);
            let mut rng = device.rng_of(Stream::new(generator, 5));
            let first = down(&device, &rng.bits::<u32>([1000]).unwrap().into_output());
            let stale = device.uninit::<u32>(4).unwrap();
            device.rebuild(LONG).unwrap();
            assert!(matches!(rng.fill(Bits, stale).unwrap_err().error, Error::GpuRefStale { .. }));
            let rest = down(&device, &rng.bits::<u32>([2000]).unwrap().into_output());
            assert_eq!([first, rest].concat(), whole, "{generator:?}");
        }
    }
}

#[test]
fn a_failed_draw_fails_what_reads_it_and_is_healed_by_the_next() {
    let plain = host(2).open().unwrap();
    let want = down(&plain, &plain.rng(8).uniform::<f32>([1000]).unwrap().into_output());
    // The first operation of the device fails.
    let device = host(2).fault_plan(FaultPlan::new().fail(0)).open().unwrap();
    let mut rng = device.rng(8);
    let before = rng.stream().clone();
    let failed = rng.uniform::<f32>([1000]).unwrap();
    assert!(failed.await_result().is_err());
    *rng.stream_mut() = before;
    let again = rng.uniform::<f32>([1000]).unwrap().into_output();
    assert_eq!(down(&device, &again), want);
}

#[test]
fn a_draw_into_a_window_leaves_the_rest() {
    for device in having(&Stream::new(Generator::Philox, 1)) {
        let whole = device.zeros::<f32>(100).unwrap();
        let window = whole.into_buffer().narrow(10..60).unwrap();
        let window = device.rng(1).fill(Uniform::above_zero(), window).unwrap().into_buffer();
        let x = down(&device, &window.widen());
        assert!(x[..10].iter().chain(&x[60..]).all(|x| *x == 0.0) && x[10..60].iter().all(|x| *x > 0.0));
    }
}

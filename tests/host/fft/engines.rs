//! Whatever carries a transform out, and however often it was interrupted: the same numbers.

use crate::common::{LONG, assert_same_bits, beside_work, busy, devices, down, host, inline, up};
use windlass::fft::{Convolve, Edges, RealTransform, Stft, Trig, Window, window};
use windlass::tensor::Layout;
use windlass::{Complex, Device, DeviceBuffer, DeviceKind, Error, FaultPlan, FftSpec};

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|j| f64::from((j * 7 % 11) as u8) - 4.5).collect()
}

/// Some of everything, as bytes.
fn sample(device: &Device) -> Vec<u8> {
    let fft = device.fft();
    let signal = up(device, numbers(60_000));
    let x = signal.view(Layout::rows(300, 200)).unwrap();
    let mut all = Vec::new();
    let mut keep = |bytes: &[u8]| all.extend_from_slice(bytes);
    let y = fft.rfft(&x, &[]).unwrap().await_result().unwrap();
    keep(bytemuck::cast_slice(&down(device, &y)));
    let spec = RealTransform::new(Trig::Dct4);
    let room = device.uninit([300, 200]).unwrap();
    let y = fft.real_transform(&spec, &x, room).unwrap().await_result().unwrap();
    keep(bytemuck::cast_slice(&down(device, &y)));
    let (spec, h) = (Convolve::new(), device.tensor([7, 9], numbers(63)).unwrap());
    let room = device.uninit([306, 208]).unwrap();
    keep(bytemuck::cast_slice(&down(device, &fft.convolve(&spec, &x, &h, room).unwrap().await_result().unwrap())));
    let (spec, weights) = (Stft::new(256).edges(Edges::Mirrored), up(device, window(Window::Hann, 256).unwrap()));
    let room = device.uninit([spec.frames(60_000).unwrap(), spec.bins()]).unwrap();
    let spectra = fft.stft(&spec, &signal, &weights, room).unwrap().await_result().unwrap();
    keep(bytemuck::cast_slice(&down(device, &spectra)));
    let y = fft.istft(&spec, &spectra, &weights, device.uninit(60_000).unwrap()).unwrap().await_result().unwrap();
    keep(bytemuck::cast_slice(&down(device, &y)));
    all
}

#[test]
fn threads_change_no_bit() {
    let want = sample(&inline().open().unwrap());
    for threads in [1, 2, 5] {
        assert_same_bits(&sample(&host(threads).open().unwrap()), &want, &format!("{threads} threads"));
    }
}

/// A plan's stream and work area are state that every execution sets anew: what waits behind long work is not changed by what
/// comes after, and holds it up on no engine but one of a single thread.
#[test]
fn one_plan_serves_transforms_of_two_streams_at_once() {
    for device in devices() {
        let (fft, spec, x) = (device.fft(), FftSpec::new(), up(&device, numbers(6000)));
        let transform = |x: &DeviceBuffer<f64>| fft.r2c(&spec, x, device.uninit(3001).unwrap()).unwrap();
        let want = down(&device, &transform(&x).await_result().unwrap()); // the plan is there from here on
        // At odd addresses copies go ahead, to memory that the driver may take from a stream that is still at work.
        let plain = std::env::var_os("WINDLASS_TEST_SHIFT").is_none_or(|shift| shift == "0");
        beside_work(100, |ms| {
            let held = busy(&device, up(&device, numbers(6000)), ms);
            let first = transform(&held);
            let second = transform(&x).await_result().unwrap();
            let beside = !first.is_ready();
            for got in [second, first.await_result().unwrap()] {
                assert_same_bits(
                    bytemuck::cast_slice::<_, u8>(&down(&device, &got)),
                    bytemuck::cast_slice(&want),
                    "a transform",
                );
            }
            beside || !plain || device.kind() == DeviceKind::Host
        });
    }
}

#[test]
fn transforms_go_on_after_a_rebuild_and_old_buffers_are_stale() {
    for device in devices() {
        let before = sample(&device);
        let stale = up(&device, numbers(8));
        device.rebuild(LONG).unwrap();
        let rejected = device.fft().rfft(&stale, &[]).map(drop).unwrap_err();
        assert!(matches!(rejected, Error::GpuRefStale { .. }), "{rejected}");
        assert_same_bits(&sample(&device), &before, "after a rebuild");
    }
}

#[test]
fn a_failed_transform_fails_what_reads_it_and_the_next_is_right() {
    let count = 16;
    let device = host(2).fault_plan(FaultPlan::new().fail(1)).open().unwrap();
    let x = up(&device, vec![Complex::new(1.0f64, 0.0); count]);
    let spec = FftSpec::new();
    let failed = device.fft().c2c(&spec, &x, device.uninit(count).unwrap()).unwrap().into_output();
    let follower = device.fft().c2c(&FftSpec::new().inverse(), &failed, device.uninit(count).unwrap()).unwrap();
    assert!(matches!(follower.await_result().unwrap_err().error, Error::Upstream { .. }));
    let y = device.fft().c2c(&spec, &x, device.uninit(count).unwrap()).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &y)[0], Complex::new(16.0, 0.0));
}

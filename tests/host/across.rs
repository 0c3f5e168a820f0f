//! A dispatch over several host devices. The same on GPUs is in `tests/standin/across.rs`.

use crate::common::exchange::{Exchange, exchanged, random_programs};
use crate::common::{Gate, LONG, down, eventually, host, inline, map, refused, seeds, up, within};
use std::sync::Arc;
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error, FaultPlan, Rejected, health::Phase, op::Op};

fn devices() -> [Device; 3] {
    [2, 1, 2].map(|threads| host(threads).open().unwrap())
}

type Refused = Rejected<(Vec<DeviceBuffer<u32>>,)>;

/// Asserts that nothing was begun: the outputs are there, unchanged.
#[track_caller]
fn assert_back(rejected: Refused, devices: &[&Device], value: u32) -> Error {
    let (outputs,) = rejected.back.expect("the outputs come back");
    for (device, output) in devices.iter().zip(&outputs) {
        assert_eq!(down(device, output), [value; 4]);
    }
    assert_eq!(rejected.error.site().and_then(|site| site.op()), Some("exchange"), "{}", rejected.error);
    rejected.error
}

#[test]
fn an_exchange_follows_earlier_work_on_each_device_and_later_work_follows_it() {
    within(60, || {
        for which in [&[0, 1, 2][..], &[2, 0], &[1]] {
            // Of their own, so that nothing else is in flight on them.
            let all = devices();
            let devices: Vec<&Device> = which.iter().map(|i| &all[*i]).collect();
            let devices = &devices[..];
            let gate = Gate::default();
            let inputs: Vec<_> = devices.iter().enumerate().map(|(i, d)| up(d, [i as u32 + 2; 4])).collect();
            let inputs: Vec<_> = devices.iter().zip(inputs).map(|(d, x)| gate.hold(d, x).into_output()).collect();
            let outputs = devices.iter().map(|device| device.uninit(4).unwrap().into_buffer()).collect();
            // The uploads are over, and what holds the inputs is not.
            assert!(devices.iter().all(|device| eventually(10, || device.stats().in_flight == 1)));
            let pending =
                Exchange::<false>::default().submit(devices, &inputs.iter().collect::<Vec<_>>(), outputs).unwrap();
            for device in devices {
                assert_eq!(device.stats().in_flight, 2, "it counts on each device");
            }
            let (outputs, verdict) = pending.into_parts();
            let after: Vec<_> = devices.iter().zip(outputs.0).map(|(d, y)| map(d, y, |y| y[0] += 1)).collect();
            // The inputs are written again, after the exchange has read them.
            let inputs: Vec<_> = devices.iter().zip(inputs).map(|(d, x)| d.fill(x, 0).unwrap()).collect();
            assert!(!verdict.is_ready() && !after[0].is_ready() && !inputs[0].is_ready());
            gate.open();
            verdict.await_result().unwrap();
            for (i, (device, y)) in devices.iter().zip(after).enumerate() {
                let value = exchanged((i + 1) as u32 % devices.len() as u32 + 2);
                assert_eq!(down(device, &y.await_result().unwrap()), [value + 1, value, value, value]);
            }
        }
    });
}

#[test]
fn a_device_that_is_named_twice_or_not_at_all_is_refused() {
    let [one, two, _] = devices();
    let (x, y) = (up(&one, [3u32; 4]), up(&two, [4u32; 4]));
    let submit = |devices: &[&Device]| {
        let outputs = vec![up(&one, [5u32; 4]), up(&two, [5u32; 4])];
        Exchange::<false>::default().submit(devices, &[&x, &y], outputs).map(drop).unwrap_err()
    };
    let error = assert_back(submit(&[&one, &two, &one.clone()]), &[&one, &two], 5);
    assert!(refused(&error).0 == "devices" && refused(&error).1.contains("twice"), "{error}");
    let error = assert_back(submit(&[]), &[&one, &two], 5);
    assert!(refused(&error).0 == "devices" && refused(&error).1.contains("empty"), "{error}");
    let error = assert_back(submit(&[&one]), &[&one, &two], 5);
    assert!(refused(&error).1.contains(&*two.name()), "{error}");
    let count = Exchange::<false>::default().submit(&[&one, &two], &[&x], vec![up(&one, [5; 4]), up(&two, [5; 4])]);
    let error = assert_back(count.map(drop).unwrap_err(), &[&one, &two], 5);
    assert!(refused(&error).0 == "inputs", "{error}");
}

#[test]
fn a_stale_generation_on_one_of_the_devices_is_refused() {
    let [one, two, _] = devices();
    let (x, old) = (up(&one, [3u32; 4]), up(&two, [4u32; 4]));
    two.rebuild(LONG).unwrap();
    let outputs = || vec![up(&one, [5u32; 4]), up(&two, [5u32; 4])];
    let rejected = Exchange::<false>::default().submit(&[&one, &two], &[&x, &old], outputs()).map(drop).unwrap_err();
    let error = assert_back(rejected, &[&one, &two], 5);
    assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
    let y = up(&two, [4u32; 4]);
    let done =
        Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], outputs()).unwrap().await_result().unwrap();
    assert_eq!(down(&two, &done[1]), [exchanged(3); 4]);
}

/// An op whose half knows nothing of several devices.
struct Alone;

impl Op for Alone {
    const NAME: &'static str = "exchange";
    type Reads = ();
    type Output = Vec<DeviceBuffer<u32>>;
    type Raw = ();

    fn check(&self, (): &(), _: &windlass::op::Spans<(windlass::op::List<u32>,)>) -> windlass::Result<()> {
        Ok(())
    }
    fn host(&self, (): (), _: windlass::op::SlicesMut<'_, Self>) -> windlass::Result<()> {
        Ok(())
    }
    fn finish(&self, (): ()) -> windlass::Result<()> {
        Ok(())
    }
}

#[test]
fn an_operation_for_one_device_is_refused() {
    let [one, two, _] = devices();
    let outputs = (vec![up(&one, [5u32; 4]), up(&two, [5u32; 4])],);
    let rejected = Device::dispatch_across(&[&one, &two], Alone, (), outputs).map(drop).unwrap_err();
    let error = assert_back(rejected, &[&one, &two], 5);
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("ACROSS_DEVICES")), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_isolated_device_is_refused() {
    let [one, two, _] = devices();
    let isolated = Device::builder().host().isolated().open().unwrap();
    for devices in [[&one, &isolated], [&isolated, &one]] {
        let (x, outputs) = (up(&one, [3u32; 4]), vec![up(&one, [5u32; 4])]);
        let rejected = Exchange::<false>::default().submit(&devices, &[&x], outputs).map(drop).unwrap_err();
        let error = assert_back(rejected, &[&one], 5);
        assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("download")), "{error}");
    }
    drop(two);
}

/// The exchange waits for work on the healthy device, which is held all the time.
#[test]
fn a_fault_of_any_of_the_devices_settles_it_at_once() {
    within(60, || {
        for faulty_first in [false, true] {
            let healthy = host(2).open().unwrap();
            let faulty = host(2).fault_plan(FaultPlan::new().poison(2)).open().unwrap();
            let gate = Gate::default();
            let x = gate.hold(&healthy, up(&healthy, [3u32; 4])).into_output();
            let y = up(&faulty, [4u32; 4]); // operation 0 of the plan
            let (devices, inputs) = match faulty_first {
                true => ([&faulty, &healthy], [&y, &x]),
                false => ([&healthy, &faulty], [&x, &y]),
            };
            let outputs = devices.map(|device| device.uninit(4).unwrap().into_buffer()).into();
            let pending = Exchange::<false>::default().submit(&devices, &inputs, outputs).unwrap(); // operation 1
            assert!(!pending.is_ready());
            drop(faulty.fill(faulty.uninit::<u32>(1).unwrap(), 1)); // operation 2
            let Ok(answer) = pending.await_timeout(LONG) else { panic!("it was never settled") };
            let error = answer.unwrap_err().error;
            assert!(error.is_poisoning(), "{error}");
            assert_eq!(healthy.health().phase, Phase::Healthy);
            gate.open();
            healthy.synchronize(LONG).unwrap();
            assert_eq!(down(&healthy, &x), [3; 4]);
        }
    });
}

#[test]
fn a_half_that_fails_fails_on_all_devices_and_what_overwrites_heals() {
    within(60, || {
        let [one, two, _] = devices();
        let (x, y) = (up(&one, [3u32; 4]), up(&two, [4u32; 4]));
        let op = Exchange::<false> { fails_after: Some(1), ..Exchange::default() };
        let outputs = vec![up(&one, [5u32; 4]), up(&two, [5u32; 4])];
        let (outputs, verdict) = op.submit(&[&one, &two], &[&x, &y], outputs).unwrap().into_parts();
        let error = verdict.await_result().unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        let [a, b]: [_; 2] = outputs.0.try_into().unwrap();
        for (device, buffer) in [(&one, &a), (&two, &b)] {
            let error = device.download(buffer).and_then(windlass::PendingDispatch::await_result).unwrap_err();
            assert!(matches!(error, Error::Upstream { .. }), "{error}");
        }
        let outputs = Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], vec![a, b]).unwrap();
        let outputs = outputs.await_result().unwrap();
        assert_eq!((down(&one, &outputs[0]), down(&two, &outputs[1])), (vec![exchanged(4); 4], vec![exchanged(3); 4]));
    });
}

#[test]
fn a_rebuild_of_any_of_the_devices_waits_for_it() {
    within(60, || {
        let [one, two, _] = devices();
        let gate = Gate::default();
        let x = gate.hold(&one, up(&one, [3u32; 4])).into_output();
        let y = up(&two, [4u32; 4]);
        let outputs = vec![one.uninit(4).unwrap().into_buffer(), two.uninit(4).unwrap().into_buffer()];
        let pending = Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], outputs).unwrap();
        let error = two.rebuild(Duration::from_millis(1)).unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        gate.open();
        two.rebuild(LONG).unwrap();
        assert!(pending.is_ready());
        assert_eq!(down(&one, &pending.await_result().unwrap()[0]), [exchanged(4); 4]);
    });
}

#[test]
fn a_device_that_works_inline_waits_for_it() {
    let (one, two) = (host(1).open().unwrap(), inline().open().unwrap());
    let (x, y) = (up(&one, [3u32; 4]), up(&two, [4u32; 4]));
    let outputs = vec![one.uninit(4).unwrap().into_buffer(), two.uninit(4).unwrap().into_buffer()];
    assert!(Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], outputs).unwrap().is_ready());
}

#[test]
fn what_the_operation_holds_is_dropped_when_it_is_done() {
    within(60, || {
        let [one, two, _] = devices();
        let gate = Gate::default();
        let x = gate.hold(&one, up(&one, [3u32; 4])).into_output();
        let y = up(&two, [4u32; 4]);
        let op = Exchange::<false>::default();
        let kept = Arc::downgrade(&op.kept);
        let outputs = vec![one.uninit(4).unwrap().into_buffer(), two.uninit(4).unwrap().into_buffer()];
        drop(op.submit(&[&one, &two], &[&x, &y], outputs).unwrap());
        assert!(kept.upgrade().is_some());
        gate.open();
        one.synchronize(LONG).unwrap();
        two.synchronize(LONG).unwrap();
        drop((one.fill(x, 0).unwrap(), two.fill(y, 0).unwrap())); // the histories of the inputs hold the node
        assert!(crate::common::eventually(30, || kept.upgrade().is_none()));
    });
}

#[test]
fn random_programs_over_several_devices_equal_a_sequential_model() {
    seeds(20, |rng, _| {
        let devices = [1, 2, 1].map(|threads| host(threads).open().unwrap());
        random_programs(&devices[..2 + rng.below(2)], rng, 60);
    });
}

//! A dispatch over several GPUs. The same on host devices is in `tests/host/across.rs`.

use crate::common::child::this_test;
use crate::common::exchange::{Exchange, exchanged, open_paths, outputs, random_programs};
use crate::common::{LONG, Rng, down, eventually, host, seeds, up, within};
use crate::standin::{Driver, Mode, in_child, in_turns, session};
use std::sync::Arc;
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error, health::Phase};

/// GPUs at rest that have access to each other's memory.
fn gpus<const N: usize>(slots: usize) -> [Device; N] {
    let gpus = std::array::from_fn(|n| Device::builder().cuda(n).slots(slots).open().expect("the stand-in opens"));
    open_paths(&refs(&gpus));
    gpus.iter().for_each(|gpu| gpu.synchronize(LONG).unwrap());
    gpus
}

/// Three GPUs with these inputs, and outputs that hold 5.
fn scene(driver: &Driver, slots: usize) -> ([Device; 3], Vec<DeviceBuffer<u32>>, Vec<DeviceBuffer<u32>>) {
    driver.set_device_count(3);
    let devices = gpus::<3>(slots);
    let inputs = devices.iter().zip(2..).map(|(device, value)| up(device, [value; 4])).collect();
    let outputs = devices.iter().map(|device| up(device, [5; 4])).collect();
    (devices, inputs, outputs)
}

fn refs<T>(all: &[T]) -> Vec<&T> {
    all.iter().collect()
}

fn assert_exchanged(devices: &[Device], outputs: &[DeviceBuffer<u32>]) {
    for (i, (device, output)) in devices.iter().zip(outputs).enumerate() {
        assert_eq!(down(device, output), [exchanged((i as u32 + 1) % 3 + 2); 4]);
    }
}

#[test]
fn an_exchange_follows_earlier_work_on_each_device_and_later_work_follows_it() {
    let driver = session();
    for (seed, mode) in [Mode::Auto, Mode::Background, Mode::Eager, Mode::Auto].into_iter().enumerate() {
        driver.reset();
        driver.seed(seed as u64);
        driver.mode(mode);
        let (devices, mut inputs, mut outputs) = scene(&driver, 1 + seed);
        for _ in 0..10 {
            let exchange = Exchange::<false>::default().submit(&refs(&devices), &refs(&inputs), outputs).unwrap();
            outputs = exchange.into_output();
            let overwrite = |(device, x): (&Device, _)| device.fill(x, 0).unwrap().into_buffer();
            inputs = devices.iter().zip(inputs).map(overwrite).collect();
            assert_exchanged(&devices, &outputs);
            let restore = |((device, x), value)| Device::fill(device, x, value).unwrap().into_buffer();
            inputs = devices.iter().zip(inputs).zip(2..).map(restore).collect();
        }
        drop((inputs, outputs, devices));
        driver.assert_finished();
    }
}

/// Late as a whole: its submission does not wait, and nothing of it is enqueued on any device.
#[test]
fn what_follows_late_work_on_one_device_is_late_on_all() {
    let driver = session();
    let (devices, inputs, outputs) = scene(&driver, 2);
    let [one, two, three] = &devices;
    let (op, hold) = Exchange::<true>::held();
    let unused = vec![two.uninit(4).unwrap().into_buffer()];
    let late = op.submit(&[two], &[&inputs[1]], unused).unwrap();
    hold.await_arrival();
    let late = late.into_output();
    let before = [one, three].map(|device| device.stats().dispatches);
    // It reads the output of the late work on the second device, and is followed on the first.
    let read = [&inputs[0], &late[0], &inputs[2]];
    let pending = Exchange::<false>::default().submit(&refs(&devices), &read, outputs).unwrap();
    let (outputs, verdict) = pending.into_parts();
    let mut outputs = outputs.0.into_iter();
    let first = one.fill(outputs.next().unwrap(), 9).unwrap();
    let copied = three.copy_peer(&late[0], three.uninit(4).unwrap()).unwrap();
    let after = [one, three].map(|device| device.stats().dispatches);
    assert_eq!(before, after, "something was enqueued");
    assert!(!verdict.is_ready() && !first.is_ready() && !copied.is_ready());
    hold.go_on();
    verdict.await_result().unwrap();
    let late_value = exchanged(3); // an exchange of one device with itself
    assert_eq!(down(one, &first.await_result().unwrap()), [9; 4]);
    assert_eq!(down(two, &outputs.next().unwrap()), [exchanged(4); 4]);
    assert_eq!(down(three, &outputs.next().unwrap()), [exchanged(2); 4]);
    assert_eq!(down(three, &copied.await_result().unwrap()), [late_value; 4]);
    drop((inputs, late, devices));
    driver.assert_finished();
}

/// A half that blocks holds a stream of each device, and no other dispatch waits for it.
#[test]
fn a_half_that_blocks_holds_up_no_device() {
    let driver = session();
    let (devices, inputs, outputs) = scene(&driver, 1);
    let (op, hold) = Exchange::<true>::held();
    let pending = op.submit(&refs(&devices), &refs(&inputs), outputs).unwrap();
    hold.await_arrival();
    for device in &devices {
        assert_eq!(down(device, &up(device, [1u32, 2])), [1, 2]);
        assert!(matches!(device.rebuild(Duration::from_millis(1)), Err(Error::Timeout { .. })), "it waits for it");
    }
    hold.go_on();
    assert_exchanged(&devices, &pending.await_result().unwrap());
    drop((inputs, devices));
    driver.assert_finished();
}

#[test]
fn a_failure_on_the_way_leaves_outputs_without_contents_and_keeps_what_was_enqueued_alive() {
    let driver = session();
    let (devices, inputs, outputs_) = scene(&driver, 2);
    devices.iter().for_each(|device| device.synchronize(LONG).unwrap());
    driver.mode(Mode::Manual);
    let op = Exchange::<false> { fails_after: Some(1), ..Exchange::default() };
    let kept = Arc::downgrade(&op.kept);
    let (written, error) = outputs(op.submit(&refs(&devices), &refs(&inputs), outputs_));
    assert!(matches!(error, Some(Error::Unsupported { .. })), "{error:?}");
    assert!(driver.pending() > 0 && kept.upgrade().is_some());
    for (device, output) in devices.iter().zip(&written) {
        let error = device.download(output).map(drop).unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument { reason, .. } if reason.contains("undefined")), "{error}");
    }
    driver.await_sweeps();
    assert!(kept.upgrade().is_some(), "the device still uses it");
    driver.mode(Mode::Auto);
    assert!(eventually(30, || {
        devices.iter().for_each(|device| drop(device.stats()));
        kept.upgrade().is_none()
    }));
    let written = Exchange::<false>::default().submit(&refs(&devices), &refs(&inputs), written).unwrap();
    assert_exchanged(&devices, &written.await_result().unwrap());
    drop((inputs, devices));
    driver.assert_finished();
}

#[test]
fn a_failure_before_anything_was_enqueued_leaves_the_contents() {
    let driver = session();
    let (devices, inputs, unchanged) = scene(&driver, 2);
    let op = Exchange::<false> { fails_after: Some(0), ..Exchange::default() };
    let (unchanged, error) = outputs(op.submit(&refs(&devices), &refs(&inputs), unchanged));
    assert!(matches!(error, Some(Error::Unsupported { .. })), "{error:?}");
    for (device, output) in devices.iter().zip(&unchanged) {
        assert_eq!(down(device, output), [5; 4]);
    }
    drop((inputs, unchanged, devices));
    driver.assert_finished();
}

/// The pending knows of every device: it is ready when the last is done.
#[test]
fn it_is_ready_when_it_is_done_on_the_last_device() {
    let driver = session();
    let [one, two] = gpus::<2>(2);
    let (x, y) = (up(&one, [2u32; 4]), up(&two, [3u32; 4]));
    let written = vec![one.uninit(4).unwrap().into_buffer(), two.uninit(4).unwrap().into_buffer()];
    [&one, &two].into_iter().for_each(|device| device.synchronize(LONG).unwrap());
    driver.mode(Mode::Manual);
    let pending = Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], written).unwrap();
    let mut steps = 0;
    while driver.pending() > 0 {
        assert!(!pending.is_ready(), "after {steps} steps");
        driver.step(1);
        steps += 1;
    }
    assert!(eventually(30, || pending.is_ready()) && steps > 3);
    driver.mode(Mode::Auto);
    drop((pending, x, y, one, two));
    driver.assert_finished();
}

#[test]
fn devices_of_different_engines_are_refused() {
    let driver = session();
    let [gpu] = gpus::<1>(1);
    let cpu = host(1).open().unwrap();
    for devices in [[&gpu, &cpu], [&cpu, &gpu]] {
        let x = up(&gpu, [3u32; 4]);
        let rejected = Exchange::<false>::default().submit(&devices, &[&x], vec![up(&gpu, [5u32; 4])]).map(drop);
        let rejected = rejected.unwrap_err();
        assert!(matches!(rejected.error, Error::Unsupported { .. }), "{}", rejected.error);
        assert_eq!(down(&gpu, &rejected.back.unwrap().0[0]), [5; 4]);
    }
    drop((gpu, cpu));
    driver.assert_finished();
}

#[test]
fn a_fault_settles_it_on_all_devices() {
    in_child(&this_test!(), &["700", "719"], |driver, case| {
        let [one, two] = gpus::<2>(2);
        let (x, y) = (up(&one, [2u32; 4]), up(&two, [3u32; 4]));
        let written = || vec![one.uninit(4).unwrap().into_buffer(), two.uninit(4).unwrap().into_buffer()];
        let (op, hold) = Exchange::<true>::held();
        let late = op.submit(&[&two, &one], &[&y, &x], written()).unwrap();
        hold.await_arrival();
        driver.mode(Mode::Manual);
        let pending = Exchange::<false>::default().submit(&[&one, &two], &[&x, &y], written()).unwrap();
        driver.fault(case.parse().unwrap());
        let Ok(answer) = pending.await_timeout(LONG) else { panic!("it was never settled") };
        let error = answer.unwrap_err().error;
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
        assert_eq!([&one, &two].map(|device| device.health().phase), [Phase::Lost; 2]);
        let Ok(answer) = late.await_timeout(LONG) else { panic!("what is late was never settled") };
        let error = answer.unwrap_err().error;
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
        hold.go_on();
    });
}

/// Two threads that name the devices in opposite orders, one slot each.
#[test]
fn submissions_in_any_order_of_the_devices_do_not_wait_for_each_other() {
    let driver = session();
    within(120, || {
        let [one, two] = gpus::<2>(1);
        std::thread::scope(|scope| {
            for (first, second) in [(&one, &two), (&two, &one)] {
                scope.spawn(move || {
                    let (x, y) = (up(first, [2u32; 4]), up(second, [3u32; 4]));
                    let mut written =
                        vec![first.uninit(4).unwrap().into_buffer(), second.uninit(4).unwrap().into_buffer()];
                    for _ in 0..200 {
                        let pending = Exchange::<false>::default().submit(&[first, second], &[&x, &y], written);
                        written = pending.unwrap().into_output();
                    }
                    assert_eq!(down(first, &written[0]), [exchanged(3); 4]);
                });
            }
        });
    });
    driver.assert_finished();
}

/// Whichever driver call fails: the outputs come back, and nothing is left over.
#[test]
fn any_one_call_may_fail() {
    let driver = session();
    for code in [1, 2] {
        let mut failures = 0;
        for nth in 0.. {
            driver.reset();
            driver.set_total_memory(8 << 20);
            let (devices, inputs, written) = scene(&driver, 2);
            let x = devices[0].uninit::<u32>(4).unwrap();
            driver.fail_any(nth, code);
            let (written, error) =
                outputs(Exchange::<false>::default().submit(&refs(&devices), &refs(&inputs), written));
            let copied = devices[0].copy_peer(&inputs[1], x).map(|pending| pending.into_output());
            let fired = driver.failed() > 0;
            driver.clear();
            failures += usize::from(error.is_some()) + usize::from(copied.is_err());
            for error in error.iter().chain(copied.as_ref().err().map(|rejected| &rejected.error)) {
                let known = matches!(error, Error::LibraryError { .. } | Error::OutOfMemory { .. });
                assert!(known, "call {nth} with {code}: {error:?}");
            }
            // Whatever failed, an exchange works now.
            let written = Exchange::<false>::default().submit(&refs(&devices), &refs(&inputs), written).unwrap();
            assert_exchanged(&devices, &written.await_result().unwrap());
            let leaked: u64 = devices.iter().map(|device| device.stats().leaked).sum();
            drop((copied, inputs, devices));
            let gone = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>() <= leaked;
            assert!(eventually(10, gone), "call {nth} with {code}: {:?} left", driver.left());
            assert!(driver.violations().is_empty(), "call {nth} with {code}: {:?}", driver.violations());
            if !fired {
                assert!(nth > 40 && failures > 15, "{nth} calls, {failures} failures");
                break;
            }
        }
    }
}

fn random(driver: &Driver, rng: &mut Rng, seed: u64, mode: Mode) {
    driver.reset();
    driver.set_device_count(3);
    driver.seed(seed);
    driver.mode(mode);
    let devices = gpus::<3>(1 + (seed % 3) as usize);
    random_programs(&devices[..2 + rng.below(2)], rng, 40);
    drop(devices);
    driver.assert_finished();
}

#[test]
fn random_programs_over_several_gpus_equal_a_sequential_model() {
    let driver = session();
    seeds(6, |rng, seed| {
        for mode in [Mode::Auto, Mode::Background, Mode::Eager] {
            random(&driver, rng, seed, mode);
        }
    });
}

/// All threads take turns: one seed, one history.
#[test]
fn random_programs_in_turns_equal_a_sequential_model() {
    let test = this_test!();
    crate::random::seeds(20, |seed| {
        in_turns(&test, seed, |driver, seed| random(driver, &mut Rng::new(seed), seed, Mode::Auto));
    });
}

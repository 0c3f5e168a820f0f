//! Waiting for several dispatches.

use crate::common::{
    Asleep, Gate, beside_work, busy, concurrent_devices, devices, down, host, lasts_an_hour, up, within,
};
use std::time::Duration;
use windlass::clock::{ManualClock, Timing};
use windlass::{Error, FaultPlan, Wait, await_all, await_any, await_any_timeout};

#[test]
fn all_answers_come_in_the_order_of_the_pendings() {
    for device in devices() {
        let x = up(&device, [3.0f64]).share();
        let pendings = (0..200u32).map(|i| {
            let y = up(&device, [f64::from(i)]);
            device.blas().dot(&x, &y).unwrap()
        });
        let answers: Vec<f64> = await_all(pendings.collect::<Vec<_>>()).into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, (0..200).map(|i| 3.0 * f64::from(i)).collect::<Vec<_>>());
        assert!(await_all(Vec::<windlass::PendingDispatch<f64>>::new()).is_empty());
    }
}

#[test]
fn one_failure_among_many_loses_none_of_the_others() {
    let device = host(2).fault_plan(FaultPlan::new().fail(4)).open().unwrap();
    let pendings = (0..8u32).map(|i| device.upload([i]).unwrap()).collect::<Vec<_>>();
    for (i, answer) in (0u32..).zip(await_all(pendings)) {
        match answer {
            Ok(x) => assert_eq!(down(&device, &x), [i]),
            Err(rejected) => {
                assert!(i == 4 && matches!(rejected.error, Error::LibraryError { .. }), "{i}: {rejected}");
                assert!(rejected.back.is_some());
            }
        }
    }
    assert_eq!(device.stats().errors.get("LibraryError"), Some(&1));
}

#[test]
fn the_first_that_is_ready_comes_first_and_the_last_takes_its_place() {
    for device in concurrent_devices() {
        within(60, move || {
            beside_work(300, |ms| {
                let slow = busy(&device, up(&device, [7.0f64]), ms);
                let mut pendings = vec![
                    device.blas().dot(&slow, &slow).unwrap(),
                    device.blas().nrm2(&up(&device, [3.0f64, 4.0])).unwrap(),
                    device.blas().nrm2(&slow).unwrap(),
                ];
                let (index, answer) = await_any(&mut pendings).unwrap();
                if index != 1 || pendings.iter().any(|pending| pending.is_ready()) {
                    return false;
                }
                assert_eq!((answer.unwrap(), pendings.len()), (5.0, 2));
                let mut rest: Vec<f64> =
                    std::iter::from_fn(|| await_any(&mut pendings)).map(|a| a.1.unwrap()).collect();
                rest.sort_by(f64::total_cmp);
                assert_eq!(rest, [7.0, 49.0]);
                assert!(await_any(&mut pendings).is_none());
                true
            });
        });
    }
}

#[test]
fn any_wakes_a_sleeper_for_whichever_ends_first() {
    let device = host(2).open().unwrap();
    within(30, move || {
        for round in 0..100 {
            let gates = [Gate::default(), Gate::default()];
            let mut pendings: Vec<_> =
                gates.iter().map(|gate| gate.hold(&device, device.zeros::<f64>(1).unwrap().into_buffer())).collect();
            gates.iter().for_each(|gate| gate.await_arrivals(1));
            let first = round % 2;
            let asleep = Asleep::default();
            asleep.here();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // Now and then before it sleeps.
                    if round % 4 < 2 {
                        asleep.wait();
                    }
                    gates[first].open();
                });
                let (index, answer) = await_any(&mut pendings).unwrap();
                assert_eq!(index, first);
                drop(answer.unwrap());
            });
            gates[1 - first].open();
            drop(await_any(&mut pendings).unwrap().1.unwrap());
        }
    });
}

#[test]
fn any_answers_when_the_device_dies_under_all_of_them() {
    let device = host(2).fault_plan(FaultPlan::new().poison(2)).open().unwrap();
    let gate = Gate::default();
    let held = gate.hold(&device, up(&device, [1.0f64]));
    gate.await_arrivals(1);
    let asleep = Asleep::default();
    let here = asleep.clone();
    let sleeper = std::thread::spawn(move || {
        here.here();
        await_any(&mut vec![held]).unwrap().1.map(|_| ()).unwrap_err().error
    });
    asleep.wait();
    drop(device.upload([2u8]));
    assert!(within(10, move || sleeper.join().unwrap()).is_poisoning());
}

#[test]
fn a_wait_for_any_that_is_too_short_takes_none() {
    let clock = ManualClock::new();
    let device = host(2).timing(Timing::by(clock)).open().unwrap();
    within(30, move || {
        let gate = Gate::default();
        let mut pendings = vec![gate.hold(&device, up(&device, [7.0f64])), gate.hold(&device, up(&device, [8.0f64]))];
        gate.await_arrivals(1);
        assert!(lasts_an_hour(clock, |hour| await_any_timeout(&mut pendings, hour)).is_none());
        assert_eq!(pendings.len(), 2);
        let (_, verdict) = pendings.remove(1).into_parts();
        let verdict = verdict.waiting(Wait::Block);
        assert!(!lasts_an_hour(clock, |hour| verdict.wait_timeout(hour)) && !verdict.is_ready());
        gate.open();
        let (index, answer) = await_any_timeout(&mut pendings, Duration::MAX).unwrap();
        assert_eq!((index, down(&device, &answer.unwrap())), (0, vec![7.0]));
        assert!(await_any_timeout(&mut pendings, Duration::MAX).is_none(), "there are none left");
        assert!(verdict.wait_timeout(Duration::MAX));
        verdict.await_result().unwrap();
    });
}

//! Who comes while every slot is leased waits for the first that is given back, not for one that it picked.

use crate::common::{down, up};
use crate::standin::{Launch, device, session};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn a_slot_that_is_held_for_long_keeps_nobody_from_the_others() {
    let driver = session();
    for first in 0..3 {
        let device = device(3);
        let buffers: Vec<_> = (0..3).map(|_| up(&device, vec![1.0f32; 4])).collect();
        device.synchronize(Duration::from_secs(60)).unwrap();
        std::thread::scope(|scope| {
            // One operation stands on each slot.
            let mut holds: Vec<_> = buffers
                .into_iter()
                .map(|x| {
                    let ((op, hold), device) = (Launch::held(c"add_one_f32"), &device);
                    scope.spawn(move || drop(device.dispatch(op, (), (x,))));
                    hold.await_arrival();
                    hold
                })
                .collect();
            let ((done, seen), device) = (channel(), &device);
            scope.spawn(move || {
                let x = device.zeros::<f32>(8).unwrap();
                let x = device.fill(x, 2.0).unwrap().into_output();
                done.send(down(device, &x)).unwrap();
            });
            assert!(seen.recv_timeout(Duration::from_millis(20)).is_err(), "no slot is free");
            holds.remove(first).go_on(true);
            let came = seen.recv_timeout(Duration::from_secs(30));
            holds.iter().for_each(|hold| hold.go_on(true));
            assert_eq!(came.expect("it waits for another slot than that which is free"), [2.0; 8]);
        });
        drop(device);
        driver.assert_finished();
    }
}

//! Bounds on work in flight.

use crate::{LONG, alone, isolated, kill};
use std::time::Duration;
use windlass::{Error, InFlight, RestartPolicy};

#[test]
fn a_lost_worker_is_replaced_however_few_operations_may_be_in_flight() {
    let _alone = alone();
    for bound in [InFlight::Busy(1), InFlight::Busy(2), InFlight::Wait(1)] {
        let device = isolated().restart_policy(RestartPolicy::default()).in_flight(bound).open().unwrap();
        kill(&device);
        let error = loop {
            // Until it is seen.
            match device.upload([1u8]).map(|pending| pending.await_timeout(LONG).map(drop)) {
                Err(error) if error.is_poisoning() => break error,
                Ok(Err(_)) => panic!("{bound:?}: hung"),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
            if device.generation() > 0 {
                break Error::library("it was too quick to be seen");
            }
        };
        let health = device.wait_healthy(LONG).unwrap_or_else(|lost| panic!("{bound:?}: {lost} after {error}"));
        assert_eq!(health.generation, 1);
    }
}

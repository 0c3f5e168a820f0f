//! An operation's own code panics: that is the operation's error, wherever it happens.

use crate::common::{devices, down, is_host, up};
use windlass::{
    Device, DeviceBuffer, Error, Result,
    op::{Cost, Op, Output, Slices, SlicesMut, Spans},
};

#[derive(Clone, Copy, PartialEq)]
enum Where {
    Check,
    Overwrites,
    Cost,
    Host,
    Finish,
    Join,
    Drop,
}

struct Panics(Where);

impl Panics {
    fn at(&self, place: Where) {
        assert!(self.0 != place, "on purpose");
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.at(Where::Drop);
    }
}

/// A buffer and a number that may not come together.
struct Both(DeviceBuffer<f64>);

impl Output for Both {
    type Writes = (f64,);
    type Host = bool;
    fn join((buffer,): (DeviceBuffer<f64>,), panics: bool) -> Result<Self> {
        assert!(!panics, "on purpose");
        Ok(Both(buffer))
    }
}

impl Op for Panics {
    const NAME: &'static str = "panics";
    type Reads = ();
    type Output = Both;
    type Raw = ();

    fn check(&self, (): &Spans<()>, _: &Spans<(f64,)>) -> Result<()> {
        self.at(Where::Check);
        Ok(())
    }
    fn overwrites(&self, _: &Spans<(f64,)>) -> bool {
        self.at(Where::Overwrites);
        false
    }
    fn cost(&self) -> Cost {
        self.at(Where::Cost);
        Cost::default()
    }
    fn host(&self, (): Slices<'_, Self>, (x,): SlicesMut<'_, Self>) -> Result<()> {
        self.at(Where::Host);
        x.fill(2.0);
        Ok(())
    }
    fn finish(&self, (): ()) -> Result<bool> {
        self.at(Where::Finish);
        Ok(self.0 == Where::Join)
    }
}

/// A closure's kin does not cross to a worker.
fn hosts() -> impl Iterator<Item = Device> {
    devices().into_iter().filter(|device| !device.is_isolated() && is_host(device))
}

fn works(device: &Device) {
    assert_eq!(down(device, &up(device, [5.0f64])), [5.0]);
}

fn is_panic(error: &Error) -> bool {
    matches!(error, Error::Panicked { message, .. } if message.contains("on purpose"))
}

#[test]
fn a_panic_before_the_work_refuses_it_and_the_buffer_comes_back() {
    for device in hosts() {
        for place in [Where::Check, Where::Overwrites] {
            let rejected = device.dispatch(Panics(place), (), (up(&device, [1.0f64]),)).map(drop).unwrap_err();
            assert!(is_panic(&rejected.error), "{}", rejected.error);
            assert_eq!(rejected.error.site().and_then(windlass::error::Site::op), Some("panics"));
            assert_eq!(down(&device, &rejected.back.unwrap().0), [1.0]);
        }
        works(&device);
    }
}

#[test]
fn a_panic_after_the_work_is_its_answer() {
    for device in hosts() {
        for place in [Where::Finish, Where::Join, Where::Host] {
            let pending = device.dispatch(Panics(place), (), (up(&device, [1.0f64]),)).unwrap();
            let error = pending.await_result().map(drop).unwrap_err().error;
            assert!(is_panic(&error), "{error}");
        }
        let done = device.dispatch(Panics(Where::Cost), (), (up(&device, [1.0f64]),)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &done.0), [2.0]);
        works(&device);
    }
}

/// On whatever thread the last of it goes: a device's own, one that submits something else, or one that gave it up.
#[test]
fn a_panic_in_an_operations_drop_goes_no_further() {
    for device in hosts() {
        let done = device.dispatch(Panics(Where::Drop), (), (up(&device, [1.0f64]),)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &done.0), [2.0]);
        drop(done);
        drop(device.dispatch(Panics(Where::Drop), (), (up(&device, [1.0f64]),)).unwrap());
        device.synchronize(crate::common::LONG).unwrap();
        // Refused: it is dropped where it was.
        assert!(device.dispatch(Panics(Where::Drop), (), (device.uninit(1).unwrap().into_buffer(),)).is_err());
        works(&device);
    }
}

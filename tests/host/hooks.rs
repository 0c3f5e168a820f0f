//! What a trace's hook may wait for.

use crate::common::{builders, down, up, within};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::{
    Device, DeviceBuffer, DeviceBuilder, DeviceKind, Error,
    op::InFlight,
    trace::{OpInfo, Trace},
};

/// What a test does in a hook, once. The buffer is another handle of the one that the operation writes.
type Deed = dyn Fn(&Device, &DeviceBuffer<f64>) + Send + Sync;

/// Calls a function in the first `after_enqueue`, or in the first `before_complete`, of a `fill`.
struct Once {
    with: Mutex<Option<(Device, DeviceBuffer<f64>)>>,
    at_end: bool,
    called: AtomicU32,
    deed: Box<Deed>,
}

impl Once {
    fn call(&self, op: &OpInfo, at_end: bool) {
        if at_end != self.at_end || op.op != "fill" {
            return;
        }
        let with = self.with.lock().unwrap().take();
        if let Some((device, x)) = with {
            (self.deed)(&device, &x);
            self.called.fetch_add(1, Relaxed);
        }
    }
}

impl Trace for Once {
    fn after_enqueue(&self, op: &OpInfo) {
        self.call(op, false);
    }
    fn before_complete(&self, op: &OpInfo) {
        self.call(op, true);
    }
}

/// Opens the device, lets a `fill` call the function in its hook, and sees that the operation goes on.
fn in_hook(builder: DeviceBuilder, at_end: bool, deed: impl Fn(&Device, &DeviceBuffer<f64>) + Send + Sync + 'static) {
    let once = Once { with: Mutex::default(), at_end, called: AtomicU32::new(0), deed: Box::new(deed) };
    let once = Arc::new(once);
    let device = builder.trace(once.clone()).open().unwrap();
    let x = up(&device, [1.0f64; 2]);
    device.synchronize(Duration::from_secs(60)).unwrap();
    // SAFETY: both are used by this thread alone, one after the other; neither is split or joined.
    let alias = unsafe { x.alias() };
    *once.with.lock().unwrap() = Some((device.clone(), alias));
    within(60, move || {
        let x = device.fill(x, 2.0).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0; 2]);
        device.synchronize(Duration::from_secs(60)).unwrap();
        assert_eq!(once.called.load(Relaxed), 1, "on {device:?}");
    });
}

/// It would wait for the very operation: on some devices until its limit.
#[test]
fn a_wait_for_the_device_in_the_middle_of_an_operation_is_refused_at_once() {
    for at_end in [false, true] {
        for builder in builders() {
            in_hook(builder, at_end, move |device, _| {
                let forever = Duration::from_secs(3600);
                for refused in [device.synchronize(forever), device.rebuild(forever)] {
                    assert!(matches!(refused, Err(Error::Unsupported { .. })), "on {device:?}: {refused:?}");
                }
                let other = Device::host().unwrap();
                if !at_end {
                    other.synchronize(forever).unwrap(); // not its device
                }
                assert_eq!(device.generation(), 0);
            });
        }
    }
}

#[test]
fn a_hook_after_the_enqueue_may_wait_for_what_does_not_follow_its_operation() {
    for builder in builders() {
        in_hook(builder, false, |device, _| {
            let x = up(device, [3.0f64, 4.0]);
            let norm = device.blas().nrm2(&x).unwrap().await_timeout(Duration::from_secs(30));
            assert_eq!(norm.expect("it does not end").unwrap(), 5.0);
            let mut both = vec![device.blas().nrm2(&x).unwrap(), device.blas().asum(&x).unwrap()];
            while let Some((_, answer)) = windlass::await_any(&mut both) {
                assert!([5.0, 7.0].contains(&answer.unwrap()));
            }
        });
    }
}

/// The bound counts the operation, which ends only after the hook.
#[test]
fn submitting_at_the_bound_in_the_middle_of_an_operation_is_refused_at_once() {
    for builder in builders() {
        in_hook(builder.in_flight(InFlight::Wait(1)), false, |device, _| {
            // On a GPU the operation itself may have ended by now.
            let mut last = None;
            for _ in 0..100 {
                match device.fill(device.uninit::<f64>(1 << 16).unwrap(), 1.0) {
                    Ok(pending) => drop(pending.into_output()),
                    Err(rejected) => last = Some(rejected.error),
                }
            }
            let is_host = !device.is_isolated() && device.kind() == DeviceKind::Host;
            assert!(last.is_some() || !is_host, "on {device:?}");
            assert!(last.is_none_or(|error| matches!(error, Error::Unsupported { .. })), "on {device:?}");
        });
    }
}

/// On the host engine the operation begins after its hook, and with it all that follows it.
#[test]
fn a_wait_for_what_follows_the_operation_of_the_hook_ends_at_once() {
    for builder in builders() {
        in_hook(builder, false, |device, x| {
            let forever = Duration::from_secs(3600);
            let y = device.copy(x, device.uninit(2).unwrap()).unwrap().into_output(); // which what is awaited follows
            let (one, two, three) = (device.download(&y), device.download(&y), device.download(x));
            let answer = match one.unwrap().await_timeout(forever) {
                Ok(answer) => answer,
                Err(pending) => pending.await_result(),
            };
            let (_, any) = windlass::await_any(&mut vec![two.unwrap(), three.unwrap()]).unwrap();
            let begins_later = !device.is_isolated() && device.kind() == DeviceKind::Host;
            for answer in [answer, any] {
                match answer {
                    Err(refused) => {
                        assert!(begins_later, "on {device:?}: {}", refused);
                        let text = refused.to_string();
                        assert!(matches!(refused, Error::Unsupported { .. }), "{text}");
                    }
                    Ok(data) => assert!(!begins_later && data == [2.0; 2], "on {device:?}: {data:?}"),
                }
            }
        });
    }
}

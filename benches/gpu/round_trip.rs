//! From the call to the host knowing that the work is done, and what looking costs.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::ops::{Busy, Empty, EmptyOn};
use crate::raw::{NO_TIMING, NO_TIMING_BLOCKING};
use std::hint::black_box;
use std::time::Duration;
use windlass::Wait;

/// Round trips of a batch.
const BATCH: usize = 16;
/// Looks of a batch.
const LOOKS: usize = 1000;
/// How long the device is kept busy while something looks at it: longer than all looks take.
const BUSY_NS: u64 = 2_000_000;

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event, blocking) = (raw.stream(), raw.event(NO_TIMING), raw.event(NO_TIMING_BLOCKING));
    let spin = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                raw.launch_empty(stream);
                raw.record(event, stream);
                raw.synchronize(event);
            }
        })
    };
    let poll = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                raw.launch_empty(stream);
                raw.record(event, stream);
                while !raw.is_past(event) {}
            }
        })
    };
    let sleep = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                raw.launch_empty(stream);
                raw.record(blocking, stream);
                raw.synchronize(blocking);
            }
        })
    };
    let ours = |how: Wait| {
        let device = device.waiting(how);
        move || {
            timed(BATCH, || {
                for _ in 0..BATCH {
                    device.dispatch(Empty, (), ()).unwrap().await_result().unwrap();
                }
            })
        }
    };
    let goal = Goal::TimesAtMost(1.05);
    bench.pair("adaptive wait, against a spinning cuEventSynchronize", Unit::Ns, goal, 200, ours(Wait::Adaptive), spin);
    let mut buffer = Some(device.zeros::<f32>(1).unwrap().into_buffer());
    let one_buffer = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                let x = buffer.take().unwrap();
                buffer = Some(device.dispatch(EmptyOn, (), (x,)).unwrap().await_result().unwrap());
            }
        })
    };
    bench.pair("adaptive wait, one buffer", Unit::Ns, goal, 200, one_buffer, spin);
    bench.context_current = true;
    bench.pair("adaptive wait, context current", Unit::Ns, goal, 200, ours(Wait::Adaptive), spin);
    bench.context_current = false;
    bench.pair("spinning wait, against a loop of cuEventQuery", Unit::Ns, Goal::None, 200, ours(Wait::Spin), poll);
    bench.pair("blocking wait, against a blocking event", Unit::Ns, Goal::None, 60, ours(Wait::Block), sleep);
    looks(bench);
}

/// `is_ready`, when it is and when it is not.
fn looks(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
    let query = || timed(LOOKS, || (0..LOOKS).for_each(|_| _ = black_box(raw.is_past(black_box(event)))));
    raw.launch_empty(stream);
    raw.record(event, stream);
    raw.synchronize(event);

    let settled = device.dispatch(Empty, (), ()).unwrap();
    assert!(settled.wait_timeout(Duration::from_secs(10)), "an empty kernel takes longer than 10 s");
    let look = || timed(LOOKS, || (0..LOOKS).for_each(|_| _ = black_box(black_box(&settled).is_ready())));
    let goal = Goal::AtMost(150.0);
    bench.pair("is_ready, settled, against cuEventQuery of a past event", Unit::Ns, goal, 100, look, query);

    let pending = || {
        let busy = device.dispatch(Busy(BUSY_NS), (), ()).unwrap();
        let sample = timed(LOOKS, || (0..LOOKS).for_each(|_| _ = black_box(black_box(&busy).is_ready())));
        busy.await_result().unwrap();
        sample
    };
    let query_busy = || {
        raw.launch_busy(stream, BUSY_NS);
        raw.record(event, stream);
        let sample = query();
        raw.synchronize(event);
        sample
    };
    let name = "is_ready, in flight, against cuEventQuery not ready";
    bench.pair(name, Unit::Ns, goal, 30, pending, query_busy);
    bench.context_current = true;
    bench.pair("is_ready, in flight, context current", Unit::Ns, goal, 30, pending, query_busy);
    bench.context_current = false;
}

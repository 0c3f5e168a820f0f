//! What submitting costs: everything until the dispatch returns, the device left to itself.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::ops::{AddOne, Empty, EmptyOn, EmptyOnThree};
use crate::raw::{Memory, NO_TIMING, Raw};
use cudarc::driver::sys::{CUevent, CUstream};
use windlass::await_all;

/// Dispatches of a batch: few enough that no queue of the driver fills.
const BATCH: usize = 64;

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let streams: Vec<CUstream> = (0..16).map(|_| raw.stream()).collect();
    let events: Vec<_> = (0..BATCH).map(|_| raw.event(NO_TIMING)).collect();
    let stream = streams[0];
    let one_stream = || {
        let sample = timed(BATCH, || {
            for event in &events {
                raw.launch_empty(stream);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    let all_streams = || {
        let sample = timed(BATCH, || {
            for (event, stream) in events.iter().zip(streams.iter().cycle()) {
                raw.launch_empty(*stream);
                raw.record(*event, *stream);
            }
        });
        raw.settle();
        sample
    };

    let mut buffer = Some(device.zeros::<f32>(1).unwrap());
    let mut chained = || {
        let next = |x| device.dispatch(EmptyOn, (), (x,)).unwrap();
        let mut x = buffer.take();
        let sample = timed(BATCH, || x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x).into_output())));
        buffer = Some(next(x.unwrap()).await_result().unwrap());
        sample
    };
    bench.pair("empty kernel on one buffer, chained", Unit::Ns, Goal::Over(300.0), 300, &mut chained, one_stream);
    bench.context_current = true;
    bench.pair(
        "empty kernel on one buffer, chained, context current",
        Unit::Ns,
        Goal::Over(300.0),
        300,
        &mut chained,
        one_stream,
    );
    bench.context_current = false;

    let mut unrelated = || {
        let mut pendings = Vec::with_capacity(BATCH);
        let sample = timed(BATCH, || {
            for _ in 0..BATCH {
                pendings.push(device.dispatch(Empty, (), ()).unwrap());
            }
        });
        await_all(pendings).into_iter().for_each(|answer| answer.unwrap());
        sample
    };
    let name = "empty kernel, no operands, pendings kept";
    bench.pair(name, Unit::Ns, Goal::Over(300.0), 300, &mut unrelated, one_stream);
    let name = "empty kernel, no operands, raw over 16 streams in turn";
    bench.pair(name, Unit::Ns, Goal::None, 300, &mut unrelated, all_streams);

    let (a, b) = (device.zeros::<f32>(1).unwrap(), device.zeros::<f32>(1).unwrap());
    let mut target = Some(device.zeros::<f32>(1).unwrap());
    let three = || {
        let next = |c| device.dispatch(EmptyOnThree, (a.as_in(), b.as_in()), (c,)).unwrap();
        let mut c = target.take();
        let sample = timed(BATCH, || c = Some((0..BATCH).fold(c.take().unwrap(), |c, _| next(c).into_output())));
        target = Some(next(c.unwrap()).await_result().unwrap());
        sample
    };
    bench.pair(
        "empty kernel, reads two buffers, writes one, chained",
        Unit::Ns,
        Goal::Over(300.0),
        300,
        three,
        one_stream,
    );
    chains(bench);
}

/// Long chains, the wait for their end included; the sum that comes out proves that every link ran, in order.
fn chains(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let stream = raw.stream();
    let events: Vec<_> = (0..1024).map(|_| raw.event(NO_TIMING)).collect();
    let memory = raw.upload(&[0f32], stream);
    let long = if bench.tiny { 2000 } else { 100_000 };
    for (count, rounds) in [(1000, 30), (long, 4)] {
        let name = format!("chain of {count} dependent ops, then one wait, per op");
        let ours = || {
            let mut x = Some(device.upload(vec![0f32]).unwrap().await_result().unwrap());
            let sample = timed(count, || {
                let next = |x| device.dispatch(AddOne, (), (x,)).unwrap();
                let last_but_one = (1..count).fold(x.take().unwrap(), |x, _| next(x).into_output());
                x = Some(next(last_but_one).await_result().unwrap());
            });
            let sum = device.download(&x.unwrap()).unwrap().await_result().unwrap();
            assert_eq!(sum, [count as f32], "a link is missing");
            sample
        };
        bench.pair(&name, Unit::Ns, Goal::None, rounds, ours, || add_ones(&raw, &memory, stream, &events, count));
    }
    let count = long;
    let all = || {
        let mut pendings = Vec::with_capacity(count);
        timed(count, || {
            for _ in 0..count {
                pendings.push(device.dispatch(Empty, (), ()).unwrap());
            }
            for pending in pendings.drain(..) {
                pending.await_result().unwrap();
            }
        })
    };
    let name = format!("{count} unrelated ops, then a wait for each, per op");
    bench.pair(&name, Unit::Ns, Goal::None, 4, all, || add_ones(&raw, &memory, stream, &events, count));
}

fn add_ones(raw: &Raw, memory: &Memory, stream: CUstream, events: &[CUevent], count: usize) -> f64 {
    let (mut address, mut elements) = (memory.address, 1u64);
    let mut args = [(&raw mut address).cast(), (&raw mut elements).cast()];
    timed(count, || {
        let mut last = events[0];
        for event in events.iter().cycle().take(count) {
            raw.launch(raw.add_one, stream, &mut args);
            raw.record(*event, stream);
            last = *event;
        }
        raw.synchronize(last);
    })
}

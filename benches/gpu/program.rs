//! What a replay costs beside the raw graph of the same nodes.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::ops::AddOne;
use crate::raw::{Memory, NO_TIMING, Raw, ok};
use cudarc::driver::sys::{CUgraphExec, CUstream};
use windlass::{Device, DeviceBuffer, Program};

/// Replays of a batch.
const BATCH: usize = 16;

pub(crate) fn run(bench: &mut Bench) {
    for count in [10, 1000] {
        replays(bench, count);
    }
    records(bench);
}

/// `count` additions of 1 to one element, one after the other.
fn record(device: &Device, count: usize) -> Program {
    let recorded = device.record(|r| {
        let x = r.operand::<f32>(1)?.into_buffer();
        (0..count).try_fold(x, |x, _| Ok(r.dispatch(AddOne, (), (x,))?.into_output()))
    });
    let program = recorded.unwrap().0;
    program.capture_graphs();
    program
}

/// The same, captured by hand.
fn raw_graph(raw: &Raw, memory: &Memory, stream: CUstream, count: usize) -> CUgraphExec {
    let (mut address, mut elements) = (memory.address, 1u64);
    let mut args = [(&raw mut address).cast(), (&raw mut elements).cast()];
    let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
    const RELAXED: u32 = 2;
    // SAFETY: the stream is alive and nobody else's; the pointers are valid for the writes.
    unsafe {
        ok((raw.driver.stream_begin_capture)(stream, RELAXED));
        (0..count).for_each(|_| raw.launch(raw.add_one, stream, &mut args));
        ok((raw.driver.stream_end_capture)(stream, &mut graph));
        ok((raw.driver.graph_instantiate)(&mut exec, graph, 0));
    }
    launch(raw, exec, stream);
    raw.settle();
    exec
}

fn launch(raw: &Raw, exec: CUgraphExec, stream: CUstream) {
    // SAFETY: both are alive; the graph's memory lives as long as the benchmark.
    ok(unsafe { (raw.driver.graph_launch)(exec, stream) });
}

fn replays(bench: &mut Bench, count: usize) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, program) = (raw.stream(), record(&device, count));
    let memory = raw.upload(&[0f32], stream);
    let exec = raw_graph(&raw, &memory, stream, count);
    let events: Vec<_> = (0..BATCH).map(|_| raw.event(NO_TIMING)).collect();
    let next = |x: DeviceBuffer<f32>| program.replay((), (x,)).unwrap().into_operands().unwrap().0.into_buffer();
    let value = |x: &DeviceBuffer<f32>| device.download(x).unwrap().await_result().unwrap()[0];
    let mut buffer = Some(device.zeros::<f32>(1).unwrap().into_buffer());
    for round in 1..4 {
        buffer = buffer.map(next);
        assert_eq!(buffer.as_ref().map(value), Some((round * count) as f32), "a step is missing");
    }
    println!("  {:?}", program.stats());

    let mut enqueue = || {
        let mut x = buffer.take();
        let sample = timed(BATCH, || x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x))));
        value(x.as_ref().unwrap());
        buffer = x;
        sample
    };
    let by_hand = || {
        let sample = timed(BATCH, || {
            for event in &events {
                launch(&raw, exec, stream);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    let name = format!("replay of {count} tiny ops, enqueued");
    let goal = if count == 10 { Goal::Over(500.0) } else { Goal::None };
    bench.pair(&name, Unit::Ns, goal, 200, &mut enqueue, by_hand);

    let mut whole = || {
        let x = buffer.take();
        let pending = program.replay((), (x.unwrap(),)).unwrap();
        let mut pending = Some(pending);
        let sample = timed(count, || {
            let (x,) = pending.take().unwrap().await_result().unwrap().operands;
            let (x,) = program.replay((), (x,)).unwrap().await_result().unwrap().operands;
            buffer = Some(x.into_buffer());
        });
        sample / 2.0
    };
    let last = events[0];
    let both = || {
        launch(&raw, exec, stream);
        let sample = timed(count, || {
            raw.record(last, stream);
            raw.synchronize(last);
            launch(&raw, exec, stream);
            raw.record(last, stream);
            raw.synchronize(last);
        });
        sample / 2.0
    };
    bench.pair(
        &format!("replay of {count} tiny ops, per op, with the wait"),
        Unit::Ns,
        Goal::None,
        100,
        &mut whole,
        both,
    );

    let mut one_by_one = || {
        let mut x = buffer.take();
        let sample = timed(count, || {
            let next = |x| device.dispatch(AddOne, (), (x,)).unwrap().into_output();
            let all = (0..count).fold(x.take().unwrap(), |x, _| next(x));
            value(&all);
            x = Some(all);
        });
        buffer = x;
        sample
    };
    let graph = || {
        let sample = timed(count, || {
            launch(&raw, exec, stream);
            raw.record(last, stream);
            raw.synchronize(last);
        });
        raw.settle();
        sample
    };
    let name = format!("{count} tiny ops submitted one by one, per op, beside the raw graph");
    bench.pair(&name, Unit::Ns, Goal::None, 50, &mut one_by_one, graph);
}

/// What recording costs on the host.
fn records(bench: &mut Bench) {
    let (device, count) = (bench.device.clone(), 1000);
    let ours = || timed(count, || drop(record(&device, count)));
    bench.pair("record of 1000 ops, per op (raw: nothing)", Unit::Ns, Goal::Over(2000.0), 20, ours, || 0.0);
}

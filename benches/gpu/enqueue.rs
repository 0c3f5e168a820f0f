//! What submitting costs: everything until the dispatch returns, the device left to itself.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::ops::{AddOne, Empty, EmptyOn, EmptyOnThree, PTX};
use crate::raw::{Memory, NO_TIMING, Raw};
use cudarc::driver::sys::{CUevent, CUstream};
use windlass::nvrtc::{LaunchConfig, Len, Read, Write};
use windlass::{Device, DeviceBuffer, Element, await_all, nvrtc::Image};

/// Six buffers to be read, two to be written, eight scalars.
type Sixteen = (
    Read<f32>,
    Read<f64>,
    Read<i32>,
    Read<u8>,
    Read<u64>,
    Read<i16>,
    Write<f64>,
    Write<u32>,
    f32,
    f64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64,
);

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

    let mut buffer = Some(device.zeros::<f32>(1).unwrap().into_buffer());
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

    let (a, b) = (device.zeros::<f32>(1).unwrap().into_buffer(), device.zeros::<f32>(1).unwrap().into_buffer());
    let mut target = Some(device.zeros::<f32>(1).unwrap().into_buffer());
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
    launches(bench);
    chains(bench);
}

/// Kernels launched through their typed handles: what checking and ordering the arguments adds.
fn launches(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let stream = raw.stream();
    let events: Vec<_> = (0..BATCH).map(|_| raw.event(NO_TIMING)).collect();
    let module = device.nvrtc().load(&Image::ptx(PTX).unwrap()).unwrap();
    let one = LaunchConfig::new(1, 1);

    // SAFETY: the kernel's parameters; it stays below the length.
    let add_one = unsafe { module.kernel("add_one_f32").unwrap().typed::<(Write<f32>, Len)>() }.unwrap();
    let mut buffer = Some(device.zeros::<f32>(1).unwrap().into_buffer());
    let chained = || {
        let next = |x| add_one.launch(one, (x, Len)).unwrap();
        let mut x = buffer.take();
        let sample = timed(BATCH, || x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x).into_output())));
        buffer = Some(next(x.unwrap()).await_result().unwrap());
        sample
    };
    let memory = raw.upload(&[0f32], stream);
    let (mut address, mut count) = (memory.address, 1u64);
    let of_raw = || {
        let mut args = [(&raw mut address).cast(), (&raw mut count).cast()];
        let sample = timed(BATCH, || {
            for event in &events {
                raw.launch(raw.add_one, stream, &mut args);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    bench.pair("launch of a typed kernel, 2 arguments, chained", Unit::Ns, Goal::Over(300.0), 300, chained, of_raw);

    // SAFETY: the kernel's parameters; it touches nothing.
    let sixteen = unsafe { module.kernel("sixteen").unwrap().typed::<Sixteen>() }.unwrap();
    let reads = (zeros::<f32>(&device), zeros::<f64>(&device), zeros::<i32>(&device));
    let others = (zeros::<u8>(&device), zeros::<u64>(&device), zeros::<i16>(&device));
    let mut written = Some((zeros::<f64>(&device), zeros::<u32>(&device)));
    let chained = || {
        let next = |(g, h)| {
            let ((a, b, c), (d, e, f)) = (&reads, &others);
            sixteen.launch(one, (a, b, c, d, e, f, g, h, 1f32, 2f64, 3u8, 4u16, 5u32, 6u64, 7f32, 8f64)).unwrap()
        };
        let mut x = written.take();
        let sample = timed(BATCH, || x = Some((0..BATCH).fold(x.take().unwrap(), |x, _| next(x).into_output())));
        written = Some(next(x.unwrap()).await_result().unwrap());
        sample
    };
    let (mut addresses, mut values) = ([memory.address; 8], [1u64; 8]);
    let of_raw = || {
        let buffers = addresses.iter_mut().map(|address| std::ptr::from_mut(address).cast());
        let mut args: Vec<_> = buffers.chain(values.iter_mut().map(|value| std::ptr::from_mut(value).cast())).collect();
        let sample = timed(BATCH, || {
            for event in &events {
                raw.launch(raw.sixteen, stream, &mut args);
                raw.record(*event, stream);
            }
        });
        raw.settle();
        sample
    };
    bench.pair("launch of a typed kernel, 16 arguments, chained", Unit::Ns, Goal::Over(300.0), 300, chained, of_raw);
}

fn zeros<T: Element>(device: &Device) -> DeviceBuffer<T> {
    device.zeros(1).unwrap().into_buffer()
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

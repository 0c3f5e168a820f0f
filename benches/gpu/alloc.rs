//! Device memory: making and dropping buffers in a steady state.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::ops::{Empty, EmptyOn};
use crate::raw::NO_TIMING;
use std::hint::black_box;

const BATCH: usize = 64;

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
    for (bytes, text) in [(4 << 10, "4 KiB"), (1 << 20, "1 MiB")] {
        let ours = || timed(BATCH, || (0..BATCH).for_each(|_| drop(black_box(device.uninit::<u8>(bytes).unwrap()))));
        let floor = || {
            let sample =
                timed(BATCH, || (0..BATCH).for_each(|_| raw.free(black_box(raw.alloc(bytes, stream)), stream)));
            raw.settle();
            sample
        };
        bench.pair(&format!("alloc + free of {text}, one slot"), Unit::Ns, Goal::Over(200.0), 200, ours, floor);
    }

    let elements = 1024;
    let ours = || {
        let sample = timed(BATCH, || {
            for _ in 0..BATCH {
                let x = device.zeros::<f32>(elements).unwrap();
                drop(device.dispatch(EmptyOn, (), (x.into_buffer(),)).unwrap());
            }
        });
        device.dispatch(Empty, (), ()).unwrap().await_result().unwrap();
        sample
    };
    let floor = || {
        let sample = timed(BATCH, || {
            for _ in 0..BATCH {
                let address = raw.alloc(elements * size_of::<f32>(), stream);
                raw.zero(address, elements, stream);
                raw.record(event, stream);
                raw.launch_empty(stream);
                raw.record(event, stream);
                raw.free(address, stream);
            }
        });
        raw.settle();
        sample
    };
    bench.pair("a temporary: alloc, fill, empty kernel, free (4 KiB)", Unit::Ns, Goal::None, 200, ours, floor);
}

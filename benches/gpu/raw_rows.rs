//! What the driver itself takes, by one thread and by sixteen at once: the costs that the CUDA engine is designed
//! around. Nothing of windlass is in these rows.

use crate::harness::{Bench, Lap, Unit, lap, median, per_op, timed};
use crate::raw::{Blas, Cublas, Memory, NO_TIMING, NO_TIMING_BLOCKING, Raw, ok};
use cudarc::driver::sys::{CUevent, CUstream};
use std::hint::black_box;

const OPS: usize = 256;
/// Longer than the slowest batch takes.
const BUSY_NS: u64 = 10_000_000;

struct State {
    stream: CUstream,
    other: CUstream,
    past: CUevent,
    open: CUevent,
    spare: CUevent,
    blocking: CUevent,
    flag: Memory,
}

impl State {
    fn new(raw: &Raw) -> Self {
        let (stream, other) = (raw.stream(), raw.stream());
        let past = raw.event(NO_TIMING);
        raw.launch_empty(other);
        raw.record(past, other);
        raw.synchronize(past);
        let (open, spare, blocking) = (raw.event(NO_TIMING), raw.event(NO_TIMING), raw.event(NO_TIMING_BLOCKING));
        State { stream, other, past, open, spare, blocking, flag: Memory::new(raw, 256, stream) }
    }

    /// Makes `open` an event that is not over for a while, runs the batch, and waits until it is.
    fn while_busy(&self, raw: &Raw, batch: impl FnOnce()) -> Lap {
        raw.launch_busy(self.other, BUSY_NS);
        raw.record(self.open, self.other);
        let lap = lap(batch);
        self.settle(raw);
        lap
    }

    fn settle(&self, raw: &Raw) {
        // SAFETY: both streams are alive.
        unsafe {
            ok((raw.driver.stream_synchronize)(self.other));
            ok((raw.driver.stream_synchronize)(self.stream));
        }
    }
}

pub(crate) fn run(bench: &mut Bench) {
    for threads in [1, 16] {
        driver(bench, threads);
    }
    without_context(bench);
    handles(bench);
}

type WriteValue = unsafe extern "C" fn(CUstream, u64, u32, u32) -> i32;
/// One kind of call.
type Side<'a> = (&'a str, Box<dyn Fn(&mut State) -> Lap + Sync + 'a>);

fn driver(bench: &mut Bench, threads: usize) {
    let (raw, simulated) = (bench.raw, bench.tiny);
    let settled = |s: &State, batch: &dyn Fn()| {
        let lap = lap(batch);
        s.settle(&raw);
        lap
    };
    let times = |f: &dyn Fn()| (0..OPS).for_each(|_| f());
    // SAFETY: streams and events of the state are alive; it is the only user of them.
    let wait = |s: &State, event| ok(unsafe { (raw.driver.stream_wait_event)(s.stream, event, 0) });
    let mut sides: Vec<Side<'_>> = vec![
        ("launch", Box::new(|s| settled(s, &|| times(&|| raw.launch_empty(s.stream))))),
        (
            "launch + record",
            Box::new(|s| {
                settled(s, &|| {
                    times(&|| {
                        raw.launch_empty(s.stream);
                        raw.record(s.spare, s.stream)
                    })
                })
            }),
        ),
        ("record", Box::new(|s| settled(s, &|| times(&|| raw.record(s.spare, s.stream))))),
        ("record, blocking event", Box::new(|s| settled(s, &|| times(&|| raw.record(s.blocking, s.stream))))),
        ("event query, past", Box::new(|s| lap(|| times(&|| _ = black_box(raw.is_past(s.past)))))),
        (
            "event query, not ready",
            Box::new(|s| {
                s.while_busy(&raw, || {
                    times(&|| assert!(!raw.is_past(s.open) || simulated, "the kernel ended too early"))
                })
            }),
        ),
        ("stream wait for a past event of another stream", Box::new(|s| settled(s, &|| times(&|| wait(s, s.past))))),
        (
            "stream wait for an open event of another stream",
            Box::new(|s| s.while_busy(&raw, || times(&|| wait(s, s.open)))),
        ),
        (
            "alloc + free of 4 KiB, one stream",
            Box::new(|s| settled(s, &|| times(&|| raw.free(raw.alloc(4096, s.stream), s.stream)))),
        ),
        (
            "alloc, record, wait elsewhere, free there",
            Box::new(|s| {
                settled(s, &|| {
                    times(&|| {
                        let address = raw.alloc(4096, s.other);
                        raw.record(s.spare, s.other);
                        wait(s, s.spare);
                        raw.free(address, s.stream);
                    })
                })
            }),
        ),
        (
            "round trip: launch + record + loop of queries",
            Box::new(|s| {
                lap(|| {
                    times(&|| {
                        raw.launch_empty(s.stream);
                        raw.record(s.spare, s.stream);
                        while !raw.is_past(s.spare) {}
                    })
                })
            }),
        ),
    ];
    let flag = State::new(&raw);
    // SAFETY: the flag is 256 bytes of the device.
    let writes = |write: &WriteValue| unsafe { write(flag.stream, flag.flag.address, 1, 0) } == 0;
    if let Some(write) = raw.driver.stream_write_value.filter(writes) {
        sides.push((
            "stream write-value",
            Box::new(move |s| {
                // SAFETY: the flag is 256 bytes of the device.
                settled(s, &|| times(&|| ok(unsafe { write(s.stream, s.flag.address, 1, 0) })))
            }),
        ));
    }
    for (name, side) in &sides {
        let name = format!("{name}, {threads} threads");
        if !bench.wants(&name) {
            continue;
        }
        let laps = bench.crew(threads, 12, |_| State::new(&raw), &[&**side]);
        let samples: Vec<f64> = laps[0].iter().map(|round| per_op(round, OPS)).collect();
        bench.floor_value(&name, Unit::Ns, median(&samples));
    }
}

/// Which calls work on a thread without a current context, and what they take there. An error is a result too: then a
/// caller on any thread has to bind the context first.
fn without_context(bench: &mut Bench) {
    let raw = bench.raw;
    let state = State::new(&raw);
    let (stream, spare, open) = (state.stream, state.spare, state.open);
    let driver = raw.driver;
    // SAFETY: streams and events are alive; the kernel has no parameters.
    let calls: [(&str, &dyn Fn() -> i32); 5] = unsafe {
        [
            ("event query, past", &|| (driver.event_query)(state.past)),
            ("event query, not ready", &|| (driver.event_query)(open)),
            ("record", &|| (driver.event_record)(spare, stream)),
            ("stream wait for a past event", &|| (driver.stream_wait_event)(stream, state.past, 0)),
            ("launch", &|| {
                let none = std::ptr::null_mut();
                (driver.launch_kernel)(raw.empty, 1, 1, 1, 1, 1, 1, 0, stream, none, none)
            }),
        ]
    };
    for (name, call) in calls {
        let name = format!("{name}, no context current");
        if !bench.wants(&name) {
            continue;
        }
        raw.launch_busy(state.other, BUSY_NS);
        raw.record(open, state.other);
        raw.leave();
        let first = call();
        let sample = timed(OPS, || (0..OPS).for_each(|_| _ = black_box(call())));
        raw.enter();
        state.settle(&raw);
        match first {
            0 | 600 => bench.floor_value(&name, Unit::Ns, sample),
            code => bench.skip(&name, &format!("it answers {code}")),
        }
    }
    // What `bind` costs on such a thread: set and put back.
    let pair = || {
        timed(OPS, || {
            for _ in 0..OPS {
                raw.leave();
                raw.enter();
            }
        })
    };
    bench.floor("context set to null and back, both", Unit::Ns, 20, pair);
}

/// What library handles cost.
fn handles(bench: &mut Bench) {
    let raw = bench.raw;
    let name = "cublasCreate, one more handle";
    if !bench.wants(name) {
        return;
    }
    let (api, stream) = (Cublas::load(), raw.stream());
    let first = Blas::new(&raw, stream); // the process's first handle loads the library's kernels
    let mut made = Vec::new();
    let free = raw.free_bytes();
    let times: Vec<f64> = (0..8)
        .map(|_| {
            timed(1, || {
                let mut handle = std::ptr::null_mut();
                // SAFETY: the pointer is valid for the write; the context is current.
                ok(unsafe { (api.create)(&mut handle) });
                made.push(handle);
            }) / 1e3
        })
        .collect();
    let bytes = free.saturating_sub(raw.free_bytes()) as f64 / made.len() as f64;
    bench.floor_value(name, Unit::Us, median(&times));
    bench.floor_value("cublasCreate, memory of the GPU for one more", Unit::MiB, bytes / f64::from(1 << 20));
    let destroyed: Vec<f64> = made
        .into_iter()
        // SAFETY: made above, destroyed once.
        .map(|handle| timed(1, || ok(unsafe { (api.destroy)(handle) })) / 1e3)
        .collect();
    bench.floor_value("cublasDestroy", Unit::Us, median(&destroyed));
    drop(first);
}

//! Scalar results: the device writes them, a copy brings them, the host waits.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Blas, Memory, NO_TIMING, ok};
use std::ffi::c_void;

const N: usize = 1024;
const BATCH: usize = 16;

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let (stream, event) = (raw.stream(), raw.event(NO_TIMING));
    let mut random = Random(4);
    let (x, y) = (random.floats(N), random.floats(N));
    let exact: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let upload = |data: &[f32]| device.upload(data).unwrap().await_result().unwrap();
    let (ours_x, ours_y) = (upload(&x), upload(&y));
    let (raw_x, raw_y) = (raw.upload(&x, stream), raw.upload(&y, stream));
    let (result, landing) = (Memory::new(&raw, 256, stream), raw.pinned(64).cast::<f32>());
    let blas = Blas::new(&raw, stream);
    blas.pointer_mode(1);

    let mut answers = (0f32, 0f32);
    let ours = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                answers.0 = device.blas().dot(&ours_x, &ours_y).unwrap().await_result().unwrap();
            }
        })
    };
    let floor = || {
        timed(BATCH, || {
            for _ in 0..BATCH {
                let (x, y) = (raw_x.address as *const c_void, raw_y.address as *const c_void);
                // SAFETY: both vectors have N elements; the result goes to memory of the device, the handle's scalars
                // are there, and from there to pinned memory.
                unsafe {
                    let dot = blas.api.dot_ex;
                    ok(dot(blas.handle, N as i64, x, 0, 1, y, 0, 1, result.address as *mut c_void, 0, 0));
                    ok((raw.driver.memcpy_dtoh_async)(landing.cast(), result.address, size_of::<f32>(), stream));
                }
                raw.record(event, stream);
                while !raw.is_past(event) {}
                // SAFETY: the copy is over.
                answers.1 = unsafe { landing.read_volatile() };
            }
        })
    };
    bench.pair("dot of 1024 f32, round trip", Unit::Ns, Goal::None, 200, ours, floor);
    if bench.wants("dot of 1024 f32, round trip") {
        for answer in [answers.0, answers.1] {
            assert!((f64::from(answer) - exact).abs() < 1e-3, "the dot product is {answer}, not {exact}");
        }
    }
    // SAFETY: from `pinned`; the last copy into it is over.
    ok(unsafe { (raw.driver.mem_free_host)(landing.cast()) });
}

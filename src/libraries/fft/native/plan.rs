//! Plans of the library.
//!
//! A plan has state: its stream and its work area are set before every execution, which costs nothing, so one plan
//! serves all streams. Its lock is held only for these three calls, and every execution has its own work area. Twiddle
//! factors and similar tables are device memory that the library allocates itself, which our pool does not see.
//!
//! Making a plan waits for the GPU and blocks launches of other threads: the first of a process took 160 ms on an H200,
//! the first of a size 50 to 130 ms, one made again 0.3 to 2 ms. So the device makes it on a helper thread, once for
//! all threads that need it, when the first transform of its kind is submitted or ahead by
//! [`Fft::prepare`](crate::fft::Fft::prepare), and keeps it.

use super::functions::CufftFunctions;
use super::handle::Cufft;
use super::steps::{Layouts, Many, Number, Precision};
use crate::core::error::Result;
use crate::core::sync::Mutex;
use crate::engines::cuda::Queue;
use crate::engines::cuda_enqueue::PlanBuilder;
use crate::engines::library::{Object, Refusal};
use crate::engines::op::{Built, PlanKey};
use std::ffi::{c_int, c_void};

/// A plan.
pub(in super::super) struct Plan {
    raw: Object<c_int>,
    /// Bytes of the work area of an execution.
    work: usize,
    lock: Mutex<()>,
}

/// `cudaDataType`.
fn data_type(number: Number) -> u32 {
    match (number.precision, number.complex) {
        (Precision::F32, false) => 0,
        (Precision::F64, false) => 1,
        (Precision::F16, false) => 2,
        (Precision::F32, true) => 4,
        (Precision::F64, true) => 5,
        (Precision::F16, true) => 6,
        (Precision::Bf16, false) => 14,
        (Precision::Bf16, true) => 15,
    }
}

/// An estimate of a plan's device memory: twiddle factors for each axis, several times as many for a length with a
/// large factor (Bluestein's method), and the least that the library allocates.
fn estimate(key: &Layouts) -> usize {
    let of = |n: i64| {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let mut rest = n;
        for factor in [2, 3, 5, 7, 11, 13] {
            while rest > 1 && rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        n.saturating_mul(2 * key.precision.bytes()).saturating_mul(if rest > 127 { 5 } else { 1 })
    };
    key.n.iter().map(|n| of(*n)).fold(2 << 20, usize::saturating_add)
}

/// Makes a plan: its number, and the bytes of its work area.
fn make(api: &CufftFunctions, key: &Layouts) -> Result<(c_int, usize), Refusal> {
    let mut raw: c_int = 0;
    // SAFETY: `raw` is valid for the write; the context is current.
    unsafe { api.create(&mut raw) }.by("cufftCreate")?;
    let made = make_it(api, key, raw);
    if made.is_err() {
        // The plan could not be made: what destroying it returns does not matter. SAFETY: created above, destroyed
        // once.
        let _ = unsafe { api.destroy(raw) };
    }
    made.map(|work| (raw, work))
}

fn make_it(api: &CufftFunctions, key: &Layouts, raw: c_int) -> Result<usize, Refusal> {
    let (input, output) = key.numbers();
    let computed = Number { complex: true, ..input };
    let (mut n, mut work) = (key.n, 0usize);
    let (Many { embed: mut from, .. }, Many { embed: mut to, .. }) = (key.input, key.output);
    // SAFETY: the plan was created and not made yet.
    unsafe { api.set_auto_allocation(raw, 0) }.by("cufftSetAutoAllocation")?;
    // SAFETY: as above; the arrays hold `rank` sizes, at most three, and are read during the call.
    unsafe {
        api.make_plan_many(
            raw,
            key.rank as c_int,
            n.as_mut_ptr(),
            from.as_mut_ptr(),
            key.input.stride,
            key.input.dist,
            data_type(input),
            to.as_mut_ptr(),
            key.output.stride,
            key.output.dist,
            data_type(output),
            key.batch,
            &mut work,
            data_type(computed),
        )
    }
    .by("cufftXtMakePlanMany")?;
    Ok(work)
}

impl Plan {
    /// Enqueues the transform on the queue's stream.
    pub(super) fn exec(
        &self,
        queue: &mut Queue<'_>,
        api: &'static CufftFunctions,
        (from, to): (u64, u64),
        inverse: bool,
    ) -> Result<()> {
        let area = queue.workspace(self.work)?;
        let stream = queue.stream();
        let direction = if inverse { 1 } else { -1 };
        let done = {
            let _set = self.lock.lock();
            self.enqueue(api, stream, area, (from, to), direction)
        };
        done.map_err(|(call, code): Refusal| queue.failure::<Cufft>(call, code))
    }

    fn enqueue(
        &self,
        api: &'static CufftFunctions,
        stream: cudarc::driver::sys::CUstream,
        area: u64,
        (from, to): (u64, u64),
        direction: c_int,
    ) -> Result<(), Refusal> {
        // SAFETY: the plan is made, alive and locked; the stream is leased.
        unsafe { api.set_stream(*self.raw, stream) }.by("cufftSetStream")?;
        // SAFETY: as above; the area has the bytes that the plan needs, and belongs to this stream or this dispatch.
        unsafe { api.set_work_area(*self.raw, area as *mut c_void) }.by("cufftSetWorkArea")?;
        // SAFETY: as above; both sides hold what the plan reads and writes (the op's check, and the sizes of scratch), and
        // live until this work is done.
        unsafe { api.exec(*self.raw, from as *mut c_void, to as *mut c_void, direction) }.by("cufftXtExec")
    }
}

impl PlanKey for Layouts {
    type Plan = Plan;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Plan>> {
        let api = builder.api::<Cufft>()?;
        let (raw, work) = make(api, self).map_err(|(call, code)| builder.failure::<Cufft>(call, code))?;
        // SAFETY: made above; the epoch destroys it once, when nothing uses it.
        let raw = builder.object(raw, move |raw| unsafe { api.destroy(raw) })?;
        // The kernels of all plans find their tables by a pointer in device memory. An H100 with cuFFT 12.0 showed them reading
        // there at an illegal address, when devices of one process were opened and closed. What fits it: the first plan of
        // a context uploads the tables on a default stream without waiting, and on a busy GPU a transform overtakes that.
        builder.finish_default_streams("cufftXtMakePlanMany")?;
        Ok(Built { plan: Plan { raw, work, lock: Mutex::new(()) }, bytes: estimate(self) as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::fft::Kind;

    #[test]
    fn a_plan_with_a_large_factor_is_thought_to_take_more_memory() {
        let side = Many { embed: [1; 3], stride: 1, dist: 1 };
        let key = |n: i64| Layouts {
            kind: Kind::C2c,
            precision: Precision::F32,
            rank: 1,
            n: [n, 1, 1],
            input: side,
            output: side,
            batch: 1,
        };
        assert!(estimate(&key(1 << 20)) < 12 << 20);
        assert!((35 << 20..50 << 20).contains(&estimate(&key(1_000_003))), "{}", estimate(&key(1_000_003)));
    }
}

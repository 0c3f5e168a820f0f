//! Both passes.

use super::super::super::recurrent::{Recur, RecurBackward, RecurrentProblem};
use super::super::descriptor::Refused;
use super::super::functions::RawHandle;
use super::super::graph::{F32, data_type};
use super::super::handle::Cudnn;
use super::super::plan::{aligned, settle, target};
use super::functions::{RawData, RawTensor, RecurrentFunctions};
use super::plan::{Key, Plan};
use super::steps;
use crate::core::buffer::AnySpan;
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::library::Code;
use crate::engines::op::Prepare;
use crate::libraries::tensor_routine::missing;

pub(in super::super::super) fn prepare(problem: &RecurrentProblem, is_backward: bool, plans: &mut Prepare<'_>) {
    if problem.is_empty() {
        return;
    }
    if problem.net.is_own() {
        // What is wrong is said when it is enqueued.
        let _ = steps::prepare(problem, is_backward, plans);
        return;
    }
    plans.plan(&Key::new(problem));
}

fn int(n: usize) -> i32 {
    // The sizes were checked.
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Descriptions of a call. Dropping them frees them, which makes no driver call.
struct Described {
    api: &'static RecurrentFunctions,
    x: RawData,
    y: RawData,
    h: RawTensor,
    c: RawTensor,
}

impl Drop for Described {
    fn drop(&mut self) {
        for data in [self.x, self.y].into_iter().filter(|data| *data != RawData::NULL) {
            // SAFETY: made by the library, and only `self` has it.
            let _ = unsafe { self.api.data_destroy(data) };
        }
        for tensor in [self.h, self.c].into_iter().filter(|tensor| *tensor != RawTensor::NULL) {
            // SAFETY: as above.
            let _ = unsafe { self.api.tensor_destroy(tensor) };
        }
    }
}

impl Described {
    fn new(plan: &Plan, problem: &RecurrentProblem) -> Result<Self, Refused> {
        let (api, net) = (plan.api, &problem.net);
        let told = |call: &'static str, code: Code| code.ok().map_err(|code| Refused::new(plan.dnn, call, code));
        let mut all = Described { api, x: RawData::NULL, y: RawData::NULL, h: RawTensor::NULL, c: RawTensor::NULL };
        let whole = vec![int(problem.time); if problem.lengths.is_some() { 0 } else { problem.batch }];
        let lengths = problem.lengths.as_ref().unwrap_or(&whole);
        let of = data_type(net.dtype).unwrap_or(F32);
        let (time, batch) = (int(problem.time), int(problem.batch));
        for (data, width) in [(&mut all.x, net.input), (&mut all.y, net.directions() * net.state())] {
            // SAFETY: the place is valid for the write.
            told("cudnnCreateRNNDataDescriptor", unsafe { api.data_create(data) })?;
            const STEPS_FIRST: i32 = 0;
            let mut zero = 0u64;
            let (lengths, fill) = (lengths.as_ptr(), (&raw mut zero).cast());
            // SAFETY: the description is alive; there is a length for each sequence; a zero of any type has at most 8 bytes.
            let code = unsafe { api.data_set(*data, of, STEPS_FIRST, time, batch, int(width), lengths, fill) };
            told("cudnnSetRNNDataDescriptor", code)?;
        }
        let layers = net.layers * net.directions();
        for (tensor, width) in [(&mut all.h, net.state()), (&mut all.c, net.hidden)] {
            // SAFETY: the place is valid for the write.
            told("cudnnCreateTensorDescriptor", unsafe { api.tensor_create(tensor) })?;
            let extents = [int(layers), batch, int(width)];
            let strides = [int(problem.batch.saturating_mul(width)), int(width), 1];
            // SAFETY: the description is alive; both have three elements.
            let code = unsafe { api.tensor_set(*tensor, of, 3, extents.as_ptr(), strides.as_ptr()) };
            told("cudnnSetTensorNdDescriptor", code)?;
        }
        Ok(all)
    }
}

/// A call that is ready: the handle of the slot, the descriptions, and the memory that the library wants.
struct Ready {
    handle: RawHandle,
    described: Described,
    workspace: (usize, u64),
    reserve: usize,
}

/// # Safety
/// The plan is locked.
unsafe fn ready(plan: &Plan, compared: &mut bool, problem: &RecurrentProblem, queue: &mut Queue<'_>) -> Result<Ready> {
    let (_, handle) = queue.library::<Cudnn>()?;
    let handle = handle.0;
    let told = |queue: &mut Queue<'_>, refused: Refused| queue.failure::<Cudnn>(&refused.text(), refused.code);
    if !*compared {
        // SAFETY: the handle is this slot's, whose lease is held; the caller's promise.
        unsafe { plan.compare(&problem.net, handle) }?.map_err(|refused| told(queue, refused))?;
        *compared = true;
    }
    let most = problem.batch.checked_mul(problem.net.state().max(problem.net.hidden));
    if most.and_then(|most| i32::try_from(most).ok()).is_none() {
        let what = format!(
            "states of {} sequences and {} elements: cuDNN counts them in 31 bits",
            problem.batch, problem.net.hidden
        );
        return Err(Error::unsupported(what));
    }
    let described = Described::new(plan, problem).map_err(|refused| told(queue, refused))?;
    let (mut bytes, mut reserve) = (0, 0);
    let training = i32::from(problem.reserve > 0);
    // SAFETY: as above; the places are valid for the writes.
    let code = unsafe { plan.api.spaces(handle, plan.net.0, training, described.x, &mut bytes, &mut reserve) };
    let spaces = code.ok().map_err(|code| Refused::new(plan.dnn, "cudnnGetRNNTempSpaceSizes", code));
    spaces.map_err(|refused| told(queue, refused))?;
    let there = problem.reserve.saturating_mul(problem.net.sums().size());
    if training == 0 {
        reserve = 0;
    }
    if reserve > there {
        let what =
            format!("a training by cuDNN {} that keeps {reserve} bytes, where {there} were expected", plan.dnn.version);
        return Err(Error::unsupported(what));
    }
    let workspace = (bytes, queue.workspace(bytes)?);
    Ok(Ready { handle, described, workspace, reserve })
}

/// Copies an operand, or fills with zeros where there is none.
fn carry(queue: &mut Queue<'_>, to: &AnySpan, from: Option<&AnySpan>) -> Result<()> {
    match from {
        // SAFETY: the operands of this dispatch, which have as many bytes (the op's check).
        Some(from) => unsafe { queue.copy(to.address(), from.address(), to.bytes()) },
        // SAFETY: the operand that is written.
        None => unsafe { queue.fill(to.address(), to.bytes(), &[0]) },
    }
}

/// The library writes zeros as the last states of sequences of no steps: they are the initial ones. (And likewise back.)
///
/// # Safety
/// The operands are states, or cells, of the problem.
unsafe fn restore(
    problem: &RecurrentProblem,
    queue: &mut Queue<'_>,
    to: &AnySpan,
    from: Option<&AnySpan>,
) -> Result<()> {
    let (Some(lengths), Some(from)) = (&problem.lengths, from) else { return Ok(()) };
    let layers = problem.net.layers * problem.net.directions();
    let (ld, mut first) = (to.bytes() / layers.max(1), 0);
    for run in lengths.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        let (start, bytes) = (first * (ld / problem.batch), run.len() * (ld / problem.batch));
        first += run.len();
        if run.first() == Some(&0) {
            let at = |span: &AnySpan| (span.address() + start as u64, ld);
            // SAFETY: the states of a run of sequences in each layer (the caller's promise).
            unsafe { queue.copy_columns(at(to), at(from), bytes, layers) }?;
        }
    }
    Ok(())
}

/// The operands in their order, of which the initial ones may be missing.
struct Initial<'s> {
    h: Option<&'s AnySpan>,
    c: Option<&'s AnySpan>,
}

impl<'s> Initial<'s> {
    fn next(there: [bool; 2], reads: &mut impl Iterator<Item = &'s AnySpan>) -> Self {
        let [h, c] = there.map(|there| if there { reads.next() } else { None });
        Initial { h, c }
    }

    /// Their addresses; 0 for zeros.
    fn addresses(&self, queue: &mut Queue<'_>) -> Result<[u64; 2]> {
        let mut all = [0; 2];
        for (to, span) in all.iter_mut().zip([self.h, self.c]) {
            if let Some(span) = span {
                *to = aligned(queue, span)?;
            }
        }
        Ok(all)
    }
}

pub(in super::super::super) fn forward(problem: &RecurrentProblem, queue: &mut Enqueue<'_, Recur>) -> Result<()> {
    let (reads, writes) = (queue.reads(), queue.writes());
    let mut reads = reads.iter();
    let (x, parameters) = (reads.next().ok_or_else(missing)?, reads.next().ok_or_else(missing)?);
    let initial = Initial::next(problem.initial, &mut reads);
    let [y, h, c, reserve @ ..] = &writes[..] else { return Err(missing()) };
    if problem.is_empty() {
        carry(queue, y, None)?;
        carry(queue, h, initial.h)?;
        return carry(queue, c, initial.c);
    }
    if problem.net.is_own() {
        let from = steps::Reads { x, parameters, initial: [initial.h, initial.c] };
        steps::forward(problem, &from, [y, h, c], reserve.first().map(AnySpan::address), queue)?;
        // SAFETY: states and cells (the op's check).
        return unsafe {
            restore(problem, queue, h, initial.h)?;
            restore(problem, queue, c, initial.c)
        };
    }
    let [x, w] = [aligned(queue, x)?, aligned(queue, parameters)?];
    let [h0, c0] = initial.addresses(queue)?;
    let to = [target(queue, y)?, target(queue, h)?, if problem.net.is_lstm() { target(queue, c)? } else { 0 }];
    let kept = reserve.first().map_or(0, AnySpan::address);
    let weight_bytes = parameters.bytes();
    let plan = queue.plan::<Key>(0)?;
    {
        let mut compared = plan.compared.lock();
        // SAFETY: it is locked.
        let ready = unsafe { ready(plan, &mut compared, problem, queue) }?;
        let Ready { handle, described: d, workspace: (bytes, area), reserve } = &ready;
        let training = i32::from(problem.reserve > 0);
        // SAFETY: the handle is this slot's, whose lease is held; the plan is locked; all addresses are those of operands of this
        // dispatch, of the described sizes (the op's check), or of copies of them; workspace and reserve have as many bytes.
        let code = unsafe {
            plan.api.forward(
                *handle,
                plan.net.0,
                training,
                0,
                d.x,
                x,
                d.y,
                to[0],
                d.h,
                h0,
                to[1],
                d.c,
                c0,
                to[2],
                weight_bytes,
                w,
                *bytes,
                *area,
                *reserve,
                kept,
            )
        };
        let done = code.ok().map_err(|code| Refused::new(plan.dnn, "cudnnRNNForward", code));
        done.map_err(|refused| queue.failure::<Cudnn>(&refused.text(), refused.code))?;
    }
    for (span, to) in [y, h, c].into_iter().zip(to) {
        if to != 0 {
            // SAFETY: the address is that of `target`.
            unsafe { settle(queue, span, to) }?;
        }
    }
    // SAFETY: states and cells (the op's check).
    unsafe {
        restore(problem, queue, h, initial.h)?;
        restore(problem, queue, c, initial.c)
    }
}

pub(in super::super::super) fn backward(
    problem: &RecurrentProblem,
    given: [bool; 2],
    queue: &mut Enqueue<'_, RecurBackward>,
) -> Result<()> {
    let (reads, writes) = (queue.reads(), queue.writes());
    let mut reads = reads.iter();
    let (x, parameters) = (reads.next().ok_or_else(missing)?, reads.next().ok_or_else(missing)?);
    let initial = Initial::next(problem.initial, &mut reads);
    let (y, dy) = (reads.next().ok_or_else(missing)?, reads.next().ok_or_else(missing)?);
    let last = Initial::next(given, &mut reads);
    let [kept, dx, dw, dh0, dc0] = &writes[..] else { return Err(missing()) };
    if problem.is_empty() {
        carry(queue, dx, None)?;
        carry(queue, dw, None)?;
        carry(queue, dh0, last.h)?;
        return carry(queue, dc0, last.c);
    }
    if problem.net.is_own() {
        let from = steps::Reads { x, parameters, initial: [initial.h, initial.c] };
        let given = steps::Given { dy, last: [last.h, last.c] };
        steps::backward(problem, &from, &given, kept.address(), [dx, dw, dh0, dc0], queue)?;
        // SAFETY: as in `forward`.
        return unsafe {
            restore(problem, queue, dh0, last.h)?;
            restore(problem, queue, dc0, last.c)
        };
    }
    let [x, w, y, dy] = [aligned(queue, x)?, aligned(queue, parameters)?, aligned(queue, y)?, aligned(queue, dy)?];
    let ([h0, c0], [dh, dc]) = (initial.addresses(queue)?, last.addresses(queue)?);
    let to_dc = if problem.net.is_lstm() { target(queue, dc0)? } else { 0 };
    let to = [target(queue, dx)?, target(queue, dw)?, target(queue, dh0)?, to_dc];
    let [to_dx, to_dw, to_dh, _] = to;
    // The library adds to the gradients of the parameters, and leaves what is behind the ends of sequences.
    // SAFETY: the operand that is written, or scratch memory in its place.
    unsafe { queue.fill(to_dw, dw.bytes(), &[0]) }?;
    if problem.lengths.is_some() {
        // SAFETY: as above.
        unsafe { queue.fill(to_dx, dx.bytes(), &[0]) }?;
    }
    let (weight_bytes, kept) = (parameters.bytes(), kept.address());
    let plan = queue.plan::<Key>(0)?;
    {
        let mut compared = plan.compared.lock();
        // SAFETY: it is locked.
        let ready = unsafe { ready(plan, &mut compared, problem, queue) }?;
        let Ready { handle, described: d, workspace: (bytes, area), reserve } = &ready;
        // SAFETY: as in `forward`.
        let code = unsafe {
            plan.api.backward_data(
                *handle,
                plan.net.0,
                0,
                d.y,
                y,
                dy,
                d.x,
                to_dx,
                d.h,
                h0,
                dh,
                to_dh,
                d.c,
                c0,
                dc,
                to_dc,
                weight_bytes,
                w,
                *bytes,
                *area,
                *reserve,
                kept,
            )
        };
        let mut done = code.ok().map_err(|code| Refused::new(plan.dnn, "cudnnRNNBackwardData_v8", code));
        if done.is_ok() {
            const ADD: i32 = 0;
            // SAFETY: as in `forward`; it follows the other call on the same reserve.
            let code = unsafe {
                plan.api.backward_weights(
                    *handle,
                    plan.net.0,
                    ADD,
                    0,
                    d.x,
                    x,
                    d.h,
                    h0,
                    d.y,
                    y,
                    weight_bytes,
                    to_dw,
                    *bytes,
                    *area,
                    *reserve,
                    kept,
                )
            };
            done = code.ok().map_err(|code| Refused::new(plan.dnn, "cudnnRNNBackwardWeights_v8", code));
        }
        done.map_err(|refused| queue.failure::<Cudnn>(&refused.text(), refused.code))?;
    }
    for (span, to) in [dx, dw, dh0, dc0].into_iter().zip(to) {
        if to != 0 {
            // SAFETY: the address is that of `target`.
            unsafe { settle(queue, span, to) }?;
        }
    }
    // SAFETY: as in `forward`.
    unsafe {
        restore(problem, queue, dh0, last.h)?;
        restore(problem, queue, dc0, last.c)
    }
}

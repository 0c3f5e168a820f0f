//! Reductions in the order of the ranks, for [`deterministic`](crate::collective::Communicator::deterministic): each rank
//! gets its share of the elements of all ranks, combines them by our own kernel, and hands the result on.

use super::enqueue::Calls;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use crate::libraries::collective::combine::How;
use crate::libraries::collective::numbers::scalars;
use crate::libraries::collective::spec::{Kind, Layout, Place, Spec};

/// Also run by the PTX machine, against the host half.
pub(super) static KERNELS: Ptx = Ptx::new(include_str!("ordered.ptx"));

/// Whether the order matters: not for integers, nor for the largest and the smallest.
pub(super) fn is_needed(spec: &Spec) -> bool {
    let rounds = matches!(scalars(spec.dtype).0, DType::F16 | DType::Bf16 | DType::F32 | DType::F64);
    let how = spec.reduction.as_ref().map(|reduction| reduction.how);
    rounds && !matches!(how, None | Some(How::Max | How::Min))
}

/// The number that the kernels have for it.
fn number(how: How) -> Result<usize> {
    match how {
        How::Sum => Ok(0),
        How::Avg => Ok(1),
        How::Prod => Ok(2),
        other => Err(Error::unsupported(format!(
            "`Combine::{}` in the order of the ranks; scale the inputs, and use `Sum`",
            other.name()
        ))),
    }
}

pub(super) fn enqueue(queue: &mut Queue<'_>, spec: &Spec, layout: &Layout, calls: &Calls<'_>) -> Result<()> {
    let Some(reduction) = &spec.reduction else { return Ok(()) };
    let (scalar, per_element) = scalars(spec.dtype);
    let (ranks, size, how) = (spec.ranks, scalar.size(), number(reduction.how)?);
    let total = layout.count * per_element;
    if total == 0 {
        return Ok(());
    }
    // The share of each rank: where it begins in what each rank sends, and how many numbers it has.
    let scatters = spec.kind == Kind::ReduceScatter;
    let most = if scatters { total } else { total.div_ceil(ranks) };
    let share = |rank: usize| {
        let first = rank * most;
        let end = if scatters { first + total } else { total.min(first + most) };
        (first.min(end), end.saturating_sub(first))
    };
    // Of each rank of this process.
    let locals = spec.first..spec.first + spec.locals;
    let mut scratch = Vec::with_capacity(spec.locals);
    for local in 0..spec.locals {
        scratch.push(queue.on(local)?.scratch(ranks * most * size)?);
    }
    let at = |place: Option<Place>| place.map_or(0, |place| calls.address(place));
    let of = |all: &[u64], rank: usize| rank.checked_sub(spec.first).and_then(|local| all.get(local).copied());
    let sends: Vec<u64> = layout.ends.iter().map(|ends| at(ends.send)).collect();
    let pairs = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let step = |numbers: usize| (numbers * size) as u64;
    calls.send(pairs().map(|(from, to)| {
        let (first, len) = share(to);
        let send = of(&sends, from).map(|at| at + step(first));
        (from, to, send, of(&scratch, to).map(|at| at + step(from * most)), len * size)
    }))?;
    // Combined in place of what rank 0 sent, or where the rank receives it.
    let mut results = Vec::with_capacity(spec.locals);
    for ((local, rank), (from, ends)) in locals.enumerate().zip(scratch.iter().zip(&layout.ends)) {
        let to = if scatters { at(ends.receive) } else { *from };
        results.push(to);
        let (_, len) = share(rank);
        if len == 0 {
            continue;
        }
        let args = [(*from).into(), to.into(), len.into(), most.into(), ranks.into(), how.into()];
        let name = match scalar {
            DType::F16 => c"combine_f16",
            DType::Bf16 => c"combine_bf16",
            DType::F64 => c"combine_f64",
            _ => c"combine_f32",
        };
        // SAFETY: the kernel reads `len` numbers of each rank, `most` apart, in scratch, and writes as many.
        unsafe { queue.on(local)?.launch(&KERNELS, name, LaunchDims::for_elements(len)?, &args)? };
    }
    if scatters {
        return Ok(());
    }
    let receives: Vec<Option<u64>> =
        layout.ends.iter().map(|ends| ends.receive.map(|place| calls.address(place))).collect();
    let receives_all = spec.kind.root();
    calls.send(pairs().filter(|(_, to)| receives_all.is_none_or(|root| root == *to)).map(|(from, to)| {
        let (first, len) = share(from);
        let receive = to.checked_sub(spec.first).and_then(|local| *receives.get(local)?);
        (from, to, of(&results, from), receive.map(|at| at + step(first)), len * size)
    }))
}

//! Our own kernels around a padded product, compiled ahead of time from `kernels/matmul.cu`.

use super::plan::{Lies, Padded, slices};
use super::product::{Finish, SecondPlace, Sums};
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx, Queue};
use crate::libraries::blaslt::types::data;
use std::ffi::CStr;

static NARROW: Ptx = Ptx::new(include_str!("../../kernels/matmul_32.ptx"));
static WIDE: Ptx = Ptx::new(include_str!("../../kernels/matmul_64.ptx"));

/// Maximum number of threads; beyond it, each takes several elements.
const MOST_THREADS: usize = 1 << 24;

type Kernel = (&'static Ptx, &'static CStr);

/// The kernel that copies a factor of this type.
fn gather(data_type: u32, size: usize) -> Kernel {
    match (data_type, size) {
        (data::C32, _) => (&WIDE, c"gather_c32"),
        (data::C64, _) => (&WIDE, c"gather_c64"),
        (_, 1) => (&NARROW, c"gather_1"),
        (_, 2) => (&NARROW, c"gather_2"),
        (_, 4) => (&NARROW, c"gather_4"),
        _ => (&WIDE, c"gather_f64"),
    }
}

/// The kernel that computes D from sums, with scalars of this type.
fn finish(scalar: u32) -> Kernel {
    match scalar {
        data::F64 => (&WIDE, c"finish_f64"),
        data::C32 => (&WIDE, c"finish_c32"),
        data::C64 => (&WIDE, c"finish_c64"),
        data::I32 => (&NARROW, c"finish_i32"),
        _ => (&NARROW, c"finish_f32"),
    }
}

/// The kernel that adds up, in f32 or f64.
fn sum(double: bool) -> Kernel {
    if double { (&WIDE, c"sum_f64") } else { (&NARROW, c"sum_f32") }
}

fn threads(count: usize) -> Result<LaunchDims> {
    LaunchDims::for_elements(count.min(MOST_THREADS))
}

/// Copies a factor into its padded form at `to`.
///
/// # Safety
/// This dispatch may read the factor, and write as many bytes as the plan says at `to`.
pub(super) unsafe fn lt_gather(
    queue: &mut Queue<'_>,
    data_type: u32,
    lies: &Lies,
    padded: &Padded,
    to: u64,
) -> Result<()> {
    let Lies { address, size, lines, terms, line_step, term_step, stride, conj } = *lies;
    let (wide, deep) = (padded.columns, padded.rows);
    let args = [
        KernelArg::from(address),
        line_step.into(),
        term_step.into(),
        stride.into(),
        lines.into(),
        terms.into(),
        padded.matrices.into(),
        to.into(),
        wide.into(),
        deep.into(),
        u32::from(conj).into(),
    ];
    let (ptx, name) = gather(data_type, size);
    let count = deep.saturating_mul(wide.div_ceil(32)).saturating_mul(padded.matrices);
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, threads(count)?, &args) }
}

/// Computes D and the additional outputs from sums of products.
///
/// # Safety
/// This dispatch may read and write what `finish` names, of the sizes and at the distances that it names.
pub(super) unsafe fn lt_finish(queue: &mut Queue<'_>, finish_by: &Finish) -> Result<()> {
    let Finish { sums, at, us, vs, batch, c, d, bias, aux, scales, scale_d, amax, factors, .. } = *finish_by;
    let [(scale_u, step_u), (scale_v, step_v)] = scales;
    let [(alpha, alpha_at), (beta, beta_at)] = factors;
    let args = [
        KernelArg::from(at),
        sums.ld.into(),
        sums.stride.into(),
        us.into(),
        vs.into(),
        batch.into(),
        c.address.into(),
        c.u_step.into(),
        c.v_step.into(),
        c.stride.into(),
        d.address.into(),
        d.v_step.into(),
        d.stride.into(),
        bias.address.into(),
        bias.u_step.into(),
        bias.v_step.into(),
        bias.stride.into(),
        aux.address.into(),
        aux.v_step.into(),
        aux.stride.into(),
        scale_u.into(),
        step_u.into(),
        scale_v.into(),
        step_v.into(),
        scale_d.into(),
        amax.into(),
        alpha_at.into(),
        beta_at.into(),
        alpha,
        beta,
        finish_by.types().into(),
        finish_by.flags().into(),
    ];
    let (ptx, name) = finish(finish_by.scalar);
    let count = us.div_ceil(8).saturating_mul(vs).saturating_mul(batch);
    // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
    unsafe { queue.launch(ptx, name, threads(count)?, &args) }
}

/// Allocates scratch for the parts of a sum; 0 if there is only one part.
pub(super) fn lt_room_for_sums(queue: &mut Queue<'_>, sums: &Sums) -> Result<u64> {
    let Sums { lines, terms, batch, double, .. } = *sums;
    let slices = slices(terms);
    if slices == 1 {
        return Ok(0);
    }
    let size = if double { 8 } else { 4 };
    let bytes = lines.checked_mul(slices).and_then(|n| n.checked_mul(batch)).and_then(|n| n.checked_mul(size));
    queue.scratch(
        bytes.ok_or_else(|| crate::core::error::Error::invalid("grad", "the size of its partial sums overflows"))?,
    )
}

/// Adds up. If there are many terms, first adds up parts of them, and then the parts.
///
/// # Safety
/// This dispatch may read and write what `sums` names; `room` is what [`lt_room_for_sums`](lt_room_for_sums)
/// returned for it.
pub(super) unsafe fn lt_sum(queue: &mut Queue<'_>, sums: &Sums, room: u64) -> Result<()> {
    let Sums { from, data_type, lines, terms, line_step, term_step, stride, batch, to, double } = *sums;
    let slices = slices(terms);
    let (ptx, name) = sum(double);
    let SecondPlace { address, data_type: type_to, stride: stride_to } = to;
    let work = if double { data::F64 } else { data::F32 };
    let mut steps = smallvec::SmallVec::<[_; 2]>::new();
    let last = |from: u64, data_type: u32, [line, term, stride]: [usize; 3], terms: usize| {
        ([from, address], [line, term, stride, terms, 1, lines, stride_to], [data_type, type_to])
    };
    if slices == 1 {
        steps.push(last(from, data_type, [line_step, term_step, stride], terms));
    } else {
        let stride_room = lines * slices; // not larger than `room`, whose size did not overflow
        let parts = [line_step, term_step, stride, terms, slices, lines, stride_room];
        steps.push(([from, room], parts, [data_type, work]));
        steps.push(last(room, work, [1, lines, stride_room], slices));
    }
    for ([from, to], [line, term, stride, terms, slices, slice_to, stride_to], [data_type, type_to]) in steps {
        let args = [
            KernelArg::from(from),
            line.into(),
            term.into(),
            stride.into(),
            lines.into(),
            terms.into(),
            batch.into(),
            slices.into(),
            to.into(),
            slice_to.into(),
            stride_to.into(),
            data_type.into(),
            type_to.into(),
        ];
        let count = lines.saturating_mul(slices).saturating_mul(batch);
        // SAFETY: the arguments are the kernel's parameters in order and type; what it touches is the caller's promise.
        unsafe { queue.launch(ptx, name, threads(count)?, &args) }?;
    }
    Ok(())
}

/// The kernels that are loaded ahead of time.
pub(in crate::libraries::blaslt) static ALL: &[&Ptx] = &[&NARROW, &WIDE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_text_that_it_is_looked_for_in() {
        let types = [data::F32, data::F64, data::C32, data::C64, data::I32];
        let gathers = [(0, 1), (0, 2), (0, 4), (data::F64, 8), (data::C32, 8), (data::C64, 16)];
        let all = types
            .map(finish)
            .into_iter()
            .chain(gathers.map(|(t, size)| gather(t, size)))
            .chain([sum(true), sum(false)]);
        for (ptx, name) in all {
            let entry = format!(".entry {}(", name.to_str().unwrap());
            assert_eq!(ptx.text().matches(&entry).count(), 1, "{entry}");
        }
    }
}

//! Many small systems: a kernel of our own, with the bits of the host half. The table of what it does is `small/systems.rs`.

use super::super::SolverElement;
use super::super::matrix::Matrix;
use super::super::small::systems::{IN_PLACE, System};
use super::calls;
use super::kernels::real_parts;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use std::ffi::CStr;

static KERNEL: Ptx = Ptx::new(include_str!("../kernels/small_lu.ptx"));

/// The kernel by single and double precision; LU alone of wide matrices has one that keeps rows in registers.
fn names(job: &System, width: usize) -> [&'static CStr; 2] {
    match width {
        16 if job.is_lu_alone() => [c"small_lu_rows_16_4", c"small_lu_rows_16_8"],
        32 if job.is_lu_alone() => [c"small_lu_rows_32_4", c"small_lu_rows_32_8"],
        _ => [c"small_lu_4", c"small_lu_8"],
    }
}

/// Threads of a block.
const BLOCK: usize = 64;

/// Addresses: the first matrix A and B, each with the elements to the next one, the pivots and the infos of all, where there are any.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::libraries::solver) struct At {
    pub(in crate::libraries::solver) a: (u64, usize),
    pub(in crate::libraries::solver) pivots: u64,
    pub(in crate::libraries::solver) b: (u64, usize),
    pub(in crate::libraries::solver) info: u64,
}

impl At {
    /// Where matrices are, without more.
    pub(in crate::libraries::solver) fn new((of, a): (&Matrix, u64)) -> Self {
        At { a: (a, of.distance()), ..At::default() }
    }

    pub(in crate::libraries::solver) fn beside(self, (of, b): (&Matrix, u64)) -> Self {
        At { b: (b, of.distance()), ..self }
    }

    pub(in crate::libraries::solver) fn pivots(self, pivots: u64) -> Self {
        At { pivots, ..self }
    }

    pub(in crate::libraries::solver) fn info(self, info: u64) -> Self {
        At { info, ..self }
    }
}

/// The name of the kernel, grid and shared memory, and its parameters.
pub(in crate::libraries::solver) fn plan<T: SolverElement>(
    job: &System,
    count: usize,
    at: At,
) -> Result<(&'static CStr, LaunchDims, [u64; 14])> {
    // A lane for each row, and for each column.
    let width = job.rows.max(job.cols).max(job.right).next_power_of_two().clamp(4, 32);
    let (panels, matrices) = (if job.right > 0 { 2 } else { 1 }, BLOCK / width);
    let shared = matrices * (panels * width * (width + 1) * size_of::<T>() + width * size_of::<u32>());
    let blocks = u32::try_from(count.div_ceil(matrices));
    let blocks = blocks.map_err(|_| Error::invalid("a", format!("{count} matrices")))?;
    let dims = LaunchDims { grid: (blocks, 1, 1), block: (BLOCK as u32, 1, 1), shared: shared as u32 };
    // What is in place is beside itself.
    let b = if job.is(IN_PLACE) { at.a } else { at.b };
    let [lda, step_a, ldb, step_b] = [job.lda, at.a.1, job.ldb, b.1].map(|n| n as u64);
    let [rows, cols, right, count, width] = [job.rows, job.cols, job.right, count, width].map(|n| n as u64);
    let (a, pivots, b, info) = (at.a.0, at.pivots, b.0, at.info);
    let name = real_parts::<T>(names(job, width as usize)).1;
    Ok((name, dims, [a, lda, step_a, pivots, b, ldb, step_b, rows, cols, right, count, info, job.what, width]))
}

/// Does the job with each of `count` matrices of f32 or f64.
pub(in crate::libraries::solver) fn launch<T: SolverElement>(
    queue: &mut Queue<'_>,
    job: &System,
    count: usize,
    at: At,
) -> Result<()> {
    let (name, dims, args) = plan::<T>(job, count, at)?;
    // SAFETY: the arguments are the kernel's parameters in order and type. It reads and writes elements of the matrices A and B, of whose
    // rows and columns each has a lane; these, the pivots (`size` for each matrix) and the infos lie inside operands (checked) or scratch of this dispatch.
    unsafe { queue.launch(&KERNEL, name, dims, &args.map(Into::into)) }
}

/// The same, and what the infos say.
pub(in crate::libraries::solver) fn launch_told<T: SolverElement>(
    queue: &mut Queue<'_>,
    job: &System,
    count: usize,
    at: At,
) -> Result<()> {
    launch::<T>(queue, job, count, at)?;
    calls::verdict(queue, at.info, count)
}

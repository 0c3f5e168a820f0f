//! QR of many small matrices, and what is made of the factors: a kernel of our own, with the bits of the host half.

use super::super::SolverElement;
use super::super::small::{Job, Task};
use super::kernels::real_parts;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use std::ffi::CStr;

static KERNELS: Ptx = Ptx::new(include_str!("../kernels/small_qr.ptx"));

/// Threads of a block.
const BLOCK: usize = 64;
/// Lanes of a warp, and columns of B that pass at once where a lane has two of A.
const WARP: usize = 32;
const PART: usize = 24;

/// Addresses: the first matrix A and B, each with the elements to the next one, and tau and info of all, where there are any.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries::solver) struct Operands {
    pub(in crate::libraries::solver) a: (u64, usize),
    pub(in crate::libraries::solver) tau: u64,
    pub(in crate::libraries::solver) b: (u64, usize),
    pub(in crate::libraries::solver) info: u64,
}

/// Grid, shared memory, and the parameters of the kernel.
pub(in crate::libraries::solver) fn plan<T: SolverElement>(
    job: &Job,
    count: usize,
    at: Operands,
) -> Result<(LaunchDims, [u64; 16])> {
    let what: u64 = match job.task {
        Task::Factor => 1,
        Task::Generate => 2 | 8,
        Task::Multiply { adjoint: true } => 4,
        Task::Multiply { adjoint: false } => 8,
        Task::Solve => 4 | 16,
        Task::Least if job.is_wide() => 1 | 8 | 32,
        Task::Least => 1 | 4 | 16,
    };
    // A lane for each row, and for each column, or for two.
    let width = job.rows.max(job.cols).max(job.right).next_power_of_two().clamp(4, 2 * WARP);
    let (lanes, at_once) = if width > WARP { (WARP, PART) } else { (width, width) };
    let columns = if job.task == Task::Factor { width } else { width + at_once };
    let (each, matrices) = (columns * (width + 1) + 2 * width, if width > WARP { 1 } else { BLOCK / width });
    let shared = each * matrices * size_of::<T>();
    let blocks = u32::try_from(count.div_ceil(matrices));
    let blocks = blocks.map_err(|_| Error::invalid("a", format!("{count} matrices")))?;
    let dims = LaunchDims { grid: (blocks, 1, 1), block: ((matrices * lanes) as u32, 1, 1), shared: shared as u32 };
    let [lda, step_a, step_tau, ldb, step_b] = [job.lda, at.a.1, job.step_tau, job.ldb, at.b.1].map(|n| n as u64);
    let [rows, cols, right, size, count, width] =
        [job.rows, job.cols, job.right, job.reflectors, count, width].map(|n| n as u64);
    let (a, tau, b, info) = (at.a.0, at.tau, at.b.0, at.info);
    Ok((dims, [a, lda, step_a, tau, step_tau, b, ldb, step_b, rows, cols, right, size, count, info, what, width]))
}

/// The kernel, by single and double precision.
pub(in crate::libraries::solver) const NAMES: [&CStr; 2] = [c"small_qr_4", c"small_qr_8"];

/// Does the job with each of `count` matrices of f32 or f64.
pub(in crate::libraries::solver) fn launch<T: SolverElement>(
    queue: &mut Queue<'_>,
    job: &Job,
    count: usize,
    at: Operands,
) -> Result<()> {
    let (dims, args) = plan::<T>(job, count, at)?;
    // SAFETY: the arguments are the kernel's parameters in order and type; the matrices, tau and infos lie inside operands (checked)
    // or scratch of this dispatch.
    unsafe { queue.launch(&KERNELS, real_parts::<T>(NAMES).1, dims, &args.map(Into::into)) }
}

//! The CUDA implementation: our own kernels, compiled ahead to PTX (`.ci/kernels`), which need no cuRAND.
//!
//! The kernel that makes the numbers also computes the words of Philox. The words of XORWOW, MRG32k3a and Sobol's
//! sequences are first written to scratch, a part at a time, and the same kernels make numbers from them. MT19937 and
//! MTGP32 have no kernels: the CPU makes the numbers ([`super::draw`]), and [`super::front`] copies them.

use super::distribution::{Distribution, Random};
use super::draw::Draw;
use super::host::{mrg, xorwow};
use super::layout::Layout;
use super::spec::{BinomialPlan, Method, PoissonPlan, Spec, Start};
use super::stream::Generator;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx, Queue};
use crate::engines::cuda_enqueue::Enqueue;
use std::ffi::CStr;

static UNIFORM: Ptx = Ptx::new(include_str!("kernels/uniform.ptx"));
static NORMAL: Ptx = Ptx::new(include_str!("kernels/normal.ptx"));
static INTEGERS: Ptx = Ptx::new(include_str!("kernels/integers.ptx"));
static SOURCES: Ptx = Ptx::new(include_str!("kernels/sources.ptx"));

/// How many numbers have their words in scratch at once; a multiple of 4.
const AT_ONCE: u64 = 1 << 25;
/// The most blocks of a grid; with more numbers, each thread makes several.
const BLOCKS: u64 = 1 << 14;

/// The number that the kernels use for a generator.
fn code(generator: Generator) -> Result<u32> {
    Ok(match generator {
        Generator::Philox => 0,
        Generator::Xorwow => 1,
        Generator::Mrg32k3a => 2,
        Generator::Sobol32 => 5,
        Generator::Sobol64 => 6,
        other => {
            let reason = format!(
                "the CPU generates {other:?} numbers for a GPU, but this build has no host engine (feature `host`)"
            );
            return Err(Error::unsupported(reason));
        }
    })
}

fn dims(threads: u64) -> Result<LaunchDims> {
    LaunchDims::for_elements(threads.min(256 * BLOCKS) as usize)
}

/// A kernel that makes numbers, and its arguments beyond the common ones.
struct Kernel {
    ptx: &'static Ptx,
    name: &'static CStr,
    more: Vec<KernelArg>,
}

/// The kernel of a distribution and an element type.
fn kernel(spec: &Spec, dtype: DType, wide: bool) -> Result<Kernel> {
    let none = || Error::library(format!("internal error: no kernel generates these numbers as {dtype}"));
    let float =
        |mode: u32, [a, b, c]: [f64; 3]| vec![u32::from(wide).into(), mode.into(), a.into(), b.into(), c.into()];
    let uniform = |more| {
        let name = match dtype {
            DType::F32 => c"uniform_f32",
            DType::F64 => c"uniform_f64",
            DType::F16 => c"uniform_f16",
            DType::Bf16 => c"uniform_bf16",
            _ => return Err(none()),
        };
        Ok(Kernel { ptx: &UNIFORM, name, more })
    };
    let integer = |name, more| Ok(Kernel { ptx: &INTEGERS, name, more });
    match *spec {
        Spec::Bits if dtype == DType::U32 => integer(c"bits_32", Vec::new()),
        Spec::Bits => integer(c"integers_64", vec![0u64.into(), 0u64.into()]),
        Spec::Uniform { lower } => uniform(float(lower.into(), [0.0; 3])),
        Spec::Between { low, high, last } => uniform(float(2, [low, high, last])),
        Spec::Exponential { mean } => uniform(float(3, [mean, 0.0, 0.0])),
        Spec::Normal { method: Method::Curand, .. } => Err(Error::unsupported(
            "the CPU generates `Normal::curand` for a GPU, but this build has no host engine (feature `host`)",
        )),
        Spec::Normal { mean, deviation, log, method } => {
            let name = match dtype {
                DType::F32 => c"normal_f32",
                DType::F64 => c"normal_f64",
                DType::F16 => c"normal_f16",
                DType::Bf16 => c"normal_bf16",
                _ => return Err(none()),
            };
            let mode = u32::from(log) | u32::from(method == Method::Quantile) << 1;
            Ok(Kernel { ptx: &NORMAL, name, more: float(mode, [mean, deviation, 0.0]) })
        }
        Spec::Integers { start, span } => {
            let name = match dtype.size() {
                1 => c"integers_8",
                2 => c"integers_16",
                4 => c"integers_32",
                _ => c"integers_64",
            };
            integer(name, vec![start.into(), span.into()])
        }
        Spec::Bernoulli { threshold, always } => {
            integer(c"bernoulli", vec![threshold.into(), u64::from(always).into()])
        }
        Spec::Poisson(PoissonPlan { lambda, zero, ln_lambda, a, b, ln_inverse_alpha, v_r }) => {
            integer(c"poisson", [lambda, zero, ln_lambda, a, b, ln_inverse_alpha, v_r].map(KernelArg::from).to_vec())
        }
        Spec::Binomial(BinomialPlan { n, flipped, search, zero, odds, a, b, c, v_r, alpha, ln_odds, mode, h }) => {
            let mut more = vec![(u32::from(flipped) | u32::from(search) << 1).into()];
            more.extend([n, zero, odds, a, b, c, v_r, alpha, ln_odds, mode, h].map(KernelArg::from));
            integer(c"binomial", more)
        }
    }
}

impl<T: Random, D: Distribution<T>> Draw<T, D> {
    /// Fails if there are no kernels for this draw.
    pub(super) fn has_kernels(&self) -> Result<()> {
        code(self.place.generator)?;
        kernel(&self.spec, T::DTYPE, false).map(drop)
    }

    pub(super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let ((table,), (out,)) = (*queue.reads(), *queue.writes());
        let Start { generator, first, .. } = self.place;
        let code = code(generator)?;
        let layout = Layout::new(generator, &self.spec, T::KIND);
        // Words that four numbers take.
        let four = 4 * layout.words() / layout.outputs();
        let kernel = kernel(&self.spec, T::DTYPE, four == 8)?;
        let len = out.len() as u64;
        if len == 0 {
            return Ok(());
        }
        let draw = |queue: &mut Enqueue<'_, Self>, words: u64, at: u64, n: u64, first: u64| -> Result<()> {
            let to = out.address() + at * size_of::<T>() as u64;
            let mut args: Vec<KernelArg> =
                vec![to.into(), words.into(), n.into(), first.into(), self.place.seed.into(), code.into()];
            args.extend(&kernel.more);
            // SAFETY: the arguments are the kernel's parameters in order and type. It writes `n` numbers from `to` on,
            // which are inside the operand. It reads the words of the groups of four that hold them; if `words` is not
            // 0, scratch has these.
            unsafe { queue.launch(kernel.ptx, kernel.name, dims(n / 4 + 2)?, &args) }
        };
        if generator == Generator::Philox {
            return draw(queue, 0, 0, len, first);
        }
        let quasi = generator.is_quasi_random();
        let fours = len.min(AT_ONCE) / 4 + 2;
        let words = queue.scratch(4 * four * fours as usize)?;
        let mut at = 0;
        while at < len {
            let n = AT_ONCE.min(len - at);
            let from = if quasi { at } else { first + at };
            if quasi {
                let directions = table.map_or(0, |table| table.address());
                self.points(queue, words, (at, n), layout, directions)?;
            } else {
                let fours = (from + n).div_ceil(4) - from / 4;
                let each = 4 / layout.outputs() as u64;
                self.lanes(queue, words, layout, (from / 4 * each, fours * each))?;
            }
            draw(queue, words, at, n, from)?;
            at += n;
        }
        Ok(())
    }

    /// Writes the words of `count` visits from `visit` on.
    fn lanes(&self, queue: &mut Enqueue<'_, Self>, to: u64, layout: Layout, (visit, count): (u64, u64)) -> Result<()> {
        let Start { generator, seed, lanes, .. } = self.place;
        let width = layout.words() as u32;
        let steps = (visit / u64::from(lanes)).wrapping_mul(width.into());
        let mut args: Vec<KernelArg> = vec![to.into(), count.into(), visit.into(), width.into()];
        let name = if generator == Generator::Xorwow {
            let (state, counter) = xorwow::after(seed, steps);
            args.extend(state.map(KernelArg::from));
            args.push(counter.into());
            c"xorwow_words"
        } else {
            let (a, b) = mrg::after(seed, steps);
            args.push(lanes.into());
            args.extend(a.into_iter().chain(b).map(|x| KernelArg::from(x as u32)));
            c"mrg_words"
        };
        // SAFETY: the arguments are the kernel's parameters in order and type; it writes `count * width` words of scratch.
        unsafe { queue.launch(&SOURCES, name, dims(lanes.into())?, &args) }
    }

    /// Writes the words of numbers `at..at + n` of a sequence, dimension by dimension.
    fn points(
        &self,
        queue: &mut Enqueue<'_, Self>,
        to: u64,
        (at, n): (u64, u64),
        layout: Layout,
        directions: u64,
    ) -> Result<()> {
        if directions == 0 {
            return Err(Error::library("internal error: a quasi-random sequence without its direction numbers"));
        }
        let Start { dimensions, .. } = self.place;
        let first = super::scrambled::point(&self.place);
        let points = queue.writes().0.len() as u64 / u64::from(dimensions.max(1));
        let width = layout.words() as u32;
        let args = [to.into(), n.into(), at.into(), points.into(), first.into(), width.into(), directions.into()];
        // SAFETY: the arguments are the kernel's parameters in order and type; it writes `n * width` words of scratch and
        // reads the directions of the dimensions, which the op's check has counted.
        unsafe { queue.launch(&SOURCES, c"sobol_words", dims(n)?, &args) }
    }
}

/// Enqueues numbers with parameters of their own.
pub(super) fn each<const TRIALS: bool>(
    queue: &mut Enqueue<'_, super::arrays::Each<TRIALS>>,
    (seed, first): (u64, u64),
) -> Result<()> {
    queue.zero_result()?;
    let (&(parameter, ref trials), &(out,)) = (queue.reads(), queue.writes());
    if out.is_empty() {
        return Ok(());
    }
    let mut args: Vec<KernelArg> = vec![out.address().into(), parameter.address().into()];
    args.extend(trials.as_ref().map(|trials| KernelArg::from(trials.address())));
    args.extend([out.len() as u64, first, seed, queue.result()?].map(KernelArg::from));
    let name = if trials.is_some() { c"binomial_each" } else { c"poisson_each" };
    // SAFETY: the arguments are the kernel's parameters in order and type. It reads as many parameters as the operands have,
    // which the op's check has compared with the numbers, writes these, and 8 bytes of the result.
    unsafe { queue.launch(&INTEGERS, name, dims(out.len() as u64)?, &args) }
}

/// Enqueues the first `len` numbers of a permutation of the numbers below `n`.
pub(super) fn permute(
    queue: &mut Queue<'_>,
    (out, len): (u64, usize),
    [k, l]: [u32; 2],
    n: u64,
    ranked: u64,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    if n <= ranked {
        let n = n as u32;
        let keys = queue.scratch(8 * n as usize)?;
        let dims = dims(n.into())?;
        // SAFETY: the arguments are the kernels' parameters in order and type; the first writes `n` keys to scratch, and the
        // second reads them and writes `len` numbers, which the op's check has counted.
        return unsafe {
            queue.launch(&SOURCES, c"permutation_keys", dims, &[keys.into(), n.into(), k.into(), l.into()])?;
            let args = [out.into(), (len as u32).into(), keys.into(), n.into()];
            queue.launch(&SOURCES, c"permutation_ranks", dims, &args)
        };
    }
    let bits = 64 - (n - 1).leading_zeros();
    let (low, high) = (bits / 2, bits - bits / 2);
    let args = [out.into(), len.into(), n.into(), low.into(), high.into(), k.into(), l.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it writes `len` numbers, which the op's check has
    // counted.
    unsafe { queue.launch(&SOURCES, c"permutation_network", dims(len as u64)?, &args) }
}

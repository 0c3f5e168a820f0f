//! Cosine and sine transforms on a GPU: along each axis a kernel of our own, a Fourier transform of cuFFT, another
//! kernel.
//!
//! | kind | what cuFFT transforms | its length |
//! |---|---|---|
//! | 1 | the line mirrored, real to complex | `2 (n - 1)`, for sines `2 (n + 1)` |
//! | 2 | its even elements, then the odd ones reversed (Makhoul, 1980), real to complex | `n` |
//! | 3 | the inverse of kind 2, complex to real | `n` |
//! | 4 | pairs of its elements (of an odd length: its elements) times twiddle factors, complex | `n / 2` (`n`) |
//!
//! The kernels apply all factors, also those that make a kind orthogonal. Halves are computed in f32 over all axes, and
//! rounded once.

use super::super::element::FftReal;
use super::super::geometry::Geometry;
use super::super::spec::Kind;
use super::super::trigonometric::{TrigPass, Trigonometric};
use super::handle::Cufft;
use super::precision;
use super::spectra::computed;
use super::steps::{Dim, End, Layouts, Many, Number, Precision, StepMemory};
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Prepare;
use crate::libraries::fft::native::kernels;
use smallvec::{SmallVec, smallvec};
use std::ffi::CStr;

static SINGLE: Ptx = Ptx::new(include_str!("trigonometric_32.ptx"));
static DOUBLE: Ptx = Ptx::new(include_str!("trigonometric_64.ptx"));

/// The most threads of a launch; with more elements than that, each thread takes several.
const MOST_THREADS: usize = 1 << 24;

/// What is done along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Along {
    n: usize,
    /// Elements between neighbours of a line.
    inner: usize,
    lines: usize,
    /// Points of the Fourier transform.
    length: usize,
    kind: Kind,
}

impl Along {
    fn new(pass: &TrigPass, n: usize, inner: usize, lines: usize) -> Option<Self> {
        let (number, sines) = pass.trig.number();
        let (length, kind) = match number {
            1 if sines => (n.checked_add(1)?.checked_mul(2)?, Kind::R2c),
            1 => (n.checked_sub(1)?.checked_mul(2)?, Kind::R2c),
            2 => (n, Kind::R2c),
            3 => (n, Kind::C2r),
            _ if n.is_multiple_of(2) => (n / 2, Kind::C2c),
            _ => (n, Kind::C2c),
        };
        Some(Along { n, inner, lines, length, kind })
    }

    /// Numbers of a line before and after the Fourier transform.
    fn shape(&self) -> (usize, usize) {
        let half = self.length / 2 + 1;
        match self.kind {
            Kind::C2c => (self.length, self.length),
            Kind::R2c => (self.length, half),
            Kind::C2r => (half, self.length),
        }
    }

    /// Bytes of working memory before and after the transform; a complex transform is in place and needs none after it.
    fn bytes(&self, computed: Precision) -> Result<(usize, usize)> {
        let overflow = || Error::invalid("shape", "the size of the working memory overflows");
        let of = |extent: usize, complex: bool| {
            let number = Number { precision: computed, complex };
            let bytes = extent.checked_mul(self.lines).and_then(|all| all.checked_mul(number.bytes()));
            bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(overflow)
        };
        let (from, to) = self.shape();
        let behind = if self.kind == Kind::C2c { 0 } else { of(to, self.kind == Kind::R2c)? };
        Ok((of(from, self.kind != Kind::R2c)?, behind))
    }

    /// The plan; one point needs none.
    fn key(&self, computed: Precision) -> Option<Layouts> {
        if self.length < 2 {
            return None;
        }
        let size = |n: usize| i64::try_from(n).ok();
        let side = |extent: usize| {
            let (stride, dist) = if self.inner == 1 { (1, extent) } else { (self.lines, 1) };
            Some(Many { embed: [size(extent)?, 1, 1], stride: size(stride)?, dist: size(dist)? })
        };
        let (from, to) = self.shape();
        Some(Layouts {
            kind: self.kind,
            precision: computed,
            rank: 1,
            n: [size(self.length)?, 1, 1],
            input: side(from)?,
            output: side(to)?,
            batch: size(self.lines)?,
        })
    }
}

/// All axes in the order of their passes; empty if there are no elements.
fn passes(geometry: &Geometry, pass: &TrigPass) -> Result<SmallVec<[Along; 4]>> {
    let total = geometry.output.span;
    if total == 0 {
        return Ok(SmallVec::new());
    }
    let along = |(n, inner): (usize, usize)| Along::new(pass, n, inner, total / n.max(1));
    let all = geometry.axes.iter().map(|axis| along((axis.n, axis.to)));
    all.collect::<Option<_>>().ok_or_else(|| Error::invalid("shape", "the length of the Fourier transform overflows"))
}

fn before(stored: Precision, complex: bool) -> (&'static Ptx, &'static CStr) {
    match (stored, complex) {
        (Precision::F16, false) => (&SINGLE, c"before_real_f16"),
        (Precision::F16, true) => (&SINGLE, c"before_complex_f16"),
        (Precision::Bf16, false) => (&SINGLE, c"before_real_bf16"),
        (Precision::Bf16, true) => (&SINGLE, c"before_complex_bf16"),
        (Precision::F32, false) => (&SINGLE, c"before_real_f32"),
        (Precision::F32, true) => (&SINGLE, c"before_complex_f32"),
        (Precision::F64, false) => (&DOUBLE, c"before_real_f64"),
        (Precision::F64, true) => (&DOUBLE, c"before_complex_f64"),
    }
}

fn after(stored: Precision, complex: bool) -> (&'static Ptx, &'static CStr) {
    match (stored, complex) {
        (Precision::F16, false) => (&SINGLE, c"after_real_f16"),
        (Precision::F16, true) => (&SINGLE, c"after_complex_f16"),
        (Precision::Bf16, false) => (&SINGLE, c"after_real_bf16"),
        (Precision::Bf16, true) => (&SINGLE, c"after_complex_bf16"),
        (Precision::F32, false) => (&SINGLE, c"after_real_f32"),
        (Precision::F32, true) => (&SINGLE, c"after_complex_f32"),
        (Precision::F64, false) => (&DOUBLE, c"after_real_f64"),
        (Precision::F64, true) => (&DOUBLE, c"after_complex_f64"),
    }
}

/// The plans of all axes, each once, in the order of their first use.
fn layouts(all: &[Along], computed: Precision) -> SmallVec<[Layouts; 4]> {
    let mut keys = SmallVec::new();
    for key in all.iter().filter_map(|along| along.key(computed)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

impl<R: FftReal> Trigonometric<R> {
    fn passes(&self) -> Result<SmallVec<[Along; 4]>> {
        passes(&self.spec.sizes.geometry()?, &self.spec.pass())
    }

    /// Names the plans that it needs.
    pub(in super::super) fn plans(&self, plans: &mut Prepare<'_>) {
        if let (Ok(all), Ok(stored)) = (self.passes(), precision::<R>()) {
            layouts(&all, computed(stored)).iter().for_each(|key| plans.plan(key));
        }
    }

    /// Enqueues the transform.
    pub(in super::super) fn enqueue(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let ((x,), (y,)) = (*queue.reads(), *queue.writes());
        let stored = precision::<R>()?;
        let computed = computed(stored);
        let all = self.passes()?;
        let Some(last) = all.len().checked_sub(1) else { return Ok(()) };
        let (mut bytes_before, mut bytes_behind) = (0, 0);
        for along in &all {
            let (before, behind) = along.bytes(computed)?;
            (bytes_before, bytes_behind) = (bytes_before.max(before), bytes_behind.max(behind));
        }
        let first_area = queue.scratch(bytes_before)?;
        let second_area = if bytes_behind > 0 { queue.scratch(bytes_behind)? } else { first_area };
        // Between axes, halves stay in the precision in which they are computed.
        let between = match (stored == computed, last) {
            (false, 1..) => queue.scratch(x.len().saturating_mul(computed.bytes()))?,
            _ => y.address(),
        };
        let keys = layouts(&all, computed);
        let pass = self.spec.pass();
        for (i, along) in all.iter().enumerate() {
            let from = if i == 0 { (x.address(), stored) } else { (between, computed) };
            let to = if i == last { (y.address(), stored) } else { (between, computed) };
            // SAFETY: `x`, `y` and the memory between hold the arrays (the op's check), both areas what `bytes` says
            // for every axis; the kernels run in order, and none writes what it reads.
            unsafe { trigonometric(queue, along, &pass, (from, to), (first_area, second_area), &keys) }?;
        }
        Ok(())
    }
}

/// Transforms one axis. Each side has its own precision.
///
/// # Safety
/// Both hold `lines * n` numbers, the areas the bytes that `along` says, and this dispatch may access them.
unsafe fn trigonometric<R: FftReal>(
    queue: &mut Enqueue<'_, Trigonometric<R>>,
    along: &Along,
    pass: &TrigPass,
    ((from, stored_from), (to, stored_to)): ((u64, Precision), (u64, Precision)),
    (first_area, second_area): (u64, u64),
    keys: &[Layouts],
) -> Result<()> {
    let computed = computed(stored_from);
    let (number, sines) = pass.trig.number();
    let kind = number | if sines { 16 } else { 0 };
    let (extent_before, extent_behind) = along.shape();
    let behind = if along.kind == Kind::C2c { first_area } else { second_area };
    let sizes = |extent: usize| -> [KernelArg; 5] {
        [along.n.into(), extent.into(), along.lines.into(), along.inner.into(), kind.into()]
    };
    let threads = |n: usize| LaunchDims::for_elements(n.min(MOST_THREADS));

    let (first, last) = pass.ends(false);
    let mut args: SmallVec<[KernelArg; 12]> = smallvec![first_area.into(), from.into()];
    args.extend(sizes(extent_before));
    args.extend([first, last].map(KernelArg::from));
    let (ptx, name) = before(stored_from, along.kind != Kind::R2c);
    let dims = threads(extent_before * along.lines)?;
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads the lines and writes the first area.
    unsafe { queue.launch(ptx, name, dims, &args) }?;

    match along.key(computed) {
        Some(key) => {
            let lost =
                || Error::library("internal error: a cosine or sine transform needs a plan that it did not request");
            let index = keys.iter().position(|known| *known == key).ok_or_else(lost)?;
            let api = queue.api::<Cufft>()?;
            let plan = queue.plan::<Layouts>(index)?;
            plan.exec(queue, api, (first_area, behind), along.kind == Kind::C2r)?;
        }
        None if along.kind != Kind::C2c => {
            // One point is its own transform.
            let number = |complex| Number { precision: computed, complex };
            let from = End { place: StepMemory::Scratch(0), number: number(along.kind == Kind::C2r) };
            let to = End { place: StepMemory::Scratch(1), number: number(along.kind == Kind::R2c) };
            let dims = [Dim { count: along.lines, inside: along.lines, from: 1, to: 1 }];
            // SAFETY: both areas hold a number for each line.
            unsafe { kernels::fft_move(queue, (&from, &to), (first_area, behind), &dims, false, 1.0) }?;
        }
        None => {}
    }

    let (first, last) = pass.ends(true);
    let mut args: SmallVec<[KernelArg; 12]> = smallvec![to.into(), behind.into()];
    args.extend(sizes(extent_behind));
    args.extend([pass.scale.factor(pass.trig, along.n), first, last].map(KernelArg::from));
    let (ptx, name) = after(stored_to, along.kind != Kind::C2r);
    let dims = threads(along.n * along.lines)?;
    // SAFETY: as above; it reads the transformed numbers and writes the lines.
    unsafe { queue.launch(ptx, name, dims, &args) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_text_that_it_is_looked_for_in() {
        for stored in [Precision::F16, Precision::Bf16, Precision::F32, Precision::F64] {
            for complex in [false, true] {
                for (ptx, name) in [before(stored, complex), after(stored, complex)] {
                    let entry = format!(".entry {}(", name.to_str().unwrap_or_default());
                    assert!(ptx.text().contains(&entry), "{name:?}");
                }
            }
        }
    }
}

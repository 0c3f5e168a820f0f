//! cuBLASLt: handles, descriptors, and the ways to multiply that were asked for before.
//!
//! A handle a slot, made by the first product that needs it and used under the slot's lease alone, so that nothing
//! rests on what the library says of threads. It is bound to no stream and owns no workspace: both are arguments of the
//! call.
//!
//! Two levels remember. The epoch knows the **choice** for a problem, that is the algorithm which the heuristic gave or
//! [`autotune`](crate::BlasLt::autotune) measured: behind a lock, asked by a slot that meets a problem for the first
//! time. A slot knows the **plan**, that is the choice with the library's descriptors, which are written to by every
//! call (the addresses of a bias, of scales) and so belong to whoever holds the lease: a call that finds its plan takes
//! no lock, makes nothing and asks nothing. A pinned choice moves the epoch's version on, and plans made before look
//! once more.

use super::Native;
use super::api::cublaslt::{Heuristic, Opaque};
use super::api::{Code, CublasLt, codes};
use super::enqueue::Enqueue;
use super::library::WORKSPACE;
use super::lru::Lru;
use crate::error::Text;
use crate::op::Op;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::{Error, Result};
use std::ffi::c_void;

/// Problems that an epoch and each of its slots remember.
const REMEMBERED: usize = 256;
/// Candidates that the heuristic is asked for to be measured.
const CANDIDATES: usize = 16;

/// One matrix of a problem: rows and columns as stored, `cublasLtOrder_t`, leading dimension, distance in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatrixOf {
    pub(crate) data_type: u32,
    pub(crate) order: u32,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) ld: i64,
    pub(crate) stride: i64,
}

/// Everything that the library's answer depends on besides the GPU, which is the epoch's: the key of both caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Problem {
    /// A, B, C, D.
    pub(crate) matrices: [MatrixOf; 4],
    /// `cublasOperation_t` of A and B.
    pub(crate) trans: [u32; 2],
    pub(crate) batch: u32,
    pub(crate) compute: u32,
    pub(crate) scale: u32,
    pub(crate) epilogue: u32,
    /// `cudaDataType` of the bias and of the pre-activation, where it is not that of D.
    pub(crate) bias_type: Option<u32>,
    pub(crate) aux_type: Option<u32>,
    pub(crate) bias_stride: i64,
    pub(crate) aux_ld: i64,
    pub(crate) aux_stride: i64,
    /// There are scales of A, B and D, and a largest magnitude is asked for.
    pub(crate) scaled: [bool; 4],
    /// The scales of A and B are vectors.
    pub(crate) outer: [bool; 2],
    /// Alpha and beta are on the device.
    pub(crate) factors_on_device: bool,
    pub(crate) fast_accumulation: bool,
    /// C is D.
    pub(crate) in_place: bool,
    /// What the addresses of A, B, C, D, the bias and the auxiliary matrix are multiples of, up to 256; 0 for none.
    pub(crate) alignment: [u16; 6],
    pub(crate) workspace: usize,
}

/// In the library's own numbers, for a refusal.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = ["A", "B", "C", "D"];
        for (name, m) in names.into_iter().zip(&self.matrices) {
            let order = if m.order == 1 { " by rows" } else { "" };
            write!(f, "{name} {} x {} of type {}, ld {}{order}; ", m.rows, m.columns, m.data_type, m.ld)?;
        }
        let [a, b] = self.trans;
        write!(f, "operations {a} and {b}, compute type {}, epilogue {}", self.compute, self.epilogue)?;
        write!(f, ", batch {}, alignments {:?}", self.batch, self.alignment)
    }
}

/// Where the operands of a call lie; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) d: u64,
    pub(crate) bias: u64,
    pub(crate) aux: u64,
    /// Of A, B and D, and where the largest magnitude goes.
    pub(crate) scales: [u64; 4],
    /// Alpha and beta on the device.
    pub(crate) factors: Option<[u64; 2]>,
}

impl Addresses {
    /// What they are multiples of.
    pub(crate) fn alignment(&self) -> [u16; 6] {
        let of = |address: u64| if address == 0 { 0 } else { 1u16 << address.trailing_zeros().min(8) };
        [self.a, self.b, self.c, self.d, self.bias, self.aux].map(of)
    }
}

/// A scalar on the host, aligned as the library's vector instructions want it.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Factor(pub(crate) [u8; 16]);

impl Factor {
    pub(crate) fn of<S: crate::Element>(scalar: &S) -> Self {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(bytemuck::bytes_of(scalar)).for_each(|(to, from)| *to = *from);
        Factor(bytes)
    }
}

/// A way to multiply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    algo: [u64; 8],
    /// Bytes of workspace that it takes.
    pub(crate) workspace: usize,
    /// How often it fills the GPU.
    pub(crate) waves: f32,
    /// It was measured, not guessed.
    tuned: bool,
}

impl From<&Heuristic> for Choice {
    fn from(h: &Heuristic) -> Self {
        Choice { algo: h.algo, workspace: h.workspace, waves: h.waves, tuned: false }
    }
}

/// The choices of an epoch.
pub(crate) struct Choices {
    known: Mutex<Lru<Problem, Choice>>,
    /// Counts the choices pinned.
    version: AtomicU64,
}

impl Default for Choices {
    fn default() -> Self {
        Choices { known: Mutex::new(Lru::new(REMEMBERED)), version: AtomicU64::new(0) }
    }
}

impl Choices {
    /// Puts a measured choice in the place of a guessed one.
    pub(crate) fn pin(&self, problem: &Problem, choice: Choice) {
        self.known.lock().insert(*problem, Choice { tuned: true, ..choice });
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Choices pinned.
    pub(crate) fn pinned(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn of(&self, problem: &Problem) -> Option<Choice> {
        self.known.lock().get(problem).copied()
    }

    /// Remembers what the heuristic said, unless something was measured meanwhile.
    fn remember(&self, problem: &Problem, choice: Choice) -> Choice {
        let mut known = self.known.lock();
        match known.get(problem) {
            Some(other) if other.tuned => *other,
            _ => {
                known.insert(*problem, choice);
                choice
            }
        }
    }
}

/// A slot's handle and plans.
pub(crate) struct LtHandle {
    raw: Native<Opaque>,
    api: &'static CublasLt,
    plans: Lru<Problem, Plan>,
}

impl LtHandle {
    /// Only at the end of an epoch: it may synchronize the device.
    pub(crate) fn destroy(self) -> Code {
        let LtHandle { raw, api, plans } = self;
        drop(plans);
        // SAFETY: made by `create`, destroyed once, idle; the plans on it are gone.
        unsafe { api.destroy(raw.0) }
    }
}

/// A choice with the library's descriptors.
struct Plan {
    descriptors: Descriptors,
    choice: Choice,
    /// The version that it was looked up at.
    version: u64,
}

/// The library's descriptors of one problem: freed with it, which makes no driver call.
struct Descriptors {
    api: &'static CublasLt,
    desc: Native<Opaque>,
    /// Of A, B, C, D.
    layouts: [Native<Opaque>; 4],
    preference: Native<Opaque>,
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: each was made by the library or is null, and nobody else has it.
        unsafe {
            if !self.desc.0.is_null() {
                let _ = self.api.desc_destroy(self.desc.0);
            }
            for layout in self.layouts.iter().filter(|layout| !layout.0.is_null()) {
                let _ = self.api.layout_destroy(layout.0);
            }
            if !self.preference.0.is_null() {
                let _ = self.api.preference_destroy(self.preference.0);
            }
        }
    }
}

/// A call that failed, by name.
type Refusal = (&'static str, Code);

// cublasLtMatmulDescAttributes_t.
const POINTER_MODE: u32 = 2;
const TRANS_A: u32 = 3;
const TRANS_B: u32 = 4;
const EPILOGUE: u32 = 7;
const BIAS_POINTER: u32 = 8;
const BIAS_BATCH_STRIDE: u32 = 10;
const AUX_POINTER: u32 = 11;
const AUX_LD: u32 = 12;
const AUX_BATCH_STRIDE: u32 = 13;
/// Of A, B and D, and the largest magnitude of D.
const SCALE_POINTERS: [u32; 4] = [17, 18, 20, 21];
const AUX_DATA_TYPE: u32 = 22;
const FAST_ACCUMULATION: u32 = 25;
const BIAS_DATA_TYPE: u32 = 26;
/// Of A and B.
const SCALE_MODES: [u32; 2] = [31, 32];
/// `CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F`.
const OUTER_VECTOR: i32 = 3;
// cublasLtMatrixLayoutAttribute_t.
const LAYOUT_ORDER: u32 = 1;
const LAYOUT_BATCH_COUNT: u32 = 5;
const LAYOUT_BATCH_STRIDE: u32 = 6;
// cublasLtMatmulPreferenceAttributes_t.
const MAX_WORKSPACE: u32 = 1;
/// Of A, B, C and D.
const MIN_ALIGNMENTS: [u32; 4] = [5, 6, 7, 8];

impl Descriptors {
    fn of(api: &'static CublasLt, problem: &Problem, addresses: &Addresses) -> Result<Self, Refusal> {
        let null = Native(std::ptr::null_mut());
        let mut this = Descriptors { api, desc: null, layouts: [null; 4], preference: null };
        // SAFETY: the place is valid for the write.
        let code = unsafe { api.desc_create(&mut this.desc.0, problem.compute, problem.scale) };
        code.ok().map_err(|code| ("cublasLtMatmulDescCreate", code))?;
        for (layout, matrix) in this.layouts.iter_mut().zip(&problem.matrices) {
            let MatrixOf { data_type, order, rows, columns, ld, stride } = *matrix;
            // SAFETY: as above.
            let code = unsafe { api.layout_create(&mut layout.0, data_type, rows, columns, ld) };
            code.ok().map_err(|code| ("cublasLtMatrixLayoutCreate", code))?;
            let set = |attribute, value: &[u8]| {
                // SAFETY: the layout was made just now; the value is read during the call.
                let code = unsafe { api.layout_set(layout.0, attribute, value.as_ptr().cast(), value.len()) };
                code.ok().map_err(|code| ("cublasLtMatrixLayoutSetAttribute", code))
            };
            set(LAYOUT_ORDER, &order.to_ne_bytes())?;
            if problem.batch != 1 {
                set(LAYOUT_BATCH_COUNT, &problem.batch.to_ne_bytes())?;
                set(LAYOUT_BATCH_STRIDE, &stride.to_ne_bytes())?;
            }
        }
        this.set(POINTER_MODE, &u32::from(problem.factors_on_device).to_ne_bytes())?;
        let [trans_a, trans_b] = problem.trans;
        this.set(TRANS_A, &trans_a.to_ne_bytes())?;
        this.set(TRANS_B, &trans_b.to_ne_bytes())?;
        this.set(EPILOGUE, &problem.epilogue.to_ne_bytes())?;
        if addresses.bias != 0 {
            this.set(BIAS_BATCH_STRIDE, &problem.bias_stride.to_ne_bytes())?;
            if let Some(bias_type) = problem.bias_type {
                this.set(BIAS_DATA_TYPE, &bias_type.to_ne_bytes())?;
            }
        }
        if addresses.aux != 0 {
            this.set(AUX_LD, &problem.aux_ld.to_ne_bytes())?;
            this.set(AUX_BATCH_STRIDE, &problem.aux_stride.to_ne_bytes())?;
            if let Some(aux_type) = problem.aux_type {
                this.set(AUX_DATA_TYPE, &aux_type.to_ne_bytes())?;
            }
        }
        for (mode, _) in SCALE_MODES.into_iter().zip(problem.outer).filter(|(_, outer)| *outer) {
            this.set(mode, &OUTER_VECTOR.to_ne_bytes())?;
        }
        if problem.fast_accumulation {
            this.set(FAST_ACCUMULATION, &[1])?;
        }
        // Also ahead of the heuristic, which looks at how they are aligned.
        this.point(addresses)?;
        Ok(this)
    }

    fn set(&self, attribute: u32, value: &[u8]) -> Result<(), Refusal> {
        // SAFETY: the descriptor is alive; the value is read during the call.
        let code = unsafe { self.api.desc_set(self.desc.0, attribute, value.as_ptr().cast(), value.len()) };
        code.ok().map_err(|code| ("cublasLtMatmulDescSetAttribute", code))
    }

    /// Writes the addresses of a call.
    fn point(&self, addresses: &Addresses) -> Result<(), Refusal> {
        let pointers = [(BIAS_POINTER, addresses.bias), (AUX_POINTER, addresses.aux)].into_iter();
        for (attribute, address) in pointers.chain(SCALE_POINTERS.into_iter().zip(addresses.scales)) {
            if address != 0 {
                self.set(attribute, &address.to_ne_bytes())?;
            }
        }
        Ok(())
    }

    /// Asks the heuristic for up to `most` ways.
    fn ways(&mut self, handle: Opaque, problem: &Problem, most: usize) -> Result<Vec<Choice>, Refusal> {
        let api = self.api;
        if self.preference.0.is_null() {
            // SAFETY: the place is valid for the write.
            let code = unsafe { api.preference_create(&mut self.preference.0) };
            code.ok().map_err(|code| ("cublasLtMatmulPreferenceCreate", code))?;
        }
        let preference = self.preference.0;
        let set = |attribute, value: &[u8]| {
            // SAFETY: the preference is alive; the value is read during the call.
            let code = unsafe { api.preference_set(preference, attribute, value.as_ptr().cast(), value.len()) };
            code.ok().map_err(|code| ("cublasLtMatmulPreferenceSetAttribute", code))
        };
        set(MAX_WORKSPACE, &(problem.workspace as u64).to_ne_bytes())?;
        for (attribute, alignment) in MIN_ALIGNMENTS.into_iter().zip(problem.alignment) {
            set(attribute, &u32::from(alignment.max(1)).to_ne_bytes())?;
        }
        let mut results = [Heuristic::default(); CANDIDATES];
        let (most, mut given) = (most.min(CANDIDATES), 0);
        let [a, b, c, d] = self.layouts.map(|layout| layout.0);
        // SAFETY: handle and descriptors are alive, and there is room for as many results as are asked for.
        let code = unsafe {
            let (desc, results) = (self.desc.0, results.as_mut_ptr());
            api.heuristic(handle, desc, a, b, c, d, preference, most as i32, results, &mut given)
        };
        code.ok().map_err(|code| (HEURISTIC, code))?;
        let given = usize::try_from(given).unwrap_or(0);
        let fit = |h: &&Heuristic| h.state == 0 && h.workspace <= problem.workspace;
        let ways: Vec<Choice> = results.iter().take(given).filter(fit).map(Choice::from).collect();
        if ways.is_empty() { Err((HEURISTIC, NOT_SUPPORTED)) } else { Ok(ways) }
    }
}

const HEURISTIC: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";
const NOT_SUPPORTED: Code = Code(15);

/// How a product is to be enqueued.
pub(crate) enum Which<'c> {
    /// As was found best.
    Known,
    /// As given.
    This(&'c Choice),
}

impl<O: Op> Enqueue<'_, O> {
    /// The slot's handle, made if need be; and the workspace with its size.
    fn lt(&mut self) -> Result<(Opaque, &'static CublasLt)> {
        if let Some(handle) = &self.state.lt {
            return Ok((handle.raw.0, handle.api));
        }
        let api = CublasLt::load()?;
        let mut raw: Opaque = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        let code = unsafe { api.create(&mut raw) };
        self.library_status("cublasLtCreate", code)?;
        self.untouched = false;
        self.state.lt = Some(LtHandle { raw: Native(raw), api, plans: Lru::new(REMEMBERED) });
        Ok((raw, api))
    }

    /// Makes the handle and the workspace.
    pub(crate) fn warm_lt(&mut self) -> Result<()> {
        self.lt()?;
        self.workspace();
        Ok(())
    }

    /// Bytes of workspace that a product may take on this slot.
    pub(crate) fn lt_workspace(&mut self) -> usize {
        self.workspace().map_or(0, |_| WORKSPACE)
    }

    /// The ways that the library offers for a problem, best first.
    pub(crate) fn lt_ways(&mut self, problem: &Problem, addresses: &Addresses) -> Result<Vec<Choice>> {
        let (handle, api) = self.lt()?;
        let ways = Descriptors::of(api, problem, addresses).and_then(|mut d| d.ways(handle, problem, CANDIDATES));
        ways.map_err(|refusal| self.refused(refusal, problem))
    }

    /// Enqueues a product. `factors`: alpha and beta, where they are not on the device.
    pub(crate) fn lt_matmul(
        &mut self,
        problem: &Problem,
        addresses: &Addresses,
        factors: &[Factor; 2],
        which: Which<'_>,
    ) -> Result<()> {
        let (handle, api) = self.lt()?;
        let workspace = self.workspace().unwrap_or(0);
        let stream = self.state.stream.0;
        let choices = &self.core.choices;
        let (mut asked, known) = (false, matches!(which, Which::Known));
        let outcome = (|| {
            let made;
            let (descriptors, choice) = match which {
                Which::This(choice) => {
                    made = Descriptors::of(api, problem, addresses)?;
                    (&made, choice)
                }
                Which::Known => {
                    let Some(lt) = self.state.lt.as_mut() else { return Err((MATMUL, Code(1))) };
                    let version = choices.version.load(Ordering::Acquire);
                    if let Some(plan) = lt.plans.get(problem) {
                        if plan.version != version {
                            plan.choice = choices.of(problem).unwrap_or(plan.choice);
                            plan.version = version;
                        }
                        plan.descriptors.point(addresses)?;
                    } else {
                        let mut descriptors = Descriptors::of(api, problem, addresses)?;
                        let choice = match choices.of(problem) {
                            Some(choice) => choice,
                            None => {
                                asked = true;
                                let ways = descriptors.ways(handle, problem, 1)?;
                                let first = ways.first().ok_or((HEURISTIC, NOT_SUPPORTED))?;
                                choices.remember(problem, *first)
                            }
                        };
                        lt.plans.insert(*problem, Plan { descriptors, choice, version });
                    }
                    let plan = lt.plans.get(problem).ok_or((MATMUL, Code(1)))?;
                    (&plan.descriptors, &plan.choice)
                }
            };
            let host = factors.each_ref().map(|factor| factor.0.as_ptr().cast::<c_void>());
            let [alpha, beta] = addresses.factors.map_or(host, |device| device.map(|address| address as *const c_void));
            let [a, b, c, d] = descriptors.layouts.map(|layout| layout.0);
            // From here on something may be on the stream.
            self.untouched = false;
            // SAFETY: handle and descriptors are alive and used under this slot's lease; the operands hold what the
            // descriptors say (checked) and live until this work is done; scalars on the host are read before the call
            // returns; the workspace is the slot's, used on its stream alone, and as large as it was said to be.
            let code = unsafe {
                api.matmul(
                    handle,
                    descriptors.desc.0,
                    alpha,
                    addresses.a as *const _,
                    a,
                    addresses.b as *const _,
                    b,
                    beta,
                    addresses.c as *const _,
                    c,
                    addresses.d as *mut _,
                    d,
                    &choice.algo,
                    workspace as *mut _,
                    problem.workspace,
                    stream,
                )
            };
            code.ok().map_err(|code| (MATMUL, code))
        })();
        if known {
            self.shared.plans.count(asked);
        }
        outcome.map_err(|refusal| self.refused(refusal, problem))
    }

    /// What a failed call means. What the library does not do is `Unsupported`, with its word for it.
    #[cold]
    fn refused(&self, (call, code): Refusal, problem: &Problem) -> Error {
        const INVALID_VALUE: i32 = 7;
        const ARCH_MISMATCH: i32 = 8;
        let unsupported = code == NOT_SUPPORTED
            || code.0 == ARCH_MISMATCH
            // Of attributes and problems that it does not know, it says that they are invalid.
            || (code.0 == INVALID_VALUE && call != MATMUL)
            || (code.0 == INVALID_VALUE && problem.matrices.iter().any(|m| matches!(m.data_type, 28 | 29)));
        match self.library_status(call, code) {
            Err(Error::LibraryError { .. }) if unsupported => {
                let name = codes::cublas_name(code.0).unwrap_or("an unknown status");
                Error::unsupported(format!("{call} answers {name} to {problem}")).locate(|site| {
                    site.set_code(code.0, Text::Borrowed(name));
                })
            }
            Err(error) => error,
            Ok(()) => Error::library(format!("{call} failed without a code")),
        }
    }
}

/// Does nothing but have the slot's handle made.
struct Warm;

impl Op for Warm {
    const NAME: &'static str = "warm";
    const LIBRARY: &'static str = "blaslt";
    type Reads = ();
    type Output = ();
    type Raw = ();
    fn check(&self, (): &(), (): &()) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): (), (): ()) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        queue.warm_lt()
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Makes the handle of every slot of `device`.
pub(crate) fn warm(device: &crate::Device) -> Result<()> {
    let epoch = device.epoch();
    let Some(engine) = epoch.engine.as_cuda() else { return Ok(()) };
    for index in 0..engine.core.slots.len() {
        engine.core.submit_on(index, device, &epoch, Warm)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        let matrix = |rows, columns| MatrixOf { data_type: 28, order: 0, rows, columns, ld: rows as i64, stride: 4096 };
        let matrices = [matrix(64, 32), matrix(64, 16), matrix(32, 16), matrix(32, 16)];
        Problem {
            matrices,
            trans: [1, 0],
            batch: 3,
            compute: 68,
            scale: 0,
            epilogue: 164,
            bias_type: Some(14),
            aux_type: Some(2),
            bias_stride: 32,
            aux_ld: 32,
            aux_stride: 512,
            scaled: [true; 4],
            outer: [true; 2],
            factors_on_device: true,
            fast_accumulation: true,
            in_place: false,
            alignment: [256, 16, 32, 64, 4, 8],
            workspace: 1 << 20,
        }
    }

    /// Needs the library, not a GPU: descriptors are host memory. Skipped, and said so, where it is not installed.
    #[test]
    fn the_library_takes_every_descriptor_that_can_be_made() {
        let api = match CublasLt::load() {
            Ok(api) => api,
            Err(error) => return println!("skipped: {error}"),
        };
        let addresses = Addresses {
            a: 256,
            b: 512,
            c: 1024,
            d: 2048,
            bias: 4096,
            aux: 8192,
            scales: [16, 32, 48, 64],
            factors: Some([16, 32]),
        };
        for row in [0, 1] {
            let mut problem = problem();
            problem.matrices.iter_mut().for_each(|m| (m.order, m.ld) = (row, 64));
            let descriptors = Descriptors::of(api, &problem, &addresses).unwrap();
            descriptors.point(&Addresses { bias: 1 << 20, ..addresses }).unwrap();
            let unknown = descriptors.set(9999, &[0; 4]);
            assert!(unknown.is_err(), "an attribute that does not exist was taken");
        }
    }

    #[test]
    fn every_part_of_a_problem_is_part_of_the_key() {
        let known = problem();
        let others: Vec<Box<dyn Fn(&mut Problem)>> = vec![
            Box::new(|p| p.matrices[0].ld = 65),
            Box::new(|p| p.matrices[1].stride = 0),
            Box::new(|p| p.matrices[2].order = 1),
            Box::new(|p| p.matrices[3].data_type = 14),
            Box::new(|p| p.matrices[3].rows = 33),
            Box::new(|p| p.trans = [0, 0]),
            Box::new(|p| p.batch = 4),
            Box::new(|p| p.compute = 77),
            Box::new(|p| p.scale = 1),
            Box::new(|p| p.epilogue = 1),
            Box::new(|p| p.bias_type = None),
            Box::new(|p| p.aux_type = None),
            Box::new(|p| p.bias_stride = 0),
            Box::new(|p| p.aux_ld = 40),
            Box::new(|p| p.aux_stride = 0),
            Box::new(|p| p.scaled[3] = false),
            Box::new(|p| p.outer[1] = false),
            Box::new(|p| p.factors_on_device = false),
            Box::new(|p| p.fast_accumulation = false),
            Box::new(|p| p.in_place = true),
            Box::new(|p| p.alignment[5] = 16),
            Box::new(|p| p.workspace = 0),
        ];
        let choice = Choice { algo: [7; 8], workspace: 0, waves: 1.0, tuned: false };
        let choices = Choices::default();
        choices.remember(&known, choice);
        for change in others {
            let mut other = known;
            change(&mut other);
            assert_eq!(choices.of(&other), None, "{other:?}");
        }
        assert_eq!(choices.of(&known), Some(choice));
    }

    #[test]
    fn a_measured_choice_outlives_what_the_heuristic_says() {
        let (choices, problem) = (Choices::default(), problem());
        let guess = |waves| Choice { algo: [1; 8], workspace: 0, waves, tuned: false };
        assert_eq!(choices.remember(&problem, guess(1.0)).waves, 1.0);
        choices.pin(&problem, guess(2.0));
        assert_eq!(choices.pinned(), 1);
        assert_eq!(choices.remember(&problem, guess(3.0)).waves, 2.0);
        assert_eq!(choices.of(&problem).map(|c| (c.waves, c.tuned)), Some((2.0, true)));
    }

    #[test]
    fn an_address_is_as_aligned_as_its_lowest_bit() {
        let addresses = Addresses { a: 0x1000, b: 0x1010, c: 0x1002, d: 0x10c0, aux: 0x1001, ..Addresses::default() };
        assert_eq!(addresses.alignment(), [256, 16, 2, 64, 0, 1]);
    }
}

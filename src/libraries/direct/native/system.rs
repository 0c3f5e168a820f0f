//! The library's objects of one system, and the calls for them.

use super::functions::{CudssFunctions, RawConfig, RawData, RawHandle, RawMatrix};
use super::handle::{Cudss, Handle, Handles, handle_of};
use super::recipe::Recipe;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::{Native, Queue};
use crate::engines::library::{Code, Object, Refusal};
use crate::libraries::direct::Factorization;
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

/// Offsets, indices and values of a matrix: addresses.
pub(super) type Arrays = [u64; 3];

/// `cudssPhase_t`.
const ANALYSIS: i32 = 3;
const FACTORIZATION: i32 = 4;
const REFACTORIZATION: i32 = 8;
const SOLVE: i32 = 1008;
/// `cudssConfigParam_t`.
const MATCHING: i32 = 3;
const SOLVE_MODE: i32 = 4;
const PIVOT_EPSILON: i32 = 9;
/// `cudssDataParam_t`.
const INFO: i32 = 0;
const LU_NNZ: i32 = 1;
const NPIVOTS: i32 = 2;
const INERTIA: i32 = 3;
const PERM_REORDER_ROW: i32 = 4;
const DIAG: i32 = 8;

/// What the library has made for a system.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    handle: Native<RawHandle>,
    config: Native<RawConfig>,
    data: Native<RawData>,
    a: Native<RawMatrix>,
}

/// A system that was analysed, and its factor if it has one.
pub(super) struct Made {
    /// Work in flight keeps it.
    raw: Arc<Object<Raw>>,
    handles: Arc<Handles>,
    api: &'static CudssFunctions,
    recipe: Recipe,
    factored: bool,
}

/// What the library says about a factor.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    /// Of Cholesky: the position of the pivot that is not positive, from 1.
    pub(super) info: u64,
    pub(super) perturbed: u64,
    pub(super) negative: u64,
}

/// The description of a dense matrix, which the work that reads it keeps.
struct Dense {
    raw: Native<RawMatrix>,
    api: &'static CudssFunctions,
}

impl Drop for Dense {
    fn drop(&mut self) {
        // SAFETY: made by the library, destroyed once; host memory of which nothing in flight knows any more.
        let _ = unsafe { self.api.matrix_destroy(self.raw.0) };
    }
}

fn pointer(address: u64) -> *const c_void {
    std::ptr::with_exposed_provenance(address as usize)
}

/// The library, the handles and the stream that all of it uses. Nothing is enqueued yet.
fn library(queue: &mut Queue<'_>) -> Result<(&'static CudssFunctions, Arc<Handles>, CUstream)> {
    let (api, Handle { all, stream }) = queue.consult::<Cudss>()?;
    Ok((api, all.clone(), stream.0))
}

impl Raw {
    const NONE: Raw = Raw {
        handle: Native(RawHandle::NULL),
        config: Native(RawConfig::NULL),
        data: Native(RawData::NULL),
        a: Native(RawMatrix::NULL),
    };

    /// Makes what there has to be, and analyses. What was made before a failure is in `self`.
    fn make(&mut self, api: &'static CudssFunctions, recipe: Recipe, a: Arrays) -> Result<(), Refusal> {
        let (n, nnz, [offsets, indices, values]) = (recipe.n as i64, recipe.nnz as i64, a.map(pointer));
        let (index, value, handle) = (recipe.index_type(), recipe.value_type(), self.handle.0);
        let (kind, view, none) = (recipe.kind(), recipe.view(), std::ptr::null());
        // SAFETY: each is valid for the write.
        unsafe { api.config_create(&mut self.config.0) }.by("cudssConfigCreate")?;
        // SAFETY: as above; the caller has locked the handle.
        unsafe { api.data_create(handle, &mut self.data.0) }.by("cudssDataCreate")?;
        let to = &mut self.a.0;
        // SAFETY: as above; the arrays have `n + 1` offsets and as many indices and values as are said, and outlast the analysis.
        let code = unsafe {
            api.csr_create(to, n, n, nnz, offsets, none, indices, values, index, index, value, kind, view, 0)
        };
        code.by("cudssMatrixCreateCsr")?;
        if let Factorization::Cholesky(_) = recipe.factorization {
            // The structure alone is analysed; and no pivot is small but one that is not positive.
            self.set(api, MATCHING, &0i32.to_ne_bytes())?;
            let least = if recipe.epsilon() > 1e-10 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
            self.set(api, PIVOT_EPSILON, &least.to_ne_bytes())?;
        } else {
            // Large entries come to the diagonal, and scales make them 1: AUTO. The least pivot is then one of a matrix of ones.
            self.set(api, MATCHING, &6i32.to_ne_bytes())?;
        }
        self.execute(api, ANALYSIS, RawMatrix::NULL)
    }

    fn set(&self, api: &CudssFunctions, what: i32, value: &[u8]) -> Result<(), Refusal> {
        // SAFETY: the configuration is alive; the value has the bytes that this parameter has, and is read during the call.
        unsafe { api.config_set(self.config.0, what, value.as_ptr().cast(), value.len()) }.by("cudssConfigSet")
    }

    /// A datum of `N` bytes, after the work that makes it.
    fn get<const N: usize>(&self, api: &CudssFunctions, what: i32) -> Result<[u8; N], Refusal> {
        let (mut bytes, mut written) = ([0; N], 0);
        // SAFETY: the object is alive, under the lock of the handles; the bytes are valid for the write.
        unsafe { api.data_get(self.handle.0, self.data.0, what, bytes.as_mut_ptr().cast(), N, &mut written) }
            .by("cudssDataGet")?;
        Ok(bytes)
    }

    /// Writes an array of the object to device memory.
    fn bring(&self, api: &CudssFunctions, what: i32, to: u64, bytes: usize) -> Result<(), Refusal> {
        let mut written = 0;
        // SAFETY: as above; the caller has memory of so many bytes there.
        unsafe { api.data_get(self.handle.0, self.data.0, what, pointer(to).cast_mut(), bytes, &mut written) }
            .by("cudssDataGet")
    }

    /// Numbers of the type of the indices.
    fn counts<const N: usize>(&self, api: &CudssFunctions, recipe: Recipe, what: i32) -> Result<[u64; N], Refusal> {
        // At most two numbers.
        let bytes: [u8; 16] = match (N, recipe.wide) {
            (1, false) => padded(self.get::<4>(api, what)?),
            (1, true) | (_, false) => padded(self.get::<8>(api, what)?),
            (_, true) => self.get::<16>(api, what)?,
        };
        let size = recipe.index_bytes();
        let mut counts = [0; N];
        for (count, bytes) in counts.iter_mut().zip(bytes.chunks(size)) {
            let mut wide = [0; 8];
            wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            *count = u64::from_le_bytes(wide);
        }
        Ok(counts)
    }

    fn execute(&self, api: &CudssFunctions, phases: i32, x: RawMatrix) -> Result<(), Refusal> {
        let Raw { handle, config, data, a } = *self;
        // SAFETY: all are alive, under the lock of the handles; the arrays of A and X are operands or scratch of this dispatch.
        unsafe { api.execute(handle.0, phases, config.0, data.0, a.0, x, x) }.by("cudssExecute")
    }

    /// The arrays of A, which has the structure that was analysed.
    fn point(&self, api: &CudssFunctions, a: Arrays) -> Result<(), Refusal> {
        let [offsets, indices, values] = a.map(pointer);
        // SAFETY: as in `make`; they outlast the work that is enqueued with them.
        unsafe { api.csr_pointers(self.a.0, offsets, std::ptr::null(), indices, values) }
            .by("cudssMatrixSetCsrPointers")
    }

    /// Destroys what there is of it; the first failure. The handles are locked.
    fn destroy(self, api: &CudssFunctions) -> Code {
        let mut codes = [Code::SUCCESS; 3];
        let [matrix, data, config] = &mut codes;
        if self.a.0 != RawMatrix::NULL {
            // SAFETY: made by the library, destroyed once, and used by nothing; so below.
            *matrix = unsafe { api.matrix_destroy(self.a.0) };
        }
        if self.data.0 != RawData::NULL {
            // SAFETY: as above; its handle is alive.
            *data = unsafe { api.data_destroy(self.handle.0, self.data.0) };
        }
        if self.config.0 != RawConfig::NULL {
            // SAFETY: as above.
            *config = unsafe { api.config_destroy(self.config.0) };
        }
        codes.into_iter().find(|code| !code.is_success()).unwrap_or(Code::SUCCESS)
    }
}

/// Followed by zeros.
fn padded<const N: usize>(bytes: [u8; N]) -> [u8; 16] {
    let mut all = [0; 16];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    all
}

impl Made {
    /// Analyses a matrix. If there is no memory, nothing of the call is left in flight, and it may be tried again.
    pub(super) fn new(queue: &mut Queue<'_>, recipe: Recipe, a: Arrays) -> Result<Self> {
        let (api, handles, stream) = library(queue)?;
        // What the arrays come from may take long: without the lock. The library may read them beside the stream, too.
        queue.settle()?;
        let mut raw = Raw::NONE;
        let mut held = handles.0.lock();
        let made = handle_of(&mut held, api, stream, recipe.dtype).and_then(|handle| {
            raw.handle = Native(handle);
            raw.make(api, recipe, a)
        });
        if let Err((call, code)) = made {
            let settled = queue.settle();
            let _ = raw.destroy(api);
            drop(held);
            settled?;
            return Err(queue.failure::<Cudss>(call, code));
        }
        // The epoch may destroy others now, whose destructors take the lock.
        drop(held);
        let of_raw = handles.clone();
        let raw = Arc::new(queue.object(raw, move |raw| {
            let _held = of_raw.0.lock();
            raw.destroy(api)
        }));
        // Also if what follows fails while something of the analysis is on the stream.
        queue.keep(raw.clone());
        Ok(Made { raw, handles, api, recipe, factored: false })
    }

    /// The type of its values.
    pub(super) fn dtype(&self) -> DType {
        self.recipe.dtype
    }

    /// A call of the library, with the handles locked.
    fn call<R>(&self, queue: &Queue<'_>, how: impl FnOnce(&Raw) -> Result<R, Refusal>) -> Result<R> {
        let held = self.handles.0.lock();
        let outcome = how(&self.raw);
        drop(held);
        outcome.map_err(|(call, code)| queue.failure::<Cudss>(call, code))
    }

    /// The number of entries of the factors, as the library counts them.
    pub(super) fn entries(&self, queue: &Queue<'_>) -> Result<u64> {
        self.call(queue, |raw| raw.get::<8>(self.api, LU_NNZ)).map(u64::from_le_bytes)
    }

    /// Writes the order of the rows, as many indices as there are rows.
    pub(super) fn order(&self, queue: &mut Queue<'_>, to: u64) -> Result<()> {
        queue.touch();
        let bytes = self.recipe.n.saturating_mul(self.recipe.index_bytes());
        self.call(queue, |raw| raw.bring(self.api, PERM_REORDER_ROW, to, bytes))
    }

    /// Enqueues the factorization of a matrix with the structure that was analysed. If there is no memory, nothing is in flight.
    pub(super) fn factor(&mut self, queue: &mut Queue<'_>, a: Arrays) -> Result<()> {
        let (api, phase) = (self.api, if self.factored { REFACTORIZATION } else { FACTORIZATION });
        // What the last factor has left.
        let zero = 0i32;
        let reset = |raw: &Raw| {
            // SAFETY: the object is alive, under the lock; this datum is an i32, which is read during the call.
            unsafe { api.data_set(raw.handle.0, raw.data.0, INFO, (&raw const zero).cast(), 4) }.by("cudssDataSet")
        };
        let outcome = self.call(queue, |raw| {
            raw.point(api, a)?;
            if phase == REFACTORIZATION {
                reset(raw)?;
            }
            raw.execute(api, phase, RawMatrix::NULL)
        });
        match outcome {
            Ok(()) => {
                queue.touch();
                queue.keep(self.raw.clone());
                self.factored = true;
                Ok(())
            }
            Err(error) => {
                queue.settle()?;
                Err(error)
            }
        }
    }

    /// What the library says about the factor. Waits for it.
    pub(super) fn told(&self, queue: &Queue<'_>) -> Result<Told> {
        let (api, recipe) = (self.api, self.recipe);
        self.call(queue, |raw| {
            let info = i32::from_le_bytes(raw.get::<4>(api, INFO)?);
            let [perturbed] = raw.counts::<1>(api, recipe, NPIVOTS)?;
            let n = recipe.n as u64;
            let inertia = if recipe.has_inertia() { raw.counts::<2>(api, recipe, INERTIA)? } else { [n, 0] };
            // Numbers that do not make up the whole are no inertia: nothing is certain of such a factor, which one pivot says.
            let (perturbed, negative) = match inertia {
                [positive, negative] if positive.checked_add(negative) == Some(n) => (perturbed, negative),
                [_, negative] => (perturbed.max(1), negative.min(n)),
            };
            // A number below zero is none that the library tells of: a factor that nothing is known of.
            Ok(Told { info: u64::try_from(info).unwrap_or(1), perturbed, negative })
        })
    }

    /// Writes the pivots, in the order of the rows of A. `false` if the library has none: its documentation promises them for other
    /// orders than ours.
    pub(super) fn diagonal(&self, queue: &mut Queue<'_>, to: u64) -> Result<bool> {
        queue.touch();
        let bytes = self.recipe.n.saturating_mul(self.recipe.dtype.size());
        match self.call(queue, |raw| raw.bring(self.api, DIAG, to, bytes)) {
            Err(Error::Unsupported { .. }) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }

    /// Solves for the columns of a matrix, in place: A itself (0), its transpose (1), its adjoint (2).
    pub(super) fn solve(
        &self,
        queue: &mut Queue<'_>,
        a: Arrays,
        mode: i32,
        (x, ld, cols): (u64, usize, usize),
    ) -> Result<()> {
        let (api, recipe) = (self.api, self.recipe);
        let (mut described, n) = (RawMatrix::NULL, recipe.n as i64);
        queue.touch();
        queue.keep(self.raw.clone());
        let outcome = self.call(queue, |raw| {
            raw.point(api, a)?;
            if recipe.factorization == Factorization::Lu {
                raw.set(api, SOLVE_MODE, &mode.to_ne_bytes())?;
            }
            // SAFETY: valid for the write; the columns lie in an operand or in scratch of this dispatch.
            unsafe { api.dense_create(&mut described, n, cols as i64, ld as i64, pointer(x), recipe.value_type(), 0) }
                .by("cudssMatrixCreateDn")?;
            raw.execute(api, SOLVE, described)
        });
        if described != RawMatrix::NULL {
            queue.keep(Dense { raw: Native(described), api });
        }
        outcome
    }
}

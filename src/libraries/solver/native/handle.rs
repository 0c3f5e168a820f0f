//! The cuSOLVER handles of an epoch.
//!
//! Each takes 96 MiB on an H200 (making the first of a process takes 23 ms, a further one 0.2 ms). So there is a pool
//! instead of one for every slot, and each handle has its own stream. The stream is set once: with another one the
//! cuBLAS inside would allocate memory by itself.

use super::functions::cusolverDnHandle_t;
use super::{CusolverFunctions, CusolverTyped, status};
use crate::engines::cuda::{AnyThread, Native};
use crate::engines::library::{Code, CudaLibrary, LoadError, Placement, Refusal, Seat, Status};
use crate::engines::loader::Version;
use std::sync::OnceLock;

/// cuSOLVER as a [`CudaLibrary`] of the core.
pub(crate) struct Cusolver;

// SAFETY: a handle of cuSOLVER may be used from any thread, by one at a time: the holder of its slot's lease.
unsafe impl AnyThread for cusolverDnHandle_t {}

/// All functions of the library.
pub(crate) struct Functions {
    pub(in crate::libraries::solver) regular: &'static CusolverFunctions,
    pub(in crate::libraries::solver) typed: &'static CusolverTyped,
    /// Whether `cusolverDnXsyevBatched` takes what its workspace holds for its own: CUDA 12.6 gives wrong vectors then.
    pub(in crate::libraries::solver) reads_workspace: bool,
}

/// The first release whose `cusolverDnXsyevBatched` reads nothing before it has written it: 11.7.3.90.
const READS_NOTHING: (u32, u32, Option<u32>) = (11, 7, Some(3));

/// How many handles an epoch has.
const HANDLES: usize = 4;

/// The handle.
pub(crate) struct Handle {
    pub(in crate::libraries::solver) raw: Native<cusolverDnHandle_t>,
}

impl CudaLibrary for Cusolver {
    const NAME: &'static str = "solver";
    const STATUS: &'static [Status] = status::STATUS;
    const HANDLES: Placement = Placement::Pool(HANDLES);
    type Api = Functions;
    type Handle = Handle;
    type Shared = ();

    fn kernels() -> &'static [&'static crate::engines::cuda::Ptx] {
        static ALL: &[&crate::engines::cuda::Ptx] = &[&super::kernels::KERNELS, &super::kernels::RANKS];
        ALL
    }

    fn load() -> Result<&'static Functions, LoadError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let (regular, typed) = (CusolverFunctions::load()?, CusolverTyped::load()?);
        // One that tells no version is taken for an old one.
        let version = Version::query(regular.library());
        let reads_workspace = version.is_none_or(|is| (is.major, is.minor, is.patch) < READS_NOTHING);
        Ok(FUNCTIONS.get_or_init(|| Functions { regular, typed, reads_workspace }))
    }

    fn create(api: &'static Functions, seat: &mut Seat<'_>) -> Result<Handle, Refusal> {
        let api = api.regular;
        let mut raw: cusolverDnHandle_t = std::ptr::null_mut();
        // SAFETY: `raw` is valid for the write; the context is current.
        unsafe { api.create(&mut raw) }.by("cusolverDnCreate")?;
        // SAFETY: handle and stream are alive.
        if let Err(refusal) = unsafe { api.set_stream(raw, seat.stream()) }.by("cusolverDnSetStream") {
            // SAFETY: made above, not used yet.
            let _ = unsafe { api.destroy(raw) };
            return Err(refusal);
        }
        Ok(Handle { raw: Native(raw) })
    }

    fn destroy(api: &'static Functions, handle: Handle) -> Code {
        // SAFETY: made by `create`, destroyed once, idle.
        unsafe { api.regular.destroy(handle.raw.0) }
    }
}

//! cuDNN as a [`CudaLibrary`] of the core: one handle for each slot, bound to the slot's stream.

use super::functions::{CudnnFunctions, RawHandle};
use super::status::STATUS;
use crate::core::error::Result;
use crate::core::sync::Mutex;
use crate::engines::cuda::Native;
use crate::engines::library::{Code, CudaLibrary, LoadError, Refusal, Seat, Site, Status};
use crate::engines::loader::{self, Library, Version};
use std::ffi::{CStr, c_char};
use std::ops::Deref;
use std::sync::OnceLock;

/// cuDNN.
pub(crate) struct Cudnn;

/// The oldest release whose plans can be made without a handle, for a device that is described.
const OLDEST: (u32, u32) = (9, 8);

/// `cudnnGetLastErrorString`, which returns no status.
type LastError = unsafe extern "C" fn(*mut c_char, usize);

/// All functions of the library.
pub(crate) struct Functions {
    regular: &'static CudnnFunctions,
    last_error: Option<LastError>,
    pub(super) version: Version,
}

impl Deref for Functions {
    type Target = CudnnFunctions;
    fn deref(&self) -> &CudnnFunctions {
        self.regular
    }
}

impl Functions {
    /// Why the last call of this thread failed, in the library's words; empty if it says nothing.
    pub(super) fn reason(&self) -> String {
        let mut text = [0 as c_char; 2048];
        let Some(last_error) = self.last_error else { return String::new() };
        // SAFETY: the signature of the header; the buffer has as many bytes as are told, and the last stays zero.
        unsafe { last_error(text.as_mut_ptr(), text.len() - 1) };
        // SAFETY: the last byte is zero.
        let told = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
        told.trim().to_owned()
    }
}

impl CudaLibrary for Cudnn {
    const NAME: &'static str = "dnn";
    const STATUS: &'static [Status] = STATUS;
    type Api = Functions;
    type Handle = Native<RawHandle>;
    type Shared = ();

    fn load() -> Result<&'static Functions, LoadError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        // Without cuBLASLt the library ends the process when the first graph is made. It loads it by its bare name.
        loader::open_needed(Library::CublasLt)?;
        let regular = CudnnFunctions::load()?;
        let loaded = regular.library();
        let version = Version::query(loaded).filter(|version| (version.major, version.minor) >= OLDEST);
        let Some(version) = version else { return Err(LoadError::old(loaded, OLDEST)) };
        // SAFETY: the signature of the header.
        let last_error = unsafe { loaded.symbol::<LastError>(c"cudnnGetLastErrorString") };
        Ok(FUNCTIONS.get_or_init(|| Functions { regular, last_error, version }))
    }

    fn create(api: &'static Functions, seat: &mut Seat<'_>) -> Result<Native<RawHandle>, Refusal> {
        // The first handle of a process loads files, which is not safe on two threads at once.
        static ONE: Mutex<()> = Mutex::new(());
        let mut raw = RawHandle::NULL;
        {
            let _one = ONE.lock();
            // SAFETY: `raw` is valid for the write; the context is current.
            unsafe { api.create(&mut raw) }.by("cudnnCreate")?;
        }
        // SAFETY: handle and stream are alive.
        if let Err(refusal) = unsafe { api.set_stream(raw, seat.stream()) }.by("cudnnSetStream") {
            // SAFETY: made above, not used yet.
            let _ = unsafe { api.destroy(raw) };
            return Err(refusal);
        }
        Ok(Native(raw))
    }

    fn destroy(api: &'static Functions, handle: Native<RawHandle>) -> Code {
        // SAFETY: made by `create`, destroyed once, idle.
        unsafe { api.regular.destroy(handle.0) }
    }

    fn distrust() -> Option<String> {
        super::super::plans::Store::shared().distrust()
    }

    fn answer(site: &Site<'_, Self>, question: &[u8]) -> Result<Vec<u8>> {
        super::answer::answer(site, question)
    }
}

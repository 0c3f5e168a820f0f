//! Named ranges for profilers. Without the feature `nvtx`, or without the library, nothing happens.

use smallvec::SmallVec;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::engines::loader::{self, Library, Loaded};

struct Nvtx {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
}

impl Nvtx {
    fn from_loaded(loaded: &Loaded) -> Option<Self> {
        // SAFETY: the signatures are those of nvToolsExt.h.
        unsafe { Some(Nvtx { push: loaded.symbol(c"nvtxRangePushA")?, pop: loaded.symbol(c"nvtxRangePop")? }) }
    }
}

/// Looked up once: a profiler is attached when the process starts or never.
fn nvtx() -> Option<&'static Nvtx> {
    static NVTX: OnceLock<Option<Nvtx>> = OnceLock::new();
    if !cfg!(feature = "nvtx") {
        return None;
    }
    NVTX.get_or_init(|| Nvtx::from_loaded(loader::open(Library::Nvtx).ok()?)).as_ref()
}

/// Opens a range on the calling thread; it ends when the returned guard is dropped. The ranges of a thread are nested.
/// A zero byte in `name` ends it.
pub(crate) fn range(name: &str) -> Range {
    let Some(nvtx) = nvtx() else { return range_of(None, c"") };
    // On the stack, because every dispatch calls this.
    let mut text = SmallVec::<[u8; 64]>::from_slice(name.as_bytes());
    text.push(0);
    range_of(Some(nvtx), CStr::from_bytes_until_nul(&text).unwrap_or_default())
}

fn range_of(nvtx: Option<&'static Nvtx>, name: &CStr) -> Range {
    if let Some(nvtx) = nvtx {
        // SAFETY: the name is a terminated string, which the library copies before it returns.
        unsafe { (nvtx.push)(name.as_ptr()) };
    }
    Range { nvtx, of_this_thread: PhantomData }
}

/// An open range. It cannot move to another thread, because the library counts ranges per thread.
#[must_use = "the range ends when this is dropped"]
pub(crate) struct Range {
    nvtx: Option<&'static Nvtx>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(nvtx) = self.nvtx {
            // SAFETY: pops the range that this thread pushed when the guard was made.
            unsafe { (nvtx.pop)() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::loader::Loader;
    use crate::engines::loader::testing::Tree;

    #[test]
    fn a_range_without_a_library_does_nothing() {
        drop(range_of(None, c"gemm"));
    }

    #[test]
    fn a_range_pushes_when_made_and_pops_when_dropped() {
        let tree = Tree::new();
        tree.library(
            "usr/local/cuda/lib64/libnvtx3interop.so.1",
            "int depth; int nvtxRangePushA(const char *s) { return depth++; } int nvtxRangePop(void) { return --depth; }
             int depth_now(void) { return depth; }",
            &[],
        );
        let loaded = Loader::new(tree.env()).open(Library::Nvtx).unwrap();
        // SAFETY: the type is that of the C function above.
        let depth = unsafe { loaded.symbol::<unsafe extern "C" fn() -> c_int>(c"depth_now") }.unwrap();
        let nvtx: &'static Nvtx = Box::leak(Box::new(Nvtx::from_loaded(loaded).unwrap()));
        let outer = range_of(Some(nvtx), c"outer");
        let inner = range_of(Some(nvtx), c"inner");
        // SAFETY: takes nothing.
        assert_eq!(unsafe { depth() }, 2);
        drop(inner);
        drop(outer);
        // SAFETY: takes nothing.
        assert_eq!(unsafe { depth() }, 0);
    }
}

//! Checks that the names in a library's tables exist in the library, for the tests of each library.

use super::LoadError;
use crate::engines::loader::Loaded;
use std::ffi::CString;
use std::io::Write as _;

/// If this machine has the library, it must have every function of the tables; if a GPU is under test, the library must
/// be present. Otherwise only the form of the names is checked, and a message says so.
pub(crate) fn assert_names(
    prefix: &str,
    names: impl IntoIterator<Item = &'static str>,
    library: Result<&'static Loaded, LoadError>,
) {
    // An empty name: the library has no such routine for that letter.
    let names = names.into_iter().map(|name| name.trim_end_matches('\0')).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    assert!(names.iter().all(|name| name.starts_with(prefix)), "{names:?}");
    let library = match library {
        Ok(library) => library,
        Err(error) => {
            let device = std::env::var_os("WINDLASS_TEST_DEVICE");
            let gpu = device.as_ref().is_some_and(|name| name.to_string_lossy().starts_with("cuda"));
            assert!(!gpu, "{device:?} is under test, and there is no library: {error}");
            // Written directly to stderr, because captured output of a passing test is not shown.
            let _ = writeln!(
                std::io::stderr(),
                "\n== SKIPPED: {} names of {prefix}.. were not looked up, for there is no library ({error}); \
                 WINDLASS_CUDA_PATH=FOLDER names one, no GPU is needed",
                names.len()
            );
            return;
        }
    };
    // SAFETY: the addresses are not called.
    let there = |name: &CString| unsafe { library.symbol::<unsafe extern "C" fn() -> i32>(name) }.is_some();
    let missing: Vec<_> =
        names.into_iter().filter(|name| !CString::new(*name).is_ok_and(|name| there(&name))).collect();
    assert!(missing.is_empty(), "{missing:?} are not in {library:?}");
}

//! Whether the names of a library's tables are names of the library, for the tests of each.

use super::LoadError;
use crate::loader::Loaded;
use std::ffi::CString;
use std::io::Write as _;

/// The machine's own library, where there is one, has every function of the tables; where a GPU is under test there must be
/// one. Elsewhere only the form of the names is looked at, and that is said loudly.
pub(crate) fn assert_names(
    prefix: &str,
    names: impl IntoIterator<Item = &'static str>,
    library: Result<&'static Loaded, LoadError>,
) {
    // Empty: the library never had the routine for that letter.
    let names = names.into_iter().map(|name| name.trim_end_matches('\0')).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    assert!(names.iter().all(|name| name.starts_with(prefix)), "{names:?}");
    let library = match library {
        Ok(library) => library,
        Err(error) => {
            let device = std::env::var_os("WINDLASS_TEST_DEVICE");
            let gpu = device.as_ref().is_some_and(|name| name.to_string_lossy().starts_with("cuda"));
            assert!(!gpu, "{device:?} is under test, and there is no library: {error}");
            // To the stream itself: what a passing test prints is not shown.
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

//! The loader on the machine as it is, with CUDA or without: whatever is missing is told, and nothing panics.

use crate::common::child::{alone, this_test};
use windlass::loader::{self, Library};

#[test]
fn a_report_accounts_for_every_library_of_this_build() {
    alone(&this_test!(), || {
        let report = loader::report();
        let libraries: Vec<Library> = report.iter().map(|one| one.library).collect();
        let enabled: Vec<Library> = Library::ALL.iter().copied().filter(|library| library.is_enabled()).collect();
        assert_eq!(libraries, enabled);
        for one in &report {
            match &one.found {
                Ok(path) => assert!(path.is_file(), "{one}"),
                Err(missing) => {
                    assert_eq!(missing.library, one.library);
                    assert!(missing.tried.len() > 1 && !missing.help.is_empty(), "{one:#}");
                }
            }
            println!("{one:#}");
        }
        loader::retry();
        let again = loader::report();
        let found = |report: &[loader::LibraryReport]| report.iter().map(|one| one.found.is_ok()).collect::<Vec<_>>();
        assert_eq!(found(&again), found(&report));
    });
}

//! A path set by the program, on the machine as it is. Alone in its process: what is loaded stays.

use crate::common::child::{alone, this_test};
use std::process::Command;

use windlass::loader::{self, Library};

#[test]
fn a_path_set_before_first_use_is_searched_before_all_else() {
    alone(&this_test!(), || {
        let root = std::env::temp_dir().join(format!("windlass-path-{}", std::process::id()));
        let lib = root.join("lib64");
        std::fs::create_dir_all(&lib).unwrap();
        let code = root.join("nccl.c");
        std::fs::write(&code, "int ncclGetVersion(int *v) { *v = 22809; return 0; }").unwrap();
        let file = lib.join("libnccl.so.2");
        let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&file).arg(&code).status().unwrap();
        assert!(done.success());

        assert_eq!(loader::set_cuda_path(&root), [], "something was loaded before");
        let report = loader::report();
        let nccl = report.iter().find(|one| one.library == Library::Nccl).unwrap();
        assert_eq!(nccl.found.as_ref().unwrap(), &file.canonicalize().unwrap());
        assert_eq!(nccl.version.map(|version| version.to_string()).as_deref(), Some("2.28.9"));
        assert!(loader::set_cuda_path(&root).contains(&Library::Nccl), "a loaded library is told to be unaffected");
        let _ = std::fs::remove_dir_all(&root);
    });
}

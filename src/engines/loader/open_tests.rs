use super::*;
use crate::engines::loader::Version;
use crate::engines::loader::testing::Tree;

const EMPTY: &str = "int nothing;";

fn tried(missing: &Missing, part: &str) -> bool {
    missing.tried.iter().any(|line| line.contains(part))
}

#[test]
fn every_library_is_missing_on_an_empty_machine_and_tells_where_it_was_looked_for() {
    let tree = Tree::new();
    let mut loader = Loader::new(tree.env());
    for &library in Library::ALL {
        let missing = loader.open(library).unwrap_err();
        assert_eq!(missing.library, library);
        assert!(tried(&missing, "WINDLASS_CUDA_PATH: not set"), "{missing:#}");
        assert!(missing.help.contains("WINDLASS_CUDA_PATH"), "{missing}");
        assert!(missing.to_string().contains(library.spec().sonames[0].file), "{missing}");
        assert!(format!("{missing:#}").lines().count() > missing.tried.len());
    }
    assert!(loader.loaded().is_empty());
}

#[test]
fn a_library_is_loaded_once_and_its_functions_can_be_called() {
    let tree = Tree::new();
    tree.library("usr/local/cuda-13.0/lib64/libcufft.so.12", "int answer(void) { return 42; }", &[]);
    let mut loader = Loader::new(tree.env());
    let loaded = loader.open(Library::Cufft).unwrap();
    assert_eq!(loaded.path, tree.path().join("usr/local/cuda-13.0/lib64/libcufft.so.12"));
    assert_eq!(loaded.cuda_major, Some(13));
    assert!(std::ptr::eq(loaded, loader.open(Library::Cufft).unwrap()));
    // SAFETY: this is the signature of the function above.
    let answer = unsafe { loaded.symbol::<unsafe extern "C" fn() -> i32>(c"answer") }.unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { answer() }, 42);
    // SAFETY: there is no function of that name.
    assert!(unsafe { loaded.symbol::<unsafe extern "C" fn() -> i32>(c"question") }.is_none());
}

#[test]
fn a_file_that_is_no_library_is_told_in_the_linkers_words_and_the_next_is_taken() {
    let tree = Tree::new();
    tree.file("usr/local/cuda/lib64/libnccl.so.2");
    tree.library("usr/local/cuda-12.8/lib64/libnccl.so.2", EMPTY, &[]);
    let mut loader = Loader::new(tree.env());
    assert!(loader.open(Library::Nccl).unwrap().path.ends_with("usr/local/cuda-12.8/lib64/libnccl.so.2"));

    let tree = Tree::new();
    tree.file("usr/local/cuda/lib64/libnccl.so.2");
    let missing = Loader::new(tree.env()).open(Library::Nccl).unwrap_err();
    assert!(missing.tried.iter().any(|line| line.contains("usr/local/cuda/lib64/libnccl.so.2: ")), "{missing:#}");
}

#[test]
fn the_newest_name_in_a_folder_is_taken() {
    let tree = Tree::new();
    for file in ["libcublasLt.so.12", "libcublasLt.so.13"] {
        tree.library(&format!("usr/local/cuda/lib64/{file}"), EMPTY, &[]);
    }
    let loaded = Loader::new(tree.env()).open(Library::CublasLt).unwrap();
    assert!(loaded.path.ends_with("libcublasLt.so.13"), "{loaded:?}");
}

#[test]
fn the_first_major_is_kept_and_a_library_of_another_is_skipped_with_the_reason() {
    let tree = Tree::new();
    tree.library("usr/local/cuda/lib64/libcublasLt.so.12", EMPTY, &[]);
    tree.library("usr/local/cuda-13.0/lib64/libcufft.so.12", EMPTY, &[]);
    let mut loader = Loader::new(tree.env());
    loader.open(Library::CublasLt).unwrap();
    let missing = loader.open(Library::Cufft).unwrap_err();
    assert!(tried(&missing, "it belongs to CUDA 13, and cuBLASLt of CUDA 12 is in use"), "{missing:#}");

    // A later candidate of the right major version is taken.
    tree.library("usr/local/cuda-12.1/lib64/libcufft.so.11", EMPTY, &[]);
    loader.forget_failures();
    assert!(loader.open(Library::Cufft).unwrap().path.ends_with("libcufft.so.11"));
}

#[test]
fn a_name_that_two_majors_share_is_told_by_its_folder() {
    let tree = Tree::new();
    tree.library("usr/local/cuda/lib64/libcurand.so.10", EMPTY, &[]);
    tree.library("usr/local/cuda/lib64/libcublasLt.so.13", EMPTY, &[]);
    tree.library("usr/local/cuda-12.6/lib64/libcurand.so.10", EMPTY, &[]);
    tree.library("usr/local/cuda-12.6/lib64/libcufft.so.11", EMPTY, &[]);
    let mut loader = Loader::new(tree.env());
    loader.open(Library::Cufft).unwrap();
    let loaded = loader.open(Library::Curand).unwrap();
    assert!(loaded.path.ends_with("cuda-12.6/lib64/libcurand.so.10"), "{loaded:?}");
}

#[test]
fn libraries_without_a_major_do_not_fix_one() {
    let tree = Tree::new();
    tree.library("usr/local/cuda-12.6/lib64/libnccl.so.2", EMPTY, &[]);
    tree.library("usr/local/cuda-13.0/lib64/libcufft.so.12", EMPTY, &[]);
    let mut loader = Loader::new(tree.env());
    assert_eq!(loader.open(Library::Nccl).unwrap().cuda_major, None);
    loader.open(Library::Cufft).unwrap();
}

/// The wheels of CUDA 12: a folder for each library, and no library finds another by itself.
#[test]
fn what_a_library_needs_is_loaded_before_it_from_other_folders_and_of_its_major() {
    let tree = Tree::new();
    let packages = "venv/lib/python3.12/site-packages/nvidia";
    let link = format!("{packages}/nvjitlink/lib/libnvJitLink.so.12");
    let sparse = format!("{packages}/cusparse/lib/libcusparse.so.12");
    let solver = format!("{packages}/cusolver/lib/libcusolver.so.11");
    tree.library(&link, "int link_it(void) { return 1; }", &[]);
    tree.library(&sparse, "int link_it(void); int multiply(void) { return link_it(); }", &[&link]);
    tree.library(&solver, "int multiply(void); int solve(void) { return multiply(); }", &[&sparse, &link]);
    // A newer nvJitLink that must not be taken for a solver of CUDA 12.
    tree.library("usr/local/cuda/lib64/libnvJitLink.so.13", EMPTY, &[]);
    let mut env = tree.env();
    env.explicit.push(tree.path().join("usr/local/cuda"));
    env.vars.insert("VIRTUAL_ENV", tree.path().join("venv").into());
    let mut loader = Loader::new(env);
    let loaded = loader.open(Library::Cusolver).unwrap();
    assert_eq!(loader.loaded(), [Library::Cusolver, Library::Cusparse, Library::NvJitLink]);
    assert!(loader.open(Library::NvJitLink).unwrap().path.ends_with(&link));
    // SAFETY: this is the signature of the function above.
    assert_eq!(unsafe { loaded.symbol::<unsafe extern "C" fn() -> i32>(c"solve").unwrap()() }, 1);
}

#[test]
fn the_builtins_of_the_compiler_are_loaded_from_its_folder() {
    let tree = Tree::new();
    let lib = "venv/lib/python3.12/site-packages/nvidia/cu13/lib";
    let builtins = format!("{lib}/libnvrtc-builtins.so.13.9");
    tree.library(&builtins, EMPTY, &[]);
    tree.library(
        &format!("{lib}/libnvrtc.so.13"),
        "int nvrtcVersion(int *a, int *b) { *a = 13; *b = 9; return 0; }",
        &[],
    );
    let mut env = tree.env();
    env.explicit.push(tree.path().join("venv"));
    let loaded = Loader::new(env).open(Library::Nvrtc).unwrap();
    assert_eq!(Version::query(loaded).map(|version| version.to_string()).as_deref(), Some("13.9"));
    assert!(SharedLibrary::resident(&tree.path().join(builtins)).is_some());
}

#[test]
fn a_stub_of_the_driver_is_passed_over_and_closed() {
    let tree = Tree::new();
    let stub = "int cuInit(unsigned f) { return 34; } int cuDriverGetVersion(int *v) { return 34; }";
    tree.library("stubs/libcuda.so", stub, &[]);
    let mut env = tree.env();
    env.explicit.push(tree.path().join("stubs"));
    let missing = Loader::new(env.clone()).open(Library::Driver).unwrap_err();
    assert!(tried(&missing, "stubs/libcuda.so: skipped, it is a toolkit's stub"), "{missing:#}");
    assert!(SharedLibrary::resident(&tree.path().join("stubs/libcuda.so")).is_none(), "the stub is still loaded");

    let real = "int cuInit(unsigned f) { return 100; } int cuDriverGetVersion(int *v) { *v = 13010; return 0; }";
    tree.library("usr/lib/wsl/lib/libcuda.so.1", real, &[]);
    let loaded = Loader::new(env).open(Library::Driver).unwrap();
    assert!(loaded.path.ends_with("usr/lib/wsl/lib/libcuda.so.1"));
    assert_eq!(Version::query(loaded).map(|version| version.to_string()).as_deref(), Some("13.1"));
}

#[test]
fn an_old_release_with_other_functions_is_refused_and_the_account_says_why() {
    let tree = Tree::new();
    tree.library("venv/nvidia/cu13/lib/libcudss.so.0", EMPTY, &[]);
    let mut env = tree.env();
    env.explicit.push(tree.path().join("venv/nvidia/cu13/lib"));
    let missing = Loader::new(env.clone()).open(Library::Cudss).unwrap_err();
    assert!(tried(&missing, "libcudss.so.0: refused, cuDSS 0.x has other functions"), "{missing:#}");
    assert!(missing.help.contains("nvidia-cudss-cu13"), "{missing:#}");
    tree.library("venv/nvidia/cu13/lib/libcudss.so.1", EMPTY, &[]);
    assert!(Loader::new(env).open(Library::Cudss).is_ok());
}

#[test]
fn a_failure_is_remembered_until_it_is_forgotten() {
    let tree = Tree::new();
    let mut loader = Loader::new(tree.env());
    let first = loader.open(Library::Cutensor).unwrap_err();
    tree.library("usr/local/cuda/lib64/libcutensor.so.2", EMPTY, &[]);
    assert_eq!(loader.open(Library::Cutensor).unwrap_err(), first);
    loader.forget_failures();
    assert!(loader.open(Library::Cutensor).is_ok());
}

#[test]
fn a_library_that_the_process_has_loaded_is_found_without_any_folder() {
    let tree = Tree::new();
    // The old name of NVTX, which no other test needs: this fake library stays loaded under that name from now on.
    tree.library_named("elsewhere/nvtx.so", "libnvToolsExt.so.1", EMPTY, &[]);
    let resident = dlopen(&tree.path().join("elsewhere/nvtx.so")).unwrap();
    let mut env = tree.env();
    env.ask_linker = true;
    let loaded = Loader::new(env).open(Library::Nvtx).unwrap();
    assert!(loaded.path.ends_with("elsewhere/nvtx.so"), "{loaded:?}");
    drop(resident);
}

#[test]
fn the_path_told_is_the_file_behind_the_links() {
    let tree = Tree::new();
    tree.library("store/libcudnn.so.9", "unsigned long cudnnGetVersion(void) { return 91002; }", &[]);
    tree.folder("usr/local/cuda/lib64");
    let link = tree.path().join("usr/local/cuda/lib64/libcudnn.so.9");
    std::os::unix::fs::symlink(tree.path().join("store/libcudnn.so.9"), link).unwrap();
    let loaded = Loader::new(tree.env()).open(Library::Cudnn).unwrap();
    assert_eq!(loaded.path, tree.path().join("store/libcudnn.so.9"));
    assert_eq!(Version::query(loaded).map(|version| version.to_string()).as_deref(), Some("9.10.2"));
}

#[test]
fn versions_are_read_from_properties() {
    let tree = Tree::new();
    tree.library(
        "usr/local/cuda/lib64/libcufft.so.12",
        "int cufftGetProperty(int which, int *value) { *value = 12 + which; return 0; }",
        &[],
    );
    let loaded = Loader::new(tree.env()).open(Library::Cufft).unwrap();
    assert_eq!(Version::query(loaded).map(|version| version.to_string()).as_deref(), Some("12.13.14"));
}

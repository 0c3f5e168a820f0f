//! CUDA's own headers: which programs can include them, and advice if they are missing.

use super::Source;
use super::program::Prepared;
use crate::core::error::Error;
use std::path::{Path, PathBuf};

/// The folders to search after the program's own. All of them if the program includes one of CUDA's headers, or has
/// include paths, whose headers may include one. None otherwise: a program that brings all its headers reads no file of
/// this machine.
pub(super) fn wanted(program: &Source, prepared: &Prepared, folders: impl FnOnce() -> Vec<PathBuf>) -> Vec<PathBuf> {
    let scan = &prepared.scan;
    if scan.includes.is_empty() && scan.opaque.is_none() {
        return Vec::new();
    }
    let folders = folders();
    let theirs = || {
        scan.includes.iter().any(|include| {
            Path::new(&include.name).is_relative() && folders.iter().any(|folder| folder.join(&include.name).is_file())
        })
    };
    let own = !program.compile_options().include_paths().is_empty();
    if own || scan.opaque.is_some() || theirs() { folders } else { Vec::new() }
}

/// If a header of CUDA was not found, adds to the log how to get it.
pub(super) fn advise(error: Error, major: u32, folders: &[PathBuf]) -> Error {
    let Error::Compile { mut log, diagnostics } = error else { return error };
    // The quoted parts of a message: the file that could not be opened.
    let quoted = |message: &str| message.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let missing = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error)
        .flat_map(|diagnostic| quoted(&diagnostic.message))
        .find(|name| is_cudas(name) && !folders.iter().any(|folder| folder.join(name).is_file()));
    if let Some(name) = missing {
        let suffix = if major < 13 { format!("-cu{major}") } else { String::new() };
        let crt = if major < 13 { "nvcc" } else { "crt" };
        let packages = ["runtime", crt, "cccl"].map(|part| format!("nvidia-cuda-{part}{suffix}")).join(" ");
        log.push_str(&format!(
            "\nwindlass: `{name}` is one of CUDA {major}'s headers, which are not installed beside its libraries. \
             Install them with `pip install {packages}` (`nvidia-curand{suffix}` for cuRAND's) in the environment of \
             the libraries, or install a CUDA toolkit; set WINDLASS_CUDA_PATH to either.\n"
        ));
    }
    Error::Compile { log, diagnostics }
}

/// Names of headers that come with CUDA.
fn is_cudas(name: &str) -> bool {
    const FOLDERS: [&str; 6] = ["cuda/", "cooperative_groups/", "nv/", "cub/", "thrust/", "crt/"];
    const FILES: [&str; 5] = ["cuda", "cooperative_groups", "curand", "mma.h", "math_constants.h"];
    FOLDERS.iter().any(|folder| name.starts_with(folder))
        || (!name.contains('/') && name.ends_with(".h") && FILES.iter().any(|file| name.starts_with(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(program: &Source, folders: &[PathBuf]) -> bool {
        !wanted(program, program.prepared().unwrap(), || folders.to_vec()).is_empty()
    }

    #[test]
    fn a_program_gets_cudas_headers_when_it_may_include_one() {
        let folder = crate::libraries::nvrtc::testing::Folder::new();
        folder.write("cuda_fp16.h", "");
        let folders = [folder.path().to_path_buf()];
        assert!(wants(&Source::new("#include <cuda_fp16.h>\n"), &folders));
        assert!(!wants(&Source::new("int x;"), &folders));
        assert!(!wants(&Source::new("#include \"mine.h\"\n").header("mine.h", "int x;"), &folders));
        assert!(wants(&Source::new("#include \"mine.h\"\n").header("mine.h", "#include <cuda_fp16.h>\n"), &folders));
        assert!(!wants(&Source::new("#include <cuda_fp16.h>\n").header("cuda_fp16.h", ""), &folders));
        assert!(!wants(&Source::new("#include <other.h>\n"), &folders));
    }

    #[test]
    fn a_missing_header_of_cudas_is_told_with_the_packages_that_have_it() {
        let text = |log: &str, major, folders: &[PathBuf]| {
            let diagnostics = crate::core::error::Diagnostic::read(log, |_| None);
            advise(Error::Compile { log: log.into(), diagnostics }, major, folders).to_string()
        };
        let log = |name: &str| format!("k.cu(1): catastrophic error: cannot open source file \"{name}\"\n");
        assert!(text(&log("cuda_fp16.h"), 13, &[]).contains("pip install nvidia-cuda-runtime nvidia-cuda-crt"));
        assert!(text(&log("cuda/std/cstdint"), 12, &[]).contains("nvidia-cuda-cccl-cu12"));
        for name in ["mine.h", "stdio.h", "mine/cuda_fp16.h"] {
            assert!(!text(&log(name), 13, &[]).contains("pip"), "{name}");
        }
    }
}

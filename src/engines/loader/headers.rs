//! Where CUDA's own headers are: beside the libraries that were found.
//!
//! ```text
//! toolkit          lib64, targets/x86_64-linux/lib   ->  include, targets/x86_64-linux/include
//! wheels of 13     nvidia/cu13/lib                   ->  nvidia/cu13/include
//! wheels of 12     nvidia/cuda_nvrtc/lib             ->  nvidia/*/include
//! conda            lib                               ->  include, targets/x86_64-linux/include
//! Debian           /usr/lib/x86_64-linux-gnu         ->  /usr/include
//! ```
//! From CUDA 13 on, libcu++ lies in a folder `cccl` inside these.

use super::folders;
use super::search::{SearchEnv, SearchStep, places};
use super::{Library, with_loader};
use std::path::{Path, PathBuf};

/// A file that identifies the runtime's headers.
const RUNTIME: &str = "cuda_fp16.h";
/// A file that identifies libcu++.
const LIBCUXX: &str = "cuda/std/cstdint";
/// Files that identify other folders of CUDA's headers.
const OTHERS: [&str; 4] = ["nv/target", "crt/host_defines.h", "curand_kernel.h", "cub/cub.cuh"];

/// The folders of CUDA's headers for a compiler with this file and CUDA major version: those beside it, otherwise those
/// of the other places that libraries are searched in. Empty if there are none.
pub(crate) fn header_folders(compiler: &Path, major: u32) -> Vec<PathBuf> {
    let env = with_loader(|loader| loader.env_mut().clone());
    search(compiler, major, &env)
}

fn search(compiler: &Path, major: u32, env: &SearchEnv) -> Vec<PathBuf> {
    let mut libraries: Vec<PathBuf> = compiler.parent().map(Path::to_path_buf).into_iter().collect();
    libraries.extend(places(env, Library::Nvrtc.spec().origin).into_iter().filter_map(|place| match place {
        SearchStep::Folder(folder) => Some(folder),
        _ => None,
    }));
    let mut found: Vec<PathBuf> = Vec::new();
    let has = |found: &[PathBuf], name: &str| found.iter().any(|folder| folder.join(name).is_file());
    for library in libraries {
        let fits = |folder: &&PathBuf| version(folder).is_none_or(|version| version == major);
        let here: Vec<PathBuf> = beside(&library).iter().filter(fits).cloned().collect();
        // Take all folders of one place; from later places only if they have what all earlier ones lack.
        if [RUNTIME, LIBCUXX].iter().any(|name| !has(&found, name) && has(&here, name)) {
            found.extend(here);
        }
        if has(&found, RUNTIME) && has(&found, LIBCUXX) {
            break;
        }
    }
    let mut once = Vec::new();
    found.into_iter().for_each(|folder| {
        if !once.contains(&folder) {
            once.push(folder);
        }
    });
    once
}

/// The folders of headers that belong to a folder of libraries.
fn beside(library: &Path) -> Vec<PathBuf> {
    let above = |n: usize| library.ancestors().nth(n);
    let mut roots: Vec<PathBuf> = above(1).map(Path::to_path_buf).into_iter().collect();
    // For `root/targets/x/lib`, and for `lib/x86_64-linux-gnu`.
    roots.extend([above(3), above(2)].into_iter().flatten().map(Path::to_path_buf));
    let targets = folders::TARGETS.iter().filter_map(|target| target.strip_suffix("/lib"));
    let targets: Vec<PathBuf> = targets.filter_map(|target| Some(above(1)?.join(target))).collect();
    roots.extend(targets);
    if let Some(packages) = above(2).filter(|folder| folder.ends_with("nvidia")) {
        roots.extend(folders::names(packages, |_| true).iter().map(|name| packages.join(name)));
    }
    let mut found = Vec::new();
    for root in roots {
        let include = root.join("include");
        for folder in [include.join("cccl"), include] {
            let is_cudas = || [RUNTIME, LIBCUXX].iter().chain(&OTHERS).any(|name| folder.join(name).is_file());
            if !found.contains(&folder) && is_cudas() {
                found.push(folder);
            }
        }
    }
    found
}

/// The CUDA major version that a folder's `cuda.h` declares.
fn version(folder: &Path) -> Option<u32> {
    let text = std::fs::read(folder.join("cuda.h")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.strip_prefix("#define CUDA_VERSION "))?;
    line.trim().parse::<u32>().ok().map(|version| version / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::loader::testing::Tree;

    fn found(tree: &Tree, library: &str, env: &SearchEnv) -> Vec<String> {
        let folders = search(&tree.path().join(library).join("libnvrtc.so.13"), 13, env);
        let name = |folder: PathBuf| folder.strip_prefix(tree.path()).map(|path| path.display().to_string());
        folders.into_iter().filter_map(|folder| name(folder).ok()).collect()
    }

    #[test]
    fn headers_are_found_beside_the_compiler_in_every_layout() {
        let tree = Tree::new();
        for file in [
            "site/nvidia/cu13/include/cuda_fp16.h",
            "site/nvidia/cu13/include/cccl/cuda/std/cstdint",
            "old/nvidia/cuda_runtime/include/cuda_fp16.h",
            "old/nvidia/cuda_cccl/include/cuda/std/cstdint",
            "old/nvidia/cublas/include/cublas.h",
            "toolkit/targets/x86_64-linux/include/cuda_fp16.h",
            "toolkit/targets/x86_64-linux/include/cccl/cuda/std/cstdint",
            "usr/include/cuda_fp16.h",
            "usr/include/stdio.h",
        ] {
            tree.file(file);
        }
        let env = tree.env();
        let all = |library: &str| {
            let mut all = found(&tree, library, &env);
            all.sort();
            all
        };
        assert_eq!(all("site/nvidia/cu13/lib"), ["site/nvidia/cu13/include", "site/nvidia/cu13/include/cccl"]);
        let old = ["old/nvidia/cuda_cccl/include", "old/nvidia/cuda_runtime/include"];
        assert_eq!(all("old/nvidia/cuda_nvrtc/lib"), old);
        #[cfg(target_arch = "x86_64")]
        for library in ["toolkit/targets/x86_64-linux/lib", "toolkit/lib64"] {
            let folders = ["toolkit/targets/x86_64-linux/include", "toolkit/targets/x86_64-linux/include/cccl"];
            assert_eq!(all(library), folders, "{library}");
        }
        assert_eq!(all("usr/lib/x86_64-linux-gnu"), ["usr/include"]);
        assert_eq!(all("nowhere/lib"), [""; 0]);
    }

    #[test]
    fn what_is_not_beside_the_compiler_is_looked_for_where_libraries_are() {
        let tree = Tree::new();
        tree.folder("site/nvidia/cu13/lib");
        tree.file("usr/local/cuda/include/cuda_fp16.h");
        tree.folder("usr/local/cuda/lib64");
        assert_eq!(found(&tree, "site/nvidia/cu13/lib", &tree.env()), ["usr/local/cuda/include"]);
        // Headers of another major version are not taken.
        std::fs::write(tree.join("usr/local/cuda/include/cuda.h"), "#pragma once\n#define CUDA_VERSION 12040\n")
            .unwrap();
        assert_eq!(found(&tree, "site/nvidia/cu13/lib", &tree.env()), [""; 0]);
        std::fs::write(tree.join("usr/local/cuda/include/cuda.h"), "#define CUDA_VERSION 13010\n").unwrap();
        assert_eq!(found(&tree, "site/nvidia/cu13/lib", &tree.env()), ["usr/local/cuda/include"]);
    }
}

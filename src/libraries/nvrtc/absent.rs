//! Replaces the compiler in a build without the feature `cuda`, which has no loader.

use super::compiler::Identity;
use super::program::{Prepared, Source};
use super::{Arch, Emit, Image};
use crate::core::error::{Error, Result};
use crate::libraries::disk_cache::Answer;
use std::path::PathBuf;

fn absent<T>(library: &'static str) -> Result<T> {
    Err(Error::LibraryMissing {
        library: library.into(),
        tried: vec!["this build has no CUDA engine, so it does not search for libraries of CUDA".into()],
        help: "build windlass with the feature `cuda`".into(),
    })
}

pub(super) fn identity() -> Result<&'static Identity> {
    absent("NVRTC")
}

pub(super) fn linker() -> Result<&'static Identity> {
    absent("nvJitLink")
}

pub(super) fn header_folders() -> Vec<PathBuf> {
    Vec::new()
}

pub(super) fn compile(_: &Source, _: &Prepared, _: Arch, _: &[PathBuf]) -> Result<Answer> {
    absent("NVRTC")
}

pub(super) fn link(_: &[Image], _: Arch, _: Emit, _: &[String]) -> Result<Answer> {
    absent("nvJitLink")
}

pub(super) fn unless_exiting<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    f()
}

//! The CUDA major version that a file belongs to.
//!
//! Most file names show it. `libcurand.so.10` and `libcusparse.so.12` do not: several toolkits use the same name. For
//! these, the other libraries in the folder are checked, then the folder's path.

use std::path::{Component, Path};

use super::library::Soname;

/// The CUDA major versions that this crate supports.
pub(crate) const SUPPORTED: &[u32] = &[13, 12];

/// The CUDA major version of the file `soname` in `folder`; `None` if the library is not bound to one, or if it cannot
/// be determined.
pub(crate) fn of_file(soname: &Soname, folder: Option<&Path>) -> Option<u32> {
    match soname.majors {
        [] => None,
        [one] => Some(*one),
        several => {
            // `/usr/local/cuda` is a link to `/usr/local/cuda-13.0`, whose name contains the version.
            let folder = folder?;
            let real = folder.canonicalize();
            let folder = real.as_deref().unwrap_or(folder);
            let told = by_neighbours(folder).or_else(|| by_path(folder))?;
            several.contains(&told).then_some(told)
        }
    }
}

/// File names whose number is the CUDA major version itself.
const TELLING: &[&str] = &["libcublas.so.", "libcublasLt.so.", "libcudart.so.", "libnvrtc.so.", "libnvJitLink.so."];

/// The CUDA major version of the other libraries in the folder, if they agree.
fn by_neighbours(folder: &Path) -> Option<u32> {
    let mut told = None;
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = TELLING.iter().find_map(|stem| name.strip_prefix(stem)) else { continue };
        let Some(major) = leading_number(rest) else { continue };
        match told {
            None => told = Some(major),
            Some(other) if other != major => return None,
            Some(_) => {}
        }
    }
    told
}

/// The CUDA major version in a path such as `/usr/local/cuda-12.8/lib64` or `nvidia/cu13/lib`. The wheels of CUDA 12
/// have a folder for each library (`nvidia/curand/lib`), those of CUDA 13 do not.
fn by_path(folder: &Path) -> Option<u32> {
    let parts: Vec<&str> = folder
        .components()
        .filter_map(|part| match part {
            Component::Normal(text) => text.to_str(),
            _ => None,
        })
        .collect();
    let named = parts.iter().rev().find_map(|part| {
        let rest = part.strip_prefix("cuda-").or_else(|| part.strip_prefix("cu"))?;
        leading_number(rest)
    });
    named.or(match parts.as_slice() {
        [.., "nvidia", "curand" | "cusparse" | "cusolver" | "cudss", "lib"] => Some(12),
        _ => None,
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE: Soname = Soname { file: "libcusparse.so.12", majors: &[13, 12] };

    #[test]
    fn a_telling_name_needs_no_folder() {
        assert_eq!(of_file(&Soname { file: "libcublas.so.13", majors: &[13] }, None), Some(13));
        assert_eq!(of_file(&Soname { file: "libnccl.so.2", majors: &[] }, Some(Path::new("/cuda-13.0"))), None);
    }

    #[test]
    fn the_path_tells_where_the_name_does_not() {
        let at = |path: &str| of_file(&SPARSE, Some(Path::new(path)));
        assert_eq!(at("/usr/local/cuda-12.8/targets/x86_64-linux/lib"), Some(12));
        assert_eq!(at("/venv/site-packages/nvidia/cu13/lib"), Some(13));
        assert_eq!(at("/venv/site-packages/nvidia/cusparse/lib"), Some(12));
        assert_eq!(at("/usr/lib/x86_64-linux-gnu"), None);
        // A major version that never shipped this name is ignored.
        assert_eq!(at("/usr/local/cuda-11.8/lib64"), None);
    }
}

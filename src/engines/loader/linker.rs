//! Where the dynamic linker would find a library, without asking it: it can only be asked to load.
//!
//! It searches `LD_LIBRARY_PATH`, its cache, and the system's folders. What it also searches, the folders that are written
//! in the program itself, is not known here.

use std::path::Path;

use super::search::SearchEnv;

/// The folders that the linker searches when nothing else names one.
const FOLDERS: &[&str] = &["lib64", "usr/lib64", "lib", "usr/lib"];
/// Its index of the system's libraries.
const CACHE: &str = "etc/ld.so.cache";

/// Whether the linker would find the file.
pub(super) fn finds(env: &SearchEnv, file: &str) -> bool {
    let named = env.var("LD_LIBRARY_PATH").map(|value| std::env::split_paths(value).collect::<Vec<_>>());
    let named = named.into_iter().flatten().filter(|folder| folder.is_absolute());
    let usual = FOLDERS.iter().map(|folder| env.system(folder));
    named.chain(usual).any(|folder| folder.join(file).exists())
        || std::fs::read(env.system(CACHE)).is_ok_and(|cache| cached(&cache, file).any(|path| path.exists()))
}

/// The paths of that file in the linker's cache, which holds each as a text that ends with a zero. (`ld.so.cache` has had
/// several formats; this much holds for all of them.)
fn cached<'a>(cache: &'a [u8], file: &'a str) -> impl Iterator<Item = &'a Path> {
    let texts = cache.split(|byte| *byte == 0).filter_map(|text| {
        // The first text follows the binary part; only the end of what is before it can be a path.
        let start = text.iter().rposition(|byte| !(b' '..=b'~').contains(byte)).map_or(0, |at| at + 1);
        std::str::from_utf8(text.get(start..)?).ok().map(Path::new)
    });
    texts.filter(move |path| path.is_absolute() && path.ends_with(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::loader::testing::Tree;

    #[test]
    fn the_cache_tells_of_folders_that_only_it_names() {
        let tree = Tree::new();
        tree.file("opt/cuda/libcublas.so.13");
        let mut cache = b"glibc-ld.so.cache1.1\x02\x00\x00\x00\xff\x01".to_vec();
        cache.extend(
            format!("libcublas.so.13\0{}\0libc.so.6\0/gone/libcublas.so.12\0", tree.join("opt/cuda/libcublas.so.13"))
                .bytes(),
        );
        tree.folder("etc");
        std::fs::write(tree.path().join(CACHE), cache).unwrap();
        let env = tree.env();
        assert!(finds(&env, "libcublas.so.13"));
        assert!(!finds(&env, "libcublas.so.12"), "the cache is older than the folder");
        assert!(!finds(&env, "libcublas.so"));
        tree.file("usr/lib/libcublas.so");
        assert!(finds(&env, "libcublas.so"));
    }

    /// The one file that every machine with a dynamic linker has.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn the_c_library_of_this_machine_is_found() {
        assert!(finds(&SearchEnv::of_process(), "libc.so.6"));
        assert!(!finds(&SearchEnv::of_process(), "libwindlass-is-not-here.so"));
    }
}

//! The cache on disk, from one process to the next (a fresh [`Compiler`](windlass::nvrtc::Compiler) has nothing in
//! memory).

use super::here::{Folder, entries, kernel, memory_only, nvrtc, template};
use std::path::{Path, PathBuf};
use windlass::nvrtc::{CompileOptions, Compiler, DiskCache, Emit, Source};
use windlass::nvrtc::{CompileStats, Image};

/// Compiles with a compiler that has the folder and nothing else.
fn fresh(folder: &Folder, program: &Source) -> (Image, CompileStats) {
    let compiler = folder.compiler();
    let image = compiler.compile(program).unwrap();
    (image, compiler.stats())
}

#[track_caller]
fn assert_equal(a: &Image, b: &Image) {
    assert_eq!(a.bytes(), b.bytes());
    assert_eq!((a.kind(), a.arch(), a.log()), (b.kind(), b.arch(), b.log()));
    assert!(a.names().eq(b.names()));
    assert_eq!(a.program(), b.program());
}

fn value(value: u32) -> Source {
    kernel().options(CompileOptions::new().define("VALUE", value))
}

#[test]
fn what_the_disk_gives_is_what_the_compiler_gave() {
    if !nvrtc() {
        return;
    }
    for emit in [Emit::Ptx, Emit::Cubin, Emit::LtoIr] {
        let folder = Folder::new();
        let program = template().emit(emit);
        let (compiled, first) = fresh(&folder, &program);
        let (kept, second) = fresh(&folder, &program);
        assert_equal(&compiled, &kept);
        assert_eq!((first.compiled, first.disk_misses, first.disk_stored, first.disk_hits), (1, 1, 1, 0));
        assert_eq!((second.compiled, second.disk_misses, second.disk_stored, second.disk_hits), (0, 0, 0, 1));
    }
}

#[test]
fn damaged_truncated_and_foreign_entries_are_compiled_again_and_replaced() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.compiler();
    let image = compiler.compile(&value(1)).unwrap();
    let path = entries(&compiler).remove(0);
    let sound = std::fs::read(&path).unwrap();
    compiler.compile(&value(2)).unwrap();
    let other = entries(&compiler).into_iter().find(|p| *p != path).unwrap();
    let mut flipped = sound.clone();
    // In the image itself: the code would load, and do something else.
    let at = sound.windows(image.bytes().len()).position(|part| part == image.bytes()).unwrap();
    flipped[at + image.bytes().len() / 2] ^= 1;
    let mut older = sound[..sound.len() - 32].to_vec();
    older[16..20].copy_from_slice(&0u32.to_le_bytes());
    let hash = blake3::hash(&older);
    older.extend_from_slice(hash.as_bytes());
    let cases = [
        ("one bit", flipped),
        ("cut short", sound[..sound.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("not ours", b"#!/bin/sh\nexit 1\n".repeat(100)),
        ("of another program", std::fs::read(&other).unwrap()),
        ("of an older format", older),
    ];
    for (what, contents) in cases {
        std::fs::write(&path, contents).unwrap();
        let (again, stats) = fresh(&folder, &value(1));
        assert_equal(&again, &image);
        assert_eq!(
            (stats.compiled, stats.disk_refused, stats.disk_stored, stats.disk_failures),
            (1, 1, 1, 0),
            "{what}"
        );
        let (kept, stats) = fresh(&folder, &value(1));
        assert_equal(&kept, &image);
        assert_eq!((stats.compiled, stats.disk_hits), (0, 1), "{what}: replaced");
    }
}

#[test]
fn the_folder_stays_in_its_bound_and_what_is_used_stays_longest() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.compiler();
    compiler.compile(&value(0)).unwrap();
    let one = entries(&compiler)[0].metadata().unwrap().len();
    let bounded = || folder.builder().disk_bytes(6 * one).build();
    let size = |compiler: &Compiler| entries(compiler).iter().map(|p| p.metadata().unwrap().len()).sum::<u64>();
    let compiler = bounded();
    for i in 1..12 {
        compiler.compile(&value(i)).unwrap();
        // Used again and again from another process's place.
        assert_eq!(bounded().compile(&value(0)).map(|_| ()), Ok(()));
        assert!(size(&compiler) <= 6 * one, "{} bytes of {}", size(&compiler), 6 * one);
    }
    assert!(compiler.stats().disk_evicted >= 6, "{:?}", compiler.stats());
    let (_, stats) = fresh(&folder, &value(0));
    assert_eq!(stats.disk_hits, 1, "the one in use is still there");
    let (_, stats) = fresh(&folder, &value(1));
    assert_eq!(stats.disk_hits, 0, "one not used since is gone");
}

#[test]
fn memory_is_bounded_and_the_disk_stands_behind_it() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.builder().memory_images(2).build();
    for i in [1, 2, 3, 1, 2, 3] {
        compiler.compile(&value(i)).unwrap();
    }
    let stats = compiler.stats();
    assert_eq!((stats.compiled, stats.disk_hits, stats.memory_images, stats.memory_evicted), (3, 3, 2, 4));
}

#[test]
fn a_place_that_cannot_be_written_is_no_error() {
    if !nvrtc() {
        return;
    }
    let plain = memory_only().compile(&kernel()).unwrap();
    let file = Folder::new();
    file.write("file", "");
    for place in [PathBuf::from("/dev/null/here"), file.path().join("file"), PathBuf::from("/proc/here")] {
        let compiler = Compiler::builder().disk_folder(&place).build();
        assert_equal(&compiler.compile(&kernel()).unwrap(), &plain);
        let stats = compiler.stats();
        assert_eq!((stats.compiled, stats.disk_stored), (1, 0), "{place:?}");
        assert!(stats.disk_failures >= 1, "{place:?}: {stats:?}");
        compiler.compile(&kernel()).unwrap();
        assert_eq!(compiler.stats().memory_hits, 1);
    }
}

#[test]
#[cfg(unix)]
fn a_folder_that_became_read_only_still_answers() {
    use std::os::unix::fs::PermissionsExt;
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.compiler();
    let image = compiler.compile(&kernel()).unwrap();
    let set = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(compiler.disk_folder().unwrap(), permissions).unwrap();
    };
    set(0o500);
    let (kept, stats) = fresh(&folder, &kernel());
    let (_, other) = fresh(&folder, &value(7));
    set(0o700);
    assert_equal(&kept, &image);
    assert_eq!((stats.disk_hits, other.compiled), (1, 1));
}

#[test]
fn it_can_be_switched_off() {
    if !nvrtc() {
        return;
    }
    let off = Compiler::builder().disk(DiskCache::Off).build();
    assert_eq!(off.disk_folder(), None::<&Path>);
    off.compile(&kernel()).unwrap();
    off.clear_memory();
    off.compile(&kernel()).unwrap();
    let stats = off.stats();
    assert_eq!((stats.compiled, stats.disk_misses, stats.disk_stored), (2, 0, 0));
}

//! Several processes: this binary runs itself, with a part to play.

use super::here::{Folder, entries, kernel, memory_only, nvrtc, slow};
use crate::common::child::of_module;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use windlass::nvrtc::{CompileOptions, Compiler, Emit, Source};

const PART: &str = "WINDLASS_TEST_NVRTC_PART";

/// Microseconds until it leaves.
const DELAY: &str = "WINDLASS_TEST_NVRTC_DELAY";

const ENTRIES: u32 = 12;

fn numbered(i: u32) -> Source {
    kernel().options(CompileOptions::new().define("VALUE", i))
}

/// Runs this binary with `part` to play, and the process's own cache in `folder`.
fn start(part: &str, folder: &Folder) -> Child {
    start_after(part, folder, 0)
}

fn start_after(part: &str, folder: &Folder, delay: u32) -> Child {
    let flags = if part == "flags" { "--device-int128" } else { "" };
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &of_module(module_path!(), "plays_a_part"), "--nocapture", "--test-threads=1"])
        .env(PART, part)
        .env("WINDLASS_CACHE_DIR", folder.path())
        .env("NVRTC_APPEND_FLAGS", flags)
        .env(DELAY, delay.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a process that leaves after `delay` was to compile. Others find none of it kept.
fn left(delay: u32, i: u32) -> Source {
    slow(8 * delay + i, Emit::Cubin)
}

/// What it printed; it must end well, and soon.
#[track_caller]
fn end(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    text
}

/// The child's side; nothing in a usual run.
#[test]
fn plays_a_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let compiler = Compiler::shared();
    match part.as_str() {
        "compile" => {
            // Who is behind finds entries and catches up, so that all write at the same time again and again.
            let mut hash = blake3::Hasher::new();
            for i in 0..ENTRIES {
                hash.update(compiler.compile(&numbered(i)).unwrap().bytes());
            }
            let stats = compiler.stats();
            println!(
                "hash {} refused {} failures {}",
                hash.finalize().to_hex(),
                stats.disk_refused,
                stats.disk_failures
            );
            assert_eq!(stats.compiled + stats.disk_hits, u64::from(ENTRIES));
        }
        "flags" => {
            compiler.compile(&kernel()).unwrap();
            compiler.compile(&kernel()).unwrap();
            let stats = compiler.stats();
            assert_eq!((stats.compiled, stats.uncacheable, stats.disk_stored, stats.memory_images), (2, 2, 0, 0));
        }
        "leave" | "exit" => {
            let delay: u32 = std::env::var(DELAY).unwrap().parse().unwrap();
            for i in 0..8 {
                drop(compiler.compile_pending(&left(delay, i)).unwrap());
            }
            // Into the middle of it.
            std::thread::sleep(Duration::from_micros(delay.into()));
            if part == "exit" {
                std::process::exit(0);
            }
            // The harness returns from `main` next.
        }
        #[cfg(unix)]
        "full" => {
            let limit = libc::rlimit { rlim_cur: 700, rlim_max: 700 };
            // SAFETY: a file that grows past the limit fails with an error, instead of a signal.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
            }
            let image = compiler.compile(&kernel()).unwrap();
            assert!(image.text().is_some());
            let stats = compiler.stats();
            assert_eq!((stats.compiled, stats.disk_stored, stats.disk_failures), (1, 0, 1));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn processes_may_write_the_same_entries_at_once() {
    if !nvrtc() {
        return;
    }
    let (plain, mut hash) = (memory_only(), blake3::Hasher::new());
    for i in 0..ENTRIES {
        hash.update(plain.compile(&numbered(i)).unwrap().bytes());
    }
    let wanted = format!("hash {} refused 0 failures 0", hash.finalize().to_hex());
    for _ in 0..3 {
        let folder = Folder::new();
        let children: Vec<Child> = (0..3).map(|_| start("compile", &folder)).collect();
        for child in children {
            let told = end(child);
            assert!(told.contains(&wanted), "{told}, not {wanted}");
        }
        let after = folder.compiler();
        for i in 0..ENTRIES {
            assert_eq!(after.compile(&numbered(i)).unwrap().bytes(), plain.compile(&numbered(i)).unwrap().bytes());
        }
        assert_eq!((after.stats().disk_hits, after.stats().compiled), (u64::from(ENTRIES), 0));
        let left = entries(&after);
        assert_eq!(left.len(), ENTRIES as usize, "nothing half-written: {left:?}");
    }
}

/// At any moment of the first compilations: the destructors that NVRTC registers on their way ended half of such
/// processes. `WINDLASS_TEST_EXITS` is how many, 40 otherwise.
#[test]
fn a_process_that_ends_in_the_middle_of_a_compilation_ends_well_and_soon() {
    if !nvrtc() {
        return;
    }
    let exits: u32 = std::env::var("WINDLASS_TEST_EXITS").map_or(40, |n| n.parse().unwrap());
    let folder = Folder::new();
    for i in 0..exits {
        // Spread over 150 ms, by steps that meet no beat of theirs.
        let delay = i.wrapping_mul(61_803) % 150_000;
        let start_time = Instant::now();
        end(start_after(if i % 2 == 0 { "leave" } else { "exit" }, &folder, delay));
        assert!(start_time.elapsed() < Duration::from_secs(60), "{:?} after {delay} us", start_time.elapsed());
    }
    // What they wrote is whole, or not there.
    let after = folder.compiler();
    after.compile(&kernel()).unwrap();
    for i in 0..8 {
        after.compile(&left(0, i)).unwrap();
    }
    assert_eq!(after.stats().disk_refused, 0);
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_no_error_and_leaves_nothing_half_written() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    end(start("full", &folder));
    let left = entries(&folder.compiler());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_the_environment_may_add_is_not_kept() {
    if !nvrtc() {
        return;
    }
    end(start("flags", &Folder::new()));
}

//! The worker program: which one, and what happens when it is not there or not right.

use crate::common::child::of_module;
use crate::common::{down, eventually, up, within};
use crate::ops::{Deed, submit};
use crate::{alone, isolated, system};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use windlass::Error;

#[test]
fn a_program_that_is_not_there_or_cannot_be_run_is_named() {
    let _alone = alone();
    for path in ["/nowhere/windlass-worker", "/etc/passwd", "/"] {
        let error = isolated().worker_program(path).open().unwrap_err();
        let Error::LibraryMissing { tried, help, .. } = &error else { panic!("{error}") };
        assert!(tried[0].starts_with(path) && help.contains("worker::init"), "{error}");
    }
}

/// A program of a shell's few words.
fn script(name: &str, words: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("windlass-test-{}-{name}", std::process::id()));
    std::fs::write(&path, format!("#!/bin/sh\n{words}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_that_is_no_worker_is_refused_and_not_left_running() {
    let _alone = alone();
    let base = system::quiet();
    let cases = [
        ("ends", "exit 5", 300, "exit status 5"),
        ("garbage", "printf 'this is no worker at all, really' >&0; exec sleep 600", 300, "ended before"),
        ("silent", "exec sleep 600", 2, "timed out"),
    ];
    for (name, words, patience, want) in cases {
        let path = script(name, words);
        let builder = isolated().worker_program(&path).worker_patience(Duration::from_secs(patience));
        // Long before its patience is over.
        let error = within(60, move || builder.open().unwrap_err());
        std::fs::remove_file(path).unwrap();
        assert!(error.to_string().contains(want), "{name}: {error}");
    }
    system::assert_back_at(base);
}

#[test]
fn a_pool_of_this_process_cannot_be_shared_with_a_worker() {
    let _alone = alone();
    let pool = std::sync::Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let error = isolated().host_pool(windlass::HostPool::Shared(pool)).open().unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == "host_pool"), "{error}");
}

/// Not a test of its own: the parent that the tests below end.
#[test]
#[ignore = "run by the tests of the parent's end"]
fn parent() {
    let device = isolated().open().unwrap();
    let pending = submit(&device, Deed::Sleep(600_000)).unwrap();
    println!("\nworker {}", device.worker_pid().unwrap());
    match std::env::var("WINDLASS_TEST_END").as_deref() {
        Ok("exit") => std::process::exit(0),
        Ok("abort") => std::process::abort(),
        _ => drop(pending.await_result()),
    }
}

#[test]
fn a_worker_ends_with_its_parent_however_that_ends() {
    let _alone = alone();
    for end in ["kill", "exit", "abort"] {
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &of_module(module_path!(), "parent"), "--ignored", "--nocapture"])
            .env("WINDLASS_TEST_END", end)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(parent.stdout.take().unwrap()).lines().map_while(Result::ok);
        let worker = lines.filter_map(|line| line.strip_prefix("worker ")?.parse::<u32>().ok()).next().unwrap();
        if end == "kill" {
            assert!(!system::is_gone(worker));
            system::signal(parent.id(), libc::SIGKILL);
        }
        parent.wait().unwrap();
        assert!(eventually(5, || system::is_gone(worker)), "{end}: worker {worker} outlived its parent");
    }
}

/// A fork holds the parent's descriptors open; the worker looks at its parent as well, and the child cannot use it.
#[test]
fn a_forked_child_is_told_that_the_device_is_not_its_own() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = up(&device, [1.0f64]);
    // SAFETY: the child makes calls of this library alone, on locks that no other thread holds now, and leaves at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let refused = device.download(&x).is_err() && device.zeros::<u8>(1).is_err();
        drop((x, device));
        // SAFETY: ends the child without its parent's handlers.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: the child is ours; `status` outlives the call.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!((device.generation(), down(&device, &x)), (0, vec![1.0]), "the parent's is as it was");
}

/// What is answered is told in a list that both share, and the parent reads it in order: an entry that somebody else has
/// taken out would hold up all that come after it.
#[test]
fn a_forked_child_takes_no_answer_out_of_its_parents_list() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = up(&device, [1.0f64]);
    for _ in 0..40 {
        // All answered by the fork, and hardly ever all taken out of the list: the monitor comes by every other millisecond.
        let pending: Vec<_> = (0..20).map(|_| device.download(&x).unwrap()).collect();
        while !pending.iter().all(|pending| pending.is_ready()) {}
        // SAFETY: the child makes calls of this library alone, on locks that no other thread holds now, and leaves at once.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let _ = (device.stats(), device.synchronize(Duration::ZERO));
            // SAFETY: ends the child without its parent's handlers.
            unsafe { libc::_exit(0) }
        }
        let mut status = 0;
        // SAFETY: the child is ours; `status` outlives the call.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0);
    }
    // Nobody waits for these: they are found in the list alone.
    (0..10).for_each(|_| drop(device.download(&x).unwrap()));
    assert!(eventually(10, || device.stats().in_flight == 0), "{:?}", device.stats());
}

/// What has arrived for the parent lies in memory that both share, and its pages are given back with it: by the parent.
#[test]
fn a_forked_child_gives_none_of_the_parents_memory_back() {
    const LEN: usize = 9 << 20; // of eight bytes: more than what keeps its pages
    let _alone = alone();
    let device = isolated().open().unwrap();
    let x = device.fill(device.uninit::<f64>(LEN).unwrap(), 7.0).unwrap().into_output();
    let pending = device.download(&x).unwrap();
    assert!(crate::common::eventually(30, || pending.is_ready()));
    // SAFETY: the child makes calls of this library alone, on locks that no other thread holds now, and leaves at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(pending);
        // SAFETY: ends the child without its parent's handlers.
        unsafe { libc::_exit(0) }
    }
    let mut status = 0;
    // SAFETY: the child is ours; `status` outlives the call.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0);
    let data = pending.await_result().unwrap();
    assert!(data.len() == LEN && data.iter().all(|x| *x == 7.0), "the child has given the parent's pages back");
}

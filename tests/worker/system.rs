//! What this process holds, and other processes.

use crate::common::eventually;

pub(crate) fn signal(pid: u32, signal: i32) {
    // SAFETY: sends a signal to a child of this process.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Stops a process, with all its threads: the signal returns before they stand still.
#[track_caller]
pub(crate) fn stop(pid: u32) {
    signal(pid, libc::SIGSTOP);
    let stands = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['T', 'Z', 'X']))
    };
    assert!(eventually(10, || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten().all(stands)));
}

/// The state of a process and its parent; `None` when there is none.
pub(crate) fn process(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// It runs no more. (Who inherits an orphan may be slow to reap it.)
pub(crate) fn is_gone(pid: u32) -> bool {
    process(pid).is_none_or(|(state, _)| matches!(state, 'Z' | 'X'))
}

/// Children of a process, zombies included.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| process(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// Children of this process.
pub(crate) fn children() -> usize {
    children_of(std::process::id()).len()
}

/// Descriptors, mappings of shared memory, children and threads of the library's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) descriptors: usize,
    mappings: usize,
    children: usize,
    threads: usize,
}

pub(crate) fn held() -> Held {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    Held {
        descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        mappings: maps.lines().filter(|line| line.contains("memfd:windlass")).count(),
        children: children(),
        threads: threads(),
    }
}

/// The same, once there are so many threads of the library's.
#[track_caller]
pub(crate) fn held_with_threads(count: usize) -> Held {
    assert!(eventually(10, || threads() == count), "{:?}", held());
    held()
}

/// Threads of the library's, but for those that copy for the whole process and stay. (Those of the harness come and go.)
fn threads() -> usize {
    let named = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.starts_with("windlass") && !name.starts_with("windlass copy"))
    };
    std::fs::read_dir("/proc/self/task").unwrap().flatten().filter(named).count()
}

/// The KiB in memory of each mapping of that name.
pub(crate) fn resident(name: &str) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut wanted = false;
    for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            "Rss:" if wanted => sizes.push(words.next().unwrap().parse().unwrap()),
            first if !first.ends_with(':') => wanted = line.contains(name),
            _ => {}
        }
    }
    sizes
}

/// The same, once what earlier tests have left is gone: to be asked while there is no isolated device.
#[track_caller]
pub(crate) fn quiet() -> Held {
    let left = || {
        let Held { mappings, children, threads, .. } = held();
        mappings + children + threads
    };
    assert!(eventually(10, || left() == 0), "something of an earlier test is left: {:?}", held());
    held()
}

/// Asserts that the process comes to hold what it held.
#[track_caller]
pub(crate) fn assert_back_at(base: Held) {
    eventually(10, || held() == base);
    assert_eq!(held(), base, "something of a worker was left over");
}

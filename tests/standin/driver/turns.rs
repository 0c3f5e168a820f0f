//! A process whose threads take turns, as a seed says: `turns.c`.

use super::child::{Ended, ToItsEnd, this_program};
use super::{Session, driver, session};
use libloading::os::unix::{Library, Symbol};
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

const SEED: &str = "WINDLASS_STANDIN_TURNS";

/// The turns of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// Who had which turn, what for and at what time, as a number.
    pub(crate) hash: u64,
    pub(crate) turns: u64,
    /// It comes again: see [`with_addresses_that_stay`].
    pub(crate) is_exact: bool,
}

/// Runs `body` in a process of its own, this very test started again, whose threads take turns as `seed` says.
///
/// `WINDLASS_TEST_TURNS=FILE` writes the turns down: two of these files show where two runs part.
#[track_caller]
pub(crate) fn in_turns(test: &str, seed: u64, body: impl FnOnce(&Session, u64)) -> History {
    if let Ok(seed) = env::var(SEED) {
        play(seed.parse().expect("a seed"), body);
    }
    let turns = driver().folder().join("libstandin-turns.so");
    let mut child = this_program(test);
    with_addresses_that_stay(&mut child);
    child.env(SEED, seed.to_string()).env("WINDLASS_TEST_SEED", seed.to_string()).env("LD_PRELOAD", turns);
    let Ended { status, violations, text } = child.ended(&format!("{test}-{seed}"));
    let ended = status.map_or("hung".to_owned(), |status| status.to_string());
    let history = text.lines().find_map(told);
    assert!(
        status.is_some_and(|status| status.success()) && violations.is_empty() && history.is_some(),
        "WINDLASS_TEST_SEED={seed} of {test}: {ended}\n{violations}{text}"
    );
    history.expect("it was there")
}

/// Locks that wait share a table by their addresses, so who waits for whom depends on those. The system gives a process the
/// same ones each time when it is asked to, where that is allowed; and the environment lies among them.
fn with_addresses_that_stay(child: &mut Command) {
    let given = |(name, _): &(OsString, OsString)| {
        let name = name.to_string_lossy();
        ["WINDLASS_TEST_TURNS", "WINDLASS_TEST_MEMORY", "LD_LIBRARY_PATH", "PATH", "HOME"].contains(&&*name)
    };
    child.env_clear().envs(env::vars_os().filter(given));
    // SAFETY: the call takes a number, allocates nothing, and changes what the next `exec` does, which follows.
    unsafe {
        child.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            Ok(())
        })
    };
}

fn addresses_stay() -> bool {
    // SAFETY: takes a number; this one only asks.
    let personality = unsafe { libc::personality(0xffff_ffff) };
    personality >= 0 && personality & libc::ADDR_NO_RANDOMIZE != 0
}

/// What [`play`] has printed.
fn told(line: &str) -> Option<History> {
    let words: Vec<_> = line.strip_prefix("history ")?.split(' ').collect();
    let [hash, turns, is_exact] = words[..] else { return None };
    Some(History { hash: hash.parse().ok()?, turns: turns.parse().ok()?, is_exact: is_exact.parse().ok()? })
}

/// The child's part. It ends the process: the test would go on to its next seed.
fn play(seed: u64, body: impl FnOnce(&Session, u64)) -> ! {
    let session = session();
    let all = Library::this();
    let missing = "the library of turns is preloaded";
    // SAFETY: the signatures are those of turns.c.
    let (begin, end) = unsafe {
        let begin: Symbol<unsafe extern "C" fn(u64)> = all.get(b"turns_begin\0").expect(missing);
        let end: Symbol<unsafe extern "C" fn(*mut u64) -> u64> = all.get(b"turns_end\0").expect(missing);
        (begin, end)
    };
    let mut turns = 0;
    // SAFETY: takes every seed.
    unsafe { begin(seed) };
    body(&session, seed);
    // SAFETY: the pointer is good for the call.
    let hash = unsafe { end(&mut turns) };
    // Behind what the harness has begun to say.
    println!("\nhistory {hash} {turns} {}", addresses_stay());
    std::process::exit(0);
}

//! Nothing in the library asks for the time but its clock, and no test of the merge tier sleeps or asserts how long something
//! took. What may is listed here with its reason.

use super::floors::{code, files};
use std::path::Path;

/// What asks the system for the time, or sleeps.
const WORDS: [&str; 5] = ["Instant::now", "SystemTime::now", "thread::sleep", ".elapsed()", "usleep("];

/// Files of `tests/` that may, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("collective/faults.rs", "tells how long a fault of a real GPU takes; nobody asserts it"),
    ("collective/isolated/", "tells how long a loss takes; its limit only ends a hang"),
    ("collective/killed.rs", "processes are killed at any moment"),
    ("collective/kills.rs", "tells how long a loss takes; nobody asserts it"),
    ("collective/network.rs", "a network in which data comes late; its limit only ends a hang"),
    ("collective/timing.rs", "a measurement, for a GPU: not of the merge tier"),
    ("dnn/recurrent/speed.rs", "a measurement, for a GPU: not of the merge tier"),
    ("dnn/timing.rs", "a measurement, for a GPU: not of the merge tier"),
    ("gpu/", "not of the merge tier: what a real GPU does takes its time"),
    ("common/asleep.rs", "a pace: how long the processor is given away on a busy machine; nobody asserts it"),
    ("common/degenerate.rs", "as many seeds as the environment grants seconds for: `.ci/deep degenerate`"),
    ("common/mod.rs", "looks now and then for what comes by itself; its limit only ends a hang"),
    ("common/work.rs", "work that lasts, for devices whose work no gate can hold; nobody asserts how long"),
    ("standin/driver/", "looks now and then for what comes by itself; its limit only ends a hang"),
    ("standin/random/", "as many programs as the environment grants seconds for: `.ci/deep random`"),
    ("standin/faults/process.rs", "an exit can only be watched: whether calls go on"),
    ("standin/isolated/first_use.rs", "`.ci/deep timed`"),
    ("standin/isolated/mod.rs", "`.ci/deep timed`; and moments of another process that nothing tells of"),
    ("process/fork.rs", "looks now and then for what comes by itself; its limit only ends a hang"),
    ("nvrtc/launch/twins.rs", "its limit only ends a hang"),
    ("nvrtc/ptx/mutations.rs", "as many as the environment grants seconds for: `.ci/deep texts`"),
    ("nvrtc/compile/processes.rs", "a process is ended at any moment: `.ci/deep nvrtc`"),
    ("worker/gate.rs", "a file is looked for now and then; its limit only ends a hang"),
    ("worker/ops.rs", "operations of another process that last; nobody asserts how long"),
    ("worker/lanes.rs", "a moment of another process that nothing tells of"),
    ("worker/ends.rs", "`.ci/deep timed`"),
    ("worker/loss.rs", "`.ci/deep timed`"),
    ("worker/load.rs", "measures how late answers come, and asserts it only for `.ci/deep kills`"),
];

/// Lines of code under `folder` that name one of the [`WORDS`], with the file's path inside of it.
fn found(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for file in files(folder) {
        let name = file.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            if WORDS.iter().any(|word| code(line).contains(word)) {
                all.push((name.clone(), format!("{name}:{}: {}", number + 1, line.trim())));
            }
        }
    }
    all
}

#[test]
fn the_library_asks_for_the_time_in_one_place() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let asks = |(file, _): &(String, String)| file.starts_with("core/clock/");
    let (clock, others): (Vec<_>, Vec<_>) = found(&source).into_iter().partition(asks);
    assert!(!clock.is_empty(), "the search finds nothing");
    // A stopwatch is the clock's own; a program beside the library has its own, too.
    let others = others.into_iter().filter(|(file, _)| !file.starts_with("bin/"));
    let others: Vec<_> = others.map(|(_, line)| line).filter(|line| !line.contains(".elapsed()")).collect();
    assert!(others.is_empty(), "past the clock:\n{}", others.join("\n"));
}

#[test]
fn no_test_sleeps_or_measures_without_a_reason() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found: Vec<_> = found(tests).into_iter().filter(|(file, _)| file != "host/time.rs").collect();
    let allows = |file: &str| ALLOWED.iter().position(|(path, _)| file.starts_with(path));
    let others: Vec<_> =
        found.iter().filter(|(file, _)| allows(file).is_none()).map(|(_, line)| line.as_str()).collect();
    assert!(others.is_empty(), "use a gate or a manual clock (CONTRIBUTING.md, Time):\n{}", others.join("\n"));
    for (place, (path, _)) in ALLOWED.iter().enumerate() {
        assert!(found.iter().any(|(file, _)| allows(file) == Some(place)), "{path} needs no leave any more");
    }
}

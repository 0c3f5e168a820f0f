//! A test in a process of its own: for device faults, which last until the process ends, and for ways of ending one.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use super::{Driver, driver};

const CHILD: &str = "WINDLASS_STANDIN_CHILD";
/// How long a child may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `body` in a process of its own, once for each of `cases`: this very test, started again. It fails when a child
/// fails, hangs, does not exit by itself with success, or does what a real driver would not forgive.
///
/// `test` is the test's own name, as the harness has it.
#[track_caller]
pub(crate) fn in_child(test: &str, cases: &[&str], body: impl FnOnce(&Driver, &str)) {
    if let Ok(case) = env::var(CHILD) {
        let driver = driver();
        driver.reset();
        body(driver, &case);
        return;
    }
    // The libraries are made here, so that children find them.
    driver();
    for case in cases {
        run(test, case);
    }
}

#[track_caller]
fn run(test: &str, case: &str) {
    let mut child = this_program(test);
    let Ended { status, violations, text } = child.env(CHILD, case).ended(&format!("{test}-{case}"));
    let ran = text.contains("1 passed") || text.contains("running 1 test");
    let ended = status.map_or("hung".to_owned(), |status| status.to_string());
    assert!(
        status.is_some_and(|status| status.success()) && violations.is_empty() && ran,
        "case {case} of {test}: {ended}\n{violations}{text}"
    );
}

/// This program again, for one test.
pub(super) fn this_program(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command
}

/// What became of a process.
pub(super) struct Ended {
    /// `None`: it hung, and was killed.
    pub(super) status: Option<ExitStatus>,
    /// What a real driver would not have forgiven.
    pub(super) violations: String,
    /// What it printed.
    pub(super) text: String,
}

pub(super) trait ToItsEnd {
    /// Runs it to its end, at most as long as [`LIMIT`]. `name` is no other process's at the time.
    fn ended(&mut self, name: &str) -> Ended;
}

impl ToItsEnd for Command {
    #[track_caller]
    fn ended(&mut self, name: &str) -> Ended {
        let base = format!("{}/{:010}-{name}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let (output, report) = (format!("{base}.out"), format!("{base}.violations"));
        let file = fs::File::create(&output).expect("a file for the output");
        let mut child = self
            .env("WINDLASS_STANDIN_REPORT", &report)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the file again"))
            .stderr(file)
            .spawn()
            .expect("a child of this program");
        let until = Instant::now() + LIMIT;
        let status = loop {
            match child.try_wait().expect("the child's status") {
                Some(status) => break Some(status),
                None if Instant::now() >= until => break None,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let text = fs::read_to_string(&output).unwrap_or_default();
        let violations = fs::read_to_string(&report).unwrap_or_default();
        let _ = (fs::remove_file(&output), fs::remove_file(&report));
        Ended { status, violations, text }
    }
}

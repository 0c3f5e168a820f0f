//! Processes that are killed or stopped at any moment of random programs: nobody waits for ever, what is left goes on, and all
//! results are those of a sequential model. `.ci/deep losses` has 500 of each. With `WINDLASS_TEST_DEVICE=cuda:0` each
//! process has a GPU of its own.
//!
//! The clock of each process stands still unless the test lets time pass, in small steps, each of which all processes that
//! live have to answer: so one that is slow is never taken for silent. `timing_of_losses` (ignored) has the system's clock
//! instead.
#![cfg(unix)]

use crate::hosts::Hosts;
use crate::{LONG, Rng};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use windlass::clock::{Clock, ManualClock, Timing};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store};
use windlass::{Device, Error, HostPool, PendingDispatch, Tensor};

const CHILD: &str = "WINDLASS_TEST_COLLECTIVE_MEMBER";
/// After so long by its clock a process is silent; how far the test lets that go at a time.
const SILENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(50);
/// Numbers in the cell of a rank.
const UNIT: usize = 300;

/// The data of a process at a step.
fn data(number: usize, step: u64, len: usize) -> Vec<u32> {
    let mut rng = Rng::new(step * 64 + number as u64);
    (0..len).map(|_| rng.next() as u32).collect()
}

/// What the rank `own` of these processes has after the step.
fn model(numbers: &[usize], own: usize, step: u64) -> Vec<u32> {
    let n = numbers.len();
    let mut rng = Rng::new(step);
    let (kind, root) = (rng.below(5), rng.below(n));
    let all: Vec<Vec<u32>> = numbers.iter().map(|number| data(*number, step, n * UNIT)).collect();
    let sum = |i: usize| all.iter().fold(0u32, |sum, x| sum.wrapping_add(x[i]));
    match kind {
        0 => (0..n * UNIT).map(sum).collect(),
        1 => (own * UNIT..(own + 1) * UNIT).map(sum).collect(),
        2 => all[root].clone(),
        3 => (0..n).flat_map(|from| all[from][own * UNIT..(own + 1) * UNIT].to_vec()).collect(),
        _ => all.concat(),
    }
}

type Pending = PendingDispatch<Vec<Tensor<u32>>>;

/// A process of the job.
pub(crate) struct Member {
    pub(crate) comm: Communicator,
    device: Device,
    number: usize,
    numbers: Vec<usize>,
    step: u64,
}

impl Member {
    pub(crate) fn join(at: &Rendezvous, device: Device) -> Self {
        let comm = Communicator::join(at, [&device]).unwrap();
        Member { comm, device, number: at.process(), numbers: Vec::new(), step: 0 }
    }

    fn submit(&self, step: u64) -> windlass::Result<Pending> {
        let (n, comm) = (self.numbers.len(), &self.comm);
        let mut rng = Rng::new(step);
        let (kind, root) = (rng.below(5), rng.below(n));
        let x = self.device.upload(data(self.number, step, n * UNIT))?.into_output();
        let room = |len: usize| Ok::<_, Error>(vec![self.device.uninit::<u32>(len)?]);
        Ok(match kind {
            0 => comm.all_reduce_in_place(Combine::Sum, vec![x])?,
            1 => comm.reduce_scatter(Combine::Sum, &[x], room(UNIT)?)?,
            2 => comm.broadcast_in_place(root, vec![x])?,
            3 => comm.all_to_all(&[x], room(n * UNIT)?)?,
            _ => comm.all_gather(&[x], room(n * n * UNIT)?)?,
        })
    }

    /// Some steps, several of them in flight.
    fn steps(&mut self, count: u64) -> windlass::Result<()> {
        let mut pending = Vec::new();
        let mut failure = None;
        for step in self.step..self.step + count {
            match self.submit(step) {
                Ok(submitted) => pending.push((step, submitted)),
                Err(error) => failure = Some(error),
            }
        }
        for (step, pending) in pending {
            // Each waiter is told, of a loss too. The test has a limit for all of them together, and not this process: its time
            // passes as it is told, and an abort of NCCL takes as long as it takes.
            match pending.await_result() {
                Ok(found) => {
                    let expected = model(&self.numbers, self.comm.first_rank(), step);
                    assert!(self.device.to_vec(&found[0]).unwrap() == expected, "step {step} of {:?}", self.numbers);
                }
                Err(error) => failure = failure.or(Some(error.error)),
            }
        }
        self.step += count;
        failure.map_or(Ok(()), Err)
    }

    /// All have the numbers of all, go on at the same step, and know whether one was told to stop.
    fn meet(&mut self, stops: bool) -> windlass::Result<bool> {
        let own = vec![self.number as u32, self.step as u32, u32::from(stops)];
        let own = self.device.upload(own)?.into_output();
        let all = self.comm.all_gather(&[own], vec![self.device.uninit(3 * self.comm.ranks())?])?.await_result()?;
        let all = self.device.to_vec(&all[0])?;
        self.numbers = all.chunks_exact(3).map(|of| of[0] as usize).collect();
        self.step = all.chunks_exact(3).map(|of| u64::from(of[1])).max().unwrap_or_default() + 1;
        Ok(all.chunks_exact(3).any(|of| of[2] == 1))
    }

    /// Until one is told to stop, or is lost.
    pub(crate) fn run(&mut self, stop: &AtomicBool) -> windlass::Result<()> {
        let mut rng = Rng::new(self.number as u64);
        while !self.meet(stop.load(Ordering::Relaxed))? {
            self.steps(1 + Rng::new(self.step).next() % 6)?;
            if rng.below(4) == 0 {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

/// The program of a child.
#[test]
fn member() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let parts: Vec<&str> = told.split(' ').collect();
    let number = |at: usize| parts[at].parse::<usize>().unwrap();
    let at = Rendezvous::new(parts[0], number(1), number(2)).limit(LONG).served();
    let manual = (parts[3] == "told").then(ManualClock::new);
    let at = if manual.is_some() { at.silence(SILENCE) } else { at };
    let at = if parts[4] == "new" { at.replacement() } else { at };
    let timing = Timing { clock: manual.map_or(Clock::SYSTEM, ManualClock::clock), ..Timing::default() };
    let device = open(number(1), timing);
    static STOP: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(move || {
        for told in std::io::stdin().lines().map_while(Result::ok) {
            match manual.filter(|_| told == PASS) {
                Some(clock) => clock.advance(STEP),
                None => break,
            }
            println!("{PASS}");
        }
        STOP.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let mut member = Member::join(&at, device);
    println!("ready {} in {:?}", member.comm.epoch(), began.elapsed());
    loop {
        match member.run(&STOP) {
            Ok(()) => return println!("done"),
            Err(Error::CollectiveLost { ranks, .. }) => println!("lost {ranks:?}"),
            Err(error) => panic!("{error}"),
        }
        let members = if member.comm.ranks() > 2 { Members::Survivors } else { Members::Replaced };
        let began = Instant::now();
        match member.comm.rebuild(members, LONG) {
            Ok(rebuilt) => println!("ready {} in {:?}", rebuilt.epoch, began.elapsed()),
            Err(Error::CollectiveLost { ranks, .. }) if *ranks == [member.comm.first_rank()] => {
                return println!("excluded");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// That a step of time is to pass, and has.
const PASS: &str = "a step of time";

fn open(number: usize, timing: Timing) -> Device {
    let on_gpus = std::env::var("WINDLASS_TEST_DEVICE").is_ok_and(|name| name.starts_with("cuda"));
    #[cfg(feature = "cuda")]
    if on_gpus {
        return Device::builder().cuda(number).timing(timing).open().unwrap();
    }
    assert!(!on_gpus, "a GPU for process {number}, without the feature `cuda`");
    Device::builder().host().host_pool(HostPool::Threads(1)).timing(timing).open().unwrap()
}

struct Running {
    child: Child,
    /// What it says, and the steps of time that have passed for it.
    lines: Receiver<String>,
    passed: Receiver<()>,
}

/// How a process is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Loss {
    Killed,
    Stopped,
    /// With its host.
    CutOff,
}

struct Job {
    store: Store,
    /// On which the processes are, unless all are on this one.
    hosts: Option<Hosts>,
    processes: usize,
    /// `told`: by the test; `system`.
    clock: &'static str,
    children: BTreeMap<usize, Running>,
}

impl Job {
    fn spawn(&mut self, number: usize, how: &str) {
        let here = || Command::new(std::env::current_exe().unwrap());
        let mut command = self.hosts.as_ref().map_or_else(here, |hosts| hosts.command(number));
        command.args(["kills::member", "--exact", "--nocapture", "--test-threads=1"]);
        let address = self.store.address();
        command.env(CHILD, format!("{address} {number} {} {} {how}", self.processes, self.clock));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let ((say, lines), (pass, passed)) = (channel(), channel());
        std::thread::spawn(move || {
            for line in said.map_while(Result::ok) {
                let _ = if line.ends_with(PASS) { pass.send(()).is_ok() } else { say.send(line).is_ok() };
            }
        });
        self.children.insert(number, Running { child, lines, passed });
    }

    fn begin(processes: usize, clock: &'static str, hosts: Option<Hosts>) -> Self {
        let address = hosts.as_ref().map_or_else(|| "127.0.0.1:0".into(), Hosts::address);
        let store = Store::serve(&address, "").unwrap();
        let mut job = Job { store, hosts, processes, clock, children: BTreeMap::new() };
        (0..processes).for_each(|number| job.spawn(number, "first"));
        job.all_say("ready 0");
        job
    }

    /// The lines that all say.
    #[track_caller]
    fn all_say(&self, what: &str) -> Vec<String> {
        self.children.iter().map(|(number, running)| await_line(*number, &running.lines, what)).collect()
    }

    /// Time passes until all have noticed a loss.
    fn pass_until_lost(&mut self) -> Vec<String> {
        let mut lost = BTreeMap::new();
        let began = Instant::now();
        loop {
            for (number, running) in &self.children {
                // What it says after that is for those that wait for it.
                while !lost.contains_key(number) {
                    let Ok(line) = running.lines.try_recv() else { break };
                    lost.extend(line.contains("lost").then_some((*number, line)));
                }
            }
            if lost.len() == self.children.len() {
                return lost.into_values().collect();
            }
            assert!(began.elapsed() < LONG * 4, "only {lost:?} of {:?}", self.children.keys());
            for (number, running) in &mut self.children {
                let told = writeln!(running.child.stdin.as_ref().unwrap(), "{PASS}");
                told.unwrap_or_else(|error| panic!("process {number}: {error}"));
            }
            for (number, running) in &self.children {
                let passed = running.passed.recv_timeout(LONG);
                passed.unwrap_or_else(|error| panic!("process {number}, whose time is to pass: {error}"));
            }
            // In which the threads that watch have their turn.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Loses one of them at any moment; the time until all others knew.
    fn lose_one(&mut self, loss: Loss, epoch: u64, rng: &mut Rng) -> Duration {
        // A moment of other processes, which nothing tells of.
        let (_keep, never) = channel::<()>();
        assert_eq!(never.recv_timeout(Duration::from_micros(rng.below(60_000) as u64)), Err(RecvTimeoutError::Timeout));
        let victim = *self.children.keys().nth(rng.below(self.children.len())).unwrap();
        let replaces = self.children.len() == 2;
        let Running { mut child, lines, .. } = self.children.remove(&victim).unwrap();
        let send = |signal| {
            // SAFETY: a child of this test that was not waited for.
            assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
        };
        match loss {
            Loss::Killed => send(libc::SIGKILL),
            Loss::Stopped => send(libc::SIGSTOP),
            Loss::CutOff => self.hosts.as_ref().unwrap().cut(victim),
        }
        let began = Instant::now();
        let is_silent = loss != Loss::Killed && self.clock == "told";
        let lost = if is_silent { self.pass_until_lost() } else { self.all_say("lost") };
        let noticed = began.elapsed();
        if let Some(hosts) = self.hosts.as_ref().filter(|_| replaces && loss == Loss::CutOff) {
            hosts.mend(victim); // for the new one
        }
        if replaces {
            self.spawn(victim, "new");
        }
        let ready = self.all_say(&format!("ready {epoch} "));
        println!("process {victim}, {loss:?}: {lost:?} after {noticed:?}; {ready:?}");
        match loss {
            Loss::Killed => {}
            Loss::Stopped => send(libc::SIGCONT),
            Loss::CutOff => self.hosts.as_ref().unwrap().mend(victim),
        }
        if loss != Loss::Killed {
            await_line(victim, &lines, "excluded");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        noticed
    }

    fn end(self) {
        let mut children = self.children;
        children.values_mut().for_each(|running| running.child.stdin.take().unwrap().write_all(b"stop\n").unwrap());
        for (number, mut running) in children {
            await_line(number, &running.lines, "done");
            assert!(running.child.wait().unwrap().success());
        }
    }
}

#[track_caller]
fn await_line(number: usize, lines: &Receiver<String>, with: &str) -> String {
    loop {
        let Ok(line) = lines.recv_timeout(LONG) else { panic!("process {number} does not say `{with}`") };
        if line.contains(with) {
            return line;
        }
    }
}

fn variable(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// So many losses, in jobs of at most `each`. `WINDLASS_TEST_SEED` begins with other choices.
pub(crate) fn losses(of: &[Loss], clock: &'static str, (usual, each): (usize, usize)) {
    let wanted = variable("WINDLASS_TEST_LOSSES", usual);
    let gpus = crate::gpus().len();
    let mut rng = Rng::new(of.len() as u64 + of[0] as u64 + 1000 * variable("WINDLASS_TEST_SEED", 0) as u64);
    let (mut left, mut known) = (wanted, Vec::new());
    while left > 0 {
        let processes = if gpus > 0 { gpus.min(4) } else { 2 + rng.below(3) };
        if processes < 2 {
            return println!("fewer than two GPUs");
        }
        // To start a process on a GPU takes long.
        let each = if gpus > 0 { left } else { each.min(left) };
        let hosts = of.contains(&Loss::CutOff).then(|| Hosts::new(processes));
        let mut job = Job::begin(processes, clock, hosts);
        known.extend((1..=each).map(|epoch| job.lose_one(of[rng.below(of.len())], epoch as u64, &mut rng)));
        job.end();
        left -= each;
    }
    known.sort();
    let at = |percent: usize| known.get((known.len() * percent / 100).min(known.len().saturating_sub(1)));
    println!(
        "{wanted} losses {of:?}, clock {clock}: known to all others after (least, median, 90 %, 99 %, most) {:?}",
        [0, 50, 90, 99, 100].map(at)
    );
}

#[test]
fn processes_that_are_killed_at_any_moment_leave_the_others_right() {
    losses(&[Loss::Killed], "told", (8, 4));
}

#[test]
fn processes_that_are_stopped_at_any_moment_leave_the_others_right() {
    losses(&[Loss::Stopped], "told", (4, 4));
}

/// Until all others know: of a killed process, and of one that is silent for 1.5 s by the system's clock.
#[test]
#[ignore = "a measurement, which depends on how busy the machine is"]
fn timing_of_losses() {
    losses(&[Loss::Killed], "system", (40, 40));
    losses(&[Loss::Stopped], "system", (40, 40));
}

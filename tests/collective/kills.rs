//! Processes that are killed or stopped at any moment of random programs: nobody waits for ever, what is left goes on, and all
//! results are those of a sequential model. `.ci/deep losses` has 500 of each. With `WINDLASS_TEST_DEVICE=cuda:0` each process has a
//! GPU of its own.
#![cfg(unix)]

use crate::{LONG, Rng, host};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store};
use windlass::{Device, DeviceBuffer, Error, PendingDispatch};

const CHILD: &str = "WINDLASS_TEST_COLLECTIVE_MEMBER";
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

type Pending = PendingDispatch<Vec<DeviceBuffer<u32>>>;

/// A process of the job.
struct Member {
    comm: Communicator,
    device: Device,
    number: usize,
    numbers: Vec<usize>,
    step: u64,
}

impl Member {
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
            // Each waiter is told, of a loss too.
            match pending.await_timeout(LONG).unwrap_or_else(|_| panic!("step {step} was never answered")) {
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

    fn run(&mut self, stop: &AtomicBool) -> windlass::Result<()> {
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
    let at = at.silence(Duration::from_millis(number(3) as u64));
    let at = if parts[4] == "new" { at.replacement() } else { at };
    let on_gpus = std::env::var("WINDLASS_TEST_DEVICE").is_ok_and(|name| name.starts_with("cuda"));
    #[cfg(feature = "cuda")]
    let device = if on_gpus { Device::cuda(number(1)).unwrap() } else { host(1) };
    #[cfg(not(feature = "cuda"))]
    let device = host(usize::from(!on_gpus));
    static STOP: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        STOP.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let comm = Communicator::join(&at, [&device]).unwrap();
    println!("ready {} in {:?}", comm.epoch(), began.elapsed());
    let mut member = Member { comm, device, number: number(1), numbers: Vec::new(), step: 0 };
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

struct Job {
    store: Store,
    processes: usize,
    silence: u64,
    children: BTreeMap<usize, (Child, Receiver<String>)>,
}

impl Job {
    fn spawn(&mut self, number: usize, how: &str) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["kills::member", "--exact", "--nocapture", "--test-threads=1"]);
        let address = self.store.address();
        command.env(CHILD, format!("{address} {number} {} {} {how}", self.processes, self.silence));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (send, receive) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        self.children.insert(number, (child, receive));
    }

    fn begin(processes: usize, silence: u64) -> Self {
        let store = Store::serve("127.0.0.1:0", "").unwrap();
        let mut job = Job { store, processes, silence, children: BTreeMap::new() };
        (0..processes).for_each(|number| job.spawn(number, "first"));
        job.all_say("ready 0");
        job
    }

    /// The lines that all say.
    #[track_caller]
    fn all_say(&self, what: &str) -> Vec<String> {
        self.children.iter().map(|(number, (_, lines))| await_line(*number, lines, what)).collect()
    }

    /// Ends or stops one of them at any moment; the time until all others have gone on.
    fn lose_one(&mut self, signal: i32, epoch: u64, rng: &mut Rng) {
        // A moment of other processes, which nothing tells of.
        let (_keep, never) = channel::<()>();
        assert_eq!(never.recv_timeout(Duration::from_micros(rng.below(60_000) as u64)), Err(RecvTimeoutError::Timeout));
        let victim = *self.children.keys().nth(rng.below(self.children.len())).unwrap();
        let replaces = self.children.len() == 2;
        let (mut child, lines) = self.children.remove(&victim).unwrap();
        let send = |signal| {
            // SAFETY: a child of this test that was not waited for.
            assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
        };
        send(signal);
        let began = Instant::now();
        let lost = self.all_say("lost");
        let noticed = began.elapsed();
        if replaces {
            self.spawn(victim, "new");
        }
        let ready = self.all_say(&format!("ready {epoch} "));
        println!("process {victim}: {lost:?} after {noticed:?}; {ready:?}");
        if signal == libc::SIGSTOP {
            send(libc::SIGCONT);
            await_line(victim, &lines, "excluded");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn end(self) {
        let mut children = self.children;
        children.values_mut().for_each(|(child, _)| child.stdin.take().unwrap().write_all(b"\n").unwrap());
        for (number, (mut child, lines)) in children {
            await_line(number, &lines, "done");
            assert!(child.wait().unwrap().success());
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

/// So many losses, in jobs of at most `each`.
fn losses(signal: i32, silence: u64, (usual, each): (usize, usize)) {
    let wanted = std::env::var("WINDLASS_TEST_LOSSES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual);
    let gpus = crate::gpus().len();
    let mut rng = Rng::new(signal as u64);
    let mut left = wanted;
    while left > 0 {
        let processes = if gpus > 0 { gpus.min(4) } else { 2 + rng.below(3) };
        if processes < 2 {
            return println!("fewer than two GPUs");
        }
        // To start a process on a GPU takes long.
        let each = if gpus > 0 { left } else { each.min(left) };
        let mut job = Job::begin(processes, silence);
        for epoch in 1..=each {
            job.lose_one(signal, epoch as u64, &mut rng);
        }
        job.end();
        left -= each;
    }
}

#[test]
fn processes_that_are_killed_at_any_moment_leave_the_others_right() {
    losses(libc::SIGKILL, 60_000, (8, 4));
}

#[test]
fn processes_that_are_stopped_at_any_moment_leave_the_others_right() {
    losses(libc::SIGSTOP, 2500, (2, 2));
}

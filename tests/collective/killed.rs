//! Real processes, one of which is killed, be it the one that serves the store: every waiter of the others gets
//! [`Error::CollectiveLost`] soon.
#![cfg(unix)]

use crate::remote::address;
use crate::{LONG, Rng, host};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use windlass::Error;
use windlass::collective::{Combine, Communicator, Rendezvous};

const CHILD: &str = "WINDLASS_TEST_COLLECTIVE_CHILD";

/// The program of a child: all-reduces until one fails, and tells how.
#[test]
fn child() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let parts: Vec<&str> = told.split(' ').collect();
    let number = |at: usize| parts[at].parse::<usize>().unwrap();
    let at = Rendezvous::new(parts[0], number(1), number(2)).limit(LONG);
    let at = at.silence(LONG);
    let device = host(1);
    let comm = Communicator::join(&at, [&device]).unwrap();
    println!("joined");
    // Two in flight: the waiters of both must be told.
    let one = || device.upload([1.0f32; 3000]).unwrap().into_output();
    let mut before = comm.all_reduce_in_place(Combine::Sum, vec![one()]).unwrap();
    loop {
        let next = comm.all_reduce_in_place(Combine::Sum, vec![one()]).unwrap();
        match before.await_result() {
            Ok(sums) => assert_eq!(device.to_vec(&sums[0]).unwrap()[2999], number(2) as f32),
            Err(rejected) => {
                let next = next.await_result().map(drop).unwrap_err().error;
                assert!(matches!(next, Error::CollectiveLost { .. }), "{next}");
                let Error::CollectiveLost { ranks, operation, .. } = rejected.error else {
                    panic!("{}", rejected.error);
                };
                println!("lost {ranks:?} in {operation}");
                return;
            }
        }
        before = next;
    }
}

fn spawn(index: usize, processes: usize, address: &str) -> (Child, std::sync::mpsc::Receiver<String>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["killed::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, format!("{address} {index} {processes}")).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
    (child, receive)
}

#[track_caller]
fn await_line(lines: &std::sync::mpsc::Receiver<String>, with: &str) -> String {
    loop {
        let line = lines.recv_timeout(LONG).expect("a line of the child");
        if line.contains(with) {
            return line;
        }
    }
}

/// Kills one of `processes` after a random time; all others notice.
fn lose_one(processes: usize, rng: &mut Rng) {
    let address = address();
    let mut children: Vec<_> = (0..processes).map(|index| spawn(index, processes, &address)).collect();
    children.iter().for_each(|(_, lines)| drop(await_line(lines, "joined")));
    std::thread::sleep(Duration::from_millis(rng.below(120) as u64));
    let victim = rng.below(processes);
    let (mut dead, _) = children.remove(victim);
    dead.kill().unwrap();
    for (_, lines) in &children {
        let line = await_line(lines, "lost");
        assert!(line.contains(&format!("lost [{victim}] in all_reduce")), "{line}, but it was {victim}");
    }
    dead.wait().unwrap();
    for (mut child, _) in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_process_that_is_killed_is_noticed_by_all_others() {
    let mut rng = Rng::new(3);
    for processes in [2, 3, 4, 3] {
        lose_one(processes, &mut rng);
    }
}

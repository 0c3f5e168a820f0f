//! Somebody in the middle, who does not know the token: a message is changed, replaced by the one before, sent back to the one that
//! sent it, or left out. It is refused, by an error that says so, and the next attempt goes on as if nothing had been.
//!
//! Threads play processes. (Between two processes the messages pass through a proxy too, so it has to put its addresses in the
//! place of theirs at the store. For that alone it knows the token.)

use crate::sealed::{Middle, frame, read_frame, say};
use crate::{LONG, host, side_by_side};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use windlass::collective::{Combine, Communicator, Members, Rendezvous, Store};
use windlass::{Device, Error};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Change,
    /// The one before comes in its place.
    Repeat,
    /// It goes back to the one that sent it, and not on.
    Reflect,
    LeaveOut,
}

/// What is done to a message, once.
#[derive(Clone, Copy, Debug)]
struct Plan {
    line: Line,
    /// Towards the one that listens, or away from it.
    forth: bool,
    /// How many messages of that direction pass before.
    after: usize,
    deed: Deed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Store,
    Data,
    Life,
}

/// The bytes of a sign of life; of a header without elements, with its tag.
const SIGN: usize = 5 + 32;
const HEADER: usize = 40 + 32;

#[derive(Default)]
struct Network {
    plan: Mutex<Option<Plan>>,
    /// What has come by a connection for data is taken for a message, whatever it is.
    in_pieces: bool,
    done: Mutex<bool>,
}

impl Network {
    /// Where one reaches `target` through the proxy.
    fn through(self: &Arc<Self>, target: SocketAddr, is_store: bool) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let network = self.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(target) else { return };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                network.connect(near, far, is_store);
            }
        });
        address
    }

    fn connect(self: &Arc<Self>, near: TcpStream, far: TcpStream, is_store: bool) {
        let challenge = Arc::new(OnceLock::new());
        let which = Arc::new(OnceLock::new());
        for forth in [true, false] {
            let (from, to) = if forth { (&near, &far) } else { (&far, &near) };
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let (network, challenge, which) = (self.clone(), challenge.clone(), which.clone());
            std::thread::spawn(move || {
                if is_store {
                    network.frames(&from, &to, forth, &challenge);
                } else {
                    network.messages(&from, &to, forth, &which);
                }
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }

    /// What the plan wants with the message of that direction.
    fn deed(&self, line: Line, forth: bool) -> Option<Deed> {
        let mut plan = self.plan.lock().unwrap();
        let this = plan.as_mut().filter(|plan| plan.line == line && plan.forth == forth)?;
        if let Some(less) = this.after.checked_sub(1) {
            this.after = less;
            return None;
        }
        *self.done.lock().unwrap() = true;
        plan.take().map(|plan| plan.deed)
    }

    fn pass(&self, (line, forth): (Line, bool), (from, to): (&TcpStream, &TcpStream), message: &[u8], last: &[u8]) {
        match self.deed(line, forth) {
            None => say(to, message),
            Some(Deed::Change) => {
                let mut changed = message.to_vec();
                let middle = changed.len() / 2; // of a frame, behind its length
                changed[middle] ^= 16;
                say(to, &changed);
            }
            Some(Deed::Repeat) => say(to, last),
            Some(Deed::Reflect) => say(from, message),
            Some(Deed::LeaveOut) => {}
        }
    }

    fn frames(self: &Arc<Self>, from: &TcpStream, to: &TcpStream, forth: bool, challenge: &OnceLock<Vec<u8>>) {
        let (mut middle, mut last) = (Middle::new(), Vec::new());
        while let Ok(data) = read_frame(from) {
            let message = if forth {
                middle.pass("ours", challenge.wait(), data, |port| {
                    self.through(([127, 0, 0, 1], port).into(), false).port()
                })
            } else {
                let _ = challenge.set(data.clone());
                frame(&data)
            };
            self.pass((Line::Store, forth), (from, to), &message, &last);
            last = message;
        }
    }

    /// Messages of one length, after the first frame, which tells what the connection is for.
    fn messages(&self, mut from: &TcpStream, to: &TcpStream, forth: bool, which: &OnceLock<Line>) {
        let Ok(first) = read_frame(from) else { return };
        if forth {
            let _ = which.set(if first[4] == 0 { Line::Data } else { Line::Life });
        }
        say(to, &frame(&first));
        let line = *which.wait();
        let in_pieces = self.in_pieces && line == Line::Data;
        let unit = if in_pieces { 1 << 14 } else { [SIGN, HEADER][usize::from(line == Line::Data)] };
        let (mut message, mut last) = (vec![0; unit], Vec::new());
        loop {
            let got = if in_pieces { from.read(&mut message) } else { from.read_exact(&mut message).map(|()| unit) };
            let Ok(got @ 1..) = got else { return };
            self.pass((line, forth), (from, to), &message[..got], &last);
            last = message[..got].to_vec();
        }
    }
}

fn join(address: SocketAddr, process: usize, processes: usize) -> windlass::Result<Communicator> {
    Communicator::join(&at(address, process, processes), [&host(1)])
}

fn at(address: SocketAddr, process: usize, processes: usize) -> Rendezvous {
    Rendezvous::new(address.to_string(), process, processes).served().limit(LONG).silence(LONG).token("ours")
}

/// A job of one process, which says hello, comes and stands; the store says its nonce and welcome, and answers twice.
#[test]
fn frames_of_the_store_that_are_not_the_next_ones_are_refused() {
    for deed in [Deed::Change, Deed::Repeat, Deed::Reflect] {
        for (forth, after) in [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2), (false, 3)] {
            let plan = Plan { line: Line::Store, forth, after, deed };
            if after == 0 && deed != Deed::Change {
                continue; // before the first there is none; and the one that speaks first waits for more than its own
            }
            if !forth && deed == Deed::Reflect && after == 1 {
                continue; // the store takes it for the step that it waits for, and waits for an answer no longer
            }
            let network = Arc::new(Network::default());
            let store = Store::serve("127.0.0.1:0", "ours").unwrap();
            let address = network.through(store.address(), true);
            *network.plan.lock().unwrap() = Some(plan);
            let joined = join(address, 0, 1);
            assert!(*network.done.lock().unwrap(), "{plan:?}");
            // Once it has come, and says that it stands, it has to know what became of that: it asks again.
            if (forth && after == 2) || (!forth && after == 3) {
                joined.unwrap().barrier().unwrap().await_result().unwrap();
                continue;
            }
            let error = joined.map(drop).unwrap_err();
            assert!(matches!(error, Error::Untrusted { .. }), "{plan:?}: {error}");
            join(address, 0, 1).unwrap().barrier().unwrap().await_result().unwrap();
        }
    }
}

/// Two processes meet again and again; then a message between them is another.
fn meet(plan: Plan) {
    let network = Arc::new(Network::default());
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = network.through(store.address(), true);
    let gathered = Arc::new(std::sync::Barrier::new(2));
    let shared = network.clone();
    let codes = side_by_side(2, move |process| {
        let comm = join(address, process, 2).unwrap();
        comm.barrier().unwrap().await_result().unwrap();
        if gathered.wait().is_leader() {
            *shared.plan.lock().unwrap() = Some(plan);
        }
        gathered.wait();
        let error = loop {
            if let Err(error) = comm.barrier().unwrap().await_result() {
                break error;
            }
        };
        assert!(matches!(error, Error::CollectiveLost { .. }), "{plan:?}: {error}");
        gathered.wait();
        assert_eq!(comm.rebuild(Members::Survivors, LONG).unwrap().ranks, 2, "{plan:?}");
        comm.barrier().unwrap().await_result().unwrap();
        let site = error.site().unwrap();
        site.code().map(|code| (code, site.code_name().unwrap().to_owned()))
    });
    assert!(codes.contains(&Some((2, "untrusted".into()))), "{plan:?}: {codes:?}");
    assert!(*network.done.lock().unwrap(), "{plan:?}");
}

#[test]
fn headers_between_processes_that_are_not_the_next_ones_lose_the_communicator_and_no_process() {
    for forth in [true, false] {
        for deed in [Deed::Change, Deed::Repeat, Deed::Reflect, Deed::LeaveOut] {
            meet(Plan { line: Line::Data, forth, after: 1, deed });
        }
    }
}

#[test]
fn signs_of_life_that_are_not_the_next_ones_lose_the_communicator_and_no_process() {
    for (forth, deed) in [(true, Deed::Change), (false, Deed::Reflect)] {
        meet(Plan { line: Line::Life, forth, after: 0, deed });
    }
}

/// Where only the elements are another, the job decides whether that is noticed.
#[test]
fn an_element_that_was_changed_is_noticed_if_the_job_protects_its_elements() {
    const LEN: usize = 100_000;
    for protects in [false, true] {
        let network = Arc::new(Network { in_pieces: true, ..Network::default() });
        let store = Store::serve("127.0.0.1:0", "ours").unwrap();
        let address = network.through(store.address(), true);
        let plan = Plan { line: Line::Data, forth: true, after: 2, deed: Deed::Change };
        *network.plan.lock().unwrap() = Some(plan);
        let sums = side_by_side(2, move |process| {
            let device = host(1);
            let comm = Communicator::join(&at(address, process, 2).protect_data(protects), [&device]).unwrap();
            let x = device.upload(vec![1u32; LEN]).unwrap().into_output();
            let sum = comm.all_reduce_in_place(Combine::Sum, vec![x]).unwrap().await_result();
            sum.map(|sum| device.to_vec(&sum[0]).unwrap()).map_err(|rejected| rejected.error)
        });
        assert!(*network.done.lock().unwrap());
        let wrong = sums.iter().filter(|sum| sum.as_ref().is_ok_and(|sum| sum.iter().any(|x| *x != 2))).count();
        let noticed = |error: &Error| matches!(error, Error::CollectiveLost { site, .. } if site.code() == Some(2));
        let noticed = sums.iter().filter(|sum| sum.as_ref().is_err_and(noticed)).count();
        assert_eq!((wrong > 0, noticed > 0), (!protects, protects), "{sums:.100?}");
    }
}

#[test]
fn processes_that_do_not_agree_whether_elements_are_protected_are_told_so() {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = store.address();
    side_by_side(2, move |process| {
        let joined = Communicator::join(&at(address, process, 2).protect_data(process == 0), [&host(1)]);
        let error = joined.map(drop).unwrap_err();
        let Error::InvalidArgument { argument, .. } = &error else { panic!("{error}") };
        assert!(argument == "protect_data" && error.to_string().contains("are not protected"), "{error}");
    });
}

/// One that listens for a process to which others connect, and does not know the token: it is sent nothing but a hello.
#[test]
fn one_in_the_place_of_a_process_is_handed_nothing() {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (target, port) = (store.address(), listener.local_addr().unwrap().port());
    let learnt = Arc::new(Mutex::new(Vec::new()));
    let kept = learnt.clone();
    std::thread::spawn(move || {
        for (number, socket) in (0..).zip(listener.incoming().map_while(Result::ok)) {
            let kept = kept.clone();
            std::thread::spawn(move || {
                let hello = read_frame(&socket).unwrap_or_default();
                say(&socket, &frame(if number % 2 == 0 { &[0; 32] } else { &hello[5..] }));
                let mut more = Vec::new();
                let _ = (&socket).read_to_end(&mut more);
                kept.lock().unwrap().push((hello.len(), more));
            });
        }
    });
    // It puts itself in the place of process 0.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = proxy.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in proxy.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(target).unwrap();
            std::thread::spawn(move || {
                let challenge = read_frame(&far).unwrap();
                say(&near, &frame(&challenge));
                let (mut from, mut to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                let mut middle = Middle::new();
                while let Ok(data) = read_frame(&near) {
                    let _ = (&far).write_all(&middle.pass("ours", &challenge, data, |_| port));
                }
                let _ = far.shutdown(Shutdown::Both);
            });
        }
    });
    let limit = std::time::Duration::from_secs(2);
    side_by_side(2, move |process| {
        let address = if process == 0 { address } else { target };
        let device: Device = host(1);
        let joined = Communicator::join(&at(address, process, 2).limit(limit), [&device]);
        let error = joined.map(drop).unwrap_err();
        assert!(matches!(&error, Error::CollectiveLost { .. }), "{error}");
        let code = error.site().and_then(|site| site.code());
        assert!(
            process == 0 || code == Some(2) && error.to_string().contains("does not know the job's token"),
            "{error}"
        );
    });
    let learnt = learnt.lock().unwrap();
    assert!(!learnt.is_empty());
    assert!(learnt.iter().all(|(hello, more)| *hello == 37 && more.is_empty()), "{learnt:?}");
}

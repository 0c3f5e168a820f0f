//! Signs of life by a clock that the test advances: nothing here depends on how fast the machine is.

use super::*;
use crate::core::clock::ManualClock;
use std::net::TcpListener;

const SILENCE: Duration = Duration::from_secs(60);

/// The watching thread of process 0 of three, and the other ends of its connections.
struct Watching {
    state: Arc<State>,
    clock: ManualClock,
    peers: Vec<TcpStream>,
    /// What was read besides signs of life.
    told: Vec<Vec<Sign>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watching {
    fn begin() -> Self {
        let clock = ManualClock::new();
        let state = Arc::new(State::new(0, [7, 8, 9][..].into(), clock.clock()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut own, mut peers) = (vec![None], Vec::new());
        for _ in 1..3 {
            peers.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            let socket = listener.accept().unwrap().0;
            socket.set_nonblocking(true).unwrap();
            own.push(Some(socket));
        }
        let watched = state.clone();
        let thread = std::thread::spawn(move || watch(&watched, own, SILENCE));
        Watching { state, clock, peers, told: vec![Vec::new(); 2], thread: Some(thread) }
    }

    /// Lets time pass until something is lost; `beats` send a sign whenever they have got one, as processes that live do.
    fn pass(&mut self, beats: &[usize]) {
        while !self.state.is_lost() {
            // The thread tells its own life once in each of these times: so it has looked since the last one.
            self.clock.advance(Duration::from_millis(250));
            for (peer, told) in self.peers.iter_mut().zip(&mut self.told) {
                let mut sign = [0; SIGN];
                peer.read_exact(&mut sign).unwrap();
                if sign[0] != ALIVE {
                    told.push(sign);
                }
            }
            beats.iter().for_each(|peer| self.peers[*peer].write_all(&sign(ALIVE, 0)).unwrap());
        }
    }

    fn next_sign(&mut self, peer: usize) -> Sign {
        if let Some(told) = self.told[peer].pop() {
            return told;
        }
        let mut sign = [0; SIGN];
        self.peers[peer].read_exact(&mut sign).unwrap();
        if sign[0] == ALIVE { self.next_sign(peer) } else { sign }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

#[test]
fn one_that_falls_silent_is_lost_and_the_others_are_told() {
    let mut watching = Watching::begin();
    watching.pass(&[1]);
    assert_eq!(watching.state.loss.lock().dead, [1]);
    assert!(watching.state.loss.lock().cause.as_ref().unwrap().contains("process 8 gave no sign of life for 60s"));
    assert_eq!(watching.next_sign(1), sign(LOST, 1));
    assert_eq!(watching.next_sign(0), sign(LOST, 1), "it is told too, in case it lives");
}

#[test]
fn what_another_has_lost_is_lost_here_too_and_the_lost_one_is_not_heard_any_more() {
    let mut watching = Watching::begin();
    watching.peers[0].write_all(&[sign(ALIVE, 1), sign(LOST, 2)].concat()).unwrap();
    while !watching.state.is_lost() {
        std::thread::yield_now();
    }
    watching.peers[1].write_all(&sign(LOST, 1)).unwrap();
    assert_eq!(watching.next_sign(0), sign(LOST, 2));
    assert_eq!(watching.state.loss.lock().dead, [2]);
}

#[test]
fn one_that_is_taken_for_lost_accuses_nobody() {
    let mut watching = Watching::begin();
    watching.peers[1].write_all(&sign(LOST, 0)).unwrap();
    while !watching.state.is_lost() {
        std::thread::yield_now();
    }
    let loss = watching.state.loss.lock().clone();
    assert!(loss.dead.is_empty() && loss.cause.unwrap().contains("process 9 takes this one for lost"));
}

#[test]
fn a_sign_that_comes_in_parts_is_one_sign_and_giving_up_costs_nobody_its_place() {
    let mut watching = Watching::begin();
    for byte in sign(GAVE_UP, 2) {
        watching.peers[0].write_all(&[byte]).unwrap();
    }
    while !watching.state.is_lost() {
        std::thread::yield_now();
    }
    let loss = watching.state.loss.lock().clone();
    assert!(loss.dead.is_empty() && loss.processes == [2], "{:?}", loss.cause);
}

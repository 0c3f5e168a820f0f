//! Signs of life by a clock that the test advances: nothing here depends on how fast the machine is.

use super::*;
use crate::core::clock::ManualClock;
use crate::core::sync::Mutex;
use crate::libraries::collective::store::{Key, Way};
use std::net::TcpListener;

const SILENCE: Duration = Duration::from_secs(60);

/// The watching thread of process 0 of three, and the other ends of its connections.
struct Watching {
    state: Arc<State>,
    clock: ManualClock,
    peers: Vec<(TcpStream, Seals)>,
    /// What was read besides signs of life.
    told: Vec<Vec<Sign>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watching {
    fn begin() -> Self {
        let clock = ManualClock::new();
        let state = Arc::new(State::new(0, [7, 8, 9][..].into(), clock.clock()).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut own, mut peers) = (vec![None], Vec::new());
        for _ in 1..3 {
            let seals = |is_first| Key::new("ours").seals(Way::Life, [&[1; 32], &[2; 32]], is_first);
            peers.push((TcpStream::connect(listener.local_addr().unwrap()).unwrap(), seals(false)));
            let socket = listener.accept().unwrap().0;
            socket.set_nonblocking(true).unwrap();
            own.push(Some(Line { socket, seals: Mutex::new(seals(true)) }));
        }
        let (watched, own) = (state.clone(), Peer::all(own, clock.clock()).unwrap());
        let thread = std::thread::spawn(move || watch(&watched, own, SILENCE));
        Watching { state, clock, peers, told: vec![Vec::new(); 2], thread: Some(thread) }
    }

    /// Lets time pass until something is lost; `beats` send a sign whenever they have got one, as processes that live do.
    fn pass(&mut self, beats: &[usize]) {
        while !self.state.is_lost() {
            // The thread tells its own life once in each of these times: so it has looked since the last one.
            self.clock.advance(Duration::from_millis(250));
            for peer in 0..self.peers.len() {
                let sign = self.read(peer);
                if sign[0] != ALIVE {
                    self.told[peer].push(sign);
                }
            }
            beats.iter().for_each(|peer| self.say(*peer, sign(ALIVE, 0)));
        }
    }

    fn read(&mut self, peer: usize) -> Sign {
        let (socket, seals) = &mut self.peers[peer];
        let mut sealed = [0; SEALED];
        socket.read_exact(&mut sealed).unwrap();
        let (sign, tag) = sealed.split_at(SIGN);
        assert_eq!(seals.received.tag(sign), tag, "of this thread, and the next one");
        sign.try_into().unwrap()
    }

    fn sealed(&mut self, peer: usize, sign: Sign) -> Vec<u8> {
        [&sign[..], &self.peers[peer].1.sent.tag(&sign)].concat()
    }

    fn say(&mut self, peer: usize, sign: Sign) {
        let sealed = self.sealed(peer, sign);
        self.write(peer, &sealed);
    }

    fn write(&mut self, peer: usize, bytes: &[u8]) {
        self.peers[peer].0.write_all(bytes).unwrap();
    }

    fn await_loss(&self) -> crate::libraries::collective::mesh::Loss {
        while !self.state.is_lost() {
            std::thread::yield_now();
        }
        self.state.loss.lock().clone()
    }

    fn next_sign(&mut self, peer: usize) -> Sign {
        if let Some(told) = self.told[peer].pop() {
            return told;
        }
        let sign = self.read(peer);
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
    watching.say(0, sign(ALIVE, 1));
    watching.say(0, sign(LOST, 2));
    watching.await_loss();
    watching.say(1, sign(LOST, 1));
    assert_eq!(watching.next_sign(0), sign(LOST, 2));
    assert_eq!(watching.state.loss.lock().dead, [2]);
}

#[test]
fn one_that_is_taken_for_lost_accuses_nobody() {
    let mut watching = Watching::begin();
    watching.say(1, sign(LOST, 0));
    let loss = watching.await_loss();
    assert!(loss.dead.is_empty() && loss.cause.unwrap().contains("process 9 takes this one for lost"));
}

#[test]
fn a_sign_that_comes_in_parts_is_one_sign_and_giving_up_costs_nobody_its_place() {
    let mut watching = Watching::begin();
    for byte in watching.sealed(0, sign(GAVE_UP, 2)) {
        watching.write(0, &[byte]);
    }
    let loss = watching.await_loss();
    assert!(loss.dead.is_empty() && loss.processes == [2] && !loss.untrusted, "{:?}", loss.cause);
}

/// Neither what it says is believed, nor that anybody is dead: who has sent it is not known.
#[test]
fn a_sign_that_was_changed_repeated_or_turned_round_is_not_heeded_and_loses_the_communicator_alone() {
    for forged in 0..4 {
        let mut watching = Watching::begin();
        let good = watching.sealed(0, sign(ALIVE, 1));
        let lie = match forged {
            0 => [&sign(LOST, 2)[..], &good[SIGN..]].concat(),
            1 => [&good[..], &good].concat(),
            2 => {
                let _ = watching.sealed(0, sign(ALIVE, 1)); // it is left out
                watching.sealed(0, sign(LOST, 2))
            }
            _ => {
                let mut own = [0; SEALED];
                watching.clock.advance(Duration::from_millis(250));
                watching.peers[0].0.read_exact(&mut own).unwrap();
                own.to_vec()
            }
        };
        watching.write(0, &lie);
        let loss = watching.await_loss();
        assert!(loss.untrusted && loss.dead.is_empty() && loss.processes == [1], "{forged}: {:?}", loss.cause);
        watching.say(0, sign(LOST, 2));
        assert_eq!(watching.next_sign(1), sign(GAVE_UP, 1), "the others are told");
        assert!(watching.state.loss.lock().dead.is_empty(), "{forged}");
    }
}

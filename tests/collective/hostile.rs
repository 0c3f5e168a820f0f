//! Strangers at the store's port: anyone in the network can connect. They are dropped, and the job comes together meanwhile.

use crate::remote::{address, rendezvous};
use crate::{host, side_by_side};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;
use windlass::collective::{Communicator, Rendezvous, Store};

/// The most strangers at a time, as the store counts them.
const MOST_STRANGERS: usize = 256;

/// A connection to what is to listen there soon.
fn connect(address: &str) -> TcpStream {
    loop {
        if let Ok(socket) = TcpStream::connect(address) {
            return socket;
        }
        std::thread::yield_now();
    }
}

fn frame(data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32).to_le_bytes()[..], data].concat()
}

fn read_frame(socket: &mut TcpStream) -> Vec<u8> {
    let mut len = [0; 4];
    socket.read_exact(&mut len).unwrap();
    let mut data = vec![0; u32::from_le_bytes(len) as usize];
    socket.read_exact(&mut data).unwrap();
    data
}

/// What the store tells a peer that answers its challenge so, given the protocol's name and the challenge.
fn verdict(address: &str, hello: impl FnOnce(&[u8], &[u8]) -> Vec<u8>) -> (TcpStream, String) {
    let mut socket = connect(address);
    let challenge = read_frame(&mut socket);
    let (magic, challenge) = challenge.split_at(8);
    socket.write_all(&frame(&hello(magic, challenge))).unwrap();
    let verdict = read_frame(&mut socket);
    (socket, String::from_utf8(verdict).unwrap())
}

/// As one that knows the token.
fn proof(token: &str, challenge: &[u8]) -> [u8; 32] {
    let mut hash = blake3::Hasher::new_keyed(blake3::hash(token.as_bytes()).as_bytes());
    hash.update(&(challenge.len() as u64).to_le_bytes()).update(challenge).update(b"hello");
    *hash.finalize().as_bytes()
}

/// How many files this process may open.
fn most_files() -> usize {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is valid for the write.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
        usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    300
}

/// Whether the other end has closed the connection, as it is to.
fn is_closed(socket: &mut TcpStream) -> bool {
    match socket.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Two processes come together at the address and meet, with all that connects to it meanwhile.
fn meet(at: impl Fn(usize) -> Rendezvous + Send + Sync + 'static) {
    side_by_side(2, move |index| {
        let comm = Communicator::join(&at(index), [&host(1)]).unwrap();
        comm.barrier().unwrap().await_result().unwrap();
    });
}

#[test]
fn strangers_at_the_store_do_no_harm() {
    let address = address();
    let first = Mutex::new(Some({
        let address = address.clone();
        std::thread::spawn(move || Communicator::join(&rendezvous(&address, 0, 2), [&host(1)]).unwrap())
    }));
    side_by_side(1, move |_| {
        let mut strangers = Vec::new();
        for say in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[255; 64], &[40, 0, 0, 0], &[0; 4]] {
            let mut socket = connect(&address);
            socket.write_all(say).unwrap();
            strangers.push(socket);
        }
        let (_, told) = verdict(&address, |magic, _| [magic, &[0; 32]].concat());
        assert_eq!(told, "refused: another token");
        let (_, told) =
            verdict(&address, |magic, challenge| [&magic[..7], &[magic[7] + 1], &proof("ours", challenge)].concat());
        assert!(told.contains("refused: another protocol, or another version"), "{told}");
        let device = host(1);
        let wrong = rendezvous(&address, 1, 2).token("theirs");
        let text = Communicator::join(&wrong, [&device]).map(drop).unwrap_err().to_string();
        assert!(text.contains("token"), "{text}");
        let taken = Communicator::join(&rendezvous(&address, 0, 2), [&device]);
        assert!(taken.is_err(), "the number is taken");
        let second = Communicator::join(&rendezvous(&address, 1, 2), [&device]).unwrap();
        let barrier = second.barrier().unwrap();
        let first = first.lock().unwrap().take().unwrap().join().unwrap();
        first.barrier().unwrap().await_result().unwrap();
        barrier.await_result().unwrap();
    });
}

/// Even one that knows the token is dropped when it says what no process says.
#[test]
fn nonsense_after_the_proof_ends_the_connection_and_nothing_else() {
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = store.address().to_string();
    for nonsense in [frame(&[255; 40]), vec![255; 4], frame(&[]), vec![0, 0, 16, 0]] {
        let (mut socket, told) = verdict(&address, |magic, challenge| [magic, &proof("ours", challenge)].concat());
        assert_eq!(told, "welcome");
        socket.write_all(&nonsense).unwrap();
        if nonsense != [0, 0, 16, 0] {
            assert!(is_closed(&mut socket), "{nonsense:?}");
        } // the length of the longest frame, which never comes: it waits, and nobody waits for it
    }
    meet(move |index| rendezvous(&address, index, 2).served());
}

/// Hundreds of them, none of which says enough. The oldest have to go at once, and not when their time is over: so those who
/// come need not wait for that.
#[test]
fn a_flood_of_slow_strangers_keeps_nobody_out() {
    assert!(most_files() / 3 > MOST_STRANGERS, "too few files for this test: `ulimit -n 1024`");
    let store = Store::serve("127.0.0.1:0", "ours").unwrap();
    let address = store.address().to_string();
    let mut strangers = Vec::new();
    for number in 0..(MOST_STRANGERS + 300).min(most_files() / 3) {
        let mut socket = TcpStream::connect(&address).unwrap();
        let _ = socket.write_all(&[40, 0, 0, 0, b'w', b'n'][..number % 7]);
        strangers.push(socket);
    }
    println!("{} strangers", strangers.len());
    meet(move |index| rendezvous(&address, index, 2).served());
    // Each may stay for 10 s, which this does not wait for.
    strangers[0].set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    assert!(is_closed(&mut strangers[0]), "the oldest stays");
    let newest = strangers.last_mut().unwrap();
    newest.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    assert!(!is_closed(newest), "those that come later than others stay");
}

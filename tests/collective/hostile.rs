//! Strangers at the store's port: anyone in the network can connect. They are dropped, and the job comes together meanwhile.

use crate::remote::{address, rendezvous};
use crate::sealed::{Direction, MAGIC, frame, hello, read_frame, say};
use crate::{LONG, host, side_by_side};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;
use windlass::Error;
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

/// What the store tells a peer that answers its challenge so.
fn verdict(address: &str, hello: impl FnOnce(&[u8]) -> Vec<u8>) -> (TcpStream, String) {
    let socket = connect(address);
    let challenge = read_frame(&socket).unwrap();
    assert_eq!((challenge.len(), &challenge[..8]), (40, &MAGIC[..]));
    say(&socket, &frame(&hello(&challenge)));
    let verdict = read_frame(&socket).unwrap();
    (socket, String::from_utf8_lossy(&verdict).into_owned())
}

/// A peer that knows the token, and its connection.
fn welcome(address: &str) -> (TcpStream, [Direction; 2]) {
    let mut directions = None;
    let (socket, told) = verdict(address, |challenge| {
        let (said, both) = hello("ours", challenge);
        directions = Some(both);
        said
    });
    assert!(told.starts_with("welcome"), "{told}");
    (socket, directions.unwrap())
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
        let (_, told) = verdict(&address, |_| [&MAGIC[..], &[0; 64]].concat());
        assert_eq!(told, "refused: another token");
        // Its own challenge, sent back.
        let (_, told) = verdict(&address, |challenge| [challenge, &[0; 32]].concat());
        assert_eq!(told, "refused: another token");
        let (_, told) = verdict(&address, |challenge| hello("theirs", challenge).0);
        assert_eq!(told, "refused: another token");
        let (_, told) = verdict(&address, |_| [&b"wndlss\0\x01"[..], &[0; 32]].concat());
        assert!(told.contains("version 1 of the protocol") && told.contains("version 2"), "{told}");
        let (_, told) = verdict(&address, |_| b"GET / HTTP/1.1".to_vec());
        assert!(told.contains("another protocol"), "{told}");
        let device = host(1);
        let wrong = rendezvous(&address, 1, 2).token("theirs");
        let error = Communicator::join(&wrong, [&device]).map(drop).unwrap_err();
        assert!(matches!(&error, Error::Untrusted { .. }) && error.to_string().contains("another token"), "{error}");
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
    for nonsense in [frame(&[255; 40]), vec![255; 4], frame(&[]), frame(&[0; 32]), vec![0, 0, 16, 0]] {
        let (mut socket, _) = welcome(&address);
        socket.write_all(&nonsense).unwrap();
        if nonsense != [0, 0, 16, 0] {
            assert!(is_closed(&mut socket), "{nonsense:?}");
        } // the length of the longest frame, which never comes: it waits, and nobody waits for it
    }
    let (mut socket, [_, mut to_store]) = welcome(&address);
    socket.write_all(&to_store.frame(&[255; 40])).unwrap();
    assert!(is_closed(&mut socket), "with a tag that fits");
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

/// One that listens where the store should. It learns what a process says before anything is proven, and no more.
fn hostile_store(answer: impl FnOnce(&TcpStream) + Send + 'static) -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        answer(&socket);
        let mut learnt = Vec::new();
        let _ = socket.read_to_end(&mut learnt);
        learnt
    });
    (address, thread)
}

#[test]
fn a_store_that_knows_no_token_is_told_nothing() {
    type Answer = fn(&[u8]) -> Vec<u8>;
    let answers: [(&str, Answer); 6] = [
        ("nothing but the word", |_| b"welcome".to_vec()),
        ("no tag", |_| [&b"welcome"[..], &[0; 32]].concat()),
        ("the tag of the process", |said| [b"welcome", &said[40..]].concat()),
        ("all that the process said", <[u8]>::to_vec),
        ("half a tag", |_| [&b"welcome"[..], &[0; 16]].concat()),
        ("nothing at all", |_| Vec::new()),
    ];
    for (what, answer) in answers {
        let (address, thread) = hostile_store(move |socket| {
            say(socket, &frame(&[&MAGIC[..], &[9; 32]].concat()));
            let said = read_frame(socket).unwrap();
            assert_eq!((said.len(), &said[..8]), (72, &MAGIC[..]));
            say(socket, &frame(&answer(&said)));
        });
        let at = rendezvous(&address, 1, 2).served().limit(LONG);
        let error = Communicator::join(&at, [&host(1)]).map(drop).unwrap_err();
        let Error::Untrusted { peer, reason, .. } = &error else { panic!("{what}: {error}") };
        assert!(peer.contains(&address) && reason.contains("does not know the job's token"), "{what}: {error}");
        assert_eq!(thread.join().unwrap(), b"", "{what}");
    }
}

#[test]
fn a_store_of_another_version_is_refused_by_its_name() {
    for (first, named) in [
        ([&b"wndlss\0\x01"[..], &[9; 32]].concat(), "version 1 of the protocol"),
        (b"HTTP/1.1 400 Bad Request".to_vec(), "another protocol"),
    ] {
        let (address, thread) = hostile_store(move |socket| say(socket, &frame(&first)));
        let error = Communicator::join(&rendezvous(&address, 1, 2).served(), [&host(1)]).map(drop).unwrap_err();
        assert!(matches!(&error, Error::Untrusted { .. }) && error.to_string().contains(named), "{error}");
        assert_eq!(thread.join().unwrap(), b"");
    }
}

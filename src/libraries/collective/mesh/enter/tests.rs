//! What a process does whose connection to the store breaks.

use super::*;
use crate::libraries::collective::store::Server;
use std::sync::mpsc::channel;

const LONG: Duration = Duration::from_secs(3600);

/// A process that is to come at once knows that the store serves: one that refuses it is not waited for.
#[test]
fn a_store_that_has_ended_is_not_asked_until_the_limit() {
    let server = Server::begin(&resolve("127.0.0.1:0").unwrap(), Rendezvous::new("", 0, 1).key()).unwrap();
    let address = server.address();
    let at = Rendezvous::new(address.to_string(), 0, 1).served();
    let mut client = Client::connect(&[address], at.key(), (LONG, true), 0).unwrap();
    drop(server);
    let (say, said) = channel();
    std::thread::spawn(move || {
        let (mode, clock) = (Mode::Join, Clock::SYSTEM);
        let entry = Entry { at: &at, mode, locals: 1, on_gpus: false, limit: LONG, clock, at_once: true, old: None };
        let step = entry.to_look(0, u64::MAX);
        // What was asked before it ended may be answered.
        let error = (0..3).find_map(|_| entry.surely(&mut client, &step, end_of(LONG)).err());
        let _ = say.send(error.map(|error| error.to_string()));
    });
    let error = said.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(error.as_ref().is_some_and(|error| error.contains("the store has ended")), "{error:?}");
}

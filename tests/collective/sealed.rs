//! The protocol of the store and of connections between processes, written anew from its description (`store/seal.rs`): for peers
//! that are no process of a job, and for those in the middle who know its token.

use std::io::{Read, Write};
use std::net::TcpStream;

/// The protocol's name and version.
pub(crate) const MAGIC: &[u8; 8] = b"wndlss\0\x02";

/// One direction of a connection.
pub(crate) struct Direction {
    key: [u8; 32],
    pub(crate) number: u64,
}

impl Direction {
    pub(crate) fn tag(&mut self, message: &[u8]) -> [u8; 32] {
        let hashed = [message, &self.number.to_le_bytes()].concat();
        self.number += 1;
        *blake3::keyed_hash(&self.key, &hashed).as_bytes()
    }

    /// A frame that ends with its tag.
    pub(crate) fn frame(&mut self, message: &[u8]) -> Vec<u8> {
        frame(&[message, &self.tag(message)].concat())
    }
}

/// What the first side sends, and what the second does.
pub(crate) fn directions(token: &str, way: &[u8; 5], nonces: [&[u8]; 2]) -> [Direction; 2] {
    let job = blake3::derive_key("windlass 2026-11-28 collective: the token of a job", token.as_bytes());
    let connection = blake3::keyed_hash(&job, &[way, nonces[0], nonces[1]].concat());
    ["first", "second"]
        .map(|who| Direction { key: *blake3::keyed_hash(connection.as_bytes(), who.as_bytes()).as_bytes(), number: 0 })
}

pub(crate) fn frame(data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32).to_le_bytes()[..], data].concat()
}

pub(crate) fn read_frame(mut socket: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 4];
    socket.read_exact(&mut len)?;
    let mut data = vec![0; u32::from_le_bytes(len) as usize];
    socket.read_exact(&mut data)?;
    Ok(data)
}

/// The nonce in a first frame.
pub(crate) fn nonce(first: &[u8]) -> &[u8] {
    &first[8..40]
}

/// One in the middle of a process and the store, who knows the token: it changes what the process tells of itself.
pub(crate) struct Middle(Option<Direction>);

impl Middle {
    pub(crate) fn new() -> Self {
        Middle(None)
    }

    /// The frame that goes to the store, for one that has come from the process. `challenge`: the store's first frame.
    pub(crate) fn pass(
        &mut self,
        token: &str,
        challenge: &[u8],
        mut data: Vec<u8>,
        port: impl FnOnce(u16) -> u16,
    ) -> Vec<u8> {
        let Some(direction) = &mut self.0 else {
            let [_, mut to_store] = directions(token, b"store", [nonce(challenge), nonce(&data)]);
            to_store.tag(MAGIC); // the process has made it
            self.0 = Some(to_store);
            return frame(&data);
        };
        data.truncate(data.len() - 32);
        // An address of version 4: 127.0.0.1, and a port of three bytes, of seven bits each.
        if let Some(at) = data.windows(5).position(|bytes| bytes == [0, 127, 0, 0, 1]) {
            let place = &mut data[at + 5..at + 8];
            let proxy = port(u16::from(place[0] & 127) | u16::from(place[1] & 127) << 7 | u16::from(place[2]) << 14);
            place.copy_from_slice(&[proxy as u8 | 128, (proxy >> 7) as u8 | 128, (proxy >> 14) as u8]);
        }
        direction.frame(&data)
    }
}

/// As a process that knows the token, for the store's challenge: what it says, and the directions of the connection.
pub(crate) fn hello(token: &str, challenge: &[u8]) -> (Vec<u8>, [Direction; 2]) {
    let own = [7; 32];
    let [from_store, mut to_store] = directions(token, b"store", [nonce(challenge), &own]);
    let said = [&MAGIC[..], &own, &to_store.tag(MAGIC)].concat();
    (said, [from_store, to_store])
}

/// Writes all of it, or finds that the other is gone.
pub(crate) fn say(mut socket: &TcpStream, bytes: &[u8]) {
    let _ = socket.write_all(bytes);
}

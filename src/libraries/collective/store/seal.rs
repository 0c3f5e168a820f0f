//! Keyed hashes of what two processes send each other. Who does not know the job's token can make none; and a message that was
//! changed, repeated, left out, or sent back to the one that sent it has none that fits.
//!
//! ```text
//!   key of the job         blake3::derive_key(JOB, token)
//!   key of a connection    keyed hash, by that, of: which connection, nonce of the first side, nonce of the second
//!   key of a direction     keyed hash, by that, of: "first" or "second", whoever sends
//!   tag of a message       keyed hash, by that, of: its bytes, its number in that direction
//! ```
//!
//! Each side makes a nonce for each connection, so a key is used for one connection only: nothing of another one fits. That
//! costs a hash of each message by those who send and receive it. Nothing is encrypted.

/// The bytes of a tag.
pub(in crate::libraries::collective) const TAG: usize = 32;
pub(in crate::libraries::collective) type Nonce = [u8; 32];

/// For keys of jobs alone.
const JOB: &str = "windlass 2026-11-28 collective: the token of a job";

/// What the job's token becomes: the key of all others.
#[derive(Clone, Copy)]
pub(in crate::libraries::collective) struct Key([u8; 32]);

/// What a connection is for. The sides of each have an order.
#[derive(Clone, Copy)]
pub(in crate::libraries::collective) enum Way {
    /// The store is first.
    Store,
    /// The first is the process that stands before the other among the members.
    Data,
    Life,
}

/// The message was not sent by one that knows the key, or it is not the next one of its direction.
#[derive(Debug)]
pub(in crate::libraries::collective) struct Forged;

/// One direction of a connection: makes the tag of each message, or checks it.
pub(in crate::libraries::collective) struct Seal {
    hasher: blake3::Hasher,
    number: u64,
}

/// Both directions of a connection, as one side has them.
pub(in crate::libraries::collective) struct Seals {
    pub(in crate::libraries::collective) sent: Seal,
    pub(in crate::libraries::collective) received: Seal,
}

impl Key {
    pub(in crate::libraries::collective) fn new(token: &str) -> Self {
        Key(blake3::derive_key(JOB, token.as_bytes()))
    }

    /// For a connection. `is_first`: this side's nonce is the first.
    pub(in crate::libraries::collective) fn seals(
        self,
        way: Way,
        [first, second]: [&Nonce; 2],
        is_first: bool,
    ) -> Seals {
        let name: &[u8; 5] = match way {
            Way::Store => b"store",
            Way::Data => b"data ",
            Way::Life => b"life ",
        };
        let mut hash = blake3::Hasher::new_keyed(&self.0);
        hash.update(name).update(first).update(second);
        let key = *hash.finalize().as_bytes();
        let direction = |who: &[u8]| Seal {
            hasher: blake3::Hasher::new_keyed(blake3::keyed_hash(&key, who).as_bytes()),
            number: 0,
        };
        let (first, second) = (direction(b"first"), direction(b"second"));
        if is_first { Seals { sent: first, received: second } } else { Seals { sent: second, received: first } }
    }
}

impl Seal {
    /// More of the current message.
    pub(in crate::libraries::collective) fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The tag of the message, which ends here.
    pub(in crate::libraries::collective) fn close(&mut self) -> blake3::Hash {
        let tag = self.hasher.update(&self.number.to_le_bytes()).finalize();
        self.hasher.reset();
        self.number += 1;
        tag
    }

    /// The tag of a message.
    pub(in crate::libraries::collective) fn tag(&mut self, message: &[u8]) -> [u8; TAG] {
        self.add(message);
        *self.close().as_bytes()
    }

    /// Whether that is the tag of the message, which ends here. Takes the same time wherever they differ.
    pub(in crate::libraries::collective) fn check(&mut self, tag: &[u8]) -> Result<(), Forged> {
        if self.close() == *tag { Ok(()) } else { Err(Forged) }
    }
}

impl std::fmt::Display for Forged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a message is not the next one of a process that knows the job's token")
    }
}

impl std::error::Error for Forged {}

/// Bytes that nobody foresees.
pub(in crate::libraries::collective) fn nonce() -> Nonce {
    use std::hash::{BuildHasher, RandomState};
    let mut hash = blake3::Hasher::new();
    for _ in 0..4 {
        hash.update(&RandomState::new().hash_one(crate::core::clock::Clock::SYSTEM.now()).to_le_bytes());
    }
    *hash.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(way: Way, token: [&str; 2], nonces: [&Nonce; 2]) -> (Seals, Seals) {
        let [first, second] = token.map(Key::new);
        (first.seals(way, nonces, true), second.seals(way, nonces, false))
    }

    #[test]
    fn only_the_next_message_of_the_other_side_fits() {
        let (a, b) = (nonce(), nonce());
        let pair = || sides(Way::Data, ["t", "t"], [&a, &b]);
        let fits = |seal: &mut Seal, message: &[u8], tag: &[u8]| {
            seal.add(message);
            seal.check(tag).is_ok()
        };
        let (mut one, mut two) = pair();
        let tags = [one.sent.tag(b"x"), one.sent.tag(b"x"), one.sent.tag(b"yz")];
        assert!(fits(&mut two.received, b"x", &tags[0]) && fits(&mut two.received, b"x", &tags[1]));
        two.received.add(b"y");
        assert!(fits(&mut two.received, b"z", &tags[2]), "in pieces");
        let (_, mut two) = pair();
        assert!(!fits(&mut two.received, b"x", &tags[1]), "the one before was left out");
        assert!(!fits(&mut two.received, b"x", &tags[0]), "late");
        let (mut one, mut two) = pair();
        assert!(!fits(&mut one.received, b"x", &tags[0]), "reflected");
        assert!(!fits(&mut two.received, b"X", &tags[0]), "changed");
        let (_, mut two) = pair();
        assert!(!fits(&mut two.received, b"x", &tags[0][..31]) && !fits(&mut two.received, b"x", b""));
        for (way, tokens, nonces) in [
            (Way::Data, ["t", "u"], [&a, &b]),
            (Way::Life, ["t", "t"], [&a, &b]),
            (Way::Store, ["t", "t"], [&a, &b]),
            (Way::Data, ["t", "t"], [&b, &a]),
            (Way::Data, ["t", "t"], [&a, &a]),
        ] {
            let (_, mut two) = sides(way, tokens, nonces);
            assert!(!fits(&mut two.received, b"x", &tags[0]), "of another connection");
        }
    }
}

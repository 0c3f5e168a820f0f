//! The store: where the processes of a job find each other, and agree on who is of the next epoch (`rounds.rs`). Process 0
//! serves it, or somebody who outlives the ranks.
//!
//! ```text
//!   server ── nonce ─────────────────────> client
//!          <─ hello: nonce, tag ──────────
//!          ── welcome: tag, or refused: why >
//!          <─ come, look, stand, leave     each answered, in turn; each with a tag, as the answer
//! ```
//!
//! Frames have a length before them (`frame.rs`). Anyone in the network can connect, and anyone can listen where the store should,
//! so nothing is done for a peer before it has shown that it knows the job's token, and nothing is told one: each tag is a
//! keyed hash that only those who know the token can make (`seal.rs`), compared in constant time; the token itself is never
//! sent. Frames and the number of connections are bounded, and a peer that says nothing is dropped. No name is looked up for
//! a peer.

mod client;
mod frame;
mod rounds;
mod seal;
mod server;

pub(super) use client::{Client, end_of};
pub(super) use frame::write;
pub(super) use rounds::{Card, Mode, Refusal, Step, View};
pub(super) use seal::{Key, Seal, Seals, TAG, Way, nonce};
pub use server::Store;
pub(super) use server::{Server, resolve};

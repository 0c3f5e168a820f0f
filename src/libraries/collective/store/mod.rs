//! The store: where the processes of a job find each other, and agree on who is of the next epoch (`rounds.rs`). Process 0
//! serves it, or somebody who outlives the ranks.
//!
//! ```text
//!   server ── challenge ──────────────> client
//!          <─ hello: answer, version ──
//!          ── welcome, or refused: why >
//!          <─ come, look, stand, leave     each answered, in turn
//! ```
//!
//! Frames have a length before them (`frame.rs`). Anyone in the network can connect, so nothing is done for a peer before it
//! has shown that it knows the job's token: it answers the server's challenge with a keyed hash, which is compared in constant
//! time, and the token itself is never sent. Frames and the number of connections are bounded, and a peer that
//! says nothing is dropped. No name is looked up for a peer.

mod client;
mod frame;
mod rounds;
mod server;

pub(super) use client::{Client, end_of};
pub(super) use frame::{Key, answer, nonce, write};
pub(super) use rounds::{Card, Mode, Refusal, Step, View};
pub use server::Store;
pub(super) use server::{Server, resolve};

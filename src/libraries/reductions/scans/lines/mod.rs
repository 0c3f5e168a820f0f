//! Scans of lines whose elements are neighbours in memory: the chunks and the order of `levels.rs`, by warps.
//!
//! A warp has 32 chunks, of 1024 elements of one line or of several short ones. It loads them as they lie, each chunk by all lanes at
//! once, into shared memory, whose rows are one element longer than a chunk, so that lanes that go through a chunk each meet no bank
//! twice. There each lane totals its chunk, goes through the totals before it, and scans its chunk; then the warp stores them as it
//! loaded them.
//!
//! A line of more chunks is a *group* of 32 chunks for each warp, whose totals are the next level but one: a block has all groups of
//! a line if they are few. Else one launch totals the groups, these are scanned, exclusively and in the same way, and a last launch
//! begins each group with what is before it. So long lines are read twice and written once.

mod kernel;
mod plan;
mod tile;

pub(super) use kernel::Key;
pub(super) use plan::{Step, steps};

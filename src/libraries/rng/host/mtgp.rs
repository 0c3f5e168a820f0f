//! MTGP32 (Saito and Matsumoto 2013), exponent 11213: 200 generators, of which 192 (or 64) take turns with 256 outputs each.
//!
//! `mtgp32.bin` holds the authors' parameter sets 0 to 199 of that exponent, as found by their MTGPDC. Each has the
//! position and two shifts, then the basis of its recursion table and of its tempering table (the other twelve entries
//! are sums of these four). Copyright (c) 2009-2012 Mutsuo Saito, Makoto Matsumoto, Hiroshima University and the
//! University of Tokyo, under the three-clause BSD licence.

use super::cursor::Cursor;
use crate::core::room::{OrUnwind, filled, push};

/// Words of a state.
const WORDS: usize = 351;
/// Outputs of a turn.
const TURN: usize = 256;
/// The bits of the first word that are used.
const MASK: u32 = 0xfff8_0000;
static SETS: &[u8] = include_bytes!("mtgp32.bin");
const SET: usize = 36;

/// One parameter set.
struct Set {
    position: usize,
    shifts: (u32, u32),
    table: [u32; 16],
    temper: [u32; 16],
}

/// All XOR sums of four words, indexed by the set of words in the sum.
fn spanned(basis: &[u8]) -> [u32; 16] {
    let (words, _) = basis.as_chunks::<4>();
    let mut all = [0; 16];
    for (i, sum) in all.iter_mut().enumerate() {
        for (bit, word) in words.iter().enumerate() {
            *sum ^= if i >> bit & 1 == 1 { u32::from_le_bytes(*word) } else { 0 };
        }
    }
    all
}

impl Set {
    fn number(index: usize) -> Option<Self> {
        let set = SETS.chunks_exact(SET).nth(index)?;
        let [position, one, two, _] = *set.first_chunk::<4>()?;
        Some(Set {
            position: position.into(),
            shifts: (one.into(), two.into()),
            table: spanned(set.get(4..20)?),
            temper: spanned(set.get(20..36)?),
        })
    }
}

/// One of the generators.
struct Block {
    set: Set,
    /// The last words, the oldest first, and after them the next turn.
    words: Vec<u32>,
}

impl Block {
    fn new(index: usize, seed: u32) -> Option<Self> {
        let set = Set::number(index)?;
        let [_, _, _, _, four, _, _, _, eight, ..] = set.table;
        let hidden = four ^ eight << 16;
        let mut fill = hidden.wrapping_add(hidden >> 16);
        fill = fill.wrapping_add(fill >> 8);
        // Every word starts as one byte, repeated.
        let fill = (fill & 0xff) * 0x0101_0101;
        let mut words = filled(WORDS + TURN, fill).or_unwind();
        let mut before = seed;
        for (i, word) in words.iter_mut().take(WORDS).enumerate() {
            if i == 0 {
                *word = seed;
                continue;
            }
            let start = if i == 1 { hidden } else { fill };
            *word = start ^ 1_812_433_253u32.wrapping_mul(before ^ before >> 30).wrapping_add(i as u32);
            before = *word;
        }
        Some(Block { set, words })
    }

    /// Makes the next turn.
    fn turn(&mut self, out: &mut [u32; TURN]) {
        let Set { position, shifts, table, temper } = &self.set;
        let words = &mut self.words;
        let at = |words: &[u32], i: usize| words.get(i).copied().unwrap_or(0);
        let low = |table: &[u32; 16], x: u32| table.get((x & 15) as usize).copied().unwrap_or(0);
        for (i, out) in out.iter_mut().enumerate() {
            let mut x = (at(words, i) & MASK) ^ at(words, i + 1);
            x ^= x << shifts.0;
            let y = x ^ at(words, i + position) >> shifts.1;
            let new = y ^ low(table, y);
            let mut t = at(words, i + position - 1);
            t ^= t >> 16;
            t ^= t >> 8;
            *out = new ^ low(temper, t);
            words.get_mut(i + WORDS).into_iter().for_each(|to| *to = new);
        }
        words.copy_within(TURN.., 0);
    }
}

/// The stream from some word on.
pub(super) struct Mtgp {
    seed: u32,
    count: usize,
    blocks: Vec<Block>,
    /// The block of the next turn. `turn` holds the current turn, of which `at` outputs were handed out.
    block: usize,
    turn: [u32; TURN],
    at: usize,
}

impl Mtgp {
    /// `count`: blocks that take turns; `first`: the word to begin with. The words before it are made as well.
    pub(super) fn new(seed: u64, count: usize, first: u64) -> Self {
        let seed = seed as u32 ^ (seed >> 32) as u32;
        let mut new = Mtgp { seed, count, blocks: Vec::new(), block: 0, turn: [0; TURN], at: TURN };
        for _ in 0..first / TURN as u64 {
            new.refill();
        }
        new.at = TURN;
        for _ in 0..first % TURN as u64 {
            new.word();
        }
        new
    }

    fn refill(&mut self) {
        let index = if self.block >= self.count { 0 } else { self.block };
        if index == self.blocks.len() {
            let block = Block::new(index, self.seed.wrapping_add(index as u32 + 1));
            block.into_iter().for_each(|block| push(&mut self.blocks, block).or_unwind());
        }
        if let Some(block) = self.blocks.get_mut(index) {
            block.turn(&mut self.turn);
        }
        self.block = index + 1;
        self.at = 0;
    }

    fn word(&mut self) -> u32 {
        if self.at >= TURN {
            self.refill();
        }
        let word = self.turn.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        word
    }
}

impl Cursor for Mtgp {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        for i in 0..visits {
            for words in words.iter_mut() {
                let word = self.word();
                words.get_mut(i).into_iter().for_each(|to| *to = word);
            }
        }
    }
}

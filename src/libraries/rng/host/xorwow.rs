//! XORWOW (Marsaglia 2003): 4096 lanes, 2^67 steps apart, that take turns.

use super::cursor::Cursor;
use super::gf2::Matrix;
use crate::core::room::{OrUnwind, extend, filled, push};
use crate::numerics::isa::{Loop, run};
use std::sync::OnceLock;

/// How many lanes take turns.
const LANES: usize = 4096;
/// What a step adds to the counter.
const WEYL: u32 = 362_437;
/// Lanes are `2^APART` steps apart.
const APART: usize = 67;

/// The part of a state that is linear over bits.
pub(crate) type Linear = [u32; 5];

/// One step of the shift register.
fn step(v: Linear) -> Linear {
    let [a, b, c, d, e] = v;
    let t = a ^ (a >> 2);
    [b, c, d, e, e ^ (e << 4) ^ t ^ (t << 1)]
}

/// The initial state of lane 0 for a seed, and its counter.
fn seeded(seed: u64) -> (Linear, u32) {
    let s0 = seed as u32 ^ 0xaad2_6b49;
    let s1 = (seed >> 32) as u32 ^ 0xf7dc_efdd;
    let t0 = s0.wrapping_mul(1_099_087_573);
    let t1 = s1.wrapping_mul(2_591_861_531);
    let v = [
        t0.wrapping_add(123_456_789),
        t0 ^ 362_436_069,
        t1.wrapping_add(521_288_629),
        t1 ^ 88_675_123,
        t0.wrapping_add(5_783_321),
    ];
    (v, t0.wrapping_add(t1).wrapping_add(6_615_241))
}

/// The matrices of 2^k steps, k below [`APART`] + 13.
fn powers() -> &'static [Matrix] {
    static POWERS: OnceLock<Vec<Matrix>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let mut all = Vec::new();
        push(&mut all, Matrix::from_fn(step)).or_unwind();
        for _ in 1..APART + 13 {
            let next = all.last().map(Matrix::squared);
            extend(&mut all, next).or_unwind();
        }
        all
    })
}

/// The state after `steps` steps.
fn jumped(mut v: Linear, steps: u64) -> Linear {
    for (k, power) in powers().iter().take(64).enumerate() {
        if steps >> k & 1 == 1 {
            v = power.apply(v);
        }
    }
    v
}

/// The state of lane 0 after `steps` steps, and its counter.
pub(crate) fn after(seed: u64, steps: u64) -> (Linear, u32) {
    let (v, counter) = seeded(seed);
    (jumped(v, steps), counter.wrapping_add((steps as u32).wrapping_mul(WEYL)))
}

/// The matrices from a lane to the one 2^k further, k below 12.
fn lanes() -> &'static [Matrix] {
    powers().get(APART..APART + 12).unwrap_or_default()
}

/// The states of the lanes, and the row (one visit of each lane) that is being handed out.
pub(crate) struct Xorwow {
    /// Word `k` of every lane's state is `state[(turn + k) % 5]`.
    state: [Vec<u32>; 5],
    turn: usize,
    counter: u32,
    /// Outputs of the row: a slice for each word of a visit.
    row: Vec<Vec<u32>>,
    /// The index in the row of the next visit.
    at: usize,
}

struct Step<'a> {
    first: &'a mut [u32],
    last: &'a [u32],
    counter: u32,
    out: &'a mut [u32],
}

impl Loop for Step<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Step { first, last, counter, out } = self;
        for ((a, e), out) in first.iter_mut().zip(last).zip(out) {
            let t = *a ^ (*a >> 2);
            *a = e ^ (e << 4) ^ t ^ (t << 1);
            *out = a.wrapping_add(counter);
        }
    }
}

impl Xorwow {
    /// `visits` visits of `words` words each, from `visit` on.
    pub(crate) fn new(seed: u64, words: usize, visit: u64, visits: u64) -> Self {
        let steps = (visit / LANES as u64).wrapping_mul(words as u64);
        let (mut v, counter) = after(seed, steps);
        let lane = visit % LANES as u64;
        // Only the lanes of these visits if they are in one row, else all lanes.
        let (first, count) =
            if lane.saturating_add(visits) <= LANES as u64 { (lane, visits) } else { (0, LANES as u64) };
        for (k, further) in lanes().iter().enumerate() {
            if first >> k & 1 == 1 {
                v = further.apply(v);
            }
        }
        let mut state: [Vec<u32>; 5] = Default::default();
        let next = lanes().first();
        for _ in 0..count {
            state.iter_mut().zip(v).for_each(|(to, word)| push(to, word).or_unwind());
            v = next.map_or(v, |next| next.apply(v));
        }
        let one = |_| filled(count as usize, 0).or_unwind();
        let row = (0..words).map(one).collect();
        let mut new = Xorwow { state, turn: 0, counter, row, at: (lane - first) as usize };
        new.advance();
        new
    }

    fn advance(&mut self) {
        for out in &mut self.row {
            self.counter = self.counter.wrapping_add(WEYL);
            let (first, last) = (self.turn, (self.turn + 4) % 5);
            let mut state: Vec<&mut Vec<u32>> = self.state.iter_mut().collect();
            let (low, high) = state.split_at_mut(first.max(last));
            let pair = if first < last {
                low.get_mut(first).zip(high.first_mut())
            } else {
                high.first_mut().zip(low.get_mut(last))
            };
            if let Some((first, last)) = pair {
                run(Step { first, last, counter: self.counter, out });
            }
            self.turn = (self.turn + 1) % 5;
        }
    }
}

impl Cursor for Xorwow {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        let mut done = 0;
        while done < visits {
            let lanes = self.row.first().map_or(0, Vec::len);
            if self.at == lanes {
                self.advance();
                self.at = 0;
            }
            let count = (lanes - self.at).min(visits - done);
            if count == 0 {
                return;
            }
            for (to, from) in words.iter_mut().zip(&self.row) {
                let to = to.get_mut(done..done + count).unwrap_or_default();
                to.copy_from_slice(from.get(self.at..self.at + count).unwrap_or_default());
            }
            self.at += count;
            done += count;
        }
    }
}

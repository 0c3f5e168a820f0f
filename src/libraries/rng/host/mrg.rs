//! MRG32k3a (L'Ecuyer 1999): lanes 2^76 steps apart that take turns.
//!
//! A word of this generator is the difference of its two recurrences, from 1 to the first modulus.

use super::cursor::Cursor;
use crate::core::room::{OrUnwind, extend, push};
use std::sync::OnceLock;

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
const A12: u64 = 1_403_580;
const A13N: u64 = 810_728;
const A21: u64 = 527_612;
const A23N: u64 = 1_370_589;
/// Lanes are `2^APART` steps apart.
const APART: usize = 76;

pub(crate) type State = ([u64; 3], [u64; 3]);
type Square = [[u64; 3]; 3];

fn product(a: &Square, b: &Square, m: u64) -> Square {
    let mut c = [[0; 3]; 3];
    for (c, a) in c.iter_mut().zip(a) {
        for (a, b) in a.iter().zip(b) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c = (*c + a * b % m) % m);
        }
    }
    c
}

fn applied(a: &Square, x: [u64; 3], m: u64) -> [u64; 3] {
    a.map(|row| row.iter().zip(x).fold(0, |sum, (a, x)| (sum + a * x % m) % m))
}

/// The matrices of both recurrences for 2^k steps, k below [`APART`] + 18.
fn powers() -> &'static [(Square, Square)] {
    static POWERS: OnceLock<Vec<(Square, Square)>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let one = [[0, 1, 0], [0, 0, 1], [M1 - A13N, A12, 0]];
        let two = [[0, 1, 0], [0, 0, 1], [M2 - A23N, 0, A21]];
        let mut all = Vec::new();
        push(&mut all, (one, two)).or_unwind();
        for _ in 1..APART + 18 {
            let next = all.last().map(|(a, b)| (product(a, a, M1), product(b, b, M2)));
            extend(&mut all, next).or_unwind();
        }
        all
    })
}

/// The initial state of lane 0 for a seed.
fn seeded(seed: u64) -> State {
    if seed == 0 {
        return ([12345; 3], [12345; 3]);
    }
    let x = u64::from(seed as u32 ^ 0x5555_5555);
    let y = u64::from((seed >> 32) as u32 ^ 0xAAAA_AAAA);
    let (x1, y1) = (x * 12345 % M1, y * 12345 % M1);
    let (x2, y2) = (x * 12345 % M2, y * 12345 % M2);
    ([x1, y1, x1], [y2, x2, y2])
}

/// The state after `count` times 2^`unit` steps.
fn jumped((mut a, mut b): State, count: u64, unit: usize) -> State {
    for (k, (one, two)) in powers().iter().skip(unit).take(64).enumerate() {
        if count >> k & 1 == 1 {
            (a, b) = (applied(one, a, M1), applied(two, b, M2));
        }
    }
    (a, b)
}

/// The state of lane 0 after `steps` steps.
pub(crate) fn after(seed: u64, steps: u64) -> State {
    jumped(seeded(seed), steps, 0)
}

/// Makes a step, and returns its word.
fn step(state: &mut State) -> u32 {
    let ([a, b, c], [d, e, f]) = *state;
    let p = (A12 * b + A13N * (M1 - a)) % M1;
    let q = (A21 * f + A23N * (M2 - d)) % M2;
    *state = ([b, c, p], [e, f, q]);
    (if p <= q { p + M1 - q } else { p - q }) as u32
}

/// A walk over the lanes from some visit on.
pub(crate) struct Mrg {
    seed: u64,
    words: usize,
    lanes: u64,
    /// The first visit.
    first: u64,
    /// The states of the lanes visited so far, in the order of their first visits.
    states: Vec<State>,
    /// The initial state of the lane that was added last.
    before: State,
    /// The index into `states` of the next visit.
    at: usize,
}

impl Mrg {
    /// Visits of `words` words each, from `first` on.
    pub(crate) fn new(seed: u64, words: usize, lanes: u64, first: u64) -> Self {
        Mrg { seed, words, lanes, first, states: Vec::new(), before: seeded(seed), at: 0 }
    }

    /// The initial state of the next lane, which has not been visited yet.
    fn fresh(&self) -> State {
        let visit = self.first.wrapping_add(self.states.len() as u64);
        let (row, lane) = (visit / self.lanes, visit % self.lanes);
        match powers().get(APART) {
            Some((one, two)) if lane > 0 && !self.states.is_empty() => {
                let (a, b) = self.before;
                (applied(one, a, M1), applied(two, b, M2))
            }
            _ => jumped(after(self.seed, row.wrapping_mul(self.words as u64)), lane, APART),
        }
    }
}

impl Cursor for Mrg {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        for i in 0..visits {
            if self.at as u64 == self.lanes {
                self.at = 0;
            }
            if self.at == self.states.len() {
                let state = self.fresh();
                self.before = state;
                push(&mut self.states, state).or_unwind();
            }
            let Some(state) = self.states.get_mut(self.at) else { return };
            for word in words.iter_mut() {
                let value = step(state);
                word.get_mut(i).into_iter().for_each(|to| *to = value);
            }
            self.at += 1;
        }
    }
}

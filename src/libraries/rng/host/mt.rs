//! MT19937 (Matsumoto and Nishimura 1998): 8192 lanes, 2^2048 steps apart, that take turns with eight outputs each.
//!
//! The jump from one lane to the next is a polynomial in the transition (Haramoto, Matsumoto, Nishimura, Panneton,
//! L'Ecuyer 2008): `x^(2^2048)` modulo the characteristic polynomial, which the first paper gives in closed form. Both
//! are computed when first needed.

use super::cursor::Cursor;
use super::poly::{LIMBS, Modulus, Poly};
use crate::core::room::{OrUnwind, array, collected, extend, filled, push};
use crate::numerics::isa::{Loop, run};
use crate::numerics::parallel::{self, Parts};
use std::sync::OnceLock;

/// Words of a state; `M`: the distance of the middle word in the recurrence.
const N: usize = 624;
const M: usize = 397;
const MATRIX: u32 = 0x9908_b0df;
/// How many lanes take turns.
const LANES: usize = 8192;
/// Outputs of a turn.
const TURN: usize = 8;
/// How many turns a lane's block of words lasts.
const TURNS: usize = N / TURN;
/// Lanes are `2^APART` steps apart.
const APART: usize = 2048;

type Words = Box<[u32; N]>;

/// The initial state for a seed (its low 32 bits).
fn seeded(seed: u64) -> Words {
    let mut state = array::<u32, N>(0).or_unwind();
    let mut last = seed as u32;
    for (i, word) in state.iter_mut().enumerate() {
        if i > 0 {
            last = 1_812_433_253u32.wrapping_mul(last ^ last >> 30).wrapping_add(i as u32);
        }
        *word = last;
    }
    state
}

/// The word that follows `N` others.
#[inline(always)]
fn next_word(first: u32, second: u32, middle: u32) -> u32 {
    let y = first & 0x8000_0000 | second & 0x7fff_ffff;
    middle ^ y >> 1 ^ if y & 1 == 1 { MATRIX } else { 0 }
}

/// Replaces the words by the next `N`.
fn twist(state: &mut [u32; N]) {
    for i in 0..N {
        let at = |i: usize| state.get(i % N).copied().unwrap_or(0);
        let word = next_word(at(i), at(i + 1), at(i + M));
        state.get_mut(i).into_iter().for_each(|to| *to = word);
    }
}

fn tempered(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c_5680;
    y ^= y << 15 & 0xefc6_0000;
    y ^ y >> 18
}

/// `x^(2^(APART + k))` modulo the characteristic polynomial, k below 13.
fn jumps() -> &'static [Poly] {
    static JUMPS: OnceLock<Vec<Poly>> = OnceLock::new();
    JUMPS.get_or_init(|| {
        let modulus = Modulus::new();
        let mut x = Poly::x();
        for _ in 0..APART {
            x = modulus.square(&x);
        }
        let mut all = Vec::new();
        push(&mut all, x).or_unwind();
        for _ in 1..13 {
            let next = all.last().map(|x| modulus.square(x));
            extend(&mut all, next).or_unwind();
        }
        all
    })
}

/// How many coefficients are processed at once.
const AT_ONCE: usize = 8;

/// Jumps a state ahead, by Horner's rule with eight coefficients at a time: the sum so far advances by eight steps, and
/// the sum of the states that the eight coefficients select is added, from a table.
struct Jump<'a> {
    state: &'a [u32; N],
    poly: &'a Poly,
    room: &'a mut Room,
}

/// Working memory of jumps, reused by all jumps of a task.
struct Room {
    /// Sums of the states 0 to 7 steps ahead, indexed by the bits that select them.
    sums: Vec<[u32; N]>,
    /// The words of the sum, which advances along them.
    words: Vec<u32>,
}

impl Room {
    fn new() -> Self {
        Room { sums: filled(1 << AT_ONCE, [0; N]).or_unwind(), words: filled(N + 64 * LIMBS, 0).or_unwind() }
    }
}

/// Computes the words that follow the first `N` of a window of `N + AT_ONCE`.
#[inline(always)]
fn go_on(window: &mut [u32]) {
    if let Some((known, new)) = window.split_at_mut_checked(N) {
        let firsts = known.iter().zip(known.iter().skip(1)).zip(known.iter().skip(M));
        new.iter_mut()
            .zip(firsts)
            .for_each(|(to, ((first, second), middle))| *to = next_word(*first, *second, *middle));
    }
}

impl Loop for Jump<'_> {
    type Output = Words;
    #[inline(always)]
    fn body(self) -> Words {
        let Jump { state, poly, room: Room { sums, words } } = self;
        let mut begin = [0; N + AT_ONCE];
        begin.iter_mut().zip(state).for_each(|(to, from)| *to = *from);
        go_on(&mut begin);
        for bits in 1..1usize << AT_ONCE {
            // The sum without its lowest bit is known already.
            if let Some((known, [sum, ..])) = sums.split_at_mut_checked(bits)
                && let Some(rest) = known.get(bits & (bits - 1))
            {
                let steps = begin.iter().skip(bits.trailing_zeros() as usize);
                sum.iter_mut().zip(rest).zip(steps).for_each(|((to, rest), word)| *to = rest ^ word);
            }
        }
        words.fill(0);
        let mut at = 0;
        for limb in poly.0.iter().rev() {
            for byte in limb.to_be_bytes() {
                let Some(window) = words.get_mut(at..at + N + AT_ONCE) else { break };
                go_on(window);
                at += AT_ONCE;
                if let (Some(window), Some(sum)) = (words.get_mut(at..at + N), sums.get(usize::from(byte))) {
                    window.iter_mut().zip(sum).for_each(|(to, word)| *to ^= word);
                }
            }
        }
        let mut sum = array::<u32, N>(0).or_unwind();
        sum.iter_mut().zip(words.iter().skip(at)).for_each(|(to, from)| *to = *from);
        sum
    }
}

/// Jumps a state ahead, by the polynomial of the jump.
fn jumped(state: &[u32; N], poly: &Poly, room: &mut Room) -> Words {
    run(Jump { state, poly, room })
}

/// The states of `count` lanes from `first` on.
fn lanes(seed: u64, first: usize, count: usize) -> Vec<Words> {
    /// Lanes that one task computes, each from the one before.
    const CHAIN: usize = 64;
    let start = |lane: usize, room: &mut Room| {
        let far = jumps().iter().enumerate().filter(|(k, _)| lane >> k & 1 == 1);
        far.fold(seeded(seed), |state, (_, jump)| jumped(&state, jump, room))
    };
    let chain = |task: usize| {
        let begin = first + task * CHAIN;
        let mut room = Room::new();
        let mut all = Vec::new();
        push(&mut all, start(begin, &mut room)).or_unwind();
        while all.len() < CHAIN.min(first + count - begin) {
            let next = all.last().zip(jumps().first()).map(|(state, jump)| jumped(state, jump, &mut room));
            extend(&mut all, next).or_unwind();
        }
        all
    };
    collected(parallel::map(count.div_ceil(CHAIN), &chain).into_iter().flatten()).or_unwind()
}

/// Applies `f` to each lane, in parallel.
fn each(lanes: &mut [Words], f: &(dyn Fn(&mut [u32; N]) + Sync)) {
    parallel::each_part(lanes, Parts::with_size(64), &|_, lanes| lanes.iter_mut().for_each(|lane| f(lane)));
}

/// Which words of a block each turn takes.
fn order() -> &'static [[u16; TURN]] {
    static ORDER: OnceLock<Vec<[u16; TURN]>> = OnceLock::new();
    ORDER.get_or_init(|| {
        let first: [u16; TURN] = [0, 113, 170, 283, 340, 397, 510, 567];
        let others: Vec<u16> = collected((0..N as u16).filter(|i| !first.contains(i))).or_unwind();
        let mut all = Vec::new();
        push(&mut all, first).or_unwind();
        for run in others.chunks(7 * TURN) {
            for j in 0..7 {
                let mut turn = [0; TURN];
                turn.iter_mut().zip(run.iter().skip(j).step_by(7)).for_each(|(to, from)| *to = *from);
                push(&mut all, turn).or_unwind();
            }
        }
        all
    })
}

/// The stream from some word on.
pub(super) struct Mt {
    lanes: Vec<Words>,
    /// The number of the first lane in `lanes`.
    first: usize,
    /// The next word.
    word: u64,
    /// How often each lane was twisted.
    twists: u64,
}

impl Mt {
    /// `count` words from `word` on.
    pub(super) fn new(seed: u64, word: u64, count: u64) -> Self {
        let turn = word / TURN as u64;
        let (row, lane) = (turn / LANES as u64, turn % LANES as u64);
        let turns = (word % TURN as u64).saturating_add(count).div_ceil(TURN as u64);
        let (first, many) = if lane.saturating_add(turns) <= LANES as u64 { (lane, turns) } else { (0, LANES as u64) };
        let mut lanes = lanes(seed, first as usize, many as usize);
        let twists = row / TURNS as u64 + 1;
        each(&mut lanes, &|lane| (0..twists).for_each(|_| twist(lane)));
        Mt { lanes, first: first as usize, word, twists }
    }

    fn next_output(&mut self) -> u32 {
        let (turn, inside) = (self.word / TURN as u64, (self.word % TURN as u64) as usize);
        let (row, lane) = (turn / LANES as u64, (turn % LANES as u64) as usize);
        if row / TURNS as u64 >= self.twists {
            each(&mut self.lanes, &|lane| twist(lane));
            self.twists += 1;
        }
        let place = order().get((row % TURNS as u64) as usize).and_then(|turn| turn.get(inside));
        let lane = lane.checked_sub(self.first).and_then(|lane| self.lanes.get(lane));
        self.word = self.word.wrapping_add(1);
        let word = lane.zip(place).and_then(|(lane, place)| lane.get(usize::from(*place)));
        tempered(word.copied().unwrap_or(0))
    }
}

impl Cursor for Mt {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        for i in 0..visits {
            for words in words.iter_mut() {
                let word = self.next_output();
                words.get_mut(i).into_iter().for_each(|to| *to = word);
            }
        }
    }
    fn goes_on(&self) -> bool {
        self.lanes.len() == LANES
    }
}

//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): block `b` of four words is a function of the key and of `b` alone.

use super::super::layout::Layout;
use super::cursor::Cursor;
use crate::numerics::isa::{Loop, run};

const MULTIPLIERS: (u32, u32) = (0xD251_1F53, 0xCD9E_8D57);
const WEYL: (u32, u32) = (0x9E37_79B9, 0xBB67_AE85);
/// Sub-sequences that take turns, as cuRAND lays the stream out.
pub(crate) const LANES: u64 = 1 << 16;

/// The two words of a seed.
pub(crate) fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}

/// Ten rounds.
#[inline(always)]
pub(crate) fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let x = u64::from(MULTIPLIERS.0) * u64::from(a);
        let y = u64::from(MULTIPLIERS.1) * u64::from(c);
        (a, b, c, d) = ((y >> 32) as u32 ^ b ^ k, y as u32, (x >> 32) as u32 ^ d ^ l, x as u32);
        k = k.wrapping_add(WEYL.0);
        l = l.wrapping_add(WEYL.1);
    }
    [a, b, c, d]
}

/// The two words of a row's number: the first two of the counter.
#[inline(always)]
const fn halves(row: u64) -> [u32; 2] {
    [row as u32, (row >> 32) as u32]
}

/// The blocks of row `row` from lane `lane` on; word `j` of each goes to `out[j]`.
struct Row<'a> {
    row: u64,
    lane: u32,
    key: [u32; 2],
    out: [&'a mut [u32]; 4],
}

impl Loop for Row<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Row { row, lane, key, out: [a, b, c, d] } = self;
        let (lanes, [row, high]) = (lane.., halves(row));
        for ((((a, b), c), d), lane) in a.iter_mut().zip(b).zip(c).zip(d).zip(lanes) {
            [*a, *b, *c, *d] = block([row, high, lane, 0], key);
        }
    }
}

/// The words of the same blocks, block by block.
struct Plain<'a> {
    row: u64,
    lane: u32,
    key: [u32; 2],
    out: &'a mut [u32],
}

const STEP: usize = 64;

impl Loop for Plain<'_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Plain { row, mut lane, key, out } = self;
        let (blocks, _) = out.as_chunks_mut::<4>();
        let [row, high] = halves(row);
        for blocks in blocks.chunks_mut(STEP) {
            let mut w = [[0u32; STEP]; 4];
            let [a, b, c, d] = &mut w;
            for ((((a, b), c), d), lane) in a.iter_mut().zip(&mut *b).zip(&mut *c).zip(&mut *d).zip(lane..) {
                [*a, *b, *c, *d] = block([row, high, lane, 0], key);
            }
            for ((((out, a), b), c), d) in blocks.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *out = [*a, *b, *c, *d];
            }
            lane = lane.wrapping_add(STEP as u32);
        }
    }
}

/// How many groups of two blocks are made at once.
const AT: usize = 128;

/// Puts the words of whole groups in the order of visits.
struct Interleave<'a, 'w> {
    first: &'a [[u32; AT]; 4],
    second: &'a [[u32; AT]; 4],
    groups: usize,
    to: &'a mut [&'w mut [u32]],
}

impl Loop for Interleave<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn body(self) {
        let Interleave { first, second, groups, to } = self;
        match to {
            // A visit is half a block.
            [x, y] => {
                let ([a, b, c, d], [e, f, g, h]) = (first, second);
                for (to, [p, q, r, s]) in [(x, [a, c, e, g]), (y, [b, d, f, h])] {
                    let (to, _) = to.as_chunks_mut::<4>();
                    for ((((to, p), q), r), s) in to.iter_mut().take(groups).zip(p).zip(q).zip(r).zip(s) {
                        *to = [*p, *q, *r, *s];
                    }
                }
            }
            // A visit is a whole block.
            to => {
                for ((to, p), q) in to.iter_mut().zip(first).zip(second) {
                    let (to, _) = to.as_chunks_mut::<2>();
                    for ((to, p), q) in to.iter_mut().take(groups).zip(p).zip(q) {
                        *to = [*p, *q];
                    }
                }
            }
        }
    }
}

/// The stream of one seed, from some place on.
pub(crate) struct Philox {
    key: [u32; 2],
    layout: Layout,
    /// The next visit.
    visit: u64,
}

impl Philox {
    pub(crate) fn new(seed: u64, layout: Layout, visit: u64) -> Self {
        Philox { key: key(seed), layout, visit }
    }

    /// Row and lane of block `b`.
    fn place(b: u64) -> (u64, u32) {
        (b / LANES, (b % LANES) as u32)
    }

    /// Block `b`.
    fn block(&self, b: u64) -> [u32; 4] {
        let (row, lane) = Self::place(b);
        let [row, high] = halves(row);
        block([row, high, lane, 0], self.key)
    }

    /// Writes the words of the stream from `first` on.
    fn plain(&self, first: u64, out: &mut [u32]) {
        let (mut b, mut out, skip) = (first / 4, out, (first % 4) as usize);
        if skip > 0 {
            let (head, rest) = out.split_at_mut(out.len().min(4 - skip));
            head.iter_mut().zip(self.block(b).iter().skip(skip)).for_each(|(out, word)| *out = *word);
            (out, b) = (rest, b.wrapping_add(1));
        }
        while out.len() >= 4 {
            let (row, lane) = Self::place(b);
            let blocks = ((LANES - u64::from(lane)) as usize).min(out.len() / 4);
            let (part, rest) = out.split_at_mut(4 * blocks);
            run(Plain { row, lane, key: self.key, out: part });
            (out, b) = (rest, b.wrapping_add(blocks as u64));
        }
        out.iter_mut().zip(self.block(b)).for_each(|(out, word)| *out = word);
    }

    /// Writes consecutive visits of half a block, or of a whole one. Each group of visits takes two blocks of a lane.
    fn grouped(&self, words: &mut [&mut [u32]]) {
        let wide = words.len() == 4;
        let visits = words.first().map_or(0, |w| w.len());
        // Visits of a group, and of a block.
        let (group, each) = if wide { (2, 1) } else { (4, 2) };
        let mut done = 0;
        while done < visits {
            let visit = self.visit.wrapping_add(done as u64);
            let (index, inside) = (visit / group, visit % group);
            let (pair, lane) = (index / LANES, (index % LANES) as u32);
            let groups = ((LANES - u64::from(lane)) as usize).min(AT);
            let mut first = [[0u32; AT]; 4];
            let mut second = [[0u32; AT]; 4];
            for (row, to) in [(2 * pair, &mut first), (2 * pair + 1, &mut second)] {
                let [a, b, c, d] = to;
                let out = [a, b, c, d].map(|w| w.get_mut(..groups).unwrap_or_default());
                run(Row { row, lane, key: self.key, out });
            }
            let count = (groups * group as usize - inside as usize).min(visits - done);
            let whole = if inside == 0 { count / group as usize } else { 0 };
            let mut to: Vec<&mut [u32]> = Vec::with_capacity(4);
            to.extend(words.iter_mut().map(|w| w.get_mut(done..done + count).unwrap_or_default()));
            run(Interleave { first: &first, second: &second, groups: whole, to: &mut to });
            // The rest, at groups that are not whole: word `j` of visit `v`.
            let from = |v: usize, j: usize| {
                let (g, v) = (v / group as usize, v % group as usize);
                let block = if v / each == 1 { &second } else { &first };
                block.get(2 * (v % each) + j).and_then(|w| w.get(g)).copied().unwrap_or(0)
            };
            for (j, to) in to.iter_mut().enumerate() {
                let rest = to.iter_mut().enumerate().skip(whole * group as usize);
                rest.for_each(|(i, to)| *to = from(inside as usize + i, j));
            }
            done += count;
        }
    }
}

impl Cursor for Philox {
    fn next(&mut self, words: &mut [&mut [u32]]) {
        let visits = words.first().map_or(0, |w| w.len());
        match (self.layout, words) {
            (Layout::Word, [out]) => self.plain(self.visit, out),
            (Layout::Pair, [x, y]) => {
                // A visit is two words of a block.
                let mut buffer = [0u32; 512];
                let mut at = self.visit.wrapping_mul(2);
                for (x, y) in x.chunks_mut(256).zip(y.chunks_mut(256)) {
                    let part = buffer.get_mut(..2 * x.len()).unwrap_or_default();
                    self.plain(at, part);
                    at = at.wrapping_add(part.len() as u64);
                    let (pairs, _) = part.as_chunks::<2>();
                    for ((x, y), pair) in x.iter_mut().zip(y).zip(pairs) {
                        [*x, *y] = *pair;
                    }
                }
            }
            (Layout::Wide | Layout::WidePair, words) => self.grouped(words),
            _ => {}
        }
        self.visit = self.visit.wrapping_add(visits as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn blocks_are_the_known_answers_of_random123() {
        let all = u32::MAX;
        assert_eq!(block([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block([all; 4], [all; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let digits = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(block(digits, [0xa409_3822, 0x299f_31d0]), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }
}

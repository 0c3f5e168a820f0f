//! The seeds of the streams that are split off from a stream.
//!
//! A child's seed is the image of its number under a bijection of all seeds that the generator distinguishes, chosen by
//! the seed of the stream: a Feistel network whose rounds are blocks of Philox. So children differ for certain.

use super::host::philox;
use super::stream::{Generator, Stream};

/// Four are enough for a random permutation (Luby and Rackoff 1988).
const ROUNDS: u32 = 6;
/// The last word of the counter. It is 0 in the numbers of every stream, so these blocks are different ones.
const SPLIT: u32 = 0x7370_6c74;

/// The seeds of a stream's children.
pub(super) struct Seeds {
    generator: Generator,
    key: [u32; 2],
    /// The bits of half a seed.
    half: u32,
    /// The seed of the stream, as far as it counts.
    own: u64,
}

impl Seeds {
    pub(super) fn from_stream(stream: &Stream) -> Self {
        let [low, high] = philox::key(stream.seed);
        let (half, own) = match stream.generator {
            Generator::Mt19937 => (16, low.into()),
            Generator::Mtgp32 => (16, (low ^ high).into()),
            _ => (32, stream.seed),
        };
        Seeds { generator: stream.generator, key: [low, high], half, own }
    }

    /// How many children a stream may have: one for each seed but its own.
    pub(super) const fn most(&self) -> u64 {
        u64::MAX >> (64 - 2 * self.half)
    }

    /// The seed of a child by its number, below [`most`](Self::most).
    pub(super) fn child(&self, number: u64) -> u64 {
        // The number `most` is no child's.
        Some(self.image(number)).filter(|seed| *seed != self.own).unwrap_or_else(|| self.image(self.most()))
    }

    fn image(&self, x: u64) -> u64 {
        let mask = u32::MAX >> (32 - self.half);
        let (mut low, mut high) = (x as u32 & mask, (x >> self.half) as u32 & mask);
        for round in 0..ROUNDS {
            let [word, ..] = philox::block([low, round, self.generator as u32, SPLIT], self.key);
            (low, high) = (high ^ word & mask, low);
        }
        u64::from(high) << self.half | u64::from(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_32_bits_is_one_child_s_but_the_stream_s_own() {
        // With halves of 8 bits all can be counted.
        for own in [0, 1, 0xffff, 0x1234] {
            let seeds = Seeds { generator: Generator::Mtgp32, key: [7, 9], half: 8, own };
            assert_eq!(seeds.most(), 0xffff);
            let mut all: Vec<u64> = (0..seeds.most()).map(|i| seeds.child(i)).collect();
            all.sort_unstable();
            let want: Vec<u64> = (0..=0xffff).filter(|seed| *seed != own).collect();
            assert_eq!(all, want);
        }
    }
}

//! Permutations, each number computed independently from a key.
//!
//! Up to `ranked` numbers are sorted by a hash of 64 bits each. The key has 64 bits as well, so from 21 numbers on most
//! orders never occur. More numbers are mapped by a Feistel network of 16 rounds over as many bits as they need, repeated
//! until the image is below `n`.

use super::math::further;
use crate::core::room::{OrUnwind, collected};
use crate::numerics::parallel::{Parts, each_part};

const ROUNDS: usize = 16;
const MIX: (u64, u64) = (0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);

/// A bijection of the numbers below `n`.
struct Network {
    n: u64,
    /// Bits of the two halves.
    low: u32,
    high: u32,
    keys: [u64; ROUNDS],
}

impl Network {
    fn new(key: [u32; 2], n: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mut keys = [0; ROUNDS];
        let (pairs, _) = keys.as_chunks_mut::<2>();
        pairs.iter_mut().zip(0..).for_each(|(pair, i)| *pair = further(key, i));
        Network { n, low: bits / 2, high: bits - bits / 2, keys }
    }

    /// `bits` bits of a hash.
    fn hash(x: u64, key: u64, bits: u32) -> u64 {
        let x = x.wrapping_add(key).wrapping_mul(MIX.0);
        let x = (x ^ x >> 32).wrapping_mul(MIX.1);
        (x ^ x >> 32) >> (64 - bits)
    }

    fn image(&self, mut x: u64) -> u64 {
        loop {
            let (mut low, mut high) = (x & ((1 << self.low) - 1), x >> self.low);
            let (pairs, _) = self.keys.as_chunks::<2>();
            for [one, two] in pairs {
                low ^= Self::hash(high, *one, self.low);
                high ^= Self::hash(low, *two, self.high);
            }
            x = high << self.low | low;
            if x < self.n {
                return x;
            }
        }
    }
}

/// The first `out.len()` numbers of a permutation of those below `n`.
pub(in super::super) fn permute(key: [u32; 2], n: u64, ranked: u64, out: &mut [u32]) {
    if n <= ranked {
        let mut order: Vec<(u64, u32)> = collected((0..n as u32).map(|i| (further(key, i)[0], i))).or_unwind();
        order.sort_unstable();
        return out.iter_mut().zip(order).for_each(|(out, (_, i))| *out = i);
    }
    let network = Network::new(key, n);
    each_part(out, Parts::with_size(4096), &|part, out| {
        let first = part as u64 * 4096;
        out.iter_mut().zip(first..).for_each(|(out, i)| *out = network.image(i) as u32);
    });
}

#[cfg(test)]
mod tests {
    use super::permute;

    /// The hashes of the orders that the kernels' source gives (`tests/host/rng/kernels.txt`).
    #[test]
    fn orders_are_those_of_the_kernels() {
        let known = [
            (10, 10, 0x7e42_389d_7d24_da75_u64),
            (4096, 4096, 0x8698_6130_19bf_3460),
            (100_003, 5000, 0x29c7_46b5_1182_2425),
        ];
        for (n, len, want) in known {
            let mut out = vec![0u32; len];
            permute([1, 2], n, 4096, &mut out);
            let bytes = out.iter().flat_map(|x| x.to_le_bytes());
            let add = |sum: u64, byte| sum.wrapping_add(u64::from(byte) + 1_u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert_eq!(bytes.fold(0u64, add), want, "{n}");
        }
    }
}

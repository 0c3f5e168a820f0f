//! A product in the library's own numbers.

use std::hash::{Hash, Hasher};

/// One matrix of a problem: rows and columns as stored, `cublasLtOrder_t`, leading dimension, distance in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixOf {
    pub(crate) data_type: u32,
    pub(crate) order: u32,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) ld: i64,
    pub(crate) stride: i64,
}

/// Everything on which the library's answer depends, except the GPU, which is the epoch's. This is the key of both
/// caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A, B, C, D.
    pub(crate) matrices: [MatrixOf; 4],
    /// `cublasOperation_t` of A and B.
    pub(crate) trans: [u32; 2],
    pub(crate) batch: u32,
    pub(crate) compute: u32,
    pub(crate) scale: u32,
    pub(crate) epilogue: u32,
    /// `cudaDataType` of the bias and of the pre-activation, if it is not that of D.
    pub(crate) bias_type: Option<u32>,
    pub(crate) aux_type: Option<u32>,
    pub(crate) bias_stride: i64,
    pub(crate) aux_ld: i64,
    pub(crate) aux_stride: i64,
    /// Whether there are scales of A, B and D, and whether the largest magnitude is requested.
    pub(crate) scaled: [bool; 4],
    /// Whether the scales of A and of B are vectors.
    pub(crate) outer: [bool; 2],
    /// Whether alpha and beta are on the device.
    pub(crate) factors_on_device: bool,
    pub(crate) fast_accumulation: bool,
    /// Whether C is D.
    pub(crate) in_place: bool,
    /// The alignments of the addresses of A, B, C, D, the bias and the auxiliary matrix, up to 256; 0 for none.
    pub(crate) alignment: [u16; 6],
    pub(crate) workspace: usize,
}

/// Hashes only the fields in which the problems of one program differ, in few words: every call hashes its problem, and
/// the comparison does the rest.
impl Hash for Problem {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d] = &self.matrices;
        for matrix in [a, b, d] {
            let MatrixOf { data_type, order, rows, columns, ld, .. } = *matrix;
            state.write_u64(rows ^ columns.rotate_left(32));
            state.write_u64(ld.cast_unsigned() ^ u64::from(data_type << 1 | order).rotate_left(48));
        }
        let [trans_a, trans_b] = self.trans;
        state.write_u64(u64::from(trans_a << 2 | trans_b) << 32 | u64::from(self.epilogue));
        state.write_u64(c.ld.cast_unsigned() ^ u64::from(self.batch).rotate_left(32) ^ u64::from(self.in_place) << 63);
        let aligned = self.alignment.iter().fold(0u64, |all, at| all << 9 ^ u64::from(*at));
        state.write_u64(aligned);
    }
}

impl Problem {
    /// The same problem with the alignments of `addresses`. Takes the sizes of the elements of C and D.
    ///
    /// If C is separate from D, both get the smaller of their alignments, which includes that of their columns. The
    /// library (13.1) considers only the columns of C when it chooses the width of its stores to D: halves in a D with
    /// an odd leading dimension, with a C with an even one, ended in a device fault.
    pub(crate) fn aligned(mut self, addresses: &Addresses, [size_c, size_d]: [usize; 2]) -> Self {
        self.alignment = addresses.alignment();
        if !self.in_place && self.alignment[2] != 0 {
            let [_, _, c, d] = &self.matrices;
            let both = [(c, size_c), (d, size_d)].into_iter().flat_map(|(m, size)| {
                let stride = if self.batch > 1 { m.stride } else { 0 };
                // A distance of 0 is a multiple of everything, and one that overflows keeps its lowest bits.
                let lowest = |distance: i64| (distance as u64).wrapping_mul(size as u64).trailing_zeros().min(8);
                [m.ld, stride].map(|distance| 1u16 << lowest(distance))
            });
            let least = both.chain([self.alignment[2], self.alignment[3]]).min().unwrap_or(1);
            (self.alignment[2], self.alignment[3]) = (least, least);
        }
        self
    }
}

/// The problem in the library's own numbers, for the error of a refusal.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = ["A", "B", "C", "D"];
        for (name, m) in names.into_iter().zip(&self.matrices) {
            let order = if m.order == 1 { " row-major" } else { "" };
            write!(f, "{name} {} x {} of type {}, ld {}{order}; ", m.rows, m.columns, m.data_type, m.ld)?;
        }
        let [a, b] = self.trans;
        write!(f, "operations {a} and {b}, compute type {}, epilogue {}", self.compute, self.epilogue)?;
        write!(f, ", batch {}, alignments {:?}", self.batch, self.alignment)
    }
}

/// The addresses of the operands of a call; 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) d: u64,
    pub(crate) bias: u64,
    pub(crate) aux: u64,
    /// The scales of A, B and D, and the destination of the largest magnitude.
    pub(crate) scales: [u64; 4],
    /// Alpha and beta on the device.
    pub(crate) factors: Option<[u64; 2]>,
}

impl Addresses {
    /// The alignments of the addresses.
    pub(crate) fn alignment(&self) -> [u16; 6] {
        let of = |address: u64| if address == 0 { 0 } else { 1u16 << address.trailing_zeros().min(8) };
        [self.a, self.b, self.c, self.d, self.bias, self.aux].map(of)
    }
}

/// A scalar on the host, aligned as the library's vector instructions require.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Factor(pub(crate) [u8; 16]);

impl Factor {
    pub(crate) fn from_scalar<S: crate::core::element::Element>(scalar: &S) -> Self {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(bytemuck::bytes_of(scalar)).for_each(|(to, from)| *to = *from);
        Factor(bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn problem() -> Problem {
        let matrix = |rows, columns| MatrixOf { data_type: 28, order: 0, rows, columns, ld: rows as i64, stride: 4096 };
        let matrices = [matrix(64, 32), matrix(64, 16), matrix(32, 16), matrix(32, 16)];
        Problem {
            matrices,
            trans: [1, 0],
            batch: 3,
            compute: 68,
            scale: 0,
            epilogue: 164,
            bias_type: Some(14),
            aux_type: Some(2),
            bias_stride: 32,
            aux_ld: 32,
            aux_stride: 512,
            scaled: [true; 4],
            outer: [true; 2],
            factors_on_device: true,
            fast_accumulation: true,
            in_place: false,
            alignment: [256, 16, 32, 64, 4, 8],
            workspace: 1 << 20,
        }
    }

    #[test]
    fn problems_of_other_sizes_places_and_kinds_hash_apart() {
        let hasher = std::hash::RandomState::new();
        let hash = |change: &dyn Fn(&mut Problem)| {
            let mut problem = problem();
            change(&mut problem);
            std::hash::BuildHasher::hash_one(&hasher, problem)
        };
        let changes: [&dyn Fn(&mut Problem); 12] = [
            &|_| {},
            &|p| p.matrices[0].rows = 65,
            &|p| p.matrices[1].columns = 17,
            &|p| p.matrices[3].ld = 33,
            &|p| p.matrices[2].ld = 33,
            &|p| p.matrices[1].order = 1,
            &|p| p.matrices[3].data_type = 14,
            &|p| p.trans = [0, 1],
            &|p| p.epilogue = 1,
            &|p| p.batch = 4,
            &|p| p.in_place = true,
            &|p| p.alignment[5] = 16,
        ];
        let hashes: std::collections::HashSet<u64> = changes.iter().map(|change| hash(change)).collect();
        assert_eq!(hashes.len(), changes.len());
        assert_eq!(hash(&|_| {}), hash(&|p| *p = problem()));
    }

    #[test]
    fn a_distance_past_the_address_space_is_as_aligned_as_its_lowest_bit() {
        let addresses = Addresses { c: 0x1000, d: 0x1000, ..Addresses::default() };
        for (ld, expected) in [(1 << 61, 256), ((1 << 61) + 1, 8), (i64::MAX, 8), (4, 32)] {
            let mut problem = problem();
            problem.matrices[3].ld = ld;
            assert_eq!(problem.aligned(&addresses, [8, 8]).alignment[2..4], [expected; 2], "{ld}");
        }
    }

    #[test]
    fn an_address_is_as_aligned_as_its_lowest_bit() {
        let addresses = Addresses { a: 0x1000, b: 0x1010, c: 0x1002, d: 0x10c0, aux: 0x1001, ..Addresses::default() };
        assert_eq!(addresses.alignment(), [256, 16, 2, 64, 0, 1]);
    }
}

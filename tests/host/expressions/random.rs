//! Random expressions and values, from a seed.

use super::oracle::Bits;
use windlass::expressions::{Binary, Compare, Expr, Function, Id, Node, Op, Overflow, Scalar, Unary};
use windlass::tensor::Layout;
use windlass::{DType, bf16, f16};

/// The element types.
pub(super) const TYPES: [DType; 17] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::F16,
    DType::Bf16,
    DType::F32,
    DType::F64,
    DType::C32,
    DType::C64,
];

/// The type of the parts of a complex number; of others the type itself.
pub(super) fn part_of(dtype: DType) -> DType {
    match dtype {
        DType::C32 => DType::F32,
        DType::C64 => DType::F64,
        other => other,
    }
}

/// A small generator (splitmix64).
pub(super) struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `n`; 0 if there is none.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() % (n.max(1) as u64)) as usize
    }

    /// One of a list, which is not empty.
    pub(super) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        let at = self.below(list.len());
        list.get(at).copied().unwrap()
    }

    /// A part of an element: special values half of the time.
    fn part(&mut self, dtype: DType) -> u64 {
        let width = 8 * dtype.size() as u32;
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let integers =
            [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2];
        let floats: [f64; 24] = [
            0.0,
            1.0,
            2.0,
            0.5,
            1.5,
            2.5,
            3.0,
            0.1,
            127.5,
            128.0,
            255.0,
            256.5,
            32767.9,
            65519.0,
            65520.0,
            2147483647.5,
            2147483648.0,
            4294967295.0,
            4294967296.0,
            9.223372036854775e18,
            1.8446744073709552e19,
            1e-40,
            1e300,
            f64::INFINITY,
        ];
        let sign = if self.bits().is_multiple_of(2) { 1.0 } else { -1.0 };
        match (dtype, self.below(4)) {
            (DType::Bool, 0..2) => self.bits() % 2,
            (DType::Bool, _) => self.bits() & 0xff,
            (_, 0) => self.bits() & mask,
            (DType::F32, 1) => (sign as f32 * self.pick(&floats) as f32).to_bits().into(),
            (DType::F32, 2) => (((self.bits() as i32) >> 8) as f32 / 65536.0).to_bits().into(),
            (DType::F32, _) => self.pick(&[
                0x7fc0_0000u64,
                0xffc0_0001,
                0x7f80_0001,
                0xff80_0000,
                1,
                0x8000_0001,
                0x7f7f_ffff,
                0x0080_0000,
            ]),
            (DType::F64, 1) => (sign * self.pick(&floats)).to_bits(),
            (DType::F64, 2) => (((self.bits() as i32) >> 8) as f64 / 65536.0).to_bits(),
            (DType::F64, _) => self.pick(&[
                0x7ff8_0000_0000_0000u64,
                0xfff8_0000_0000_0001,
                0x7ff0_0000_0000_0001,
                0xfff0_0000_0000_0000,
                1,
                1 << 63 | 1,
                0x7fef_ffff_ffff_ffff,
                1 << 52,
                0x3ff0_0000_1000_0000,
                0x3ff0_0200_0000_0001,
                0x47ef_ffff_f000_0000,
                0x3e60_0000_0000_0001,
            ]),
            (DType::F16, 1) => (f16::from_f32((sign * self.pick(&floats)) as f32)).to_bits().into(),
            (DType::F16, 2) => (f16::from_f32(((self.bits() as i16) as f32) / 256.0)).to_bits().into(),
            (DType::F16, _) => self.pick(&[0x7e00, 0xfe01, 0x7c01, 0xfc00, 1, 0x8001, 0x7bff, 0x0400]),
            (DType::Bf16, 1) => (bf16::from_f32((sign * self.pick(&floats)) as f32)).to_bits().into(),
            (DType::Bf16, 2) => (bf16::from_f32(((self.bits() as i16) as f32) / 256.0)).to_bits().into(),
            (DType::Bf16, _) => self.pick(&[0x7fc0, 0xffc1, 0x7f81, 0xff80, 1, 0x8001, 0x7f7f, 0x0080]),
            (DType::F8E4M3, 1..) | (DType::F8E5M2, 1..) => {
                self.pick(&[0, 0x80, 1, 0x81, 7, 8, 0x38, 0x3c, 0x7b, 0x7c, 0xfc, 0x7d, 0x7e, 0xfe, 0x7f, 0xff])
            }
            (_, 1) => self.bits() % 16,
            (_, 2) => (self.bits() % 16).wrapping_neg() & mask,
            (_, _) => self.pick(&integers) & mask,
        }
    }

    /// An element of any type.
    pub(super) fn element(&mut self, dtype: DType) -> Bits {
        let re = self.part(part_of(dtype));
        [re, if dtype.is_complex() { self.part(part_of(dtype)) } else { 0 }]
    }

    /// A scalar of any type.
    pub(super) fn scalar(&mut self, dtype: DType) -> Scalar {
        match dtype {
            DType::F16 | DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 => {
                Scalar::from_words(dtype, [self.part(DType::F32), 0]).unwrap()
            }
            DType::Bool => Scalar::from_words(dtype, [self.bits() % 2, 0]).unwrap(),
            _ => Scalar::from_words(dtype, self.element(dtype)).unwrap(),
        }
    }

    /// Up to three small extents.
    pub(super) fn shape(&mut self) -> Vec<usize> {
        match self.below(6) {
            0..3 => vec![1 + self.below(90)],
            3 => vec![1 + self.below(9), 1 + self.below(12)],
            4 => vec![1 + self.below(4), 1 + self.below(4), 1 + self.below(6)],
            _ => vec![],
        }
    }

    /// A view of these extents: its axes in any order, with gaps, backwards, and broadcast if it is only read.
    pub(super) fn layout(&mut self, extents: &[usize], is_read: bool) -> Layout {
        let reversed = self.below(3) == 0;
        let (mut strides, mut next, mut offset) = (vec![0isize; extents.len()], 1isize, self.below(3) as isize);
        for k in 0..extents.len() {
            let axis = if reversed { k } else { extents.len() - 1 - k };
            let n = extents.get(axis).copied().unwrap_or(1) as isize;
            if is_read && self.below(5) == 0 {
                continue;
            }
            let stride = next * if self.below(5) == 0 { 2 } else { 1 };
            next = stride * n.max(1);
            let backwards = self.below(5) == 0;
            if backwards {
                offset += (n - 1).max(0) * stride;
            }
            if let Some(slot) = strides.get_mut(axis) {
                *slot = if backwards { -stride } else { stride };
            }
        }
        Layout::new(extents, strides, offset as usize).unwrap()
    }

    /// An expression of about so many nodes over `axes` axes; `calls` lets it call functions.
    pub(super) fn expr(&mut self, size: usize, axes: usize, calls: bool) -> Expr {
        let mut inputs = Vec::new();
        let mut parameters = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        // Few types at a time, so that operands of one type are found.
        let favourites = [self.pick(&TYPES), self.pick(&TYPES), DType::Bool];
        for k in 0..1 + self.below(4) {
            let dtype = self.pick(&favourites);
            inputs.push(dtype);
            nodes.push(Node { op: Op::Input(k as u8), dtype });
        }
        let mut tries = 0;
        while nodes.len() < size && tries < 100 * size {
            tries += 1;
            let op = self.op(&nodes, axes, calls);
            let dtype = match op {
                Op::Parameter(_) => self.pick(&favourites),
                Op::Cast(..) | Op::Bits(_) if self.below(3) == 0 => self.pick(&favourites),
                _ => self.pick(&TYPES),
            };
            let op = match op {
                Op::Parameter(_) if parameters.len() == Expr::MAX_PARAMETERS => continue,
                Op::Parameter(_) => Op::Parameter(parameters.len() as u16),
                Op::Constant(_) => {
                    let dtype = self.pick(&favourites);
                    Op::Constant(self.scalar(dtype))
                }
                op => op,
            };
            let mut types = [DType::Bool; 3];
            for (k, id) in op.operands().enumerate() {
                let operand = nodes.get(usize::from(id)).map_or(DType::Bool, |node| node.dtype);
                types.iter_mut().skip(k).for_each(|dtype| *dtype = operand);
            }
            let Ok(dtype) = Expr::result_type(&op, types, dtype) else { continue };
            if let Op::Parameter(_) = op {
                parameters.push(dtype);
            }
            nodes.push(Node { op, dtype });
        }
        let last = nodes.len();
        let outputs = (0..1 + self.below(3)).map(|k| (last - 1 - (k * self.below(3)).min(last - 1)) as Id).collect();
        Expr::admit(inputs, parameters, nodes, outputs).unwrap()
    }

    fn op(&mut self, nodes: &[Node], axes: usize, calls: bool) -> Op {
        let any = self.below(nodes.len());
        let x = any as Id;
        let dtype = nodes.get(any).map_or(DType::Bool, |node| node.dtype);
        let same: Vec<Id> =
            (0..nodes.len() as Id).filter(|id| nodes.get(usize::from(*id)).is_some_and(|n| n.dtype == dtype)).collect();
        let truths: Vec<Id> = (0..nodes.len() as Id)
            .filter(|id| nodes.get(usize::from(*id)).is_some_and(|n| n.dtype == DType::Bool))
            .collect();
        let (y, z) = (self.pick(&same), self.pick(&same));
        match self.below(16) {
            0..=2 => Op::Unary(self.pick(Unary::ALL), x),
            3..=7 => Op::Binary(self.pick(Binary::ALL), x, y),
            8 => Op::Compare(self.pick(Compare::ALL), x, y),
            9 => Op::Fma(x, y, z),
            10 if !truths.is_empty() => Op::Select(self.pick(&truths), y, z),
            11 | 12 => Op::Cast(self.pick(&[Overflow::Saturate, Overflow::Wrap]), x),
            13 => Op::Bits(x),
            14 => Op::Parameter(0),
            15 if axes > 0 && self.below(3) == 0 => {
                let axis = self.below(axes) as u8;
                if self.bits().is_multiple_of(2) { Op::Position(axis) } else { Op::Extent(axis) }
            }
            15 if calls => {
                let function = self.pick(Function::ALL);
                Op::Call(function, x, (function.arity() == 2).then_some(y))
            }
            _ => Op::Constant(Scalar::new(0i32)),
        }
    }
}

//! The launches of random sorts on the machine for PTX, the host half, and a comparison of elements, bit for bit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use super::op::Sort;
use super::plan::steps;
use crate::core::element::DType;
use crate::device::tensor::Layout;
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};
use crate::libraries::tensor_routine::TensorRoutine;
use std::cmp::Ordering;
use std::collections::HashMap;

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}

const TYPES: [DType; 15] = [
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
    DType::Bool,
];

/// How elements compare by what their type means; `None` stands for a NaN.
fn value(dtype: DType, bits: u64) -> Option<i128> {
    let size = dtype.size();
    let signed = ((bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as i128;
    let sign_and_size = |infinity: u64| {
        let magnitude = bits & ((1 << (8 * size - 1)) - 1);
        (magnitude <= infinity).then_some(if signed < 0 { -i128::from(magnitude) } else { i128::from(magnitude) })
    };
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Some(signed),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Some(bits.into()),
        DType::Bool => Some((bits != 0).into()),
        DType::F8E4M3 => sign_and_size(0x7e),
        DType::F8E5M2 => sign_and_size(0x7c),
        DType::F16 => sign_and_size(0x7c00),
        DType::Bf16 => sign_and_size(0x7f80),
        DType::F32 => sign_and_size(0x7f80_0000),
        _ => sign_and_size(0x7ff0_0000_0000_0000),
    }
}

fn compare(one: Option<i128>, other: Option<i128>, descending: bool) -> Ordering {
    match (one, other) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Greater,
        (_, None) => Ordering::Less,
        (Some(a), Some(b)) if descending => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
    }
}

fn read(bytes: &[u8], size: usize, at: usize) -> u64 {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[at * size..][..size]);
    u64::from_le_bytes(word)
}

/// By its definition.
fn wanted(sort: &Sort, x: &[u8]) -> (Vec<u8>, Vec<i64>) {
    let (output, size) = (sort.output().unwrap(), sort.dtype.size());
    let (mut values, mut indices) = (vec![0; output.len() * size], vec![0; output.len()]);
    if output.is_empty() {
        return (values, indices);
    }
    let mut others = sort.x.shape().to_vec();
    let n = std::mem::replace(&mut others[sort.axis], 1);
    let all: Vec<usize> = Layout::new(&others, output.strides(), 0).unwrap().offsets().collect();
    let from: Vec<usize> = Layout::new(&others, sort.x.strides(), sort.x.offset()).unwrap().offsets().collect();
    for (to, from) in all.into_iter().zip(from) {
        let at = |i: usize| (from as isize + i as isize * sort.x.strides()[sort.axis]) as usize;
        let mut order: Vec<usize> = (0..n).collect();
        let of = |i: &usize| value(sort.dtype, read(x, size, at(*i)));
        order.sort_by(|a, b| compare(of(a), of(b), sort.descending));
        for (k, i) in order.into_iter().take(sort.keep).enumerate() {
            let to = to + k * output.strides()[sort.axis] as usize;
            values[to * size..][..size].copy_from_slice(&x[at(i) * size..][..size]);
            indices[to] = i as i64;
        }
    }
    (values, indices)
}

/// Runs the launches on the machine.
fn machine(sort: &Sort, x: &[u8], modules: &mut HashMap<String, PtxModule>) -> (Vec<u8>, Vec<i64>) {
    let output = sort.output().unwrap();
    let (mut values, mut indices) = (vec![0u8; output.len() * sort.dtype.size()], vec![0i64; output.len()]);
    let mut scratch: Vec<Vec<u64>> = Vec::new();
    let at = [x.as_ptr() as u64, values.as_mut_ptr() as u64, indices.as_mut_ptr() as u64];
    let all = steps(sort, at, &mut |bytes| {
        scratch.push(vec![0; bytes.div_ceil(8).max(1)]);
        Ok(scratch.last().unwrap().as_ptr() as u64)
    });
    let all = all.unwrap();
    let last = all.len().saturating_sub(1);
    for (k, step) in all.into_iter().enumerate() {
        let text = step.key.text().unwrap();
        let module = modules
            .entry(text)
            .or_insert_with_key(|text| PtxModule::new(text).unwrap_or_else(|fault| panic!("{fault} in\n{text}")));
        let mut areas = vec![Area::read("x", x)];
        if k == last {
            if sort.values {
                areas.push(Area::output("values", &mut values));
            }
            if sort.indices {
                areas.push(Area::output("indices", bytemuck::cast_slice_mut(&mut indices)));
            }
        }
        areas.extend(scratch.iter_mut().map(|own| Area::write("scratch", bytemuck::cast_slice_mut(own))));
        let shape = Shape::new([step.grid, 1, 1], [step.threads, 1, 1], 0);
        let words = bytemuck::cast_slice(&step.words);
        let run = module.launch("expression", shape, words, areas, Checks::ALL, &|_| ());
        run.unwrap_or_else(|fault| panic!("{fault} in {:?} of {sort:?}", step.key));
    }
    (values, indices)
}

fn host(sort: &Sort, x: &[u8]) -> (Vec<u8>, Vec<i64>) {
    let output = sort.output().unwrap();
    let (mut values, mut indices) =
        (vec![0u64; (output.len() * sort.dtype.size()).div_ceil(8)], vec![0i64; output.len()]);
    let to = if sort.values { values.as_mut_ptr().cast() } else { std::ptr::null_mut() };
    let to_index = if sort.indices { indices.as_mut_ptr() } else { std::ptr::null_mut() };
    // SAFETY: the vectors have the sizes of the operands.
    unsafe { super::host::sort(sort, x.as_ptr(), to, to_index) }.unwrap();
    (bytemuck::cast_slice(&values)[..output.len() * sort.dtype.size()].to_vec(), indices)
}

fn element(random: &mut Random, dtype: DType, few: bool) -> u64 {
    let special =
        |infinity: u64, sign: u64| [0, sign, infinity, infinity | sign, infinity + 1, 2 * infinity - 1, 1, 1 | sign];
    let list: &[u64] = match dtype {
        DType::F16 => &special(0x7c00, 0x8000),
        DType::Bf16 => &special(0x7f80, 0x8000),
        DType::F32 => &special(0x7f80_0000, 0x8000_0000),
        DType::F64 => &special(0x7ff0_0000_0000_0000, 1 << 63),
        _ => &[0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, 0x80, 0x8000, 0x8000_0000],
    };
    match random.below(if few { 3 } else { 12 }) {
        0 => list[random.below(list.len())],
        1 if few => random.below(3) as u64,
        _ if few => list[random.below(2)],
        _ => random.bits(),
    }
}

/// A sort of lines of `n` elements.
fn run(seed: u64, n: usize, modules: &mut HashMap<String, PtxModule>) {
    let random = &mut Random(seed);
    let dtype = TYPES[random.below(TYPES.len())];
    let rank = 1 + random.below(3);
    let axis = random.below(rank);
    let most = if n > 5000 { 2 } else { 4 };
    let extents: Vec<usize> = (0..rank).map(|a| if a == axis { n } else { 1 + random.below(most) }).collect();
    let mut order: Vec<isize> = (0..rank as isize).collect();
    order.rotate_left(random.below(rank));
    let wide: Vec<usize> = order.iter().map(|a| extents[*a as usize] * (1 + random.below(2))).collect();
    let mut inverse = vec![0; rank];
    order.iter().enumerate().for_each(|(k, a)| inverse[*a as usize] = k as isize);
    let mut x = Layout::row_major(&wide).unwrap().permute(&inverse).unwrap();
    x = Layout::new(&extents, x.strides(), random.below(3)).unwrap();
    if random.below(2) == 0 {
        x = x.flip(random.below(rank) as isize).unwrap();
    }
    if random.below(5) == 0 {
        let strides: Vec<isize> = x.strides().iter().enumerate().map(|(a, s)| if a == axis { *s } else { 0 }).collect();
        x = Layout::new(&extents, strides, x.offset()).unwrap();
    }
    let keep = match random.below(4) {
        0 => random.below(n + 1),
        1 => random.below(n.min(9) + 1),
        _ => n,
    };
    let (values, indices) = [(true, false), (false, true), (true, true)][random.below(3)];
    let sort = Sort { dtype, axis, x, keep, descending: random.below(2) == 0, values, indices, bytes: None };
    sort.check_data().unwrap();
    let len = sort.x.reach().map_or(0, |(_, highest)| highest + 1);
    let few = random.below(2) == 0;
    let mut data = vec![0u64; (len * dtype.size()).div_ceil(8).max(1)];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
    for to in bytes.chunks_exact_mut(dtype.size()) {
        to.copy_from_slice(&element(random, dtype, few).to_le_bytes()[..dtype.size()]);
    }
    let x = &bytes[..len * dtype.size()];
    let want = wanted(&sort, x);
    for (name, got) in [("host", host(&sort, x)), ("machine", machine(&sort, x, modules))] {
        assert!(!values || got.0 == want.0, "{name}, seed {seed}, {n}: {sort:?}");
        assert!(!indices || got.1 == want.1, "{name}, seed {seed}, {n}: {sort:?}");
    }
}

#[test]
fn random_sorts_equal_their_definition() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (first, count) = (number("WINDLASS_TEST_SEED").unwrap_or(0), number("WINDLASS_TEST_SORTS").unwrap_or(60));
    let mut modules = HashMap::new();
    for seed in first..first + count {
        let random = &mut Random(seed ^ 0x5eed);
        let n = match random.below(8) {
            0 => random.below(3),
            1..=4 => 1 + random.below(300),
            5 => 1 + random.below(1100),
            6 => 4000 + random.below(200),
            _ => 4097 + random.below(9000),
        };
        run(seed, n, &mut modules);
    }
}

//! Random expressions and operands, and how far a result may be from what the loops give.

use super::oracle::{Dense, Summed, einsum};
use crate::common::edge::by_turns;
use windlass::tensor::Layout;
use windlass::tensor_ops::{Backend, TensorElement};
use windlass::{Complex, Device, TensorRef, bf16, f16};

/// A small generator (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }
}

/// An element that a test makes and compares.
pub(crate) trait Value: TensorElement {
    /// The unit roundoff of the computation and of the result; `None` for integers, which are exact.
    const ROUND: Option<(f64, f64)>;
    fn of(re: i32, im: i32) -> Self;
    fn parts(self) -> (f64, f64);
    /// What an integer result is that was computed without a bound.
    fn wrapped(value: f64) -> f64 {
        value
    }
    /// Of halves, the nearest one.
    fn nearest(_: f64) -> Option<f64> {
        None
    }
}

macro_rules! values { ($($t:ty, $round:expr, |$re:ident, $im:ident| $of:expr, |$x:ident| $parts:expr $(, $nearest:expr)?;)*) => { $(
    impl Value for $t {
        $( fn nearest(value: f64) -> Option<f64> { Some($nearest(value).into()) } )?
        const ROUND: Option<(f64, f64)> = $round;
        fn of($re: i32, $im: i32) -> Self { let _ = $im; $of }
        fn parts(self) -> (f64, f64) { let $x = self; $parts }
    }
)* } }
const SINGLE: f64 = 1.0 / (1u64 << 24) as f64;
const DOUBLE: f64 = 1.0 / (1u64 << 53) as f64;
values! {
    f32, Some((SINGLE, SINGLE)), |re, im| re as f32 / 7.0, |x| (x.into(), 0.0);
    f64, Some((DOUBLE, DOUBLE)), |re, im| f64::from(re) / 7.0, |x| (x, 0.0);
    Complex<f32>, Some((4.0 * SINGLE, SINGLE)), |re, im| Complex::new(re as f32 / 7.0, im as f32 / 5.0), |x| (x.re.into(), x.im.into());
    Complex<f64>, Some((4.0 * DOUBLE, DOUBLE)), |re, im| Complex::new(f64::from(re) / 7.0, f64::from(im) / 5.0), |x| (x.re, x.im);
    f16, Some((SINGLE, 1.0 / 2048.0)), |re, im| f16::from_f32(re as f32 / 8.0), |x| (x.into(), 0.0), f16::from_f64;
    bf16, Some((SINGLE, 1.0 / 256.0)), |re, im| bf16::from_f32(re as f32 / 8.0), |x| (x.into(), 0.0), bf16::from_f64;
    i64, None, |re, im| re.into(), |x| (x as f64, 0.0);
    i32, None, |re, im| re, |x| (x.into(), 0.0);
    u16, None, |re, im| re.unsigned_abs() as u16, |x| (x.into(), 0.0);
}
impl Value for i8 {
    const ROUND: Option<(f64, f64)> = None;
    fn of(re: i32, _: i32) -> Self {
        re as i8
    }
    fn parts(self) -> (f64, f64) {
        (self.into(), 0.0)
    }
    fn wrapped(value: f64) -> f64 {
        f64::from(value as i64 as i8)
    }
}

/// Dense, or with axes in another order, gaps, negative steps, repeated elements and an odd offset.
pub(crate) fn layout(extents: &[usize], random: &mut Random) -> Layout {
    if extents.contains(&0) || random.below(2) == 0 {
        return Layout::row_major(extents).unwrap();
    }
    let mut order: Vec<usize> = (0..extents.len()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, random.below(k + 1));
    }
    let mut strides = vec![0isize; extents.len()];
    let (mut next, mut offset) = (if random.below(6) == 0 { 2 } else { 1 }, [0, 1, 3][random.below(3)]);
    for axis in order {
        if random.below(12) == 0 {
            continue;
        }
        let is_turned = random.below(9) == 0;
        strides[axis] = if is_turned { -next } else { next };
        if is_turned {
            offset += (extents[axis] - 1) * next as usize;
        }
        next *= (extents[axis] + usize::from(random.below(5) == 0)) as isize;
    }
    Layout::new(extents, strides, offset).unwrap()
}

/// An operand's layout, and the elements of the buffer below it.
pub(crate) struct Laid<T> {
    pub(crate) layout: Layout,
    pub(crate) data: Vec<T>,
}

impl<T: Value> Laid<T> {
    pub(crate) fn new(layout: Layout, random: &mut Random, most: i32) -> Self {
        let len = layout.reach().map_or(0, |(_, highest)| highest + 1) + random.below(3);
        let mut number = || random.below(2 * most as usize + 1) as i32 - most;
        Laid { layout, data: (0..len).map(|_| T::of(number(), number())).collect() }
    }

    /// The elements in logical order.
    pub(crate) fn dense(&self, letters: &[char]) -> Dense {
        let extents = self.layout.shape().to_vec();
        let mut offsets = vec![self.layout.offset() as isize];
        for (n, stride) in extents.iter().zip(self.layout.strides()) {
            offsets = offsets.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * stride)).collect();
        }
        let elements = offsets.into_iter().map(|at| self.data[at as usize].parts()).collect();
        Dense { letters: letters.to_vec(), extents, elements }
    }
}

/// Compares elements with the loops': exactly for integers; else within the bound of sums in any order, and one rounding of the
/// result and of each of `steps` intermediates.
#[track_caller]
pub(crate) fn compare<T: Value>(about: &str, got: &[T], wanted: &Summed, steps: usize) {
    assert_eq!(got.len(), wanted.elements.len(), "{about}");
    for (k, (got, (sum, size, terms))) in got.iter().zip(&wanted.elements).enumerate() {
        let got = got.parts();
        let (re, im) = match T::ROUND {
            None => (T::wrapped(sum.0), 0.0),
            Some(_) => *sum,
        };
        let far = match T::ROUND {
            None => 0.0,
            Some((compute, result)) => {
                let roundings = (*terms + 8) as f64 * compute + steps as f64 * result;
                1.5 * roundings * size + 1e-7 * f64::from(u8::from(result > 1e-4))
            }
        };
        let distance = (got.0 - re).hypot(got.1 - im);
        assert!(distance <= far, "{about}, element {k}: {got:?}, but should be ({re}, {im}): {distance:e} > {far:e}");
    }
}

/// An expression and its extents.
pub(crate) struct Case {
    pub(crate) inputs: Vec<Vec<char>>,
    pub(crate) output: Vec<char>,
    pub(crate) extents: Vec<Vec<usize>>,
}

impl Case {
    pub(crate) fn random(random: &mut Random) -> Self {
        let pool: Vec<char> = "abcdefgh".chars().take(1 + random.below(6)).collect();
        let sizes: Vec<usize> = pool.iter().map(|_| [1, 2, 3, 4, 5, 7][random.below(6)]).collect();
        let empty = random.below(25) == 0;
        let count = 1 + [0, 1, 1, 1, 2, 3][random.below(6)];
        let mut case = Case { inputs: vec![], output: vec![], extents: vec![] };
        for _ in 0..count {
            let rank = random.below(5);
            let letters: Vec<usize> = (0..rank).map(|_| random.below(pool.len())).collect();
            let mut extents: Vec<usize> = letters.iter().map(|k| sizes[*k]).collect();
            if empty {
                extents = letters.iter().map(|k| if *k == 0 { 0 } else { sizes[*k] }).collect();
            }
            // One element for all of a letter, which is no diagonal.
            for (axis, k) in letters.iter().enumerate() {
                if letters.iter().filter(|other| *other == k).count() == 1 && random.below(12) == 0 {
                    extents[axis] = 1;
                }
            }
            case.inputs.push(letters.iter().map(|k| pool[*k]).collect());
            case.extents.push(extents);
        }
        let mut used: Vec<char> = case.inputs.concat();
        used.sort_unstable();
        used.dedup();
        for k in (1..used.len()).rev() {
            used.swap(k, random.below(k + 1));
        }
        used.truncate(random.below(used.len() + 1).min(4));
        case.output = used;
        case
    }

    pub(crate) fn text(&self) -> String {
        let inputs: Vec<String> = self.inputs.iter().map(|letters| letters.iter().collect()).collect();
        format!("{}->{}", inputs.join(","), self.output.iter().collect::<String>())
    }

    /// On all devices, against the loops.
    pub(crate) fn run<T: Value>(&self, devices: &[Device], random: &mut Random, seed: u64) {
        self.run_by::<T>(Backend::Auto, devices, random, seed);
    }

    pub(crate) fn run_by<T: Value>(&self, backend: Backend, devices: &[Device], random: &mut Random, seed: u64) {
        let laid: Vec<Laid<T>> =
            self.extents.iter().map(|extents| Laid::new(layout(extents, random), random, 9)).collect();
        let dense: Vec<Dense> = laid.iter().zip(&self.inputs).map(|(laid, letters)| laid.dense(letters)).collect();
        let wanted = einsum(&dense, &self.output);
        let layouts: Vec<&Layout> = laid.iter().map(|laid| &laid.layout).collect();
        let about = format!("seed {seed}: {} of {} {layouts:?} by {backend:?}", self.text(), T::DTYPE);
        for device in devices {
            let buffers: Vec<_> = laid.iter().map(|laid| by_turns(device, laid.data.clone())).collect();
            let views: Vec<TensorRef<'_, T>> = buffers
                .iter()
                .zip(&laid)
                .map(|(buffer, laid)| TensorRef::from_buffer(buffer, laid.layout.clone()).unwrap())
                .collect();
            let ops = device.tensor_ops().backend(backend);
            let pending = ops.einsum(&*self.text(), &views[..]).unwrap_or_else(|e| panic!("{about}: {e}"));
            let tensor = pending.await_result().unwrap_or_else(|e| panic!("{about}: {e}"));
            assert_eq!(tensor.shape(), wanted.extents, "{about}");
            assert!(tensor.layout().is_row_major(), "{about}");
            let got = device.download(tensor.buffer()).unwrap().await_result().unwrap();
            let steps = self.inputs.len().max(2) - 1;
            compare(&format!("{about} on {device:?}"), &got, &wanted, steps);
            // Sums of these halves are exact in `f32`: of one step nothing but its one rounding is left.
            for (got, ((exact, _), ..)) in got.iter().zip(&wanted.elements).filter(|_| steps == 1) {
                let nearest = T::nearest(*exact).unwrap_or(got.parts().0);
                assert_eq!(got.parts().0, nearest, "{about} on {device:?}: {exact}");
            }
        }
    }
}

/// The case of a seed.
pub(crate) fn run(devices: &[Device], seed: u64) {
    let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678);
    let case = Case::random(random);
    match seed % 8 {
        0 | 1 => case.run::<f64>(devices, random, seed),
        2 => case.run::<f32>(devices, random, seed),
        3 => case.run::<Complex<f64>>(devices, random, seed),
        4 => case.run::<Complex<f32>>(devices, random, seed),
        5 => case.run::<f16>(devices, random, seed),
        6 => case.run::<bf16>(devices, random, seed),
        _ => whole(&case, devices, random, seed),
    }
}

/// A case of integers.
pub(crate) fn whole(case: &Case, devices: &[Device], random: &mut Random, seed: u64) {
    match random.below(3) {
        0 => case.run::<i64>(devices, random, seed),
        1 => case.run::<i32>(devices, random, seed),
        _ => case.run::<i8>(devices, random, seed),
    }
}

//! Random operands, and one kind over them on all devices.

use super::oracle::{Value, double, place, single};
use crate::common::edge::by_turns;
use windlass::reductions::*;
use windlass::tensor::Layout;
use windlass::{Bool, Device, Element, TensorRef, bf16, f16};

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

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// What a result must be.
pub(crate) enum Wanted<R> {
    Bits(R),
    /// The value, and how far the result may be from it.
    Near(f64, f64),
}

/// The operand of a case.
pub(crate) struct Case {
    pub(crate) extents: Vec<usize>,
    pub(crate) layout: Layout,
    pub(crate) axes: Vec<i32>,
}

impl Case {
    /// At most so many elements.
    pub(crate) fn random(random: &mut Random, most: usize) -> Self {
        let lengths = [
            1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 1023, 1024, 1025, 1088, 1984, 2048, 4097,
            70_000,
        ];
        let rank = 1 + random.below(4);
        let mut extents = vec![1; rank];
        let long = random.below(rank);
        let fitting: Vec<usize> = lengths.into_iter().filter(|n| *n <= most).collect();
        extents[long] = random.pick(&fitting);
        for axis in (0..rank).filter(|axis| *axis != long) {
            let room = most / extents.iter().product::<usize>();
            let choice = [1, 2, 3, 5, 8, 40, 65][random.below(7)];
            extents[axis] = choice.min(room.max(1));
        }
        if random.below(40) == 0 {
            extents[random.below(rank)] = 0;
        }
        let axes: Vec<i32> = match random.below(3) {
            0 => (0..rank as i32).collect(),
            1 => vec![random.below(rank) as i32 - if random.below(2) == 0 { rank as i32 } else { 0 }],
            _ => (0..rank as i32).filter(|_| random.below(2) == 0).collect(),
        };
        let layout = layout(&extents, random);
        Case { extents, layout, axes }
    }

    fn reduced(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.rem_euclid(self.extents.len() as i32) as usize).collect()
    }

    /// The offsets of the elements of each result.
    fn results(&self) -> Vec<Vec<usize>> {
        let reduced = self.reduced();
        let numbers = |of: &dyn Fn(usize) -> bool| -> Vec<Vec<isize>> {
            let mut all = vec![0isize];
            let mut count = 1;
            for axis in (0..self.extents.len()).filter(|axis| of(*axis)) {
                let (n, stride) = (self.extents[axis], self.layout.strides()[axis]);
                all = all.iter().flat_map(|at| (0..n as isize).map(move |i| at + i * stride)).collect();
                count *= n;
            }
            assert_eq!(all.len(), count);
            vec![all]
        };
        let kept = numbers(&|axis| !reduced.contains(&axis)).remove(0);
        let within = numbers(&|axis| reduced.contains(&axis)).remove(0);
        let offset = self.layout.offset() as isize;
        kept.iter().map(|k| within.iter().map(|w| (offset + k + w) as usize).collect()).collect()
    }
}

/// Dense, or with axes in another order, gaps, negative steps, repeated elements and an offset.
fn layout(extents: &[usize], random: &mut Random) -> Layout {
    if extents.contains(&0) || random.below(3) == 0 {
        return Layout::row_major(extents).unwrap();
    }
    let mut order: Vec<usize> = (0..extents.len()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, random.below(k + 1));
    }
    let mut strides = vec![0isize; extents.len()];
    let (mut next, mut offset) = (1 + random.below(8) as isize / 7, random.below(4));
    for axis in order {
        if random.below(9) == 0 {
            continue;
        }
        let is_turned = random.below(5) == 0;
        strides[axis] = if is_turned { -next } else { next };
        if is_turned {
            offset += (extents[axis] - 1) * next as usize;
        }
        next *= (extents[axis] + usize::from(random.below(4) == 0)) as isize;
    }
    Layout::new(extents, strides, offset).unwrap()
}

/// One kind on all devices.
pub(crate) fn check<T: Value, K: Reduction<T> + std::fmt::Debug>(
    devices: &[Device],
    random: &mut Random,
    seed: u64,
    most: usize,
    kind: K,
    wanted: &dyn Fn(&[T]) -> Wanted<K::Output>,
) where
    K::Output: Value,
{
    let case = Case::random(random, most);
    let is_empty = case.extents.contains(&0);
    let len = case.layout.reach().map_or(0, |(_, highest)| highest + 1);
    let data: Vec<T> = (0..len).map(|_| T::random(random.bits())).collect();
    let results = case.results();
    let about =
        format!("seed {seed}: {kind:?} of {} {:?} {:?} along {:?}", T::DTYPE, case.extents, case.layout, case.axes);
    if is_empty
        && results.iter().any(|_| true)
        && matches!(format!("{kind:?}").as_str(), "Min" | "Max" | "ArgMin" | "ArgMax")
    {
        return;
    }
    let mut first: Option<Vec<K::Output>> = None;
    for device in devices {
        // What is read behind the last element, or before the first, is read from a page that nobody may touch.
        let buffer = by_turns(device, data.clone());
        let view = TensorRef::from_buffer(&buffer, case.layout.clone()).unwrap();
        let pending = device.reduce(&view, case.axes.clone(), |x| x, kind).unwrap_or_else(|e| panic!("{about}: {e}"));
        let tensor = pending.await_result().unwrap_or_else(|e| panic!("{about}: {e}"));
        let got = device.download(&tensor).unwrap().await_result().unwrap();
        assert_eq!(got.len(), results.len(), "{about}");
        for (k, (got, elements)) in got.iter().zip(&results).enumerate() {
            let elements: Vec<T> = elements.iter().map(|at| data[*at]).collect();
            let fits = match wanted(&elements) {
                Wanted::Bits(want) => {
                    let fits = bytemuck::bytes_of(got) == bytemuck::bytes_of(&want);
                    assert!(fits, "{about}, on {device:?}, result {k}: {got:?}, but should be {want:?}");
                    fits
                }
                Wanted::Near(value, far) => {
                    let got = got.double();
                    got == value || (got.is_nan() && value.is_nan()) || (got - value).abs() <= far
                }
            };
            assert!(fits, "{about}, on {device:?}, result {k}: {got:?} is too far");
        }
        match &first {
            None => first = Some(got),
            Some(first) => {
                let same = bytemuck::cast_slice::<_, u8>(first) == bytemuck::cast_slice::<_, u8>(&got);
                assert!(same, "{about}: the bits of {device:?} differ from those of the first device");
            }
        }
    }
}

/// The case of a seed.
pub(crate) fn run(devices: &[Device], seed: u64, most: usize) {
    let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
    macro_rules! of {
        ($t:ty, $kind:expr, $f:expr) => {
            check::<$t, _>(devices, random, seed, most, $kind, &|x: &[$t]| Wanted::Bits($f(x)))
        };
    }
    macro_rules! near {
        ($t:ty, $kind:expr, $f:expr) => {
            check::<$t, _>(devices, random, seed, most, $kind, &|x: &[$t]| {
                let (value, far) = $f(x);
                Wanted::Near(value, far)
            })
        };
    }
    macro_rules! floats {
        ($t:ty, $of:ident) => {
            match random.below(16) {
                0 | 1 => of!($t, Sum, $of::sum),
                2 => of!($t, Prod, $of::prod),
                3 => of!($t, Mean, $of::mean),
                4 => of!($t, Var { ddof: 1 }, |x| $of::spread(x, 1)),
                5 => of!($t, Std { ddof: 0 }, |x| $of::canonical($of::spread(x, 0).sqrt())),
                6 => of!($t, Min, $of::min),
                7 => of!($t, Max, $of::max),
                8 => of!($t, ArgMin, |x| place(x, false)),
                9 => of!($t, ArgMax, |x| place(x, true)),
                10 => of!($t, AllTrue, |x: &[$t]| Bool::from(x.iter().all(|x| *x != 0.0))),
                11 => of!($t, CountNonzero, |x: &[$t]| x.iter().filter(|x| **x != 0.0).count() as i64),
                12 => of!($t, Norm1, $of::norm1),
                13 => near!($t, Norm2, norm2),
                14 => of!($t, NormInf, $of::norm_inf),
                _ => near!($t, LogSumExp, $of::logsumexp),
            }
        };
    }
    macro_rules! integers {
        ($t:ty, $sum:ty) => {
            match random.below(8) {
                0 => of!($t, Sum, |x: &[$t]| x.iter().fold(0 as $sum, |a, x| a.wrapping_add(*x as $sum))),
                1 => of!($t, Prod, |x: &[$t]| x.iter().fold(1 as $sum, |a, x| a.wrapping_mul(*x as $sum))),
                2 => of!($t, Mean, |x: &[$t]| double::mean(&x.iter().map(|x| *x as f64).collect::<Vec<_>>())),
                3 => of!($t, Min, |x: &[$t]| x.iter().copied().min().unwrap()),
                4 => of!($t, Max, |x: &[$t]| x.iter().copied().max().unwrap()),
                5 => of!($t, ArgMax, |x| place(x, true)),
                6 => of!($t, ArgMin, |x| place(x, false)),
                _ => of!($t, AnyTrue, |x: &[$t]| Bool::from(x.iter().any(|x| *x != 0))),
            }
        };
    }
    macro_rules! halves {
        ($t:ty) => {
            match random.below(5) {
                0 => of!($t, Sum, |x: &[$t]| half(single::sum(&wide(x)))),
                1 => of!($t, Mean, |x: &[$t]| half(single::mean(&wide(x)))),
                2 => of!($t, Max, |x: &[$t]| half(single::max(&wide(x)))),
                3 => of!($t, ArgMin, |x: &[$t]| place(&wide(x), false)),
                _ => of!($t, Var { ddof: 0 }, |x: &[$t]| half(single::spread(&wide(x), 0))),
            }
        };
    }
    match random.below(13) {
        0..4 => floats!(f32, single),
        4..7 => floats!(f64, double),
        7 => halves!(f16),
        8 => halves!(bf16),
        9 => integers!(i8, i64),
        10 => integers!(u16, u64),
        11 => integers!(i64, i64),
        _ => match random.below(3) {
            0 => of!(Bool, Sum, |x: &[Bool]| x.iter().filter(|x| x.0 != 0).count() as i64),
            1 => of!(Bool, AllTrue, |x: &[Bool]| Bool::from(x.iter().all(|x| x.0 != 0))),
            _ => of!(Bool, AnyTrue, |x: &[Bool]| Bool::from(x.iter().any(|x| x.0 != 0))),
        },
    }
}

fn norm2<T: Value>(x: &[T]) -> (f64, f64) {
    let value = x.iter().map(|x| x.double() * x.double()).sum::<f64>().sqrt();
    // The sum here is one after the other, the result of an `f32` is rounded.
    let rounding = if size_of::<T>() == 8 { 0.0 } else { 1e-7 };
    (value, value * (rounding + f64::EPSILON * x.len() as f64))
}

/// Halves: their values, and back, rounded once. A computed NaN has one pattern.
trait Half: Element {
    fn wide(self) -> f32;
    fn of(x: f32) -> Self;
}
macro_rules! half_types { ($($t:ty),*) => { $(
    impl Half for $t {
        fn wide(self) -> f32 {
            self.to_f32()
        }
        fn of(x: f32) -> Self {
            if x.is_nan() { <$t>::from_bits(0x7fff) } else { <$t>::from_f32(x) }
        }
    }
)* } }
half_types!(f16, bf16);

fn wide<T: Half>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.wide()).collect()
}

fn half<T: Half>(x: f32) -> T {
    T::of(x)
}

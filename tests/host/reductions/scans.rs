//! Random scans against their definition, bit for bit. The oracle takes lines of numbers, one after the other.

use super::cases::{Case, Random};
use super::oracle::{Value, double, single};
use crate::common::edge::by_turns;
use windlass::reductions::scans::{Along, Cumulative};
use windlass::reductions::{AllTrue, AnyTrue, Max, Min, Prod, Sum};
use windlass::tensor::Layout;
use windlass::{Bool, Complex, Device, Element, TensorRef, bf16, f16};

const CHUNK: usize = 32;

/// What comes before each chunk, recursively; then each chunk's elements, one after the other.
fn scan<A: Copy>(x: &[A], (begin, identity): (A, A), exclusive: bool, join: &dyn Fn(A, A) -> A) -> Vec<A> {
    let before = if x.len() > CHUNK {
        let totals: Vec<A> = x.chunks(CHUNK).map(|chunk| chunk.iter().fold(identity, |a, x| join(a, *x))).collect();
        scan(&totals, (begin, identity), true, join)
    } else {
        vec![begin]
    };
    let mut all = vec![];
    for (chunk, before) in x.chunks(CHUNK).zip(before) {
        let mut own = before;
        for x in chunk {
            let next = join(own, *x);
            all.push(if exclusive { own } else { next });
            own = next;
        }
    }
    all
}

/// How a line is scanned.
type Line<'a, T, R> = &'a dyn Fn(&[T], bool) -> Vec<R>;

/// One kind on all devices.
fn check<T: Value, K: Cumulative<T> + std::fmt::Debug>(
    devices: &[Device],
    random: &mut Random,
    (seed, most): (u64, usize),
    kind: K,
    line: Line<'_, T, K::Output>,
) {
    let case = Case::random(random, most);
    let axis = random.below(case.extents.len());
    let (exclusive, reverse) = (random.below(2) == 0, random.below(2) == 0);
    let along = Along::axis(axis as isize - if random.below(2) == 0 { case.extents.len() as isize } else { 0 });
    let along = if exclusive { along.exclusive() } else { along };
    let along = if reverse { along.reverse() } else { along };
    let about = format!("seed {seed}: {kind:?} of {} {:?} {along:?}", T::DTYPE, case.layout);
    let len = case.layout.reach().map_or(0, |(_, highest)| highest + 1);
    let data: Vec<T> = (0..len).map(|_| T::random(random.bits())).collect();
    let wanted = lines(&case, axis, reverse, &data, &|x| line(x, exclusive));
    for device in devices {
        let buffer = by_turns(device, data.clone());
        let view = TensorRef::from_buffer(&buffer, case.layout.clone()).unwrap();
        let pending = device.scan(&view, along, kind).unwrap_or_else(|e| panic!("{about}: {e}"));
        let tensor = pending.await_result().unwrap_or_else(|e| panic!("{about}: {e}"));
        assert_eq!(tensor.shape(), case.extents, "{about}");
        let got = device.download(&tensor).unwrap().await_result().unwrap();
        assert_eq!(got.len(), wanted.len(), "{about}");
        for (k, (got, want)) in got.iter().zip(&wanted).enumerate() {
            let same = bytemuck::bytes_of(got) == bytemuck::bytes_of(want);
            assert!(same, "{about}, on {device:?}, element {k}: {got:?}, but should be {want:?}");
        }
    }
}

/// The results in row-major order.
fn lines<T: Copy, R: Element>(
    case: &Case,
    axis: usize,
    reverse: bool,
    data: &[T],
    line: &dyn Fn(&[T]) -> Vec<R>,
) -> Vec<R> {
    let n = case.extents[axis];
    let behind: usize = case.extents[axis + 1..].iter().product();
    let total: usize = case.extents.iter().product();
    let mut all = vec![R::zeroed(); total];
    for first in (0..total).filter(|place| (place / behind).is_multiple_of(n.max(1))) {
        let mut places: Vec<usize> = (0..n).map(|i| first + i * behind).collect();
        if reverse {
            places.reverse();
        }
        let elements: Vec<T> = places.iter().map(|place| data[offset(case, *place)]).collect();
        for (place, result) in places.iter().zip(line(&elements)) {
            all[*place] = result;
        }
    }
    all
}

/// Where the element of a row-major number lies.
fn offset(case: &Case, mut place: usize) -> usize {
    let mut at = case.layout.offset() as isize;
    for (n, stride) in case.extents.iter().zip(case.layout.strides()).rev() {
        at += (place % n) as isize * stride;
        place /= n;
    }
    at as usize
}

/// The case of a seed.
pub(crate) fn run(devices: &[Device], seed: u64, most: usize) {
    let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
    let with = (seed, most);
    macro_rules! of {
        ($t:ty, $kind:expr, $line:expr) => {
            check::<$t, _>(devices, random, with, $kind, &$line)
        };
    }
    macro_rules! floats {
        ($t:ty, $of:ident, $a:ty, $open:expr, $close:expr) => {{
            let open = |x: &[$t]| -> Vec<$a> { x.iter().copied().map($open).collect() };
            let close = |x: Vec<$a>| -> Vec<$t> { x.into_iter().map($of::canonical).map($close).collect() };
            let first = |exclusive: bool| if exclusive { 0.0 } else { -0.0 };
            match random.below(5) {
                0 | 1 => of!($t, Sum, |x: &[$t], e| close(scan(&open(x), (first(e), -0.0), e, &|a, b| a + b))),
                2 => of!($t, Prod, |x: &[$t], e| close(scan(&open(x), (1.0, 1.0), e, &|a, b| a * b))),
                3 => of!($t, Min, |x: &[$t], e| close(scan(&open(x), [<$a>::INFINITY; 2].into(), e, &$of::lesser))),
                _ => of!($t, Max, |x: &[$t], e| {
                    let turned: Vec<$a> = open(x).into_iter().map(|x| -x).collect();
                    close(scan(&turned, [<$a>::INFINITY; 2].into(), e, &$of::lesser).into_iter().map(|x| -x).collect())
                }),
            }
        }};
    }
    macro_rules! integers {
        ($t:ty, $sum:ty) => {{
            let wide = |x: &[$t]| -> Vec<$sum> { x.iter().map(|x| *x as $sum).collect() };
            match random.below(6) {
                0 => of!($t, Sum, |x: &[$t], e| scan(&wide(x), (0, 0), e, &|a, b| a.wrapping_add(b))),
                1 => of!($t, Prod, |x: &[$t], e| scan(&wide(x), (1, 1), e, &|a, b| a.wrapping_mul(b))),
                2 => of!($t, Min, |x: &[$t], e| scan(x, (<$t>::MAX, <$t>::MAX), e, &std::cmp::min)),
                3 => of!($t, Max, |x: &[$t], e| scan(x, (<$t>::MIN, <$t>::MIN), e, &std::cmp::max)),
                4 => of!($t, AllTrue, |x: &[$t], e| truth(x.iter().map(|x| *x != 0), e, true)),
                _ => of!($t, AnyTrue, |x: &[$t], e| truth(x.iter().map(|x| *x != 0), e, false)),
            }
        }};
    }
    let (half, brain) = (f16::from_f32 as fn(f32) -> f16, bf16::from_f32 as fn(f32) -> bf16);
    match random.below(12) {
        0..3 => floats!(f32, single, f32, |x| x, |x| x),
        3 | 4 => floats!(f64, double, f64, |x| x, |x| x),
        5 => floats!(f16, single, f32, |x: f16| x.to_f32(), half),
        6 => floats!(bf16, single, f32, |x: bf16| x.to_f32(), brain),
        7 => integers!(i8, i64),
        8 => integers!(u16, u64),
        9 => integers!(i64, i64),
        10 => integers!(u64, u64),
        _ => match random.below(4) {
            0 => of!(Bool, Sum, |x: &[Bool], e| {
                let x: Vec<i64> = x.iter().map(|x| (x.0 != 0).into()).collect();
                scan(&x, (0, 0), e, &|a, b| a + b)
            }),
            1 => of!(Bool, AllTrue, |x: &[Bool], e| truth(x.iter().map(|x| x.0 != 0), e, true)),
            2 => of!(f32, AllTrue, |x: &[f32], e| truth(x.iter().map(|x| *x != 0.0), e, true)),
            _ => of!(f16, AnyTrue, |x: &[f16], e| truth(x.iter().map(|x| x.to_f32() != 0.0), e, false)),
        },
    }
}

fn truth(x: impl Iterator<Item = bool>, exclusive: bool, all: bool) -> Vec<Bool> {
    let x: Vec<bool> = x.collect();
    let join = |a: bool, b: bool| if all { a && b } else { a || b };
    scan(&x, (all, all), exclusive, &join).into_iter().map(Bool::from).collect()
}

/// The parts of complex numbers are summed apart.
pub(crate) fn complex(devices: &[Device]) {
    for n in [1, 31, 32, 33, 1025] {
        let x: Vec<Complex<f32>> = (0..2 * n).map(|i| Complex::new(0.1 * i as f32, 1.0 / (1 + i) as f32)).collect();
        let add = |a: f32, b: f32| a + b;
        for device in devices {
            let tensor = device.tensor([n, 2], x.clone()).unwrap();
            let sums = device.cumsum(&tensor, Along::axis(0).reverse()).unwrap().await_result().unwrap();
            let got = device.download(&sums).unwrap().await_result().unwrap();
            for column in 0..2 {
                let line: Vec<Complex<f32>> = (0..n).rev().map(|i| x[2 * i + column]).collect();
                let part = |of: fn(&Complex<f32>) -> f32| {
                    scan(&line.iter().map(of).collect::<Vec<_>>(), (-0.0, -0.0), false, &add)
                };
                for (i, (re, im)) in part(|x| x.re).into_iter().zip(part(|x| x.im)).enumerate() {
                    assert_eq!(got[2 * (n - 1 - i) + column], Complex::new(re, im), "{n}, {device:?}");
                }
            }
        }
    }
}

/// Lines side by side: more than one task takes, and of as many chunks as several levels have.
pub(crate) fn side_by_side(devices: &[Device], most: usize) {
    for (rows, columns, exclusive) in
        [(33, 4200, false), (65, 9000, true), (1025, 40, false), (1056, 9, true), (32, 8, false)]
    {
        if rows * columns > most {
            continue;
        }
        let random = &mut Random(rows as u64);
        let x: Vec<f32> = (0..rows * columns).map(|_| f32::random(random.bits())).collect();
        let mut wanted = x.clone();
        for column in 0..columns {
            let line: Vec<f32> = (0..rows).map(|row| x[row * columns + column]).collect();
            let first = if exclusive { 0.0 } else { -0.0 };
            for (row, sum) in scan(&line, (first, -0.0), exclusive, &|a, b| a + b).into_iter().enumerate() {
                wanted[row * columns + column] = single::canonical(sum);
            }
        }
        for device in devices {
            let along = if exclusive { Along::axis(0).exclusive() } else { Along::axis(0) };
            let buffer = by_turns(device, x.clone());
            let view = TensorRef::from_buffer(&buffer, Layout::row_major([rows, columns]).unwrap()).unwrap();
            let sums = device.cumsum(&view, along).unwrap().await_result().unwrap();
            let got = device.download(&sums).unwrap().await_result().unwrap();
            let same = bytemuck::cast_slice::<f32, u32>(&got) == bytemuck::cast_slice::<f32, u32>(&wanted);
            assert!(same, "{rows} x {columns}, {device:?}");
        }
    }
}

/// Lines whose elements are neighbours, of lengths about those at which another way begins.
pub(crate) fn neighbours(devices: &[Device], most: usize) {
    for (k, n) in [
        1, 16, 17, 31, 32, 33, 64, 65, 95, 96, 97, 480, 511, 513, 991, 993, 1023, 1024, 1025, 2048, 4096, 4097, 8192,
        8193, 9000, 40_000, 270_000,
    ]
    .into_iter()
    .filter(|n| *n <= most)
    .enumerate()
    {
        let rows = if n < 5000 { [1, 3, 35][k % 3] } else { 2 };
        let (exclusive, reverse) = (k % 2 == 1, k % 5 < 2);
        let along = if exclusive { Along::axis(-1).exclusive() } else { Along::axis(-1) };
        let along = if reverse { along.reverse() } else { along };
        let random = &mut Random(n as u64);
        macro_rules! of {
            ($t:ty, $call:ident, $make:expr, $line:expr) => {{
                let make: fn(u64) -> $t = $make;
                let data: Vec<$t> = (0..rows * n).map(|_| make(random.bits())).collect();
                let mut wanted = vec![];
                for row in data.chunks(n) {
                    let mut row = row.to_vec();
                    if reverse {
                        row.reverse();
                    }
                    let mut line = ($line)(&row);
                    if reverse {
                        line.reverse();
                    }
                    wanted.extend(line);
                }
                for device in devices {
                    // One element further than where memory begins.
                    let buffer = by_turns(device, [&data[..1], &data].concat());
                    let layout = windlass::tensor::Layout::new([rows, n], [n as isize, 1], 1).unwrap();
                    let view = TensorRef::from_buffer(&buffer, layout).unwrap();
                    let got = device.$call(&view, along).unwrap().await_result().unwrap();
                    let got = device.download(&got).unwrap().await_result().unwrap();
                    let (got, wanted) = (bytemuck::cast_slice::<_, u8>(&got), bytemuck::cast_slice::<_, u8>(&wanted));
                    assert!(
                        got == wanted,
                        "{} of {rows} lines of {n} {}, {along:?}",
                        stringify!($call),
                        stringify!($t)
                    );
                }
            }};
        }
        let first = if exclusive { 0.0 } else { -0.0 };
        let real = |bits: u64| (bits as i32 as f32) / 65536.0;
        of!(f32, cumsum, real, |x: &[f32]| scan(x, (first, -0.0), exclusive, &|a, b| a + b));
        of!(f64, cummin, |bits| bits as i64 as f64, |x: &[f64]| scan(
            x,
            [f64::INFINITY; 2].into(),
            exclusive,
            &f64::min
        ));
        of!(i8, cumsum, |bits| bits as i8, |x: &[i8]| {
            let wide: Vec<i64> = x.iter().map(|x| i64::from(*x)).collect();
            scan(&wide, (0, 0), exclusive, &|a, b| a + b)
        });
        of!(u8, cummax, |bits| (bits % 251) as u8, |x: &[u8]| scan(x, (0, 0), exclusive, &std::cmp::max));
        of!(u64, cumprod, |bits| bits | 1, |x: &[u64]| scan(x, (1, 1), exclusive, &|a, b| a.wrapping_mul(b)));
        of!(f16, cumsum, |bits| f16::from_f32((bits % 7) as f32 / 8.0), |x: &[f16]| {
            let wide: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
            let sums = scan(&wide, (first, -0.0), exclusive, &|a, b| a + b);
            sums.into_iter().map(f16::from_f32).collect::<Vec<_>>()
        });
        of!(Bool, cumany, |bits| Bool(u8::from(bits % 61 == 0)), |x: &[Bool]| {
            truth(x.iter().map(|x| x.0 != 0), exclusive, false)
        });
    }
}

//! Infinities, NaN and numbers at the ends of exponents: what reductions, scans, quantiles and counts make of them.

use crate::common::edge::by_turns;
use windlass::arrays::{Combine, Method};
use windlass::reductions::{All, SoftmaxElement};
use windlass::tensor::Layout;
use windlass::{Device, Element, F8E5M2, PendingDispatch, Tensor, TensorRef, f16};

fn all<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

fn read<T: Element, V>(device: &Device, x: PendingDispatch<Tensor<T>, V>) -> Vec<T> {
    all(device, &x.await_result().unwrap())
}

/// The three ways of a row: as a row, as a column, and among others.
fn softmax<T: SoftmaxElement + Into<f64>>(devices: &[Device], of: fn(f64) -> T) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [
        [inf, 1.0, 2.0],
        [1.0, inf, inf],
        [-inf, inf, 0.0],
        [inf, nan, 0.0],
        [nan, inf, 0.0],
        [nan, 1.0, -inf],
        [-inf, -inf, -inf],
        [-inf, 0.0, -inf],
        [1.0, 2.0, 3.0],
    ];
    for device in devices {
        // Long enough that groups are joined.
        for repeated in [1, 30, 700] {
            for row in rows {
                let row: Vec<T> = row.iter().cycle().take(3 * repeated).map(|x| of(*x)).collect();
                let n = row.len();
                let flat = device.tensor([1, n], row.clone()).unwrap();
                let column = device.tensor([n, 1], row.clone()).unwrap();
                let spread: Vec<T> = row.iter().flat_map(|x| [*x, of(0.5)]).collect();
                let spread = device.tensor([n, 2], spread).unwrap();
                let spread = spread.split(1, 1).unwrap().0;
                let views = [(flat.view(), -1), (column.view(), 0), (spread.clone(), 0)];
                let has = |f: fn(f64) -> bool| row.iter().any(|x| f((*x).into()));
                let is_nan = has(f64::is_nan) || has(|x| x == f64::INFINITY) || !has(f64::is_finite);
                for (view, axis) in views {
                    let about = format!("{} {:?} axis {axis} of {:?}", T::DTYPE, &rows, view.layout());
                    let made: Vec<f64> =
                        read(device, device.softmax(&view, axis).unwrap()).into_iter().map(Into::into).collect();
                    let logs: Vec<f64> =
                        read(device, device.log_softmax(&view, axis).unwrap()).into_iter().map(Into::into).collect();
                    assert!(made.iter().chain(&logs).all(|y| y.is_nan() == is_nan), "{about}: {made:?} {logs:?}");
                }
            }
        }
    }
}

/// Rows of a large tensor, with others between them, have the bits of the same rows in small ones.
fn many_rows<T: SoftmaxElement>(devices: &[Device], of: fn(f64) -> T) {
    const FEW: usize = 5;
    for n in [64, 65, 512, 1000, 1024, 1088] {
        let rows = ((1 << 16) / n + FEW) / FEW * FEW;
        let element = |k: usize| match (k / n % 7, k % 61) {
            (3, 5) => f64::NAN,
            (4, 6) => f64::INFINITY,
            (5, _) => f64::NEG_INFINITY,
            (6, 7) => f64::NEG_INFINITY,
            _ => (k * 7919 % 10_007) as f64 / 300.0 - 20.0,
        };
        let x: Vec<T> = (0..rows * n).map(|k| of(element(k))).collect();
        // A row, then as many others; all begin one element further than memory.
        let apart: Vec<T> = x.chunks(n).flat_map(|row| row.iter().copied().chain(vec![of(1.0); n])).collect();
        for device in devices {
            let buffer = by_turns(device, [&apart[..1], &apart].concat());
            let layout = Layout::new([rows, n], [2 * n as isize, 1], 1).unwrap();
            let view = TensorRef::from_buffer(&buffer, layout).unwrap();
            for logarithm in [false, true] {
                let call = |x: &TensorRef<'_, T>| match logarithm {
                    true => read(device, device.log_softmax(x, 1).unwrap()),
                    false => read(device, device.softmax(x, 1).unwrap()),
                };
                let got = call(&view);
                for (some, got) in x.chunks(FEW * n).zip(got.chunks(FEW * n)) {
                    let wanted = call(&device.tensor([FEW, n], some.to_vec()).unwrap().view());
                    let same = bytemuck::cast_slice::<T, u8>(got) == bytemuck::cast_slice::<T, u8>(&wanted);
                    assert!(same, "{} rows of {n} {}, {logarithm}, {device:?}", rows, T::DTYPE);
                }
            }
        }
    }
}

fn logsumexp(devices: &[Device]) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for device in devices {
        for (row, wanted) in [
            ([inf, 1.0, -inf], inf),
            ([1.0, inf, inf], inf),
            ([-inf, inf, 0.0], inf),
            ([inf, nan, 0.0], nan),
            ([nan, inf, 0.0], nan),
            ([-inf; 3], -inf),
            ([1.7e308, -1.7e308, 0.0], 1.7e308),
        ] {
            for repeated in [1, 700] {
                let n = 3 * repeated;
                let row: Vec<f64> = row.iter().copied().cycle().take(n).collect();
                let (flat, column) = (device.tensor([1, n], row.clone()).unwrap(), device.tensor([n, 1], row).unwrap());
                for got in [device.logsumexp(&flat, 1), device.logsumexp(&column, 0)] {
                    let got = read(device, got.unwrap())[0];
                    assert!(got == wanted || (got.is_nan() && wanted.is_nan()), "{got}, not {wanted}");
                }
            }
        }
    }
}

pub(crate) fn exponentials(devices: &[Device]) {
    softmax::<f32>(devices, |x| x as f32);
    softmax::<f64>(devices, |x| x);
    softmax::<f16>(devices, f16::from_f64);
    many_rows::<f32>(devices, |x| x as f32);
    many_rows::<f64>(devices, |x| x);
    logsumexp(devices);
}

/// An extreme is one of the elements, also of the type whose conversions make infinities finite.
pub(crate) fn extremes_are_elements(devices: &[Device]) {
    const INF: u8 = 0x7c;
    const MINUS: u8 = 0xfc;
    const LEAST: u8 = 0xfb;
    const ONE: u8 = 0x3c;
    for device in devices {
        let tensor = |x: &[u8]| device.tensor([x.len()], x.iter().map(|x| F8E5M2::from_bits(*x)).collect::<Vec<_>>());
        fn bits_of<V>(device: &Device, x: PendingDispatch<Tensor<F8E5M2>, V>) -> Vec<u8> {
            read(device, x).into_iter().map(F8E5M2::to_bits).collect()
        }
        let bits = |x| bits_of::<windlass::op::Sure>(device, x);
        let x = tensor(&[INF, ONE]).unwrap();
        assert_eq!(bits(device.max(&x, 0).unwrap()), [INF]);
        assert_eq!(bits(device.min(&x, 0).unwrap()), [ONE]);
        assert_eq!(bits(device.norm_inf(&x, All).unwrap()), [INF]);
        let x = tensor(&[MINUS, LEAST]).unwrap();
        assert_eq!(bits(device.min(&x, 0).unwrap()), [MINUS]);
        assert_eq!(bits(device.norm_inf(&x, All).unwrap()), [INF]);
        assert_eq!(bits(device.max(&tensor(&[MINUS; 3]).unwrap(), 0).unwrap()), [MINUS]);
        assert_eq!(bits(device.cummax(&x, 0).unwrap()), [MINUS, LEAST]);
        assert_eq!(bits(device.cummin(&x, 0).unwrap()), [MINUS, MINUS]);
        // Long enough that chunks are joined, and along columns.
        let long: Vec<u8> = (0..70).flat_map(|i| [if i < 40 { MINUS } else { LEAST }, ONE]).collect();
        let long = device.tensor([70, 2], long.into_iter().map(F8E5M2::from_bits).collect::<Vec<_>>()).unwrap();
        let so_far = bits(device.cummax(&long, 0).unwrap());
        assert!((0..70).all(|i| so_far[2 * i] == if i < 40 { MINUS } else { LEAST }), "{so_far:?}");
        let (values, places) = device.cummax_with_indices(&x, 0).unwrap();
        assert_eq!((bits(values), read(device, places)), (vec![MINUS, LEAST], vec![0, 1]));
        let (values, places) = device.cummin_with_indices(&tensor(&[INF, 0x7b, INF]).unwrap(), 0).unwrap();
        assert_eq!((bits(values), read(device, places)), (vec![INF, 0x7b, 0x7b], vec![0, 1, 1]));
        let there = tensor(&[INF, ONE, MINUS]).unwrap();
        let indices = device.tensor([3], [0i32, 1, 2]).unwrap();
        let most = device.put(there, &indices, &tensor(&[ONE, INF, MINUS]).unwrap(), 0, Combine::Max).unwrap();
        assert_eq!(bits_of(device, most), [INF, INF, MINUS]);
    }
}

pub(crate) fn quantiles(devices: &[Device]) {
    let (inf, most) = (f64::INFINITY, 1.7e308);
    for device in devices {
        let of = |x: &[f64], q: &[f64], method| {
            let x = device.tensor([x.len()], x.to_vec()).unwrap();
            read(device, device.quantile(&x, q, 0, method).unwrap())
        };
        let median = |x: &[f64]| {
            let x = device.tensor([x.len()], x.to_vec()).unwrap();
            read(device, device.median(&x, 0).unwrap())[0]
        };
        assert_eq!(median(&[4.0, 5.0, inf]), 5.0);
        assert_eq!(median(&[-inf, 4.0, 5.0]), 4.0);
        assert_eq!(median(&[4.0, inf]), inf);
        assert_eq!(median(&[-inf, 4.0]), -inf);
        assert!(median(&[-inf, inf]).is_nan() && median(&[1.0, f64::NAN]).is_nan());
        assert_eq!(median(&[-most, most]), 0.0);
        assert_eq!(median(&[most, most]), most);
        assert_eq!(of(&[-most, most], &[0.0, 0.25, 0.75, 1.0], Method::Linear), [-most, -most / 2.0, most / 2.0, most]);
        assert_eq!(of(&[4.0, inf], &[0.0, 0.25, 1.0], Method::Linear), [4.0, inf, inf]);
        assert_eq!(of(&[-inf, 4.0], &[0.0, 0.75, 1.0], Method::Linear), [-inf, -inf, 4.0]);
        assert_eq!(of(&[4.0, 5.0, inf], &[0.5], Method::Midpoint), [5.0]);
        assert_eq!(of(&[4.0, inf], &[0.5], Method::AveragedInvertedCdf), [inf]);
        assert_eq!(of(&[1.0, 2.0, inf], &[2.0 / 3.0], Method::AveragedInvertedCdf), [inf]);
        let halves = device.tensor([3], [-65504.0f32, 65504.0, f32::INFINITY].map(f16::from_f32)).unwrap();
        assert_eq!(read(device, device.median(&halves, 0).unwrap()), [f16::MAX]);
    }
}

pub(crate) fn counts(devices: &[Device]) {
    let (inf, nan, most) = (f64::INFINITY, f64::NAN, 1.7e308);
    let says = |error: windlass::Error, argument: &str, what: &str| {
        let text = error.to_string();
        assert!(text.contains(&format!("`{argument}`")) && text.contains(what), "{text}, not {what}");
    };
    for device in devices {
        for x in [[1.0, nan, 2.0], [1.0, inf, 2.0], [-inf, 1.0, 2.0], [nan; 3]] {
            let x = device.tensor([3], x).unwrap();
            says(device.histogram(&x, 2, None).unwrap_err(), "range", "no range");
            says(device.histogram_weighted(&x, 2, None, &x).unwrap_err(), "range", "no range");
            // With a range the others are counted.
            let (counts, _) = device.histogram(&x, 2, Some([0.0, 2.0])).unwrap();
            assert!(read(device, counts).iter().sum::<i64>() <= 2);
        }
        // The edges of a range that is wider than the largest number are those of a smaller one, enlarged.
        let x = device.tensor([4], [-most, -1.0, 1.0, most]).unwrap();
        let (_, small) = device.histogram(&x, 4, Some([-most / 1024.0, most / 1024.0])).unwrap();
        let wanted: Vec<f64> = all(device, &small).into_iter().map(|edge| edge * 1024.0).collect();
        for range in [None, Some([-most, most])] {
            let (counts, edges) = device.histogram(&x, 4, range).unwrap();
            assert_eq!(all(device, &edges), wanted);
            assert_eq!(read(device, counts), [1, 1, 1, 1]);
        }
        // Of a width of a few of the smallest numbers no edge is beyond the last one.
        let tiny = 5.0 * f64::from_bits(1);
        let x = device.tensor([3], [0.0, tiny, tiny / 5.0]).unwrap();
        let (counts, edges) = device.histogram(&x, 9, None).unwrap();
        let (counts, edges) = (read(device, counts), all(device, &edges));
        assert!(edges.is_sorted() && edges[9] == tiny, "{edges:?}");
        assert!(counts.iter().all(|n| *n >= 0) && counts.iter().sum::<i64>() == 3, "{counts:?}");
        // A range that the type of the elements does not have.
        let halves = device.tensor([1], [f16::ONE]).unwrap();
        says(device.histogram(&halves, 2, Some([0.0, 1e6])).unwrap_err(), "range", "f16");
        let single = device.tensor([1], [1.0f32]).unwrap();
        says(device.histogram(&single, 2, Some([-1e39, 0.0])).unwrap_err(), "range", "f32");

        let x = device.tensor([3], [0.5f32, 1.5, 2.5]).unwrap();
        let weights = device.tensor([3], [1.0f64, 2.0, 4.0]).unwrap();
        for edges in [vec![0.0f32, 2.0, 1.0], vec![1.0, 0.0], vec![f32::NAN, 1.0]] {
            let edges = device.tensor([edges.len()], edges).unwrap();
            says(device.histogram_between(&x, &edges).unwrap().await_result().unwrap_err().into(), "edges", "below");
            let sums = device.histogram_weighted_between(&x, &edges, &weights).unwrap();
            says(sums.await_result().unwrap_err().into(), "edges", "below");
        }
        let edges = device.tensor([5], [0.0f32, 1.0, 1.0, 2.0, f32::INFINITY]).unwrap();
        assert_eq!(read(device, device.histogram_between(&x, &edges).unwrap()), [1, 0, 1, 1]);
        assert_eq!(
            read(device, device.histogram_weighted_between(&x, &edges, &weights).unwrap()),
            [1.0, 0.0, 2.0, 4.0]
        );
        for bins in [0, 1, 4] {
            for (x, at) in [(vec![-1i64], "number 0 of them is"), (vec![2, 0, i64::MIN, -1], "number 2 of them is")] {
                let weights = device.full([x.len()], 1.0f32).unwrap();
                let x = device.tensor([x.len()], x).unwrap();
                says(device.bincount(&x, bins).unwrap().await_result().unwrap_err().into(), "x", at);
                let sums = device.bincount_weighted(&x, bins, &weights).unwrap();
                says(sums.await_result().unwrap_err().into(), "x", at);
            }
            let large = device.tensor([3], [u64::MAX, 0, 9]).unwrap();
            let counts = read(device, device.bincount(&large, bins).unwrap());
            assert_eq!(counts, [1, 0, 0, 0][..bins].to_vec());
        }
    }
}

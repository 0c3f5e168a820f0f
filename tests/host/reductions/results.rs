//! Results that are known: without elements, at the ends of ranges, of formulas, on any number of threads.

use crate::common::edge::{Edge, lent};
use crate::common::{devices, host, inline};
use windlass::expressions::{extent, position};
use windlass::reductions::{All, ArgMax, ArgMin, Keep, LogSumExp, Mean, Norm2, Prod, Sum};
use windlass::tensor::AxisSlice;
use windlass::{Bool, Device, HostPool, Tensor};

#[test]
fn without_elements_a_result_is_what_changes_nothing() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 0]).unwrap();
        let item = |pending: windlass::PendingDispatch<windlass::Tensor<f32>>| {
            device.download(&pending.into_output()).unwrap().await_result().unwrap()[1]
        };
        assert_eq!(item(device.sum(&x, 1).unwrap()).to_bits(), 0f32.to_bits());
        assert_eq!(item(device.prod(&x, 1).unwrap()), 1.0);
        assert!(item(device.mean(&x, 1).unwrap()).is_nan());
        assert!(item(device.var(&x, 1, 0).unwrap()).is_nan());
        assert_eq!(item(device.norm2(&x, 1).unwrap()), 0.0);
        assert_eq!(item(device.logsumexp(&x, 1).unwrap()), f32::NEG_INFINITY);
        assert_eq!(device.item(&device.all_true(&x, All).unwrap().into_output()).unwrap(), Bool::from(true));
        assert_eq!(device.item(&device.any_true(&x, All).unwrap().into_output()).unwrap(), Bool::from(false));
        assert_eq!(device.item(&device.count_nonzero(&x, All).unwrap().into_output()).unwrap(), 0);
        assert_eq!(device.sum(&x, 0).unwrap().await_result().unwrap().shape(), [0]);
    }
}

#[test]
fn softmax_of_an_infinite_element_is_nan_along_any_axis() {
    super::ends::exponentials(&devices());
}

#[test]
fn an_extreme_is_an_element_also_where_conversions_saturate() {
    super::ends::extremes_are_elements(&devices());
}

#[test]
fn quantiles_beside_infinities_and_of_distances_beyond_the_type_are_right() {
    super::ends::quantiles(&devices());
}

#[test]
fn what_cannot_be_counted_is_told() {
    super::ends::counts(&devices());
}

#[test]
fn zeros_keep_their_sign_and_norms_their_range() {
    for device in devices() {
        let item =
            |pending: windlass::PendingDispatch<windlass::Tensor<f64>>| device.item(&pending.into_output()).unwrap();
        let zeros = device.tensor([3], [-0.0f64; 3]).unwrap();
        assert_eq!(item(device.sum(&zeros, 0).unwrap()).to_bits(), (-0.0f64).to_bits());
        for (scale, close) in [(1e300, 1e286), (1e-320, 2e-323), (1e-300, 1e-314), (1.0, 1e-14)] {
            let x = device.tensor([2], [3.0 * scale, 4.0 * scale]).unwrap();
            let norm = item(device.norm2(&x, 0).unwrap());
            assert!((norm - 5.0 * scale).abs() <= close, "{norm} of {scale}");
        }
        let mixed = device.tensor([3], [1e200, 1.0, 1e-300]).unwrap();
        assert!((item(device.norm2(&mixed, 0).unwrap()) / 1e200 - 1.0).abs() < 1e-15);
        let huge = device.tensor([2], [1000.0f64, 1000.0]).unwrap();
        assert!((item(device.logsumexp(&huge, 0).unwrap()) - 1000.0 - 2f64.ln()).abs() < 1e-12);
        // The distances are small beside the mean.
        let far = device.tensor([4], [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).unwrap();
        assert_eq!(item(device.var(&far, 0, 1).unwrap()), 30.0);
    }
}

#[test]
fn formulas_are_fused_before_and_after() {
    for device in devices() {
        let (x, y) = (device.full([4, 300], 2.0f32).unwrap(), device.full([300], 0.5f32).unwrap());
        let formula = device.reduce_then((&x, &y), Keep(-1), |(x, y)| x * y + 1.0, Mean, |m| m * 10.0 + 1.0).unwrap();
        let result = formula.await_result().unwrap();
        assert_eq!(result.shape(), [4, 1]);
        assert!(device.allclose(&result, &device.full([4, 1], 21.0f32).unwrap(), 0.0, 0.0).unwrap());
        let chain = ((&x * &y) + 1.0).reduce(&device, Keep(-1), Mean).unwrap().await_result().unwrap();
        assert!(device.allclose(&chain, &device.full([4, 1], 2.0f32).unwrap(), 0.0, 0.0).unwrap());
        // A formula may take the place of its elements.
        let x = device.full([5, 7], 1.0f64).unwrap();
        let places = device
            .reduce(&x, 0, |x| x * (position(0) * extent(1) + position(1)).cast::<f64>(), Sum)
            .unwrap()
            .await_result()
            .unwrap();
        let wanted: Vec<f64> = (0..7).map(|column| f64::from(70 + 5 * column)).collect();
        assert_eq!(device.download(&places).unwrap().await_result().unwrap(), wanted);
        let half = device.full([1000], windlass::f16::from_f32(100.0)).unwrap();
        let sum = device.reduce(&half, All, |x| x.cast::<f32>(), Sum).unwrap().into_output();
        assert_eq!(device.item(&sum).unwrap(), 100_000.0);
    }
}

#[test]
fn the_bits_are_those_of_one_thread() {
    let open = |threads| Device::builder().host_pool(HostPool::Threads(threads)).host().open().unwrap();
    let values: Vec<f32> = (0..300_000u32).map(|i| ((i.wrapping_mul(2_654_435_761) >> 8) as f32).sin()).collect();
    let run = |device: &Device| {
        let x = device.tensor([300, 1000], &values).unwrap();
        let mut bits: Vec<u32> = Vec::new();
        let every = x.slice((.., AxisSlice::from(..).step(3))).unwrap();
        for axes in [vec![0], vec![1], vec![0, 1]] {
            for view in [x.view(), every.view()] {
                let read = |tensor| device.download(&tensor).unwrap().await_result().unwrap();
                let results = [
                    read(device.reduce(&view, axes.clone(), |x| x, Sum).unwrap().into_output()),
                    read(device.reduce(&view, axes.clone(), |x| x + 1.0, Prod).unwrap().into_output()),
                    read(device.reduce(&view, axes.clone(), |x| x, LogSumExp).unwrap().into_output()),
                    read(device.reduce(&view, axes.clone(), |x| x, Norm2).unwrap().into_output()),
                ];
                bits.extend(results.iter().flatten().map(|x| x.to_bits()));
                let places = device.reduce(&view, axes.clone(), |x| x, ArgMax).unwrap().into_output();
                bits.extend(device.download(&places).unwrap().await_result().unwrap().iter().map(|i| *i as u32));
            }
        }
        bits
    };
    let wanted = run(&open(1));
    for threads in [2, 3, 16] {
        assert!(run(&open(threads)) == wanted, "{threads} threads");
    }
}

/// Of elements that are as large as each other the first one counts, be they the least that there are, and a NaN before all.
#[test]
fn the_first_of_equals_is_the_place() {
    for device in devices() {
        for n in [1, 15, 16, 17, 31, 33, 255, 256, 257, 1023, 1025, 3000, 70_001] {
            let place = |x: &[f32]| {
                let x = device.tensor([n], x).unwrap();
                let read = |tensor| device.download(&tensor).unwrap().await_result().unwrap()[0];
                let least = device.reduce(&x, All, |x| -x, ArgMin).unwrap().into_output();
                assert_eq!(read(least), read(device.argmax(&x, All).unwrap().into_output()), "{n}");
                read(device.argmax(&x, All).unwrap().into_output()) as usize
            };
            for x in [f32::NEG_INFINITY, f32::INFINITY, -0.0, -3.0] {
                assert_eq!(place(&vec![x; n]), 0, "{n} times {x}");
            }
            for at in [0, n / 3, n / 2, n - 1] {
                let mut x = vec![f32::NEG_INFINITY; n];
                for (k, x) in x.iter_mut().enumerate().skip(at) {
                    *x = if k % 2 == 0 { 0.0 } else { -0.0 };
                }
                assert_eq!(place(&x), at, "zeros from {at} of {n}");
                (x[n - 1], x[at]) = (f32::NAN, f32::NAN);
                assert_eq!(place(&x), at, "NaN at {at} of {n}");
            }
        }
    }
}

#[test]
fn softmax_is_that_of_double_precision() {
    for device in devices() {
        let values: Vec<f64> =
            (0..3000u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 20) / 40.0 - 50.0).collect();
        for (extents, axis) in [([3, 1000], 1), ([1000, 3], 0), ([2, 1500], -1)] {
            let x = device.tensor(extents, &values).unwrap();
            let single = x.cast::<f32>().eval(&device).unwrap().into_output();
            let y = device.softmax(&single, axis).unwrap().into_output();
            let log = device.log_softmax(&x, axis).unwrap().into_output();
            let read = |x: &windlass::Tensor<f64>| device.download(x).unwrap().await_result().unwrap();
            let (y, log) = (read(&y.cast::<f64>().eval(&device).unwrap().into_output()), read(&log));
            let along = if axis == 0 { 3 } else { 1 };
            let lines = if axis == 0 { 3 } else { extents[0] };
            for line in 0..lines {
                let start = if axis == 0 { line } else { line * extents[1] };
                let n = 3000 / lines;
                let line: Vec<usize> = (0..n).map(|i| start + i * along).collect();
                let top = line.iter().map(|i| values[*i]).fold(f64::MIN, f64::max);
                let sum: f64 = line.iter().map(|i| (values[*i] - top).exp()).sum();
                for i in line {
                    let want = (values[i] - top).exp() / sum;
                    assert!((y[i] - want).abs() <= 2e-5 * want + 2e-45, "{} instead of {want}", y[i]);
                    let want = values[i] - top - sum.ln();
                    assert!((log[i] - want).abs() <= 1e-13 * (1.0 + want.abs()), "{} instead of {want}", log[i]);
                }
            }
        }
        let odd = device.tensor([2, 2], [f32::INFINITY, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY]).unwrap();
        let nan = device.softmax(&odd, 1).unwrap().into_output();
        assert!(device.download(&nan).unwrap().await_result().unwrap()[..].iter().filter(|x| x.is_nan()).count() >= 3);
    }
}

/// Calls that share all but one thing, again and again: what is kept of one is not taken for another.
#[test]
fn repeated_calls_that_are_nearly_alike_keep_apart() {
    for device in devices() {
        let x = device.tensor([2, 2], [1.0f64, 2.0, 3.0, 6.0]).unwrap();
        let (row, turned) = (device.tensor([2], [1.0f64, 0.0]).unwrap(), x.transpose());
        for turn in 0..3u8 {
            let is = |result: windlass::Result<windlass::PendingDispatch<windlass::Tensor<f64>>>, text: &str| {
                let result = result.unwrap().await_result().unwrap();
                assert_eq!(device.show(&result).unwrap().to_string(), text, "turn {turn}");
            };
            is(device.sum(&x, 0), "[4. 8.]");
            is(device.sum(&x, Keep(0)), "[[4. 8.]]");
            is(device.sum(&x, 1), "[3. 9.]");
            is(device.sum(&turned, 1), "[4. 8.]");
            is(device.mean(&x, 0), "[2. 4.]");
            is(device.var(&x, 0, 0), "[1. 4.]");
            is(device.var(&x, 0, 1), "[2. 8.]");
            let scale = f64::from(turn);
            is(device.reduce(&x, 0, |x| x * scale, Sum), ["[0. 0.]", "[4. 8.]", "[ 8. 16.]"][usize::from(turn)]);
            is(device.reduce((&x, &row), 0, |(x, y)| x * y, Sum), "[4. 0.]");
            is(device.reduce((&row, &x), 0, |(x, y)| x * y, Sum), "[4. 0.]");
            is(device.reduce((&x, &x), 0, |(x, y)| x * y, Sum), "[10. 40.]");
            is(
                device.reduce_then(&x, 0, |x| x * 1.0, Sum, |sum| sum + scale),
                ["[4. 8.]", "[5. 9.]", "[ 6. 10.]"][usize::from(turn)],
            );
            is(device.reduce_then(&x, 0, |x| x * 1.0, Sum, |sum| sum * 2.0), "[ 8. 16.]");
            assert!(device.sum(&x, 2).is_err() && device.sum(&x, [0, 0]).is_err());
        }
    }
}

/// The last group of a tree, and the last of the partial results above it, may be a multiple of a vector and shorter than the
/// others.
#[test]
fn nothing_is_read_behind_a_last_group_that_is_shorter() {
    let lengths = (1088..=4096).step_by(64).chain([1088 * 1024, 1088 * 1024 + 64]);
    let devices = [host(2).open().unwrap(), inline().open().unwrap()];
    for (length, device) in lengths.flat_map(|length| devices.iter().map(move |device| (length, device))) {
        let x = Tensor::from_buffer(lent(device, &vec![1.0f64; length], Edge::End), [length]).unwrap();
        assert_eq!(device.item(&device.sum(&x, All).unwrap().into_output()).unwrap(), length as f64);
        assert_eq!(device.item(&device.mean(&x, All).unwrap().into_output()).unwrap(), 1.0);
        let formula = device.reduce(&x, All, |x| x + 1.0, Sum).unwrap().into_output();
        assert_eq!(device.item(&formula).unwrap(), 2.0 * length as f64);
        let x = Tensor::from_buffer(lent(device, &vec![1u8; length], Edge::End), [length]).unwrap();
        assert_eq!(device.item(&device.sum(&x, All).unwrap().into_output()).unwrap(), length as u64);
    }
}

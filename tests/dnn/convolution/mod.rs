//! Convolutions and their gradients against the definition, on every device under test.

mod fused;
pub(super) mod oracle;
mod refusals;

use crate::common::{Rng, devices, seeds};
use oracle::{Case, Numbers, Order, Real, down, near, up};
use windlass::{Device, bf16, f16};

const ORDERS: [Order; 3] = [Order::First, Order::Last, Order::Odd];

/// The three directions of a case.
fn all_directions<T: Real>(device: &Device, rng: &mut Rng, case: &Case, what: &str) {
    let (dnn, spec) = (device.dnn(), case.spec());
    let [x, w, dy] = [&case.x, &case.w, &case.y()].map(|extents| Numbers::random::<T>(rng, extents));
    let what = format!("{} {:?} {what} {case:?}", T::DTYPE, device.kind());
    let mut tensor = |numbers: &Numbers| {
        let order = rng.pick(&ORDERS);
        up::<T>(device, rng, numbers, order)
    };
    let (of_x, of_w, of_dy) = (tensor(&x), tensor(&w), tensor(&dy));
    let [ax, aw, ay] = [&x, &w, &dy].map(Numbers::magnitudes);
    let terms = |of: &[usize]| of.iter().product::<usize>();

    let y = dnn.convolve(&spec, &of_x, &of_w).expect(&what).await_result().expect(&what);
    assert_eq!(y.shape(), case.y(), "{what}");
    let scale = case.forward(&ax, &aw);
    near(&down(device, &y), &case.forward(&x, &w), &scale, terms(&case.w[1..]), &format!("forward {what}"));

    let dx = dnn.convolve_data(&spec, &of_dy, &of_w, &case.x[2..]).expect(&what).await_result().expect(&what);
    assert_eq!(dx.shape(), case.x, "{what}");
    let scale = case.data(&ay, &aw);
    let count = terms(&case.w) / case.w[1].max(1);
    near(&down(device, &dx), &case.data(&dy, &w), &scale, count, &format!("data {what}"));

    let dw = dnn.convolve_filter(&spec, &of_x, &of_dy, &case.w[2..]).expect(&what).await_result().expect(&what);
    assert_eq!(dw.shape(), case.w, "{what}");
    let scale = case.filter(&ax, &ay);
    let count = terms(&case.y()) / case.w[0].max(1);
    near(&down(device, &dw), &case.filter(&x, &dy), &scale, count, &format!("filter {what}"));
}

#[test]
fn random_convolutions_and_gradients_equal_the_definition() {
    let devices = devices();
    seeds(60, |rng, seed| {
        let case = Case::random(rng);
        for device in &devices {
            let rng = &mut Rng::new(seed);
            match seed % 4 {
                0 => all_directions::<f32>(device, rng, &case, "random"),
                1 => all_directions::<f16>(device, rng, &case, "random"),
                2 => all_directions::<bf16>(device, rng, &case, "random"),
                _ => all_directions::<f64>(device, rng, &case, "random"),
            }
        }
    });
}

#[test]
fn a_convolution_of_nothing_is_nothing_or_zeros() {
    let empty = |x: &[usize], w: &[usize], padding: usize| {
        let case = Case::new(x, w);
        Case { padding: vec![(padding, padding); x.len() - 2], ..case }
    };
    let cases = [
        empty(&[0, 2, 5, 5], &[3, 2, 3, 3], 1),
        empty(&[2, 0, 5, 5], &[3, 0, 3, 3], 1),
        empty(&[2, 2, 5, 5], &[0, 2, 3, 3], 1),
        empty(&[2, 2, 0, 5], &[3, 2, 3, 3], 3),
        empty(&[2, 2, 0], &[3, 2, 1], 1),
        empty(&[0, 0, 0], &[0, 0, 2], 1),
        empty(&[1, 1, 1], &[1, 1, 1], 0),
        empty(&[1, 1, 1, 1, 1], &[1, 1, 1, 1, 1], 0),
        empty(&[2, 3, 4, 4], &[2, 3, 4, 4], 0),
    ];
    for device in devices() {
        for (k, case) in cases.iter().enumerate() {
            all_directions::<f32>(&device, &mut Rng::new(k as u64), case, "empty");
            all_directions::<f16>(&device, &mut Rng::new(k as u64), case, "empty");
        }
    }
}

#[test]
fn distances_that_lead_nowhere_do_not_matter() {
    let mut case = Case::new(&[1, 2, 3, 4], &[2, 2, 3, 1]);
    (case.stride, case.dilation) = (vec![usize::MAX, 1], vec![1, usize::MAX]);
    for device in devices() {
        let (spec, mut rng) = (case.spec(), Rng::new(5));
        let [x, w] = [&case.x, &case.w].map(|extents| Numbers::random::<f32>(&mut rng, extents));
        let (of_x, of_w) = (up::<f32>(&device, &mut rng, &x, Order::First), up(&device, &mut rng, &w, Order::First));
        let y = device.dnn().convolve(&spec, &of_x, &of_w).unwrap().await_result().unwrap();
        let plain = Case::new(&case.x, &case.w);
        near(&down(&device, &y), &plain.forward(&x, &w), &plain.forward(&x.magnitudes(), &w.magnitudes()), 6, "plain");
    }
}

#[test]
fn a_transposed_convolution_is_the_gradient_of_one() {
    for device in devices() {
        for (more, padding) in [(0, 0), (1, 1), (2, 0)] {
            let mut case = Case::new(&[2, 3, 13 + more - 2 * padding, 7 + more - 2 * padding], &[4, 3, 4, 1]);
            (case.stride, case.padding) = (vec![3, 3], vec![(padding, padding); 2]);
            let mut rng = Rng::new(more as u64);
            let [dy, w] = [&case.y(), &case.w].map(|extents| Numbers::random::<f32>(&mut rng, extents));
            let (of_dy, of_w) = (up::<f32>(&device, &mut rng, &dy, Order::Last), up(&device, &mut rng, &w, Order::Odd));
            let y =
                device.dnn().convolve_transposed(&case.spec(), &of_dy, &of_w, more).unwrap().await_result().unwrap();
            assert_eq!(y.shape(), case.x, "{more}");
            let scale = case.data(&dy.magnitudes(), &w.magnitudes());
            near(&down(&device, &y), &case.data(&dy, &w), &scale, 16, "transposed");
        }
    }
}

#[test]
fn the_target_is_overwritten_where_it_lies_and_nowhere_else() {
    for device in devices() {
        for order in [Order::First, Order::Last] {
            let mut rng = Rng::new(9);
            let case = Case { padding: vec![(1, 0), (0, 2)], ..Case::new(&[2, 8, 9, 7], &[16, 8, 3, 3]) };
            let [x, w] = [&case.x, &case.w].map(|extents| Numbers::random::<f16>(&mut rng, extents));
            let of_x = up::<f16>(&device, &mut rng, &x, Order::First);
            let of_w = up::<f16>(&device, &mut rng, &w, Order::Odd);
            for offset in 0..3 {
                let numbers = Numbers { all: vec![f64::NAN; case.y().iter().product()], extents: case.y() };
                let y = up::<f16>(&device, &mut rng, &numbers, order);
                let len = y.buffer().len() + offset;
                let layout = windlass::tensor::Layout::new(y.shape(), y.layout().strides(), offset).unwrap();
                let poisoned = device.upload(vec![f16::NAN; len]).unwrap().into_output();
                let y = windlass::Tensor::from(poisoned).with_layout(layout).unwrap();
                let y = device.dnn().convolve_into(&case.spec(), &of_x, &of_w, y).unwrap().await_result().unwrap();
                let scale = case.forward(&x.magnitudes(), &w.magnitudes());
                near(&down(&device, &y), &case.forward(&x, &w), &scale, 72, &format!("{order:?} {offset}"));
                let all = device.download(y.buffer()).unwrap().await_result().unwrap();
                let written = all.iter().filter(|x| !x.is_nan()).count();
                assert_eq!(written, y.layout().len(), "{order:?} {offset}");
            }
        }
    }
}

#[test]
fn products_of_f32_are_not_rounded_to_fewer_bits() {
    for device in devices() {
        let fine = 1.0 + 2f32.powi(-12);
        let x = device.full([8, 64, 16, 16], fine).unwrap();
        let w = device.full([64, 64, 1, 1], 2f32.powi(-6)).unwrap();
        let dnn = device.dnn();
        let spec = windlass::dnn::Convolution::new();
        let y = down(&device, &dnn.convolve(&spec, &x, &w).unwrap().await_result().unwrap());
        assert!(y.iter().all(|y| (y - fine).abs() < 2f32.powi(-16)), "{:?}", &y[..4]);
        // It may be, on a GPU, if the caller allows it; it need not.
        let y = down(&device, &dnn.convolve(&spec.tf32(true), &x, &w).unwrap().await_result().unwrap());
        assert!(y.iter().all(|y| (y - 1.0).abs() < 2f32.powi(-9)), "{:?}", &y[..4]);
    }
}

/// Two shapes one after the other, often: each result has the same bits each time.
#[test]
fn depthwise_convolutions_of_two_sizes_take_turns() {
    for device in devices() {
        for order in [Order::First, Order::Last] {
            let mut rng = Rng::new(1);
            let shapes = [[4, 32, 28, 28], [4, 32, 14, 17]];
            let cases = shapes.map(|x| Case { groups: 32, padding: vec![(1, 1); 2], ..Case::new(&x, &[32, 1, 3, 3]) });
            let mut first: [Option<Vec<f16>>; 2] = [None, None];
            let tensors = cases.clone().map(|case| {
                let [x, w] = [&case.x, &case.w].map(|extents| Numbers::random::<f16>(&mut rng, extents));
                let (of_x, of_w) = (up::<f16>(&device, &mut rng, &x, order), up::<f16>(&device, &mut rng, &w, order));
                let scale = case.forward(&x.magnitudes(), &w.magnitudes());
                (of_x, of_w, case.forward(&x, &w), scale)
            });
            for turn in 0..if crate::common::is_host(&device) { 4 } else { 100 } {
                let (case, (x, w, want, scale)) = (&cases[turn % 2], &tensors[turn % 2]);
                let y = down(&device, &device.dnn().convolve(&case.spec(), x, w).unwrap().await_result().unwrap());
                near(&y, want, scale, 9, &format!("{order:?} {turn}"));
                match &first[turn % 2] {
                    Some(first) => assert_eq!(*first, y, "{order:?} {turn}"),
                    None => first[turn % 2] = Some(y),
                }
            }
        }
    }
}

/// One plan, many threads and streams.
#[test]
fn threads_share_a_plan() {
    for device in devices() {
        let case = Case { padding: vec![(1, 1); 2], ..Case::new(&[2, 16, 12, 12], &[16, 16, 3, 3]) };
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (device, case) = (&device, &case);
                scope.spawn(move || {
                    let mut rng = Rng::new(thread);
                    let [x, w] = [&case.x, &case.w].map(|extents| Numbers::random::<f32>(&mut rng, extents));
                    let (want, scale) = (case.forward(&x, &w), case.forward(&x.magnitudes(), &w.magnitudes()));
                    let of_x = up::<f32>(device, &mut rng, &x, Order::First);
                    let of_w = up::<f32>(device, &mut rng, &w, Order::First);
                    let all: Vec<_> =
                        (0..10).map(|_| device.dnn().convolve(&case.spec(), &of_x, &of_w).unwrap()).collect();
                    for y in all {
                        near(&down(device, &y.await_result().unwrap()), &want, &scale, 144, "threads");
                    }
                });
            }
        });
    }
}

/// By differences, in f64: a sum of results with random factors.
#[test]
fn gradients_are_those_of_the_sum() {
    for device in devices() {
        let case =
            Case { padding: vec![(1, 0), (2, 1)], stride: vec![2, 1], ..Case::new(&[1, 2, 6, 5], &[3, 2, 3, 2]) };
        let (dnn, spec, mut rng) = (device.dnn(), case.spec(), Rng::new(3));
        let [x, w, dy] = [&case.x, &case.w, &case.y()].map(|extents| Numbers::random::<f64>(&mut rng, extents));
        let mut sum = |x: &Numbers, w: &Numbers| {
            let (x, w) = (up::<f64>(&device, &mut rng, x, Order::First), up::<f64>(&device, &mut rng, w, Order::First));
            let y = down(&device, &dnn.convolve(&spec, &x, &w).unwrap().await_result().unwrap());
            y.iter().zip(&dy.all).map(|(y, dy)| y * dy).sum::<f64>()
        };
        let step = 1.0 / 64.0;
        let mut slope = |of_x: bool, k: usize| {
            let at = |by: f64| {
                let (mut x, mut w) = (x.clone(), w.clone());
                if of_x {
                    x.all[k] += by
                } else {
                    w.all[k] += by
                }
                (x, w)
            };
            let ((high_x, high_w), (low_x, low_w)) = (at(step), at(-step));
            (sum(&high_x, &high_w) - sum(&low_x, &low_w)) / (2.0 * step)
        };
        let by_x: Vec<f64> = (0..x.all.len()).map(|k| slope(true, k)).collect();
        let by_w: Vec<f64> = (0..w.all.len()).map(|k| slope(false, k)).collect();
        let rng = &mut Rng::new(4);
        let [of_x, of_w, of_dy] = [&x, &w, &dy].map(|numbers| up::<f64>(&device, rng, numbers, Order::First));
        let dx = dnn.convolve_data(&spec, &of_dy, &of_w, &case.x[2..]).unwrap().await_result().unwrap();
        let dw = dnn.convolve_filter(&spec, &of_x, &of_dy, &case.w[2..]).unwrap().await_result().unwrap();
        for (got, want) in down(&device, &dx).iter().zip(by_x).chain(down(&device, &dw).iter().zip(by_w)) {
            assert!((got - want).abs() < 1e-9 * (1.0 + want.abs()), "{got} {want}");
        }
    }
}

/// On the CPU an image alone is distributed over threads in another way than a batch.
#[test]
fn an_image_alone_has_the_bits_of_one_in_a_batch() {
    let device = Device::host().unwrap();
    let batch = std::thread::available_parallelism().map_or(8, usize::from).min(16);
    for (groups, order) in [(1, Order::First), (1, Order::Last), (2, Order::First), (2, Order::Last)] {
        let mut rng = Rng::new(5);
        // Parts of 64 places, of which the last has one.
        let window = [6, 228, 3, 3];
        let of = |n| Case { groups, padding: vec![(1, 1); 2], ..Case::new(&[n, 228 * groups, 11, 35], &window) };
        let (one, many) = (of(1), of(batch));
        let [x, w] = [&one.x, &one.w].map(|extents| Numbers::random::<f32>(&mut rng, extents));
        let all = Numbers { extents: many.x.clone(), all: x.all.repeat(batch) };
        let of_w = up::<f32>(&device, &mut rng, &w, order);
        let mut bits = |case: &Case, x: &Numbers| {
            let x = up::<f32>(&device, &mut rng, x, order);
            let y = device.dnn().convolve(&case.spec(), &x, &of_w).unwrap().await_result().unwrap();
            down(&device, &y).into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let (alone, together) = (bits(&one, &x), bits(&many, &all));
        assert!(together.chunks(alone.len()).all(|image| image == alone), "{groups} {order:?}");
    }
}

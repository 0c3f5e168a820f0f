//! The loops of the CPU beside the general path, which elements with gaps between them take: the same bits, at lengths around those of a
//! vector and of a chunk. (On a GPU both are one path.)

use crate::sample::{Number, Rng, read, same_bits, typed};
use windlass::dnn::{
    Beyond, Convolution, Coordinates, DnnElement, GridSample, Interpolation, LabelLoss, LossReduction, Pool, Resize,
    Sampling,
};
use windlass::reductions::SoftmaxElement;
use windlass::tensor::Layout;
use windlass::{Device, Tensor, tensor::AnyTensor};

/// Elements side by side, which end where the memory ends, and the same ones with poison between them.
fn both<T: Number>(device: &Device, extents: &[usize], elements: &[T]) -> [AnyTensor; 2] {
    let poison = T::of(f64::NAN);
    let far: Vec<T> = elements.iter().flat_map(|x| [*x, poison]).collect();
    let row_major = Layout::row_major(extents).unwrap();
    let strides: Vec<isize> = row_major.strides().iter().map(|stride| 2 * stride).collect();
    let with_gaps = Layout::new(extents, strides, 0).unwrap();
    let of = |memory: &[T], layout| AnyTensor::from_buffer(crate::common::up(device, memory), layout).unwrap();
    [of(elements, row_major), of(&far, with_gaps)]
}

fn elements<T: Number>(rng: &mut Rng, extents: &[usize]) -> Vec<T> {
    let special = rng.below(3) == 0;
    let one = |rng: &mut Rng| match rng.below(if special { 40 } else { 1 << 30 }) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -0.0,
        3 => 1e-40,
        _ => rng.unit() * 3.0,
    };
    (0..extents.iter().product()).map(|_| T::of(one(rng))).collect()
}

/// Around the lengths of vectors and chunks.
fn extent(rng: &mut Rng) -> usize {
    rng.among(&[1, 2, 3, 7, 8, 15, 17, 31, 33, 63, 64, 65, 100, 129])
}

#[track_caller]
fn same_on<T: Number>(device: &Device, made: [Tensor<T>; 2], what: &str) {
    same_bits(&made.map(|made| read(device, &made)), what);
}

fn resized<T: Number + SoftmaxElement>(device: &Device, rng: &mut Rng) {
    let rank = 1 + rng.below(4);
    let (mut from, mut to) = (vec![], vec![]);
    for axis in 0..rank {
        let large = axis + 2 >= rank;
        let n = if large { extent(rng) } else { 1 + rng.below(3) };
        from.push(n);
        to.push(if rng.below(3) == 0 {
            n
        } else if large {
            extent(rng)
        } else {
            1 + rng.below(4)
        });
    }
    let cubic = Interpolation::Cubic(-0.75);
    let coordinates = [
        Coordinates::HalfPixel,
        Coordinates::AlignCorners,
        Coordinates::Asymmetric,
        Coordinates::Crop(-0.25, 1.5),
        Coordinates::Crop(0.75, 0.125),
    ];
    let resize = Resize::new(rng.among(&[Interpolation::Linear, cubic]))
        .coordinates(rng.among(&coordinates))
        .exclude_outside(rng.below(2) == 0)
        .antialias(rng.below(5) == 0)
        .outside(7.5);
    let x = elements::<T>(rng, &from);
    let made = both(device, &from, &x)
        .map(|x| device.dnn().resize(typed::<T>(&x), &to, None, resize).unwrap().await_result().unwrap());
    same_on(device, made, &format!("{resize:?} of {from:?} to {to:?}"));
}

fn sampled<T: Number + SoftmaxElement>(device: &Device, rng: &mut Rng) {
    let [batch, channels] = [1 + rng.below(2), 1 + rng.below(3)];
    let extents = [batch, channels, extent(rng), extent(rng)];
    let places = [batch, 1 + rng.below(3), extent(rng), 2];
    let sampling = rng.among(&[Sampling::Nearest, Sampling::Linear]);
    let spec =
        GridSample::new(sampling).beyond(rng.among(&[Beyond::Zeros, Beyond::Border])).align_corners(rng.below(2) == 0);
    let coordinate = |rng: &mut Rng| match rng.below(20) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -1e30,
        3 => 1.0,
        4 => -1.0,
        5 => 1.0 + 1.0 / extents[3] as f64,
        _ => rng.unit() * 1.3,
    };
    let (x, grid): (Vec<T>, Vec<T>) =
        (elements(rng, &extents), (0..places.iter().product()).map(|_| T::of(coordinate(rng))).collect());
    let grids = both(device, &places, &grid);
    let all = both(device, &extents, &x);
    let made = [0, 1].map(|k| {
        let dnn = device.dnn();
        dnn.grid_sample(typed::<T>(&all[k]), typed::<T>(&grids[k]), spec).unwrap().await_result().unwrap()
    });
    same_on(device, made, &format!("{spec:?} of {extents:?} at {places:?}"));
}

fn pooled<T: Number>(device: &Device, rng: &mut Rng) {
    let rank = 1 + rng.below(3);
    let mut list = |of: &[usize]| (0..rank).map(|_| rng.among(of)).collect::<Vec<usize>>();
    let (window, stride) = (list(&[1, 2, 3, 4]), list(&[1, 1, 2, 2, 3, 5]));
    let (dilation, before, after) = (list(&[1, 1, 2]), list(&[0, 1, 2, 9]), list(&[0, 1, 3]));
    let mut extents = vec![2];
    // Of planes more lines than are laid out at once.
    let lines = if rank == 2 { 40 } else { 4 };
    extents.extend((0..rank).map(|axis| if axis + 1 == rank { extent(rng) } else { 3 + rng.below(lines) }));
    let spans = window.iter().zip(&dilation).map(|(n, d)| (n - 1) * d + 1);
    let padded = extents.iter().skip(1).zip(before.iter().zip(&after)).map(|(n, (a, b))| n + a + b);
    if spans.zip(padded).any(|(span, n)| span > n) {
        return;
    }
    let pool =
        Pool::new(&window[..]).stride(&stride[..]).dilation(&dilation[..]).padding_between(&before[..], &after[..]);
    let pool = pool.ceil(rng.below(2) == 0).count_padding(rng.below(2) == 0);
    let x = both(device, &extents, &elements::<T>(rng, &extents));
    let what = format!("{pool:?} of {extents:?}");
    let dnn = device.dnn();
    same_on(device, x.each_ref().map(|x| dnn.max_pool(typed::<T>(x), &pool).unwrap().into_output()), &what);
    same_on(device, x.each_ref().map(|x| dnn.average_pool(typed::<T>(x), &pool).unwrap().into_output()), &what);
    let placed = x.each_ref().map(|x| dnn.max_pool_places(typed::<T>(x), &pool).unwrap().into_output());
    let [(one, places), (other, far_places)] = placed;
    same_on(device, [one, other], &what);
    same_bits(&[places, far_places].map(|places| read(device, &places)), &what);
}

/// Losses of rows of scores, and their gradients.
fn lost<T: Number + SoftmaxElement>(device: &Device, rng: &mut Rng) {
    let classes = rng.among(&[1, 10, 63, 64, 65, 100, 127, 128, 129, 1000, 1023, 1024, 1025, 1100, 2049, 17_000]);
    let rows = 1 + rng.below(if classes < 200 { 70 } else { 3 });
    let mut extents = vec![rows, classes];
    extents.extend(vec![1; rng.below(3)]);
    let one = rng.below(4) == 0;
    let mut x = elements::<T>(rng, &extents);
    match rng.below(5) {
        0 => x.iter_mut().for_each(|x| *x = T::of(2.5)),
        1 => x.iter_mut().step_by(3).for_each(|x| *x = T::of(f64::NEG_INFINITY)),
        2 => x.iter_mut().take(classes).for_each(|x| *x = T::of(f64::NEG_INFINITY)),
        _ => {}
    }
    let x = both(device, &extents, &x);
    let of_labels: Vec<usize> = extents.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, n)| *n).collect();
    let ignored = if rng.below(2) == 0 { -100 } else { 0 };
    let label = |rng: &mut Rng| if rng.below(5) == 0 { ignored } else { rng.below(classes) as i64 };
    let labels: Vec<i64> = (0..rows).map(|_| label(rng)).collect();
    // Of the gradient, labels that are no class too.
    let wrong: Vec<i32> = labels.iter().map(|x| if one { -1 } else { *x as i32 }).collect();
    let (labels, wrong) =
        (device.tensor(&of_labels[..], labels).unwrap(), device.tensor(&of_labels[..], wrong).unwrap());
    let weights: Vec<T> = (0..classes).map(|_| T::of(rng.unit() + 1.0)).collect();
    let weights = device.tensor([classes], weights).unwrap();
    let reduction = rng.among(&[LossReduction::None, LossReduction::Mean, LossReduction::Sum]);
    let mut loss = LabelLoss::new(reduction).ignore(ignored);
    if rng.below(2) == 0 {
        loss = loss.weights(&weights);
    }
    let dy = if reduction == LossReduction::None { &of_labels[..] } else { &[] };
    let dy = device.tensor(dy, (0..dy.iter().product()).map(|_| T::of(rng.unit())).collect::<Vec<T>>()).unwrap();
    let (what, dnn) = (format!("{reduction:?} of {extents:?}, labels {ignored} ignored"), device.dnn());
    let losses =
        x.each_ref().map(|x| dnn.cross_entropy(typed::<T>(x), &labels, &loss).unwrap().await_result().unwrap());
    same_on(device, losses, &what);
    let slopes = x.each_ref().map(|x| {
        let made = dnn.cross_entropy_gradient(typed::<T>(x), &wrong, &dy, &loss);
        made.unwrap().await_result().unwrap()
    });
    same_on(device, slopes, &format!("gradient, {what}"));
}

/// Filters of one channel beside the sums of their windows.
fn filtered<T: Number + DnnElement>(device: &Device, rng: &mut Rng) {
    let [batch, channels, each] = [1 + rng.below(2), 1 + rng.below(3), 1 + rng.below(2)];
    let (high, width) = (1 + rng.below(40), extent(rng));
    let [kernel, stride, dilation, padding] =
        [rng.among(&[1, 2, 3, 5]), rng.among(&[1, 1, 2, 3]), rng.among(&[1, 1, 2]), rng.below(4)];
    let span = (kernel - 1) * dilation + 1;
    if high + 2 * padding < span || width + 2 * padding < span {
        return;
    }
    let of = |n: usize| (n + 2 * padding - span) / stride + 1;
    let number = |rng: &mut Rng, len: usize| (0..len).map(|_| T::of(rng.unit())).collect::<Vec<T>>();
    let x = number(rng, batch * channels * high * width);
    let w = number(rng, channels * each * kernel * kernel);
    let up = |extents: [usize; 4], x: &[T]| {
        AnyTensor::from_buffer(crate::common::up(device, x), Layout::row_major(extents).unwrap()).unwrap()
    };
    let (of_x, of_w) = (up([batch, channels, high, width], &x), up([channels * each, 1, kernel, kernel], &w));
    let spec = Convolution::new().stride(stride).dilation(dilation).padding(padding).groups(channels);
    let y = device.dnn().convolve(&spec, typed::<T>(&of_x), typed::<T>(&of_w)).unwrap().await_result().unwrap();
    let (got, lines, line) = (read(device, &y), of(high), of(width));
    for (k, got) in got.iter().enumerate() {
        let (plane, i, j) = (k / (lines * line), k / line % lines, k % line);
        let (image, filter) = (plane / (channels * each), plane % (channels * each));
        let channel = (image * channels + filter / each) * high * width;
        let mut sum = 0.0;
        for a in 0..kernel {
            for b in 0..kernel {
                let (at, to) = (i * stride + a * dilation, j * stride + b * dilation);
                if (padding..high + padding).contains(&at) && (padding..width + padding).contains(&to) {
                    let x = x[channel + (at - padding) * width + to - padding].number();
                    sum += x * w[(filter * kernel + a) * kernel + b].number();
                }
            }
        }
        let allowed = if size_of::<T>() == 8 { 1e-13 } else { 1e-5 } + (T::of(sum).number() - sum).abs();
        assert!((got.number() - sum).abs() <= allowed, "{spec:?}, element {k}: {got:?}, not {sum}");
    }
}

pub(crate) fn cases(devices: &[Device], seed: u64, count: u64) {
    for case in seed..seed + count {
        println!("case {case}");
        for device in devices {
            let mut rng = Rng::new(case);
            resized::<f32>(device, &mut rng);
            resized::<f64>(device, &mut rng);
            sampled::<f32>(device, &mut rng);
            sampled::<f64>(device, &mut rng);
            pooled::<f32>(device, &mut rng);
            pooled::<f64>(device, &mut rng);
            lost::<f32>(device, &mut rng);
            lost::<f64>(device, &mut rng);
            filtered::<f32>(device, &mut rng);
            filtered::<f64>(device, &mut rng);
        }
    }
}

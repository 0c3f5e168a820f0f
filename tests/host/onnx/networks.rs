//! Rows of the table that are calls of `device.dnn()` without cuDNN.

use super::node::{Made, Node};
use windlass::dnn::{
    Affine, Coordinates, Interpolation, LabelLoss, LossReduction, Nearest, NormKind, Pool, Resize, ResponseNorm,
    Rotary, Running,
};
use windlass::expressions::{Symbol, position};
use windlass::reductions::Keep;
use windlass::{DType, Element, Tensor, tensor::AnyTensor};

fn list(n: &Node<'_>, name: &str, rank: usize, default: i64) -> Vec<usize> {
    n.list(name).map_or(vec![default; rank], <[i64]>::to_vec).into_iter().map(|x| x as usize).collect()
}

fn windows(n: &Node<'_>) -> Pool {
    let window = list(n, "kernel_shape", 0, 1);
    let rank = window.len();
    let (stride, dilation) = (list(n, "strides", rank, 1), list(n, "dilations", rank, 1));
    let pads = list(n, "pads", 2 * rank, 0);
    let (mut before, mut after) = (pads[..rank].to_vec(), pads[rank..].to_vec());
    let same = n.text("auto_pad", "NOTSET");
    if same.starts_with("SAME") {
        let extents = &n.input(0).shape()[n.input(0).rank() - rank..];
        for d in 0..rank {
            let span = dilation[d] * (window[d] - 1) + 1;
            let all = ((extents[d].div_ceil(stride[d]) - 1) * stride[d] + span).saturating_sub(extents[d]);
            before[d] = if same == "SAME_UPPER" { all / 2 } else { all.div_ceil(2) };
            after[d] = all - before[d];
        }
    }
    let (ceil, counts) = (n.int("ceil_mode", 0) == 1, n.int("count_include_pad", 0) == 1);
    Pool::new(window).stride(stride).dilation(dilation).padding_between(before, after).ceil(ceil).count_padding(counts)
}

fn one<T: Element>(tensor: Tensor<T>) -> Made {
    Ok(vec![tensor.into()])
}

pub(super) fn average_pool(n: &Node<'_>) -> Made {
    one(n.device.dnn().average_pool(n.typed::<f32>(0), &windows(n))?.into_output())
}

pub(super) fn lp_pool(n: &Node<'_>) -> Made {
    one(n.device.dnn().lp_pool(n.typed::<f32>(0), n.int("p", 2) as f64, &windows(n))?.into_output())
}

fn largest<T: Element>(n: &Node<'_>) -> Made {
    let (x, pool) = (n.typed::<T>(0), windows(n));
    if n.case.outputs.len() == 1 {
        return one(n.device.dnn().max_pool(&x, &pool)?.into_output());
    }
    let (y, places) = n.device.dnn().max_pool_places(&x, &pool)?.into_output();
    // Here a place is a number in the plane of its channel, there one in the whole tensor.
    let extents = x.shape().iter().map(|n| *n as i64).collect::<Vec<_>>();
    let plane: i64 = extents[2..].iter().product();
    let turned = n.int("storage_order", 0) == 1;
    let channels = extents[1];
    let places = n.device.map(&places, |place: Symbol<i64>| {
        let before = (position(0) * channels + position(1)) * plane;
        if !turned {
            return place + before;
        }
        let (rows, columns) = (extents[2], extents[3]);
        place % columns * rows + place / columns + before
    })?;
    Ok(vec![y.into(), places.into_output().into()])
}

pub(super) fn max_pool(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::U8 => largest::<u8>(n),
        DType::I8 => largest::<i8>(n),
        _ => largest::<f32>(n),
    }
}

pub(super) fn global_pool(n: &Node<'_>, largest: bool) -> Made {
    let x = n.typed::<f32>(0);
    let pool = Pool::adaptive(vec![1; x.rank() - 2]);
    let dnn = n.device.dnn();
    one(if largest { dnn.max_pool(&x, &pool)? } else { dnn.average_pool(&x, &pool)? }.into_output())
}

fn affine<'n>(n: &'n Node<'_>) -> Affine<'n, f32> {
    match (n.given(1), n.given(2)) {
        (Some(_), Some(_)) => Affine::new(n.typed::<f32>(1), n.typed::<f32>(2)),
        (Some(_), None) => Affine::weight(n.typed::<f32>(1)),
        _ => Affine::none(),
    }
}

pub(super) fn batch_norm(n: &Node<'_>) -> Made {
    let (x, epsilon, dnn) = (n.typed::<f32>(0), n.float("epsilon", 1e-5), n.device.dnn());
    let (mean, variance) = (n.typed::<f32>(3), n.typed::<f32>(4));
    if n.int("training_mode", 0) == 0 {
        return one(dnn.batch_norm(&x, &mean, &variance, epsilon, &affine(n))?.into_output());
    }
    let (y, moments) = dnn.norm(&x, NormKind::Batch, epsilon, &affine(n))?.into_output();
    let old = (n.device.contiguous(&mean)?.into_output(), n.device.contiguous(&variance)?.into_output());
    let running = Running { momentum: 1.0 - n.float("momentum", 0.9), epsilon, sample: 0 };
    let (mean, variance) = dnn.update_running::<f32>(&moments, old, running)?.into_output();
    Ok(vec![y.into(), mean.into(), variance.into()])
}

fn norm(n: &Node<'_>, norm: NormKind) -> windlass::Result<(Tensor<f32>, Tensor<windlass::Complex<f32>>)> {
    let x = n.typed::<f32>(0);
    Ok(n.device.dnn().norm(&x, norm, n.float("epsilon", 1e-5), &affine(n))?.into_output())
}

pub(super) fn channel_norm(n: &Node<'_>) -> Made {
    let groups = n.int("num_groups", 0) as usize;
    one(norm(n, if groups > 0 { NormKind::Group(groups) } else { NormKind::Instance })?.0)
}

fn last_axes(n: &Node<'_>) -> usize {
    let rank = n.input(0).rank();
    rank - n.axis(n.int("axis", -1), rank)
}

pub(super) fn layer_norm(n: &Node<'_>) -> Made {
    let (y, moments) = norm(n, NormKind::Layer(last_axes(n)))?;
    let (mean, inverse) = n.device.map(&moments, |m| (m.re(), m.im()))?.into_output();
    let mut made: Vec<AnyTensor> = vec![y.into(), mean.into(), inverse.into()];
    made.truncate(n.case.outputs.len());
    Ok(made)
}

pub(super) fn rms_norm(n: &Node<'_>) -> Made {
    one(norm(n, NormKind::Rms(last_axes(n)))?.0)
}

pub(super) fn response_norm(n: &Node<'_>) -> Made {
    let norm = ResponseNorm {
        size: n.int("size", 1) as usize,
        alpha: n.float("alpha", 1e-4),
        beta: n.float("beta", 0.75),
        k: n.float("bias", 1.0),
    };
    one(n.device.dnn().response_norm(n.typed::<f32>(0), norm)?.into_output())
}

pub(super) fn lp_norm(n: &Node<'_>) -> Made {
    let (x, axis) = (n.typed::<f32>(0), n.int("axis", -1) as i32);
    let norm = match n.int("p", 2) {
        1 => n.device.norm1(&x, Keep(axis))?,
        _ => n.device.norm2(&x, Keep(axis))?,
    };
    let norm = norm.into_output();
    one(n.device.map((&x, &norm), |(x, norm)| norm.eq(0.0f32).select(norm, x / norm))?.into_output())
}

pub(super) fn mean_variance(n: &Node<'_>) -> Made {
    assert!(n.list("axes").is_none_or(|axes| axes == [0, 2, 3]));
    one(n.device.dnn().norm(n.typed::<f32>(0), NormKind::Batch, 1e-18, &Affine::none())?.into_output().0)
}

pub(super) fn loss(n: &Node<'_>, normal: bool) -> Made {
    let reduction = match n.text("reduction", "mean") {
        "none" => LossReduction::None,
        "sum" => LossReduction::Sum,
        _ => LossReduction::Mean,
    };
    let mut loss = LabelLoss::<f32>::new(reduction);
    if n.given(2).is_some() {
        loss = loss.weights(n.typed::<f32>(2));
    }
    if n.case.attributes.contains_key("ignore_index") {
        loss = loss.ignore(n.int("ignore_index", 0));
    }
    let (scores, labels, dnn) = (n.typed::<f32>(0), n.typed::<i64>(1), n.device.dnn());
    if normal {
        return one(dnn.negative_log_likelihood(&scores, &labels, &loss)?.await_result()?);
    }
    let mut made: Vec<AnyTensor> = vec![dnn.cross_entropy(&scores, &labels, &loss)?.await_result()?.into()];
    if n.case.outputs.len() == 2 {
        made.push(n.device.log_softmax(&scores, 1)?.into_output().into());
    }
    Ok(made)
}

pub(super) fn rotary(n: &Node<'_>) -> Made {
    let x = n.input(0);
    let heads = n.int("num_heads", 0) as usize;
    let whole = x.shape().to_vec();
    // Batch, sequence, heads, elements; or batch, heads, sequence, elements.
    let (x, at) = match x.rank() {
        3 => (x.reshape([whole[0], whole[1], heads, whole[2] / heads])?, 2),
        _ => (x.view(), 1),
    };
    let factors = |k: usize| -> windlass::Result<Tensor<f32>> {
        let factors = n.typed::<f32>(k);
        match n.given(3) {
            Some(_) => Ok(n.device.take(&factors, n.typed::<i64>(3), 0)?.await_result()?),
            None => Ok(n.device.contiguous(&factors)?.into_output()),
        }
    };
    let (cosine, sine) = (factors(1)?, factors(2)?);
    let way = if n.int("interleaved", 0) == 1 { Rotary::Neighbours } else { Rotary::Halves };
    let x = x.downcast::<f32>().unwrap();
    let made = n.device.dnn().rotary(&x, cosine.unsqueeze(at)?, sine.unsqueeze(at)?, way)?.into_output();
    Ok(vec![n.reshaped(made.into(), &whole)])
}

/// Extents and scales of all axes, of those of some.
fn sizes(n: &Node<'_>, axes: &[usize]) -> (Vec<usize>, Vec<f64>) {
    let extents = n.input(0).shape();
    let (mut to, mut scales) = (extents.to_vec(), vec![1.0; extents.len()]);
    if let Some(given) = n.given(2).filter(|given| !given.is_empty()) {
        let given: Vec<f32> = bytemuck::pod_collect_to_vec(&n.device.bytes_any(given).unwrap());
        for (axis, scale) in axes.iter().zip(given) {
            (to[*axis], scales[*axis]) = ((extents[*axis] as f64 * f64::from(scale)).floor() as usize, scale.into());
        }
        return (to, scales);
    }
    let given = n.ints(3).unwrap();
    let each: Vec<f64> = axes.iter().zip(&given).map(|(axis, m)| *m as f64 / extents[*axis] as f64).collect();
    let common = match n.text("keep_aspect_ratio_policy", "stretch") {
        "not_larger" => Some(each.iter().copied().fold(f64::INFINITY, f64::min)),
        "not_smaller" => Some(each.iter().copied().fold(0.0, f64::max)),
        _ => None,
    };
    for ((axis, m), scale) in axes.iter().zip(&given).zip(each) {
        scales[*axis] = common.unwrap_or(scale);
        to[*axis] = common.map_or(*m as usize, |scale| (scale * extents[*axis] as f64 + 0.5).floor() as usize);
    }
    (to, scales)
}

pub(super) fn resize(n: &Node<'_>) -> Made {
    let rank = n.input(0).rank();
    let axes: Vec<usize> =
        n.list("axes").map_or((0..rank).collect(), |axes| axes.iter().map(|axis| n.axis(*axis, rank)).collect());
    let interpolation = match n.text("mode", "nearest") {
        "linear" => Interpolation::Linear,
        "cubic" => Interpolation::Cubic(n.float("cubic_coeff_a", -0.75)),
        _ => Interpolation::Nearest(match n.text("nearest_mode", "round_prefer_floor") {
            "round_prefer_ceil" => Nearest::RoundPreferCeil,
            "floor" => Nearest::Floor,
            "ceil" => Nearest::Ceil,
            _ => Nearest::RoundPreferFloor,
        }),
    };
    let resize = Resize::new(interpolation)
        .exclude_outside(n.int("exclude_outside", 0) == 1)
        .antialias(n.int("antialias", 0) == 1)
        .outside(n.float("extrapolation_value", 0.0));
    let (to, scales) = sizes(n, &axes);
    let (x, dnn) = (n.typed::<f32>(0), n.device.dnn());
    let coordinates = match n.text("coordinate_transformation_mode", "half_pixel") {
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "pytorch_half_pixel" => Coordinates::HalfPixelOrZero,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "tf_crop_and_resize" => {
            // Each axis has its own part of the tensor.
            let roi: Vec<f32> = bytemuck::pod_collect_to_vec(&n.device.bytes_any(n.input(1)).unwrap());
            let mut made = n.device.contiguous(&x)?.into_output();
            for (k, axis) in axes.iter().enumerate() {
                let crop = Coordinates::Crop(roi[k].into(), roi[axes.len() + k].into());
                let mut extents = made.shape().to_vec();
                extents[*axis] = to[*axis];
                made = dnn.resize(&made, &extents, None, resize.coordinates(crop).axes(&[*axis]))?.into_output();
            }
            return one(made);
        }
        _ => Coordinates::HalfPixel,
    };
    one(dnn.resize(&x, &to, Some(&scales), resize.coordinates(coordinates))?.into_output())
}

pub(super) fn upsample(n: &Node<'_>) -> Made {
    let scales: Vec<f32> = bytemuck::pod_collect_to_vec(&n.device.bytes_any(n.input(1)).unwrap());
    let x = n.typed::<f32>(0);
    let to: Vec<usize> = x.shape().iter().zip(&scales).map(|(n, s)| (*n as f32 * s) as usize).collect();
    let scales: Vec<f64> = scales.into_iter().map(f64::from).collect();
    let resize = Resize::new(Interpolation::Nearest(Nearest::Floor)).coordinates(Coordinates::Asymmetric);
    one(n.device.dnn().resize(&x, &to, Some(&scales), resize)?.into_output())
}

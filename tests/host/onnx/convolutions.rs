//! Rows of the table that are convolutions.

use super::node::{Made, Node};
use windlass::dnn::{Convolution, DnnElement, Fused};
use windlass::expressions::{Function, Unary};
use windlass::moves::Pad;
use windlass::{DType, Element, Tensor, TensorRef, f16, tensor::AnyTensor};

fn list(n: &Node<'_>, name: &str, rank: usize, default: i64) -> Vec<usize> {
    n.list(name).map_or(vec![default; rank], <[i64]>::to_vec).into_iter().map(|x| x as usize).collect()
}

fn made<T: Element>(x: Tensor<T>) -> Made {
    Ok(vec![x.into()])
}

/// Strides, dilations and groups.
fn spec(n: &Node<'_>, rank: usize) -> Convolution {
    let (stride, dilation) = (list(n, "strides", rank, 1), list(n, "dilations", rank, 1));
    Convolution::new().stride(&stride[..]).dilation(&dilation[..]).groups(n.int("group", 1) as usize)
}

fn pairs(pads: &[usize]) -> Vec<(usize, usize)> {
    let (before, after) = pads.split_at(pads.len() / 2);
    before.iter().copied().zip(after.iter().copied()).collect()
}

/// Halves of what a side lacks: the odd one behind, or before.
fn halves(all: usize, lower: bool) -> (usize, usize) {
    let small = all / 2;
    if lower { (all - small, small) } else { (small, all - small) }
}

fn padding(n: &Node<'_>, x: &[usize], w: &[usize]) -> Vec<(usize, usize)> {
    let auto = n.text("auto_pad", "NOTSET");
    if !auto.starts_with("SAME") {
        return pairs(&list(n, "pads", 2 * w.len(), 0));
    }
    let (stride, dilation) = (list(n, "strides", w.len(), 1), list(n, "dilations", w.len(), 1));
    let of = |d: usize| {
        let span = dilation[d] * (w[d] - 1) + 1;
        halves(((x[d].div_ceil(stride[d]) - 1) * stride[d] + span).saturating_sub(x[d]), auto == "SAME_LOWER")
    };
    (0..w.len()).map(of).collect()
}

pub(super) fn conv(n: &Node<'_>) -> Made {
    let (x, w) = (n.typed::<f32>(0), n.typed::<f32>(1));
    let pads = padding(n, &x.shape()[2..], &w.shape()[2..]);
    let conv = spec(n, pads.len()).padding(&pads[..]);
    match n.given(2) {
        Some(_) => made(n.device.dnn().convolve_fused(&conv, &x, &w, Fused::new().bias(n.typed(2)))?.into_output()),
        None => made(n.device.dnn().convolve(&conv, &x, &w)?.into_output()),
    }
}

pub(super) fn transposed(n: &Node<'_>) -> Made {
    let (x, w) = (n.typed::<f32>(0), n.typed::<f32>(1));
    let (from, window) = (&x.shape()[2..], &w.shape()[2..]);
    let rank = window.len();
    let (stride, dilation) = (list(n, "strides", rank, 1), list(n, "dilations", rank, 1));
    let mut more = list(n, "output_padding", rank, 0);
    let auto = n.text("auto_pad", "NOTSET");
    let whole = |d: usize, more: usize| stride[d] * (from[d] - 1) + more + dilation[d] * (window[d] - 1) + 1;
    let wanted = match n.list("output_shape") {
        Some(wanted) => Some(wanted.iter().map(|n| *n as usize).collect::<Vec<_>>()),
        None => auto.starts_with("SAME").then(|| (0..rank).map(|d| from[d] * stride[d]).collect()),
    };
    let pads: Vec<(usize, usize)> = match wanted {
        None => pairs(&list(n, "pads", 2 * rank, 0)),
        Some(wanted) => (0..rank)
            .map(|d| match whole(d, more[d]).checked_sub(wanted[d]) {
                Some(all) => halves(all, auto != "SAME_UPPER"),
                None => {
                    more[d] += wanted[d] - whole(d, more[d]);
                    (0, 0)
                }
            })
            .collect(),
    };
    let conv = spec(n, rank).padding(&pads[..]);
    made(n.device.dnn().convolve_transposed(&conv, &x, &w, &more[..])?.into_output())
}

/// The sums of products of integers less their zeros, which f64 has exactly.
fn whole_sums(n: &Node<'_>, [x, w]: [usize; 2], zeros: [usize; 2]) -> windlass::Result<Tensor<f64>> {
    let less = |k: usize, zero: usize, filters: bool| -> windlass::Result<AnyTensor> {
        let whole = n.input(k).view();
        let Some(zero) = n.given(zero) else { return Ok(n.formula(&[whole], |x| x[0].cast(DType::F64))?.remove(0)) };
        let mut extents = vec![1; whole.rank()];
        extents[if filters { 0 } else { 1 }] = zero.len();
        let zero = zero.reshape(extents)?.broadcast(whole.shape())?;
        Ok(n.formula(&[whole, zero], |x| x[0].cast(DType::F64) - x[1].cast(DType::F64))?.remove(0))
    };
    let (x, w) = (less(x, zeros[0], false)?, less(w, zeros[1], true)?);
    let [x, w] = [&x, &w].map(|x| x.view().downcast::<f64>().unwrap());
    let pads = padding(n, &x.shape()[2..], &w.shape()[2..]);
    Ok(n.device.dnn().convolve(&spec(n, pads.len()).padding(&pads[..]), &x, &w)?.into_output())
}

pub(super) fn of_integers(n: &Node<'_>) -> Made {
    let sums = AnyTensor::from(whole_sums(n, [0, 1], [2, 3])?);
    n.formula(&[sums.view()], |x| x[0].cast(DType::I32))
}

pub(super) fn of_quantized(n: &Node<'_>) -> Made {
    let sums = AnyTensor::from(whole_sums(n, [0, 3], [2, 5])?);
    let factor = n.scalar(1).unwrap() * n.scalar(4).unwrap() / n.scalar(6).unwrap();
    let (zero, dtype) = (n.scalar(7).unwrap(), n.input(7).dtype());
    n.formula(&[sums.view()], |x| ((x[0] * factor).unary(Unary::RoundEven) + zero).cast(dtype))
}

/// Blocks that overlap are added: a transposed convolution by filters of a single one.
pub(super) fn col2im(n: &Node<'_>) -> Made {
    let (x, image, window) = (n.typed::<f32>(0), n.ints(1).unwrap(), n.ints(2).unwrap());
    let rank = window.len();
    let (stride, dilation) = (list(n, "strides", rank, 1), list(n, "dilations", rank, 1));
    let pads = pairs(&list(n, "pads", 2 * rank, 0));
    let block = window.iter().product::<i64>() as usize;
    let channels = x.shape()[1] / block;
    let spans: Vec<usize> = (0..rank).map(|d| dilation[d] * (window[d] as usize - 1) + 1).collect();
    let room = |d: usize| image[d] as usize + pads[d].0 + pads[d].1 - spans[d];
    let mut extents = vec![x.shape()[0], x.shape()[1]];
    extents.extend((0..rank).map(|d| room(d) / stride[d] + 1));
    let more: Vec<usize> = (0..rank).map(|d| room(d) % stride[d]).collect();
    let mut of_w = vec![channels * block, 1];
    of_w.extend(window.iter().map(|n| *n as usize));
    let mut w = vec![0f32; channels * block * block];
    (0..channels * block).for_each(|k| w[k * block + k % block] = 1.0);
    let w = n.device.tensor(of_w, w)?;
    let conv = spec(n, rank).padding(&pads[..]).groups(channels);
    made(n.device.dnn().convolve_transposed(&conv, x.reshape(extents)?, &w, &more[..])?.into_output())
}

pub(super) fn causal(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::F16 => causal_of::<f16>(n),
        _ => causal_of::<f32>(n),
    }
}

fn causal_of<T: DnnElement>(n: &Node<'_>) -> Made {
    let (x, w, d) = (n.typed::<T>(0), n.typed::<T>(1), n.device);
    let kept = w.shape()[2] - 1;
    let whole: Tensor<T> = match n.given(3) {
        Some(_) => d.concat([n.typed::<T>(3), x.clone()], 2)?.into_output(),
        None => d.pad(&x, &[(0, 0), (0, 0), (kept, 0)], Pad::Constant(T::default()))?.into_output(),
    };
    let conv = Convolution::new().groups(x.shape()[1]);
    let y: Tensor<T> = match n.given(2) {
        Some(_) => d.dnn().convolve_fused(&conv, &whole, &w, Fused::new().bias(n.typed::<T>(2)))?.into_output(),
        None => d.dnn().convolve(&conv, &whole, &w)?.into_output(),
    };
    let mut y = AnyTensor::from(y);
    if n.text("activation", "none") != "none" {
        let dtype = y.dtype();
        y = n.formula(&[y.view()], |x| x[0].cast(DType::F32).call(Function::Silu).cast(dtype))?.remove(0);
    }
    let len = whole.shape()[2];
    let state: TensorRef<'_, T> = whole.slice((.., .., len - kept..))?;
    Ok(vec![y, d.contiguous(&state)?.into_output().into()])
}

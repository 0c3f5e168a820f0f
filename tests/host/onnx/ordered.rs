//! Rows of the table that sort, choose and put.

use super::node::{Made, Node};
use windlass::arrays::{By, Combine, Ordered, Unique};
use windlass::{Bool, DType, Device, Element, Result, Tensor, TensorRef, bf16, tensor::AnyTensor};

/// Calls a function of the element type of an operand.
macro_rules! by_type {
    ($n:expr, $f:ident) => {
        match $n.input(0).dtype() {
            DType::F32 => $f::<f32>($n),
            DType::Bf16 => $f::<bf16>($n),
            DType::U64 => $f::<u64>($n),
            _ => $f::<i64>($n),
        }
    };
}

pub(super) fn top_k(n: &Node<'_>) -> Made {
    by_type!(n, largest)
}

fn largest<T: Ordered>(n: &Node<'_>) -> Made {
    let (x, k, axis) = (n.typed::<T>(0), n.ints(1).unwrap()[0] as usize, n.int("axis", -1) as isize);
    let made = if n.int("largest", 1) == 1 { n.device.top_k(&x, k, axis) } else { n.device.bottom_k(&x, k, axis) };
    let (values, indices) = made?.into_output();
    Ok(vec![values.into(), indices.into()])
}

fn combine(n: &Node<'_>) -> Combine {
    match n.text("reduction", "none") {
        "none" => Combine::Replace,
        "add" => Combine::Add,
        "mul" => Combine::Mul,
        "min" => Combine::Min,
        "max" => Combine::Max,
        other => panic!("{other}"),
    }
}

pub(super) fn scatter_elements(n: &Node<'_>) -> Made {
    let x = n.device.contiguous(n.typed::<f32>(0))?.into_output();
    let (indices, updates) = (n.typed::<i64>(1), n.typed::<f32>(2));
    let axis = n.int("axis", 0) as isize;
    Ok(vec![n.device.put_along_axis(x, &indices, &updates, axis, combine(n))?.await_result()?.into()])
}

pub(super) fn scatter_nd(n: &Node<'_>) -> Made {
    let x = n.device.contiguous(n.typed::<f32>(0))?.into_output();
    let (indices, updates) = (n.typed::<i64>(1), n.typed::<f32>(2));
    Ok(vec![n.device.put_nd(x, &indices, &updates, combine(n))?.await_result()?.into()])
}

/// Elements of a cache at the places from an index on, for each batch; they may go around its end.
pub(super) fn tensor_scatter(n: &Node<'_>) -> Made {
    let (cache, updates) = (n.device.contiguous(n.typed::<f32>(0))?.into_output(), n.typed::<f32>(1));
    let (rank, axis) = (updates.rank(), n.axis(n.int("axis", -2), updates.rank()));
    let (count, len) = (updates.shape()[0], cache.shape()[axis] as i64);
    let mut thin = vec![1; rank];
    thin[0] = count;
    let starts = n.typed::<i64>(2).reshape(thin)?.broadcast(updates.shape())?;
    let is_circular = n.text("mode", "linear") == "circular";
    let places = n.device.map(&starts, |start| {
        let place = start + windlass::expressions::position(axis as u8);
        if is_circular { place % len } else { place }
    })?;
    let places = places.into_output();
    let made = n.device.put_along_axis(cache, &places, &updates, axis as isize, Combine::Replace)?;
    Ok(vec![made.await_result()?.into()])
}

pub(super) fn nonzero(n: &Node<'_>) -> Made {
    Ok(vec![n.device.nonzero(n.typed::<Bool>(0))?.await_result()?.into()])
}

pub(super) fn compress(n: &Node<'_>) -> Made {
    by_type!(n, chosen)
}

/// Without an axis: of all elements in their order, of which the condition may have fewer.
fn chosen<T: Element>(n: &Node<'_>) -> Made {
    let (x, condition) = (n.typed::<T>(0), n.typed::<Bool>(1));
    let made = match n.case.attributes.contains_key("axis") {
        true => n.device.compress(&x, &condition, n.int("axis", 0) as isize)?,
        false => n.device.compress(&x.reshape([x.len()])?, &condition, 0)?,
    };
    Ok(vec![made.await_result()?.into()])
}

pub(super) fn unique(n: &Node<'_>) -> Made {
    by_type!(n, different)
}

/// Slices are numbered in the order of their elements: those of the first ones, and so on, each with the next ones.
fn slices<T: Ordered>(device: &Device, x: &TensorRef<'_, T>, axis: isize) -> Result<Unique<i64>> {
    let count = x.shape()[axis as usize];
    let front: Vec<isize> = std::iter::once(axis).chain((0..x.rank() as isize).filter(|a| *a != axis)).collect();
    let turned = device.contiguous(x.permute(front)?)?.into_output();
    let rows = turned.reshape([count, x.len() / count])?;
    let mut numbers: Tensor<i64> = device.zeros([count])?;
    for column in 0..x.len() / count {
        let own = device.unique_all(rows.index(1, column as isize)?)?.await_result()?.inverse;
        let pairs = device.map((&numbers, &own), |(before, own)| before * count as i64 + own)?.into_output();
        numbers = device.unique_all(&pairs)?.await_result()?.inverse;
    }
    device.unique_all(&numbers)?.await_result()
}

fn different<T: Ordered>(n: &Node<'_>) -> Made {
    let (x, device) = (n.typed::<T>(0), n.device);
    let axis = n.case.attributes.contains_key("axis").then(|| n.axis(n.int("axis", 0), x.rank()) as isize);
    let (taken, axis) = match axis {
        Some(axis) => (x.clone(), axis),
        None => (x.reshape([x.len()])?, 0),
    };
    let Unique { indices, inverse, counts, .. } = slices(device, &taken, axis)?;
    let (mut indices, mut inverse, mut counts) = (indices, inverse, counts);
    if n.int("sorted", 1) == 0 {
        // In the order in which they come first.
        let order = device.argsort(&indices, By::axis(0))?.into_output();
        let place = device.argsort(&order, By::axis(0))?.into_output();
        (indices, counts) =
            (device.take(&indices, &order, 0)?.await_result()?, device.take(&counts, &order, 0)?.await_result()?);
        inverse = device.take(&place, &inverse, 0)?.await_result()?;
    }
    let values = device.take(&taken, &indices, axis)?.await_result()?;
    Ok(vec![values.into(), indices.into(), inverse.into(), counts.into()])
}

pub(super) fn reverse_sequence(n: &Node<'_>) -> Made {
    by_type!(n, reversed)
}

/// Elements by their number in row-major order, with another place in time for those of the sequence.
fn reversed<T: Element>(n: &Node<'_>) -> Made {
    let (x, lengths) = (n.typed::<T>(0), n.typed::<i64>(1));
    let (batch, time) = (n.int("batch_axis", 1) as usize, n.int("time_axis", 0) as usize);
    let (mut shape, extents) = (vec![1; x.rank()], x.shape().to_vec());
    shape[batch] = extents[batch];
    let lengths: AnyTensor = n.device.contiguous(lengths.reshape(&shape)?.broadcast(&extents)?)?.into_output().into();
    let strides: Vec<usize> = (0..x.rank()).map(|axis| extents[axis + 1..].iter().product()).collect();
    let numbers = n.formula(&[lengths.view()], |length| {
        let at = length[0].formula().position(time);
        let other = at.lt(length[0]).select(length[0] - 1.0 - at, at);
        (0..strides.len()).fold(length[0].number(0.0), |sum, axis| {
            let own = if axis == time { other } else { length[0].formula().position(axis) };
            sum + own * strides[axis] as f64
        })
    })?;
    let numbers: TensorRef<'_, i64> = numbers[0].view().downcast().unwrap();
    Ok(vec![n.device.take(&x.reshape([x.len()])?, &numbers, 0)?.await_result()?.into()])
}

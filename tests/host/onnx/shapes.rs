//! Rows of the table that are views, and tensors that are given by their extents.

use super::cases::{Attribute, Stored};
use super::node::{Made, Node};
use windlass::expressions::{Function, Overflow};
use windlass::tensor::AxisSlice;
use windlass::{DType, Element, bf16};

pub(super) fn transpose(n: &Node<'_>) -> Made {
    let x = n.input(0);
    n.view(match n.list("perm") {
        Some(axes) => x.permute(axes.iter().map(|axis| *axis as isize).collect::<Vec<_>>()),
        None => Ok(x.transpose()),
    })
}

/// An extent of 0 is that of the input, unless it is allowed; one of -1 is what is left.
pub(super) fn reshape(n: &Node<'_>) -> Made {
    let (x, wanted) = (n.input(0), n.ints(1).unwrap());
    let taken = |(k, m): (usize, &i64)| if *m == 0 && n.int("allowzero", 0) == 0 { x.shape()[k] as i64 } else { *m };
    let mut extents: Vec<i64> = wanted.iter().enumerate().map(taken).collect();
    if let Some(open) = extents.iter().position(|m| *m == -1) {
        extents[open] = x.len() as i64 / extents.iter().filter(|m| **m != -1).product::<i64>();
    }
    n.view(x.reshape(extents.iter().map(|m| *m as usize).collect::<Vec<_>>()))
}

pub(super) fn flatten(n: &Node<'_>) -> Made {
    let x = n.input(0);
    let axis = n.axis(n.int("axis", 1), x.rank());
    n.view(x.reshape([x.shape()[..axis].iter().product(), x.shape()[axis..].iter().product()]))
}

pub(super) fn squeeze(n: &Node<'_>) -> Made {
    let x = n.input(0).view();
    let mut axes: Vec<usize> = n.ints(1).unwrap().iter().map(|axis| n.axis(*axis, x.rank())).collect();
    axes.sort_unstable();
    n.view(axes.iter().rev().try_fold(x, |x, axis| x.squeeze_axis(*axis as isize)))
}

pub(super) fn unsqueeze(n: &Node<'_>) -> Made {
    let (x, axes) = (n.input(0).view(), n.ints(1).unwrap());
    let mut axes: Vec<usize> = axes.iter().map(|axis| n.axis(*axis, x.rank() + axes.len())).collect();
    axes.sort_unstable();
    n.view(axes.iter().try_fold(x, |x, axis| x.unsqueeze(*axis as isize)))
}

/// ONNX cuts bounds off at the ends; with a negative step `start` is the first element.
pub(super) fn slice(n: &Node<'_>) -> Made {
    let mut x = n.input(0).view();
    let (starts, ends) = (n.ints(1).unwrap(), n.ints(2).unwrap());
    let axes = n.ints(3).unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = n.ints(4).unwrap_or_else(|| vec![1; starts.len()]);
    for (k, axis) in axes.iter().enumerate() {
        let axis = n.axis(*axis, x.rank());
        let len = x.shape()[axis] as i64;
        let from_end = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
        let (start, end) = (from_end(starts[k]), from_end(ends[k]));
        let (low, high) = match steps[k] > 0 {
            true => (start.clamp(0, len), end.clamp(0, len)),
            false => (end.clamp(-1, len - 1) + 1, start.clamp(-1, len - 1) + 1),
        };
        let part = AxisSlice::from(low as isize..high.max(low) as isize).step(steps[k] as isize);
        let mut all = vec![AxisSlice::from(..); axis];
        all.push(part);
        x = x.slice(all)?;
    }
    n.view(Ok(x))
}

pub(super) fn split(n: &Node<'_>) -> Made {
    let x = n.input(0);
    let axis = n.axis(n.int("axis", 0), x.rank());
    let len = x.shape()[axis];
    let parts = n.ints(1).unwrap_or_else(|| {
        let count = n.int("num_outputs", n.case.outputs.len() as i64) as usize;
        let each = len.div_ceil(count);
        (0..count).map(|k| each.min(len - k * each) as i64).collect()
    });
    let (mut made, mut rest) = (vec![], x.view());
    for part in parts {
        let (front, back) = rest.split(axis as isize, part as usize)?;
        made.push(n.device.contiguous_any(front)?);
        rest = back;
    }
    Ok(made)
}

pub(super) fn expand(n: &Node<'_>) -> Made {
    let extents: Vec<usize> = n.ints(1).unwrap().iter().map(|m| *m as usize).collect();
    n.view(n.input(0).broadcast(n.common(&extents)))
}

pub(super) fn tile(n: &Node<'_>) -> Made {
    let counts: Vec<usize> = n.ints(1).unwrap().iter().map(|times| *times as usize).collect();
    Ok(vec![n.device.tile(n.typed::<f32>(0), counts)?.into_output().into()])
}

pub(super) fn depth_to_space(n: &Node<'_>) -> Made {
    let (x, b) = (n.input(0), n.int("blocksize", 1) as usize);
    let &[count, depth, rows, cols] = x.shape() else { panic!("{x:?}") };
    let c = depth / (b * b);
    let turned = match n.text("mode", "DCR") {
        "DCR" => x.reshape([count, b, b, c, rows, cols])?.permute([0, 3, 4, 1, 5, 2])?,
        _ => x.reshape([count, c, b, b, rows, cols])?.permute([0, 1, 4, 2, 5, 3])?,
    };
    Ok(vec![n.reshaped(n.device.contiguous_any(turned)?, &[count, c, rows * b, cols * b])])
}

pub(super) fn space_to_depth(n: &Node<'_>) -> Made {
    let (x, b) = (n.input(0), n.int("blocksize", 1) as usize);
    let &[count, c, rows, cols] = x.shape() else { panic!("{x:?}") };
    let blocks = x.reshape([count, c, rows / b, b, cols / b, b])?;
    let turned = match n.text("mode", "DCR") {
        "DCR" => blocks.permute([0, 3, 5, 1, 2, 4])?,
        _ => blocks.permute([0, 1, 3, 5, 2, 4])?,
    };
    Ok(vec![n.reshaped(n.device.contiguous_any(turned)?, &[count, c * b * b, rows / b, cols / b])])
}

pub(super) fn shape(n: &Node<'_>) -> Made {
    let extents = n.input(0).shape();
    let rank = extents.len() as i64;
    let at = |k: i64| (if k < 0 { k + rank } else { k }).clamp(0, rank) as usize;
    let (start, end) = (at(n.int("start", 0)), at(n.int("end", rank)));
    let part: Vec<i64> = extents[start..end.max(start)].iter().map(|m| *m as i64).collect();
    n.known(&[part.len()], &part)
}

fn stored<'a>(n: &'a Node<'_>, name: &str) -> Option<&'a Stored> {
    match n.case.attributes.get(name)? {
        Attribute::Tensor { tensor } => Some(tensor),
        other => panic!("{other:?}"),
    }
}

pub(super) fn constant(n: &Node<'_>) -> Made {
    Ok(vec![stored(n, "value").unwrap().up(n.device)])
}

pub(super) fn constant_of_shape(n: &Node<'_>) -> Made {
    let extents: Vec<usize> = n.ints(0).unwrap().iter().map(|m| *m as usize).collect();
    match stored(n, "value") {
        Some(value) => n.view(value.up(n.device).reshape([])?.broadcast(extents)),
        None => n.tabulate(&extents, |f| f.number(DType::F32, 0.0)),
    }
}

pub(super) fn range(n: &Node<'_>) -> Made {
    let (dtype, [start, limit, delta]) = (n.input(0).dtype(), [0, 1, 2].map(|k| n.scalar(k).unwrap()));
    let len = ((limit - start) / delta).ceil().max(0.0) as usize;
    n.tabulate(&[len], |f| f.position(0).cast(dtype) * delta + start)
}

pub(super) fn eye_like(n: &Node<'_>) -> Made {
    let (extents, k) = (n.input(0).shape().try_into().unwrap(), n.int("k", 0) as isize);
    Ok(vec![match n.case.outputs[0].dtype() {
        DType::I32 => n.device.eye::<i32>(extents, k)?.into_output().into(),
        DType::F64 => n.device.eye::<f64>(extents, k)?.into_output().into(),
        _ => n.device.eye::<f32>(extents, k)?.into_output().into(),
    }])
}

pub(super) fn trilu(n: &Node<'_>) -> Made {
    let (x, k) = (n.typed::<i64>(0), n.scalar(1).unwrap_or(0.0) as isize);
    let made = if n.int("upper", 1) == 1 { n.device.triu(&x, k) } else { n.device.tril(&x, k) };
    Ok(vec![made?.into_output().into()])
}

pub(super) fn one_hot(n: &Node<'_>) -> Made {
    match n.input(2).dtype() {
        DType::I32 => hot::<i32>(n),
        DType::Bf16 => hot::<bf16>(n),
        _ => hot::<f32>(n),
    }
}

fn hot<T: Element>(n: &Node<'_>) -> Made {
    let indices = n.device.cast_any(n.input(0), DType::I64, Overflow::Saturate)?;
    let (depth, axis) = (n.scalar(1).unwrap() as usize, n.int("axis", -1) as isize);
    let values = n.device.download(n.typed::<T>(2))?.await_result()?;
    let hot = n.device.one_hot::<T, i64>(indices.view().downcast().unwrap(), depth, axis, [values[0], values[1]]);
    Ok(vec![hot?.into_output().into()])
}

/// A sum of cosines.
pub(super) fn window(n: &Node<'_>, [a, b, c]: [f64; 3]) -> Made {
    let len = n.scalar(0).unwrap();
    let period = if n.int("periodic", 1) == 1 { len } else { len - 1.0 };
    n.tabulate(&[len as usize], |f| {
        let turn = f.position(0).cast(DType::F64) * (std::f64::consts::TAU / period);
        let sum = turn.call(Function::Cos) * -b + (turn * 2.0).call(Function::Cos) * c + a;
        sum.cast(DType::F32)
    })
}

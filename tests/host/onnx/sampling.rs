//! Rows of the table that take elements by places: grids, pooled places, the middle.

use super::node::{Made, Node};
use windlass::DType;
use windlass::dnn::{Beyond, GridSample, Sampling};
use windlass::expressions::Symbol;
use windlass::moves::Pad;

pub(super) fn grid_sample(n: &Node<'_>) -> Made {
    let sampling = match n.text("mode", "linear") {
        "nearest" => Sampling::Nearest,
        "cubic" => Sampling::Cubic,
        _ => Sampling::Linear,
    };
    let beyond = match n.text("padding_mode", "zeros") {
        "border" => Beyond::Border,
        "reflection" => Beyond::Reflection,
        _ => Beyond::Zeros,
    };
    let spec = GridSample::new(sampling).beyond(beyond).align_corners(n.int("align_corners", 0) == 1);
    let y = n.device.dnn().grid_sample(n.typed::<f32>(0), n.typed::<f32>(1), spec)?.into_output();
    Ok(vec![y.into()])
}

/// The places of all elements, turned and moved by a matrix of each batch.
pub(super) fn affine_grid(n: &Node<'_>) -> Made {
    let (theta, size) = (n.typed::<f32>(0), n.ints(1).unwrap());
    let axes: Vec<usize> = size[2..].iter().map(|n| *n as usize).collect();
    let rank = axes.len();
    let align = n.int("align_corners", 0) == 1;
    let mut extents = vec![theta.shape()[0]];
    extents.extend(&axes);
    extents.push(rank);
    // A column of the matrix for each coordinate, the last axis first, and one of what is added.
    let mut columns = vec![];
    for c in 0..=rank {
        let mut column = theta.index(2, c as isize)?;
        for _ in 0..rank {
            column = column.unsqueeze(1)?;
        }
        columns.push(column.broadcast(&extents)?);
    }
    let operands: Vec<_> = columns.iter().map(Into::into).collect();
    n.formula(&operands, |x| {
        let f = x[0].formula();
        let mut sum = x[rank].cast(DType::F64);
        for (c, column) in x[..rank].iter().enumerate() {
            let axis = rank - 1 - c;
            let count = axes[axis] as f64;
            let at = f.position(axis + 1).cast(DType::F64);
            let at = if align { at * (2.0 / (count - 1.0)) - 1.0 } else { at * (2.0 / count) + (1.0 / count - 1.0) };
            sum = sum + column.cast(DType::F64) * at;
        }
        sum.cast(DType::F32)
    })
}

pub(super) fn max_unpool(n: &Node<'_>) -> Made {
    let (y, places) = (n.typed::<f32>(0), n.typed::<i64>(1));
    let window: Vec<i64> = n.list("kernel_shape").unwrap().to_vec();
    let rank = window.len();
    let strides = n.list("strides").map_or(vec![1; rank], <[i64]>::to_vec);
    let pads = n.list("pads").map_or(vec![0; 2 * rank], <[i64]>::to_vec);
    let mut extents = y.shape().to_vec();
    for d in 0..rank {
        extents[2 + d] = ((extents[2 + d] as i64 - 1) * strides[d] + window[d] - pads[d] - pads[rank + d]) as usize;
    }
    // There the places are numbers in the whole tensor that was pooled.
    let plane: i64 = extents[2..].iter().map(|n| *n as i64).product();
    let own = n.device.map(&places, |place: Symbol<i64>| place % plane)?.into_output();
    let x = n.device.dnn().max_unpool(&y, &own, &extents, rank)?.await_result()?;
    let Some(wanted) = n.ints(2) else { return Ok(vec![x.into()]) };
    // More elements are behind.
    let widths: Vec<_> = wanted.iter().zip(&extents).map(|(to, from)| (0, *to as usize - from)).collect();
    Ok(vec![n.device.pad(&x, &widths, Pad::Constant(0.0))?.into_output().into()])
}

pub(super) fn center_crop_pad(n: &Node<'_>) -> Made {
    let x = n.typed::<f32>(0);
    let rank = x.rank();
    let axes: Vec<usize> =
        n.list("axes").map_or((0..rank).collect(), |axes| axes.iter().map(|axis| n.axis(*axis, rank)).collect());
    let mut view = x.clone();
    let mut widths = vec![(0, 0); rank];
    for (axis, to) in axes.iter().zip(n.ints(1).unwrap()) {
        let (from, to) = (x.shape()[*axis], to as usize);
        if to < from {
            let first = (from - to) / 2;
            let mut slices: Vec<windlass::tensor::AxisSlice> = vec![(..).into(); rank];
            slices[*axis] = (first..first + to).into();
            view = view.slice(slices)?;
        } else {
            let before = (to - from) / 2;
            widths[*axis] = (before, to - from - before);
        }
    }
    Ok(vec![n.device.pad(&view, &widths, Pad::Constant(0.0))?.into_output().into()])
}

//! Rows of the table that change types.

use super::node::{Made, Node};
use windlass::expressions::{Compare, Overflow, Unary};
use windlass::{DType, tensor::AnyTensor};

/// A cast saturates, unless it must not: types of 8 bits then have NaN or infinity for what is too large.
pub(super) fn cast(n: &Node<'_>, to: DType) -> Made {
    let beyond = match to {
        // Where rounding passes the largest number (448, whose half unit is above it; 57344), and the bits of what is there.
        DType::F8E4M3 => Some((464.000_03, f64::from(0x7f))),
        DType::F8E5M2 => Some((61_440.0, f64::from(0x7c))),
        _ => None,
    };
    match beyond.filter(|_| n.int("saturate", 1) == 0) {
        Some((least, bits)) => n.one(|x| {
            let x = x.cast(DType::F32);
            let near = x.cast(to).bits(DType::U8);
            let sign = x.lt(0.0).select(near.number(128.0), 0.0);
            x.unary(Unary::Abs).compare(Compare::Ge, least).select(sign + bits, near).bits(to)
        }),
        None => Ok(vec![n.device.cast_any(n.input(0), to, Overflow::Saturate)?]),
    }
}

/// A scale or a zero point, beside `x`: one for all, one for each index of an axis, or one for each block of one.
fn beside(n: &Node<'_>, k: usize) -> Option<AnyTensor> {
    let (x, given) = (n.input(0), n.given(k)?);
    let all = x.shape();
    let axis = n.axis(n.int("axis", 1), x.rank());
    let block = n.int("block_size", 0) as usize;
    let made = match given.rank() {
        rank if rank == x.rank() && block > 0 => {
            let mut wide = given.shape().to_vec();
            wide.insert(axis + 1, block);
            let wide = given.unsqueeze(axis as isize + 1).unwrap().broadcast(wide).unwrap();
            return Some(n.reshaped(n.device.contiguous_any(wide).unwrap(), all));
        }
        1 if given.len() > 1 => {
            let extents: Vec<usize> = (0..x.rank()).map(|a| if a == axis { all[a] } else { 1 }).collect();
            given.reshape(extents).unwrap()
        }
        _ => given.reshape([]).unwrap(),
    };
    Some(n.device.contiguous_any(made).unwrap())
}

pub(super) fn quantize(n: &Node<'_>) -> Made {
    let (scale, zero) = (beside(n, 1).unwrap(), beside(n, 2));
    let to = n.case.outputs[0].dtype();
    let operands = [Some(n.input(0).view()), Some(scale.view()), zero.as_ref().map(AnyTensor::view)];
    let operands: Vec<_> = operands.into_iter().flatten().collect();
    let is_float = matches!(to, DType::F8E4M3 | DType::F8E5M2);
    n.formula(&operands, |x| {
        let y = x[0] / x[1];
        let y = if is_float { y } else { y.unary(Unary::RoundEven) };
        x.get(2).map_or(y, |zero| y + zero.cast(y.dtype())).cast(to)
    })
}

pub(super) fn dequantize(n: &Node<'_>) -> Made {
    let (scale, zero) = (beside(n, 1).unwrap(), beside(n, 2));
    let operands = [Some(n.input(0).view()), Some(scale.view()), zero.as_ref().map(AnyTensor::view)];
    let operands: Vec<_> = operands.into_iter().flatten().collect();
    n.formula(&operands, |x| {
        let to = x[1].dtype();
        let y = x[0].cast(DType::F32);
        let y = x.get(2).map_or(y, |zero| y - zero.cast(DType::F32));
        (y * x[1].cast(DType::F32)).cast(to)
    })
}

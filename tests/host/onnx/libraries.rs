//! Rows of the table that are calls of CUDA's libraries.

use super::node::{Made, Node};
use windlass::expressions::{Compare, Unary};
use windlass::tensor_ops::{Contract, TensorElement};
use windlass::{
    Complex, DType, TensorRef, bf16,
    tensor::{AnyTensor, AnyTensorRef},
};

fn single<'a>(x: &AnyTensorRef<'a>) -> TensorRef<'a, f32> {
    x.downcast().unwrap_or_else(|| panic!("{x:?}"))
}

pub(super) fn matmul(n: &Node<'_>) -> Made {
    let (a, b) = (single(&n.input(0).view()), single(&n.input(1).view()));
    Ok(vec![n.device.tensor_ops().matmul(&a, &b)?.into_output().into()])
}

pub(super) fn einsum(n: &Node<'_>) -> Made {
    match n.input(0).dtype() {
        DType::F64 => einsum_of::<f64>(n),
        _ => einsum_of::<bf16>(n),
    }
}

fn einsum_of<T: TensorElement>(n: &Node<'_>) -> Made {
    let operands: Vec<TensorRef<'_, T>> = (0..n.case.inputs.len()).map(|k| n.typed(k)).collect();
    Ok(vec![n.device.tensor_ops().einsum(n.text("equation", ""), operands)?.into_output().into()])
}

pub(super) fn gemm(n: &Node<'_>) -> Made {
    let turned = |k: usize, name: &str| {
        let x = n.input(k).view();
        single(&if n.int(name, 0) == 1 { x.transpose() } else { x })
    };
    let (a, b) = (turned(0, "transA"), turned(1, "transB"));
    let extents = [a.shape()[0], b.shape()[1]];
    let c = match n.given(2) {
        Some(c) => n.device.contiguous(single(&c.view()).broadcast(extents)?)?.into_output(),
        None => n.device.zeros(extents)?,
    };
    let spec = Contract::new("ij,jk->ik")?.alpha(n.float("alpha", 1.0) as f32).beta(n.float("beta", 1.0) as f32);
    Ok(vec![n.device.tensor_ops().contract(&spec, &a, &b, c)?.into_output().into()])
}

/// The product of bytes less their zero points, as `i32`.
fn whole_product(n: &Node<'_>, [a, b]: [usize; 2], zeros: [usize; 2]) -> windlass::Result<AnyTensor> {
    let less = |x: usize, zero: usize| -> windlass::Result<AnyTensor> {
        let operands = [n.input(x).view(), n.input(zero).view()];
        Ok(n.formula(&operands, |x| x[0].cast(DType::I32) - x[1].cast(DType::I32))?.remove(0))
    };
    let (a, b) = (less(a, zeros[0])?, less(b, zeros[1])?);
    let [a, b] = [&a, &b].map(|x| x.view().downcast::<i32>().unwrap());
    Ok(n.device.tensor_ops().matmul(&a, &b)?.into_output().into())
}

pub(super) fn matmul_integer(n: &Node<'_>) -> Made {
    Ok(vec![whole_product(n, [0, 1], [2, 3])?])
}

pub(super) fn qlinear_matmul(n: &Node<'_>) -> Made {
    let product = whole_product(n, [0, 3], [2, 5])?;
    let factor = n.scalar(1).unwrap() * n.scalar(4).unwrap() / n.scalar(6).unwrap();
    let zero = n.input(7).view();
    n.formula(&[product.view(), zero.clone()], |x| {
        let scaled = (x[0].cast(DType::F32) * factor).unary(Unary::RoundEven);
        (scaled + x[1].cast(DType::F32)).cast(zero.dtype())
    })
}

/// The last axis has one number, or the two parts of a complex one.
pub(super) fn dft(n: &Node<'_>) -> Made {
    let x = n.input(0);
    let last = x.rank() - 1;
    let axis = n.scalar(2).map_or(n.int("axis", -2), |axis| axis as i64);
    let axis = [n.axis(axis, x.rank()) as isize];
    let (inverse, half) = (n.int("inverse", 0) == 1, n.int("onesided", 0) == 1);
    let re = single(&x.index(last as isize, 0)?);
    let (fft, d) = (n.device.fft(), n.device);
    if half && !inverse {
        return parts(n, fft.rfft(&re, &axis)?.into_output().into(), last);
    }
    let z = match x.shape()[last] {
        1 => d.map(&re, |re| re.cast::<Complex<f32>>())?.into_output(),
        _ => d.map((&re, &single(&x.index(last as isize, 1)?)), |(re, im)| re.complex(im))?.into_output(),
    };
    if half {
        let len = n.case.outputs[0].shape()[axis[0] as usize];
        let real = AnyTensor::from(fft.irfft(&z, len, &axis)?.into_output());
        return n.view(real.unsqueeze(last as isize));
    }
    let made = if inverse { fft.ifft(&z, &axis)? } else { fft.fft(&z, &axis)? };
    parts(n, made.into_output().into(), last)
}

/// Complex numbers as pairs along a new last axis.
fn parts(n: &Node<'_>, z: AnyTensor, last: usize) -> Made {
    let mut extents = z.shape().to_vec();
    extents.push(2);
    n.formula(&[z.unsqueeze(last as isize)?.broadcast(extents)?], |z| {
        let first = z[0].formula().position(last).compare(Compare::Eq, 0.0);
        first.select(z[0].unary(Unary::Re), z[0].unary(Unary::Im))
    })
}

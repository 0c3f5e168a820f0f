//! Rows of the table that are calls of CUDA's libraries.

use super::node::{Made, Node};
use windlass::expressions::{Compare, Unary};
use windlass::tensor::Layout;
use windlass::{AnyTensor, AnyTensorRef, Complex, Error, TensorRef};

fn single<'a>(x: &AnyTensorRef<'a>) -> TensorRef<'a, f32> {
    x.downcast().unwrap_or_else(|| panic!("{x:?}"))
}

/// A vector is a matrix of one row to the left and of one column to the right; that axis is gone in the end.
pub(super) fn matmul(n: &Node<'_>) -> Made {
    let (a, b) = (single(&n.input(0).view()), single(&n.input(1).view()));
    let (row, column) = (a.rank() == 1, b.rank() == 1);
    let a = if row { a.unsqueeze(0)? } else { a };
    let b = if column { b.unsqueeze(1)? } else { b };
    let c = match n.device.blas().product(&a, &b) {
        Ok(c) => c.into_output(),
        // Matrices that two axes repeat in turns are at no even distances: the library takes no such strides.
        Err(error) => {
            assert!(error.to_string().contains("`contiguous`"), "{error}");
            let (rows, cols) = (a.rank() - 2, b.rank() - 2);
            let batch = Layout::broadcast_extents(&[&a.extents()[..rows], &b.extents()[..cols]])?;
            let wide = |x: &TensorRef<'_, f32>| {
                let whole = [&batch[..], &x.extents()[x.rank() - 2..]].concat();
                Ok::<_, Error>(n.device.contiguous(x.broadcast(whole)?)?.into_output())
            };
            n.device.blas().product(&wide(&a)?, &wide(&b)?)?.into_output()
        }
    };
    let c = AnyTensor::from(c);
    let mut extents = c.extents().to_vec();
    let last = extents.len() - 1;
    if column {
        extents.remove(last);
    }
    if row {
        extents.remove(last - 1);
    }
    Ok(vec![n.reshaped(c, &extents)])
}

pub(super) fn gemm(n: &Node<'_>) -> Made {
    let turned = |k: usize, name: &str| {
        let x = n.input(k).view();
        single(&if n.int(name, 0) == 1 { x.transpose() } else { x })
    };
    let product = AnyTensor::from(n.device.blas().product(turned(0, "transA"), turned(1, "transB"))?.into_output());
    let (alpha, beta) = (n.float("alpha", 1.0), n.float("beta", 1.0));
    match n.given(2) {
        Some(c) => n.formula(&[product.view(), c.view()], |x| x[0] * alpha + x[1] * beta),
        None => n.formula(&[product.view()], |x| x[0] * alpha),
    }
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
        return parts(n, fft.rfft_tensor(&re, &axis)?.into_output().into(), last);
    }
    let z = match x.extents()[last] {
        1 => d.map(&re, |re| re.cast::<Complex<f32>>())?.into_output(),
        _ => d.map((&re, &single(&x.index(last as isize, 1)?)), |(re, im)| re.complex(im))?.into_output(),
    };
    if half {
        let len = n.case.outputs[0].extents()[axis[0] as usize];
        let real = AnyTensor::from(fft.irfft_tensor(&z, len, &axis)?.into_output());
        return n.view(real.unsqueeze(last as isize));
    }
    let made = if inverse { fft.ifft_tensor(&z, &axis)? } else { fft.fft_tensor(&z, &axis)? };
    parts(n, made.into_output().into(), last)
}

/// Complex numbers as pairs along a new last axis.
fn parts(n: &Node<'_>, z: AnyTensor, last: usize) -> Made {
    let mut extents = z.extents().to_vec();
    extents.push(2);
    n.formula(&[z.unsqueeze(last as isize)?.broadcast(extents)?], |z| {
        let first = z[0].formula().position(last).compare(Compare::Eq, 0.0);
        first.select(z[0].unary(Unary::Re), z[0].unary(Unary::Im))
    })
}

//! Matrices in buffers as BLAS has them: column after column.

use windlass::blas::GemmElement;
use windlass::tensor::{IntoLayout, Layout};
use windlass::{Device, DeviceBuffer, Element, Gemm, In, Tensor, TensorRef, Transpose};

/// A matrix without gaps, to read.
#[track_caller]
pub fn columns<'a, T: Element>(x: impl Into<In<'a, T>>, m: usize, n: usize) -> TensorRef<'a, T> {
    x.into().view(Layout::columns(m, n)).unwrap()
}

/// The same, row by row.
#[track_caller]
pub fn rows<'a, T: Element>(x: impl Into<In<'a, T>>, m: usize, n: usize) -> TensorRef<'a, T> {
    x.into().view(Layout::rows(m, n)).unwrap()
}

/// A new matrix without contents.
#[track_caller]
pub fn new_columns<T: Element>(device: &Device, m: usize, n: usize) -> Tensor<T> {
    into_columns(device.uninit(m * n).unwrap().into_buffer(), m, n)
}

/// A matrix without gaps, to write.
#[track_caller]
pub fn into_columns<T: Element>(x: DeviceBuffer<T>, m: usize, n: usize) -> Tensor<T> {
    x.with_layout(Layout::columns(m, n)).unwrap()
}

/// A view of `m` rows and `n` columns; `trans` says what it is of the matrix that lies in the buffer. The conjugate is the
/// specification's.
#[track_caller]
pub fn op<'a, T: Element>(
    x: impl Into<In<'a, T>>,
    trans: Transpose,
    (m, n): (usize, usize),
    ld: usize,
) -> TensorRef<'a, T> {
    let layout = match trans {
        Transpose::No => Layout::columns(m, n).ld(ld).into_layout(),
        Transpose::Yes | Transpose::Conjugate => Layout::columns(n, m).ld(ld).into_layout().map(|x| x.transpose()),
    };
    x.into().view(layout.unwrap()).unwrap()
}

/// The specification with what the views cannot say of these.
pub fn conjugated<T: GemmElement>(spec: Gemm<'_, T>, [a, b]: [Transpose; 2]) -> Gemm<'_, T> {
    let spec = if a == Transpose::Conjugate { spec.conjugate_a() } else { spec };
    if b == Transpose::Conjugate { spec.conjugate_b() } else { spec }
}

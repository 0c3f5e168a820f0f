//! The element types of contractions, and what is compiled for each of them.

use crate::core::buffer::{AnyBuffer, AnyBuffers};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, Layout, TensorRef};
use crate::libraries::blas::{Gemm, GemmElement, Math};
use crate::libraries::expressions::operands::Read;
use half::{bf16, f16};
use num_complex::Complex;

/// An element type of contractions: f32, f64, `Complex` of both, f16 and bf16 (computed in f32), and all integers, which wrap.
/// Sealed, as [`Element`] is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of contractions",
    label = "expected f32, f64, Complex<f32>, Complex<f64>, f16, bf16 or an integer"
)]
pub trait TensorElement: Element {
    /// The type of `alpha` and `beta`.
    type Scalar: Element;
    #[doc(hidden)]
    const ONE: Self::Scalar;
    #[doc(hidden)]
    const CALLS: Calls;
}

/// A factor as its bytes.
pub(super) type Factor = [u8; 16];

pub(super) fn factor<S: Element>(value: S) -> Factor {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(bytemuck::bytes_of(&value)).for_each(|(to, from)| *to = *from);
    bytes
}

/// The factor 1 of an element type with products of matrices.
const fn one_of(dtype: DType) -> Factor {
    match dtype {
        DType::F64 | DType::C64 => {
            let [a, b, c, d, e, f, g, h] = 1f64.to_ne_bytes();
            [a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        _ => {
            let [a, b, c, d] = 1f32.to_ne_bytes();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
    }
}

/// How matrices are multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// `alpha` and `beta`; else 1 and 0.
    pub(super) factors: Option<[Factor; 2]>,
    pub(super) conjugate: [bool; 2],
    pub(super) math: Math,
}

/// Submits `C = alpha * op(A) * op(B) + beta * C`.
type Multiply = fn(
    &Device,
    Product,
    [Read<'_>; 2],
    (AnyBuffer, Layout),
) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>>;

/// Submits the copy of a view's elements to those of another one.
type Assign = fn(&Device, Read<'_>, (AnyBuffer, Layout)) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>>;

/// What depends on the type: everything else is compiled once.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    pub(super) dtype: DType,
    /// 1 and 0, as factors.
    pub(super) plain: [Factor; 2],
    /// The product of matrices, if the type has one.
    pub(super) multiply: Option<Multiply>,
    /// A new row-major tensor of the elements of a view.
    pub(super) copy: fn(&Device, Read<'_>) -> Result<PendingDispatch<AnyBuffers>>,
    /// Writes the elements of a view to those of another one.
    pub(super) assign: Assign,
}

fn other_type() -> Error {
    Error::library("internal error: an operand of another type")
}

fn view<T: Element>((part, layout): Read<'_>) -> Result<TensorRef<'_, T>> {
    TensorRef::from_buffer(part.downcast::<T>().ok_or_else(other_type)?, layout)
}

fn one(buffer: impl Into<AnyBuffer>) -> AnyBuffers {
    [buffer.into()].into_iter().collect()
}

fn tensor<T: Element>(
    buffer: AnyBuffer,
    layout: Layout,
) -> Result<crate::device::tensor::Tensor<T>, Rejected<AnyBuffers>> {
    let any = AnyTensor::from_buffer(buffer, layout).map_err(|rejected| rejected.map(one))?;
    any.downcast::<T>().map_err(|any| Rejected::new(other_type(), one(any.into_parts().0)))
}

fn copy<T: Element>(device: &Device, x: Read<'_>) -> Result<PendingDispatch<AnyBuffers>> {
    let pending = device.contiguous(view::<T>(x)?)?;
    pending.retype(|(tensor,)| Ok(one(tensor.into_buffer())))
}

fn assign<T: Element>(
    device: &Device,
    x: Read<'_>,
    (target, layout): (AnyBuffer, Layout),
) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
    let x = match view::<T>(x) {
        Ok(x) => x,
        Err(error) => return Err(Rejected::new(error, one(target))),
    };
    let pending = device.assign(tensor::<T>(target, layout)?, x);
    let pending = pending.map_err(|rejected| rejected.map(|(tensor,)| one(tensor.into_buffer())))?;
    pending.retype(|(tensor,)| Ok(one(tensor.into_buffer())))
}

fn multiply<T: GemmElement<Out = T>>(
    device: &Device,
    Product { factors, conjugate, math }: Product,
    [a, b]: [Read<'_>; 2],
    (c, layout): (AnyBuffer, Layout),
) -> Result<PendingDispatch<AnyBuffers>, Rejected<AnyBuffers>> {
    let (a, b) = match view::<T>(a).and_then(|a| Ok((a, view::<T>(b)?))) {
        Ok(views) => views,
        Err(error) => return Err(Rejected::new(error, one(c))),
    };
    let value = |bytes: Factor| {
        bytemuck::pod_read_unaligned::<T::Scalar>(bytes.get(..size_of::<T::Scalar>()).unwrap_or_default())
    };
    let [alpha, beta] = factors.map_or([T::ONE, T::Scalar::default()], |factors| factors.map(value));
    let (spec, [conj_a, conj_b]) = (Gemm::new().alpha(alpha).beta(beta), conjugate);
    let spec = if conj_a { spec.conjugate_a() } else { spec };
    let spec = if conj_b { spec.conjugate_b() } else { spec };
    let pending = device.blas().math(math).gemm(spec, a, b, tensor::<T>(c, layout)?);
    let pending = pending.map_err(|rejected| rejected.map(|(tensor,)| one(tensor.into_buffer())))?;
    pending.retype(|(tensor,)| Ok(one(tensor.into_buffer())))
}

macro_rules! elements { ($($t:ty, $scalar:ty, $one:expr, $multiply:expr;)*) => { $(
    impl TensorElement for $t {
        type Scalar = $scalar;
        const ONE: $scalar = $one;
        const CALLS: Calls =
            Calls { dtype: <$t as Element>::DTYPE, plain: [one_of(<$t as Element>::DTYPE), [0; 16]], multiply: $multiply, copy: copy::<$t>, assign: assign::<$t> };
    }
)* } }
elements! {
    f32, f32, 1.0, Some(multiply::<f32>);
    f64, f64, 1.0, Some(multiply::<f64>);
    Complex<f32>, Complex<f32>, Complex { re: 1.0, im: 0.0 }, Some(multiply::<Complex<f32>>);
    Complex<f64>, Complex<f64>, Complex { re: 1.0, im: 0.0 }, Some(multiply::<Complex<f64>>);
    f16, f32, 1.0, Some(multiply::<f16>);
    bf16, f32, 1.0, Some(multiply::<bf16>);
    i8, i8, 1, None;
    i16, i16, 1, None;
    i32, i32, 1, None;
    i64, i64, 1, None;
    u8, u8, 1, None;
    u16, u16, 1, None;
    u32, u32, 1, None;
    u64, u64, 1, None;
}

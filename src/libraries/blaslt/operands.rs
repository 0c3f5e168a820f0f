//! The operands that a product reads.

use super::beside::Place;
use super::types::{Auto, MatmulTypes};
use crate::core::buffer::{Elems, List};
use crate::core::element::Element;
use crate::core::op::Spans;
use crate::device::tensor::{ReadableTensor, TensorRef};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// No operand; `X` is the type that it would have.
#[derive(Clone, Copy, Debug)]
pub struct Absent<X = Auto>(PhantomData<X>);

/// The operands that a product reads: A and B, and optional ones.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::blaslt::{Epilogue, Operands};
/// use windlass::{Device, Matmul};
/// let device = Device::host()?;
/// let (a, b) = (device.tensor([2, 1], [2.0f32, 3.0])?, device.tensor([1, 1], [10.0f32])?);
/// let c = device.tensor([2, 1], [1.0f32, 2.0])?;
/// let (operands, d) = (Operands::new(&a, &b).c(&c), device.uninit([2, 1])?);
/// let d = device.blas_lt().matmul_with(Matmul::new().beta(1.0), operands, Epilogue::none(), d)?;
/// assert_eq!(device.to_vec(&d)?, [21.0, 32.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Operands<'a, A: Element, B: Element, C = Absent> {
    pub(super) a: TensorRef<'a, A>,
    pub(super) b: TensorRef<'a, B>,
    pub(super) c: C,
    /// For A, B and D.
    pub(super) scales: [Option<TensorRef<'a, f32>>; 3],
    /// Whether the scales of A and of B are vectors.
    pub(super) outer: [bool; 2],
}

impl<'a, A: Element, B: Element> Operands<'a, A, B> {
    /// A and B alone.
    pub fn new(a: impl ReadableTensor<'a, A>, b: impl ReadableTensor<'a, B>) -> Self {
        Operands { a: a.into(), b: b.into(), c: Absent(PhantomData), scales: [None, None, None], outer: [false; 2] }
    }
}

impl<'a, A: Element, B: Element, C> Operands<'a, A, B, C> {
    fn with_c<X>(self, c: X) -> Operands<'a, A, B, X> {
        let Operands { a, b, scales, outer, .. } = self;
        Operands { a, b, c, scales, outer }
    }

    /// A separate C: `beta * C` is read from here, and the previous contents of D are not used. Its batch axes are broadcast to
    /// those of D.
    pub fn c<X: Element>(self, c: impl ReadableTensor<'a, X>) -> Operands<'a, A, B, TensorRef<'a, X>> {
        self.with_c(c.into())
    }

    /// An optional separate C; see [`c`](Self::c).
    pub fn maybe_c<X: Element>(self, c: Option<TensorRef<'a, X>>) -> Operands<'a, A, B, Option<TensorRef<'a, X>>> {
        self.with_c(c)
    }

    /// Sets the type that C would have, if it is not the default for D: for a D of 8-bit floats, `f16` means a bias in
    /// f16 instead of bf16.
    pub fn c_type<X: Element>(self) -> Operands<'a, A, B, Absent<X>> {
        self.with_c(Absent(PhantomData))
    }

    /// The factor of the stored values of A: one element. For 8-bit floats.
    pub fn scale_a(mut self, scale: impl ReadableTensor<'a, f32>) -> Self {
        let [a, _, _] = &mut self.scales;
        *a = Some(scale.into());
        let [outer, _] = &mut self.outer;
        *outer = false;
        self
    }

    /// The factor of the stored values of B: one element. For 8-bit floats.
    pub fn scale_b(mut self, scale: impl ReadableTensor<'a, f32>) -> Self {
        let [_, b, _] = &mut self.scales;
        *b = Some(scale.into());
        let [_, outer] = &mut self.outer;
        *outer = false;
        self
    }

    /// The factors of each row of A and of each column of B: vectors of `m` and `n` elements. For 8-bit floats.
    pub fn outer_scales(mut self, rows: impl ReadableTensor<'a, f32>, columns: impl ReadableTensor<'a, f32>) -> Self {
        let [a, b, _] = &mut self.scales;
        (*a, *b) = (Some(rows.into()), Some(columns.into()));
        self.outer = [true; 2];
        self
    }

    /// The factor of D before it is rounded: one element. For a D of 8-bit floats.
    pub fn scale_d(mut self, scale: impl ReadableTensor<'a, f32>) -> Self {
        let [_, _, d] = &mut self.scales;
        *d = Some(scale.into());
        self
    }
}

mod sealed {
    pub trait Sealed {}
}
impl<X> sealed::Sealed for Absent<X> {}
impl<X: Element> sealed::Sealed for TensorRef<'_, X> {}
impl<X: Element> sealed::Sealed for Option<TensorRef<'_, X>> {}

/// An operand or its absence. Sealed.
pub trait OperandKind: sealed::Sealed {
    /// Its type, or [`Auto`].
    type Kind;
}
impl<X> OperandKind for Absent<X> {
    type Kind = X;
}
impl<X: Element> OperandKind for TensorRef<'_, X> {
    type Kind = X;
}
impl<X: Element> OperandKind for Option<TensorRef<'_, X>> {
    type Kind = X;
}

/// An operand of type `X`, or none. Sealed.
pub trait Optional<'a, X: Element>: OperandKind {
    #[doc(hidden)]
    fn given(&self) -> Option<&TensorRef<'a, X>>;
}
impl<'a, X: Element, Y> Optional<'a, X> for Absent<Y> {
    fn given(&self) -> Option<&TensorRef<'a, X>> {
        None
    }
}
impl<'a, X: Element> Optional<'a, X> for TensorRef<'a, X> {
    fn given(&self) -> Option<&TensorRef<'a, X>> {
        Some(self)
    }
}
impl<'a, X: Element> Optional<'a, X> for Option<TensorRef<'a, X>> {
    fn given(&self) -> Option<&TensorRef<'a, X>> {
        self.as_ref()
    }
}

/// All operands to be read.
#[derive(Clone, Debug)]
pub(super) struct ReadPlaces {
    pub(super) a: Place,
    pub(super) b: Place,
    pub(super) c: Option<Place>,
    pub(super) bias: Option<Place>,
    pub(super) mask: Option<Place>,
    pub(super) pre: Option<Place>,
    /// The scales that are given, in the order A, B, D.
    pub(super) scales: SmallVec<[Place; 3]>,
    /// Alpha and beta, if they are on the device.
    pub(super) factors: [Option<Place>; 2],
}

/// All operands to be read, for a host half.
pub(super) struct ReadSlices<'x, T: MatmulTypes> {
    pub(super) a: &'x [T::A],
    pub(super) b: &'x [T::B],
    pub(super) c: Option<&'x [T::C]>,
    pub(super) bias: Option<&'x [T::Bias]>,
    pub(super) mask: Option<&'x [u8]>,
    pub(super) pre: Option<&'x [T::Aux]>,
    pub(super) scales: Vec<&'x [f32]>,
    pub(super) factors: [Option<&'x [T::Scalar]>; 2],
}

/// Which operands an op has.
pub(super) trait Reading<T: MatmulTypes>: 'static {
    type Elems: Elems;
    const NAMES: &'static [&'static str];
    fn places(spans: &Spans<Self::Elems>) -> ReadPlaces;
    fn slices<'x>(slices: <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T>;
}

/// Only A and B and the factors, as most products have them: no other operand has to be looked at.
pub(super) enum Two {}

impl<T: MatmulTypes> Reading<T> for Two {
    type Elems = (T::A, T::B, Option<T::Scalar>, Option<T::Scalar>);
    const NAMES: &'static [&'static str] = &["a", "b", "alpha", "beta"];

    fn places((a, b, alpha, beta): &Spans<Self::Elems>) -> ReadPlaces {
        let factors = [alpha, beta].map(|at| at.as_ref().map(Place::from));
        let scales = SmallVec::new();
        ReadPlaces { a: a.into(), b: b.into(), c: None, bias: None, mask: None, pre: None, scales, factors }
    }

    fn slices<'x>((a, b, alpha, beta): <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T> {
        let (scales, factors) = (Vec::new(), [alpha, beta]);
        ReadSlices { a, b, c: None, bias: None, mask: None, pre: None, scales, factors }
    }
}

/// Everything that a product can read.
pub(super) enum All {}

impl<T: MatmulTypes> Reading<T> for All {
    type Elems = (
        T::A,
        T::B,
        Option<T::C>,
        Option<T::Bias>,
        Option<u8>,
        Option<T::Aux>,
        List<f32>,
        Option<T::Scalar>,
        Option<T::Scalar>,
    );
    const NAMES: &'static [&'static str] = &["a", "b", "c", "bias", "mask", "aux", "scales", "alpha", "beta"];

    fn places((a, b, c, bias, mask, pre, scales, alpha, beta): &Spans<Self::Elems>) -> ReadPlaces {
        ReadPlaces {
            a: a.into(),
            b: b.into(),
            c: c.as_ref().map(Place::from),
            bias: bias.as_ref().map(Place::from),
            mask: mask.as_ref().map(Place::from),
            pre: pre.as_ref().map(Place::from),
            scales: scales.iter().map(Place::from).collect(),
            factors: [alpha, beta].map(|at| at.as_ref().map(Place::from)),
        }
    }

    fn slices<'x>(slices: <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T> {
        let (a, b, c, bias, mask, pre, scales, alpha, beta) = slices;
        ReadSlices { a, b, c, bias, mask, pre, scales, factors: [alpha, beta] }
    }
}

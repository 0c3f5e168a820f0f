//! The operands that a product reads.

use super::epilogue::Place;
use super::types::{Auto, MatmulTypes};
use crate::core::buffer::{Elems, In, List, Readable};
use crate::core::element::Element;
use crate::core::op::Spans;
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
/// let (a, b) = (device.upload([2.0f32, 3.0])?.into_output(), device.upload([10.0f32])?.into_output());
/// let c = device.upload([1.0f32, 2.0])?.into_output();
/// let operands = Operands::new(&a, &b).c(&c); // 2 x 1 times 1 x 1, plus 2 x 1
/// let spec = Matmul::new(2, 1, 1).beta(1.0);
/// let d = device.blas_lt().matmul_with(spec, operands, Epilogue::none(), device.uninit(2)?)?.await_result()?;
/// assert_eq!(device.download(&d)?.await_result()?, [21.0, 32.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Operands<'a, A: Element, B: Element, C = Absent, S = Absent> {
    pub(super) a: In<'a, A>,
    pub(super) b: In<'a, B>,
    pub(super) c: C,
    /// Alpha and beta.
    pub(super) factors: [S; 2],
    /// For A, B and D.
    pub(super) scales: [Option<In<'a, f32>>; 3],
    /// Whether the scales of A and of B are vectors.
    pub(super) outer: [bool; 2],
}

impl<'a, A: Element, B: Element> Operands<'a, A, B> {
    /// A and B alone.
    pub fn new(a: impl Readable<'a, A>, b: impl Readable<'a, B>) -> Self {
        let (c, factors) = (Absent(PhantomData), [Absent(PhantomData); 2]);
        Operands { a: a.into(), b: b.into(), c, factors, scales: [None; 3], outer: [false; 2] }
    }
}

impl<'a, A: Element, B: Element, C, S> Operands<'a, A, B, C, S> {
    /// A separate C: `beta * C` is read from here, and the previous contents of D are not used.
    pub fn c<X: Element>(self, c: impl Readable<'a, X>) -> Operands<'a, A, B, In<'a, X>, S> {
        let Operands { a, b, factors, scales, outer, .. } = self;
        Operands { a, b, c: c.into(), factors, scales, outer }
    }

    /// An optional separate C; see [`c`](Self::c).
    pub fn maybe_c<X: Element>(self, c: Option<In<'a, X>>) -> Operands<'a, A, B, Option<In<'a, X>>, S> {
        let Operands { a, b, factors, scales, outer, .. } = self;
        Operands { a, b, c, factors, scales, outer }
    }

    /// Sets the type that C would have, if it is not the default for D: for a D of 8-bit floats, `f16` means a bias in
    /// f16 instead of bf16.
    pub fn c_type<X: Element>(self) -> Operands<'a, A, B, Absent<X>, S> {
        let Operands { a, b, factors, scales, outer, .. } = self;
        Operands { a, b, c: Absent(PhantomData), factors, scales, outer }
    }

    /// Alpha and beta from device memory, one element each, instead of from the [`Matmul`](crate::Matmul). It is then
    /// not known whether `beta` is 0, so D (or C) is read.
    pub fn scalars_at<X: Element>(
        self,
        alpha: impl Readable<'a, X>,
        beta: impl Readable<'a, X>,
    ) -> Operands<'a, A, B, C, In<'a, X>> {
        let Operands { a, b, c, scales, outer, .. } = self;
        Operands { a, b, c, factors: [alpha.into(), beta.into()], scales, outer }
    }

    /// Optional alpha and beta from device memory; see [`scalars_at`](Self::scalars_at).
    pub fn maybe_scalars_at<X: Element>(
        self,
        factors: Option<[In<'a, X>; 2]>,
    ) -> Operands<'a, A, B, C, Option<In<'a, X>>> {
        let Operands { a, b, c, scales, outer, .. } = self;
        Operands { a, b, c, factors: factors.map_or([None; 2], |both| both.map(Some)), scales, outer }
    }

    /// The factor of the stored values of A: one element. For 8-bit floats.
    pub fn scale_a(mut self, scale: impl Readable<'a, f32>) -> Self {
        let [a, _, _] = &mut self.scales;
        *a = Some(scale.into());
        let [outer, _] = &mut self.outer;
        *outer = false;
        self
    }

    /// The factor of the stored values of B: one element. For 8-bit floats.
    pub fn scale_b(mut self, scale: impl Readable<'a, f32>) -> Self {
        let [_, b, _] = &mut self.scales;
        *b = Some(scale.into());
        let [_, outer] = &mut self.outer;
        *outer = false;
        self
    }

    /// The factors of each row of `op(A)` and of each column of `op(B)`: `m` and `n` elements. For 8-bit floats.
    pub fn outer_scales(mut self, rows: impl Readable<'a, f32>, columns: impl Readable<'a, f32>) -> Self {
        let [a, b, _] = &mut self.scales;
        (*a, *b) = (Some(rows.into()), Some(columns.into()));
        self.outer = [true; 2];
        self
    }

    /// The factor of D before it is rounded: one element. For a D of 8-bit floats.
    pub fn scale_d(mut self, scale: impl Readable<'a, f32>) -> Self {
        let [_, _, d] = &mut self.scales;
        *d = Some(scale.into());
        self
    }
}

mod sealed {
    pub trait Sealed {}
}
impl<X> sealed::Sealed for Absent<X> {}
impl<X: Element> sealed::Sealed for In<'_, X> {}
impl<X: Element> sealed::Sealed for Option<In<'_, X>> {}

/// An operand or its absence. Sealed.
pub trait OperandKind: sealed::Sealed {
    /// Its type, or [`Auto`].
    type Kind;
}
impl<X> OperandKind for Absent<X> {
    type Kind = X;
}
impl<X: Element> OperandKind for In<'_, X> {
    type Kind = X;
}
impl<X: Element> OperandKind for Option<In<'_, X>> {
    type Kind = X;
}

/// An operand of type `X`, or none. Sealed.
pub trait Optional<'a, X: Element>: OperandKind {
    #[doc(hidden)]
    fn given(self) -> Option<In<'a, X>>;
}
impl<'a, X: Element, Y> Optional<'a, X> for Absent<Y> {
    fn given(self) -> Option<In<'a, X>> {
        None
    }
}
impl<'a, X: Element> Optional<'a, X> for In<'a, X> {
    fn given(self) -> Option<In<'a, X>> {
        Some(self)
    }
}
impl<'a, X: Element> Optional<'a, X> for Option<In<'a, X>> {
    fn given(self) -> Option<In<'a, X>> {
        self
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
    /// Alpha and beta, or none.
    pub(super) factors: SmallVec<[Place; 2]>,
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
    pub(super) factors: Vec<&'x [T::Scalar]>,
}

/// Which operands an op has.
pub(super) trait Reading<T: MatmulTypes>: 'static {
    type Elems: Elems;
    const NAMES: &'static [&'static str];
    fn places(spans: &Spans<Self::Elems>) -> ReadPlaces;
    fn slices<'x>(slices: <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T>;
}

/// Only A and B, as most products have them: no other operand has to be looked at.
pub(super) enum Two {}

impl<T: MatmulTypes> Reading<T> for Two {
    type Elems = (T::A, T::B);
    const NAMES: &'static [&'static str] = &["a", "b"];

    fn places((a, b): &Spans<Self::Elems>) -> ReadPlaces {
        let (scales, factors) = (SmallVec::new(), SmallVec::new());
        ReadPlaces { a: a.into(), b: b.into(), c: None, bias: None, mask: None, pre: None, scales, factors }
    }

    fn slices<'x>((a, b): <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T> {
        let (scales, factors) = (Vec::new(), Vec::new());
        ReadSlices { a, b, c: None, bias: None, mask: None, pre: None, scales, factors }
    }
}

/// Everything that a product can read.
pub(super) enum All {}

impl<T: MatmulTypes> Reading<T> for All {
    type Elems = (T::A, T::B, Option<T::C>, Option<T::Bias>, Option<u8>, Option<T::Aux>, List<f32>, List<T::Scalar>);
    const NAMES: &'static [&'static str] = &["a", "b", "c", "bias", "mask", "aux", "scales", "factors"];

    fn places((a, b, c, bias, mask, pre, scales, factors): &Spans<Self::Elems>) -> ReadPlaces {
        ReadPlaces {
            a: a.into(),
            b: b.into(),
            c: c.as_ref().map(Place::from),
            bias: bias.as_ref().map(Place::from),
            mask: mask.as_ref().map(Place::from),
            pre: pre.as_ref().map(Place::from),
            scales: scales.iter().map(Place::from).collect(),
            factors: factors.iter().map(Place::from).collect(),
        }
    }

    fn slices<'x>(slices: <Self::Elems as Elems>::Slices<'x>) -> ReadSlices<'x, T> {
        let (a, b, c, bias, mask, pre, scales, factors) = slices;
        ReadSlices { a, b, c, bias, mask, pre, scales, factors }
    }
}

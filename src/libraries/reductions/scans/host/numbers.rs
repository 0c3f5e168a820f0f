//! The four types in which elements are accumulated, and what an element is and a result becomes.

use crate::core::element::DType;
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::truth::Bool;
use crate::libraries::reductions::ReductionKind;
use half::{bf16, f16};

/// How results come of elements.
#[derive(Clone, Copy)]
pub(in crate::libraries) enum Fold {
    Add,
    Mul,
    Min,
    Max,
}

impl Fold {
    /// Two of them as one.
    pub(in crate::libraries) fn join<A: Accumulator>(self, own: A, value: A) -> A {
        match self {
            Fold::Add => own.add(value),
            Fold::Mul => own.mul(value),
            Fold::Min => own.min(value),
            Fold::Max => own.max(value),
        }
    }

    /// Truth values are 0 and 1.
    pub(in crate::libraries) fn for_kind(kind: ReductionKind) -> Self {
        match kind {
            ReductionKind::Prod => Fold::Mul,
            ReductionKind::Min | ReductionKind::All => Fold::Min,
            ReductionKind::Max | ReductionKind::Any => Fold::Max,
            _ => Fold::Add,
        }
    }
}

/// A type in which elements are accumulated.
pub(in crate::libraries) trait Accumulator: Copy + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    /// What changes no sum.
    const NOTHING: Self;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// The smallest and the largest number of an element type.
    fn limits(dtype: DType) -> [Self; 2];
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl Accumulator for $t {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        const NOTHING: Self = 0;

        fn add(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        fn mul(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
        fn min(self, other: Self) -> Self {
            Ord::min(self, other)
        }
        fn max(self, other: Self) -> Self {
            Ord::max(self, other)
        }
        fn limits(dtype: DType) -> [Self; 2] {
            let spare = 64 - 8 * dtype.size() as u32;
            [<$t>::MIN >> spare, <$t>::MAX >> spare]
        }
    }
)* } }
integers!(i64, u64);

macro_rules! floats { ($($t:ty),*) => { $(
    impl Accumulator for $t {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const NOTHING: Self = -0.0;

        fn add(self, other: Self) -> Self {
            self + other
        }
        fn mul(self, other: Self) -> Self {
            self * other
        }
        fn min(self, other: Self) -> Self {
            // Of equal numbers only zeros differ, in the sign.
            match self == other {
                true => Self::from_bits(self.to_bits() | other.to_bits()),
                false if self.is_nan() || other.is_nan() => Self::NAN,
                false => if self < other { self } else { other },
            }
        }
        fn max(self, other: Self) -> Self {
            match self == other {
                true => Self::from_bits(self.to_bits() & other.to_bits()),
                false if self.is_nan() || other.is_nan() => Self::NAN,
                false => if self > other { self } else { other },
            }
        }
        fn limits(_: DType) -> [Self; 2] {
            [Self::NEG_INFINITY, Self::INFINITY]
        }
    }
)* } }
floats!(f32, f64);

/// An element, from and to what is accumulated.
pub(in crate::libraries) trait Stored<A>: Copy {
    fn open(self) -> A;
    /// The nearest element.
    fn close(value: A) -> Self;
    /// The element that this was.
    fn again(value: A) -> Self {
        Self::close(value)
    }
}

macro_rules! stored { ($($t:ty, $a:ty: $open:expr, $close:expr;)*) => { $(
    impl Stored<$a> for $t {
        fn open(self) -> $a {
            $open(self)
        }
        fn close(value: $a) -> Self {
            $close(value)
        }
    }
)* } }
macro_rules! numbers { ($($a:ty: $($t:ty)*;)*) => { $( stored! { $($t, $a: |x: $t| <$a>::from(x), |x: $a| x as $t;)* } )* } }
numbers! {
    i64: i8 i16 i32 i64;
    u64: u8 u16 u32 u64;
}

/// The one pattern of a computed NaN.
fn single(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

fn double(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(0x7fff_ffff_ffff_ffff) } else { x }
}

stored! {
    Bool, i64: |x: Bool| (x.0 != 0).into(), |x: i64| Bool((x != 0).into());
    Bool, u64: |x: Bool| (x.0 != 0).into(), |x: u64| Bool((x != 0).into());
    f16, f32: |x: f16| x.to_f32(), |x: f32| f16::from_f32(single(x));
    bf16, f32: |x: bf16| x.to_f32(), |x: f32| bf16::from_f32(single(x));
    F8E4M3, f32: |x: F8E4M3| x.to_f32(), |x: f32| F8E4M3::from_f32(single(x));
    f32, f32: |x: f32| x, single;
    f64, f64: |x: f64| x, double;
}

impl Stored<f32> for F8E5M2 {
    fn open(self) -> f32 {
        self.to_f32()
    }
    fn close(value: f32) -> Self {
        Self::from_f32(single(value))
    }
    fn again(value: f32) -> Self {
        // A conversion saturates, and would make an infinity finite.
        match value.is_infinite() {
            true => Self::from_bits(if value > 0.0 { 0x7c } else { 0xfc }),
            false => Self::close(value),
        }
    }
}

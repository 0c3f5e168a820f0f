//! What a reduction accumulates, and how: four expressions for each kind and element type.
//!
//! - the *element* (`element.rs`): the caller's formula, followed by what the kind needs of it;
//! - the *step* takes an element into the accumulators of a chain;
//! - the *join* makes the accumulators of two chains, or of two groups, one: those of the earlier elements come first;
//! - the *finish* makes the result of the last accumulators.
//!
//! Joining with the identity changes nothing: where a chain has no element, leaving it out and joining it are the same.

use super::kind::ReductionKind;
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::core::truth::Bool;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::build::recording::{select, typed};
use crate::libraries::expressions::build::{Operand, Symbol, constant};
use crate::libraries::expressions::formula::{Kept, record};
use crate::libraries::expressions::ir::{Op, Overflow};
use std::collections::HashMap;
use std::sync::LazyLock;

/// All that the engines have to know of a kind for elements of one type.
pub(super) struct Recipe {
    pub(super) accumulators: Vec<DType>,
    /// What a chain begins with.
    pub(super) identity: Vec<Scalar>,
    /// The accumulators of no element at all.
    pub(super) empty: Vec<Scalar>,
    /// Of accumulators, an element, and its number if that [counts](Recipe::is_positional).
    pub(super) step: Arc<Kept>,
    /// Of the accumulators of two.
    pub(super) join: Arc<Kept>,
    /// Of accumulators, and the number of elements if the type of that is [there](Recipe::count).
    pub(super) finish: Arc<Kept>,
    pub(super) count: Option<DType>,
    pub(super) is_positional: bool,
    /// Of a place: whether it is that of the largest element.
    pub(super) is_largest: bool,
}

/// A value of a recording, which knows its type: the type here has no meaning.
pub(super) type Value = Symbol<f64>;
type Made = Result<Arc<Kept>>;

type Known = HashMap<(ReductionKind, DType), Arc<Recipe>>;
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

fn formula<const N: usize>(types: [DType; N], f: impl Fn([Value; N]) -> Vec<Value>) -> Made {
    let recorded = record(&types, |open| {
        let inputs = std::array::from_fn(|k| Symbol::new(open.input(k)));
        f(inputs).into_iter().map(|value| value.raw).collect()
    })?;
    Ok(recorded.kept)
}

/// `a` where the condition is true, else `b`; a number has this type.
fn either(condition: Symbol<Bool>, a: impl Into<Operand<f64>>, b: impl Into<Operand<f64>>, dtype: DType) -> Value {
    Symbol::new(select(condition.raw, a.into().raw, b.into().raw, dtype))
}

pub(super) fn cast(x: Value, dtype: DType) -> Value {
    if x.raw.dtype() == Some(dtype) {
        return x;
    }
    Symbol::new(typed("cast", x.raw, dtype, |x| Op::Cast(Overflow::Saturate, x)))
}

/// One of the elements, in their type. A cast would round: of the type of 8 bits that has infinities, it makes them finite.
fn element_again(x: Value, own: DType, result: DType) -> Value {
    let near = cast(x, result);
    if result != DType::F8E5M2 {
        return near;
    }
    let zero = constant(number(own, 0));
    let code = either(x.gt(zero), constant(number(DType::U8, 0x7c)), constant(number(DType::U8, 0xfc)), DType::U8);
    let infinite = Value::new(typed("bits", code.raw, result, Op::Bits));
    either(x.abs().eq(constant(extreme(own, true))), infinite, near, result)
}

/// A small number, in any type.
fn number(dtype: DType, value: i32) -> Scalar {
    match dtype {
        DType::Bool => Scalar::from(value != 0),
        other => Scalar::new(value).adopt(other).unwrap_or(Scalar::new(value)),
    }
}

/// -0, which changes no sum; of integers 0.
fn no_summand(dtype: DType) -> Scalar {
    match dtype {
        DType::F32 => Scalar::new(-0f32),
        DType::F64 => Scalar::new(-0f64),
        DType::C32 => Scalar::new(num_complex::Complex::new(-0f32, -0.0)),
        DType::C64 => Scalar::new(num_complex::Complex::new(-0f64, -0.0)),
        other => number(other, 0),
    }
}

/// The largest value of a type, or the smallest.
fn extreme(dtype: DType, largest: bool) -> Scalar {
    let top = 1u64 << (8 * dtype.size() as u32 - 1);
    let bits = match (dtype, dtype.is_signed(), largest) {
        (DType::F32, _, true) => f32::INFINITY.to_bits().into(),
        (DType::F32, _, false) => f32::NEG_INFINITY.to_bits().into(),
        (DType::F64, _, true) => f64::INFINITY.to_bits(),
        (DType::F64, _, false) => f64::NEG_INFINITY.to_bits(),
        (_, true, true) => top - 1,
        (_, true, false) => top,
        (_, false, true) => top | (top - 1),
        (_, false, false) => 0,
    };
    Scalar::from_bits(dtype, [bits, 0])
}

/// In what a type is accumulated: halves in `f32`.
pub(super) fn wide(dtype: DType) -> DType {
    if dtype.is_narrow() { DType::F32 } else { dtype }
}

impl Recipe {
    /// The recipe of a kind for a formula whose output has the type `dtype`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if elements of that type have no such reduction.
    pub(super) fn for_kind(kind: ReductionKind, dtype: DType) -> Result<Arc<Recipe>> {
        if let Some(known) = KNOWN.lock().get(&(kind, dtype)) {
            return Ok(known.clone());
        }
        kind.check(dtype).map_err(|what| Error::invalid("x", what))?;
        let recipe = Arc::new(Self::new(kind, dtype)?);
        KNOWN.lock().insert((kind, dtype), recipe.clone());
        Ok(recipe)
    }

    fn new(kind: ReductionKind, dtype: DType) -> Result<Self> {
        let result = kind.result(dtype);
        let own = wide(result);
        match kind {
            ReductionKind::Sum | ReductionKind::Norm1 => {
                Self::sum(own, formula([own], |[x]| vec![cast(x, result)])?, None)
            }
            ReductionKind::Mean => {
                let n = own.part();
                let finish = formula([own, n], |[x, n]| {
                    if own.is_complex() {
                        let (re, im) = (x.re() / n, x.im() / n);
                        return vec![Symbol::new(re.complex(im).raw)];
                    }
                    vec![cast(x / n, result)]
                })?;
                Self::sum(own, finish, Some(n))
            }
            ReductionKind::Prod => {
                let one = number(own, 1);
                let fold = formula([own; 2], |[a, x]| vec![a * x])?;
                Ok(Self::fold(own, one, fold, formula([own], |[x]| vec![cast(x, result)])?))
            }
            ReductionKind::Min | ReductionKind::Max | ReductionKind::NormInf => {
                let identity = match kind {
                    ReductionKind::NormInf => number(own, 0),
                    _ => extreme(own, kind == ReductionKind::Min),
                };
                let fold = formula([own; 2], |[a, x]| {
                    vec![if kind == ReductionKind::Min { a.minimum(x) } else { a.maximum(x) }]
                })?;
                let finish = formula([own], |[x]| vec![element_again(x, own, result)])?;
                Ok(Self::fold(own, identity, fold, finish))
            }
            ReductionKind::All | ReductionKind::Any => {
                let all = kind == ReductionKind::All;
                let fold = formula([DType::Bool; 2], |[a, x]| vec![if all { a & x } else { a | x }])?;
                Ok(Self::fold(DType::Bool, Scalar::from(all), fold, formula([DType::Bool], |[x]| vec![x])?))
            }
            ReductionKind::Count => {
                let mut recipe = Self::sum(DType::I64, formula([DType::I64], |[x]| vec![x])?, None)?;
                recipe.step = formula([DType::I64, DType::Bool], |[a, x]| vec![a + cast(x, DType::I64)])?;
                Ok(recipe)
            }
            ReductionKind::ArgMin | ReductionKind::ArgMax => Self::place(wide(dtype), kind == ReductionKind::ArgMax),
            ReductionKind::Var | ReductionKind::Std => {
                let root = kind == ReductionKind::Std;
                let finish = formula([own; 4], |[_, _, squares, n]| {
                    let variance = squares / n;
                    vec![cast(if root { variance.sqrt() } else { variance }, result)]
                })?;
                Self::spread(own, finish)
            }
            ReductionKind::Moments => {
                let own = result.part();
                let finish =
                    formula([own; 4], |[_, mean, squares, n]| vec![Symbol::new(mean.complex(squares / n).raw)])?;
                Self::spread(own, finish)
            }
            ReductionKind::Norm2 if own == DType::F64 => Self::scaled_norm(dtype),
            // Squares of an `f32` neither overflow nor vanish in `f64`.
            ReductionKind::Norm2 => {
                let finish = formula([DType::F64], |[x]| vec![cast(x.sqrt(), result)])?;
                Self::sum(DType::F64, finish, None)
            }
            ReductionKind::LogSumExp => {
                Self::exponentials(own, formula([own; 2], |[m, s]| vec![cast(m + s.log(), result)])?)
            }
            ReductionKind::Exponentials => {
                let own = result.part();
                // The distance of an infinite element from itself is no number: what is computed from the largest element
                // on is NaN, as where a row is read again.
                let infinite = constant(extreme(own, true));
                let finish = formula([own; 2], |[m, s]| {
                    #[expect(clippy::eq_op, reason = "NaN")]
                    let distance = m - m;
                    let s = either(m.eq(infinite), distance, s, own);
                    vec![Symbol::new(m.complex(s).raw)]
                })?;
                Self::exponentials(own, finish)
            }
        }
    }

    /// One accumulator, whose step is its join.
    fn fold(own: DType, identity: Scalar, fold: Arc<Kept>, finish: Arc<Kept>) -> Self {
        Recipe {
            accumulators: vec![own],
            identity: vec![identity],
            empty: vec![identity],
            step: fold.clone(),
            join: fold,
            finish,
            count: None,
            is_positional: false,
            is_largest: false,
        }
    }

    fn sum(own: DType, finish: Arc<Kept>, count: Option<DType>) -> Result<Self> {
        let fold = formula([own; 2], |[a, x]| vec![a + x])?;
        let sum = Self::fold(own, no_summand(own), fold, finish);
        Ok(Recipe { empty: vec![Scalar::from_bits(own, [0; 2])], count, ..sum })
    }

    /// The extreme value and its number.
    fn place(own: DType, largest: bool) -> Result<Self> {
        let pick = |[v, i, x, at]: [Value; 4]| {
            let ahead = if largest { x.gt(v) } else { x.lt(v) };
            let earlier = at.lt(i);
            let mut takes = ahead | (x.eq(v) & earlier);
            if own.is_float() {
                takes = takes | (x.isnan() & (!v.isnan() | earlier));
            }
            vec![either(takes, x, v, own), either(takes, at, i, DType::I64)]
        };
        let types = [own, DType::I64, own, DType::I64];
        let join = formula(types, pick)?;
        let identity = vec![extreme(own, !largest), Scalar::new(i64::MAX)];
        Ok(Recipe {
            accumulators: vec![own, DType::I64],
            empty: identity.clone(),
            identity,
            step: join.clone(),
            join,
            finish: formula([own, DType::I64], |[_, i]| vec![i])?,
            count: None,
            is_positional: true,
            is_largest: largest,
        })
    }

    /// Number, mean, and sum of squared distances from it.
    fn spread(own: DType, finish: Arc<Kept>) -> Result<Self> {
        let step = formula([own; 4], |[n, mean, squares, x]| {
            let (n, distance) = (n + constant(1), x - mean);
            let mean = mean + distance / n;
            vec![n, mean, distance.fma(x - mean, squares)]
        })?;
        let join = formula([own; 6], |[n, mean, squares, other, other_mean, other_squares]| {
            let zero = constant(0);
            let (all, distance) = (n + other, other_mean - mean);
            let share = distance * (other / all);
            let joined = (share * distance).fma(n, squares + other_squares);
            let pick = |joined, one, two| either(other.eq(zero), one, either(n.eq(zero), two, joined, own), own);
            vec![all, pick(mean + share, mean, other_mean), pick(joined, squares, other_squares)]
        })?;
        let nothing = vec![number(own, 0); 3];
        Ok(Recipe {
            accumulators: vec![own; 3],
            identity: nothing.clone(),
            empty: nothing,
            step,
            join,
            finish,
            count: Some(own),
            is_positional: false,
            is_largest: false,
        })
    }

    /// The largest element, and the sum of the exponentials of the distances from it.
    fn exponentials(own: DType, finish: Arc<Kept>) -> Result<Self> {
        let one = constant(number(own, 1));
        let step = formula([own; 3], |[m, s, x]| {
            let grows = x.gt(m);
            let factor = either(x.eq(m), one, (-(x - m).abs()).exp(), own);
            let s = factor.fma(either(grows, s, one, own), either(grows, one, s, own));
            vec![either(grows, x, m, own), s]
        })?;
        let join = formula([own; 4], |[m, s, other, other_s]| {
            let grows = other.gt(m);
            let factor = either(other.eq(m), one, (-(other - m).abs()).exp(), own);
            let s = factor.fma(either(grows, s, other_s, own), either(grows, other_s, s, own));
            vec![either(grows, other, m, own), s]
        })?;
        Ok(Recipe {
            accumulators: vec![own; 2],
            identity: vec![extreme(own, false), number(own, 0)],
            empty: vec![extreme(own, false), number(own, 0)],
            step,
            join,
            finish,
            count: None,
            is_positional: false,
            is_largest: false,
        })
    }

    /// The sums of squares of large, middling and small numbers, each scaled (J. L. Blue, 1978; E. Anderson, 2017).
    fn scaled_norm(dtype: DType) -> Result<Self> {
        const F: DType = DType::F64;
        let power = |n: i32| constant(f64::from_bits(((1023 + n) as u64) << 52));
        let take = |[large, middle, small]: [Value; 3], x: Value| {
            let x = x.abs();
            let (is_large, is_small) = (x.gt(power(486)), x.lt(power(-511)));
            let scaled = x * either(is_large, power(-538), either(is_small, power(537), power(0), F), F);
            let sum = scaled.fma(scaled, either(is_large, large, either(is_small, small, middle, F), F));
            let is_middle = !(is_large | is_small);
            [either(is_large, sum, large, F), either(is_middle, sum, middle, F), either(is_small, sum, small, F)]
        };
        let step = if dtype.is_complex() {
            formula([F, F, F, dtype], |[a, b, c, z]| take(take([a, b, c], z.re()), z.im()).to_vec())?
        } else {
            formula([F; 4], |[a, b, c, x]| take([a, b, c], x).to_vec())?
        };
        let join = formula([F; 6], |[a, b, c, d, e, f]| vec![a + d, b + e, c + f])?;
        let finish = formula([F; 3], |[large, middle, small]| {
            let of_large = ((middle * power(-538)) * power(-538) + large).sqrt() * power(538);
            let of_middle = ((small * power(-537)) * power(-537) + middle).sqrt();
            let of_small = small.sqrt() * power(-537);
            let without_large = either(middle.eq(constant(0)), of_small, of_middle, F);
            vec![either(large.gt(constant(0)), of_large, without_large, F)]
        })?;
        let nothing = vec![Scalar::new(0f64); 3];
        Ok(Recipe {
            accumulators: vec![F; 3],
            identity: nothing.clone(),
            empty: nothing,
            step,
            join,
            finish,
            count: None,
            is_positional: false,
            is_largest: false,
        })
    }
}

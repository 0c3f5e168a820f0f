//! Which elements a place takes, and with what weights.

use crate::core::element::DType;
use crate::core::truth::Bool;
use crate::libraries::dnn::formulas::{Value, cast, either};
use crate::libraries::expressions::build::Operand;
use crate::libraries::expressions::{Symbol, constant, position};

/// How [`Dnn::grid_sample`](crate::dnn::Dnn::grid_sample) makes an element of those around a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The nearest one, ties to even.
    Nearest,
    /// Of two along each axis, by their distances.
    Linear,
    /// Of four along each axis, by cubic convolution with the parameter -0.75 (R. Keys, 1981).
    Cubic,
}

/// What is beyond the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zeros.
    Zeros,
    /// The nearest elements.
    Border,
    /// The elements mirrored, at the centres of the outer ones if corners are aligned, else at their edges.
    Reflection,
}

/// The settings of [`Dnn::grid_sample`](crate::dnn::Dnn::grid_sample).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSample {
    pub(super) sampling: Sampling,
    pub(super) beyond: Beyond,
    pub(super) align: bool,
}

impl GridSample {
    /// Zeros beyond the elements; -1 and 1 are the edges of the outer elements.
    pub const fn new(sampling: Sampling) -> Self {
        GridSample { sampling, beyond: Beyond::Zeros, align: false }
    }

    /// What is beyond the elements.
    #[must_use]
    pub const fn beyond(mut self, beyond: Beyond) -> Self {
        self.beyond = beyond;
        self
    }

    /// Whether -1 and 1 are the centres of the outer elements.
    #[must_use]
    pub const fn align_corners(mut self, align: bool) -> Self {
        self.align = align;
        self
    }

    /// Elements that are taken along an axis.
    const fn taps(self) -> usize {
        match self.sampling {
            Sampling::Nearest => 1,
            Sampling::Linear => 2,
            Sampling::Cubic => 4,
        }
    }

    /// Elements that are taken for a place.
    pub(super) fn corners(self, rank: usize) -> usize {
        self.taps().pow(rank as u32)
    }

    /// Of the coordinates of a place, one for each axis of these extents: number and weight of the element at the corner that is the
    /// last axis of positions. The first axis counts batches.
    pub(super) fn corner(self, coordinates: &[Value], extents: &[usize], wide: DType) -> [Value; 2] {
        let mut flat: Symbol<i64> = position(0);
        let mut weight: Option<Value> = None;
        for (coordinate, along, tap) in self.axes(coordinates, extents, wide) {
            let (index, own) = along.element(coordinate, tap);
            flat = flat * along.n as i64 + index;
            weight = Some(weight.map_or(own, |before| before * own));
        }
        let weight = weight.unwrap_or_else(|| cast(Value::new(flat.raw), wide));
        [Value::new(flat.raw), weight]
    }

    /// The derivative of the weight of [`corner`](Self::corner) for a coordinate: that in the axis of positions behind the corners, the
    /// last axis of the elements first.
    pub(super) fn slope(self, coordinates: &[Value], extents: &[usize], wide: DType) -> Option<Value> {
        let (rank, which) = (coordinates.len(), position(coordinates.len() as u8 + 2));
        let mut slope: Option<Value> = None;
        for (d, (coordinate, along, tap)) in self.axes(coordinates, extents, wide).enumerate() {
            let [weight, own] = along.slope(coordinate, tap);
            let own = along.either(which.eq((rank - 1 - d) as i64), own, weight);
            slope = Some(slope.map_or(own, |before| before * own));
        }
        slope
    }

    /// For each axis its coordinate, its elements, and which of those around the place the corner has.
    fn axes<'c>(
        self,
        coordinates: &'c [Value],
        extents: &'c [usize],
        wide: DType,
    ) -> impl Iterator<Item = (Value, Axis, Symbol<i64>)> + 'c {
        let corner = position(coordinates.len() as u8 + 1);
        let mut after = self.corners(coordinates.len());
        coordinates.iter().zip(extents).map(move |(coordinate, n)| {
            after /= self.taps();
            let tap = corner / after as i64 % self.taps() as i64;
            (*coordinate, Axis { grid: self, n: *n, wide }, tap)
        })
    }
}

/// The parameter of cubic convolution.
const A: f64 = -0.75;

/// A number that is a part of the formula.
fn n(x: f64) -> Operand<f64> {
    constant(x).into()
}

/// An axis of the elements.
struct Axis {
    grid: GridSample,
    n: usize,
    wide: DType,
}

impl Axis {
    /// Where the reflection is.
    fn edges(&self) -> [f64; 2] {
        let last = self.n as f64 - 1.0;
        if self.grid.align { [0.0, last] } else { [-0.5, last + 0.5] }
    }

    fn either(&self, condition: Symbol<Bool>, a: Value, b: Value) -> Value {
        either(condition, a, b, self.wide)
    }

    /// A place, mirrored until it is inside.
    fn mirrored(&self, x: Value) -> Value {
        let [low, high] = self.edges();
        let range = high - low;
        if range <= 0.0 {
            return x * n(0.0) + low;
        }
        let (times, even) = self.times(x, [low, range]);
        let rest = (x - low).abs() - times * range;
        let inside = self.either(even, rest + low, -rest + high);
        let outside = x.lt(low) | x.gt(high);
        self.either(outside, inside, x)
    }

    /// How many times a place is mirrored, and whether that is even.
    fn times(&self, x: Value, [low, range]: [f64; 2]) -> (Value, Symbol<Bool>) {
        let times = ((x - low).abs() / range).floor();
        (times, (times * n(0.5)).floor().eq(times * n(0.5)))
    }

    /// 1 where a place lies as it is or is mirrored an even number of times, else -1.
    fn direction(&self, x: Value) -> Value {
        let [low, high] = self.edges();
        if high <= low {
            return x * n(0.0);
        }
        let (_, even) = self.times(x, [low, high - low]);
        let sign = |x: f64| either(even, n(x), n(-x), self.wide);
        self.either(x.lt(low), sign(-1.0), sign(1.0))
    }

    /// Where a coordinate lies among the elements, if these had no end.
    fn raw(&self, x: Value) -> Value {
        let all = self.n as f64;
        match self.grid.align {
            true => (x + n(1.0)) / n(2.0) * (all - 1.0),
            false => ((x + n(1.0)) * all - n(1.0)) / n(2.0),
        }
    }

    /// A place among the elements.
    fn place(&self, raw: Value) -> Value {
        let (last, [low, high]) = (self.n as f64 - 1.0, self.edges());
        let at = if self.grid.sampling == Sampling::Nearest { raw.round_even() } else { raw };
        match self.grid.beyond {
            Beyond::Zeros => at,
            // The polynomials swing beyond the edge, too: only the elements that they take are moved inside, as PyTorch does.
            Beyond::Border if self.grid.sampling == Sampling::Cubic => at,
            Beyond::Border => {
                let outside = at.lt(low) | at.gt(high);
                self.either(outside, at.maximum(n(0.0)).minimum(last), at)
            }
            Beyond::Reflection => self.mirrored(at),
        }
    }

    /// The derivative of the place `at` for the coordinate that is `raw`. As PyTorch has it, it is 0 at the outer elements, too.
    fn place_slope(&self, raw: Value, at: Value) -> Operand<f64> {
        let all = self.n as f64;
        let factor = if self.grid.align { (all - 1.0) / 2.0 } else { all / 2.0 };
        let own = match self.grid.beyond {
            Beyond::Reflection => (self.direction(raw) * factor).into(),
            _ => n(factor),
        };
        if self.grid.beyond == Beyond::Zeros || self.grid.sampling == Sampling::Cubic {
            return own;
        }
        either(at.gt(n(0.0)) & at.lt(all - 1.0), own, n(0.0), self.wide).into()
    }

    /// The first of the elements around a place, and the place less that of the element which a corner has.
    fn around(&self, at: Value, tap: Symbol<i64>) -> [Value; 2] {
        let before = if self.grid.sampling == Sampling::Cubic { 1.0 } else { 0.0 };
        let tap = cast(Value::new(tap.raw), self.wide);
        let tap = if before == 0.0 { tap } else { tap - n(before) };
        let first = at.floor();
        // Of the parts, which are exact however far the place is.
        [first + tap, at - first - tap]
    }

    /// The weight, or what else of an element, is 0 beyond the elements.
    fn there(&self, own: Value, weight: Value) -> Value {
        if self.grid.beyond != Beyond::Zeros {
            return weight;
        }
        let there = own.ge(n(0.0)) & own.le(self.n as f64 - 1.0);
        // Not a product with 0: of a coordinate without end, the weight is none.
        either(there, weight, n(0.0), self.wide)
    }

    /// The weight of an element around a place.
    fn weight(&self, at: Value, tap: Symbol<i64>) -> Value {
        let [own, distance] = self.around(at, tap);
        let weight = match self.grid.sampling {
            Sampling::Nearest => at * n(0.0) + n(1.0),
            Sampling::Linear => {
                let part = at - at.floor();
                self.either(tap.eq(constant(0)), -part + n(1.0), part)
            }
            Sampling::Cubic => self.cubic(distance.abs()),
        };
        self.there(own, weight)
    }

    /// The number of an element around a place, and its weight.
    fn element(&self, x: Value, tap: Symbol<i64>) -> (Symbol<i64>, Value) {
        let at = self.place(self.raw(x));
        let [own, _] = self.around(at, tap);
        let index = if self.grid.beyond == Beyond::Reflection { self.mirrored(own) } else { own };
        // Not a number counts as 0; nothing is taken from beyond the elements.
        let index = Symbol::<i64>::new(cast(index, DType::I64).raw);
        (index.clamp(0i64, self.n as i64 - 1), self.weight(at, tap))
    }

    /// The weight of an element around a place, and its derivative for the coordinate.
    fn slope(&self, x: Value, tap: Symbol<i64>) -> [Value; 2] {
        let raw = self.raw(x);
        let at = self.place(raw);
        let [own, distance] = self.around(at, tap);
        let slope = match self.grid.sampling {
            Sampling::Nearest => either(at.eq(at), n(0.0), n(0.0), self.wide),
            Sampling::Linear => either(tap.eq(constant(0)), n(-1.0), n(1.0), self.wide),
            Sampling::Cubic => self.cubic_slope(distance),
        };
        [self.weight(at, tap), self.there(own, slope) * self.place_slope(raw, at)]
    }

    /// The weight at a distance of up to 2.
    fn cubic(&self, x: Value) -> Value {
        let near = (x * n(A + 2.0) - n(A + 3.0)) * x * x + n(1.0);
        let far = ((x * n(A) - n(5.0 * A)) * x + n(8.0 * A)) * x - n(4.0 * A);
        self.either(x.le(n(1.0)), near, far)
    }

    /// The derivative of [`cubic`](Self::cubic), of a distance with its sign.
    fn cubic_slope(&self, x: Value) -> Value {
        let r = x.abs();
        let near = (r * n(3.0 * (A + 2.0)) - n(2.0 * (A + 3.0))) * r;
        let far = (r * n(3.0 * A) - n(10.0 * A)) * r + n(8.0 * A);
        let slope = self.either(r.le(n(1.0)), near, far);
        self.either(x.lt(n(0.0)), -slope, slope)
    }
}

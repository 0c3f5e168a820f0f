//! Matrices in f64 beside those under test, and LAPACK's measures of what came out.

use crate::common::{Rng, Sample, down, up};
use ndarray::{Array2, ShapeBuilder};
use windlass::solver::SolverElement;
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, Device, Tensor};

pub type C = Complex<f64>;

/// An element type, and how to go to and from f64.
pub trait Number: SolverElement + Sample {
    /// The distance from 1 to the next number.
    const EPS: f64;
    fn to_c(self) -> C;
    fn narrow(x: C) -> Self;
}

macro_rules! numbers { ($($real:ty),*) => { $(
    impl Number for $real {
        const EPS: f64 = <$real>::EPSILON as f64;
        fn to_c(self) -> C { C::new(self as f64, 0.0) }
        fn narrow(x: C) -> Self { x.re as $real }
    }
    impl Number for Complex<$real> {
        const EPS: f64 = <$real>::EPSILON as f64;
        fn to_c(self) -> C { C::new(self.re as f64, self.im as f64) }
        fn narrow(x: C) -> Self { Complex::new(x.re as $real, x.im as $real) }
    }
)* } }
numbers! { f32, f64 }

/// Calls a generic function for each of the four types.
macro_rules! each_type {
    ($f:ident) => {
        $f::<f32>();
        $f::<f64>();
        $f::<windlass::Complex<f32>>();
        $f::<windlass::Complex<f64>>();
    };
}
pub(crate) use each_type;

/// The bound that LAPACK's own tests have for their ratios.
pub const RATIO: f64 = 30.0;

/// A matrix in f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    pub m: usize,
    pub n: usize,
    pub x: Vec<C>,
}

impl Dense {
    pub fn new(m: usize, n: usize, f: impl Fn(usize, usize) -> C) -> Self {
        Dense { m, n, x: (0..m * n).map(|i| f(i % m.max(1), i / m.max(1))).collect() }
    }

    pub fn real(m: usize, n: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Dense::new(m, n, |i, j| C::new(f(i, j), 0.0))
    }

    pub fn identity(n: usize) -> Self {
        Dense::real(n, n, |i, j| f64::from(i == j))
    }

    /// Random numbers that `T` has.
    pub fn random<T: Number>(rng: &mut Rng, m: usize, n: usize) -> Self {
        Dense { m, n, x: (0..m * n).map(|_| T::sample(rng).to_c()).collect() }
    }

    /// Rounded to what `T` has.
    pub fn rounded<T: Number>(&self) -> Self {
        Dense { x: self.x.iter().map(|x| T::narrow(*x).to_c()).collect(), ..*self }
    }

    pub fn at(&self, i: usize, j: usize) -> C {
        self.x[i + j * self.m]
    }

    pub fn adjoint(&self) -> Self {
        Dense::new(self.n, self.m, |i, j| self.at(j, i).conj())
    }

    pub fn transpose(&self) -> Self {
        Dense::new(self.n, self.m, |i, j| self.at(j, i))
    }

    pub fn times(&self, b: &Dense) -> Self {
        assert_eq!(self.n, b.m);
        // By a crate that is optimised, unlike the tests.
        let view = |x: &Dense| Array2::from_shape_vec((x.m, x.n).f(), x.x.clone()).unwrap();
        let c = view(self).dot(&view(b));
        Dense::new(self.m, b.n, |i, j| c[(i, j)])
    }

    pub fn minus(&self, b: &Dense) -> Self {
        assert_eq!((self.m, self.n), (b.m, b.n));
        Dense { x: self.x.iter().zip(&b.x).map(|(a, b)| a - b).collect(), ..*self }
    }

    /// The largest sum of moduli in a column.
    pub fn norm(&self) -> f64 {
        let sums = (0..self.n).map(|j| (0..self.m).map(|i| self.at(i, j).norm()).sum::<f64>());
        sums.fold(0.0, |most, x| if x.is_nan() || most.is_nan() { f64::NAN } else { most.max(x) })
    }

    pub fn part(&self, m: usize, n: usize) -> Self {
        Dense::new(m, n, |i, j| self.at(i, j))
    }

    /// Hermitian, with an eigenvalue of at least 1.
    pub fn positive<T: Number>(rng: &mut Rng, n: usize) -> Self {
        let a = Dense::random::<T>(rng, n, n);
        let square = a.times(&a.adjoint());
        Dense::new(n, n, |i, j| square.at(i, j) / n.max(1) as f64 + f64::from(i == j))
    }
}

/// Matrices, one or a batch, in a buffer that begins late, with gaps that hold NaN.
pub struct Laid {
    pub all: Vec<Dense>,
    pub layout: Lines,
    m: usize,
    n: usize,
    ld: usize,
    stride: usize,
    offset: usize,
}

impl Laid {
    /// With `gap` elements between columns and between matrices, and as many before the first.
    pub fn new(all: Vec<Dense>, gap: usize) -> Self {
        let (m, n) = all.first().map_or((0, 0), |a| (a.m, a.n));
        let ld = m.max(1) + gap;
        let stride = ld * n + gap;
        let one = Layout::columns(m, n).ld(ld);
        let layout = if all.len() == 1 { one } else { one.batch(all.len(), stride) };
        Laid { all, layout, m, n, ld, stride, offset: gap }
    }

    pub fn one(a: &Dense, gap: usize) -> Self {
        Laid::new(vec![a.clone()], gap)
    }

    /// NaN wherever `counts` says that nothing must be read.
    pub fn upload_part<T: Number>(&self, device: &Device, counts: impl Fn(usize, usize) -> bool) -> Tensor<T> {
        let last = (self.n.max(1) - 1) * self.ld + self.m + self.all.len().max(1) * self.stride - self.stride;
        let len = if self.m * self.n == 0 { 0 } else { last } + self.offset;
        let mut data = vec![T::NAN; len + self.offset];
        for (k, a) in self.all.iter().enumerate() {
            for j in 0..a.n {
                for i in (0..a.m).filter(|i| counts(*i, j)) {
                    data[self.offset + i + j * self.ld + k * self.stride] = T::narrow(a.at(i, j));
                }
            }
        }
        up(device, data).narrow(self.offset..len).unwrap().with_layout(self.layout).unwrap()
    }

    pub fn upload<T: Number>(&self, device: &Device) -> Tensor<T> {
        self.upload_part(device, |_, _| true)
    }

    /// What the memory holds now, as matrices: it must be that of the upload. What is between them has to be what it was.
    pub fn read<T: Number>(&self, device: &Device, x: &Tensor<T>) -> Vec<Dense> {
        assert_eq!(x.layout().offset(), 0, "a copy has no other place");
        let data = down(device, x.buffer());
        let (ld, stride) = (self.ld, self.stride);
        let of = |k: usize, a: &Dense| Dense::new(a.m, a.n, |i, j| data[i + j * ld + k * stride].to_c());
        let all = self.all.iter().enumerate().map(|(k, a)| of(k, a)).collect();
        for (k, a) in self.all.iter().enumerate().filter(|(_, a)| a.m > 0) {
            for j in 0..a.n.saturating_sub(1) {
                (a.m..ld).for_each(|i| assert!(data[i + j * ld + k * stride].to_c().re.is_nan(), "a gap was written"));
            }
        }
        all
    }
}

#[track_caller]
pub fn assert_ratio(ratio: f64, what: &dyn std::fmt::Debug) {
    assert!(ratio < RATIO, "a ratio of {ratio}: {what:?}");
}

/// `||b - A x|| / (||A|| ||x|| eps n)`.
pub fn residual<T: Number>(a: &Dense, x: &Dense, b: &Dense) -> f64 {
    let scale = a.norm() * x.norm() * T::EPS * a.n.max(1) as f64;
    let rest = a.times(x).minus(b).norm();
    if rest == 0.0 { 0.0 } else { rest / scale }
}

/// `||I - Q^H Q|| / (m eps)`.
pub fn orthogonality<T: Number>(q: &Dense) -> f64 {
    q.adjoint().times(q).minus(&Dense::identity(q.n)).norm() / (q.m.max(1) as f64 * T::EPS)
}

/// `||A - B|| / (max(m, n) ||A|| eps)`.
pub fn difference<T: Number>(a: &Dense, b: &Dense) -> f64 {
    let rest = a.minus(b).norm();
    if rest == 0.0 { 0.0 } else { rest / (a.norm() * a.m.max(a.n) as f64 * T::EPS) }
}

/// Real numbers of the precision of `T`, in f64.
pub fn reals<T: Number>(device: &Device, x: &Tensor<T::Real>) -> Vec<f64> {
    let bytes = down(device, x);
    match size_of::<T::Real>() {
        4 => bytemuck::cast_slice::<_, f32>(&bytes).iter().map(|x| f64::from(*x)).collect(),
        _ => bytemuck::cast_slice::<_, f64>(&bytes).to_vec(),
    }
}

pub fn descends(s: &[f64]) -> bool {
    s.windows(2).all(|w| w[0] >= w[1]) && s.last().is_none_or(|s| *s >= 0.0)
}

pub fn diagonal(m: usize, n: usize, s: &[f64]) -> Dense {
    Dense::real(m, n, |i, j| if i == j { s[i] } else { 0.0 })
}

/// The matrices of a tensor.
pub fn dense<T: Number>(device: &Device, x: &Tensor<T>) -> Vec<Dense> {
    let [batch @ .., m, n] = x.shape() else { panic!("{x:?} is no matrix") };
    let data = down(device, x);
    let one = |k: usize| Dense::new(*m, *n, |i, j| data[(k * m + i) * n + j].to_c());
    (0..batch.iter().product()).map(one).collect()
}

//! One product in the test's own terms: where its elements lie is worked out here anew.

use crate::common::Rng;
use windlass::blaslt::{MatmulElement, MatmulTypes, Order};
use windlass::reference::Value;
use windlass::{Complex, Element, F8E4M3, F8E5M2, Matmul, Transpose, bf16, f16};

/// What the tests need of an element type.
pub trait Num: Element + Value {
    /// What padding is filled with: NaN where there is one.
    const POISON: Self;
    fn sample(rng: &mut Rng) -> Self;
    fn of(x: f64) -> Self;
    /// What larger values become.
    fn most() -> f64 {
        f64::INFINITY
    }
}

/// The type of A in a product of A and B, with this C, to D, of whose every type the tests can make numbers.
pub trait Factor<B: Num, C: Num, D: Num>:
    Num + MatmulElement<B, D, C, Types: MatmulTypes<C = C, Scalar: Num, Bias: Num, Aux: Num>>
{
}

impl<A, B: Num, C: Num, D: Num> Factor<B, C, D> for A where
    A: Num + MatmulElement<B, D, C, Types: MatmulTypes<C = C, Scalar: Num, Bias: Num, Aux: Num>>
{
}

macro_rules! nums { ($($t:ty, $poison:expr, |$x:ident| $of:expr, $most:expr;)*) => { $(
    impl Num for $t {
        const POISON: Self = $poison;
        fn sample(rng: &mut Rng) -> Self {
            Self::of(rng.real())
        }
        fn of($x: f64) -> Self {
            $of
        }
        fn most() -> f64 {
            $most
        }
    }
)* } }
nums! {
    f32, f32::NAN, |x| x as f32, f64::INFINITY;
    f64, f64::NAN, |x| x, f64::INFINITY;
    f16, f16::NAN, |x| f16::from_f64(x), f64::INFINITY;
    bf16, bf16::NAN, |x| bf16::from_f64(x), f64::INFINITY;
    F8E4M3, F8E4M3::NAN, |x| F8E4M3::from_f64(x), 448.0;
    F8E5M2, F8E5M2::NAN, |x| F8E5M2::from_f64(x), 57344.0;
    i8, 99, |x| (x * 8.0) as i8, 127.0;
    i32, 12345, |x| (x * 3.0) as i32, 2147483647.0;
}
macro_rules! complex { ($($p:ty)*) => { $(
    impl Num for Complex<$p> {
        const POISON: Self = Complex { re: <$p>::NAN, im: <$p>::NAN };
        fn sample(rng: &mut Rng) -> Self {
            Complex::new(rng.real() as $p, rng.real() as $p)
        }
        fn of(x: f64) -> Self {
            Complex::new(x as $p, 0.0)
        }
    }
)* } }
complex! { f32 f64 }

/// The first part: all there is of a real number.
pub fn re<T: Value>(x: T) -> f64 {
    x.parts()[0]
}

/// Where the elements of a batch of matrices lie.
#[derive(Clone, Copy, Debug)]
pub struct Lay {
    pub rows: usize,
    pub columns: usize,
    pub order: Order,
    pub ld: usize,
    pub stride: usize,
    pub batch: usize,
}

impl Lay {
    fn random(rng: &mut Rng, (rows, columns): (usize, usize), order: Order, batch: usize, tidy: bool) -> Self {
        let short = if order == Order::Column { rows } else { columns };
        let long = if order == Order::Column { columns } else { rows };
        let ld = short.max(1) + if tidy { 0 } else { rng.pick(&[0, 0, 1, 3, 8]) };
        let ld = if tidy { ld.next_multiple_of(16) } else { ld };
        let stride = ld * long + if tidy { 0 } else { rng.pick(&[0, 0, 5]) };
        Lay { rows, columns, order, ld, stride, batch }
    }

    pub fn at(&self, batch: usize, i: usize, j: usize) -> usize {
        batch * self.stride
            + match self.order {
                Order::Column => i + j * self.ld,
                Order::Row => i * self.ld + j,
            }
    }

    pub fn len(&self) -> usize {
        if self.rows * self.columns * self.batch == 0 {
            return 0;
        }
        self.at(self.batch - 1, self.rows - 1, self.columns - 1) + 1
    }

    /// Whether an element lies here.
    pub fn holds(&self, at: usize) -> bool {
        (0..self.batch).any(|b| {
            let Some(inside) = at.checked_sub(b * self.stride) else { return false };
            let (major, minor) = (inside / self.ld, inside % self.ld);
            match self.order {
                Order::Column => minor < self.rows && major < self.columns,
                Order::Row => minor < self.columns && major < self.rows,
            }
        })
    }

    /// Random elements, and poison between them.
    pub fn fill<T: Num>(&self, rng: &mut Rng) -> Vec<T> {
        (0..self.len()).map(|at| if self.holds(at) { T::sample(rng) } else { T::POISON }).collect()
    }
}

/// The epilogues, by the names of their constructors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    None,
    Bias,
    Relu,
    ReluBias,
    ReluAux,
    ReluAuxBias,
    Gelu,
    GeluBias,
    GeluAux,
    GeluAuxBias,
    DRelu,
    DReluBgrad,
    DGelu,
    DGeluBgrad,
    BgradA,
    BgradB,
}

impl Kind {
    pub const ALL: [Kind; 16] = [
        Kind::None,
        Kind::Bias,
        Kind::Relu,
        Kind::ReluBias,
        Kind::ReluAux,
        Kind::ReluAuxBias,
        Kind::Gelu,
        Kind::GeluBias,
        Kind::GeluAux,
        Kind::GeluAuxBias,
        Kind::DRelu,
        Kind::DReluBgrad,
        Kind::DGelu,
        Kind::DGeluBgrad,
        Kind::BgradA,
        Kind::BgradB,
    ];

    pub fn biased(self) -> bool {
        use Kind::*;
        matches!(self, Bias | ReluBias | ReluAuxBias | GeluBias | GeluAuxBias)
    }

    /// It has an auxiliary matrix.
    pub fn has_aux(self) -> bool {
        use Kind::*;
        self.masked() || matches!(self, GeluAux | GeluAuxBias | DGelu | DGeluBgrad)
    }

    /// Its auxiliary matrix is a mask.
    pub fn masked(self) -> bool {
        use Kind::*;
        matches!(self, ReluAux | ReluAuxBias | DRelu | DReluBgrad)
    }

    pub fn gradient(self) -> bool {
        use Kind::*;
        matches!(self, DReluBgrad | DGeluBgrad | BgradA | BgradB)
    }

    /// Nothing but a bias.
    pub fn plain(self) -> bool {
        matches!(self, Kind::None | Kind::Bias)
    }
}

/// The shape of one product and how it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub trans: [Transpose; 2],
    /// A, B, C, D.
    pub lay: [Lay; 4],
    pub batch: usize,
    pub kind: Kind,
    /// A C of its own.
    pub separate: bool,
    /// Alpha and beta on the device.
    pub on_device: bool,
    pub alpha: f64,
    pub beta: f64,
    pub bias_stride: usize,
    pub aux_ld: usize,
    pub aux_stride: usize,
    /// Scales of A, B, D and the largest magnitude; for 8-bit floats.
    pub scaled: bool,
    pub outer: bool,
    pub quantized: bool,
}

/// What a random plan may be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Freedom {
    /// Only column order, A transposed and B not, multiples of 16, no gaps but those.
    pub tidy: bool,
    pub complex: bool,
    pub fp8: bool,
    /// D is an 8-bit float.
    pub fp8_out: bool,
    /// C may be D.
    pub in_place: bool,
    /// D has gaps in the last place only where this is not set.
    pub integer: bool,
}

impl Plan {
    /// What a network uses: sizes in multiples of 16, A transposed, one matrix, scalars from the host, D its own C.
    pub fn usual(rng: &mut Rng, kind: Kind) -> Self {
        let mut plan = Self::random(rng, kind, Freedom { tidy: true, in_place: true, ..Freedom::default() });
        (plan.batch, plan.on_device, plan.separate) = (1, false, false);
        plan.lay.iter_mut().for_each(|lay| lay.batch = 1);
        plan
    }

    pub fn random(rng: &mut Rng, kind: Kind, free: Freedom) -> Self {
        let tidy = free.tidy;
        let mut size = || if tidy { 16 * (1 + rng.below(6)) } else { rng.pick(&[1, 2, 3, 5, 9, 16, 17, 33, 64, 130]) };
        let [m, n, k] = [size(), size(), size()];
        let k = if !tidy && rng.below(16) == 0 { 0 } else { k };
        Self::of_sizes(rng, kind, free, [m, n, k])
    }

    /// The same of these sizes.
    pub fn of_sizes(rng: &mut Rng, kind: Kind, free: Freedom, [m, n, k]: [usize; 3]) -> Self {
        let tidy = free.tidy;
        let trans = match (tidy, free.complex) {
            (true, _) => [Transpose::Yes, Transpose::No],
            (false, false) => [(); 2].map(|()| rng.pick(&[Transpose::No, Transpose::Yes, Transpose::Conjugate])),
            (false, true) => [(); 2].map(|()| rng.pick(&[Transpose::No, Transpose::Yes, Transpose::Conjugate])),
        };
        let batch = rng.pick(&[1, 1, 1, 2, 3]);
        let mut orders = [Order::Column; 4];
        if !tidy && rng.below(2) == 0 {
            orders = [(); 4].map(|()| rng.pick(&[Order::Column, Order::Row]));
            if rng.below(2) == 0 {
                orders = [Order::Row; 4];
            }
        }
        if kind.has_aux() {
            orders[3] = Order::Column;
        }
        let stored = |trans, rows, columns| if trans == Transpose::No { (rows, columns) } else { (columns, rows) };
        let shapes = [stored(trans[0], m, k), stored(trans[1], k, n), (m, n), (m, n)];
        let mut lay: [Lay; 4] = std::array::from_fn(|i| Lay::random(rng, shapes[i], orders[i], batch, tidy));
        if batch > 1 && rng.below(4) == 0 {
            lay[rng.below(2)].stride = 0;
        }
        let separate = !free.in_place || rng.below(3) == 0;
        let unit = if kind.masked() { 128 } else { 8 };
        let aux_ld = m.next_multiple_of(unit) + if tidy { 0 } else { rng.pick(&[0, unit]) };
        let aux_stride = aux_ld * n + if tidy { 0 } else { rng.pick(&[0, unit]) };
        let long = if kind == Kind::BgradB { n } else { m };
        let bias_stride = if kind.gradient() { long + rng.pick(&[0, 3]) } else { rng.pick(&[0, m, m + 3]) };
        let factor = |rng: &mut Rng| {
            if free.integer { rng.pick(&[0.0, 1.0, 2.0, -3.0]) } else { rng.pick(&[0.0, 1.0, 1.0, 0.75, -1.5]) }
        };
        let scaled = free.fp8 && rng.below(2) == 0;
        Plan {
            m,
            n,
            k,
            trans,
            lay,
            batch,
            kind,
            separate,
            on_device: rng.below(4) == 0,
            alpha: factor(rng),
            beta: if rng.below(2) == 0 { 0.0 } else { factor(rng) },
            bias_stride,
            aux_ld,
            aux_stride,
            scaled,
            outer: scaled && !free.fp8_out && rng.below(3) == 0,
            quantized: free.fp8_out && rng.below(2) == 0,
        }
    }

    /// As the library takes it.
    pub fn spec<S: Num>(&self) -> Matmul<S> {
        let [a, b, c, d] = self.lay;
        let mut spec = Matmul::new(self.m, self.n, self.k).trans_a(self.trans[0]).trans_b(self.trans[1]);
        spec = spec.order_a(a.order).order_b(b.order).order_c(c.order).order_d(d.order);
        spec = spec.lda(a.ld).ldb(b.ld).ldc(c.ld).ldd(d.ld).batch(self.batch);
        spec = spec.stride_a(a.stride).stride_b(b.stride).stride_c(c.stride).stride_d(d.stride);
        spec = spec.stride_bias(self.bias_stride).ld_aux(self.aux_ld).stride_aux(self.aux_stride);
        spec.alpha(S::of(self.alpha)).beta(S::of(self.beta))
    }

    /// Elements (bits of a mask) of the auxiliary matrices.
    pub fn aux_len(&self) -> usize {
        self.aux_stride * (self.batch - 1) + self.aux_ld * self.n
    }
}

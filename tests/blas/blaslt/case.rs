//! One product in the test's own terms: where its elements lie is worked out here anew.

use super::kept;
use crate::common::Rng;
use windlass::blaslt::{Kept, MatmulElement, MatmulTypes};
use windlass::reference::Value;
use windlass::sparse::Order;
use windlass::tensor::Layout;
use windlass::{Complex, Device, Element, F8E4M3, F8E5M2, Matmul, bf16, f16};

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
    /// What a product with GELU keeps whose pre-activations are these, row by row.
    fn keep(_: &Device, _: &Lay, _: &[Self]) -> Kept<Self> {
        panic!("no GELU of {}", Self::DTYPE)
    }
    /// The slopes of GELU at what was kept, row by row.
    fn slopes(_: &Device, _: &Lay, _: &Kept<Self>) -> Vec<Self> {
        panic!("no GELU of {}", Self::DTYPE)
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

macro_rules! nums { ($($t:ty, $poison:expr, |$x:ident| $of:expr, $most:expr $(, $gelu:ident)?;)*) => { $(
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
        $(
            fn keep(device: &Device, lay: &Lay, x: &[Self]) -> Kept<Self> {
                kept::$gelu(device, lay, x)
            }
            fn slopes(device: &Device, lay: &Lay, kept: &Kept<Self>) -> Vec<Self> {
                kept::slopes(device, lay, kept)
            }
        )?
    }
)* } }
nums! {
    f32, f32::NAN, |x| x as f32, f64::INFINITY, gelu;
    f64, f64::NAN, |x| x, f64::INFINITY, gelu;
    f16, f16::NAN, |x| f16::from_f64(x), f64::INFINITY, gelu;
    bf16, bf16::NAN, |x| bf16::from_f64(x), f64::INFINITY, gelu;
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

    /// As a layout; without axes of a batch if there is one matrix, or all share one.
    pub fn layout(&self) -> Layout {
        let ld = self.ld as isize;
        let [down, right] = if self.order == Order::Column { [1, ld] } else { [ld, 1] };
        let layout = if self.batch == 1 || self.stride == 0 {
            Layout::new([self.rows, self.columns], [down, right], 0)
        } else {
            Layout::new([self.batch, self.rows, self.columns], [self.stride as isize, down, right], 0)
        };
        layout.unwrap()
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

    pub fn reads_mask(self) -> bool {
        matches!(self, Kind::DRelu | Kind::DReluBgrad)
    }

    pub fn reads_pre(self) -> bool {
        matches!(self, Kind::DGelu | Kind::DGeluBgrad)
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
    /// Whether the views of A and B are transposed.
    pub trans: [bool; 2],
    pub conjugate: [bool; 2],
    /// As stored: A, B, C, D.
    pub lay: [Lay; 4],
    pub batch: usize,
    pub kind: Kind,
    /// A C of its own.
    pub separate: bool,
    /// Whether alpha and beta are on the device.
    pub on_device: [bool; 2],
    pub alpha: f64,
    pub beta: f64,
    /// A bias, or its gradient, has an element for each row of D.
    pub per_row: bool,
    pub bias_stride: usize,
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
        (plan.batch, plan.on_device, plan.separate) = (1, [false; 2], false);
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
        let turned = if tidy { [1, 0] } else { [(); 2].map(|()| rng.pick(&[0, 1, 2])) };
        let (trans, mut conjugate) = (turned.map(|how| how > 0), turned.map(|how| how > 1));
        let batch = rng.pick(&[1, 1, 1, 2, 3]);
        let mut orders = [Order::Column; 4];
        if !tidy && rng.below(2) == 0 {
            orders = [(); 4].map(|()| rng.pick(&[Order::Column, Order::Row]));
            if rng.below(2) == 0 {
                orders = [Order::Row; 4];
            }
        }
        let stored = |trans, rows, columns| if trans { (columns, rows) } else { (rows, columns) };
        let shapes = [stored(trans[0], m, k), stored(trans[1], k, n), (m, n), (m, n)];
        let mut lay: [Lay; 4] = std::array::from_fn(|i| Lay::random(rng, shapes[i], orders[i], batch, tidy));
        if batch > 1 && rng.below(4) == 0 {
            lay[rng.below(2)].stride = 0;
        }
        let separate = !free.in_place || rng.below(3) == 0;
        let per_row = tidy || rng.pick(&[true, false]);
        // A conjugate that is not transposed.
        if !tidy && rng.pick(&[false, true]) {
            conjugate = conjugate.map(|conjugate| !conjugate);
        }
        let long = if per_row { m } else { n };
        let bias_stride = if kind.gradient() { long + rng.pick(&[0, 3]) } else { rng.pick(&[0, long, long + 3]) };
        let factor = |rng: &mut Rng| {
            if free.integer { rng.pick(&[0.0, 1.0, 2.0, -3.0]) } else { rng.pick(&[0.0, 1.0, 1.0, 0.75, -1.5]) }
        };
        let scaled = free.fp8 && rng.below(2) == 0;
        let (alpha, on_device) = (rng.below(4) == 0, rng.pick(&[[true, true], [true, false], [false, true]]));
        Plan {
            m,
            n,
            k,
            trans,
            conjugate,
            lay,
            batch,
            kind,
            separate,
            on_device: if alpha { on_device } else { [false; 2] },
            alpha: factor(rng),
            beta: if rng.below(2) == 0 { 0.0 } else { factor(rng) },
            per_row,
            bias_stride,
            scaled,
            outer: scaled && !free.fp8_out && rng.below(3) == 0,
            quantized: free.fp8_out && rng.below(2) == 0,
        }
    }

    /// The specification, without alpha and beta.
    pub fn spec<'a, S: Num>(&self) -> Matmul<'a, S> {
        let [a, b] = self.conjugate;
        let spec = if a { Matmul::new().conjugate_a() } else { Matmul::new() };
        if b { spec.conjugate_b() } else { spec }
    }

    /// Elements of a bias.
    pub fn bias_len(&self) -> usize {
        if self.per_row { self.m } else { self.n }
    }

    /// Where element (`i`, `j`) is if matrices of the shape of D lie row by row, without gaps.
    pub fn at(&self, batch: usize, i: usize, j: usize) -> usize {
        (batch * self.m + i) * self.n + j
    }
}

//! Convolutions by the definition, in f64; tensors in any order, whose other memory is poison.

use crate::common::Rng;
use crate::common::edge::by_turns;
use windlass::dnn::{Convolution, DnnElement};
use windlass::tensor::Layout;
use windlass::{Device, Tensor, bf16, f16};

/// What a test needs of an element.
pub(crate) trait Real: DnnElement {
    const POISON: Self;
    /// Half of the distance from 1 to the next number, of the type and of the type of the sums.
    const ROUNDING: f64;
    const SUMS: f64;
    /// The smallest number.
    const TINY: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
}

macro_rules! reals { ($($t:ty, $bits:expr, $sums:expr, $tiny:expr, |$x:ident| $of:expr;)*) => { $(
    impl Real for $t {
        const POISON: Self = <$t>::NAN;
        const ROUNDING: f64 = 1.0 / (1u64 << $bits) as f64;
        const SUMS: f64 = 1.0 / (1u64 << $sums) as f64;
        const TINY: f64 = $tiny;
        fn of($x: f64) -> Self {
            $of
        }
        fn number(self) -> f64 {
            self.into()
        }
    }
)* } }
reals! {
    f16, 11, 24, 6e-8, |x| f16::from_f64(x);
    bf16, 8, 24, 1e-40, |x| bf16::from_f64(x);
    f32, 24, 24, 1e-45, |x| x as f32;
    f64, 53, 53, 5e-324, |x| x;
}

/// Where the elements of a tensor lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    First,
    Last,
    /// With gaps.
    Odd,
}

/// A tensor in row-major order of its axes, as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) extents: Vec<usize>,
    pub(crate) all: Vec<f64>,
}

impl Numbers {
    pub(crate) fn zeros(extents: &[usize]) -> Self {
        Numbers { extents: extents.to_vec(), all: vec![0.0; extents.iter().product()] }
    }

    /// Random numbers that `T` can have.
    pub(crate) fn random<T: Real>(rng: &mut Rng, extents: &[usize]) -> Self {
        let all = (0..extents.iter().product()).map(|_| T::of(rng.real()).number()).collect();
        Numbers { extents: extents.to_vec(), all }
    }

    pub(crate) fn magnitudes(&self) -> Self {
        Numbers { extents: self.extents.clone(), all: self.all.iter().map(|x| x.abs()).collect() }
    }

    fn place(&self, index: &[usize]) -> usize {
        self.extents.iter().zip(index).fold(0, |at, (n, i)| at * n + i)
    }

    pub(crate) fn at(&self, index: &[usize]) -> f64 {
        self.all[self.place(index)]
    }

    pub(crate) fn at_mut(&mut self, index: &[usize]) -> &mut f64 {
        let place = self.place(index);
        &mut self.all[place]
    }

    /// The elements along the last axis.
    pub(crate) fn row(&self, index: &[usize]) -> &[f64] {
        let (first, n) = (self.place(index), self.extents[index.len()]);
        &self.all[first * n..(first + 1) * n]
    }

    pub(crate) fn row_mut(&mut self, index: &[usize]) -> &mut [f64] {
        let (first, n) = (self.place(index), self.extents[index.len()]);
        &mut self.all[first * n..(first + 1) * n]
    }
}

/// All indices of these extents, the last axis fastest.
pub(crate) fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    let count: usize = extents.iter().product();
    let of = |mut k: usize| {
        let mut index = vec![0; extents.len()];
        for (i, n) in index.iter_mut().zip(extents).rev() {
            (*i, k) = (k % n, k / n);
        }
        index
    };
    (0..count).map(of).collect()
}

/// Where the elements of a layout lie, in their order.
pub(crate) fn offsets(layout: &Layout) -> Vec<usize> {
    let mut all = vec![layout.offset() as isize];
    for (n, step) in layout.shape().iter().zip(layout.strides()) {
        all = all.iter().flat_map(|at| (0..*n as isize).map(move |i| at + i * step)).collect();
    }
    all.into_iter().map(|at| at as usize).collect()
}

/// Strides of an order; axes of one element get absurd ones.
pub(crate) fn layout(rng: &mut Rng, extents: &[usize], order: Order) -> (Layout, usize) {
    let rank = extents.len();
    let mut axes: Vec<usize> = (0..rank).collect();
    if order == Order::Last || (order == Order::Odd && rng.below(2) == 0) {
        axes = [0].into_iter().chain(2..rank).chain([1]).filter(|axis| *axis < rank).collect();
    }
    let (mut strides, mut step) = (vec![0isize; rank], 1isize);
    for axis in axes.into_iter().rev() {
        let n = extents[axis].max(1) as isize;
        strides[axis] = if n == 1 { rng.pick(&[3_331_333, 99_990_001, 1]) } else { step };
        step *= n;
        if order == Order::Odd {
            step += rng.below(3) as isize;
        }
    }
    // The window begins at any element.
    let offset = rng.pick(&[0usize, 0, 1, 3, 8]);
    (Layout::new(extents, &strides, offset).unwrap(), offset + step as usize + 2)
}

/// The numbers as a tensor of a device.
pub(crate) fn up<T: Real>(device: &Device, rng: &mut Rng, numbers: &Numbers, order: Order) -> Tensor<T> {
    let (layout, len) = layout(rng, &numbers.extents, order);
    let mut memory = vec![T::POISON; len];
    for (at, x) in offsets(&layout).into_iter().zip(&numbers.all) {
        memory[at] = T::of(*x);
    }
    let buffer = by_turns(device, memory);
    Tensor::from(buffer).with_layout(layout).unwrap()
}

/// What a tensor holds, in row-major order.
pub(crate) fn down<T: Real>(device: &Device, tensor: &Tensor<T>) -> Vec<T> {
    device.download(tensor).unwrap().await_result().unwrap()
}

/// A convolution with all its sizes.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) x: Vec<usize>,
    pub(crate) w: Vec<usize>,
    pub(crate) stride: Vec<usize>,
    pub(crate) dilation: Vec<usize>,
    pub(crate) padding: Vec<(usize, usize)>,
    pub(crate) groups: usize,
}

impl Case {
    pub(crate) fn new(x: &[usize], w: &[usize]) -> Self {
        let rank = x.len() - 2;
        let (x, w) = (x.to_vec(), w.to_vec());
        Case { x, w, stride: vec![1; rank], dilation: vec![1; rank], padding: vec![(0, 0); rank], groups: 1 }
    }

    pub(crate) fn spec(&self) -> Convolution {
        Convolution::new()
            .stride(&self.stride[..])
            .dilation(&self.dilation[..])
            .padding(&self.padding[..])
            .groups(self.groups)
            .deterministic(true)
    }

    pub(crate) fn random(rng: &mut Rng) -> Self {
        let rank = rng.pick(&[1, 2, 2, 2, 3]);
        let groups = rng.pick(&[1, 1, 1, 2, 3, 8]);
        let (each, filters) = (rng.pick(&[1, 1, 2, 3, 8]), rng.pick(&[1, 1, 2, 4]));
        let (mut x, mut w) = (vec![rng.pick(&[1, 2, 3]), each * groups], vec![filters * groups, each]);
        let (mut stride, mut dilation, mut padding) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rank {
            let (k, d) = (rng.pick(&[1, 1, 2, 3, 3]), rng.pick(&[1, 1, 2]));
            let (before, after) = (rng.below(3), rng.below(3));
            let reach: usize = d * (k - 1) + 1;
            let least = reach.saturating_sub(before + after).max(1);
            x.push(least + rng.below(if rank == 3 { 4 } else { 9 }));
            w.push(k);
            stride.push(rng.pick(&[1, 1, 2, 3]));
            dilation.push(d);
            padding.push(if rng.below(3) == 0 { (before, after) } else { (before.max(after), before.max(after)) });
        }
        Case { x, w, stride, dilation, padding, groups }
    }

    pub(crate) fn y(&self) -> Vec<usize> {
        let mut y = vec![self.x[0], self.w[0]];
        for axis in 0..self.stride.len() {
            let (n, k) = (self.x[axis + 2] + self.padding[axis].0 + self.padding[axis].1, self.w[axis + 2]);
            y.push((n - self.dilation[axis] * (k - 1) - 1) / self.stride[axis] + 1);
        }
        y
    }

    /// Calls `each` with the places of the elements of input, filters and result that are multiplied and summed.
    fn each(&self, mut each: impl FnMut(usize, usize, usize)) {
        let (y, of_group) = (self.y(), self.w[0] / self.groups.max(1));
        // What meets in a channel: places in a plane of the input, in the window, and in a plane of the result.
        let mut meet = vec![[0; 3]];
        for axis in 0..self.stride.len() {
            let [n, k, m] = [self.x[axis + 2], self.w[axis + 2], y[axis + 2]];
            let mut own = Vec::new();
            for place in 0..m {
                for tap in 0..k {
                    let at = place * self.stride[axis] + tap * self.dilation[axis];
                    if let Some(at) = at.checked_sub(self.padding[axis].0).filter(|at| *at < n) {
                        own.push([at, tap, place]);
                    }
                }
            }
            let join =
                |[i, j, o]: [usize; 3]| own.iter().map(move |[at, tap, to]| [i * n + at, j * k + tap, o * m + to]);
            meet = meet.into_iter().flat_map(join).collect();
        }
        let [of_x, of_w, of_y] = [&self.x, &self.w, &y].map(|extents| extents[2..].iter().product::<usize>());
        for plane in 0..y[0] * y[1] {
            let (image, filter) = (plane / y[1], plane % y[1]);
            for channel in 0..self.w[1] {
                let x = (image * self.x[1] + filter / of_group * self.w[1] + channel) * of_x;
                let w = (filter * self.w[1] + channel) * of_w;
                for [i, j, k] in &meet {
                    each(x + i, w + j, plane * of_y + k);
                }
            }
        }
    }

    pub(crate) fn forward(&self, x: &Numbers, w: &Numbers) -> Numbers {
        let mut y = Numbers::zeros(&self.y());
        self.each(|i, j, k| y.all[k] += x.all[i] * w.all[j]);
        y
    }

    pub(crate) fn data(&self, dy: &Numbers, w: &Numbers) -> Numbers {
        let mut dx = Numbers::zeros(&self.x);
        self.each(|i, j, k| dx.all[i] += dy.all[k] * w.all[j]);
        dx
    }

    pub(crate) fn filter(&self, x: &Numbers, dy: &Numbers) -> Numbers {
        let mut dw = Numbers::zeros(&self.w);
        self.each(|i, j, k| dw.all[j] += x.all[i] * dy.all[k]);
        dw
    }
}

/// That results are near to what they should be: sums of products in the type of the sums, rounded once. `terms`: how many
/// products a sum has, `scale`: the sum of their magnitudes.
#[track_caller]
pub(crate) fn near<T: Real>(got: &[T], want: &Numbers, scale: &Numbers, terms: usize, what: &str) {
    assert_eq!(got.len(), want.all.len(), "{what}");
    for (k, got) in got.iter().enumerate() {
        let (want, scale) = (want.all[k], scale.all[k]);
        let bound = 4.0 * (terms as f64 + 8.0) * T::SUMS * scale;
        let bound = bound + 1.01 * T::ROUNDING * (want.abs() + bound) + T::TINY;
        let error = (got.number() - want).abs();
        assert!(error <= bound, "{what}: element {k} is {}, not {want}: {error:e} > {bound:e}", got.number());
    }
}

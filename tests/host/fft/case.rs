//! One transform of any sizes and layouts, and what it must give, worked out from the definition.

use super::number::{C64, Real, assert_close, complex};
use crate::common::{Rng, down, up};
use windlass::fft::{Direction, FftSpec, Kind, Normalization};
use windlass::reference::{dft, dft_error_bound};
use windlass::tensor::Layout;
use windlass::{Device, Tensor};

/// How one side lies: strides, and the distance between arrays.
#[derive(Clone, Debug)]
pub struct Lies {
    pub strides: Vec<usize>,
    pub dist: usize,
}

impl Lies {
    /// Where element `index` of array `batch` is.
    fn place(&self, batch: usize, index: &[usize]) -> usize {
        batch * self.dist + index.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<usize>()
    }
}

/// Row-major, with axes from the last to the first in `order` (the last of it counts fastest) and gaps.
pub fn lies(shape: &[usize], batch: usize, order: &[usize], gaps: &mut dyn FnMut() -> usize) -> Lies {
    let mut strides = vec![0; shape.len()];
    let mut dist = 1;
    let mut step = 1 + gaps();
    for &axis in order.iter().rev() {
        if axis == shape.len() {
            dist = step;
            step *= batch.max(1);
        } else {
            strides[axis] = step;
            step *= shape[axis].max(1);
        }
        step += gaps();
    }
    Lies { strides, dist }
}

/// A transform.
#[derive(Clone, Debug)]
pub struct Case {
    pub kind: Kind,
    pub direction: Direction,
    pub norm: Normalization,
    /// Of the input on its logical side.
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
    /// Lengths along the axes.
    pub n: Vec<usize>,
    pub batch: usize,
    pub input: Option<Lies>,
    pub output: Option<Lies>,
}

/// Every index of a shape, the last counting fastest.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for n in shape {
        all = all.into_iter().flat_map(|index| (0..*n).map(move |i| [index.as_slice(), &[i]].concat())).collect();
    }
    all
}

/// An array by its shape.
#[derive(Clone)]
struct Grid {
    shape: Vec<usize>,
    data: Vec<C64>,
}

impl Grid {
    fn new(shape: Vec<usize>) -> Self {
        Grid { data: vec![C64::default(); shape.iter().product()], shape }
    }

    fn at(&self, index: &[usize]) -> usize {
        index.iter().zip(&self.shape).fold(0, |at, (i, n)| at * n + i)
    }

    /// The same cropped, or filled up with zeros, to another length along an axis.
    fn resized(&self, axis: usize, n: usize) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = n;
        let mut to = Grid::new(shape);
        for index in indices(&to.shape) {
            if index[axis] < self.shape[axis] {
                let at = to.at(&index);
                to.data[at] = self.data[self.at(&index)];
            }
        }
        to
    }

    /// With every line along an axis replaced.
    fn lines(&mut self, axis: usize, f: impl Fn(&[C64]) -> Vec<C64>) {
        let mut first = self.shape.clone();
        first[axis] = 1;
        for index in indices(&first) {
            let places: Vec<usize> = (0..self.shape[axis])
                .map(|i| {
                    let mut index = index.clone();
                    index[axis] = i;
                    self.at(&index)
                })
                .collect();
            let line: Vec<C64> = places.iter().map(|at| self.data[*at]).collect();
            places.iter().zip(f(&line)).for_each(|(at, x)| self.data[*at] = x);
        }
    }
}

impl Case {
    /// Packed, over all axes.
    pub fn new(kind: Kind, shape: &[usize]) -> Self {
        let direction = if kind == Kind::C2r { Direction::Inverse } else { Direction::Forward };
        Case {
            kind,
            direction,
            norm: Normalization::Backward,
            shape: shape.to_vec(),
            axes: (0..shape.len()).collect(),
            n: shape.to_vec(),
            batch: 1,
            input: None,
            output: None,
        }
    }

    /// Anything small.
    pub fn random(rng: &mut Rng, kind: Kind, most: usize) -> Self {
        let rank = 1 + rng.below(most);
        let sizes: &[usize] = match rank {
            1 => &[1, 2, 3, 4, 5, 7, 8, 16, 17, 30, 31, 64, 100, 127, 128],
            2 => &[1, 2, 3, 4, 5, 8, 11, 16, 17],
            3 => &[1, 2, 3, 4, 5, 7],
            _ => &[1, 2, 3, 4],
        };
        let shape: Vec<usize> = (0..rank).map(|_| rng.pick(sizes)).collect();
        let mut case = Case::new(kind, &shape);
        case.direction = rng.pick(&[Direction::Forward, Direction::Inverse]);
        case.norm =
            rng.pick(&[Normalization::None, Normalization::Backward, Normalization::Ortho, Normalization::Forward]);
        case.batch = rng.pick(&[1, 1, 1, 2, 3, 5]);
        // Some axes in some order.
        let mut order: Vec<usize> = (0..rank).collect();
        (0..rank).for_each(|i| order.swap(i, rng.below(rank)));
        order.truncate(1 + rng.below(rank));
        if rng.below(2) == 0 {
            case.axes = order;
        }
        case.n = case.axes.iter().map(|axis| shape[*axis]).collect();
        if rng.below(3) == 0 {
            case.n.iter_mut().for_each(|n| *n = rng.pick(&[*n, 1, *n + 1, *n + 3, n.div_ceil(2)]));
        }
        let (from, to) = (case.input_shape(), case.output_shape());
        case.input = case.some_layout(rng, &from);
        case.output = case.some_layout(rng, &to);
        case
    }

    fn some_layout(&self, rng: &mut Rng, shape: &[usize]) -> Option<Lies> {
        if rng.below(2) == 0 {
            return None;
        }
        // The axes and the batch in some order.
        let mut order: Vec<usize> = (0..=shape.len()).rev().collect();
        order.rotate_left(1);
        order.reverse();
        if rng.below(2) == 0 {
            (0..order.len()).for_each(|i| order.swap(i, rng.below(shape.len() + 1)));
        }
        let most = rng.pick(&[1, 1, 3]);
        Some(lies(shape, self.batch, &order, &mut || rng.below(most)))
    }

    pub fn input_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if let (Kind::C2r, Some(last)) = (self.kind, self.axes.last()) {
            shape[*last] = shape[*last] / 2 + 1;
        }
        shape
    }

    pub fn output_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        self.axes.iter().zip(&self.n).for_each(|(axis, n)| shape[*axis] = *n);
        if let (Kind::R2c, Some(last)) = (self.kind, self.axes.last()) {
            shape[*last] = shape[*last] / 2 + 1;
        }
        shape
    }

    pub fn spec(&self) -> FftSpec {
        let from_end = |axis: &usize| *axis as isize - self.shape.len() as isize;
        let axes: Vec<isize> = self.axes.iter().map(from_end).collect();
        let spec = FftSpec::new().direction(self.direction).norm(self.norm).axes(axes);
        let other = self.axes.iter().zip(&self.n).any(|(axis, n)| self.shape[*axis] != *n);
        if other { spec.n(&self.n) } else { spec }
    }

    /// The layout of a side whose numbers are `per` elements each; the batch is the first axis, unless it is of one.
    fn layout(&self, shape: &[usize], lies: &Option<Lies>, per: usize) -> Layout {
        let lies = lies.clone().unwrap_or_else(|| lies_packed(shape));
        let mut axes: Vec<(usize, usize)> = shape.iter().copied().zip(lies.strides).collect();
        if self.batch != 1 {
            axes.insert(0, (self.batch, lies.dist));
        }
        axes.iter_mut().for_each(|(_, stride)| *stride *= per);
        if per == 2 {
            axes.push((2, 1));
        }
        let (extents, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().map(|(n, s)| (n, s as isize)).unzip();
        Layout::new(extents, strides, 0).unwrap()
    }

    /// Where every element of one side is, and how large a buffer is.
    fn places(&self, shape: &[usize], lies: &Option<Lies>) -> (Vec<usize>, usize) {
        let packed = || lies_packed(shape);
        let lies = lies.clone().unwrap_or_else(packed);
        let places: Vec<usize> = (0..self.batch)
            .flat_map(|b| indices(shape).into_iter().map(move |i| (b, i)))
            .map(|(b, i)| lies.place(b, &i))
            .collect();
        let len = places.iter().max().map_or(0, |far| far + 1);
        (places, len)
    }

    /// One array's answer.
    fn answer(&self, input: Vec<C64>) -> Vec<C64> {
        let mut grid = Grid { shape: self.input_shape(), data: input };
        let (last, outer) = self.axes.split_last().unwrap();
        let inverse = self.direction == Direction::Inverse;
        let points: usize = self.n.iter().product();
        for (axis, n) in self.axes.iter().zip(&self.n) {
            let needed = if self.kind == Kind::C2r && axis == last { n / 2 + 1 } else { *n };
            grid = grid.resized(*axis, needed);
        }
        match self.kind {
            Kind::C2c => self.axes.iter().for_each(|axis| grid.lines(*axis, |line| dft(line, inverse))),
            Kind::R2c => {
                self.axes.iter().for_each(|axis| grid.lines(*axis, |line| dft(line, inverse)));
                grid = grid.resized(*last, self.n.last().unwrap() / 2 + 1);
            }
            Kind::C2r => {
                // Forward is the inverse of the conjugate.
                if !inverse {
                    grid.data.iter_mut().for_each(|x| *x = x.conj());
                }
                outer.iter().for_each(|axis| grid.lines(*axis, |line| dft(line, true)));
                let n = *self.n.last().unwrap();
                grid = grid.resized(*last, n);
                grid.lines(*last, |line| {
                    let mut line = line.to_vec();
                    line[0].im = 0.0;
                    if n.is_multiple_of(2) {
                        line[n / 2].im = 0.0;
                    }
                    (n / 2 + 1..n).for_each(|k| line[k] = line[n - k].conj());
                    dft(&line, true)
                });
                grid.data.iter_mut().for_each(|x| x.im = 0.0);
            }
        }
        let points = points as f64;
        let factor = match (self.norm, self.direction) {
            (Normalization::None, _) => 1.0,
            (Normalization::Ortho, _) => 1.0 / points.sqrt(),
            (Normalization::Forward, Direction::Forward) | (Normalization::Backward, Direction::Inverse) => {
                1.0 / points
            }
            _ => 1.0,
        };
        grid.data.into_iter().map(|x| x * factor).collect()
    }

    /// The tolerance: a bound for each axis.
    pub fn bound<R: Real>(&self) -> f64 {
        let bound: f64 = self.n.iter().map(|n| dft_error_bound(*n, R::UNIT)).sum();
        // What comes out is rounded once more.
        bound + 2.0 * R::UNIT
    }

    /// Does it on a device, twice with other numbers, and holds it against the definition. What lies between the elements is
    /// NaN in the input, so it is seen when it is read, and is the same afterwards in the output.
    pub fn check<R: Real>(&self, device: &Device, rng: &mut Rng) {
        let what = format!("{} {self:?}", R::DTYPE);
        for _ in 0..2 {
            let (from, from_len) = self.places(&self.input_shape(), &self.input);
            let (to, to_len) = self.places(&self.output_shape(), &self.output);
            let (real_in, real_out) = (self.kind == Kind::R2c, self.kind == Kind::C2r);
            let nan = C64::new(f64::NAN, f64::NAN);
            let mut input = vec![nan; from_len];
            let mut sample = || R::sample(rng);
            from.iter().for_each(|at| input[*at] = C64::new(sample(), if real_in { 0.0 } else { sample() }));
            let each = from.len() / self.batch.max(1);
            let arrays: Vec<C64> = from.iter().map(|at| input[*at]).collect();
            let want: Vec<C64> = arrays.chunks(each.max(1)).flat_map(|one| self.answer(one.to_vec())).collect();
            let before = vec![C64::new(3.0, 4.0); to_len];
            let spec = self.spec();
            let per = |real: bool| if real { 1 } else { R::elements(1) };
            let of_x = self.layout(&self.input_shape(), &self.input, per(real_in));
            let of_y = self.layout(&self.output_shape(), &self.output, per(real_out));
            let complex_x = || up(device, R::buffer(&input)).with_layout(&of_x).expect(&what);
            let complex_y = || up(device, R::buffer(&before)).with_layout(&of_y).expect(&what);
            let real = |all: &[C64]| up(device, all.iter().map(|x| R::near(x.re)).collect::<Vec<_>>());
            let fft = device.fft();
            let all: Vec<C64> = match self.kind {
                Kind::C2c => {
                    let x = complex_x();
                    let y = fft.c2c(&spec, &x, complex_y()).expect(&what).await_result().expect(&what);
                    kept::<R>(device, &x, &input, &what);
                    R::numbers(&down(device, y.buffer()))
                }
                Kind::R2c => {
                    let x = real(&input).with_layout(&of_x).expect(&what);
                    let y = fft.r2c(&spec, &x, complex_y()).expect(&what).await_result().expect(&what);
                    R::numbers(&down(device, y.buffer()))
                }
                Kind::C2r => {
                    let (x, y) = (complex_x(), real(&before).with_layout(&of_y).expect(&what));
                    let y = fft.c2r(&spec, &x, y).expect(&what).await_result().expect(&what);
                    kept::<R>(device, &x, &input, &what);
                    complex(&down(device, y.buffer()).into_iter().map(R::wide).collect::<Vec<_>>())
                }
            };
            let got: Vec<C64> = to.iter().map(|at| all[*at]).collect();
            let untouched = if real_out { C64::new(3.0, 0.0) } else { before.first().copied().unwrap_or_default() };
            for at in (0..to_len).filter(|at| !to.contains(at)) {
                assert_eq!(all[at], untouched, "{what}: element {at}, which is none of the output");
            }
            assert_close(&got, &want, self.bound::<R>(), &what);
        }
    }
}

fn lies_packed(shape: &[usize]) -> Lies {
    let order: Vec<usize> = [shape.len()].into_iter().chain(0..shape.len()).collect();
    lies(shape, 1, &order, &mut || 0)
}

/// The input is what it was.
fn kept<R: Real>(device: &Device, x: &Tensor<R::Complex>, input: &[C64], what: &str) {
    crate::common::assert_same_bits(&down(device, x.buffer()), &R::buffer(input), what);
}

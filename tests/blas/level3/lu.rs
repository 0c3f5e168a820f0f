//! getrf, getrs, getri, matinv, batched.

use super::matrix::{Matrix, Number, TRANSPOSES, each_type, real, trans};
use crate::common::{Rng, devices, down, into_columns, is_host, refused, seeds, up};
use windlass::reference::{Exact, Trans};
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, Device, DeviceBuffer, Element, Tensor, Transpose};

/// `count` matrices in one buffer, with a gap between the columns and between the matrices.
struct Batch<T> {
    all: Vec<Matrix<T>>,
    ld: usize,
    stride: usize,
}

impl<T: Number> Batch<T> {
    fn new(rng: &mut Rng, rows: usize, cols: usize, count: usize) -> Self {
        let (ld, stride) = (rows.max(1) + 1, (rows.max(1) + 1) * cols + 2);
        let all = (0..count).map(|_| {
            let mut matrix = Matrix::<T>::poison(rows, cols, ld, 0);
            for (i, j) in matrix.places() {
                // A large element in every column, seldom on the diagonal: rows must be swapped.
                let large = if (i + j * 3 + 1) % rows == j % rows && rows == cols { 4.0 } else { 0.0 };
                matrix.data[i + j * ld] = T::sample(rng) + real::<T>(large);
            }
            matrix
        });
        Batch { all: all.collect(), ld, stride }
    }

    fn buffer(&self) -> Vec<T> {
        let mut data = vec![T::NAN; self.stride * self.all.len()];
        self.all.iter().enumerate().for_each(|(i, x)| data[i * self.stride..][..x.data.len()].copy_from_slice(&x.data));
        data
    }

    /// Where they lie in one buffer.
    fn layout(&self) -> Lines {
        self.one().batch(self.all.len(), self.stride)
    }

    /// Where one lies in a buffer of its own.
    fn one(&self) -> Lines {
        Layout::columns(self.all[0].rows, self.all[0].cols).ld(self.ld)
    }

    fn part(&self, data: &[T], i: usize) -> Exact {
        let one = &self.all[i];
        Exact::stored(&data[i * self.stride..][..one.data.len()], one.rows, one.cols, one.ld)
    }
}

const SIZES: [usize; 10] = [0, 1, 2, 3, 5, 9, 16, 32, 33, 70];

#[track_caller]
fn assert_small(ratio: f64, what: &dyn std::fmt::Debug) {
    assert!(ratio <= 1.0, "a residual of {ratio} bounds: {what:?}");
}

/// A second matrix or none, with the infos of a batch.
type Inverses<T> = (Vec<T>, Vec<i32>);

/// The routines on matrices at even distances in one buffer, or each in a buffer of its own: in and out one slice.
#[derive(Clone, Copy, Debug)]
struct Calls<'d> {
    device: &'d Device,
    listed: bool,
}

impl Calls<'_> {
    /// Matrices of buffers of as many elements as there are from one of a batch to the next.
    fn lists<T: Number>(&self, all: &[T], of: &Batch<T>) -> Vec<Tensor<T>> {
        all.chunks(of.stride).map(|one| up(self.device, one).with_layout(of.one()).unwrap()).collect()
    }

    /// The matrices of one buffer.
    fn whole<T: Number>(&self, all: &[T], of: &Batch<T>) -> Tensor<T> {
        up(self.device, all).with_layout(of.layout()).unwrap()
    }

    fn join<T: Number>(&self, all: &[Tensor<T>]) -> Vec<T> {
        all.iter().flat_map(|one| down(self.device, one.buffer())).collect()
    }

    fn pivots(&self, count: usize, n: usize) -> Tensor<i32> {
        self.device.uninit([count, n]).unwrap()
    }

    fn info(&self, count: usize) -> Tensor<i32> {
        self.device.uninit([count]).unwrap()
    }

    /// Factors, pivots and infos.
    fn getrf<T: Number>(&self, [n, count]: [usize; 2], a: &Batch<T>) -> (Vec<T>, Tensor<i32>, Vec<i32>) {
        let (blas, pivots, info) = (self.device.blas(), self.pivots(count, n), self.info(count));
        if self.listed {
            let list = self.lists(&a.buffer(), a);
            let (a, pivots, info) = blas.getrf_batched(list, pivots, info).unwrap().await_result().unwrap();
            return (self.join(&a), pivots, down(self.device, &info));
        }
        let whole = self.whole(&a.buffer(), a);
        let (a, pivots, info) = blas.getrf(whole, pivots, info).unwrap().await_result().unwrap();
        (down(self.device, a.buffer()), pivots, down(self.device, &info))
    }

    fn getrs<T: Number>(
        &self,
        trans: Transpose,
        (factors, a): (&[T], &Batch<T>),
        pivots: &Tensor<i32>,
        b: &Batch<T>,
    ) -> Vec<T> {
        let blas = self.device.blas();
        if self.listed {
            let (factors, b) = (self.lists(factors, a), self.lists(&b.buffer(), b));
            return self.join(&blas.getrs_batched(trans, &factors, pivots, b).unwrap().await_result().unwrap());
        }
        let (factors, b) = (self.whole(factors, a), self.whole(&b.buffer(), b));
        let x = blas.getrs(trans, &factors, pivots, b).unwrap().await_result().unwrap();
        down(self.device, x.buffer())
    }

    /// The inverses of what lies as A does, from the factors where there are pivots; that A stays as it is.
    fn inverse<T: Number>(&self, a: &Batch<T>, data: &[T], pivots: Option<&Tensor<i32>>) -> Inverses<T> {
        let (blas, count) = (self.device.blas(), a.all.len());
        let (c, info) = (vec![T::NAN; a.stride * count], self.info(count));
        let same = |now: Vec<T>| {
            assert_eq!(bytemuck::cast_slice::<T, u8>(&now), bytemuck::cast_slice::<T, u8>(data), "A stays")
        };
        if self.listed {
            let (list, c) = (self.lists(data, a), self.lists(&c, a));
            let pending = match pivots {
                Some(pivots) => blas.getri_batched(&list, pivots, c, info),
                None => blas.matinv_batched(&list, c, info),
            };
            let (c, info) = pending.unwrap().await_result().unwrap();
            same(self.join(&list));
            return (self.join(&c), down(self.device, &info));
        }
        let (whole, c) = (self.whole(data, a), self.whole(&c, a));
        let pending = match pivots {
            Some(pivots) => blas.getri(&whole, pivots, c, info),
            None => blas.matinv(&whole, c, info),
        };
        let (c, info) = pending.unwrap().await_result().unwrap();
        same(down(self.device, whole.buffer()));
        (down(self.device, c.buffer()), down(self.device, &info))
    }
}

fn factors<T: Number>(calls: Calls<'_>, rng: &mut Rng) {
    let device = calls.device;
    for count in [1, 7] {
        let (n, nrhs) = (rng.pick(&SIZES), rng.pick(&[0, 1, 3, 9]));
        let a = Batch::<T>::new(rng, n, n, count);
        let b = Batch::<T>::new(rng, n, nrhs, count);
        let (on_host, pivots, info) = calls.getrf([n, count], &a);
        let places = down(device, &pivots);
        assert_eq!(info, vec![0; count]);
        for i in 0..count {
            let what = ("getrf", n, i, calls);
            let (lu, pivots) = (a.part(&on_host, i), &places[i * n..(i + 1) * n]);
            assert!(pivots.iter().enumerate().all(|(row, p)| (row + 1..=n).contains(&(*p as usize))), "{pivots:?}");
            let (lower, upper) = (lu.triangle(true, true), lu.triangle(false, false));
            let residual =
                a.all[i].exact().swapped(pivots).scaled(real::<T>(1.0)).plus(&lower.times(real::<T>(-1.0), &upper));
            assert_small(residual.residual::<T>(2.0), &what);
            // Partial pivoting leaves no factor above one, measured as LAPACK does.
            let largest = (0..n).flat_map(|j| (j + 1..n).map(move |i| (i, j))).map(|(i, j)| {
                let [re, im] = [lu.get(i, j).re.to_f64(), lu.get(i, j).im.to_f64()];
                re.hypot(im)
            });
            assert!(largest.fold(0.0, f64::max) <= 1.5, "{what:?}");
        }
        for trans_a in TRANSPOSES {
            let x = calls.getrs(trans_a, (&on_host[..], &a), &pivots, &b);
            for i in 0..count {
                let x = b.part(&x, i);
                let residual = b.all[i]
                    .exact()
                    .scaled(real::<T>(1.0))
                    .plus(&a.all[i].exact().op(trans(trans_a)).times(real::<T>(-1.0), &x));
                assert_normwise::<T>(&residual, &a.all[i].exact(), &x, &("getrs", trans_a, n, nrhs, i, calls));
            }
        }
        for (data, pivots) in [(&on_host, Some(&pivots)), (&a.buffer(), None)] {
            let (c, info) = calls.inverse(&a, data, pivots);
            assert_inverse(&a, &c, &info, device);
        }
    }
}

/// A residual small beside the products of the largest elements: what every stable method keeps to, whatever its order of
/// operations. The matrices are well-conditioned and pivots keep their factors from growing.
#[track_caller]
fn assert_normwise<T: Number>(
    residual: &windlass::reference::Bounded,
    a: &Exact,
    x: &Exact,
    what: &dyn std::fmt::Debug,
) {
    let largest = |x: &Exact| {
        let all = (0..x.cols()).flat_map(|j| (0..x.rows()).map(move |i| (i, j)));
        let size = |(i, j)| x.get(i, j).re.to_f64().abs() + x.get(i, j).im.to_f64().abs();
        // A NaN is larger than everything.
        all.map(size).fold(0.0f64, |most, size| if size <= most || most.is_nan() { most } else { size })
    };
    let n = a.rows() as f64;
    let bound = 16.0 * (n + 8.0) * n * T::UNIT * (largest(a) * largest(x) + 1.0);
    let worst = largest(residual.exact());
    assert!(worst <= bound && !worst.is_nan(), "a residual of {worst:e}, more than {bound:e}: {what:?}");
}

#[track_caller]
fn assert_inverse<T: Number>(a: &Batch<T>, x: &[T], info: &[i32], device: &Device) {
    assert_eq!(info, vec![0; a.all.len()]);
    for (i, one) in a.all.iter().enumerate() {
        let inverse = a.part(x, i);
        let identity = Exact::identity(one.rows).scaled(real::<T>(-1.0));
        let residual = one.exact().times(real::<T>(1.0), &inverse).plus(&identity);
        assert_normwise::<T>(&residual, &one.exact(), &inverse, &("inverse", one.rows, i, device));
        let gaps = (0..one.data.len()).filter(|at| at % one.ld >= one.rows);
        gaps.for_each(|at| assert!(x[i * a.stride + at].parts()[0].is_nan(), "padding {at}"));
    }
}

#[test]
fn factors_give_back_the_matrix_its_solutions_and_its_inverse() {
    for device in devices() {
        for listed in [false, true] {
            let calls = Calls { device: &device, listed };
            seeds(6, |rng, _| {
                each_type!(factors(calls, rng));
            });
        }
    }
}

/// `n x n` matrices one behind the other.
fn squares<T: Element>(a: DeviceBuffer<T>, n: usize, count: usize) -> Tensor<T> {
    a.with_layout(Layout::columns(n, n).batch(count, n * n)).unwrap()
}

fn singular<T: Number>(device: &Device) {
    // Regular, singular at its second column, zero.
    let r = |x: f64| real::<T>(x);
    let a = [r(1.0), r(2.0), r(1.0), r(4.0), r(1.0), r(2.0), r(2.0), r(4.0), r(0.0), r(0.0), r(0.0), r(0.0)];
    let (blas, three) = (device.blas(), |a| squares(a, 2, 3));
    let (pivots, info) = (device.uninit([3, 2]).unwrap(), device.uninit([3]).unwrap());
    let (factors, pivots, info) = blas.getrf(three(up(device, a)), pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 2, 1], "{device:?}");
    assert_eq!(down(device, &pivots)[..4], [2, 2, 2, 2]);
    let got = down(device, factors.buffer());
    assert_eq!(got[..8], [r(2.0), r(0.5), r(4.0), r(-1.0), r(2.0), r(0.5), r(4.0), r(0.0)], "factored to the end");
    let (c, info) = (three(device.zeros(12).unwrap().into_buffer()), device.uninit([3]).unwrap());
    let (c, info) = blas.getri(&factors, &pivots, c, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 2, 1], "{device:?}");
    assert_eq!(down(device, c.buffer())[..4], [r(2.0), r(-1.0), r(-0.5), r(0.5)], "the regular one is inverted");
    let (c, info) = (three(device.zeros(12).unwrap().into_buffer()), device.uninit([3]).unwrap());
    let (c, info) = blas.matinv(&three(up(device, a)), c, info).unwrap().await_result().unwrap();
    let info = down(device, &info);
    assert!(info[0] == 0 && info[1] > 0 && info[2] > 0, "{info:?} on {device:?}");
    assert_eq!(down(device, c.buffer())[..4], [r(2.0), r(-1.0), r(-0.5), r(0.5)]);
}

#[test]
fn a_singular_matrix_says_where_and_leaves_the_others_alone() {
    for device in devices() {
        each_type!(singular(&device));
    }
}

/// Pivots whose inverses are infinite.
fn least<T: Number>(device: &Device, tiny: f64) {
    let (r, blas) = (|x: f64| real::<T>(x), device.blas());
    let (pivots, info) = (device.uninit(2).unwrap(), device.uninit([]).unwrap());
    let a = into_columns(up(device, [r(tiny), r(tiny / 2.0), r(tiny), r(tiny)]), 2, 2);
    let (factors, pivots, _) = blas.getrf(a, pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, factors.buffer()), [r(tiny), r(0.5), r(tiny), r(tiny / 2.0)], "{device:?}");
    let b = into_columns(up(device, [r(2.0 * tiny), r(1.5 * tiny)]), 2, 1); // A * [1, 1]
    let x = blas.getrs(Transpose::No, &factors, &pivots, b).unwrap().await_result().unwrap();
    assert_eq!(down(device, &x), [r(1.0), r(1.0)], "{device:?}");
}

#[test]
fn the_least_pivots_divide() {
    for device in devices().iter().filter(|device| is_host(device)) {
        least::<f32>(device, f32::from_bits(16).into());
        least::<Complex<f32>>(device, f32::from_bits(16).into());
        least::<f64>(device, f64::from_bits(16));
        least::<Complex<f64>>(device, f64::from_bits(16));
    }
}

fn empty<T: Number>(device: &Device) {
    let blas = device.blas();
    let none = |n, count| squares(up(device, Vec::<T>::new()), n, count);
    let numbers = |shape: &[usize]| device.full(shape, 7).unwrap();
    let (a, pivots, info) = (none(3, 0), numbers(&[0, 3]), numbers(&[0]));
    blas.getrf(a, pivots, info).unwrap().await_result().unwrap();
    let (a, pivots, info) = (none(0, 2), numbers(&[2, 0]), numbers(&[2]));
    let (a, pivots, info) = blas.getrf(a, pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 0], "an empty matrix is regular");
    let (_, info) = blas.getri(&a, &pivots, none(0, 2), numbers(&[2])).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 0]);
    let (_, info) = blas.matinv(&a, none(0, 2), numbers(&[2])).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 0]);
    let b = device.uninit([2, 0, 1]).unwrap();
    blas.getrs(Transpose::No, &a, &pivots, b).unwrap().await_result().unwrap();
    // Lists.
    let (pivots, info) = (numbers(&[0, 3]), numbers(&[0]));
    let (a, pivots, info) = blas.getrf_batched(Vec::<Tensor<T>>::new(), pivots, info).unwrap().await_result().unwrap();
    assert!(a.is_empty());
    let (c, _) = blas.matinv_batched(&a, Vec::<Tensor<T>>::new(), info).unwrap().await_result().unwrap();
    assert!(blas.getrs_batched(Transpose::No, &a, &pivots, c).unwrap().await_result().unwrap().is_empty());
    let x = device.uninit::<T>([0, 0]).unwrap();
    let c = [device.uninit([0, 0]).unwrap()];
    let (_, info) = blas.matinv_batched([&x], c, numbers(&[1])).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0]);
}

#[test]
fn empty_batches_and_empty_matrices_are_regular() {
    for device in devices() {
        each_type!(empty(&device));
    }
}

/// The pivots of a matrix whose best pivots are plain are the same on every engine.
#[test]
fn pivots_are_those_of_lapack() {
    for device in devices() {
        let a = [0.0, 3.0, 1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 4.0];
        let (pivots, info) = (device.uninit(3).unwrap(), device.uninit([]).unwrap());
        let answer = device.blas().getrf(into_columns(up(&device, a), 3, 3), pivots, info).unwrap();
        let (factors, pivots, _) = answer.await_result().unwrap();
        assert_eq!(down(&device, &pivots), [2, 2, 3]);
        let swapped = Exact::stored(&a, 3, 3, 3).swapped(&down(&device, &pivots));
        assert_eq!(swapped.op(Trans::No).get(0, 0).re.to_f64(), 3.0);
        assert_eq!(down(&device, factors.buffer())[0], 3.0);
    }
}

/// A matrix that is read by rows has other factors than its transpose; its inverse is the transposed one.
#[test]
fn what_is_read_by_rows_is_refused_but_to_be_inverted() {
    for device in devices() {
        let blas = device.blas();
        let rows = || device.tensor([2, 2], [2.0f64, 1.0, 0.0, 4.0]).unwrap();
        let numbers = |shape: &[usize]| device.full(shape, 1).unwrap();
        let by_rows = |error: windlass::Error, name: &str| {
            let (argument, reason) = refused(&error);
            assert!(argument == name && reason.contains("`contiguous_columns`"), "{argument}: {reason}");
            assert!(reason.contains("`transpose()`"), "{reason}");
        };
        let rejected = blas.getrf(rows(), numbers(&[2]), numbers(&[])).unwrap_err();
        assert_eq!(rejected.back.unwrap().0.shape(), [2, 2]);
        by_rows(rejected.error, "a");
        let (a, pivots) = (rows(), numbers(&[2]));
        by_rows(blas.getrs(Transpose::No, &a, &pivots, rows()).unwrap_err().error, "a");
        by_rows(blas.getrs(Transpose::No, a.transpose(), &pivots, rows()).unwrap_err().error, "b");
        by_rows(blas.getri(a.transpose(), &pivots, rows(), numbers(&[])).unwrap_err().error, "c");
        by_rows(blas.getrf_batched([rows()], numbers(&[1, 2]), numbers(&[1])).unwrap_err().error, "a");
        for (a, want) in [(a.view(), [0.5, -0.125, 0.0, 0.25]), (a.transpose(), [0.5, 0.0, -0.125, 0.25])] {
            // C lies as A does, or the call says so.
            let c = || rows().with_layout(a.layout().clone()).unwrap();
            let (inverse, info) = blas.matinv(&a, c(), numbers(&[])).unwrap().await_result().unwrap();
            assert_eq!((down(&device, &inverse), down(&device, &info)), (want.to_vec(), vec![0]));
            let (inverse, _) = blas.matinv_batched([&a], [c()], numbers(&[1])).unwrap().await_result().unwrap();
            assert_eq!(down(&device, &inverse[0]), want);
            let c = rows().with_layout(a.layout().transpose()).unwrap();
            let (name, reason) = refused(&blas.matinv(&a, c, numbers(&[])).unwrap_err().error);
            assert!(name == "a" && reason.contains("one order") && reason.contains("`contiguous"), "{reason}");
        }
    }
}

/// The axes before the last two are the batch, of pivots and infos as well.
#[test]
fn a_batch_may_have_several_axes() {
    for device in devices() {
        let blas = device.blas();
        let a: Vec<f64> = (0..6).flat_map(|i| [2.0 + f64::from(i), 0.0, 1.0, 4.0]).collect();
        let a = device.tensor([2, 3, 2, 2], a).unwrap();
        let a = device.contiguous_columns(&a).unwrap();
        let (pivots, info) = (device.uninit([2, 3, 2]).unwrap(), device.uninit([2, 3]).unwrap());
        let (a, pivots, info) = blas.getrf(a, pivots, info).unwrap().await_result().unwrap();
        assert_eq!((pivots.shape(), info.shape()), (&[2, 3, 2][..], &[2, 3][..]));
        let b = device.contiguous_columns(&device.full([2, 3, 2, 1], 4.0).unwrap()).unwrap();
        let x = blas.getrs(Transpose::No, &a, &pivots, b).unwrap().await_result().unwrap();
        let x = down(&device, &x);
        for (i, x) in x.chunks(2).enumerate() {
            let first = 4.0 / (2.0 + i as f64);
            assert!((x[0] - first).abs() < 1e-12 && (x[1] - (1.0 - first / 4.0)).abs() < 1e-12, "{i}: {x:?}");
        }
        let (name, reason) =
            refused(&blas.getrs(Transpose::No, &a, info.reshape([6]).unwrap(), a_column(&device)).unwrap_err().error);
        assert!(name == "pivots" && reason.contains("[6]") && reason.contains("[2, 3, 2]"), "{reason}");
    }
}

fn a_column(device: &Device) -> Tensor<f64> {
    device.zeros([2, 3, 2, 1]).unwrap()
}

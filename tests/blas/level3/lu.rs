//! getrf, getrs, getri, matinv, batched.

use super::matrix::{Matrix, Number, TRANSPOSES, each_type, real, trans};
use crate::common::{Rng, devices, down, is_host, seeds, up};
use windlass::blas::LuBatch;
use windlass::reference::{Exact, Trans};
use windlass::{Complex, Device, DeviceBuffer, Transpose};

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
    /// Buffers of `stride` elements each.
    fn lists<T: Number>(&self, all: &[T], stride: usize) -> Vec<DeviceBuffer<T>> {
        all.chunks(stride).map(|one| up(self.device, one)).collect()
    }

    fn join<T: Number>(&self, all: &[DeviceBuffer<T>]) -> Vec<T> {
        all.iter().flat_map(|one| down(self.device, one)).collect()
    }

    fn beside(&self, n: usize) -> DeviceBuffer<i32> {
        self.device.uninit(n).unwrap()
    }

    /// Factors, pivots and infos.
    fn getrf<T: Number>(
        &self,
        lu: LuBatch,
        [n, count]: [usize; 2],
        a: &Batch<T>,
    ) -> (Vec<T>, DeviceBuffer<i32>, Vec<i32>) {
        let (blas, pivots, info) = (self.device.blas(), self.beside(n * count), self.beside(count));
        if self.listed {
            let a = self.lists(&a.buffer(), a.stride);
            let (a, pivots, info) = blas.getrf_batched(lu, a, pivots, info).unwrap().await_result().unwrap();
            return (self.join(&a), pivots, down(self.device, &info));
        }
        let (lu, whole) = (lu.stride_a(a.stride), up(self.device, a.buffer()));
        let (a, pivots, info) = blas.getrf_strided_batched(lu, whole, pivots, info).unwrap().await_result().unwrap();
        (down(self.device, &a), pivots, down(self.device, &info))
    }

    fn getrs<T: Number>(
        &self,
        lu: LuBatch,
        (trans, nrhs): (Transpose, usize),
        (factors, stride_a): (&[T], usize),
        pivots: &DeviceBuffer<i32>,
        b: &Batch<T>,
    ) -> Vec<T> {
        let (blas, lu) = (self.device.blas(), lu.ldb(b.ld));
        if self.listed {
            let (factors, b) = (self.lists(factors, stride_a), self.lists(&b.buffer(), b.stride));
            let factors: Vec<_> = factors.iter().map(|a| a.as_in()).collect();
            return self
                .join(&blas.getrs_batched(lu, trans, nrhs, &factors, pivots, b).unwrap().await_result().unwrap());
        }
        let (lu, factors) = (lu.stride_a(stride_a).stride_b(b.stride), up(self.device, factors));
        let b = up(self.device, b.buffer());
        let x = blas.getrs_strided_batched(lu, trans, nrhs, &factors, pivots, b).unwrap().await_result().unwrap();
        down(self.device, &x)
    }

    /// The inverses of what lies as A does, from the factors where there are pivots; that A stays as it is.
    fn inverse<T: Number>(
        &self,
        lu: LuBatch,
        a: &Batch<T>,
        data: &[T],
        pivots: Option<&DeviceBuffer<i32>>,
    ) -> Inverses<T> {
        let (blas, count, lu) = (self.device.blas(), a.all.len(), lu.ldb(a.ld));
        let (c, info) = (vec![T::NAN; a.stride * count], self.beside(count));
        let same = |now: Vec<T>| {
            assert_eq!(bytemuck::cast_slice::<T, u8>(&now), bytemuck::cast_slice::<T, u8>(data), "A stays")
        };
        if self.listed {
            let (owned, c) = (self.lists(data, a.stride), self.lists(&c, a.stride));
            let list: Vec<_> = owned.iter().map(|a| a.as_in()).collect();
            let pending = match pivots {
                Some(pivots) => blas.getri_batched(lu, &list, pivots, c, info),
                None => blas.matinv_batched(lu, &list, c, info),
            };
            let (c, info) = pending.unwrap().await_result().unwrap();
            same(self.join(&owned));
            return (self.join(&c), down(self.device, &info));
        }
        let (lu, whole, c) = (lu.stride_a(a.stride).stride_b(a.stride), up(self.device, data), up(self.device, c));
        let pending = match pivots {
            Some(pivots) => blas.getri_strided_batched(lu, &whole, pivots, c, info),
            None => blas.matinv_strided_batched(lu, &whole, c, info),
        };
        let (c, info) = pending.unwrap().await_result().unwrap();
        same(down(self.device, &whole));
        (down(self.device, &c), down(self.device, &info))
    }
}

fn factors<T: Number>(calls: Calls<'_>, rng: &mut Rng) {
    let device = calls.device;
    for count in [1, 7] {
        let (n, nrhs) = (rng.pick(&SIZES), rng.pick(&[0, 1, 3, 9]));
        let a = Batch::<T>::new(rng, n, n, count);
        let b = Batch::<T>::new(rng, n, nrhs, count);
        let lu = LuBatch::new(n).batch(count).lda(a.ld);
        let (on_host, pivots, info) = calls.getrf(lu, [n, count], &a);
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
            let x = calls.getrs(lu, (trans_a, nrhs), (&on_host[..], a.stride), &pivots, &b);
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
            let (c, info) = calls.inverse(lu, &a, data, pivots);
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

fn singular<T: Number>(device: &Device) {
    // Regular, singular at its second column, zero.
    let r = |x: f64| real::<T>(x);
    let a = [r(1.0), r(2.0), r(1.0), r(4.0), r(1.0), r(2.0), r(2.0), r(4.0), r(0.0), r(0.0), r(0.0), r(0.0)];
    let (lu, blas) = (LuBatch::new(2).batch(3), device.blas());
    let (pivots, info) = (device.uninit(6).unwrap(), device.uninit(3).unwrap());
    let (factors, pivots, info) =
        blas.getrf_strided_batched(lu, up(device, a), pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 2, 1], "{device:?}");
    assert_eq!(down(device, &pivots)[..4], [2, 2, 2, 2]);
    let got = down(device, &factors);
    assert_eq!(got[..8], [r(2.0), r(0.5), r(4.0), r(-1.0), r(2.0), r(0.5), r(4.0), r(0.0)], "factored to the end");
    let (c, info) = (device.zeros(12).unwrap(), device.uninit(3).unwrap());
    let (c, info) = blas.getri_strided_batched(lu, &factors, &pivots, c, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 2, 1], "{device:?}");
    assert_eq!(down(device, &c)[..4], [r(2.0), r(-1.0), r(-0.5), r(0.5)], "the regular one is inverted");
    let (c, info) = (device.zeros(12).unwrap(), device.uninit(3).unwrap());
    let (c, info) = blas.matinv_strided_batched(lu, &up(device, a), c, info).unwrap().await_result().unwrap();
    let info = down(device, &info);
    assert!(info[0] == 0 && info[1] > 0 && info[2] > 0, "{info:?} on {device:?}");
    assert_eq!(down(device, &c)[..4], [r(2.0), r(-1.0), r(-0.5), r(0.5)]);
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
    let (pivots, info) = (device.uninit(2).unwrap(), device.uninit(1).unwrap());
    let a = up(device, [r(tiny), r(tiny / 2.0), r(tiny), r(tiny)]);
    let (factors, pivots, _) =
        blas.getrf_strided_batched(LuBatch::new(2), a, pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &factors), [r(tiny), r(0.5), r(tiny), r(tiny / 2.0)], "{device:?}");
    let b = up(device, [r(2.0 * tiny), r(1.5 * tiny)]); // A * [1, 1]
    let x = blas
        .getrs_strided_batched(LuBatch::new(2), Transpose::No, 1, &factors, &pivots, b)
        .unwrap()
        .await_result()
        .unwrap();
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
    let none = || (up(device, Vec::<T>::new()), up(device, Vec::<i32>::new()));
    let ((a, pivots), (_, info)) = (none(), none());
    blas.getrf_strided_batched(LuBatch::new(3).batch(0), a, pivots, info).unwrap().await_result().unwrap();
    let ((a, pivots), info) = (none(), up(device, [7, 7]));
    let (a, pivots, info) =
        blas.getrf_strided_batched(LuBatch::new(0).batch(2), a, pivots, info).unwrap().await_result().unwrap();
    assert_eq!(down(device, &info), [0, 0], "an empty matrix is regular");
    let (c, info) = blas
        .getri_strided_batched(LuBatch::new(0).batch(2), &a, &pivots, none().0, info)
        .unwrap()
        .await_result()
        .unwrap();
    assert_eq!(down(device, &info), [0, 0]);
    blas.getrs_strided_batched(LuBatch::new(0).batch(2), Transpose::No, 1, &a, &pivots, c)
        .unwrap()
        .await_result()
        .unwrap();
    // Lists.
    let (_, pivots) = none();
    let (a, pivots, info) = blas
        .getrf_batched(LuBatch::new(3).batch(0), Vec::<DeviceBuffer<T>>::new(), pivots, none().1)
        .unwrap()
        .await_result()
        .unwrap();
    assert!(a.is_empty());
    let c = blas.matinv_batched::<T>(LuBatch::new(3).batch(0), &[], vec![], info).unwrap().await_result().unwrap().0;
    assert!(
        blas.getrs_batched(LuBatch::new(3).batch(0), Transpose::No, 1, &[], &pivots, c)
            .unwrap()
            .await_result()
            .unwrap()
            .is_empty()
    );
    let (x, info) = (none().0, up(device, [7]));
    let (_, info) =
        blas.matinv_batched(LuBatch::new(0), &[x.as_in()], vec![none().0], info).unwrap().await_result().unwrap();
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
        let (pivots, info) = (device.uninit(3).unwrap(), device.uninit(1).unwrap());
        let answer = device.blas().getrf_strided_batched(LuBatch::new(3), up(&device, a), pivots, info).unwrap();
        let (factors, pivots, _) = answer.await_result().unwrap();
        assert_eq!(down(&device, &pivots), [2, 2, 3]);
        let swapped = Exact::stored(&a, 3, 3, 3).swapped(&down(&device, &pivots));
        assert_eq!(swapped.op(Trans::No).get(0, 0).re.to_f64(), 3.0);
        assert_eq!(down(&device, &factors)[0], 3.0);
    }
}

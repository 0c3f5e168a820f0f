//! Matrices as their definition sees them, and as memory has them: NaN wherever nothing must be read.

use crate::common::{INCREMENTS, Laid, Rng, Sample, assert_near, assert_same_bits, up};
use windlass::blas::{BlasElement, Numbers};
use windlass::reference::{self, GemmSpec, Pair, Trans};
use windlass::tensor::{IntoLayout, Layout};
use windlass::{Device, DeviceBuffer, Diag, Element, Tensor, TensorRef, Transpose, Uplo};

/// The sizes of the published BLAS tests, and some larger.
pub(crate) const SIZES: [usize; 8] = [0, 1, 2, 3, 5, 9, 33, 130];
pub(crate) const TRANSPOSES: [Transpose; 3] = [Transpose::No, Transpose::Yes, Transpose::Conjugate];
pub(crate) const TRIANGLES: [Uplo; 2] = [Uplo::Upper, Uplo::Lower];
pub(crate) const DIAGONALS: [Diag; 2] = [Diag::NonUnit, Diag::Unit];

/// How a triangle is stored; the numbers are the gap of the leading dimension and the diagonals of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Full(usize),
    Band(usize, usize),
    Packed,
}

pub(crate) const STORES: [Store; 5] =
    [Store::Full(0), Store::Full(3), Store::Band(0, 0), Store::Band(2, 1), Store::Packed];

/// The largest size of the published BLAS tests: up to it every case of theirs is tried, the increments and factors each
/// with each other.
const PUBLISHED: usize = 9;

/// All pairs of increments for the published sizes, one pair for others.
pub(crate) fn increments(rng: &mut Rng, n: usize) -> Vec<(isize, isize)> {
    let all: Vec<_> = INCREMENTS.into_iter().flat_map(|x| INCREMENTS.map(|y| (x, y))).collect();
    if n <= PUBLISHED { all } else { vec![rng.pick(&all)] }
}

/// The factors of the published tests, 0, 1, 0.7 and a complex one, for the published sizes; any for others.
pub(crate) fn factors<T: Sample>(rng: &mut Rng, n: usize) -> Vec<T> {
    if n > PUBLISHED {
        return vec![T::sample(rng)];
    }
    let complex = T::nearest(Pair::new(0.7.into(), (-0.9).into()));
    let all = [T::real(0.0), T::real(1.0), T::real(0.7), complex];
    all[..if T::COMPLEX { 4 } else { 3 }].to_vec()
}

/// Pairs of such factors, each with each.
pub(crate) fn pairs<T: Sample>(rng: &mut Rng, n: usize) -> Vec<(T, T)> {
    let (alphas, betas) = (factors::<T>(rng, n), factors::<T>(rng, n));
    alphas.into_iter().flat_map(|alpha| betas.iter().map(move |beta| (alpha, *beta))).collect()
}

/// 0, 1, 0.7 or any.
pub(crate) fn scalar<T: Sample>(rng: &mut Rng) -> T {
    let all = [T::real(0.0), T::real(1.0), T::real(0.7), T::sample(rng)];
    rng.pick(&all)
}

/// Whether `alpha`, and whether `beta`, is on the device: mostly neither is.
pub(crate) fn places(rng: &mut Rng) -> [bool; 2] {
    rng.pick(&[[false; 2], [false; 2], [false; 2], [true; 2], [true, false], [false, true]])
}

/// A number by value, or on the device, where `keep` keeps it.
pub(crate) fn number<'a, T: Element>(
    device: &Device,
    value: T,
    on_device: bool,
    keep: &'a mut Option<DeviceBuffer<T>>,
) -> Numbers<'a, T> {
    if on_device { (&*keep.insert(up(device, [value]))).into() } else { value.into() }
}

/// The triangle that the transposed view shows.
pub(crate) fn other(uplo: Uplo) -> Uplo {
    if uplo == Uplo::Upper { Uplo::Lower } else { Uplo::Upper }
}

/// The transpose as the oracle names it.
pub(crate) fn trans(of: Transpose) -> Trans {
    match of {
        Transpose::No => Trans::No,
        Transpose::Yes => Trans::Yes,
        Transpose::Conjugate => Trans::Conj,
    }
}

pub(crate) fn conj<T: Sample>(x: T) -> T {
    let [re, im] = x.parts();
    T::nearest(Pair::new(re.into(), (-im).into()))
}

pub(crate) fn real_part<T: Sample>(x: T) -> T {
    T::real(x.parts()[0])
}

pub(crate) fn imaginary_part<T: Sample>(x: T) -> f64 {
    x.parts()[1]
}

/// An `m x n` matrix.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<T> {
    pub(crate) m: usize,
    pub(crate) n: usize,
    /// What it is, without gaps.
    pub(crate) entries: Vec<T>,
    /// Where it is: NaN in all places that no stored element has.
    pub(crate) data: Vec<T>,
    /// The places of what is stored, as a call takes it.
    pub(crate) layout: Layout,
}

impl<T: Sample> Matrix<T> {
    pub(crate) fn entry(&self, i: usize, j: usize) -> T {
        self.entries[i + j * self.m]
    }

    /// What a call reads, of a buffer of the data.
    pub(crate) fn view<'a>(&self, buffer: &'a DeviceBuffer<T>) -> TensorRef<'a, T> {
        buffer.view(&self.layout).expect("a view")
    }

    /// Of a full matrix, which its view transposes.
    pub(crate) fn turned<'a>(&self, buffer: &'a DeviceBuffer<T>, of: Transpose) -> TensorRef<'a, T> {
        let view = self.view(buffer);
        if of == Transpose::No { view } else { view.transpose() }
    }

    /// What a call writes.
    pub(crate) fn tensor_mut(&self, device: &Device) -> Tensor<T> {
        up(device, &self.data[..]).with_layout(&self.layout).expect("a tensor")
    }

    /// A general matrix with columns `lda` apart.
    pub(crate) fn general(rng: &mut Rng, m: usize, n: usize, lda: usize) -> Self {
        let entries = rng.samples::<T>(m * n);
        let len = if m == 0 || n == 0 { 0 } else { lda * (n - 1) + m };
        let mut data = vec![T::NAN; len + 2];
        (0..n).for_each(|j| (0..m).for_each(|i| data[i + j * lda] = entries[i + j * m]));
        let layout = Layout::columns(m, n).ld(lda).into_layout().expect("a layout");
        Matrix { m, n, entries, data, layout }
    }

    /// A band matrix.
    pub(crate) fn band(rng: &mut Rng, m: usize, n: usize, (kl, ku): (usize, usize), lda: usize) -> Self {
        let mut entries = vec![T::default(); m * n];
        let len = if n == 0 { 0 } else { lda * (n - 1) + kl + ku + 1 };
        let mut data = vec![T::NAN; len + 2];
        for j in 0..n {
            for i in (0..m).filter(|i| i + ku >= j && *i <= j + kl) {
                entries[i + j * m] = T::sample(rng);
                data[ku + i - j + j * lda] = entries[i + j * m];
            }
        }
        let layout = Layout::columns(kl + ku + 1, n).ld(lda).into_layout().expect("a layout");
        Matrix { m, n, entries, data, layout }
    }

    /// What `mirror(i, j, stored)` makes of a stored triangle, of random elements by `sample(i, j)`. Element (i, j) of
    /// the triangle is stored as `kept(i, j, element)`.
    pub(crate) fn triangle(
        n: usize,
        uplo: Uplo,
        store: Store,
        mut sample: impl FnMut(usize, usize) -> T,
        mirror: impl Fn(T) -> T,
        kept: impl Fn(usize, usize, T) -> T,
    ) -> Self {
        let (band, len) = match store {
            _ if n == 0 => (n, 0),
            Store::Full(gap) => (n, (n + gap) * (n - 1) + n),
            Store::Band(k, gap) => (k, (k + 1 + gap) * (n - 1) + k + 1),
            Store::Packed => (n, n * (n + 1) / 2),
        };
        let (mut entries, mut data) = (vec![T::default(); n * n], vec![T::NAN; len + 2]);
        for j in 0..n {
            let rows = if uplo == Uplo::Upper { 0..j + 1 } else { j..n };
            for i in rows.filter(|i| i.abs_diff(j) <= band) {
                let element = sample(i, j);
                entries[j + i * n] = mirror(element);
                entries[i + j * n] = element;
                let place = match (store, uplo) {
                    (Store::Full(gap), _) => i + j * (n + gap),
                    (Store::Band(k, gap), Uplo::Upper) => k + i - j + j * (k + 1 + gap),
                    (Store::Band(k, gap), Uplo::Lower) => i - j + j * (k + 1 + gap),
                    (Store::Packed, Uplo::Upper) => i + j * (j + 1) / 2,
                    (Store::Packed, Uplo::Lower) => i - j + (0..j).map(|j| n - j).sum::<usize>(),
                };
                data[place] = kept(i, j, element);
            }
        }
        let layout = match store {
            Store::Full(gap) => Layout::columns(n, n).ld(n.max(1) + gap).into_layout(),
            Store::Band(k, gap) => Layout::columns(k + 1, n).ld(k + 1 + gap).into_layout(),
            Store::Packed => Layout::row_major([n * (n + 1) / 2]),
        };
        Matrix { m: n, n, entries, data, layout: layout.expect("a layout") }
    }
}

/// `alpha * op(A) * x + beta * y` and how far a computed one may be off, element by element.
pub(crate) fn product<T: Sample + BlasElement>(
    a: &Matrix<T>,
    of: Transpose,
    alpha: T,
    x: &[T],
    beta: T,
    y: &[T],
) -> (Vec<T>, Vec<f64>) {
    let spec = GemmSpec {
        m: y.len(),
        n: 1,
        k: x.len(),
        op_a: trans(of),
        lda: a.m.max(1),
        op_b: Trans::No,
        ldb: x.len().max(1),
        ldc: y.len().max(1),
        alpha,
        beta,
    };
    let mut want = y.to_vec();
    reference::gemm(&spec, &a.entries, x, &mut want);
    (want, reference::gemm_error_bound(&spec, &a.entries, x, y, 2.0 * T::UNIT))
}

/// The elements of `got` near those of `want`, and everything between as it was.
#[track_caller]
pub(crate) fn near<T: Sample>(laid: &Laid<T>, got: &[T], want: &[T], bounds: &[f64], what: &str) {
    for (i, got) in laid.changed(got, what).into_iter().enumerate() {
        assert_near(got, want[i], bounds[i], &format!("element {i} of {what}"));
    }
}

/// Of a triangle that was updated: the elements of `of(i, j)` near theirs, all else as it was.
#[track_caller]
pub(crate) fn near_matrix<T: Sample>(before: &[T], got: &[T], places: &[(usize, T, f64)], what: &str) {
    let mut rest = got.to_vec();
    for (place, want, bound) in places {
        assert_near(got[*place], *want, *bound, &format!("place {place} of {what}"));
        rest[*place] = before[*place];
    }
    assert_same_bits(&rest, before, &format!("outside of what is stored: {what}"));
}

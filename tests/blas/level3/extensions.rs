//! geam, dgmm.

use super::matrix::{Matrix, Number, SIZES, TRANSPOSES, each_type, real, scalar, trans};
use crate::common::{INCREMENTS, Rng, columns, devices, down, into_columns, seeds, up};
use windlass::blas::Geam;
use windlass::reference::Exact;
use windlass::tensor::Layout;
use windlass::{Device, Side, Transpose};

fn sums<T: Number>(device: &Device, rng: &mut Rng) {
    for transposes in TRANSPOSES.into_iter().flat_map(|a| TRANSPOSES.map(|b| (a, b))) {
        let (shape, scalars) = ((rng.pick(&SIZES), rng.pick(&SIZES)), (scalar::<T>(rng), scalar::<T>(rng)));
        check_sum(device, rng, transposes, shape, scalars);
    }
}

pub(crate) fn check_sum<T: Number>(
    device: &Device,
    rng: &mut Rng,
    (trans_a, trans_b): (Transpose, Transpose),
    (m, n): (usize, usize),
    (alpha, beta): (T, T),
) {
    let stored = |t| if t == Transpose::No { (m, n) } else { (n, m) };
    let operand = |rng: &mut Rng, factor: T, (rows, cols): (usize, usize)| match factor == T::default() {
        true => Matrix::<T>::poison(rows, cols, rows.max(1), 0), // not read
        false => Matrix::random(rng, rows, cols),
    };
    let (a, b) = (operand(rng, alpha, stored(trans_a)), operand(rng, beta, stored(trans_b)));
    let c = Matrix::<T>::poison(m, n, m.max(1) + 2, 3);
    let spec = Geam::new().alpha(alpha).beta(beta);
    let spec = if trans_a == Transpose::Conjugate { spec.conjugate_a() } else { spec };
    let spec = if trans_b == Transpose::Conjugate { spec.conjugate_b() } else { spec };
    let (on_a, on_b) = (a.upload(device), b.upload(device));
    let (of_a, of_b) = (a.op(&on_a, trans_a), b.op(&on_b, trans_b));
    let got = device.blas().geam(spec.clone(), of_a, of_b, c.tensor(device)).unwrap().await_result().unwrap();
    let zero = Exact::from_fn(m, n, |_, _| Default::default()).scaled(T::default());
    let term = |x: &Matrix<T>, t, factor: T| match factor == T::default() {
        true => zero.clone(),
        false => x.exact().op(trans(t)).scaled(factor),
    };
    let want = term(&a, trans_a, alpha).plus(&term(&b, trans_b, beta));
    c.assert_became(device, got.buffer(), &want, |_, _| true, &spec);
}

#[test]
fn sums_of_matrices_are_those_of_their_elements() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(sums(&device, rng));
        });
    }
}

fn transposed<T: Number>(device: &Device, rng: &mut Rng) {
    let (m, n) = (300, 501);
    let a = rng.samples::<T>(m * n);
    let on_a = up(device, &a[..]);
    let (of_a, of_c) =
        (columns(&on_a, n, m).transpose(), into_columns(device.uninit(m * n).unwrap().into_buffer(), m, n));
    // B is not read.
    let got = device.blas().geam(Geam::new(), of_a, columns(&on_a, m, n), of_c).unwrap().await_result().unwrap();
    let got = down(device, got.buffer());
    assert!((0..m * n).all(|at| got[at] == a[at / m + at % m * n]));
}

/// Large enough for threads; exact, so bit for bit.
#[test]
fn a_transpose_moves_every_element() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(transposed(&device, rng));
        });
    }
}

fn diagonals<T: Number>(device: &Device, rng: &mut Rng) {
    for (side, inc) in [Side::Left, Side::Right].into_iter().flat_map(|side| INCREMENTS.map(|inc| (side, inc))) {
        let shape = (rng.pick(&SIZES), rng.pick(&SIZES));
        check_diagonal::<T>(device, rng, side, shape, inc);
    }
}

pub(crate) fn check_diagonal<T: Number>(
    device: &Device,
    rng: &mut Rng,
    side: Side,
    (m, n): (usize, usize),
    inc: isize,
) {
    let (a, c) = (Matrix::<T>::random(rng, m, n), Matrix::<T>::poison(m, n, m.max(1) + 1, 1));
    let len = if side == Side::Left { m } else { n };
    let step = isize::unsigned_abs(inc);
    let mut x = vec![T::NAN; len.saturating_sub(1) * step + usize::from(len > 0)];
    let values = rng.samples::<T>(len);
    for (i, value) in values.iter().enumerate() {
        x[if inc < 0 { (len - 1 - i) * step } else { i * step }] = *value;
    }
    let (on_a, x) = (a.upload(device), up(device, x));
    let first = if inc < 0 { len.saturating_sub(1) * step } else { 0 };
    let vector = x.view(Layout::new([len], [inc], first).unwrap()).unwrap();
    let got = device.blas().dgmm(side, a.view(&on_a), vector, c.tensor(device)).unwrap().await_result().unwrap();
    let got = down(device, got.buffer());
    for (place, got) in got.iter().enumerate() {
        let (i, j) = (place % c.ld, place / c.ld);
        if i >= m || j >= n {
            assert!(got.parts()[0].is_nan(), "{place}");
            continue;
        }
        let exact =
            Exact::stored(&[a.data[i + j * a.ld]], 1, 1, 1).scaled(values[if side == Side::Left { i } else { j }]);
        assert!(exact.ratio(0, 0, *got, T::UNIT) <= 1.0, "({i}, {j}) is {got:?}: {side:?} {inc} on {device:?}");
    }
}

#[test]
fn diagonal_matrices_scale_rows_or_columns_whatever_the_increment() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(diagonals(&device, rng));
        });
    }
}

fn scalars<T: Number>(device: &Device) {
    let (a, b) = (up(device, [real::<T>(1.0), real::<T>(2.0)]), up(device, [real::<T>(3.0), real::<T>(5.0)]));
    let (alpha, beta) = (up(device, [real::<T>(2.0)]), up(device, [real::<T>(10.0)]));
    let values = Geam::new().alpha(real::<T>(2.0)).beta(real::<T>(10.0));
    for spec in [values.clone().alpha(&alpha).beta(&beta), values.clone().alpha(&alpha), values.clone().beta(&beta)] {
        let c = device.uninit([2, 1]).unwrap();
        let c = device.blas().geam(spec, columns(&a, 2, 1), columns(&b, 2, 1), c).unwrap().await_result().unwrap();
        assert_eq!(down(device, &c), [real::<T>(32.0), real::<T>(54.0)]);
    }
    // A zero by value beside a factor on the device: its matrix is not read.
    let nan = up(device, [T::NAN; 2]);
    let c = device.uninit([2, 1]).unwrap();
    let spec = Geam::new().alpha(T::default()).beta(&beta);
    let c = device.blas().geam(spec, columns(&nan, 2, 1), columns(&b, 2, 1), c).unwrap().await_result().unwrap();
    assert_eq!(down(device, &c), [real::<T>(30.0), real::<T>(50.0)]);
}

#[test]
fn factors_of_a_sum_may_lie_on_the_device() {
    for device in devices() {
        each_type!(scalars(&device));
    }
}

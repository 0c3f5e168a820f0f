//! gemm in row-major order, and halves into f32.

use super::matrix::{Matrix, Number, SIZES, TRANSPOSES, each_type, scalar, trans};
use crate::common::{Rng, Sample, columns, conjugated, devices, down, into_columns, op, seeds, up};
use windlass::blas::MixedElement;
use windlass::reference::{Exact, Value};
use windlass::tensor::Layout;
use windlass::{Device, Gemm, TensorRef, Transpose, bf16, f16};

fn oriented<T: Number>(x: TensorRef<'_, T>, trans: Transpose) -> TensorRef<'_, T> {
    if trans == Transpose::No { x } else { x.transpose() }
}

/// The same numbers, row by row.
fn row_major<T: Number>(device: &Device, rng: &mut Rng) {
    let [m, n, k] = [(); 3].map(|()| rng.pick(&SIZES));
    let (trans_a, trans_b) = (rng.pick(&TRANSPOSES), rng.pick(&TRANSPOSES));
    // What is stored row by row is the transpose, column by column.
    let turned = |rng: &mut Rng, trans, rows, cols| match trans {
        Transpose::No => Matrix::<T>::random(rng, cols, rows),
        Transpose::Yes | Transpose::Conjugate => Matrix::random(rng, rows, cols),
    };
    let (a, b) = (turned(rng, trans_a, m, k), turned(rng, trans_b, k, n));
    let (c, alpha, beta) = (Matrix::<T>::random(rng, n, m), scalar::<T>(rng), scalar::<T>(rng));
    let spec = conjugated(Gemm::new().alpha(alpha).beta(beta), [trans_a, trans_b]);
    let (on_a, on_b) = (a.upload(device), b.upload(device));
    let by_rows = |on, x: &Matrix<T>| op(on, Transpose::Yes, (x.cols, x.rows), x.ld);
    let (of_a, of_b) = (oriented(by_rows(&on_a, &a), trans_a), oriented(by_rows(&on_b, &b), trans_b));
    let on_c = c.upload(device).with_layout(Layout::rows(m, n).ld(c.ld)).unwrap();
    let spec_said = format!("{spec:?} {trans_a:?} {trans_b:?} {m} {n} {k}");
    let got = match device.blas().gemm(spec, of_a, of_b, on_c) {
        Ok(pending) => pending.await_result().unwrap().into_buffer(),
        Err(rejected) => panic!("{rejected}: {spec_said}"),
    };
    let of = |x: &Matrix<T>, t| x.exact().op(windlass::reference::Trans::Yes).op(trans(t));
    let product = of(&a, trans_a).times(alpha, &of(&b, trans_b)).plus(&of(&c, Transpose::No).scaled(beta));
    // Looked at through the transpose of C, which is what lies there column by column.
    let want = product.exact().op(windlass::reference::Trans::Yes);
    let got = down(device, &got);
    for (i, j) in c.places() {
        let (got, want, bound) = (got[i + j * c.ld].parts(), want.get(i, j), product.bound::<T>(j, i, T::UNIT));
        let near = (got[0] - want.re.to_f64()).abs() <= bound && (got[1] - want.im.to_f64()).abs() <= bound;
        assert!(near, "({i}, {j}) is {got:?} for {want:?}: {spec_said} on {device:?}");
    }
    let gaps = (0..got.len()).filter(|place| place % c.ld >= c.rows || place / c.ld >= c.cols);
    gaps.for_each(|place| assert!(got[place].parts()[0].is_nan(), "place {place}: {spec_said}"));
}

#[test]
fn row_major_products_are_those_of_rows() {
    for device in devices() {
        seeds(20, |rng, _| {
            each_type!(row_major(&device, rng));
        });
    }
}

fn mixed<T: Sample + MixedElement>(device: &Device, rng: &mut Rng) {
    let [m, n, k] = [(); 3].map(|()| rng.pick(&SIZES));
    let (a, b, c) = (rng.samples::<T>(m * k), rng.samples::<T>(k * n), rng.samples::<f32>(m * n));
    let (alpha, beta) = (scalar::<f32>(rng), scalar::<f32>(rng));
    let spec = Gemm::<T>::new().alpha(alpha).beta(beta);
    let what = format!("{spec:?} {m} {n} {k}");
    let (on_a, on_b) = (up(device, &a[..]), up(device, &b[..]));
    let (of_a, of_b) = (columns(&on_a, m, k), columns(&on_b, n, k));
    let on_c = into_columns(up(device, &c[..]), m, n);
    let got = device.blas().gemm_mixed(spec, of_a, of_b.transpose(), on_c).unwrap().await_result().unwrap();
    let b = Exact::stored(&b, n, k, n.max(1)).op(windlass::reference::Trans::Yes);
    let want = Exact::stored(&a, m, k, m.max(1)).times(alpha, &b);
    let want = want.plus(&Exact::stored(&c, m, n, m.max(1)).scaled(beta));
    for (place, got) in down(device, got.buffer()).into_iter().enumerate() {
        let (i, j) = (place % m, place / m);
        let ratio = want.ratio(i, j, got, f32::UNIT);
        assert!(ratio <= 1.0, "({i}, {j}) is {got}, {ratio} bounds off: {what} on {device:?}");
    }
}

#[test]
fn halves_into_f32_are_not_rounded_to_halves() {
    for device in devices() {
        seeds(20, |rng, _| {
            mixed::<f16>(&device, rng);
            mixed::<bf16>(&device, rng);
        });
    }
}

#[test]
fn a_mixed_product_is_larger_than_any_half() {
    for device in devices() {
        let a = up(&device, vec![f16::from_f32(256.0); 1024]);
        let (row, column) = (columns(&a, 1, 1024), columns(&a, 1024, 1));
        let c = device.blas().gemm_mixed(Gemm::new(), row, column, device.uninit([1, 1]).unwrap()).unwrap();
        assert_eq!(down(&device, &c.await_result().unwrap()), [67_108_864.0]);
    }
}

//! Row-major matrices of every routine of levels 2 and 3: the answer is that of the same matrices in column-major order.
//! All in small whole numbers, which every engine, type and order of sums computes exactly.

use crate::common::{Rng, devices, down, seeds, up};
use crate::level3::scalars::{Whole, got, whole};
use windlass::blas::{
    BlasElement, ComplexElement, Dgmm, Geam, Gemv, Ger, Her2k, Herk, Symm, Symv, Syr, Syr2, Syr2k, Syrk, Triangular,
    Trmv,
};
use windlass::{Complex, Device, DeviceBuffer, Diag, Element, Error, Side, Transpose, Uplo};

const SIDES: [Side; 2] = [Side::Left, Side::Right];
const TRIANGLES: [Uplo; 2] = [Uplo::Upper, Uplo::Lower];
/// Places after each line of a row-major matrix that belong to nobody.
const GAP: usize = 2;

/// A matrix in both orders: without gaps by columns, with some by rows.
struct Both<T: Element> {
    m: usize,
    n: usize,
    columns: Vec<T>,
}

impl<T: Whole> Both<T> {
    fn new(rng: &mut Rng, m: usize, n: usize) -> Self {
        Both { m, n, columns: whole(rng, m * n) }
    }

    fn square(rng: &mut Rng, n: usize) -> Self {
        Both::new(rng, n, n)
    }

    /// The leading dimension by rows.
    fn ld(&self) -> usize {
        self.n + GAP
    }

    fn rows(&self) -> Vec<T> {
        let mut rows = vec![T::NAN; self.m * self.ld()];
        for i in 0..self.m {
            for j in 0..self.n {
                rows[i * self.ld() + j] = self.columns[i + j * self.m];
            }
        }
        rows
    }

    fn up(&self, device: &Device) -> [DeviceBuffer<T>; 2] {
        [up(device, &self.columns[..]), up(device, self.rows())]
    }

    /// Asserts that both hold the same matrix, and that by rows nothing else was written.
    #[track_caller]
    fn same(&self, what: &str, [columns, rows]: [Vec<T>; 2]) {
        for (place, got) in rows.iter().enumerate() {
            let (i, j) = (place / self.ld(), place % self.ld());
            match j < self.n {
                true => assert_eq!(*got, columns[i + j * self.m], "{what}: ({i}, {j})"),
                false => assert!(bytemuck::bytes_of(got) == bytemuck::bytes_of(&T::NAN), "{what}: the gap of row {i}"),
            }
        }
    }
}

/// Makes one call with column-major matrices and one with row-major ones, and asserts that they give the same.
macro_rules! alike {
    ($what:expr, $c:expr, $device:expr, |$order:ident, $out:ident| $call:expr) => {{
        let [columns, rows] = $c.up($device);
        let by_columns = {
            let ($order, $out) = (0, columns);
            got!($device, $call)
        };
        let by_rows = {
            let ($order, $out) = (1, rows);
            got!($device, $call)
        };
        $c.same($what, [by_columns, by_rows]);
    }};
}

/// The specification as it is, or row-major with leading dimensions.
macro_rules! spec {
    ($order:ident, $spec:expr $(, $ld:ident = $of:expr)*) => {
        if $order == 0 { $spec } else { $spec.row_major()$(.$ld($of.ld()))* }
    };
}

fn matrices<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (m, n, k, blas) = (4, 3, 5, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let c = Both::<T>::new(rng, m, n);
    for side in SIDES {
        let order = if side == Side::Left { m } else { n };
        let (of_a, of_b) = (Both::<T>::square(rng, order), Both::<T>::new(rng, m, n));
        let (a, b, x) = (of_a.up(device), of_b.up(device), up(device, whole::<T>(rng, order)));
        for uplo in TRIANGLES {
            let symm = Symm::new(side, uplo, m, n).alpha(alpha).beta(beta);
            alike!("symm", c, device, |o, c| blas.symm(
                spec!(o, symm, lda = of_a, ldb = of_b, ldc = of_b),
                &a[o],
                &b[o],
                c
            ));
            for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
                let spec = Triangular::new(side, uplo, m, n).trans(trans).diag(Diag::Unit).alpha(alpha);
                alike!("trmm", c, device, |o, c| blas.trmm(spec!(o, spec, lda = of_a, ldb = of_b), &a[o], c));
                alike!("trsm", c, device, |o, c| blas.trsm(spec!(o, spec, lda = of_a, ldb = of_b), &a[o], c));
                alike!("trmm_into", c, device, |o, c| {
                    blas.trmm_into(spec!(o, spec, lda = of_a, ldb = of_b, ldc = of_b), &a[o], &b[o], c)
                });
                alike!("trsm_strided_batched", c, device, |o, c| {
                    blas.trsm_strided_batched(spec!(o, spec, lda = of_a, ldb = of_b).batch(1), &a[o], c)
                });
                let batches = c.up(device).into_iter().enumerate().map(|(o, c)| {
                    let spec = spec!(o, spec, lda = of_a, ldb = of_b);
                    let x = blas.trsm_batched(spec, &[a[o].as_in()], vec![c]).unwrap().await_result().unwrap();
                    down(device, &x[0])
                });
                c.same("trsm_batched", batches.collect::<Vec<_>>().try_into().unwrap());
            }
        }
        let dgmm = Dgmm::new(side, m, n);
        alike!("dgmm", c, device, |o, c| blas.dgmm(spec!(o, dgmm, lda = of_b, ldc = of_b), &b[o], &x, c));
    }
    let square = Both::<T>::square(rng, n);
    for trans in [Transpose::No, Transpose::Yes] {
        let (rows, cols) = if trans == Transpose::No { (n, k) } else { (k, n) };
        let (of_a, of_b) = (Both::<T>::new(rng, rows, cols), Both::<T>::new(rng, rows, cols));
        let (a, b) = (of_a.up(device), of_b.up(device));
        for uplo in TRIANGLES {
            let syrk = Syrk::new(uplo, n, k).trans(trans).alpha(alpha).beta(beta);
            alike!("syrk", square, device, |o, c| blas.syrk(spec!(o, syrk, lda = of_a, ldc = square), &a[o], c));
            let syr2k = Syr2k::new(uplo, n, k).trans(trans).alpha(alpha).beta(beta);
            alike!("syr2k", square, device, |o, c| {
                blas.syr2k(spec!(o, syr2k, lda = of_a, ldb = of_b, ldc = square), &a[o], &b[o], c)
            });
            // Not symmetric, which the caller has to see to: the triangle is that of the product as it is asked for.
            alike!("syrkx", square, device, |o, c| {
                blas.syrkx(spec!(o, syr2k, lda = of_a, ldb = of_b, ldc = square), &a[o], &b[o], c)
            });
        }
        for trans_b in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
            let (rows, cols) = if trans_b == Transpose::No { (m, n) } else { (n, m) };
            let (of_b, of_a) = (Both::<T>::new(rng, rows, cols), Both::<T>::new(rng, m, n));
            let (a, b) = (of_a.up(device), of_b.up(device));
            let geam = Geam::new(m, n).trans_b(trans_b).alpha(alpha).beta(beta);
            alike!("geam", c, device, |o, c| {
                blas.geam(spec!(o, geam, lda = of_a, ldb = of_b, ldc = of_a), &a[o], &b[o], c)
            });
        }
    }
}

fn hermitian<T: Whole + ComplexElement<Real = R>, R: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (m, n, k, blas) = (4, 3, 5, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let (real_alpha, real_beta) = (R::whole(rng), R::whole(rng));
    let (c, square) = (Both::<T>::new(rng, m, n), Both::<T>::square(rng, n));
    for uplo in TRIANGLES {
        for side in SIDES {
            let order = if side == Side::Left { m } else { n };
            let (of_a, of_b) = (Both::<T>::square(rng, order), Both::<T>::new(rng, m, n));
            let (a, b) = (of_a.up(device), of_b.up(device));
            let hemm = Symm::new(side, uplo, m, n).alpha(alpha).beta(beta);
            alike!("hemm", c, device, |o, c| blas.hemm(
                spec!(o, hemm, lda = of_a, ldb = of_b, ldc = of_b),
                &a[o],
                &b[o],
                c
            ));
        }
        for trans in [Transpose::No, Transpose::Conjugate] {
            let (rows, cols) = if trans == Transpose::No { (n, k) } else { (k, n) };
            let (of_a, of_b) = (Both::<T>::new(rng, rows, cols), Both::<T>::new(rng, rows, cols));
            let (a, b) = (of_a.up(device), of_b.up(device));
            let herk = Herk::new(uplo, n, k).trans(trans).alpha(real_alpha).beta(real_beta);
            alike!("herk", square, device, |o, c| blas.herk(spec!(o, herk, lda = of_a, ldc = square), &a[o], c));
            let her2k = Her2k::new(uplo, n, k).trans(trans).alpha(alpha).beta(real_beta);
            alike!("her2k", square, device, |o, c| {
                blas.her2k(spec!(o, her2k, lda = of_a, ldb = of_b, ldc = square), &a[o], &b[o], c)
            });
            // Hermitian only where B is A scaled by real numbers.
            let scaled = Both { columns: of_a.columns.iter().map(|x| *x + *x).collect(), ..of_a };
            let b = scaled.up(device);
            let herkx =
                Her2k::new(uplo, n, k).trans(trans).alpha(<T as windlass::blas::GemmElement>::ONE).beta(real_beta);
            alike!("herkx", square, device, |o, c| {
                blas.herkx(spec!(o, herkx, lda = scaled, ldb = scaled, ldc = square), &a[o], &b[o], c)
            });
        }
    }
}

fn vectors<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (m, n, blas) = (4, 3, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let (of_a, long) = (Both::<T>::new(rng, m, n), whole::<T>(rng, m));
    let (a, up_x) = (of_a.up(device), |n: usize| up(device, &long[..n]));
    let of_spec = |spec: Gemv<T>, order: usize| if order == 0 { spec } else { spec.row_major().lda(of_a.ld()) };
    for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
        let (rows, cols) = if trans == Transpose::No { (m, n) } else { (n, m) };
        let spec = Gemv::new(m, n).trans(trans).alpha(alpha).beta(beta);
        if trans == Transpose::Conjugate && T::DTYPE.is_complex() {
            let error = blas.gemv(of_spec(spec, 1), &a[1], &up_x(cols), up_x(rows)).unwrap_err().error;
            assert!(matches!(&error, Error::Unsupported { .. }), "{error}");
            continue;
        }
        let [by_columns, by_rows] = [0, 1].map(|o| {
            let spec = of_spec(spec, o);
            let one = got!(device, blas.gemv(spec, &a[o], &up_x(cols), up_x(rows)));
            let even = got!(device, blas.gemv_strided_batched(spec.batch(1), &a[o], &up_x(cols), up_x(rows)));
            let (x, y) = (up_x(cols), vec![up_x(rows).into()]);
            let listed = blas.gemv_batched(spec, &[a[o].as_in()], &[(&x).into()], y).unwrap().await_result().unwrap();
            [one, even, down(device, &listed[0])]
        });
        assert_eq!(by_rows, by_columns, "gemv {trans:?}");
        // One diagonal below, two above: rows of four places by either order, the other way around.
        let (mut columns, mut rows_of) = (vec![T::NAN; 4 * n], vec![T::NAN; 4 * m]);
        for i in 0..m {
            for j in (0..n).filter(|j| i <= j + 1 && *j <= i + 2) {
                columns[2 + i - j + j * 4] = of_a.columns[i + j * m];
                rows_of[1 + j - i + i * 4] = of_a.columns[i + j * m];
            }
        }
        let spec = Gemv::banded(m, n, 1, 2).trans(trans).alpha(alpha).beta(beta);
        let [by_columns, by_rows] = [(spec, columns), (spec.row_major(), rows_of)]
            .map(|(spec, a)| got!(device, blas.gemv(spec, &up(device, a), &up_x(cols), up_x(rows))));
        assert_eq!(by_rows, by_columns, "banded gemv {trans:?}");
    }
    let (x, y) = (up_x(m), up_x(n));
    alike!("ger", of_a, device, |o, a| blas.ger(spec!(o, Ger::new(m, n).alpha(alpha), lda = of_a), &x, &y, a));
    if T::DTYPE.is_complex() {
        let [_, by_rows] = of_a.up(device);
        let error = blas.gerc(Ger::<T>::new(m, n).row_major().lda(of_a.ld()), &x, &y, by_rows).unwrap_err().error;
        assert!(matches!(&error, Error::Unsupported { .. }), "{error}");
    } else {
        alike!("gerc", of_a, device, |o, a| blas.gerc(spec!(o, Ger::new(m, n).alpha(alpha), lda = of_a), &x, &y, a));
    }
}

fn triangles<T: Whole + BlasElement>(device: &Device, rng: &mut Rng) {
    let (n, blas) = (4, device.blas());
    let (alpha, beta) = (T::whole(rng), T::whole(rng));
    let (of_a, x, y) = (Both::<T>::square(rng, n), whole::<T>(rng, n), whole::<T>(rng, n));
    let (a, on_x, on_y) = (of_a.up(device), up(device, &x[..]), || up(device, &y[..]));
    for uplo in TRIANGLES {
        // The triangle, column after column and row after row.
        let inside = |i: usize, j: usize| if uplo == Uplo::Upper { i <= j } else { i >= j };
        let of = |i: usize, j: usize| inside(i, j).then(|| of_a.columns[i + j * n]);
        let by_columns: Vec<T> = (0..n * n).filter_map(|at| of(at % n, at / n)).collect();
        let by_rows: Vec<T> = (0..n * n).filter_map(|at| of(at / n, at % n)).collect();
        let packed = [up(device, by_columns), up(device, by_rows)];
        let spec = Symv::new(n, uplo).alpha(alpha).beta(beta);
        let [one, other] = [0, 1].map(|o| got!(device, blas.symv(spec!(o, spec, lda = of_a), &a[o], &on_x, on_y())));
        assert_eq!(other, one, "symv");
        alike!("syr", of_a, device, |o, a| blas.syr(spec!(o, Syr::new(n, uplo).alpha(alpha), lda = of_a), &on_x, a));
        let spec = Syr2::new(n, uplo).alpha(alpha);
        alike!("syr2", of_a, device, |o, a| blas.syr2(spec!(o, spec, lda = of_a), &on_x, &on_y(), a));
        for trans in [Transpose::No, Transpose::Yes, Transpose::Conjugate] {
            let full = Trmv::new(n, uplo).trans(trans).diag(Diag::Unit);
            let spec = Trmv::packed(n, uplo).trans(trans).diag(Diag::Unit);
            if trans == Transpose::Conjugate && T::DTYPE.is_complex() {
                let error = blas.trsv(full.row_major().lda(of_a.ld()), &a[1], on_y()).unwrap_err().error;
                assert!(matches!(&error, Error::Unsupported { .. }), "{error}");
                continue;
            }
            let both = [0, 1].map(|o| {
                let (full, spec) = (spec!(o, full, lda = of_a), spec!(o, spec));
                let product = got!(device, blas.trmv(full, &a[o], on_y()));
                let packed_product = got!(device, blas.trmv(spec, &packed[o], on_y()));
                [product, packed_product, got!(device, blas.trsv(full, &a[o], on_y()))]
            });
            assert_eq!(both[1], both[0], "trmv and trsv {trans:?}");
            assert_eq!(both[0][0], both[0][1], "full and packed");
        }
    }
}

fn refuses_hermitian<T: Whole + ComplexElement>(device: &Device) {
    let (blas, x) = (device.blas(), || up(device, vec![T::NAN; 4]));
    let error = blas.hemv(Symv::<T>::new(2, Uplo::Upper).row_major(), &x(), x().strided(2, 1), x().into_strided(2, 1));
    assert!(matches!(error.unwrap_err().error, Error::Unsupported { .. }));
    let spec = Syr2::<T>::new(2, Uplo::Upper).row_major();
    let error = blas.her2(spec, x().strided(2, 1), x().strided(2, 1), x()).unwrap_err().error;
    assert!(matches!(error, Error::Unsupported { .. }));
}

macro_rules! each { ($f:ident($($arg:expr),*)) => {
    $f::<f32>($($arg),*);
    $f::<f64>($($arg),*);
    $f::<Complex<f32>>($($arg),*);
    $f::<Complex<f64>>($($arg),*);
} }

#[test]
fn row_major_matrices_give_what_column_major_ones_do() {
    for device in devices() {
        seeds(4, |rng, _| {
            each!(matrices(&device, rng));
            hermitian::<Complex<f32>, f32>(&device, rng);
            hermitian::<Complex<f64>, f64>(&device, rng);
        });
    }
}

#[test]
fn row_major_matrices_give_the_same_vectors_or_say_that_blas_has_no_routine() {
    for device in devices() {
        seeds(4, |rng, _| {
            each!(vectors(&device, rng));
            each!(triangles(&device, rng));
        });
        refuses_hermitian::<Complex<f32>>(&device);
    }
}

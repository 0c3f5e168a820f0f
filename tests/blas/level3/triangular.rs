//! trmm, trsm and its batches.

use super::matrix::{Matrix, Number, SIZES, TRANSPOSES, TRIANGLES, each_type, inside, real, scalar, trans};
use crate::common::{Rng, columns, devices, down, into_columns, seeds, up};
use windlass::blas::Triangular;
use windlass::reference::{Bounded, Exact};
use windlass::{Device, DeviceBuffer, Diag, Side, TensorRef, Transpose, Uplo};

#[derive(Clone)]
pub(crate) struct Case<T> {
    side: Side,
    uplo: Uplo,
    trans: Transpose,
    diag: Diag,
    a: Matrix<T>,
    b: Matrix<T>,
    alpha: T,
}

pub(crate) type Flags = (Side, Uplo, Transpose, Diag);

pub(crate) fn flags() -> impl Iterator<Item = Flags> {
    let sides = [Side::Left, Side::Right].into_iter();
    let triangles = sides.flat_map(|side| TRIANGLES.map(|uplo| (side, uplo)));
    let transposes = triangles.flat_map(|(side, uplo)| TRANSPOSES.map(|trans| (side, uplo, trans)));
    transposes.flat_map(|(side, uplo, trans)| [Diag::Unit, Diag::NonUnit].map(|diag| (side, uplo, trans, diag)))
}

/// The specification of a view of A that `trans` transposes: the triangle is that of the view.
fn spec<T: Number>((side, uplo, trans, diag): Flags) -> Triangular<'static, T> {
    let seen = match (trans, uplo) {
        (Transpose::No, uplo) => uplo,
        (_, Uplo::Upper) => Uplo::Lower,
        (_, Uplo::Lower) => Uplo::Upper,
    };
    let spec = Triangular::new(side, seen).diag(diag);
    if trans == Transpose::Conjugate { spec.conjugate_a() } else { spec }
}

impl<T: Number> Case<T> {
    pub(crate) fn new(rng: &mut Rng, (side, uplo, trans, diag): Flags, (m, n): (usize, usize), alpha: T) -> Self {
        let order = if side == Side::Left { m } else { n };
        let a = Matrix::random(rng, order, order).dominant().only(uplo, diag == Diag::Unit);
        Case { side, uplo, trans, diag, a, b: Matrix::random(rng, m, n), alpha }
    }

    fn spec(&self) -> Triangular<'static, T> {
        spec((self.side, self.uplo, self.trans, self.diag)).alpha(self.alpha)
    }

    /// A as it is used, but for the conjugate.
    fn of_a<'a>(&self, a: &'a DeviceBuffer<T>) -> TensorRef<'a, T> {
        self.a.op(a, self.trans)
    }

    /// `op(A)` with its zeros and ones.
    fn triangle(&self) -> Exact {
        self.a.exact().triangle(self.uplo == Uplo::Lower, self.diag == Diag::Unit).op(trans(self.trans))
    }

    fn times(&self, alpha: T, b: &Exact) -> Bounded {
        match self.side {
            Side::Left => self.triangle().times(alpha, b),
            Side::Right => b.times(alpha, &self.triangle()),
        }
    }

    /// Asserts that X solves the equation, and that the gaps of B are as they were.
    #[track_caller]
    fn assert_solved(&self, device: &Device, x: &[T]) {
        let what = (self.side, self.uplo, self.trans, self.diag, self.b.rows, self.b.cols, self.alpha);
        let exact = Exact::stored(x, self.b.rows, self.b.cols, self.b.ld);
        let residual = self.b.exact().scaled(self.alpha).plus(&self.times(real::<T>(-1.0), &exact));
        // Methods that multiply with the inverses of diagonal blocks (a GPU's) have larger constants.
        let ratio = residual.residual::<T>(if crate::common::is_host(device) { 1.0 } else { 8.0 });
        assert!(ratio <= 1.0, "a residual of {ratio} bounds: {what:?} on {device:?}");
        for (place, (x, before)) in x.iter().zip(&self.b.data).enumerate() {
            let is_gap = place % self.b.ld >= self.b.rows || place / self.b.ld >= self.b.cols;
            assert!(!is_gap || bytemuck::bytes_of(x) == bytemuck::bytes_of(before), "{place}: {what:?}");
        }
    }

    /// In place and apart.
    pub(crate) fn check_products(&self, device: &Device) {
        let (a, (m, n)) = (self.a.upload(device), (self.b.rows, self.b.cols));
        let want = self.times(self.alpha, &self.b.exact());
        let got =
            device.blas().trmm(self.spec(), self.of_a(&a), self.b.tensor(device)).unwrap().await_result().unwrap();
        self.b.assert_became(device, got.buffer(), &want, |_, _| true, &self.spec());
        let c = Matrix::<T>::poison(m, n, m.max(1) + 3, 1);
        let (b, into) = (self.b.upload(device), c.tensor(device));
        let got = device.blas().trmm_into(self.spec(), self.of_a(&a), self.b.view(&b), into).unwrap();
        c.assert_became(device, got.await_result().unwrap().buffer(), &want, |_, _| true, &("into", self.spec()));
        self.b.assert_became(device, &b, &self.b.exact().scaled(real::<T>(1.0)), |_, _| false, &"B stays");
    }

    pub(crate) fn check_solution(&self, device: &Device) {
        let a = self.a.upload(device);
        let x = device.blas().trsm(self.spec(), self.of_a(&a), self.b.tensor(device)).unwrap().await_result().unwrap();
        self.assert_solved(device, &down(device, x.buffer()));
    }
}

fn multiplied<T: Number>(device: &Device, rng: &mut Rng) {
    for flags in flags() {
        let (shape, alpha) = ((rng.pick(&SIZES), rng.pick(&SIZES)), scalar(rng));
        Case::<T>::new(rng, flags, shape, alpha).check_products(device);
    }
}

#[test]
fn products_with_triangles_read_one_triangle_in_place_and_apart() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(multiplied(&device, rng));
        });
    }
}

/// Columns without rows: nothing is read or written, whatever alpha is.
fn empty<T: Number>(device: &Device) {
    let (blas, none) = (device.blas(), || Matrix::<T>::poison(0, 2, 5, 0).tensor(device));
    for alpha in [0.0, 1.0].map(real::<T>) {
        for flags in flags() {
            let order = if flags.0 == Side::Left { 0 } else { 2 };
            let (a, spec) = (Matrix::<T>::poison(order, order, 2, 0), || spec(flags).alpha(alpha));
            let on = a.upload(device);
            let a = || a.op(&on, flags.2);
            let b = blas.trmm(spec(), a(), none()).unwrap().await_result().unwrap();
            let x = blas.trsm(spec(), a(), b).unwrap().await_result().unwrap();
            let c = blas.trmm_into(spec(), a(), &x, none()).unwrap().await_result().unwrap();
            assert_eq!((x.len(), c.len()), (0, 0));
        }
    }
}

#[test]
fn matrices_of_columns_without_rows_are_left_alone() {
    for device in devices() {
        each_type!(empty(&device));
    }
}

fn solved<T: Number>(device: &Device, rng: &mut Rng) {
    for flags in flags() {
        let (shape, alpha) = ((rng.pick(&SIZES), rng.pick(&SIZES)), scalar(rng));
        Case::<T>::new(rng, flags, shape, alpha).check_solution(device);
    }
}

#[test]
fn solutions_with_triangles_put_back_give_the_right_side() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(solved(&device, rng));
        });
    }
}

fn large<T: Number>(device: &Device, rng: &mut Rng) {
    for side in [Side::Left, Side::Right] {
        let case =
            Case::<T>::new(rng, (side, Uplo::Lower, Transpose::Conjugate, Diag::NonUnit), (203, 190), real::<T>(0.7));
        let a = case.a.upload(device);
        let x = device.blas().trsm(case.spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
        case.assert_solved(device, &down(device, x.buffer()));
        let got =
            device.blas().trmm(case.spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
        let want = case.times(case.alpha, &case.b.exact());
        case.b.assert_became(device, got.buffer(), &want, |_, _| true, &case.spec());
    }
}

/// Large enough for threads and several levels of halving.
#[test]
fn large_triangles_are_cut_and_shared() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(large(&device, rng));
        });
    }
}

fn zero_and_singular<T: Number>(device: &Device) {
    let blas = device.blas();
    for side in [Side::Left, Side::Right] {
        let poison = Matrix::<T>::poison(3, 3, 3, 0).tensor(device);
        let spec = Triangular::new(side, Uplo::Upper).alpha(T::default());
        for solve in [false, true] {
            let (b, spec) = (Matrix::poison(3, 3, 3, 0).tensor(device), spec.clone());
            let b = if solve { blas.trsm(spec, &poison, b) } else { blas.trmm(spec, &poison, b) };
            assert_eq!(down(device, &b.unwrap().await_result().unwrap()), vec![T::default(); 9], "{side:?} {solve}");
        }
        // Singular: what depends on the zero is not finite, what does not is right.
        let a = up(device, [real::<T>(2.0), T::default(), T::default(), T::default()]);
        let b = into_columns(up(device, [real::<T>(4.0), real::<T>(1.0)]), 2, 1);
        let spec = Triangular::new(Side::Left, Uplo::Lower);
        let x = blas.trsm(spec, columns(&a, 2, 2), b).unwrap().await_result().unwrap();
        let x = down(device, &x);
        assert!(x[0] == real::<T>(2.0) && !x[1].parts()[0].is_finite(), "{x:?}");
    }
}

#[test]
fn a_zero_alpha_clears_and_a_singular_triangle_gives_no_number() {
    for device in devices() {
        each_type!(zero_and_singular(&device));
    }
}

/// A NaN of B reaches what depends on it and nothing else: no zero of the other triangle is multiplied with it.
fn nan<T: Number>(device: &Device, rng: &mut Rng) {
    for n in [5, 70] {
        let mut case =
            Case::<T>::new(rng, (Side::Left, Uplo::Lower, Transpose::No, Diag::NonUnit), (n, 3), real::<T>(1.0));
        let at = 2 + case.b.ld;
        case.b.data[at] = T::NAN;
        let a = case.a.upload(device);
        let got =
            device.blas().trmm(case.spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
        let x = device.blas().trsm(case.spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
        for (name, got) in [("trmm", down(device, got.buffer())), ("trsm", down(device, x.buffer()))] {
            for (i, j) in case.b.places() {
                let is_nan = got[i + j * case.b.ld].parts()[0].is_nan();
                // A GPU may compute whole blocks: of the column that has the NaN only the part below is promised.
                let promised = crate::common::is_host(device) || j != 1 || i >= 2;
                assert!(!promised || is_nan == (j == 1 && inside(Uplo::Lower, i, 2)), "{name} ({i}, {j}) n = {n}");
            }
        }
    }
}

#[test]
fn a_nan_reaches_what_depends_on_it() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(nan(&device, rng));
        });
    }
}

fn device_scalar<T: Number>(device: &Device, rng: &mut Rng) {
    let alpha = T::sample(rng);
    let case = Case::<T>::new(rng, (Side::Right, Uplo::Upper, Transpose::Yes, Diag::NonUnit), (5, 9), alpha);
    let (a, scalar) = (case.a.upload(device), up(device, [alpha]));
    let spec = || spec((case.side, case.uplo, case.trans, case.diag)).alpha(&scalar);
    let x = device.blas().trsm(spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
    case.assert_solved(device, &down(device, x.buffer()));
    let got = device.blas().trmm(spec(), case.of_a(&a), case.b.tensor(device)).unwrap().await_result().unwrap();
    case.b.assert_became(device, got.buffer(), &case.times(alpha, &case.b.exact()), |_, _| true, &case.spec());
}

#[test]
fn the_scalar_may_lie_on_the_device() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(device_scalar(&device, rng));
        });
    }
}

fn batches<T: Number>(device: &Device, rng: &mut Rng) {
    for (count, flags) in [0, 1, 7, 7].into_iter().zip(flags().skip(rng.below(20))) {
        let (shape, alpha) = ((rng.pick(&SIZES[..7]), rng.pick(&SIZES[..7])), scalar(rng));
        let one = Case::<T>::new(rng, flags, shape, alpha);
        // Each with the gaps of the first, and something between the matrices.
        let cases: Vec<_> = (0..count)
            .map(|_| {
                let mut case = one.clone();
                for (i, j) in case.b.places() {
                    case.b.data[i + j * case.b.ld] = T::sample(rng);
                }
                case
            })
            .collect();
        let stride_b = one.b.data.len() + 2;
        let mut b = vec![T::NAN; if count == 0 { 0 } else { stride_b * (count - 1) + one.b.data.len() }];
        cases
            .iter()
            .enumerate()
            .for_each(|(i, case)| b[i * stride_b..][..case.b.data.len()].copy_from_slice(&case.b.data));
        let (a, layout) = (one.a.upload(device), one.b.layout().batch(count, stride_b));
        let b = up(device, b).with_layout(layout).unwrap();
        let x = device.blas().trsm(one.spec(), one.of_a(&a), b).unwrap().await_result().unwrap();
        let x = down(device, x.buffer());
        for (i, case) in cases.iter().enumerate() {
            case.assert_solved(device, &x[i * stride_b..][..case.b.data.len()]);
        }
        // Each B in a buffer of its own, A one for all.
        let (list, b) = (vec![one.of_a(&a); count], cases.iter().map(|case| case.b.tensor(device)));
        let x = device.blas().trsm_batched(one.spec(), list, b).unwrap().await_result().unwrap();
        assert_eq!(x.len(), count);
        x.iter().zip(&cases).for_each(|(x, case)| case.assert_solved(device, &down(device, x.buffer())));
    }
}

#[test]
fn batches_of_solutions_are_those_of_each() {
    for device in devices() {
        seeds(4, |rng, _| {
            each_type!(batches(&device, rng));
        });
    }
}

/// Each with a triangle of its own, one behind the other, as far apart as they are unless told otherwise.
fn batches_of_their_own<T: Number>(device: &Device, rng: &mut Rng) {
    for flags in flags() {
        let (m, n, count) = (rng.pick(&SIZES[1..7]), rng.pick(&SIZES[1..7]), rng.pick(&[2, 3, 7]));
        let alpha = scalar(rng);
        let cases: Vec<_> = (0..count).map(|_| Case::<T>::new(rng, flags, (m, n), alpha)).collect();
        let (order, first) = (cases[0].a.cols, &cases[0]);
        // Leading dimensions differ by case; those of the first are everyone's here.
        let (lda, ldb) = (first.a.ld, first.b.ld);
        let join = |of: fn(&Case<T>) -> &Matrix<T>, ld: usize, cols: usize| -> Vec<T> {
            let mut all = vec![T::NAN; count * ld * cols];
            for (i, case) in cases.iter().enumerate() {
                let one = of(case);
                one.places().for_each(|(r, c)| all[i * ld * cols + r + c * ld] = one.data[r + c * one.ld]);
            }
            all
        };
        let (a, b) = (join(|case| &case.a, lda, order), join(|case| &case.b, ldb, n));
        let lists = |data: &[T], one: usize| data.chunks(one).map(|one| up(device, one)).collect::<Vec<_>>();
        let (list_a, list_b) = (lists(&a, lda * order), lists(&b, ldb * n));
        let (a, b) = (up(device, a), up(device, b).with_layout(first.b.layout().batch(count, ldb * n)).unwrap());
        let of_a = a.view(first.a.layout().batch(count, lda * order)).unwrap();
        let of_a = if flags.2 == Transpose::No { of_a } else { of_a.swap_axes(1, 2).unwrap() };
        let x = device.blas().trsm(first.spec(), of_a, b).unwrap();
        let x = down(device, x.await_result().unwrap().buffer());
        let list_a = list_a.iter().map(|a| first.of_a(a));
        let list_b = list_b.into_iter().map(|b| b.with_layout(first.b.layout()).unwrap());
        let listed = device.blas().trsm_batched(first.spec(), list_a, list_b).unwrap().await_result().unwrap();
        let listed: Vec<T> = listed.iter().flat_map(|x| down(device, x.buffer())).collect();
        for (case, x) in cases.iter().zip(x.chunks(ldb * n)).chain(cases.iter().zip(listed.chunks(ldb * n))) {
            let mut mine = case.b.data.clone();
            case.b.places().for_each(|(r, c)| mine[r + c * case.b.ld] = x[r + c * ldb]);
            case.assert_solved(device, &mine);
        }
    }
}

#[test]
fn a_batch_may_have_a_triangle_for_each() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(batches_of_their_own(&device, rng));
        });
    }
}

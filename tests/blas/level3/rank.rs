//! syrk, herk, syr2k, her2k, syrkx, herkx.

use super::matrix::{Matrix, Number, SIZES, TRANSPOSES, TRIANGLES, each_type, inside, real, scalar, trans};
use crate::common::{Rng, devices, down, into_columns, seeds, up};
use windlass::blas::{ComplexElement, Her2k, Herk, Syr2k, Syrk};
use windlass::reference::{Bounded, Trans};
use windlass::{Complex, Device, Transpose, Uplo};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Terms {
    One,
    Cross,
    Two,
}

pub(crate) struct Case<T> {
    uplo: Uplo,
    trans: Transpose,
    n: usize,
    k: usize,
    a: Matrix<T>,
    b: Matrix<T>,
    c: Matrix<T>,
    alpha: T,
    beta: T,
}

impl<T: Parts> Case<T> {
    fn new(rng: &mut Rng, uplo: Uplo, trans: Transpose, hermitian: bool) -> Self {
        let (sizes, scalars) = ((rng.pick(&SIZES), rng.pick(&SIZES)), (scalar::<T>(rng), scalar::<T>(rng)));
        Self::of(rng, uplo, trans, hermitian, sizes, scalars)
    }

    /// Of a Hermitian update `beta` is taken as real.
    pub(crate) fn of(
        rng: &mut Rng,
        uplo: Uplo,
        trans: Transpose,
        hermitian: bool,
        (n, k): (usize, usize),
        (alpha, beta): (T, T),
    ) -> Self {
        let (rows, cols) = if trans == Transpose::No { (n, k) } else { (k, n) };
        let (a, b) = (Matrix::random(rng, rows, cols), Matrix::random(rng, rows, cols));
        let beta = if hermitian { T::from_real(beta.parts_real()) } else { beta };
        let mut c: Matrix<T> = if beta == T::default() {
            Matrix::poison(n, n, n.max(1) + 1, 1)
        } else {
            Matrix::random(rng, n, n).only(uplo, false)
        };
        if hermitian && beta != T::default() {
            for i in 0..n {
                let at = i + i * c.ld;
                c.data[at] = T::from_real(c.data[at].parts_real());
            }
        }
        Case { uplo, trans, n, k, a, b, c, alpha, beta }
    }

    fn want(&self, terms: Terms, hermitian: bool) -> Bounded {
        let prime = if hermitian { Trans::Conj } else { Trans::Yes };
        let a = self.a.exact().op(trans(self.trans));
        let b = if terms == Terms::One { a.clone() } else { self.b.exact().op(trans(self.trans)) };
        let mut sum = a.times(self.alpha, &b.op(prime));
        if terms == Terms::Two {
            let alpha = if hermitian { self.alpha.conjugate() } else { self.alpha };
            sum = sum.plus(&b.times(alpha, &a.op(prime)));
        }
        if self.beta == T::default() { sum } else { sum.plus(&self.c.exact().scaled(self.beta)) }
    }

    #[track_caller]
    fn check(&self, device: &Device, got: &windlass::DeviceBuffer<T>, terms: Terms, hermitian: bool) {
        let what = (terms, hermitian, self.uplo, self.trans, self.n, self.k, self.alpha, self.beta);
        let want = self.want(terms, hermitian);
        let touched = |i, j| inside(self.uplo, i, j) && (terms != Terms::Cross || !hermitian || i != j);
        if terms == Terms::Cross && hermitian {
            // The result is not Hermitian unless B is right, and here it is not: the diagonal is the real part of it.
            let got = down(device, got);
            for i in 0..self.n {
                let got = got[i + i * self.c.ld];
                assert_eq!(got.imaginary(), 0.0, "{what:?}");
            }
            let mut c = self.c.clone();
            (0..self.n).for_each(|i| c.data[i + i * self.c.ld] = got[i + i * self.c.ld]);
            c.assert_became(device, &up(device, got), &want, touched, &what);
            return;
        }
        let got = self.c.assert_became(device, got, &want, touched, &what);
        if hermitian && (self.k > 0 && self.alpha != T::default() || self.beta != real::<T>(1.0)) {
            (0..self.n).for_each(|i| assert_eq!(got[i + i * self.c.ld].imaginary(), 0.0, "{what:?}"));
        }
    }
}

/// Parts, of every type.
pub(crate) trait Parts: Number {
    fn parts_real(self) -> Self::Real;
    fn imaginary(self) -> f64;
    fn conjugate(self) -> Self;
}

macro_rules! parts { ($($real:ty),*) => { $(
    impl Parts for $real {
        fn parts_real(self) -> $real {
            self
        }
        fn imaginary(self) -> f64 {
            0.0
        }
        fn conjugate(self) -> Self {
            self
        }
    }
    impl Parts for Complex<$real> {
        fn parts_real(self) -> $real {
            self.re
        }
        fn imaginary(self) -> f64 {
            self.im.into()
        }
        fn conjugate(self) -> Self {
            self.conj()
        }
    }
)* } }
parts!(f32, f64);

impl<T: Parts> Case<T> {
    pub(crate) fn check_symmetric(&self, device: &Device) {
        let blas = device.blas();
        let Case { uplo, trans, alpha, beta, .. } = *self;
        let (a, b) = (self.a.upload(device), self.b.upload(device));
        let (a, b, c) = (self.a.op(&a, trans), self.b.op(&b, trans), || self.c.tensor(device));
        let got = blas.syrk(Syrk::new(uplo).alpha(alpha).beta(beta), &a, c()).unwrap().await_result().unwrap();
        self.check(device, got.buffer(), Terms::One, false);
        let spec = || Syr2k::new(uplo).alpha(alpha).beta(beta);
        let got = blas.syr2k(spec(), &a, &b, c()).unwrap().await_result().unwrap();
        self.check(device, got.buffer(), Terms::Two, false);
        let got = blas.syrkx(spec(), &a, &b, c()).unwrap().await_result().unwrap();
        self.check(device, got.buffer(), Terms::Cross, false);
    }

    pub(crate) fn check_hermitian(self, device: &Device)
    where
        T: ComplexElement,
    {
        let blas = device.blas();
        let Case { uplo, trans, alpha, .. } = self;
        let beta = self.beta.parts_real();
        let (a, b) = (self.a.upload(device), self.b.upload(device));
        let (of_a, of_b, c) = (self.a.op(&a, trans), self.b.op(&b, trans), || self.c.tensor(device));
        let conjugate = trans == Transpose::Conjugate;
        let spec = || {
            let spec = Her2k::new(uplo).alpha(alpha).beta(beta);
            if conjugate { spec.conjugate() } else { spec }
        };
        let got = blas.her2k(spec(), &of_a, &of_b, c()).unwrap().await_result().unwrap();
        self.check(device, got.buffer(), Terms::Two, true);
        let got = blas.herkx(spec(), &of_a, &of_b, c()).unwrap().await_result().unwrap();
        self.check(device, got.buffer(), Terms::Cross, true);
        let case = Case { alpha: T::from_real(alpha.parts_real()), ..self };
        let spec = Herk::new(uplo).alpha(alpha.parts_real()).beta(beta);
        let spec = if conjugate { spec.conjugate_a() } else { spec };
        let got = blas.herk(spec, case.a.op(&a, trans), case.c.tensor(device)).unwrap().await_result().unwrap();
        case.check(device, got.buffer(), Terms::One, true);
    }
}

/// The transposes that a symmetric update of a type has.
pub(crate) fn symmetric_transposes<T: Parts>() -> impl Iterator<Item = Transpose> {
    TRANSPOSES.into_iter().filter(|trans| !T::COMPLEX || *trans != Transpose::Conjugate)
}

/// Those that a Hermitian update has.
pub(crate) const HERMITIAN_TRANSPOSES: [Transpose; 2] = [Transpose::No, Transpose::Conjugate];

fn symmetric<T: Parts>(device: &Device, rng: &mut Rng) {
    for (uplo, trans) in TRIANGLES.into_iter().flat_map(|uplo| symmetric_transposes::<T>().map(move |t| (uplo, t))) {
        Case::<T>::new(rng, uplo, trans, false).check_symmetric(device);
    }
}

fn hermitian<T: Parts + ComplexElement>(device: &Device, rng: &mut Rng) {
    for (uplo, trans) in TRIANGLES.into_iter().flat_map(|uplo| HERMITIAN_TRANSPOSES.map(|trans| (uplo, trans))) {
        Case::<T>::new(rng, uplo, trans, true).check_hermitian(device);
    }
}

#[test]
fn symmetric_updates_write_one_triangle() {
    for device in devices() {
        seeds(6, |rng, _| {
            each_type!(symmetric(&device, rng));
        });
    }
}

#[test]
fn hermitian_updates_leave_a_real_diagonal() {
    for device in devices() {
        seeds(6, |rng, _| {
            hermitian::<Complex<f32>>(&device, rng);
            hermitian::<Complex<f64>>(&device, rng);
        });
    }
}

fn zero_alpha<T: Parts>(device: &Device) {
    let poison = Matrix::<T>::poison(3, 3, 3, 0).tensor(device);
    let (two, c) = (real::<T>(2.0), |x: T| into_columns(up(device, vec![x; 9]), 3, 3));
    let spec = Syr2k::new(Uplo::Lower).alpha(T::default()).beta(two);
    let got = device.blas().syr2k(spec, &poison, &poison, c(two)).unwrap().await_result().unwrap();
    let (o, x) = (two, real::<T>(4.0));
    assert_eq!(down(device, got.buffer()), [x, x, x, o, x, x, o, o, x]);
    let spec = Syrk::new(Uplo::Upper).alpha(T::default());
    let c = device.blas().syrk(spec, &poison, c(T::NAN)).unwrap().await_result().unwrap();
    let c = down(device, c.buffer());
    assert!((0..9).all(|at| (c[at] == T::default()) == (at % 3 <= at / 3)), "{c:?}");
}

#[test]
fn a_zero_alpha_scales_the_triangle_and_reads_no_factor() {
    for device in devices() {
        each_type!(zero_alpha(&device));
    }
}

fn device_scalars<T: Parts + ComplexElement>(device: &Device, rng: &mut Rng) {
    let mut case = Case::<T>::new(rng, Uplo::Lower, Transpose::No, true);
    while case.n == 0 || case.k == 0 || case.beta == T::default() {
        case = Case::new(rng, Uplo::Lower, Transpose::No, true);
    }
    let (a, b) = (case.a.upload(device), case.b.upload(device));
    let (a, b) = (case.a.view(&a), case.b.view(&b));
    let (alpha, beta) = (up(device, [case.alpha]), up(device, [case.beta.parts_real()]));
    let values = Her2k::new(Uplo::Lower).alpha(case.alpha).beta(case.beta.parts_real());
    for spec in [values.clone().alpha(&alpha).beta(&beta), values.clone().alpha(&alpha), values.clone().beta(&beta)] {
        let got = device.blas().her2k(spec, &a, &b, case.c.tensor(device)).unwrap().await_result().unwrap();
        case.check(device, got.buffer(), Terms::Two, true);
    }
    let real = case.alpha.parts_real();
    let (alpha, values) = (up(device, [real]), Herk::new(Uplo::Lower).alpha(real).beta(case.beta.parts_real()));
    let specs = [values.clone().alpha(&alpha).beta(&beta), values.clone().alpha(&alpha), values.clone().beta(&beta)];
    let got = specs.map(|spec| device.blas().herk(spec, &a, case.c.tensor(device)).unwrap().await_result().unwrap());
    drop((a, b));
    let case = Case { alpha: T::from_real(real), ..case };
    got.iter().for_each(|got| case.check(device, got.buffer(), Terms::One, true));
}

#[test]
fn scalars_may_lie_on_the_device_each_of_its_own_type() {
    for device in devices() {
        seeds(3, |rng, _| {
            device_scalars::<Complex<f32>>(&device, rng);
            device_scalars::<Complex<f64>>(&device, rng);
        });
    }
}

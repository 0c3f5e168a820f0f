//! symm, hemm.

use super::matrix::{Matrix, Number, SIZES, TRIANGLES, each_type, real, scalar};
use crate::common::{Rng, devices, into_columns, seeds, up};
use windlass::blas::{ComplexElement, Symm};
use windlass::reference::Bounded;
use windlass::{Complex, Device, Side, Uplo};

pub(crate) struct Case<T> {
    side: Side,
    uplo: Uplo,
    a: Matrix<T>,
    b: Matrix<T>,
    c: Matrix<T>,
    alpha: T,
    beta: T,
}

impl<T: Number> Case<T> {
    fn new(rng: &mut Rng, side: Side, uplo: Uplo, shape: (usize, usize)) -> Self {
        let scalars = (scalar::<T>(rng), scalar::<T>(rng));
        Self::of(rng, side, uplo, shape, scalars)
    }

    pub(crate) fn of(rng: &mut Rng, side: Side, uplo: Uplo, (m, n): (usize, usize), (alpha, beta): (T, T)) -> Self {
        let order = if side == Side::Left { m } else { n };
        let a = Matrix::random(rng, order, order).only(uplo, false);
        let b = Matrix::random(rng, m, n);
        let c = if beta == T::default() {
            Matrix::poison(m, n, m.max(1) + 2, 2) // not read
        } else {
            Matrix::random(rng, m, n)
        };
        Case { side, uplo, a, b, c, alpha, beta }
    }

    fn spec(&self) -> Symm<'static, T> {
        Symm::new(self.side, self.uplo).alpha(self.alpha).beta(self.beta)
    }

    fn want(&self, hermitian: bool) -> Bounded {
        let a = self.a.exact().symmetric(self.uplo == Uplo::Lower, hermitian);
        let b = self.b.exact();
        let product = match self.side {
            Side::Left => a.times(self.alpha, &b),
            Side::Right => b.times(self.alpha, &a),
        };
        if self.beta == T::default() { product } else { product.plus(&self.c.exact().scaled(self.beta)) }
    }

    pub(crate) fn check_symmetric(&self, device: &Device) {
        let (a, b, c) = (self.a.upload(device), self.b.upload(device), self.c.tensor(device));
        let (a, b) = (self.a.view(&a), self.b.view(&b));
        let got = device.blas().symm(self.spec(), a, b, c).unwrap().await_result().unwrap();
        self.c.assert_became(device, got.buffer(), &self.want(false), |_, _| true, &self.spec());
    }

    pub(crate) fn check_hermitian(&self, device: &Device)
    where
        T: ComplexElement,
    {
        let (a, b, c) = (self.a.upload(device), self.b.upload(device), self.c.tensor(device));
        let (a, b) = (self.a.view(&a), self.b.view(&b));
        let got = device.blas().hemm(self.spec(), a, b, c).unwrap().await_result().unwrap();
        self.c.assert_became(device, got.buffer(), &self.want(true), |_, _| true, &self.spec());
    }
}

fn shapes(rng: &mut Rng) -> [(usize, usize); 2] {
    [(); 2].map(|()| (rng.pick(&SIZES), rng.pick(&SIZES)))
}

fn symmetric<T: Number>(device: &Device, rng: &mut Rng) {
    for (side, uplo) in [Side::Left, Side::Right].into_iter().flat_map(|side| TRIANGLES.map(|uplo| (side, uplo))) {
        for shape in shapes(rng) {
            Case::<T>::new(rng, side, uplo, shape).check_symmetric(device);
        }
    }
}

fn hermitian<T: Number + ComplexElement>(device: &Device, rng: &mut Rng) {
    for (side, uplo) in [Side::Left, Side::Right].into_iter().flat_map(|side| TRIANGLES.map(|uplo| (side, uplo))) {
        for shape in shapes(rng) {
            Case::<T>::new(rng, side, uplo, shape).check_hermitian(device);
        }
    }
}

#[test]
fn products_with_symmetric_matrices_read_one_triangle() {
    for device in devices() {
        seeds(6, |rng, _| {
            each_type!(symmetric(&device, rng));
        });
    }
}

#[test]
fn products_with_hermitian_matrices_take_the_diagonal_as_real() {
    for device in devices() {
        seeds(6, |rng, _| {
            hermitian::<Complex<f32>>(&device, rng);
            hermitian::<Complex<f64>>(&device, rng);
        });
    }
}

fn untouched_by_zero_alpha<T: Number>(device: &Device) {
    let (poison, c) = (Matrix::<T>::poison(3, 3, 3, 0).tensor(device), up(device, vec![real::<T>(2.0); 9]));
    let c = into_columns(c, 3, 3);
    let spec = Symm::new(Side::Left, Uplo::Upper).alpha(T::default()).beta(real::<T>(3.0));
    let c = device.blas().symm(spec, &poison, &poison, c).unwrap().await_result().unwrap();
    assert_eq!(crate::common::down(device, &c), vec![real::<T>(6.0); 9]);
}

#[test]
fn a_zero_alpha_reads_neither_factor() {
    for device in devices() {
        each_type!(untouched_by_zero_alpha(&device));
    }
}

fn device_scalars<T: Number>(device: &Device, rng: &mut Rng) {
    let case = Case::<T>::new(rng, Side::Right, Uplo::Lower, (9, 5));
    let case = Case { alpha: T::sample(rng), beta: T::sample(rng), c: Matrix::random(rng, 9, 5), ..case };
    let (a, b) = (case.a.upload(device), case.b.upload(device));
    let (a, b) = (case.a.view(&a), case.b.view(&b));
    let (alpha, beta) = (up(device, [case.alpha]), up(device, [case.beta]));
    for spec in [case.spec().alpha(&alpha).beta(&beta), case.spec().alpha(&alpha), case.spec().beta(&beta)] {
        let got = device.blas().symm(spec.clone(), &a, &b, case.c.tensor(device)).unwrap().await_result().unwrap();
        case.c.assert_became(device, got.buffer(), &case.want(false), |_, _| true, &spec);
    }
}

#[test]
fn scalars_may_lie_on_the_device() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(device_scalars(&device, rng));
        });
    }
}

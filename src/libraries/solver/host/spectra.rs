//! Singular values and eigenvalues from the crate `faer`, in LAPACK's form and safe for any numbers.
//!
//! `faer` is given dense copies of finite numbers, the largest of which is near one. A matrix with a NaN or an infinity
//! is handled here. Every other is scaled by a power of two, which rounds nothing. (Otherwise the eigenvectors of a
//! matrix of 1e-14 are wrong in the first digit: the thresholds of `faer` 0.24 are absolute.)

use super::super::method::EighMethod;
use super::super::method::Reached;
use super::faer::General;
use super::inverse::Hessenberg;
use super::number::{Number, conj, is_finite, norm, real};
use super::{cholesky, jacobi};
use crate::core::room::{OrUnwind, collected, filled, with_capacity};
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::triangle::{Action, Triangle, apply};
use crate::numerics::level3::view::{Mat, MatMut};
use num_complex::Complex64;

/// A power of two, kept by its root: the power itself may be beyond the range of the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Power(f64);

impl Power {
    /// The power of two times `x`, rounded once.
    pub(super) fn of(self, x: f64) -> f64 {
        x * self.0 * self.0
    }

    /// The same for an element.
    pub(super) fn times<T: Number>(self, x: T) -> T {
        x * real::<T>(self.0) * real::<T>(self.0)
    }

    pub(super) fn inverse(self) -> Self {
        Power(1.0 / self.0)
    }
}

/// A scaled dense copy (only of the lower triangle if asked for), and the factor to multiply its spectrum with. `None`
/// if a number is not finite.
pub(super) fn scaled<T: Number>(a: Mat<'_, T>, triangle: bool) -> Option<(Vec<T>, Power)> {
    let (m, n) = (a.rows(), a.cols());
    let mut copy = with_capacity(m.saturating_mul(n)).or_unwind();
    let mut most = 0.0f64;
    for j in 0..n {
        for i in 0..m {
            let x = if triangle && i < j { T::default() } else { a.get(i, j) };
            if !is_finite(x) {
                return None;
            }
            // By parts: the modulus of a complex number may overflow.
            let parts = x.wide();
            most = most.max(parts.re.abs()).max(parts.im.abs());
            copy.push(x);
        }
    }
    if most == 0.0 || (0.25..=4.0).contains(&most) {
        return Some((copy, Power(1.0)));
    }
    let down = Power((-most.log2() / 2.0).round().exp2());
    copy.iter_mut().for_each(|x| *x = down.times(*x));
    Some((copy, down.inverse()))
}

pub(super) fn nan<T: Number>(x: &mut MatMut<'_, T>) {
    x.each(|_| real(f64::NAN));
}

/// Writes the identity.
fn identity<T: Number>(x: &mut MatMut<'_, T>) {
    for j in 0..if x.rows() == 0 { 0 } else { x.cols() } {
        (0..x.rows()).for_each(|i| x.set(i, j, if i == j { T::ONE } else { T::default() }));
    }
}

/// `A = U * diag(s) * V^H`, s descending. U and `V^H` have as many columns and rows as their buffers. Returns how many
/// values did not converge.
pub(super) fn svd<T: Number>(
    a: Mat<'_, T>,
    s: &mut [T::Part],
    vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    threads: usize,
) -> i32 {
    let Some(power) = svd_near_one(a, s, vectors, threads) else { return a.rows().min(a.cols()) as i32 };
    let part = |s: T::Part| crate::numerics::Field::re(power.times(T::from_part(s)));
    s.iter_mut().for_each(|s| *s = part(*s));
    0
}

/// The same with values near one: those of A are a power of two times as large, and may be beyond the range of the type.
/// `None`, and NaN everywhere, if they did not converge.
pub(super) fn svd_near_one<T: Number>(
    a: Mat<'_, T>,
    s: &mut [T::Part],
    mut vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    threads: usize,
) -> Option<Power> {
    let (m, n) = (a.rows(), a.cols());
    let size = m.min(n);
    if size == 0 {
        if let Some((u, vh)) = &mut vectors {
            identity(u);
            identity(vh);
        }
        return Some(Power(1.0));
    }
    let mut values = filled(size, T::default()).or_unwind();
    let mut room = vectors.as_ref().map(|(u, vh)| {
        (filled(m * u.cols(), T::default()).or_unwind(), filled(n * vh.rows(), T::default()).or_unwind())
    });
    let done = scaled(a, false).filter(|(a, _)| {
        let room = room.as_mut().map(|(u, v)| (u.as_mut_slice(), v.as_mut_slice()));
        T::svd(a, (m, n), &mut values, room, threads)
    });
    let Some((_, power)) = done else {
        s.iter_mut().for_each(|s| *s = crate::numerics::Field::re(real::<T>(f64::NAN)));
        if let Some((u, vh)) = &mut vectors {
            nan(u);
            nan(vh);
        }
        return None;
    };
    s.iter_mut().zip(values).for_each(|(s, value)| *s = crate::numerics::Field::re(value));
    if let (Some((u, vh)), Some((from_u, from_v))) = (&mut vectors, &room) {
        for (j, column) in from_u.chunks_exact(m).enumerate() {
            column.iter().enumerate().for_each(|(i, x)| u.set(i, j, *x));
        }
        for (j, column) in from_v.chunks_exact(n).enumerate() {
            column.iter().enumerate().for_each(|(i, x)| vh.set(j, i, conj(*x)));
        }
    }
    Some(power)
}

/// Writes the pseudo-inverse to C, `n x m`: `V * diag(1 / s) * U^H`, with the values above `tolerance` times the
/// largest.
pub(super) fn pinv<T: Number>(a: Mat<'_, T>, mut c: MatMut<'_, T>, tolerance: Option<f64>, threads: usize) -> i32 {
    let (m, n) = (a.rows(), a.cols());
    let k = m.min(n);
    if k == 0 {
        return 0; // no element is written, whatever the other size is
    }
    let (mut s, mut u, mut vh) = (
        filled(k, T::Part::default()).or_unwind(),
        filled(m * k, T::default()).or_unwind(),
        filled(k * n, T::default()).or_unwind(),
    );
    let (Some(mut u), Some(mut vh)) = (MatMut::new(&mut u, m, k, m.max(1)), MatMut::new(&mut vh, k, n, k.max(1)))
    else {
        return 0;
    };
    let Some(power) = svd_near_one(a, &mut s, Some((u.reborrow(), vh.reborrow())), threads) else {
        nan(&mut c);
        return k as i32;
    };
    let values: Vec<f64> = collected(s.iter().map(|s| (*s).into())).or_unwind();
    let least = tolerance.unwrap_or(m.max(n) as f64 * T::EPSILON) * values.first().copied().unwrap_or(0.0);
    for (j, value) in values.iter().enumerate() {
        let factor = if *value > least { 1.0 / value } else { 0.0 };
        if let Some(column) = u.column_mut(j) {
            column.iter_mut().for_each(|x| *x = *x * real::<T>(factor));
        }
    }
    c.scale(T::default());
    let many = threads.min(worth::<T>([m, n, k]));
    c.product(T::ONE, vh.as_ref().t().conj(true), u.as_ref().t().conj(true), T::default(), many);
    c.each(|x| power.inverse().times(x));
    0
}

/// The eigenvalues of a lower triangle into w, ascending, and the vectors in place of A if asked for. Returns how many
/// did not converge.
pub(super) fn eigh<T: Number>(a: &mut MatMut<'_, T>, w: &mut [T::Part], vectors: bool, threads: usize) -> i32 {
    eigh_by(a, w, vectors, &EighMethod::Auto, threads).0
}

/// The same by the given method.
pub(super) fn eigh_by<T: Number>(
    a: &mut MatMut<'_, T>,
    w: &mut [T::Part],
    vectors: bool,
    method: &EighMethod,
    threads: usize,
) -> (i32, Reached) {
    let n = a.rows();
    if n == 0 {
        return (0, Reached::default());
    }
    let (mut used_up, mut reached) = (false, Reached::default());
    let mut values = filled(n, T::default()).or_unwind();
    let mut room = vectors.then(|| filled(n * n, T::default()).or_unwind());
    // Imaginary parts on the diagonal are ignored.
    for i in 0..n {
        let diagonal = crate::numerics::Field::re(a.get(i, i));
        a.set(i, i, T::from_part(diagonal));
    }
    let done = scaled(a.as_ref(), true).filter(|(a, _)| match (n, a.first(), values.first_mut(), &mut room) {
        (1, Some(x), Some(value), room) => {
            *value = *x;
            room.iter_mut().flatten().for_each(|x| *x = T::ONE);
            true
        }
        _ => match method {
            EighMethod::Auto | EighMethod::Tridiagonal => T::eigh(a, n, &mut values, room.as_deref_mut(), threads),
            EighMethod::Jacobi(how) => {
                let (converged, found) = jacobi::eigh(a, n, &mut values, room.as_deref_mut(), *how);
                (used_up, reached) = (!converged, found);
                true
            }
        },
    });
    let Some((_, power)) = done else {
        w.iter_mut().for_each(|w| *w = crate::numerics::Field::re(real::<T>(f64::NAN)));
        if vectors {
            nan(a);
        }
        return (n as i32, reached);
    };
    reached.error = reached.error.map(|error| power.of(error));
    for (w, value) in w.iter_mut().zip(values) {
        *w = crate::numerics::Field::re(power.times(value));
    }
    for (j, column) in room.iter().flat_map(|room| room.chunks_exact(n)).enumerate() {
        column.iter().enumerate().for_each(|(i, x)| a.set(i, j, *x));
    }
    (if used_up { n as i32 + 1 } else { 0 }, reached)
}

/// `A * x = lambda * B * x` with lower triangles of both, B positive definite. The factor of B replaces B; the vectors
/// replace A, and `X^H * B * X` is the identity. Returns `n + i` if leading minor `i` of B is not positive.
pub(super) fn generalized<T: Number>(
    mut a: MatMut<'_, T>,
    mut b: MatMut<'_, T>,
    w: &mut [T::Part],
    vectors: bool,
    threads: usize,
) -> i32 {
    let n = a.rows();
    match cholesky::factor(b.reborrow(), threads) {
        0 => {}
        info => return info + n as i32,
    }
    // C = L^-1 * A * L^-H, with all of A.
    for j in 0..n {
        for i in 0..j {
            a.set(i, j, conj(a.get(j, i)));
        }
        a.set(j, j, T::from_part(crate::numerics::Field::re(a.get(j, j))));
    }
    let many = threads.min(worth::<T>([n, n, n]));
    let l = Triangle { matrix: b.as_ref(), lower: true, unit: false };
    apply(Action::Solve, l, T::ONE, a.reborrow(), many);
    apply(Action::Solve, Triangle { matrix: l.matrix.conj(true), ..l }, T::ONE, a.reborrow().t(), many);
    let info = eigh(&mut a, w, vectors, threads);
    if info == 0 && vectors {
        let up = Triangle { matrix: b.as_ref().t().conj(true), lower: false, unit: false };
        apply(Action::Solve, up, T::ONE, a, many);
    }
    info
}

/// Eigenvalues of a matrix without symmetry, and the right vectors of norm one. A pair of vectors of a real matrix is
/// two columns: the real and the imaginary part of the vector of the value with positive imaginary part. Returns how
/// many did not converge.
pub(super) fn eig<T: Number, W: General + Number>(
    a: Mat<'_, T>,
    w: &mut [Complex64],
    vectors: Option<MatMut<'_, T>>,
    threads: usize,
) -> i32 {
    let n = a.rows();
    if n == 0 {
        return 0;
    }
    let mut room = vectors.is_some().then(|| filled(n * n, W::default()).or_unwind());
    let done = scaled(a, false).and_then(|(a, power)| {
        let wide: Vec<W> = collected(a.iter().map(|x| W::rounded(x.wide()))).or_unwind();
        let found = match (n, wide.first(), w.first_mut()) {
            (1, Some(x), Some(value)) => {
                *value = x.wide();
                room.iter_mut().flatten().for_each(|x| *x = W::ONE);
                true
            }
            _ => W::eig(&wide, n, w, room.as_deref_mut(), threads),
        };
        found.then_some((wide, power))
    });
    let Some((dense, power)) = done else {
        w.iter_mut().for_each(|w| *w = Complex64::new(f64::NAN, f64::NAN));
        if let Some(mut vectors) = vectors {
            nan(&mut vectors);
        }
        return n as i32;
    };
    let values = w.to_vec();
    w.iter_mut().for_each(|w| *w = Complex64::new(power.of(w.re), power.of(w.im)));
    let (Some(mut vectors), Some(room)) = (vectors, room) else { return 0 };
    normalised(n, (&dense, &room), &values, power, &mut vectors, threads);
    0
}

/// Writes the vectors of a dense matrix, of norm one: the columns of `room` where they belong to their values, and others anew.
fn normalised<T: Number, W: General + Number>(
    n: usize,
    (dense, room): (&[W], &[W]),
    values: &[Complex64],
    power: Power,
    vectors: &mut MatMut<'_, T>,
    threads: usize,
) {
    // `A * X`, and how long the rest of a column that belongs to its value may be.
    let mut images = filled(n * n, W::default()).or_unwind();
    if let (Some(a), Some(x), Some(mut to)) =
        (Mat::new(dense, n, n, n), Mat::new(room, n, n, n), MatMut::new(&mut images, n, n, n))
    {
        to.product(W::ONE, a, x, W::default(), threads.min(worth::<W>([n, n, n])));
    }
    let most = 10.0 * (n as f64).sqrt() * f64::EPSILON * norm(dense);
    // Only for columns that do not belong to their values: those of defective ones, of which the back-substitution has
    // no solution, and those of pairs that are small beside the norm. (For the determinant of a 2 x 2 block `faer` 0.24
    // has the threshold of an element, so it replaces that of a block of 1e-9 beside a norm of 1.)
    let mut form: Option<Hessenberg> = None;
    let columns: Vec<&[W]> = collected(room.chunks_exact(n)).or_unwind();
    let images: Vec<&[W]> = collected(images.chunks_exact(n)).or_unwind();
    let mut j = 0;
    while let Some(value) = values.get(j).copied().filter(|_| j < n) {
        // An imaginary part that is too small for the type is told as zero, and then so are its vectors.
        let pair = W::WEIGHT == 1 && real::<T>(power.of(value.im)) != T::default();
        let value = if W::WEIGHT > 1 || pair { value } else { value.re.into() };
        let of = |columns: &[&[W]], i: usize| -> Complex64 {
            let one = |j: usize| columns.get(j).and_then(|x| x.get(i)).map_or(Complex64::default(), |x| x.wide());
            if pair { one(j) + Complex64::i() * one(j + 1) } else { one(j) }
        };
        let part = |i: usize| of(&columns, i);
        let mut norm = (0..n).map(|i| part(i).norm_sqr()).sum::<f64>().sqrt();
        let rest = (0..n).map(|i| (of(&images, i) - value * part(i)).norm_sqr()).sum::<f64>().sqrt();
        let belongs = norm > 0.0 && norm.is_finite() && rest <= most * norm;
        let anew = (!belongs).then(|| {
            let form = form.get_or_insert_with(|| {
                let wide: Vec<Complex64> = collected(dense.iter().map(|x| x.wide())).or_unwind();
                Hessenberg::new(&wide, n)
            });
            norm = 1.0;
            form.vector(value, j)
        });
        let part = |i: usize| match &anew {
            Some(anew) => anew.get(i).copied().unwrap_or_default(),
            None => part(i),
        };
        // The vector of a real value is real up to a factor, which inverse iteration may have.
        let rotates = W::WEIGHT > 1 || pair || anew.is_some();
        write_vector(vectors, (n, j, pair), (&part, norm), rotates);
        j += if pair { 2 } else { 1 };
    }
}

/// Writes a vector divided by its norm, or a pair of them. If it may be rotated, its largest component becomes real, as in LAPACK.
fn write_vector<T: Number>(
    vectors: &mut MatMut<'_, T>,
    (n, j, pair): (usize, usize, bool),
    (part, norm): (&dyn Fn(usize) -> Complex64, f64),
    rotates: bool,
) {
    let largest = (0..n).map(part).fold(Complex64::default(), |x, y| if y.norm_sqr() > x.norm_sqr() { y } else { x });
    let phase = match largest.norm() {
        size if rotates && size > 0.0 => largest.conj() / size,
        _ => Complex64::new(1.0, 0.0),
    };
    for i in 0..n {
        let x = part(i) * phase / norm;
        vectors.set(i, j, T::rounded(x));
        if pair {
            vectors.set(i, j + 1, T::rounded(Complex64::new(x.im, 0.0)));
        }
    }
}

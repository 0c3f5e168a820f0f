//! Eigenvectors by inverse iteration on a Hessenberg form (LAPACK's `hsein`), for eigenvalues whose vectors are not
//! found otherwise.
//!
//! An eigenvalue with fewer vectors than its multiplicity makes the triangular system of the usual back-substitution
//! singular: the vector is zero or not finite. Inverse iteration has a solution for any eigenvalue, since a pivot that
//! is too small is replaced by a small one: the computed vector belongs to a matrix at a distance of rounding.

use num_complex::Complex64;

/// A matrix as `Q * H * Q^H`, with zeros in H below the first subdiagonal.
pub(super) struct Hessenberg {
    n: usize,
    h: Square,
    q: Square,
    /// The rounding of its elements.
    small: f64,
}

/// A square matrix of complex numbers, column after column.
#[derive(Clone)]
struct Square {
    n: usize,
    x: Vec<Complex64>,
}

impl Square {
    fn at(&self, i: usize, j: usize) -> Complex64 {
        self.x.get(i + j * self.n).copied().unwrap_or_default()
    }

    fn set(&mut self, i: usize, j: usize, x: Complex64) {
        if let Some(to) = self.x.get_mut(i + j * self.n) {
            *to = x;
        }
    }

    fn column(&self, j: usize) -> &[Complex64] {
        self.x.get(j * self.n..(j + 1) * self.n).unwrap_or_default()
    }
}

fn norm(x: &[Complex64]) -> f64 {
    x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt()
}

impl Hessenberg {
    /// The form of a matrix of finite numbers near one.
    pub(super) fn new(a: &[Complex64], n: usize) -> Self {
        let mut h = Square { n, x: a.to_vec() };
        let mut q = Square { n, x: vec![Complex64::default(); n * n] };
        (0..n).for_each(|i| q.set(i, i, Complex64::new(1.0, 0.0)));
        let small = f64::EPSILON * norm(a).max(f64::MIN_POSITIVE);
        for j in 0..n.saturating_sub(2) {
            // The reflector I - 2 v v^H that takes what is below the diagonal of column j to one number.
            let mut v: Vec<Complex64> = h.column(j).get(j + 1..).unwrap_or_default().to_vec();
            let (size, head) = (norm(&v), v.first().copied().unwrap_or_default());
            let phase = if head.norm() == 0.0 { Complex64::new(1.0, 0.0) } else { head / head.norm() };
            if let Some(first) = v.first_mut() {
                *first += phase * size;
            }
            let length = norm(&v);
            if size == 0.0 || length == 0.0 {
                continue;
            }
            v.iter_mut().for_each(|x| *x /= length);
            for k in 0..n {
                let dot: Complex64 = v.iter().enumerate().map(|(i, v)| v.conj() * h.at(j + 1 + i, k)).sum();
                v.iter().enumerate().for_each(|(i, v)| h.set(j + 1 + i, k, h.at(j + 1 + i, k) - 2.0 * v * dot));
            }
            for matrix in [&mut h, &mut q] {
                for i in 0..n {
                    let dot: Complex64 = v.iter().enumerate().map(|(k, v)| matrix.at(i, j + 1 + k) * v).sum();
                    for (k, v) in v.iter().enumerate() {
                        matrix.set(i, j + 1 + k, matrix.at(i, j + 1 + k) - 2.0 * dot * v.conj());
                    }
                }
            }
        }
        Hessenberg { n, h, q, small }
    }

    /// A vector of norm one for an eigenvalue. For other seeds it begins elsewhere, so that it finds other vectors of
    /// an eigenvalue that has many.
    pub(super) fn vector(&self, value: Complex64, seed: usize) -> Vec<Complex64> {
        let n = self.n;
        let mut best = (f64::INFINITY, vec![Complex64::default(); n]);
        for attempt in 0..4 {
            let mut y: Vec<Complex64> = (0..n)
                .map(|i| {
                    let place = (i + 1).wrapping_mul(2 * (seed + 5 * attempt) + 1) % (2 * n + 1);
                    Complex64::new(1.0 + place as f64 / (2 * n + 1) as f64, 0.0)
                })
                .collect();
            for _ in 0..2 {
                let before = norm(&y);
                y.iter_mut().for_each(|x| *x /= before);
                let mut next = y.clone();
                self.solve(value, &mut next);
                // The residual of the new vector is the old one divided by the growth.
                let growth = norm(&next);
                if !growth.is_finite() || growth == 0.0 {
                    break;
                }
                y = next;
                y.iter_mut().for_each(|x| *x /= growth);
                let left = self.residual(value, &y);
                if left < best.0 {
                    best = (left, y.clone());
                }
            }
            if best.0 <= 2.0 * self.small {
                break;
            }
        }
        let y = best.1;
        let mut x: Vec<Complex64> =
            (0..n).map(|i| y.iter().enumerate().map(|(k, y)| self.q.at(i, k) * y).sum()).collect();
        let size = norm(&x);
        if size > 0.0 {
            x.iter_mut().for_each(|x| *x /= size);
        }
        x
    }

    fn residual(&self, value: Complex64, y: &[Complex64]) -> f64 {
        let row = |i: usize| -> Complex64 {
            y.iter().enumerate().skip(i.saturating_sub(1)).map(|(k, y)| self.h.at(i, k) * y).sum()
        };
        let rest: Vec<Complex64> = y.iter().enumerate().map(|(i, y)| row(i) - value * y).collect();
        norm(&rest)
    }

    /// Solves `(H - value) * x = y` in place, with row exchanges. A pivot that is too small is replaced.
    fn solve(&self, value: Complex64, y: &mut [Complex64]) {
        let n = self.n;
        // Less than what the value itself is rounded by. The rounding of the largest element would be too much: beside it,
        // small values have vectors of their own if the matrix has blocks.
        let least = (f64::EPSILON * value.norm()).max(1e-150);
        let mut u = self.h.clone();
        for i in 0..n {
            u.set(i, i, u.at(i, i) - value);
        }
        for j in 0..n {
            let below = if j + 1 < n { u.at(j + 1, j) } else { Complex64::default() };
            if below.norm() > u.at(j, j).norm() {
                for k in j..n {
                    let (one, other) = (u.at(j, k), u.at(j + 1, k));
                    u.set(j, k, other);
                    u.set(j + 1, k, one);
                }
                y.swap(j, j + 1);
            }
            if u.at(j, j).norm() < least {
                u.set(j, j, Complex64::new(least, 0.0));
            }
            if j + 1 < n {
                let factor = u.at(j + 1, j) / u.at(j, j);
                if factor.norm() > 0.0 {
                    for k in j..n {
                        u.set(j + 1, k, u.at(j + 1, k) - factor * u.at(j, k));
                    }
                    if let [one, other] = y.get_mut(j..j + 2).unwrap_or_default() {
                        *other -= factor * *one;
                    }
                }
            }
        }
        for j in (0..n).rev() {
            let Some(x) = y.get(j).map(|y| y / u.at(j, j)) else { return };
            // Before squares overflow: a smaller vector has the same direction.
            let scale = if x.norm() > 1e100 { 1.0 / x.norm() } else { 1.0 };
            y.iter_mut().for_each(|y| *y *= scale);
            let x = x * scale;
            if let Some(to) = y.get_mut(j) {
                *to = x;
            }
            for (i, y) in y.iter_mut().enumerate().take(j) {
                *y -= u.at(i, j) * x;
            }
        }
    }
}

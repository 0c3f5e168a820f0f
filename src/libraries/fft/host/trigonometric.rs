//! Cosine and sine transforms of real lines, by Fourier transforms.
//!
//! Kind I transforms the mirrored line. Kinds II and III transform the line with its elements in another order
//! (Makhoul, 1980). Kind IV of an even length transforms pairs of elements as complex numbers, multiplied by twiddle
//! factors, at half the length; of an odd length it transforms the elements multiplied by twiddle factors. Sine
//! transforms of kinds II to IV are cosine transforms of the line reversed or with every second sign changed.

use super::super::geometry::{Axis, Geometry, Loop};
use super::super::trigonometric::{Trig, TrigPass};
use super::lines::{Along, Lines, Reader, Step, Writer};
use super::pass;
use super::{Real, filled, zero};
use crate::core::error::Result;
use crate::core::room::OrUnwind;
use num_complex::Complex;
use realfft::{ComplexToReal, RealToComplex};
use rustfft::Fft;
use std::sync::Arc;

/// The plan for lines of one length.
enum Plan<T> {
    Forward(Arc<dyn RealToComplex<T>>),
    Backward(Arc<dyn ComplexToReal<T>>),
    Complex(Arc<dyn Fft<T>>),
}

/// A plan with its twiddle factors.
struct Tables<T> {
    plan: Plan<T>,
    /// The factors `exp(-i pi k / (2 n))`; for kind IV the factors before the transform, and in `ends` those after it.
    turns: Arc<Vec<Complex<T>>>,
    ends: Arc<Vec<Complex<T>>>,
}

/// The working memory of one thread.
struct Work<T> {
    reals: Vec<T>,
    numbers: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T: Real> Tables<T> {
    fn new(trig: Trig, n: usize) -> Result<Self> {
        let plans = T::plans();
        // `count` factors `exp(-i pi (step * k + first) / (4 n))`.
        let turns = |count: usize, step: usize, first: usize| plans.turns((n, count, step, first));
        let none = || plans.turns((n, 0, 0, 0));
        let even = n.is_multiple_of(2);
        let (plan, turns, ends) = match trig {
            Trig::Dct1 => {
                (Plan::Forward(plans.forward(n.saturating_sub(1).max(1).saturating_mul(2))?), none()?, none()?)
            }
            Trig::Dst1 => (Plan::Forward(plans.forward(n.saturating_add(1).saturating_mul(2))?), none()?, none()?),
            Trig::Dct2 | Trig::Dst2 => (Plan::Forward(plans.forward(n)?), turns(n / 2 + 1, 2, 0)?, none()?),
            Trig::Dct3 | Trig::Dst3 => (Plan::Backward(plans.backward(n)?), turns(n / 2 + 1, 2, 0)?, none()?),
            Trig::Dct4 | Trig::Dst4 if even => {
                (Plan::Complex(plans.complex(n / 2, false)?), turns(n / 2, 4, 1)?, turns(n / 2, 4, 0)?)
            }
            Trig::Dct4 | Trig::Dst4 => (Plan::Complex(plans.complex(n, false)?), turns(n, 2, 0)?, turns(n, 4, 1)?),
        };
        Ok(Tables { plan, turns, ends })
    }

    fn work(&self) -> Work<T> {
        let (reals, numbers, scratch) = match &self.plan {
            Plan::Forward(plan) => (plan.len(), plan.complex_len(), plan.get_scratch_len()),
            Plan::Backward(plan) => (plan.len(), plan.complex_len(), plan.get_scratch_len()),
            Plan::Complex(plan) => (0, plan.len(), plan.get_inplace_scratch_len()),
        };
        Work {
            reals: filled(reals, T::zero()).or_unwind(),
            numbers: filled(numbers, zero()).or_unwind(),
            scratch: filled(scratch, zero()).or_unwind(),
        }
    }

    /// Transforms a line, without scaling.
    fn run(&self, trig: Trig, work: &mut Work<T>, line: &mut [T]) {
        match trig {
            Trig::Dct1 => self.mirrored(work, line),
            Trig::Dst1 => self.mirrored_odd(work, line),
            Trig::Dct2 => self.second(work, line),
            Trig::Dct3 => self.third(work, line),
            Trig::Dct4 => self.fourth(work, line),
            Trig::Dst2 => {
                change_signs(line);
                self.second(work, line);
                line.reverse();
            }
            Trig::Dst3 => {
                line.reverse();
                self.third(work, line);
                change_signs(line);
            }
            Trig::Dst4 => {
                line.reverse();
                self.fourth(work, line);
                change_signs(line);
            }
        }
    }

    /// `y[k] = x[0] + (-1)^k x[n-1] + 2 sum x[j] cos(pi j k / (n - 1))`.
    fn mirrored(&self, work: &mut Work<T>, line: &mut [T]) {
        let Plan::Forward(plan) = &self.plan else { return };
        let Work { reals, numbers, scratch } = work;
        let there = reals.iter_mut().zip(line.iter().chain(line.iter().rev().skip(1)));
        there.for_each(|(to, from)| *to = *from);
        let _ = plan.process_with_scratch(reals, numbers, scratch);
        line.iter_mut().zip(numbers.iter()).for_each(|(to, from)| *to = from.re);
    }

    /// `y[k] = 2 sum x[j] sin(pi (j + 1) (k + 1) / (n + 1))`.
    fn mirrored_odd(&self, work: &mut Work<T>, line: &mut [T]) {
        let Plan::Forward(plan) = &self.plan else { return };
        let Work { reals, numbers, scratch } = work;
        let nothing = [T::zero()];
        let forth = nothing.iter().copied().chain(line.iter().copied());
        let back = nothing.iter().copied().chain(line.iter().rev().map(|x| -*x));
        reals.iter_mut().zip(forth.chain(back)).for_each(|(to, from)| *to = from);
        let _ = plan.process_with_scratch(reals, numbers, scratch);
        line.iter_mut().zip(numbers.iter().skip(1)).for_each(|(to, from)| *to = -from.im);
    }

    /// `y[k] = 2 sum x[j] cos(pi k (2 j + 1) / (2 n))`.
    fn second(&self, work: &mut Work<T>, line: &mut [T]) {
        let Plan::Forward(plan) = &self.plan else { return };
        let Work { reals, numbers, scratch } = work;
        let (even, odd) = (line.iter().step_by(2), line.iter().skip(1).step_by(2));
        reals.iter_mut().zip(even).for_each(|(to, from)| *to = *from);
        reals.iter_mut().rev().zip(odd).for_each(|(to, from)| *to = *from);
        let _ = plan.process_with_scratch(reals, numbers, scratch);
        let n = line.len();
        for (k, (x, turn)) in numbers.iter().zip(self.turns.iter()).enumerate() {
            let turned = (x * turn) * T::nearest(2.0);
            if let Some(to) = line.get_mut(k) {
                *to = turned.re;
            }
            if let (1.., Some(to)) = (k, line.get_mut(n - k.min(n))) {
                *to = -turned.im;
            }
        }
    }

    /// `y[k] = x[0] + 2 sum over 0 < j of x[j] cos(pi j (2 k + 1) / (2 n))`.
    fn third(&self, work: &mut Work<T>, line: &mut [T]) {
        let Plan::Backward(plan) = &self.plan else { return };
        let Work { reals, numbers, scratch } = work;
        let n = line.len();
        for (k, (to, turn)) in numbers.iter_mut().zip(self.turns.iter()).enumerate() {
            let here = line.get(k).copied().unwrap_or(T::zero());
            let there = if k == 0 { T::zero() } else { line.get(n - k).copied().unwrap_or(T::zero()) };
            *to = Complex::new(here, -there) * turn.conj();
        }
        if let Some(first) = numbers.first_mut() {
            first.im = T::zero();
        }
        if let (true, Some(last)) = (n.is_multiple_of(2), numbers.last_mut()) {
            last.im = T::zero();
        }
        let _ = plan.process_with_scratch(numbers, reals, scratch);
        let (even, odd) = (line.iter_mut().step_by(2), reals.iter());
        even.zip(odd).for_each(|(to, from)| *to = *from);
        line.iter_mut().skip(1).step_by(2).zip(reals.iter().rev()).for_each(|(to, from)| *to = *from);
    }

    /// `y[k] = 2 sum x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n))`.
    fn fourth(&self, work: &mut Work<T>, line: &mut [T]) {
        let Plan::Complex(plan) = &self.plan else { return };
        let Work { numbers, scratch, .. } = work;
        let (n, two) = (line.len(), T::nearest(2.0));
        let turned = numbers.iter_mut().zip(self.turns.iter());
        if n.is_multiple_of(2) {
            // Pairs of an element from the front and one from the back.
            let pairs = line.iter().step_by(2).zip(line.iter().rev().step_by(2));
            turned.zip(pairs).for_each(|((to, turn), (re, im))| *to = Complex::new(*re, *im) * turn);
            plan.process_with_scratch(numbers, scratch);
            for (m, (x, end)) in numbers.iter().zip(self.ends.iter()).enumerate() {
                let y = x * end;
                if let Some(to) = line.get_mut(2 * m) {
                    *to = y.re * two;
                }
                if let Some(to) = line.get_mut(n - 1 - 2 * m) {
                    *to = -(y.im * two);
                }
            }
            return;
        }
        turned.zip(line.iter()).for_each(|((to, turn), x)| *to = turn * *x);
        plan.process_with_scratch(numbers, scratch);
        for (m, (x, end)) in numbers.iter().zip(self.ends.iter()).enumerate() {
            let y = (x * end).re * two;
            // The second half gives the odd elements, reversed and negated.
            let (at, y) = if 2 * m < n { (2 * m, y) } else { (2 * n - 1 - 2 * m, -y) };
            if let Some(to) = line.get_mut(at) {
                *to = y;
            }
        }
    }
}

fn change_signs<T: Real>(line: &mut [T]) {
    line.iter_mut().skip(1).step_by(2).for_each(|x| *x = -*x);
}

/// Multiplies the first and the last element of a line.
fn multiply_ends<T: Real>(line: &mut [T], (first, last): (f64, f64)) {
    let multiply = |x: Option<&mut T>, factor: f64| {
        if let (Some(x), true) = (x, factor != 1.0) {
            *x = *x * T::nearest(factor);
        }
    };
    multiply(line.first_mut(), first);
    multiply(line.last_mut(), last);
}

/// Transforms all axes of packed arrays of a shape, one after the other.
pub(in super::super) fn trigonometric<T: Real>(
    geometry: &Geometry,
    pass: TrigPass,
    x: &[T],
    y: &mut [T],
) -> Result<()> {
    let TrigPass { trig, scale, .. } = pass;
    let (ends_in, ends_out) = (pass.ends(false), pass.ends(true));
    let (from, len) = (Reader::new(x), y.len());
    if x.len() != len || len == 0 {
        return Ok(()); // no plans for empty arrays, whose lines may have any length
    }
    let to = Writer::new(y);
    for (index, axis) in geometry.axes.iter().enumerate() {
        let first = index == 0;
        let lines = around(&geometry.axes, &geometry.loops, index);
        let along = Along { read: axis.n, written: axis.n, from: axis.to, to: axis.to };
        let Some(lines) = Lines::new(lines, along, len, len) else { return Ok(()) };
        let tables = Tables::<T>::new(trig, axis.n)?;
        let factor = T::nearest(scale.factor(trig, axis.n));
        let reader = if first { from } else { to.reader() };
        let transform = |work: &mut Work<T>, line: &mut [T]| {
            multiply_ends(line, ends_in);
            tables.run(trig, work, line);
            multiply_ends(line, ends_out);
            if factor != T::one() {
                line.iter_mut().for_each(|x| *x = *x * factor);
            }
        };
        // SAFETY: both sides are slices of `len` elements, borrowed for this call; the lines of packed arrays are
        // disjoint, and read and write the same places.
        unsafe { pass::real(axis.n, &lines, reader, to, &|| tables.work(), &transform) };
    }
    Ok(())
}

/// The steps around an axis of packed arrays.
fn around(axes: &[Axis], loops: &[Loop], index: usize) -> Vec<Step> {
    let loops = loops.iter().map(|l| (l.count, l.to));
    let others = axes.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, axis)| (axis.n, axis.to));
    loops.chain(others).map(|(count, to)| Step { count, inside: count, from: to, to }).collect()
}

/// [`trigonometric`] for f16 and bf16, in f32.
pub(in super::super) fn trigonometric_halves<H: Copy>(
    geometry: &Geometry,
    pass: TrigPass,
    (x, y): (&[H], &mut [H]),
    widen: impl Fn(H) -> f32,
    narrow: impl Fn(f32) -> H,
) -> Result<()> {
    let (mut wide, mut out) = (filled(x.len(), 0.0f32)?, filled(y.len(), 0.0f32)?);
    wide.iter_mut().zip(x).for_each(|(to, from)| *to = widen(*from));
    trigonometric(geometry, pass, &wide, &mut out)?;
    y.iter_mut().zip(&out).for_each(|(to, from)| *to = narrow(*from));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::fft::problem::Problem;
    use crate::libraries::fft::spec::{Direction, Normalization};
    use crate::libraries::fft::trigonometric::Scale;
    use std::f64::consts::PI;

    const ALL: [Trig; 8] =
        [Trig::Dct1, Trig::Dct2, Trig::Dct3, Trig::Dct4, Trig::Dst1, Trig::Dst2, Trig::Dst3, Trig::Dst4];

    /// The transform by its definition.
    fn defined(trig: Trig, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let sum = |f: &dyn Fn(usize) -> f64| x.iter().enumerate().map(|(j, x)| 2.0 * x * f(j)).sum::<f64>();
        let point = |k: usize| {
            let (nf, kf) = (n as f64, k as f64);
            let odd = 2.0 * kf + 1.0;
            let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            match trig {
                Trig::Dct1 => sum(&|j| (PI * kf * j as f64 / (nf - 1.0)).cos()) - x[0] - sign * x[n - 1],
                Trig::Dct2 => sum(&|j| (PI * kf * (2 * j + 1) as f64 / (2.0 * nf)).cos()),
                Trig::Dct3 => sum(&|j| (PI * odd * j as f64 / (2.0 * nf)).cos()) - x[0],
                Trig::Dct4 => sum(&|j| (PI * odd * (2 * j + 1) as f64 / (4.0 * nf)).cos()),
                Trig::Dst1 => sum(&|j| (PI * (kf + 1.0) * (j + 1) as f64 / (nf + 1.0)).sin()),
                Trig::Dst2 => sum(&|j| (PI * (kf + 1.0) * (2 * j + 1) as f64 / (2.0 * nf)).sin()),
                Trig::Dst3 => sum(&|j| (PI * odd * (j + 1) as f64 / (2.0 * nf)).sin()) - sign * x[n - 1],
                Trig::Dst4 => sum(&|j| (PI * odd * (2 * j + 1) as f64 / (4.0 * nf)).sin()),
            }
        };
        (0..n).map(point).collect()
    }

    fn numbers(n: usize) -> Vec<f64> {
        (0..n).map(|j| ((j * 7 + 3) % 11) as f64 - 4.5).collect()
    }

    fn run(trig: Trig, shape: &[usize], ortho: bool, scale: Scale, x: &[f64]) -> Vec<f64> {
        let geometry = Problem::c2c(shape).geometry().unwrap();
        let mut y = vec![f64::NAN; x.len()];
        trigonometric(&geometry, TrigPass { trig, ortho, scale }, x, &mut y).unwrap();
        y
    }

    fn close(got: &[f64], want: &[f64], what: &str) {
        let size: f64 = want.iter().map(|x| x.abs()).sum::<f64>() + 1.0;
        got.iter().zip(want).for_each(|(a, b)| assert!((a - b).abs() < 1e-13 * size, "{what}: {got:?}, not {want:?}"));
    }

    #[test]
    fn every_kind_and_length_is_what_its_definition_says() {
        for trig in ALL {
            for n in 1..40 {
                if trig == Trig::Dct1 && n == 1 {
                    continue;
                }
                let x = numbers(n);
                close(&run(trig, &[n], false, Scale::None, &x), &defined(trig, &x), &format!("{trig:?} of {n}"));
            }
        }
    }

    #[test]
    fn orthogonal_ones_keep_the_energy_and_inverses_undo() {
        for trig in ALL {
            for shape in [&[2][..], &[7], &[8], &[3, 4], &[2, 3, 5]] {
                let x = numbers(shape.iter().product());
                let energy = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
                let ortho = run(trig, shape, true, Scale::new(Normalization::Ortho, Direction::Forward), &x);
                assert!((energy(&ortho) / energy(&x) - 1.0).abs() < 1e-13, "{trig:?} {shape:?}");
                let scale = Scale::new(Normalization::Ortho, Direction::Inverse);
                close(&run(trig.inverse(), shape, true, scale, &ortho), &x, "orthogonal");
                for norm in [Normalization::Backward, Normalization::Forward] {
                    let y = run(trig, shape, false, Scale::new(norm, Direction::Forward), &x);
                    let back = run(trig.inverse(), shape, false, Scale::new(norm, Direction::Inverse), &y);
                    close(&back, &x, &format!("{trig:?} {shape:?} {norm:?}"));
                }
            }
        }
    }
}

//! Factors of recurrences, computed from inner products in device memory.

use super::super::Sparse;
use super::super::element::SolveElement;
#[cfg(feature = "cuda")]
use super::super::native::SOLVE;
use super::super::routine::{Call, Routine};
use crate::core::buffer::{DeviceBuffer, In};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// `a / b`, or zero if `b` is zero.
pub(super) fn quotient<T: SolveElement>(a: T, b: T) -> T {
    if b == T::default() { T::default() } else { a.over(b) }
}

/// The first element.
#[cfg(feature = "host")]
fn first<T: Copy + Default>(x: &[T]) -> T {
    super::super::host::at(x, 0)
}

/// `q = (a / b) * (c / d)` and `-q`, as the two elements of a buffer. Without c and d, `q = a / b`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Quotient<T>(PhantomData<fn() -> T>);

impl<T: SolveElement> Routine for Quotient<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "quotient";
    const OPERANDS: OperandNames = (&["a", "b", "c", "d"], &["to"]);
    type Reads = (T, T, Option<T>, Option<T>);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (a, b, c, d): &Spans<Self::Reads>, (to,): &Spans<(T,)>) -> Result<()> {
        let short = a.is_empty() || b.is_empty() || c.is_some_and(|c| c.is_empty()) || d.is_some_and(|d| d.is_empty());
        if short || to.len() != 2 {
            return Err(Error::invalid("scalars", format!("{} elements for a factor and its negative", to.len())));
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 3, bytes: 6 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (a, b, c, d): (&[T], &[T], Option<&[T]>, Option<&[T]>), (to,): (&mut [T],)) -> Result<()> {
        let mut q = quotient(first(a), first(b));
        if let (Some(c), Some(d)) = (c, d) {
            q = q * quotient(first(c), first(d));
        }
        to.iter_mut().zip([q, -q]).for_each(|(to, q)| *to = q);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((a, b, c, d), (to,)) = (*queue.reads(), *queue.writes());
        let address = |scalar: Option<crate::core::buffer::Span<T>>| scalar.map_or(0, |scalar| scalar.address());
        let args = [a.into(), b.into(), address(c).into(), address(d).into(), to.into()];
        // SAFETY: the parameters in order and type; each scalar has its element, the output two (checked).
        unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"quotients_all", 1, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Positions in the state of MINRES.
pub(crate) mod state {
    /// The number of elements.
    pub(crate) const LEN: usize = 14;
    /// The factors of the vector updates, in this order: 1 / beta, -beta / (previous beta), -alpha / beta, -(previous
    /// epsilon), -delta, 1 / gamma, phi; then the norm of the residual.
    pub(crate) const INVERSE: usize = 0;
    pub(crate) const BACK: usize = 1;
    pub(crate) const ALPHA: usize = 2;
    pub(crate) const EPSILON: usize = 3;
    pub(crate) const DELTA: usize = 4;
    pub(crate) const GAMMA: usize = 5;
    pub(crate) const PHI: usize = 6;
    pub(crate) const RESIDUAL: usize = 7;
}

/// A step of the scalar recurrence of MINRES (Paige and Saunders 1975); [`state`] describes its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Stage {
    /// Begins with the square of the first beta.
    Begin,
    /// Takes alpha, and computes the factor for subtracting the previous Lanczos vector.
    Alpha,
    /// Takes the square of the next beta, and computes the rotation and the factors for updating the directions and x.
    Beta,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Lanczos<T> {
    pub(super) stage: Stage,
    _type: PhantomData<fn() -> T>,
}

impl<T: SolveElement> Routine for Lanczos<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "minres_scalars";
    const OPERANDS: OperandNames = (&["product"], &["state"]);
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (product,): &Spans<(T,)>, (state,): &Spans<(T,)>) -> Result<()> {
        if product.is_empty() || state.len() != state::LEN {
            return Err(Error::invalid("state", format!("{} elements instead of {}", state.len(), state::LEN)));
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        self.stage == Stage::Begin
    }

    fn cost(&self) -> Cost {
        Cost { flops: 20, bytes: 30 * size_of::<T>() as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (product,): (&[T],), (state,): (&mut [T],)) -> Result<()> {
        let Ok(state) = <&mut [T; state::LEN]>::try_from(state) else { return Ok(()) };
        step(self.stage, first(product), state);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((product,), (state,)) = (*queue.reads(), *queue.writes());
        let stage: u64 = match self.stage {
            Stage::Begin => 0,
            Stage::Alpha => 1,
            Stage::Beta => 2,
        };
        // SAFETY: the parameters in order and type; the state is as long as the kernel has it (checked).
        unsafe {
            kernels::each(queue, SOLVE(T::DTYPE)?, c"lanczos_all", 1, &[stage.into(), product.into(), state.into()])
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// The arithmetic of a step; the kernel computes the same.
#[cfg(feature = "host")]
fn step<T: SolveElement>(stage: Stage, product: T, state: &mut [T; state::LEN]) {
    let [mut inverse, mut back, mut alpha, mut epsilon, mut delta, mut gamma, mut phi, mut residual, rest @ ..] =
        *state;
    let [mut beta, mut dbar, mut eps, mut cs, mut sn, mut alfa] = rest;
    let one = T::ONE;
    match stage {
        Stage::Begin => {
            beta = product.real_root();
            (inverse, back, residual) = (quotient(one, beta), T::default(), beta);
            (alpha, epsilon, delta, gamma, phi) = Default::default();
            (dbar, eps, cs, sn, alfa) = (T::default(), T::default(), -one, T::default(), T::default());
        }
        Stage::Alpha => {
            alfa = product;
            alpha = -quotient(alfa, beta);
        }
        Stage::Beta => {
            let before = beta;
            beta = product.real_root();
            // What a column has left of itself after rounding is zero: the Krylov space is invariant.
            let noise = 8.0 * T::EPSILON * (before.re().abs() + alfa.magnitude() + beta.re().abs());
            if beta.re().abs() <= noise {
                beta = T::default();
            }
            (inverse, back) = (quotient(one, beta), -quotient(beta, before));
            (epsilon, delta) = (-eps, -(cs * dbar + sn * alfa));
            let gbar = sn * dbar - cs * alfa;
            eps = sn * beta;
            dbar = -(cs * beta);
            let root = (gbar * gbar + beta * beta).real_root();
            if beta == T::default() && root.re().abs() <= 2.0 * noise {
                // The column depends on the others: the matrix is singular, and this direction changes no residual.
                (gamma, cs, sn) = (T::default(), T::default(), one);
            } else {
                gamma = quotient(one, root);
                (cs, sn) = (gbar * gamma, beta * gamma);
            }
            phi = cs * residual;
            residual = sn * residual;
        }
    }
    *state = [inverse, back, alpha, epsilon, delta, gamma, phi, residual, beta, dbar, eps, cs, sn, alfa];
}

impl Sparse {
    /// `(a / b) * (c / d)` and its negative.
    pub(super) fn quotient<T: SolveElement>(
        &self,
        (a, b): (In<'_, T>, In<'_, T>),
        more: Option<(In<'_, T>, In<'_, T>)>,
    ) -> Result<DeviceBuffer<T>> {
        let (c, d) = more.unzip();
        Ok(self.submit(Quotient::<T>(PhantomData), (a, b, c, d), (self.device.unwritten(2)?,))?.into_output())
    }

    pub(super) fn lanczos<T: SolveElement>(
        &self,
        stage: Stage,
        product: &DeviceBuffer<T>,
        state: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        Ok(self.submit(Lanczos::<T> { stage, _type: PhantomData }, (product.as_in(),), (state,))?.into_output())
    }
}

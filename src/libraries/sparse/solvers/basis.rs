//! Orthogonal bases: inner products with all vectors of a basis, linear combinations, and the least-squares problem of
//! GMRES.

use super::super::Sparse;
use super::super::element::SolveElement;
#[cfg(feature = "cuda")]
use super::super::native::SOLVE;
use super::super::routine::{Call, Routine};
#[cfg(feature = "host")]
use super::scalars::quotient;
use crate::core::buffer::{DeviceBuffer, In, List};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Elements in one part of an inner product. The parts depend on the sizes alone, so any number of threads gives the
/// same bits. The kernel uses the same value.
const PART: usize = 1 << 14;

/// `h_i = v_i^H * w` for all vectors `v_i` of a list.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Dots<T>(PhantomData<fn() -> T>);

/// `w = w + sign * sum of h_i * v_i`.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Combine<T: SolveElement> {
    pub(super) sign: T,
}

fn check_list<T: SolveElement>(v: &[crate::core::buffer::Span<T>], w: usize, h: usize) -> Result<()> {
    if h < v.len() {
        return Err(Error::invalid("h", format!("{h} elements for {} vectors", v.len())));
    }
    match v.iter().find(|v| v.len() != w) {
        Some(v) => Err(Error::invalid("v", format!("{} elements, but w has {w}", v.len()))),
        None => Ok(()),
    }
}

impl<T: SolveElement> Routine for Dots<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "basis_dots";
    const OPERANDS: OperandNames = (&["v", "w"], &["h"]);
    type Reads = (List<T>, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (v, w): &Spans<Self::Reads>, (h,): &Spans<(T,)>) -> Result<()> {
        check_list(v, w.len(), h.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (v, w): (Vec<&[T]>, &[T]), (h,): (&mut [T],)) -> Result<()> {
        use super::super::host::split;
        let parts: Vec<usize> = (0..w.len()).step_by(PART).chain([w.len()]).collect();
        let sums = split::map(&parts, &|range| {
            let w = w.get(range.clone()).unwrap_or_default();
            let dot = |v: &&[T]| {
                let v = v.get(range.clone()).unwrap_or_default();
                v.iter().zip(w).fold(T::default(), |sum, (v, w)| sum + v.conj() * *w)
            };
            v.iter().map(dot).collect::<Vec<T>>()
        });
        h.iter_mut().take(v.len()).for_each(|h| *h = T::default());
        for part in sums {
            h.iter_mut().zip(part).for_each(|(h, part)| *h = *h + part);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((v, w), (h,)) = (queue.reads(), *queue.writes());
        let (count, n) = (v.len(), w.len());
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand with an element for each vector (checked).
            return unsafe { queue.fill(h.address(), count * size_of::<T>(), &[0]) };
        }
        let w = *w;
        let table = queue.table(|words| words.extend(v.iter().map(|v| v.address())))?;
        let each = n.div_ceil(PART);
        let parts = queue.scratch(count.saturating_mul(each).saturating_mul(size_of::<T>()))?;
        let dots = [table.into(), count.into(), w.into(), n.into(), parts.into()];
        let gather = [parts.into(), count.into(), each.into(), h.into()];
        // SAFETY: the parameters in order and type, of vectors as long as was checked; a warp for each part.
        unsafe {
            kernels::each(queue, SOLVE(T::DTYPE)?, c"dots_all", count.saturating_mul(each).saturating_mul(32), &dots)?;
            kernels::each(queue, SOLVE(T::DTYPE)?, c"gather_dots_all", count, &gather)
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl<T: SolveElement> Routine for Combine<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "basis_combine";
    const OPERANDS: OperandNames = (&["v", "h"], &["w"]);
    type Reads = (List<T>, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (v, h): &Spans<Self::Reads>, (w,): &Spans<(T,)>) -> Result<()> {
        check_list(v, w.len(), h.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (v, h): (Vec<&[T]>, &[T]), (w,): (&mut [T],)) -> Result<()> {
        use super::super::host::split;
        split::each(&split::evenly(w.len(), v.len().max(1)), w, 1, &|range, w| {
            for (v, h) in v.iter().zip(h) {
                let (factor, v) = (self.sign * *h, v.get(range.clone()).unwrap_or_default());
                w.iter_mut().zip(v).for_each(|(w, v)| *w = *w + factor * *v);
            }
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((v, h), (w,)) = (queue.reads(), *queue.writes());
        let h = *h;
        let count = v.len();
        let table = queue.table(|words| words.extend(v.iter().map(|v| v.address())))?;
        let args = [table.into(), count.into(), h.into(), self.sign.into(), w.into(), w.len().into()];
        // SAFETY: the parameters in order and type, of vectors as long as was checked.
        unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"combine_all", w.len(), &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Number of elements in the state of a least-squares problem of `m` vectors: the columns of R, of length `m + 1` each;
/// the cosines and sines of the rotations; the right-hand side; then the norm of the residual and the reciprocal of the
/// new vector's norm.
pub(super) fn state_len(m: usize) -> usize {
    m * (m + 1) + 2 * m + (m + 1) + 2
}

/// The position of the norm of the residual in the state; the reciprocal follows it.
pub(super) fn residual_at(m: usize) -> usize {
    state_len(m) - 2
}

/// Appends column `j` of the Hessenberg matrix to R. `h` and `again` are the inner products of the two
/// orthogonalization passes; `square` is the squared norm of the remaining vector. Without a column, it initialises the
/// state from the squared norm of the residual.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Rotate<T> {
    pub(super) m: usize,
    pub(super) column: Option<usize>,
    _type: PhantomData<fn() -> T>,
}

impl<T: SolveElement> Routine for Rotate<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "gmres_rotate";
    const OPERANDS: OperandNames = (&["h", "again", "square"], &["state"]);
    type Reads = (T, T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (h, again, square): &Spans<Self::Reads>, (state,): &Spans<(T,)>) -> Result<()> {
        let need = self.column.map_or(0, |column| column + 1);
        let fits = need <= self.m && h.len() >= need && again.len() >= need && square.len() == 1;
        if fits && state.len() == state_len(self.m) {
            return Ok(());
        }
        Err(Error::invalid("state", format!("{} elements for {} vectors", state.len(), self.m)))
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        self.column.is_none()
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (h, again, square): (&[T], &[T], &[T]), (state,): (&mut [T],)) -> Result<()> {
        use super::super::host::{at, put};
        let (m, mut norm) = (self.m, at(square, 0).real_root());
        let (cosines, g, residual) = (m * (m + 1), m * (m + 1) + 2 * m, residual_at(m));
        let sines = cosines + m;
        let Some(j) = self.column else {
            put(state, residual + 1, quotient(T::ONE, norm));
            state.get_mut(..residual).unwrap_or_default().fill(T::default());
            put(state, g, norm);
            put(state, residual, norm);
            return Ok(());
        };
        let column = j * (m + 1);
        // What a column has left of itself after rounding is zero: the Krylov space is invariant.
        let mut all = at(square, 0);
        for i in 0..=j {
            let part = at(h, i) + at(again, i);
            all = all + part * part.conj();
        }
        let noise = 8.0 * T::EPSILON * all.real_root().magnitude();
        if norm.magnitude() <= noise {
            norm = T::default();
        }
        put(state, residual + 1, quotient(T::ONE, norm));
        let mut above = at(h, 0) + at(again, 0);
        for i in 0..j {
            let below = at(h, i + 1) + at(again, i + 1);
            let (c, s) = (at(state, cosines + i), at(state, sines + i));
            put(state, column + i, c * above + s * below);
            above = c * below - s.conj() * above;
        }
        // The rotation that eliminates the norm below the diagonal; its cosine is real.
        let (size, length) = (above.magnitude(), (above * above.conj() + norm * norm).real_root());
        let (c, s) = if norm == T::default() && size <= noise * (j + 1) as f64 {
            // The column depends on the others: the matrix is singular, and the new vector reduces no residual.
            above = T::default();
            (T::default(), T::ONE)
        } else if size == 0.0 {
            (T::default(), T::ONE)
        } else {
            let modulus = (above * above.conj()).real_root();
            (modulus.over(length), above.over(modulus) * norm.over(length))
        };
        put(state, column + j, c * above + s * norm);
        put(state, cosines + j, c);
        put(state, sines + j, s);
        let right = at(state, g + j);
        put(state, g + j, c * right);
        put(state, g + j + 1, -(s.conj() * right));
        put(state, residual, at(state, g + j + 1));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((h, again, square), (state,)) = (*queue.reads(), *queue.writes());
        let column = self.column.map_or(u64::MAX, |column| column as u64);
        let args = [self.m.into(), column.into(), h.into(), again.into(), square.into(), state.into()];
        // SAFETY: the parameters in order and type; the state is as long as the kernel has it (checked).
        unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"rotate_all", 1, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Solves `R * y = g` for the coefficients of the first `columns` vectors.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct BackSolve<T> {
    pub(super) m: usize,
    pub(super) columns: usize,
    _type: PhantomData<fn() -> T>,
}

impl<T: SolveElement> Routine for BackSolve<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "gmres_coefficients";
    const OPERANDS: OperandNames = (&["state"], &["y"]);
    type Reads = (T,);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (state,): &Spans<(T,)>, (y,): &Spans<(T,)>) -> Result<()> {
        if state.len() == state_len(self.m) && self.columns <= self.m && y.len() == self.columns {
            return Ok(());
        }
        Err(Error::invalid("state", format!("{} elements for {} vectors", state.len(), self.m)))
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (state,): (&[T],), (y,): (&mut [T],)) -> Result<()> {
        use super::super::host::{at, put};
        let (m, g) = (self.m, self.m * (self.m + 1) + 2 * self.m);
        for i in (0..self.columns).rev() {
            let mut sum = at(state, g + i);
            for j in i + 1..self.columns {
                sum = sum - at(state, j * (m + 1) + i) * at(y, j);
            }
            put(y, i, quotient(sum, at(state, i * (m + 1) + i)));
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((state,), (y,)) = (*queue.reads(), *queue.writes());
        let args = [self.m.into(), self.columns.into(), state.into(), y.into()];
        // SAFETY: the parameters in order and type; the state is as long as the kernel has it (checked).
        unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"back_solve_all", 1, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    pub(super) fn dots<T: SolveElement>(
        &self,
        v: &[DeviceBuffer<T>],
        w: &DeviceBuffer<T>,
        h: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        let v: Vec<In<'_, T>> = v.iter().map(DeviceBuffer::as_in).collect();
        Ok(self.submit(Dots::<T>(PhantomData), (&v, w.as_in()), (h,))?.into_output())
    }

    pub(super) fn combine<T: SolveElement>(
        &self,
        sign: T,
        (v, h): (&[DeviceBuffer<T>], &DeviceBuffer<T>),
        w: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        let v: Vec<In<'_, T>> = v.iter().map(DeviceBuffer::as_in).collect();
        Ok(self.submit(Combine { sign }, (&v, h.as_in()), (w,))?.into_output())
    }

    pub(super) fn rotate<T: SolveElement>(
        &self,
        (m, column): (usize, Option<usize>),
        (h, again, square): (&DeviceBuffer<T>, &DeviceBuffer<T>, &DeviceBuffer<T>),
        state: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        let rotate = Rotate::<T> { m, column, _type: PhantomData };
        Ok(self.submit(rotate, (h.as_in(), again.as_in(), square.as_in()), (state,))?.into_output())
    }

    pub(super) fn coefficients<T: SolveElement>(
        &self,
        m: usize,
        columns: usize,
        state: &DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        let solve = BackSolve::<T> { m, columns, _type: PhantomData };
        Ok(self.submit(solve, (state.as_in(),), (self.device.unwritten(columns)?,))?.into_output())
    }
}

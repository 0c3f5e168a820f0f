//! Vector operations whose factors are in device memory.

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

macro_rules! lengths {
    ($name:literal, $one:expr, $two:expr) => {
        if $one != $two {
            return Err(Error::invalid($name, format!("{} elements, but {} are needed", $one, $two)));
        }
    };
}

/// `y = x + s * y`, with s in device memory.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Xpby<T>(PhantomData<fn() -> T>);

impl<T: SolveElement> Routine for Xpby<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "xpby";
    const OPERANDS: OperandNames = (&["x", "s"], &["y"]);
    type Reads = (T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (x, s): &Spans<Self::Reads>, (y,): &Spans<(T,)>) -> Result<()> {
        lengths!("y", y.len(), x.len());
        lengths!("s", s.len(), 1);
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (x, s): (&[T], &[T]), (y,): (&mut [T],)) -> Result<()> {
        use super::super::host::{at, split};
        let s = at(s, 0);
        split::each(&split::evenly(y.len(), 1), y, 1, &|range, y| {
            y.iter_mut().zip(x.get(range).unwrap_or_default()).for_each(|(y, x)| *y = *x + s * *y);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((x, s), (y,)) = (*queue.reads(), *queue.writes());
        // SAFETY: the parameters in order and type, of vectors as long as was checked.
        unsafe {
            kernels::each(
                queue,
                SOLVE(T::DTYPE)?,
                c"xpby_all",
                y.len(),
                &[x.into(), s.into(), y.into(), y.len().into()],
            )
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// `z = d * x`, element by element.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Times<T>(PhantomData<fn() -> T>);

impl<T: SolveElement> Routine for Times<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "times";
    const OPERANDS: OperandNames = (&["d", "x"], &["z"]);
    type Reads = (T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (d, x): &Spans<Self::Reads>, (z,): &Spans<(T,)>) -> Result<()> {
        lengths!("d", d.len(), z.len());
        lengths!("x", x.len(), z.len());
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (d, x): (&[T], &[T]), (z,): (&mut [T],)) -> Result<()> {
        use super::super::host::split;
        split::each(&split::evenly(z.len(), 1), z, 1, &|range, z| {
            let (d, x) = (d.get(range.clone()).unwrap_or_default(), x.get(range).unwrap_or_default());
            z.iter_mut().zip(d).zip(x).for_each(|((z, d), x)| *z = *d * *x);
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((d, x), (z,)) = (*queue.reads(), *queue.writes());
        // SAFETY: the parameters in order and type, of vectors as long as was checked.
        unsafe {
            kernels::each(
                queue,
                SOLVE(T::DTYPE)?,
                c"times_all",
                z.len(),
                &[d.into(), x.into(), z.into(), z.len().into()],
            )
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// `1 / d`, element by element; one where d is zero.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Reciprocal<T>(PhantomData<fn() -> T>);

impl<T: SolveElement> Routine for Reciprocal<T> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "reciprocal";
    const OPERANDS: OperandNames = (&[], &["x"]);
    type Reads = ();
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (): &(), _: &Spans<(T,)>) -> Result<()> {
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (d,): (&mut [T],)) -> Result<()> {
        d.iter_mut().for_each(|d| *d = if *d == T::default() { T::ONE } else { T::ONE.over(*d) });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let (d,) = *queue.writes();
        // SAFETY: the parameters in order and type.
        unsafe { kernels::each(queue, SOLVE(T::DTYPE)?, c"reciprocal_all", d.len(), &[d.into(), d.len().into()]) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// `y = x + s * y`.
    pub(super) fn xpby<T: SolveElement>(
        &self,
        x: &DeviceBuffer<T>,
        s: In<'_, T>,
        y: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        Ok(self.submit(Xpby::<T>(PhantomData), (x.as_in(), s), (y,))?.into_output())
    }

    /// `z = d * x`.
    pub(super) fn times<T: SolveElement>(
        &self,
        d: In<'_, T>,
        x: In<'_, T>,
        z: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        Ok(self.submit(Times::<T>(PhantomData), (d, x), (z,))?.into_output())
    }

    /// `1 / d`.
    pub(super) fn reciprocal<T: SolveElement>(&self, d: DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        Ok(self.submit(Reciprocal::<T>(PhantomData), (), (d,))?.into_output())
    }
}

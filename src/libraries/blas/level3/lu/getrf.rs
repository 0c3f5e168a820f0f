//! The factors: getrf.

use super::super::super::lists::parts;
use super::super::super::prelude::*;
use super::super::orders::batch_of;
use super::super::spread::{self, Even, Listed, Spread};
use super::{Batch, check_numbers};
#[cfg(feature = "host")]
use crate::core::room::collected;
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Factor<T, L>(Batch, PhantomData<(T, L)>);

impl<T: BlasElement, L: Spread> Routine for Factor<T, L> {
    const NAME: &'static str = if L::LISTED { "getrf_batched" } else { "getrf" };
    const OPERANDS: OperandNames = (&[], &["a", "pivots", "info"]);
    type Reads = ();
    type Output = L::Factors<T>;
    type Raw = ();

    fn check(&self, (): &(), (a, pivots, info): &Spans<(L::Of<T>, i32, i32)>) -> Result<()> {
        self.0.check_sizes()?;
        L::check::<T>(&self.0.a(), self.0.count, a, true)?;
        self.0.check_pivots(pivots.len())?;
        self.0.check_info(info.len())
    }

    fn overwrites_each(&self, (_, pivots, info): &Spans<(L::Of<T>, i32, i32)>, index: usize) -> bool {
        let (n, count) = (self.0.n, self.0.count);
        match index.checked_sub(L::buffers(count)) {
            None => false,
            Some(0) => n.checked_mul(count) == Some(pivots.len()),
            Some(_) => count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(2, 2)
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (): (),
        (a, pivots, info): <(L::Of<T>, i32, i32) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (Batch { n, .. }, count, of_a) = (self.0, self.0.count, self.0.a());
        if n == 0 {
            return super::regular(info, count);
        }
        let pivots = batch::parts_mut(pivots, n, count);
        let items: Vec<_> = collected(L::parts_mut::<T>(&of_a, count, a).into_iter().zip(pivots).zip(info))?;
        batch::each(items, self.0.work(), |((a, pivots), info)| *info = T::getrf(n, a, of_a.ld, pivots));
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let (Batch { n, .. }, count, of_a, (a, pivots, info)) = (self.0, self.0.count, self.0.a(), queue.writes());
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let [a] = queue.arrays([&L::places::<T>(&of_a, count, a)])?;
        let (n, lda, count) = (n as i32, of_a.ld as i32, count as i32);
        let (pivots, info) = (pivots.address() as *mut _, info.address() as *mut _);
        // SAFETY: matrices, pivots and info lie inside their buffers (checked) and the array of addresses in scratch,
        // which live until this work is done; the sizes were checked to fit.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.getrf_batched(T::LETTER, handle, n, a, lda, pivots, info, count)
        })
    }
}

/// Matrices, pivots and infos.
type Factors<A> = (A, Tensor<i32>, Tensor<i32>);

impl Blas {
    /// LU factors with partial pivoting, in place (`cublas<t>getrfBatched`), of square matrices `[.., n, n]`: the axes before the last
    /// two are a batch. Returns the factors, the pivots `[.., n]` and the infos `[..]`.
    ///
    /// Row `r` was swapped with row `pivots[r]`, counted from 1, as in LAPACK. The info of a matrix is zero, or the index, counted
    /// from 1, of a zero on the diagonal of U, which makes the matrix singular: its factors are complete, its inverse is not. That
    /// is not an error of the call, which does not wait for the infos: they stay on the device like any result.
    ///
    /// The columns of the matrices are contiguous: one that is read by rows would be taken for its transpose, which has different
    /// factors. All sizes must fit 32-bit integers.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when a shape is another one, the columns of the matrices are not contiguous, pivots or infos are
    /// not in row-major order, or matrices are not at even distances or share elements; a stale or foreign buffer. All three come
    /// back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose};
    /// let device = Device::host()?;
    /// let a = device.contiguous_columns(&device.tensor([2, 2], [1.0f64, 1.0, 2.0, 4.0])?)?;
    /// let (pivots, info) = (device.uninit([2])?, device.uninit([])?);
    /// let (a, pivots, info) = device.blas().getrf(a, pivots, info)?.await_result()?;
    /// assert_eq!(device.show(&a)?.to_string(), "[[ 2.   4. ]\n [ 0.5 -1. ]]");
    /// assert_eq!((device.to_vec(&pivots)?, device.item(&info)?), (vec![2, 2], 0));
    /// let b = device.tensor([2, 1], [3.0, 8.0])?;
    /// let x = device.blas().getrs(Transpose::No, &a, &pivots, b)?;
    /// assert_eq!(device.to_vec(&x)?, [2.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn getrf<T: BlasElement>(
        &self,
        a: impl WritableTensor<T>,
        pivots: impl WritableTensor<i32>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<Factors<Tensor<T>>> {
        let (a, pivots, info) = (a.into(), pivots.into(), info.into());
        let made = batch_of("a", a.layout()).and_then(|(of_a, batch)| {
            let lu = Batch::new(&of_a, of_a.columns("a")?, of_a.count)?;
            check_numbers("pivots", pivots.layout(), batch, Some(lu.n))?;
            check_numbers("info", info.layout(), batch, None)?;
            Ok((Factor::<T, Even>(lu, PhantomData), ()))
        });
        let ((a, of_a), (pivots, of_pivots), (info, of_info)) = (a.window(), pivots.window(), info.window());
        self.writes_windows(made, (a, pivots, info), |(a, pivots, info)| {
            (of_a.tensor(a), of_pivots.tensor(pivots), of_info.tensor(info))
        })
    }

    /// As [`getrf`](Self::getrf), of matrices in buffers of their own (`cublas<t>getrfBatched`), all of one layout. Pivots
    /// `[count, n]` and infos `[count]` are each in one tensor for all matrices.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf), and when the matrices have different layouts. All of them come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose};
    /// let device = Device::host()?;
    /// let a = [device.tensor([1, 1], [2.0f64])?, device.tensor([1, 1], [4.0])?];
    /// let (pivots, info) = (device.uninit([2, 1])?, device.uninit([2])?);
    /// let (a, pivots, _) = device.blas().getrf_batched(a, pivots, info)?.await_result()?;
    /// let b = [device.tensor([1, 1], [6.0])?, device.tensor([1, 1], [8.0])?];
    /// let x = device.blas().getrs_batched(Transpose::No, &a, &pivots, b)?.await_result()?;
    /// assert_eq!(device.to_vec(&x[1])?, [2.0]);
    /// # Ok(()) }
    /// ```
    pub fn getrf_batched<T: BlasElement>(
        &self,
        a: impl IntoIterator<Item: WritableTensor<T>>,
        pivots: impl WritableTensor<i32>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<Factors<Vec<Tensor<T>>>> {
        let (a, pivots, info) = (parts(a), pivots.into(), info.into());
        let made = spread::alike("a", a.iter().map(Part::layout)).and_then(|of_a| {
            let lu = Batch::new(&of_a, of_a.columns("a")?, a.len())?;
            check_numbers("pivots", pivots.layout(), &[a.len()], Some(lu.n))?;
            check_numbers("info", info.layout(), &[a.len()], None)?;
            Ok((Factor::<T, Listed>(lu, PhantomData), ()))
        });
        let (a, of_a) = spread::windows(a);
        let ((pivots, of_pivots), (info, of_info)) = (pivots.window(), info.window());
        self.writes_windows(made, (a, pivots, info), |(a, pivots, info)| {
            (spread::tensors(a, of_a), of_pivots.tensor(pivots), of_info.tensor(info))
        })
    }
}

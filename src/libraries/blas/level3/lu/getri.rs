//! Inverses, from the factors or from the matrices themselves: getri and matinv.

use super::super::super::lists::{parts, views};
use super::super::super::prelude::*;
use super::super::batch::check_int;
use super::super::orders::{batch_of, in_some_order, like};
use super::super::spread::{self, Even, Listed, Spread};
use super::{Batch, Beside, check_numbers};
#[cfg(feature = "host")]
use crate::core::room::{OrUnwind, collected, filled};
#[cfg(feature = "host")]
use crate::numerics::level3::batch;

/// From the factors (getri), or from the matrices themselves (matinv).
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in crate::libraries::blas::level3) struct Invert<T, L, const FACTORED: bool>(Batch, Beside, PhantomData<(T, L)>);

/// Maximum number of rows of matrices that the library inverts in one call.
#[cfg(feature = "cuda")]
const MATINV_MOST: usize = 32;

impl<T: BlasElement, L: Spread, const FACTORED: bool> Routine for Invert<T, L, FACTORED> {
    const NAME: &'static str = match (FACTORED, L::LISTED) {
        (true, true) => "getri_batched",
        (true, false) => "getri",
        (false, true) => "matinv_batched",
        (false, false) => "matinv",
    };
    const OPERANDS: OperandNames = (&["a", "pivots"], &["c", "info"]);
    type Reads = (L::Of<T>, Option<i32>);
    type Output = L::Inverses<T>;
    type Raw = ();

    fn check(&self, (a, pivots): &Spans<Self::Reads>, (c, info): &Spans<(L::Of<T>, i32)>) -> Result<()> {
        let (lu, of_c) = (self.0, self.0.b("c", &self.1));
        lu.check_sizes()?;
        check_int("ldb", of_c.ld)?;
        L::check::<T>(&lu.a(), lu.count, a, false)?;
        if let Some(pivots) = pivots {
            lu.check_pivots(pivots.len())?;
        }
        L::check::<T>(&of_c, lu.count, c, true)?;
        lu.check_info(info.len())
    }

    fn overwrites_each(&self, (c, info): &Spans<(L::Of<T>, i32)>, index: usize) -> bool {
        let count = self.0.count;
        match index < L::buffers(count) {
            true => L::fills::<T>(&self.0.b("c", &self.1), count, c, index),
            false => count == info.len(),
        }
    }

    fn cost(&self) -> Cost {
        self.0.cost::<T>(if FACTORED { 4 } else { 6 }, 2)
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (a, pivots): <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
        (c, info): <(L::Of<T>, i32) as crate::core::buffer::Elems>::SlicesMut<'_>,
    ) -> Result<()> {
        let (Batch { n, .. }, count, of_a, of_c) = (self.0, self.0.count, self.0.a(), self.0.b("c", &self.1));
        if n == 0 {
            return super::regular(info, count);
        }
        let (a, c) = (L::parts::<T>(&of_a, count, a), L::parts_mut::<T>(&of_c, count, c));
        if let Some(pivots) = pivots {
            let factors = a.into_iter().zip(batch::parts(pivots, n, count));
            batch::each(collected(factors.zip(c).zip(info))?, self.0.work(), |(((a, pivots), c), info)| {
                *info = T::getri(n, (a, of_a.ld), pivots, (c, of_c.ld));
            });
            return Ok(());
        }
        batch::each(collected(a.into_iter().zip(c).zip(info))?, self.0.work(), |((a, c), info)| {
            let (mut factors, mut pivots) =
                (filled(n.saturating_mul(n), T::default()).or_unwind(), filled(n, 0).or_unwind());
            T::copy(n, n, (a, of_a.ld), (&mut factors, n.max(1)));
            T::getrf(n, &mut factors, n.max(1), &mut pivots);
            *info = T::getri(n, (&factors, n.max(1)), &pivots, (c, of_c.ld));
        });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Queue<'_, '_, Self>) -> Result<()> {
        let ((a, pivots), (c, info)) = (queue.reads(), queue.writes());
        let (Batch { n, .. }, count, mut of_a, of_c) = (self.0, self.0.count, self.0.a(), self.0.b("c", &self.1));
        if count == 0 {
            return Ok(());
        }
        if n == 0 {
            // SAFETY: an operand, which has `count` numbers (checked).
            return unsafe { queue.fill(info.address(), count, &[0; 4]) };
        }
        let (given, c) = (L::places::<T>(&of_a, count, a), L::places::<T>(&of_c, count, c));
        let (info, size, ldc, number) = (info.address() as *mut _, n as i32, of_c.ld as i32, count as i32);
        if pivots.is_none() && n <= MATINV_MOST {
            let [a, c] = queue.arrays([&given, &c])?;
            // SAFETY: matrices and info lie inside their buffers (checked) and the arrays of addresses in scratch, which
            // live until this work is done; the sizes were checked to fit.
            return queue.typed(PointerMode::Host, |api, handle| unsafe {
                api.matinv_batched(T::LETTER, handle, size, a, of_a.ld as i32, c, ldc, info, number)
            });
        }
        let (factors, pivots) = match pivots {
            Some(pivots) => (given, queue.keep_pivots(pivots.address(), n, count)?),
            None => {
                // The factors are computed in a copy: the operand is only read.
                let copy;
                (copy, of_a) = queue.copies::<T>(&of_a, &given, L::whole::<T>(a))?;
                (of_a.places::<T>(count, copy), queue.scratch(n.saturating_mul(count).saturating_mul(4))?)
            }
        };
        let ([a, c], lda) = (queue.arrays([&factors, &c])?, of_a.ld as i32);
        if !FACTORED {
            // SAFETY: as above; the copy and its pivots lie in scratch of this dispatch.
            queue.typed(PointerMode::Host, |api, handle| unsafe {
                api.getrf_batched(T::LETTER, handle, size, a, lda, pivots as *mut _, info, number)
            })?;
        }
        // SAFETY: as above.
        queue.typed(PointerMode::Host, |api, handle| unsafe {
            api.getri_batched(T::LETTER, handle, size, a, lda, pivots as *const _, c, ldc, info, number)
        })
    }
}

/// The inverses of one tensor, or of a list: from factors, which are read and written by columns, or of matrices in any order, in
/// which both lie, since the inverse of the transpose is the transposed inverse.
fn inverses(
    (of_a, count): (&Matrices, usize),
    (of_c, count_of_c): (&Matrices, usize),
    batch: &[usize],
    (pivots, info): (Option<&Layout>, &Layout),
) -> Result<(Batch, Beside)> {
    let (lda, ldc) = match pivots {
        Some(_) => (of_a.columns("a")?, of_c.columns("c")?),
        None => in_some_order("c", of_c, |order, ldc| Ok((like("a", of_a, order, "c")?, ldc)))?,
    };
    let lu = Batch::new(of_a, lda, count)?;
    if let Some(pivots) = pivots {
        check_numbers("pivots", pivots, batch, Some(lu.n))?;
    }
    check_numbers("info", info, batch, None)?;
    Ok((lu, lu.beside("c", of_c, ldc, count_of_c)?))
}

impl Blas {
    /// The inverses, into C, from the factors `[.., n, n]` and pivots `[.., n]` of [`getrf`](Self::getrf) (`cublas<t>getriBatched`). C
    /// has the shape of A, its columns contiguous. If the info of a matrix is not zero, the contents of its part of C are not
    /// specified.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf); `c` and `info` come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.tensor([2, 1, 1], [2.0f64, 4.0])?;
    /// let (pivots, info) = (device.uninit([2, 1])?, device.uninit([2])?);
    /// let (a, pivots, info) = device.blas().getrf(a, pivots, info)?.await_result()?;
    /// let (c, info) = device.blas().getri(&a, &pivots, device.uninit([2, 1, 1])?, info)?.await_result()?;
    /// assert_eq!((device.to_vec(&c)?, device.to_vec(&info)?), (vec![0.5, 0.25], vec![0, 0]));
    /// # Ok(()) }
    /// ```
    pub fn getri<'a, 'p, T: BlasElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        pivots: impl ReadableTensor<'p, i32>,
        c: impl WritableTensor<T>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<(Tensor<T>, Tensor<i32>)> {
        self.invert::<T, true>(&a.into(), Some(&pivots.into()), c.into(), info.into())
    }

    /// As [`getri`](Self::getri), of matrices in buffers of their own (`cublas<t>getriBatched`), all A of one layout, and all C.
    ///
    /// # Errors
    /// As [`getrf_batched`](Self::getrf_batched), and when the numbers of A and C differ; all of `c`, and `info`, come back.
    pub fn getri_batched<'a, 'p, T: BlasElement>(
        &self,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        pivots: impl ReadableTensor<'p, i32>,
        c: impl IntoIterator<Item: WritableTensor<T>>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<(Vec<Tensor<T>>, Tensor<i32>)> {
        self.invert_list::<T, true>(&views(a), Some(&pivots.into()), parts(c), info.into())
    }

    /// The inverses of matrices `[.., n, n]`, into C (`cublas<t>matinvBatched` up to 32 rows, factors and `getriBatched` beyond). C has
    /// the shape of A, and lies in the same order. If the info of a matrix is not zero, the contents of its part of C are not
    /// specified.
    ///
    /// # Errors
    /// As [`getrf`](Self::getrf), but matrices may be read by rows, all of A and C; `c` and `info` come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.tensor([2, 2], [2.0f64, 1.0, 0.0, 4.0])?;
    /// let (c, info) = (device.uninit([2, 2])?, device.uninit([])?);
    /// let (c, info) = device.blas().matinv(&a, c, info)?.await_result()?;
    /// assert_eq!((device.to_vec(&c)?, device.item(&info)?), (vec![0.5, -0.125, 0.0, 0.25], 0));
    /// # Ok(()) }
    /// ```
    pub fn matinv<'a, T: BlasElement>(
        &self,
        a: impl ReadableTensor<'a, T>,
        c: impl WritableTensor<T>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<(Tensor<T>, Tensor<i32>)> {
        self.invert::<T, false>(&a.into(), None, c.into(), info.into())
    }

    /// As [`matinv`](Self::matinv), of matrices in buffers of their own (`cublas<t>matinvBatched`), all A of one layout, and all C.
    ///
    /// # Errors
    /// As [`matinv`](Self::matinv) and [`getri_batched`](Self::getri_batched); all of `c`, and `info`, come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.tensor([1, 1], [2.0f64])?, device.tensor([1, 1], [4.0])?);
    /// let (c, info) = ([device.uninit([1, 1])?, device.uninit([1, 1])?], device.uninit([2])?);
    /// let (c, info) = device.blas().matinv_batched([&x, &y], c, info)?.await_result()?;
    /// assert_eq!((device.to_vec(&c[1])?, device.to_vec(&info)?), (vec![0.25], vec![0, 0]));
    /// # Ok(()) }
    /// ```
    pub fn matinv_batched<'a, T: BlasElement>(
        &self,
        a: impl IntoIterator<Item: ReadableTensor<'a, T>>,
        c: impl IntoIterator<Item: WritableTensor<T>>,
        info: impl WritableTensor<i32>,
    ) -> Submitted<(Vec<Tensor<T>>, Tensor<i32>)> {
        self.invert_list::<T, false>(&views(a), None, parts(c), info.into())
    }

    fn invert<T: BlasElement, const FACTORED: bool>(
        &self,
        a: &TensorRef<'_, T>,
        pivots: Option<&TensorRef<'_, i32>>,
        c: Part<T>,
        info: Part<i32>,
    ) -> Submitted<(Tensor<T>, Tensor<i32>)> {
        let made = a.operand().and_then(|(a, of_a)| {
            let (pivots, of_pivots) = pivots.map(TensorRef::operand).transpose()?.unzip();
            let ((of_a, batch), (of_c, _)) = (batch_of("a", &of_a)?, batch_of("c", c.layout())?);
            let numbers = (of_pivots.as_ref(), info.layout());
            let (lu, c) = inverses((&of_a, of_a.count), (&of_c, of_c.count), batch, numbers)?;
            Ok((Invert::<T, Even, FACTORED>(lu, c, PhantomData), (a, pivots)))
        });
        let ((c, of_c), (info, of_info)) = (c.window(), info.window());
        self.writes_windows(made, (c, info), |(c, info)| (of_c.tensor(c), of_info.tensor(info)))
    }

    fn invert_list<T: BlasElement, const FACTORED: bool>(
        &self,
        a: &[TensorRef<'_, T>],
        pivots: Option<&TensorRef<'_, i32>>,
        c: Vec<Part<T>>,
        info: Part<i32>,
    ) -> Submitted<(Vec<Tensor<T>>, Tensor<i32>)> {
        let read = spread::read("a", a, c.len());
        let made = read.as_ref().map_err(Clone::clone).and_then(|(parts, of_a)| {
            let (pivots, of_pivots) = pivots.map(TensorRef::operand).transpose()?.unzip();
            let of_c = spread::alike("c", c.iter().map(Part::layout))?;
            let numbers = (of_pivots.as_ref(), info.layout());
            let (lu, c) = inverses((of_a, a.len()), (&of_c, c.len()), &[a.len()], numbers)?;
            Ok((Invert::<T, Listed, FACTORED>(lu, c, PhantomData), (&parts[..], pivots)))
        });
        let ((c, of_c), (info, of_info)) = (spread::windows(c), info.window());
        self.writes_windows(made, (c, info), |(c, info)| (spread::tensors(c, of_c), of_info.tensor(info)))
    }
}

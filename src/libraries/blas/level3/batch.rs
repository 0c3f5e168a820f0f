//! What the routines of batches share: counts, distances, arrays of addresses.

use super::super::matrix::span;
use super::super::prelude::*;
#[cfg(feature = "cuda")]
use crate::engines::cuda::Series;
#[cfg(feature = "cuda")]
use smallvec::SmallVec;

/// One operand of a batch.
#[derive(Clone, Copy)]
pub(in crate::libraries::blas) struct Operand {
    pub(in crate::libraries::blas) name: &'static str,
    pub(in crate::libraries::blas) rows: usize,
    pub(in crate::libraries::blas) cols: usize,
    pub(in crate::libraries::blas) ld: usize,
    pub(in crate::libraries::blas) stride: usize,
}

impl Operand {
    /// Checks that `count` matrices lie inside a buffer of `len` elements and, if they are written, do not overlap.
    pub(in crate::libraries::blas) fn check(&self, count: usize, len: usize, written: bool) -> Result<()> {
        let Operand { name, rows, cols, ld, stride } = *self;
        check_size("count", count)?;
        check_size("stride", stride)?;
        if count == 0 {
            return check_matrix(name, rows, 0, ld, len);
        }
        let one = span(rows, cols, ld);
        check_matrix(name, rows, cols, ld, one.unwrap_or(0))?; // checks only the shape
        let one = one.unwrap_or(usize::MAX);
        if written && count > 1 && stride < one {
            return Err(Error::invalid(
                name,
                format!("{count} matrices that span {one} elements each overlap at a distance of {stride}"),
            ));
        }
        match (count - 1).checked_mul(stride).and_then(|last| last.checked_add(one)) {
            _ if one == 0 => Ok(()),
            Some(need) if need <= len => Ok(()),
            need => Err(Error::invalid(
                name,
                format!(
                    "{len} elements do not hold {count} matrices of {rows} x {cols} with a leading dimension of {ld}, \
                     {stride} elements apart, which span {}",
                    need.map_or("more than can be addressed".to_string(), |need| need.to_string())
                ),
            )),
        }
    }

    /// Whether each of `count` matrices ends before the next begins.
    #[cfg(feature = "cuda")]
    fn apart(&self, count: usize) -> bool {
        count <= 1 || span(self.rows, self.cols, self.ld).is_some_and(|one| one <= self.stride)
    }

    /// Whether `count` matrices leave no gaps and fill a buffer of `len` elements.
    pub(in crate::libraries::blas) fn fills(&self, count: usize, len: usize) -> bool {
        let one = self.rows.checked_mul(self.cols);
        let gapless = (self.ld == self.rows || self.cols <= 1) && (Some(self.stride) == one || count <= 1);
        gapless && one.and_then(|one| one.checked_mul(count)) == Some(len)
    }

    /// The addresses of `count` matrices of `T`, from `at` on. Not for matrices without elements, of which there may be
    /// more than memory holds addresses for.
    #[cfg(feature = "cuda")]
    pub(in crate::libraries::blas) fn places<T>(&self, count: usize, at: u64) -> Places {
        // The matrices lie inside a buffer, so only an unused distance can overflow: of one matrix, or of matrices
        // without elements.
        let step = (self.stride as u64).wrapping_mul(size_of::<T>() as u64);
        Places::Even(Series { first: at, step }, count)
    }
}

/// The addresses at which matrices begin.
#[cfg(feature = "cuda")]
pub(in crate::libraries::blas) enum Places {
    /// At even distances, in one buffer.
    Even(Series, usize),
    Each(SmallVec<[u64; 16]>),
}

#[cfg(feature = "cuda")]
impl Places {
    pub(super) fn len(&self) -> usize {
        match self {
            Places::Even(_, count) => *count,
            Places::Each(all) => all.len(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        let (series, listed) = match self {
            Places::Even(series, _) => (*series, [].as_slice()),
            Places::Each(all) => (Series::default(), all.as_slice()),
        };
        let even = self.len() - listed.len();
        let at = move |i: u64| series.first.wrapping_add(i.wrapping_mul(series.step));
        listed.iter().copied().chain((0..even as u64).map(at))
    }
}

/// Checks a number that the library takes as a 32-bit integer.
pub(super) fn check_int(name: &'static str, value: usize) -> Result<()> {
    if i32::try_from(value).is_err() {
        return Err(Error::invalid(name, format!("{value} does not fit the library's 32-bit integers")));
    }
    Ok(())
}

#[cfg(feature = "cuda")]
impl<R: super::super::routine::Routine> super::super::routine::Queue<'_, '_, R> {
    /// Arrays with the addresses of matrices, equally many in each, in device memory for this dispatch: one table for
    /// all arrays.
    pub(super) fn arrays<const N: usize>(&mut self, arrays: [&Places; N]) -> Result<[*const std::ffi::c_void; N]> {
        let mut series = SmallVec::<[Series; 3]>::new();
        let (mut count, mut gathered) = (0, false);
        for array in arrays {
            match array {
                Places::Even(even, _) => series.push(*even),
                Places::Each(_) => gathered = true,
            }
            count = array.len();
        }
        let at = match gathered {
            false => self.even_table(&series, count)?,
            true => self.table(|words| arrays.iter().for_each(|array| words.extend(array.iter())))?,
        };
        let mut next = at;
        Ok(arrays.map(|array| {
            let begin = next as *const _;
            next += 8 * array.len() as u64;
            begin
        }))
    }

    /// Copies matrices to scratch, to be written there. Returns the address of the copy, and the layout of the matrices
    /// in it. Matrices that do not overlap in `whole` are copied all at once; others, which share elements or have a
    /// buffer each, one after the other.
    pub(super) fn copies<T: crate::core::element::Element>(
        &mut self,
        of: &Operand,
        from: &Places,
        whole: Option<&crate::core::buffer::Span<T>>,
    ) -> Result<(u64, Operand)> {
        let overflow = || Error::invalid(of.name, format!("copies of {} matrices overflow", from.len()));
        if let Some(whole) = whole.filter(|_| of.apart(from.len())) {
            let bytes = whole.len().checked_mul(size_of::<T>()).ok_or_else(overflow)?;
            let copy = self.scratch(bytes)?;
            // SAFETY: all of an operand, to scratch of its length.
            unsafe { self.copy(copy, whole.address(), bytes) }?;
            return Ok((copy, *of));
        }
        let stride = of.rows.checked_mul(of.cols).ok_or_else(overflow)?;
        let bytes = stride.checked_mul(from.len()).and_then(|all| all.checked_mul(size_of::<T>()));
        let (copy, dense) = (self.scratch(bytes.ok_or_else(overflow)?)?, Operand { ld: of.rows, stride, ..*of });
        let [line, ld] = [of.rows, of.ld].map(|elements| elements.saturating_mul(size_of::<T>()));
        for (to, from) in dense.places::<T>(from.len(), copy).iter().zip(from.iter()) {
            // SAFETY: the matrices lie in their operands (checked) and, without gaps, in scratch that was made for them.
            unsafe { self.copy_columns((to, line), (from, ld), line, of.cols) }?;
        }
        Ok((copy, dense))
    }
}

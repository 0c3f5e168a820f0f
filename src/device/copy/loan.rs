//! Lends a slice to work in flight: read in place while the call that borrowed it lasts, copied if the work needs it
//! longer.

use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::op::raw;
use crate::core::parallel;
use crate::core::sync::{Arc, Mutex};

/// The data that the work of an upload reads. The work reads under the lock, and [`Lender`] removes the slice under the
/// same lock. So the slice is read only while its lender exists.
pub(super) enum Loan<T> {
    /// The caller's elements: pointer and number.
    Slice(*const T, usize),
    /// A copy of them.
    Copied(Vec<T>),
    /// No data: the call panicked, or there was no memory for the copy.
    Ended(Error),
}

// SAFETY: a shared slice of elements, which are plain data, may be read from any thread; `Loan` says above when it may
// be read.
unsafe impl<T: Element> Send for Loan<T> {}

impl<T: Element> Loan<T> {
    /// Fills `target` of the same length.
    pub(super) fn copy_to(&mut self, target: &mut [T]) -> Result<()> {
        match self {
            // SAFETY: pointer and length are of a slice; its lender, which borrows the slice, removes it before the
            // borrow ends.
            Loan::Slice(at, len) => parallel::copy_slice(unsafe { std::slice::from_raw_parts(*at, *len) }, target),
            Loan::Copied(data) => {
                let data = std::mem::take(data);
                parallel::copy_slice(&data, target);
                crate::core::buffer::recycle(data);
            }
            Loan::Ended(error) => return Err(error.clone()),
        }
        Ok(())
    }
}

/// Lends a slice to work in flight, until this is dropped.
pub(super) struct Lender<'a, T: Element> {
    data: &'a [T],
    loan: Arc<Mutex<Loan<T>>>,
}

impl<'a, T: Element> Lender<'a, T> {
    pub(super) fn new(data: &'a [T]) -> Self {
        Lender { data, loan: Arc::new(Mutex::new(Loan::Slice(data.as_ptr(), data.len()))) }
    }

    /// The loan, for the work.
    pub(super) fn loan(&self) -> Arc<Mutex<Loan<T>>> {
        self.loan.clone()
    }

    /// Replaces the slice by a copy, unless the work is done.
    pub(super) fn end(self) {
        if Arc::strong_count(&self.loan) > 1 {
            let mut loan = self.loan.lock();
            if matches!(*loan, Loan::Slice(..)) {
                *loan = raw::copied(self.data).map_or_else(Loan::Ended, Loan::Copied);
            }
        }
    }
}

impl<T: Element> Drop for Lender<'_, T> {
    fn drop(&mut self) {
        let mut loan = self.loan.lock();
        if matches!(*loan, Loan::Slice(..)) {
            *loan = Loan::Ended(Error::library("the upload call panicked before its data was copied"));
        }
    }
}

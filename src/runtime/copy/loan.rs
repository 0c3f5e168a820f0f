//! A slice that is read in place for as long as the call that borrowed it lasts, and copied when that is not enough.

use super::parallel;
use crate::sync::{Arc, Mutex};
use crate::{Element, Error, Result};

/// What the work of an upload finds. It reads under the lock, and [`Lender`] takes the slice out under it: so the slice is
/// read only while its lender is there.
pub(super) enum Loan<T> {
    /// The caller's elements: where they begin, and how many they are.
    Slice(*const T, usize),
    /// A copy of them.
    Copied(Vec<T>),
    /// There are none: the call ended by a panic, or there was no memory for the copy.
    Ended(Error),
}

// SAFETY: a shared slice of elements, which are plain data, may be read from any thread; who may read it when is said above.
unsafe impl<T: Element> Send for Loan<T> {}

impl<T: Element> Loan<T> {
    /// Fills `target` of the same length.
    pub(super) fn copy_to(&mut self, target: &mut [T]) -> Result<()> {
        match self {
            // SAFETY: it is a slice, and its lender, which borrows it, takes it away before it goes.
            Loan::Slice(at, len) => parallel::copy_slice(unsafe { std::slice::from_raw_parts(*at, *len) }, target),
            Loan::Copied(data) => {
                let data = std::mem::take(data);
                parallel::copy_slice(&data, target);
                crate::buffer::recycle(data);
            }
            Loan::Ended(error) => return Err(error.clone()),
        }
        Ok(())
    }
}

/// Who lends a slice to work in flight, and has it back when this is dropped.
pub(super) struct Lender<'a, T: Element> {
    data: &'a [T],
    loan: Arc<Mutex<Loan<T>>>,
}

impl<'a, T: Element> Lender<'a, T> {
    pub(super) fn new(data: &'a [T]) -> Self {
        Lender { data, loan: Arc::new(Mutex::new(Loan::Slice(data.as_ptr(), data.len()))) }
    }

    /// For the work.
    pub(super) fn loan(&self) -> Arc<Mutex<Loan<T>>> {
        self.loan.clone()
    }

    /// Leaves a copy, unless the work is done.
    pub(super) fn end(self) {
        if Arc::strong_count(&self.loan) > 1 {
            let mut loan = self.loan.lock();
            if matches!(*loan, Loan::Slice(..)) {
                *loan = parallel::copied(self.data).map_or_else(Loan::Ended, Loan::Copied);
            }
        }
    }
}

impl<T: Element> Drop for Lender<'_, T> {
    fn drop(&mut self) {
        let mut loan = self.loan.lock();
        if matches!(*loan, Loan::Slice(..)) {
            *loan = Loan::Ended(Error::library("the call that lent the data panicked"));
        }
    }
}

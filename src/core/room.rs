//! Host memory of a size that the caller chose: taken so that a lack of it is [`Error::OutOfMemory`], never an abort.
//!
//! `vec!`, `with_capacity`, `collect` and `to_vec` end the process if the allocator refuses, and panic if the size
//! overflows. In fronts and host halves use these functions for everything whose size follows from a shape, a batch
//! count or a file.
//!
//! Arithmetic deep inside a host half (a recursion, a closure on another thread of the pool) returns numbers, not
//! results. There [`OrUnwind::or_unwind`] carries the error to the frame that contains the operation
//! ([`contained`](crate::op::contained)), through rayon, as an unwinding without the panic hook. With `panic = "abort"` the process
//! ends there, as with `vec!`.

use crate::core::error::{Error, Result, Unwinding};
use crate::core::harsh;
use std::alloc::Layout;

/// The error for `bytes` bytes of host memory that the allocator refused.
pub(crate) fn out_of_memory(bytes: usize) -> Error {
    let (requested, total) = (bytes as u64, crate::core::machine::total_memory());
    Error::out_of_memory(requested, [0, total, total])
}

/// An empty vector with space for `n` elements: pushing these allocates nothing.
pub(crate) fn with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, n)?;
    Ok(all)
}

/// Makes space for `n` more elements, and for no others.
pub(crate) fn reserve<T>(all: &mut Vec<T>, n: usize) -> Result<()> {
    let bytes = all.len().saturating_add(n).saturating_mul(size_of::<T>());
    all.try_reserve_exact(n).map_err(|_| out_of_memory(bytes))?;
    harsh::spoil_spare(all);
    Ok(())
}

/// `n` elements of one value.
pub(crate) fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut all = with_capacity(n)?;
    all.resize(n, value);
    Ok(all)
}

/// `n` zeros. A large vector is memory that the system provides zeroed, which is not written before its first use.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(n: usize) -> Result<Vec<T>> {
    bytemuck::try_zeroed_vec(n).map_err(|()| out_of_memory(n.saturating_mul(size_of::<T>())))
}

/// Extends to `n` elements, unless there are as many.
pub(crate) fn grown<T: Clone>(all: &mut Vec<T>, n: usize, value: T) -> Result<()> {
    if let Some(more) = n.checked_sub(all.len()).filter(|more| *more > 0) {
        reserve(all, more)?;
        all.resize(n, value);
    }
    Ok(())
}

/// As [`grown`], for values that are made one by one.
pub(crate) fn grown_with<T>(all: &mut Vec<T>, n: usize, make: impl FnMut() -> T) -> Result<()> {
    if let Some(more) = n.checked_sub(all.len()).filter(|more| *more > 0) {
        reserve(all, more)?;
        all.resize_with(n, make);
    }
    Ok(())
}

/// An array on the heap.
pub(crate) fn array<T: Clone, const N: usize>(value: T) -> Result<Box<[T; N]>> {
    // Cannot fail for the length: it is N.
    filled(N, value)?.into_boxed_slice().try_into().map_err(|_| out_of_memory(N.saturating_mul(size_of::<T>())))
}

/// A value on the heap.
pub(crate) fn boxed<T>(value: T) -> Result<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Ok(Box::new(value)); // allocates nothing
    }
    // SAFETY: the size is not 0.
    let at = unsafe { std::alloc::alloc(layout) }.cast::<T>();
    if at.is_null() {
        return Err(out_of_memory(layout.size()));
    }
    // SAFETY: memory of the global allocator with the layout of T, which nothing else has; the value is written before
    // the box exists.
    unsafe {
        at.write(value);
        Ok(Box::from_raw(at))
    }
}

/// A copy.
pub(crate) fn copied<T: Clone>(from: &[T]) -> Result<Vec<T>> {
    let mut all = with_capacity(from.len())?;
    all.extend_from_slice(from);
    Ok(all)
}

/// The items of an iterator. It takes memory by the lower bound of the iterator's size, and more as items come.
pub(crate) fn collected<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut all = with_capacity(items.size_hint().0)?;
    for item in items {
        push(&mut all, item)?;
    }
    Ok(all)
}

/// Adds an element, in amortised constant time.
pub(crate) fn push<T>(all: &mut Vec<T>, item: T) -> Result<()> {
    if all.len() == all.capacity() {
        let bytes = all.len().saturating_mul(2).max(1).saturating_mul(size_of::<T>());
        all.try_reserve(1).map_err(|_| out_of_memory(bytes))?;
    }
    all.push(item);
    Ok(())
}

/// Adds all items, as [`push`] does.
pub(crate) fn extend<T>(all: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Result<()> {
    items.into_iter().try_for_each(|item| push(all, item))
}

/// Takes `bytes` bytes and gives them back: before a call of other code that takes about as many and would abort.
pub(crate) fn probe(bytes: usize) -> Result<()> {
    let probe: Vec<u8> = with_capacity(bytes)?;
    // Otherwise the compiler may remove the allocation.
    std::hint::black_box(probe);
    Ok(())
}

/// Ends a host half with the error of a result.
pub(crate) trait OrUnwind<T> {
    /// The value. An error unwinds to the frame that contains the operation, which returns it. Only for code that runs
    /// inside an operation.
    fn or_unwind(self) -> T;
}

impl<T> OrUnwind<T> for Result<T> {
    fn or_unwind(self) -> T {
        self.unwrap_or_else(|error| unwind(error))
    }
}

#[cold]
fn unwind(error: Error) -> ! {
    std::panic::resume_unwind(Box::new(Unwinding(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_out_of_memory_with_the_bytes_wanted() {
        let wanted = |result: Result<Vec<f64>>| match result {
            Err(Error::OutOfMemory { requested, .. }) => requested,
            other => panic!("{other:?}"),
        };
        // More than any address space has; then more than a size can say.
        assert_eq!(wanted(filled(1 << 58, 0.0)), 1 << 61);
        assert_eq!(wanted(zeroed(1 << 58)), 1 << 61);
        assert_eq!(wanted(with_capacity(usize::MAX)), u64::MAX);
        assert_eq!(wanted(collected((0..1usize << 60).map(|i| i as f64))), 1 << 63);
        assert!(probe(1 << 61).is_err());
        let mut some = filled(2, 1.0).unwrap();
        assert!(grown(&mut some, 1 << 59, 0.0).is_err() && some == [1.0, 1.0]);
    }

    #[test]
    fn an_error_comes_through_the_frames_of_arithmetic() {
        let deep = || -> Result<usize> {
            let (a, b) = rayon::join(|| 1, || filled(usize::MAX, 0u8).or_unwind().len());
            Ok(a + b)
        };
        assert!(matches!(
            std::panic::catch_unwind(deep).map_err(|panic| Error::panicked(&*panic)).flatten(),
            Err(Error::OutOfMemory { requested: u64::MAX, .. })
        ));
    }
}

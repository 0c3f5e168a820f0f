//! Memory for what a call computes in between: used again by the next call, and zeroed by all threads.

use super::Real;
use crate::core::buffer::{recycle, recycled};
use crate::core::error::Result;
use crate::core::room;
use crate::numerics::parallel::{Parts, each_part};
use std::mem::{MaybeUninit, take};
use std::ops::{Deref, DerefMut};

/// Elements that are given back to be used again.
pub(in super::super) struct Scratch<A: Real>(Vec<A>);

impl<A: Real> Scratch<A> {
    /// `len` elements in parts of a size, which are zeros until `make` makes them.
    pub(in super::super) fn new(len: usize, size: usize, make: &(dyn Fn(usize, &mut [A]) + Sync)) -> Result<Self> {
        let mut all: Vec<A> = match recycled(len) {
            Some(all) => all,
            None => room::with_capacity(len)?,
        };
        let room = all.spare_capacity_mut().get_mut(..len).unwrap_or_default();
        each_part(room, Parts::with_size(size), &|part, to| {
            to.fill(MaybeUninit::new(A::default()));
            // SAFETY: the elements have just been written.
            make(part, unsafe { &mut *(std::ptr::from_mut(to) as *mut [A]) });
        });
        // SAFETY: so many elements have been written, part by part.
        unsafe { all.set_len(len) };
        Ok(Scratch(all))
    }
}

impl<A: Real> Deref for Scratch<A> {
    type Target = [A];

    fn deref(&self) -> &[A] {
        &self.0
    }
}

impl<A: Real> DerefMut for Scratch<A> {
    fn deref_mut(&mut self) -> &mut [A] {
        &mut self.0
    }
}

impl<A: Real> Drop for Scratch<A> {
    fn drop(&mut self) {
        recycle(take(&mut self.0));
    }
}

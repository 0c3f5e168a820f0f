//! Memory for what a call computes in between, which is used again: what all threads see, and what one thread needs for a block.

use super::Real;
use crate::core::buffer::{recycle, recycled};
use crate::core::error::Result;
use crate::core::harsh;
use crate::core::room;
use crate::numerics::parallel::{Parts, each_part};
use std::cell::RefCell;
use std::mem::{MaybeUninit, take};
use std::ops::{Deref, DerefMut};

/// Of the vectors that a thread keeps, the longest in parts of 64 bytes, and their number.
const LONGEST: usize = 1 << 15;
const MOST: usize = 2;

thread_local! {
    /// What blocks have given back. Taking it from the system again for each block costs more than the block.
    static KEPT: RefCell<Vec<Vec<[u64; 8]>>> = const { RefCell::new(Vec::new()) };
}

/// Elements for a block, of any values.
pub(in super::super) fn lent<A: Real>(len: usize, work: impl FnOnce(&mut [A]) -> Result<()>) -> Result<()> {
    let mut own = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
    room::grown(&mut own, len.div_ceil(64 / size_of::<A>()), [0; 8])?;
    harsh::spoil_values(&mut own);
    let done = work(bytemuck::cast_slice_mut(&mut own).get_mut(..len).unwrap_or_default());
    KEPT.with_borrow_mut(|kept| match kept.len() < MOST && own.len() <= LONGEST {
        true => room::push(kept, own),
        false => Ok(()),
    })?;
    done
}

/// Elements that are given back to be used again.
pub(in super::super) struct Scratch<A: Real>(Vec<A>);

impl<A: Real> Scratch<A> {
    /// `len` elements in parts of a size, which are zeros until `make` makes them.
    pub(in super::super) fn new(len: usize, size: usize, make: &(dyn Fn(usize, &mut [A]) + Sync)) -> Result<Self> {
        let mut all: Vec<A> = match recycled(len) {
            Some(all) => all,
            None => room::with_capacity(len)?,
        };
        harsh::spoil_spare(&mut all);
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

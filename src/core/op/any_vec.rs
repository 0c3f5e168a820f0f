//! A vector without the type of its elements.

use crate::core::element::Element;
use std::alloc::{Layout, dealloc};
use std::any::TypeId;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A vector of elements without their type. It becomes a vector of that type again without a copy.
#[doc(hidden)]
pub struct AnyVec {
    at: NonNull<u8>,
    len: usize,
    capacity: usize,
    element: Layout,
    id: TypeId,
}

// SAFETY: it owns its elements, which are plain numbers.
unsafe impl Send for AnyVec {}

impl AnyVec {
    pub(crate) fn new<T: Element>(data: Vec<T>) -> Self {
        let mut data = ManuallyDrop::new(data);
        let (len, capacity) = (data.len(), data.capacity());
        // SAFETY: the pointer of a vector is never null.
        let at = unsafe { NonNull::new_unchecked(data.as_mut_ptr()) }.cast();
        AnyVec { at, len, capacity, element: Layout::new::<T>(), id: TypeId::of::<T>() }
    }

    /// The vector; `None` if its elements are of another type.
    pub(crate) fn into_vec<T: Element>(self) -> Option<Vec<T>> {
        if self.id != TypeId::of::<T>() {
            return None;
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: these are the parts of a vector of this type, which `new` took apart.
        Some(unsafe { Vec::from_raw_parts(this.at.cast().as_ptr(), this.len, this.capacity) })
    }

    /// The bytes of its elements.
    #[cfg(target_os = "linux")]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: so many elements lie there; each byte of an element is initialised, for elements are plain numbers.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len * self.element.size()) }
    }
}

impl Drop for AnyVec {
    fn drop(&mut self) {
        let bytes = self.capacity * self.element.size();
        if bytes > 0 {
            // SAFETY: the memory of a vector with this capacity and element type: the allocator was asked for exactly that.
            // Elements have no drop of their own.
            unsafe { dealloc(self.at.as_ptr(), Layout::from_size_align_unchecked(bytes, self.element.align())) };
        }
    }
}

impl std::fmt::Debug for AnyVec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyVec({} elements of {} bytes)", self.len, self.element.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_comes_back_where_it_was_and_only_by_its_type() {
        let data = vec![1.0f64, 2.0, 3.0];
        let at = data.as_ptr();
        let back = AnyVec::new(data).into_vec::<f64>().unwrap();
        assert_eq!((back.as_ptr(), &back[..]), (at, &[1.0, 2.0, 3.0][..]));
        assert!(AnyVec::new(back).into_vec::<u64>().is_none(), "and it is freed");
        assert!(AnyVec::new(Vec::<u16>::new()).into_vec::<u16>().unwrap().is_empty());
        #[cfg(target_os = "linux")]
        assert_eq!(AnyVec::new(vec![0x0201u16, 3]).bytes(), [1, 2, 3, 0]);
        drop(AnyVec::new(Vec::<u64>::with_capacity(9)));
    }
}

//! An operation without its type, as far as no engine has to be known for it.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A reference to an operation without its type.
#[derive(Clone, Copy)]
pub(crate) struct AnyOp<'a> {
    at: NonNull<u8>,
    /// (`TypeId::of` is a constant only from Rust 1.91 on.)
    id: fn() -> TypeId,
    _borrow: PhantomData<&'a ()>,
}

impl<'a> AnyOp<'a> {
    /// # Safety
    /// At `at` lies a value of the type that `id` identifies. It is borrowed for `'a`.
    #[inline]
    pub(crate) unsafe fn new(at: NonNull<u8>, id: fn() -> TypeId) -> Self {
        AnyOp { at, id, _borrow: PhantomData }
    }

    /// What a task without an operation has in its place.
    pub(crate) fn none() -> Self {
        AnyOp { at: NonNull::dangling(), id: TypeId::of::<()>, _borrow: PhantomData }
    }

    #[inline]
    pub(crate) fn id(self) -> TypeId {
        (self.id)()
    }

    pub(crate) fn address(self) -> NonNull<u8> {
        self.at
    }

    /// The operation, if it is of this type.
    #[inline]
    pub(crate) fn downcast<T: 'static>(self) -> Option<&'a T> {
        // SAFETY: the type is the one that was promised; of `()` nothing is read.
        (self.id() == TypeId::of::<T>()).then(|| unsafe { self.at.cast().as_ref() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_found_by_its_own_type_only() {
        let value = 7u32;
        // SAFETY: the type is that of the value, which outlives the reference.
        let any = unsafe { AnyOp::new(NonNull::from(&value).cast(), TypeId::of::<u32>) };
        assert_eq!((any.downcast::<u32>(), any.downcast::<i32>()), (Some(&7), None));
        assert_eq!((AnyOp::none().downcast::<u32>(), AnyOp::none().downcast::<()>()), (None, Some(&())));
    }
}

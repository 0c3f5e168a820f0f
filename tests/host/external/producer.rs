//! A producer and a consumer of managed tensors that know nothing of the library: the structs as the ABI has them.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass::dlpack::{Dlpack, DlpackForm};

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) data: *mut c_void,
    pub(super) device: (i32, i32),
    pub(super) rank: i32,
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
    pub(super) extents: *mut i64,
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

#[repr(C)]
pub(super) struct Old {
    pub(super) view: View,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Old)>,
}

#[repr(C)]
pub(super) struct New {
    pub(super) version: (u32, u32),
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut New)>,
    pub(super) flags: u64,
    pub(super) view: View,
}

/// What a test's managed tensor is made of.
pub(super) struct Made {
    pub(super) view: View,
    pub(super) extents: Vec<i64>,
    pub(super) strides: Option<Vec<i64>>,
    pub(super) data: Vec<f32>,
    pub(super) flags: u64,
    pub(super) version: u32,
    pub(super) deleted: Arc<AtomicUsize>,
}

impl Made {
    /// A row-major tensor of `f32` on the CPU.
    pub(super) fn new(extents: &[i64], data: Vec<f32>) -> Self {
        let none = std::ptr::null_mut();
        let view = View {
            data: none,
            device: (1, 0),
            rank: extents.len() as i32,
            code: 2,
            bits: 32,
            lanes: 1,
            extents: none.cast(),
            strides: none.cast(),
            byte_offset: 0,
        };
        let deleted = Arc::default();
        Made { view, extents: extents.to_vec(), strides: None, data, flags: 0, version: 1, deleted }
    }

    /// With its first element at `offset`, and strides, both in elements.
    pub(super) fn strided(mut self, offset: u64, strides: &[i64]) -> Self {
        self.view.byte_offset = 4 * offset;
        self.strides = Some(strides.to_vec());
        self
    }

    pub(super) fn change(mut self, change: impl FnOnce(&mut View)) -> Self {
        change(&mut self.view);
        self
    }

    /// The managed tensor. What a test has put into `data` stays.
    pub(super) fn managed(mut self, form: DlpackForm) -> Dlpack {
        if self.view.data.is_null() && !self.data.is_empty() {
            self.view.data = self.data.as_mut_ptr().cast();
        }
        if self.view.rank > 0 {
            self.view.extents = self.extents.as_mut_ptr();
        }
        if let Some(strides) = &mut self.strides {
            self.view.strides = strides.as_mut_ptr();
        }
        let (view, flags, version) = (self.view, self.flags, (self.version, 3));
        let context = Box::into_raw(Box::new(self)).cast();
        let at = match form {
            DlpackForm::Versioned => {
                let managed = New { version, context, deleter: Some(delete_new), flags, view };
                Box::into_raw(Box::new(managed)).cast()
            }
            DlpackForm::Legacy => Box::into_raw(Box::new(Old { view, context, deleter: Some(delete_old) })).cast(),
        };
        // SAFETY: filled in, and nobody else has it.
        unsafe { Dlpack::from_raw(form, NonNull::new(at).unwrap()) }
    }
}

unsafe extern "C" fn delete_new(at: *mut New) {
    // SAFETY: made by `managed`, and called once.
    let managed = unsafe { Box::from_raw(at) };
    // SAFETY: as above.
    unsafe { Box::from_raw(managed.context.cast::<Made>()) }.deleted.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn delete_old(at: *mut Old) {
    // SAFETY: as above.
    let managed = unsafe { Box::from_raw(at) };
    // SAFETY: as above.
    unsafe { Box::from_raw(managed.context.cast::<Made>()) }.deleted.fetch_add(1, Ordering::SeqCst);
}

/// A consumer: what it sees of a managed tensor, which it deletes when it is dropped.
pub(super) struct Consumer {
    form: DlpackForm,
    at: NonNull<c_void>,
}

// SAFETY: a managed tensor belongs to no thread.
unsafe impl Send for Consumer {}

impl Consumer {
    pub(super) fn new(dlpack: Dlpack) -> Self {
        Consumer { form: dlpack.form(), at: dlpack.into_raw() }
    }

    pub(super) fn view(&self) -> View {
        // SAFETY: alive until the deleter is called.
        unsafe {
            match self.form {
                DlpackForm::Versioned => (*self.at.cast::<New>().as_ptr()).view,
                DlpackForm::Legacy => (*self.at.cast::<Old>().as_ptr()).view,
            }
        }
    }

    pub(super) fn flags(&self) -> ((u32, u32), u64) {
        assert_eq!(self.form, DlpackForm::Versioned);
        // SAFETY: as above.
        unsafe { ((*self.at.cast::<New>().as_ptr()).version, (*self.at.cast::<New>().as_ptr()).flags) }
    }

    /// Extents and strides.
    pub(super) fn shape(&self) -> (Vec<i64>, Vec<i64>) {
        let view = self.view();
        // SAFETY: as many as there are axes.
        let numbers = |at: *mut i64| unsafe { std::slice::from_raw_parts(at, view.rank as usize) }.to_vec();
        if view.rank == 0 { (vec![], vec![]) } else { (numbers(view.extents), numbers(view.strides)) }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // SAFETY: it owns the managed tensor.
        unsafe {
            match self.form {
                DlpackForm::Versioned => {
                    let at = self.at.cast::<New>().as_ptr();
                    (*at).deleter.unwrap()(at);
                }
                DlpackForm::Legacy => {
                    let at = self.at.cast::<Old>().as_ptr();
                    (*at).deleter.unwrap()(at);
                }
            }
        }
    }
}

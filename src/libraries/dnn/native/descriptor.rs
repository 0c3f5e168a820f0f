//! The library's descriptors: made, given attributes, finalized, freed.

use super::functions::RawDescriptor;
use super::handle::{Cudnn, Functions};
use crate::core::error::{Error, Result};
use crate::engines::cuda::{Native, PlanBuilder};
use crate::engines::library::{Code, CudaLibrary, name, status_error};
use std::ffi::c_void;

/// A call that failed, with the library's reason.
#[derive(Debug)]
pub(super) struct Refused {
    call: &'static str,
    pub(super) code: Code,
    reason: String,
    /// Bytes that were needed, and those that there are.
    memory: Option<[u64; 2]>,
}

impl Refused {
    /// With the reason that the library gives on this thread: to be made at once after the call.
    pub(super) fn new(api: &Functions, call: &'static str, code: Code) -> Self {
        Refused { call, code, reason: api.reason(), memory: None }
    }

    /// With a reason of our own.
    pub(super) fn told(call: &'static str, code: Code, reason: String) -> Self {
        Refused { call, code, reason, memory: None }
    }

    /// For want of memory.
    pub(super) fn needing(call: &'static str, code: Code, needed: u64, free: u64) -> Self {
        let reason = format!("each engine needs a workspace, of {needed} bytes at least, where {free} can be had");
        Refused { call, code, reason, memory: Some([needed, free]) }
    }

    /// An engine that the caller has named does not keep the call's rules.
    pub(super) fn broken_rules(call: &'static str) -> Self {
        Self::told(call, Code(3000), "the engine does not keep the rules of this call, or needs too much memory".into())
    }

    /// The call, with the library's reason.
    pub(super) fn text(&self) -> String {
        match self.reason.is_empty() {
            true => self.call.to_owned(),
            false => format!("{} ({})", self.call, self.reason),
        }
    }

    /// The error of a build.
    pub(super) fn error(&self, builder: &PlanBuilder<'_>) -> Error {
        match self.memory {
            Some([requested, free]) => Error::out_of_memory(requested, [free; 3]),
            None => builder.failure::<Cudnn>(&self.text(), self.code),
        }
    }

    /// The error of a question.
    pub(super) fn plain(&self) -> Error {
        match self.memory {
            Some([requested, free]) => Error::out_of_memory(requested, [free; 3]),
            None => status_error(Cudnn::STATUS, &self.text(), self.code),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.text(), name(Cudnn::STATUS, self.code))
    }
}

/// `cudnnBackendAttributeType_t`, as far as it is needed.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(super) enum Of {
    DataType = 1,
    Boolean = 2,
    Int64 = 3,
    Float = 4,
    Double = 5,
    Pointer = 6,
    ConvolutionMode = 7,
    HeuristicMode = 8,
    KnobType = 9,
    NumericalNote = 11,
    PointwiseMode = 14,
    Descriptor = 15,
    ReductionOperator = 18,
    BehaviorNote = 19,
    Int32 = 23,
    Char = 24,
}

/// A descriptor. Dropping it frees it, which makes no driver call unless it is a plan.
pub(super) struct Descriptor {
    api: &'static Functions,
    raw: Native<RawDescriptor>,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made by the library, and only `self` has it.
        let _ = unsafe { self.api.descriptor_destroy(self.raw.0) };
    }
}

impl Descriptor {
    /// A new one, of `cudnnBackendDescriptorType_t`.
    pub(super) fn new(api: &'static Functions, kind: i32) -> Result<Self, Refused> {
        let mut raw = RawDescriptor::NULL;
        // SAFETY: the place is valid for the write.
        let code = unsafe { api.descriptor_create(kind, &mut raw) };
        code.ok().map_err(|code| Refused::new(api, "cudnnBackendCreateDescriptor", code))?;
        Ok(Descriptor { api, raw: Native(raw) })
    }

    pub(super) fn raw(&self) -> RawDescriptor {
        self.raw.0
    }

    /// The descriptor without its owner, who frees it from now on.
    pub(super) fn into_raw(self) -> Native<RawDescriptor> {
        std::mem::ManuallyDrop::new(self).raw
    }

    /// # Safety
    /// The attribute has elements of `T`, of which the library reads those of the slice.
    unsafe fn set<T>(self, name: i32, of: Of, values: &[T]) -> Result<Self, Refused> {
        let count = values.len() as i64;
        // SAFETY: the descriptor is alive and not finalized; the values are read during the call (the caller's promise).
        let code = unsafe { self.api.attribute_set(self.raw.0, name, of as i32, count, values.as_ptr().cast()) };
        code.ok().map_err(|code| Refused::new(self.api, "cudnnBackendSetAttribute", code))?;
        Ok(self)
    }

    /// Sizes, strides, numbers.
    pub(super) fn ints(self, name: i32, values: &[i64]) -> Result<Self, Refused> {
        // SAFETY: an attribute of 64-bit integers.
        unsafe { self.set(name, Of::Int64, values) }
    }

    /// A member of an enum, or a data type.
    pub(super) fn choice(self, name: i32, of: Of, value: i32) -> Result<Self, Refused> {
        // SAFETY: enums of the header have 32 bits.
        unsafe { self.set(name, of, &[value]) }
    }

    pub(super) fn flag(self, name: i32, value: bool) -> Result<Self, Refused> {
        // SAFETY: a Boolean has one byte.
        unsafe { self.set(name, Of::Boolean, &[u8::from(value)]) }
    }

    pub(super) fn double(self, name: i32, value: f64) -> Result<Self, Refused> {
        // SAFETY: an attribute of doubles.
        unsafe { self.set(name, Of::Double, &[value]) }
    }

    pub(super) fn float(self, name: i32, value: f32) -> Result<Self, Refused> {
        // SAFETY: an attribute of floats.
        unsafe { self.set(name, Of::Float, &[value]) }
    }

    /// Addresses of device memory.
    pub(super) fn pointers(self, name: i32, values: &[u64]) -> Result<Self, Refused> {
        // SAFETY: pointers have 64 bits.
        unsafe { self.set(name, Of::Pointer, values) }
    }

    /// Other descriptors, which are finalized.
    pub(super) fn links(self, name: i32, values: &[&Descriptor]) -> Result<Self, Refused> {
        let raws: Vec<RawDescriptor> = values.iter().map(|descriptor| descriptor.raw.0).collect();
        // SAFETY: an attribute of descriptors, which are alive.
        unsafe { self.set(name, Of::Descriptor, &raws) }
    }

    pub(super) fn text(self, name: i32, text: &[u8]) -> Result<Self, Refused> {
        // Some releases read up to a zero.
        let ended: Vec<u8> = text.iter().copied().chain([0]).collect();
        // SAFETY: an attribute of characters, which lie before a zero.
        unsafe { self.set(name, Of::Char, ended.get(..text.len()).unwrap_or(text)) }
    }

    pub(super) fn finalized(self) -> Result<Self, Refused> {
        // SAFETY: the descriptor is alive, and so are those that it names.
        let code = unsafe { self.api.finalize(self.raw.0) };
        code.ok().map_err(|code| Refused::new(self.api, "cudnnBackendFinalize", code))?;
        Ok(self)
    }

    /// Reads at most `values.len()` elements; returns their number.
    ///
    /// # Safety
    /// The attribute has elements of `T`.
    unsafe fn get<T>(&self, name: i32, of: Of, values: &mut [T]) -> Result<usize, Refused> {
        let (room, mut count) = (values.len() as i64, 0);
        let place: *mut c_void = values.as_mut_ptr().cast();
        // SAFETY: the descriptor is alive; there is room for as many elements as are asked for (the caller's promise).
        let code = unsafe { self.api.attribute(self.raw.0, name, of as i32, room, &mut count, place) };
        code.ok().map_err(|code| Refused::new(self.api, "cudnnBackendGetAttribute", code))?;
        Ok(usize::try_from(count).unwrap_or(0).min(values.len()))
    }

    /// A number.
    pub(super) fn int(&self, name: i32) -> Result<i64, Refused> {
        let mut value = [0i64];
        // SAFETY: an attribute of 64-bit integers.
        unsafe { self.get(name, Of::Int64, &mut value) }?;
        Ok(value[0])
    }

    /// A member of an enum.
    pub(super) fn kind(&self, name: i32, of: Of) -> Result<i32, Refused> {
        let mut value = [0i32];
        // SAFETY: enums of the header have 32 bits.
        unsafe { self.get(name, of, &mut value) }?;
        Ok(value[0])
    }

    /// A text, of which the library tells the length first.
    pub(super) fn bytes(&self, name: i32) -> Result<Vec<u8>, Refused> {
        let mut count = 0;
        // SAFETY: the descriptor is alive; nothing is written but the length.
        let code =
            unsafe { self.api.attribute(self.raw.0, name, Of::Char as i32, 0, &mut count, std::ptr::null_mut()) };
        code.ok().map_err(|code| Refused::new(self.api, "cudnnBackendGetAttribute", code))?;
        let mut text = vec![0u8; usize::try_from(count).unwrap_or(0)];
        // SAFETY: an attribute of characters.
        let count = unsafe { self.get(name, Of::Char, &mut text) }?;
        text.truncate(count);
        while text.last() == Some(&0) {
            text.pop();
        }
        Ok(text)
    }

    /// A set of members of an enum, as the bits of their numbers.
    pub(super) fn notes(&self, name: i32, of: Of) -> Result<u64, Refused> {
        let mut values = [0i32; 32];
        // SAFETY: enums of the header have 32 bits.
        let count = unsafe { self.get(name, of, &mut values) }?;
        let known = values.iter().take(count).filter(|note| (0..64).contains(*note));
        Ok(known.fold(0, |all, note| all | 1 << note))
    }

    /// Other descriptors of a kind, at most `most`.
    pub(super) fn linked(&self, name: i32, kind: i32, most: usize) -> Result<Vec<Descriptor>, Refused> {
        let mut all = Vec::with_capacity(most);
        for _ in 0..most {
            all.push(Descriptor::new(self.api, kind)?);
        }
        let mut raws: Vec<RawDescriptor> = all.iter().map(|descriptor| descriptor.raw.0).collect();
        // SAFETY: an attribute of descriptors; the library fills those that are passed.
        let count = unsafe { self.get(name, Of::Descriptor, &mut raws) }?;
        all.truncate(count);
        Ok(all)
    }
}

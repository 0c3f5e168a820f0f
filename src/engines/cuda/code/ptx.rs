//! Kernels from PTX text, for ops that bring their own.
//!
//! A [`Ptx`] is loaded into each epoch when it is first launched there, and stays loaded until the epoch's end. So a
//! rebuild needs no special handling. A slot remembers the functions it has launched; finding one again takes no lock
//! and hashes nothing.

use super::LoadedCode;
use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::engines::cuda::Native;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::memory::KERNELS;
use cudarc::driver::sys::CUfunction;
use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

/// PTX source text of one or several kernels; usually a `static`.
#[derive(Debug)]
pub struct Ptx {
    text: &'static str,
    id: OnceLock<u64>,
    #[cfg(debug_assertions)]
    declared: OnceLock<super::ptx_params::Declared>,
}

impl Ptx {
    /// The text of a PTX module.
    pub const fn new(text: &'static str) -> Self {
        Ptx {
            text,
            id: OnceLock::new(),
            #[cfg(debug_assertions)]
            declared: OnceLock::new(),
        }
    }

    #[cfg(debug_assertions)]
    pub(crate) fn declared(&self) -> &super::ptx_params::Declared {
        self.declared.get_or_init(|| super::ptx_params::declared(self.text))
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    /// The names of its kernels.
    fn entries(&self) -> impl Iterator<Item = CString> + '_ {
        let name = |rest: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
            rest.trim_start().split(|c| !is_part(c)).next().filter(|name| !name.is_empty()).map(str::to_owned)
        };
        self.text.split(".entry").skip(1).filter_map(name).filter_map(|name| CString::new(name).ok())
    }

    fn id(&self) -> u64 {
        static IDS: AtomicU64 = AtomicU64::new(0);
        *self.id.get_or_init(|| IDS.fetch_add(1, Ordering::Relaxed))
    }
}

/// One kernel argument of [`Enqueue::launch`](crate::op::Enqueue::launch): a scalar or an operand's address.
#[derive(Clone, Copy, Debug)]
pub struct KernelArg {
    bytes: [u8; 16],
    #[cfg(debug_assertions)]
    size: usize,
}

#[cfg(debug_assertions)]
impl KernelArg {
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl<T: Element> From<T> for KernelArg {
    fn from(value: T) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        KernelArg {
            bytes,
            #[cfg(debug_assertions)]
            size: size_of::<T>(),
        }
    }
}

impl<T: Element> From<Span<T>> for KernelArg {
    fn from(span: Span<T>) -> Self {
        span.address().into()
    }
}

impl From<usize> for KernelArg {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

/// A function that a slot has launched before.
pub(crate) struct Cached {
    module: u64,
    name: *const std::ffi::c_char,
    function: Native<CUfunction>,
}

// SAFETY: `name` is the address of a `'static` string. It is only compared.
unsafe impl Send for Cached {}

impl LoadedCode {
    /// Loads kernels before they are first launched, because loading delays every launch on the GPU. It is only a head
    /// start: errors are ignored here, and the launch of such a kernel reports them.
    pub(crate) fn preload(&self, epoch: &Arc<Epoch>, all: &[&'static Ptx]) {
        const MAX_THREADS: u32 = 0;
        for ptx in [&KERNELS].into_iter().chain(all.iter().copied()) {
            let Ok(text) = CString::new(ptx.text) else { continue };
            crate::engines::worker::shared::first_use::begin();
            let _ = self.inside(epoch, || {
                let module = self.lasting_module(epoch, ptx.id(), &text)?;
                for name in ptx.entries() {
                    let (function, mut value) = (self.find_function(epoch, module, &name)?, 0);
                    // A driver that loads kernels lazily must load this one to answer.
                    // SAFETY: `value` is valid for the write, the module is loaded.
                    let _ = unsafe { self.context.api.func_get_attribute(&mut value, MAX_THREADS, function) };
                }
                Ok(())
            });
        }
    }
}

impl Queue<'_> {
    pub(crate) fn function(&mut self, ptx: &Ptx, name: &'static CStr) -> Result<CUfunction> {
        let id = ptx.id();
        let same = |c: &&Cached| c.module == id && std::ptr::eq(c.name, name.as_ptr());
        if let Some(cached) = self.state.functions.iter().find(same) {
            return Ok(cached.function.0);
        }
        self.not_in_a_graph("a kernel that is not loaded yet")?;
        let text = CString::new(ptx.text).map_err(|_| Error::invalid("ptx", "the text contains a zero byte"))?;
        let module = self.core.code.lasting_module(self.epoch, id, &text)?;
        let function = self.core.code.find_function(self.epoch, module, name)?;
        self.state.functions.push(Cached { module: id, name: name.as_ptr(), function: Native(function) });
        Ok(function)
    }

    /// Launches the kernel `name` of `ptx` on the dispatch's stream.
    ///
    /// # Safety
    /// See [`Enqueue::launch`](crate::op::Enqueue::launch).
    pub(crate) unsafe fn launch(
        &mut self,
        ptx: &'static Ptx,
        name: &'static CStr,
        dims: LaunchDims,
        args: &[KernelArg],
    ) -> Result<()> {
        #[cfg(debug_assertions)]
        super::ptx_params::check(ptx, name, args)?;
        let function = self.function(ptx, name)?;
        // A few in an array: a vector that may grow costs more than the launch of a kernel without arguments.
        let (mut few, mut many) = ([std::ptr::null_mut::<c_void>(); 16], Vec::new());
        let pointers = match few.get_mut(..args.len()) {
            Some(few) => few,
            None => {
                many.resize(args.len(), std::ptr::null_mut());
                &mut many[..]
            }
        };
        for (pointer, arg) in pointers.iter_mut().zip(args) {
            *pointer = arg.bytes.as_ptr().cast_mut().cast();
        }
        let LaunchDims { grid, block, shared } = dims;
        // SAFETY: the pointers are those of the arguments; the caller vouches for the kernel.
        unsafe { self.launch_plain(function, grid, block, shared, pointers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_of_a_text_are_known_by_name() {
        let text = ".version 7.0\n.visible .entry one(.param .u64 x) { ret; }\n.entry  two_2$\n() { ret; }\n.func f();";
        let names: Vec<_> = Ptx::new(text).entries().collect();
        assert_eq!(names, [c"one".to_owned(), c"two_2$".to_owned()]);
        assert_eq!(KERNELS.entries().count(), 3);
    }
}

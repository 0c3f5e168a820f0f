//! What a host twin sees of the buffers.
//!
//! The threads of a kernel share what it writes, and may read an element while another thread writes it: on a GPU that
//! gives one value or the other, in Rust it would be undefined for plain memory. So every element of a written buffer is
//! read and written through relaxed atomics of its own width, which compile to plain moves; a complex number is two of
//! them, as it is two words on the GPU. Nothing orders the accesses of different threads, as nothing does there.

use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::{Element, F8E4M3, F8E5M2};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// The first access past the end of a buffer, of all threads of a launch.
#[derive(Debug, Default)]
pub(super) struct Fault {
    happened: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Fault {
    pub(super) fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> Option<String> {
        self.first.lock().take()
    }

    #[cold]
    fn outside(&self, verb: &str, argument: u32, index: usize, len: usize) {
        let mut first = self.first.lock();
        if first.is_none() && !self.happened.swap(true, Ordering::Relaxed) {
            *first = Some(format!("{verb} element {index} of argument {argument}, which has {len}"));
        }
    }
}

/// A buffer that the kernel reads.
#[derive(Debug)]
pub struct Values<'t, T> {
    data: &'t [T],
    argument: u32,
    fault: &'t Fault,
}

impl<T> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Values<'_, T> {}

impl<'t, T: Element> Values<'t, T> {
    pub(super) fn new(data: &'t [T], argument: u32, fault: &'t Fault) -> Self {
        Values { data, argument, fault }
    }

    /// Element `index`. One past the end fails the launch (and is zero meanwhile).
    #[inline]
    pub fn get(self, index: usize) -> T {
        match self.data.get(index) {
            Some(value) => *value,
            None => {
                self.fault.outside("read", self.argument, index, self.data.len());
                T::zeroed()
            }
        }
    }

    /// All of it.
    pub fn as_slice(self) -> &'t [T] {
        self.data
    }

    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "a view of a buffer, whose length a kernel compares with")]
    pub fn len(self) -> usize {
        self.data.len()
    }
}

/// A buffer that the kernel writes, shared by all of its threads.
///
/// Reading what another thread of the same launch writes gives the old or the new value; see `atomic_update` for sums.
#[derive(Debug)]
pub struct SharedSlice<'t, T> {
    data: *mut T,
    len: usize,
    argument: u32,
    fault: &'t Fault,
    _data: PhantomData<&'t mut [T]>,
}

impl<T> Clone for SharedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedSlice<'_, T> {}

// SAFETY: the elements are accessed through atomics only while views of them exist.
unsafe impl<T: Element> Send for SharedSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for SharedSlice<'_, T> {}

impl<'t, T: Element> SharedSlice<'t, T> {
    /// A view of a buffer that is `len` elements at `data`.
    ///
    /// # Safety
    /// All accesses during `'t` go through such views.
    pub(super) unsafe fn new(data: *mut T, len: usize, argument: u32, fault: &'t Fault) -> Self {
        SharedSlice { data, len, argument, fault, _data: PhantomData }
    }

    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "a view of a buffer, whose length a kernel compares with")]
    pub fn len(self) -> usize {
        self.len
    }

    #[inline]
    fn at(self, verb: &str, index: usize) -> Option<*mut T> {
        if index < self.len {
            // SAFETY: inside the buffer.
            return Some(unsafe { self.data.add(index) });
        }
        self.fault.outside(verb, self.argument, index, self.len);
        None
    }

    /// Element `index`. One past the end fails the launch (and is zero meanwhile).
    #[inline]
    pub fn get(self, index: usize) -> T {
        let Some(at) = self.at("read", index) else { return T::zeroed() };
        let mut value = T::zeroed();
        let words = words::<T>();
        for i in 0..words.count {
            // SAFETY: a word of an element that lies in the buffer, aligned as the element is; all access is atomic.
            // Every bit pattern is a value.
            unsafe {
                words.load(at.cast::<u8>().add(i * words.bytes), (&raw mut value).cast::<u8>().add(i * words.bytes))
            };
        }
        value
    }

    /// Sets element `index`. One past the end fails the launch, and nothing is written.
    #[inline]
    pub fn set(self, index: usize, value: T) {
        let Some(at) = self.at("wrote", index) else { return };
        let words = words::<T>();
        for i in 0..words.count {
            // SAFETY: as in `get`.
            unsafe {
                words.store(at.cast::<u8>().add(i * words.bytes), (&raw const value).cast::<u8>().add(i * words.bytes))
            };
        }
    }

    /// Replaces element `index` by what `f` makes of it, in one step that no other thread comes between, as
    /// `atomicAdd` does. `f` may be called several times.
    #[inline]
    pub fn atomic_update(self, index: usize, f: impl Fn(T) -> T)
    where
        T: OneWord,
    {
        if let Some(at) = self.at("wrote", index) {
            // SAFETY: an element that lies in the buffer; all access is atomic.
            unsafe { T::update(at, f) };
        }
    }
}

/// How an element is made of atomic words: as large as its alignment allows.
#[derive(Clone, Copy)]
struct Words {
    bytes: usize,
    count: usize,
}

const fn words<T>() -> Words {
    let bytes = if align_of::<T>() < 8 { align_of::<T>() } else { 8 };
    Words { bytes, count: size_of::<T>() / bytes }
}

impl Words {
    /// # Safety
    /// `from` is a live, aligned word that is accessed atomically only; `to` is valid for its bytes.
    #[inline]
    unsafe fn load(self, from: *mut u8, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.bytes {
                1 => to.write(AtomicU8::from_ptr(from).load(Ordering::Relaxed)),
                2 => to.cast::<u16>().write_unaligned(AtomicU16::from_ptr(from.cast()).load(Ordering::Relaxed)),
                4 => to.cast::<u32>().write_unaligned(AtomicU32::from_ptr(from.cast()).load(Ordering::Relaxed)),
                _ => to.cast::<u64>().write_unaligned(AtomicU64::from_ptr(from.cast()).load(Ordering::Relaxed)),
            }
        }
    }

    /// # Safety
    /// `to` is a live, aligned word that is accessed atomically only; `from` is valid for its bytes.
    #[inline]
    unsafe fn store(self, to: *mut u8, from: *const u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.bytes {
                1 => AtomicU8::from_ptr(to).store(from.read(), Ordering::Relaxed),
                2 => AtomicU16::from_ptr(to.cast()).store(from.cast::<u16>().read_unaligned(), Ordering::Relaxed),
                4 => AtomicU32::from_ptr(to.cast()).store(from.cast::<u32>().read_unaligned(), Ordering::Relaxed),
                _ => AtomicU64::from_ptr(to.cast()).store(from.cast::<u64>().read_unaligned(), Ordering::Relaxed),
            }
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An element of one machine word: all but the complex ones. Sealed.
pub trait OneWord: Element + sealed::Sealed {
    /// # Safety
    /// `at` is live and accessed atomically only.
    #[doc(hidden)]
    unsafe fn update(at: *mut Self, f: impl Fn(Self) -> Self);
}

macro_rules! one_word { ($($t:ty as $atomic:ident),* $(,)?) => { $(
    impl sealed::Sealed for $t {}
    impl OneWord for $t {
        unsafe fn update(at: *mut Self, f: impl Fn(Self) -> Self) {
            // SAFETY: the caller's promise; the atomic has the element's size and alignment.
            let word = unsafe { $atomic::from_ptr(at.cast()) };
            let step = |bits| Some(bytemuck::cast(f(bytemuck::cast(bits))));
            // Never refused: the step always has an answer.
            let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        }
    }
)* } }
one_word! {
    f32 as AtomicU32, f64 as AtomicU64, half::f16 as AtomicU16, half::bf16 as AtomicU16,
    i8 as AtomicU8, u8 as AtomicU8, i16 as AtomicU16, u16 as AtomicU16, i32 as AtomicU32, u32 as AtomicU32,
    i64 as AtomicU64, u64 as AtomicU64, F8E4M3 as AtomicU8, F8E5M2 as AtomicU8,
}

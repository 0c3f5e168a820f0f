//! The views of buffers that a host twin gets.
//!
//! The threads of a kernel share the buffers that it writes, and may read an element while another thread writes it. On
//! a GPU such a read gives the old or the new value; in Rust it would be undefined behaviour for plain memory. So every
//! element of a written buffer is accessed through relaxed atomics of its own width, which compile to plain moves. A
//! complex number takes two of them, as it takes two words on the GPU. The accesses of different threads have no order,
//! as on a GPU.

use crate::core::element::Element;
use crate::core::fp8::{F8E4M3, F8E5M2};
use crate::core::sync::{AtomicBool, Mutex, Ordering};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// The first access past the end of a buffer, by any thread of a launch.
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

    /// Reads element `index`. An index past the end fails the launch; `get` then returns zero.
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

    /// All elements as a slice.
    pub fn as_slice(self) -> &'t [T] {
        self.data
    }

    /// The number of elements.
    #[expect(clippy::len_without_is_empty, reason = "a view of a buffer, whose length a kernel compares with")]
    pub fn len(self) -> usize {
        self.data.len()
    }
}

/// A buffer that the kernel writes, shared by all of its threads.
///
/// A read of an element that another thread of the same launch writes returns the old or the new value. For sums use
/// `atomic_update`.
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
    /// A view of a buffer of `len` elements at `data`.
    ///
    /// # Safety
    /// All accesses during `'t` go through such views.
    pub(super) unsafe fn new(data: *mut T, len: usize, argument: u32, fault: &'t Fault) -> Self {
        SharedSlice { data, len, argument, fault, _data: PhantomData }
    }

    /// The number of elements.
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

    /// Reads element `index`. An index past the end fails the launch; `get` then returns zero.
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

    /// Replaces element `index` by `f` of its value, as one atomic step, like `atomicAdd`. `f` may be called several
    /// times.
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

/// How an element is divided into atomic words: the largest size that its alignment allows.
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

/// An element of one machine word: all types but the complex ones. Sealed.
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
            // The step always returns a value, so the update cannot be refused.
            let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        }
    }
)* } }
one_word! {
    f32 as AtomicU32, f64 as AtomicU64, half::f16 as AtomicU16, half::bf16 as AtomicU16,
    i8 as AtomicU8, u8 as AtomicU8, i16 as AtomicU16, u16 as AtomicU16, i32 as AtomicU32, u32 as AtomicU32,
    i64 as AtomicU64, u64 as AtomicU64, F8E4M3 as AtomicU8, F8E5M2 as AtomicU8,
}

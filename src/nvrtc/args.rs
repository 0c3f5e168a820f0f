//! The arguments of a launch, in the order of the kernel's parameters.

use crate::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::{DType, DeviceBuffer, Element, Error, GpuRef, In, Result};
use bytemuck::{NoUninit, Pod};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A plain `#[repr(C)]` struct, passed by value: as an argument, and as a parameter of a [`Signature`](super::Signature).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<S>(pub S);

/// A device address, passed as it is. Nothing keeps alive what it points at, and nothing orders its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

/// The number of elements, for kernels that take it beside their buffers: filled in from the buffers of the launch, which
/// must all have as many. A parameter of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Len;

/// One argument of a launch.
///
/// | what is passed | what it is |
/// |---|---|
/// | `&DeviceBuffer`, `&GpuRef`, [`In`] | a buffer that the kernel reads; its address |
/// | `DeviceBuffer` | a buffer that the kernel writes, and may read; comes back from the wait |
/// | [`Arg::out`] of a `DeviceBuffer` | a buffer of which the kernel writes every element, and reads none |
/// | any element type, `usize` | a scalar |
/// | [`Len`] | the length of the launch's buffers |
/// | [`Plain`] | a `#[repr(C)]` struct |
/// | [`DevicePtr`] | an address, as it is |
#[derive(Debug)]
pub struct Arg<'a>(Value<'a>);

enum Value<'a> {
    Read(AnyIn<'a>),
    Write(AnyBuffer, Written),
    Scalar(DType, [u8; 16]),
    Pointer(u64),
    Len,
    Plain(SmallVec<[u8; 64]>),
}

/// What a kernel does to a buffer that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Written {
    /// Parts of it, or it reads them first.
    Some,
    /// Every element, and it reads none.
    All,
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Read(x) => write!(f, "read {} x {}", x.len(), x.dtype()),
            Value::Write(x, _) => write!(f, "write {} x {}", x.len(), x.dtype()),
            Value::Scalar(dtype, _) => write!(f, "{dtype}"),
            Value::Pointer(address) => write!(f, "{address:#x}"),
            Value::Len => write!(f, "the length"),
            Value::Plain(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

impl<'a> Arg<'a> {
    /// A buffer of which the kernel writes **every** element and reads none, so that it may be one that was never
    /// written before. A kernel that does less leaves parts of it as they were, which may be anything.
    pub fn out<T: Element>(buffer: DeviceBuffer<T>) -> Self {
        Arg(Value::Write(buffer.into(), Written::All))
    }

    /// A read operand whose type is known only at run time.
    pub fn read(input: AnyIn<'a>) -> Self {
        Arg(Value::Read(input))
    }

    /// A written buffer whose type is known only at run time.
    pub fn write(buffer: AnyBuffer) -> Self {
        Arg(Value::Write(buffer, Written::Some))
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for Arg<'a> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        Arg(Value::Read(buffer.into()))
    }
}

impl<'a, T: Element> From<&'a GpuRef<T>> for Arg<'a> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        Arg(Value::Read(shared.into()))
    }
}

impl<'a, T: Element> From<In<'a, T>> for Arg<'a> {
    fn from(input: In<'a, T>) -> Self {
        Arg(Value::Read(input.into()))
    }
}

impl<T: Element> From<DeviceBuffer<T>> for Arg<'_> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        Arg(Value::Write(buffer.into(), Written::Some))
    }
}

impl<T: Element> From<T> for Arg<'_> {
    fn from(value: T) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        Arg(Value::Scalar(T::DTYPE, bytes))
    }
}

impl From<usize> for Arg<'_> {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

impl<S: NoUninit> From<Plain<S>> for Arg<'_> {
    fn from(Plain(value): Plain<S>) -> Self {
        Arg(Value::Plain(SmallVec::from_slice(bytemuck::bytes_of(&value))))
    }
}

impl From<Len> for Arg<'_> {
    fn from(_: Len) -> Self {
        Arg(Value::Len)
    }
}

impl From<DevicePtr> for Arg<'_> {
    fn from(DevicePtr(address): DevicePtr) -> Self {
        Arg(Value::Pointer(address))
    }
}

/// The arguments of a launch. Made of a tuple of up to sixteen that become [`Arg`]s, or one by one.
#[derive(Debug, Default)]
pub struct Args<'a> {
    pub(super) passed: Passed,
    pub(super) reads: AnyIns<'a>,
    pub(super) writes: AnyBuffers,
}

/// The arguments without their buffers: what stays with the op.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    pub(super) slots: Slots,
    /// The values of all that are no buffers, each in words of its own; what is left of a value's last word is zero.
    pub(super) words: SmallVec<[u64; 12]>,
    /// The words where the length is to be filled in.
    pub(super) len_at: SmallVec<[u16; 1]>,
    /// One bit for each of the first 64 written operands: every element of it is.
    pub(super) overwritten: u64,
}

/// What the arguments are, one by one.
#[derive(Debug)]
pub(super) enum Slots {
    /// As a signature says.
    Declared(&'static [Slot]),
    /// As they were passed.
    Found(SmallVec<[Slot; 16]>),
}

impl Default for Slots {
    fn default() -> Self {
        Slots::Found(SmallVec::new())
    }
}

impl Slots {
    fn push(&mut self, slot: Slot) {
        match self {
            Slots::Found(slots) => slots.push(slot),
            Slots::Declared(_) => {} // a signature has said what follows
        }
    }
}

impl std::ops::Deref for Slots {
    type Target = [Slot];
    #[inline]
    fn deref(&self) -> &[Slot] {
        match self {
            Slots::Declared(slots) => slots,
            Slots::Found(slots) => slots,
        }
    }
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Slot {
    /// The read operand of this number.
    Read(DType, u16),
    /// The written operand of this number.
    Write(DType, u16, Written),
    /// A value of `len` bytes that begins with this word.
    Value { at: u16, len: u16, kind: ValueKind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueKind {
    Scalar(DType),
    Pointer,
    Plain,
}

impl Slot {
    /// Of the parameter.
    fn bytes(&self) -> usize {
        match self {
            Slot::Read(..) | Slot::Write(..) => 8,
            Slot::Value { len, .. } => *len as usize,
        }
    }
}

impl<'a> Args<'a> {
    /// No arguments yet.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one argument more.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<Arg<'a>>) -> Self {
        self.push(argument.into());
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.passed.slots.len()
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.passed.slots.is_empty()
    }

    fn push(&mut self, Arg(value): Arg<'a>) {
        let at = place(self.passed.words.len());
        let slot = |len: usize, kind| Slot::Value { at, len: place(len), kind };
        let slot = match &value {
            Value::Read(input) => Slot::Read(input.dtype(), place(self.reads.len())),
            Value::Write(buffer, written) => Slot::Write(buffer.dtype(), place(self.writes.len()), *written),
            Value::Scalar(dtype, _) => slot(dtype.size(), ValueKind::Scalar(*dtype)),
            Value::Pointer(_) => slot(8, ValueKind::Pointer),
            Value::Len => slot(8, ValueKind::Scalar(DType::U64)),
            Value::Plain(bytes) => slot(bytes.len(), ValueKind::Plain),
        };
        self.passed.slots.push(slot);
        match value {
            Value::Read(input) => self.read(input),
            Value::Write(buffer, written) => self.write(buffer, written),
            Value::Scalar(dtype, bytes) => self.value(bytes.get(..dtype.size()).unwrap_or_default()),
            Value::Pointer(address) => self.word(address),
            Value::Len => self.length(),
            Value::Plain(bytes) => self.value(&bytes),
        }
    }

    /// No arguments yet, of those that a signature has declared.
    #[inline]
    pub(super) fn declared(slots: &'static [Slot]) -> Self {
        let passed = Passed { slots: Slots::Declared(slots), ..Passed::default() };
        Args { passed, reads: AnyIns::new(), writes: AnyBuffers::default() }
    }

    // What follows is also called by typed launches, whose slots are known: so an argument is no more than its value.

    #[inline]
    pub(super) fn read(&mut self, input: AnyIn<'a>) {
        self.reads.push(input);
    }

    #[inline]
    pub(super) fn write(&mut self, buffer: AnyBuffer, written: Written) {
        if written == Written::All {
            self.passed.overwritten |= 1u64.checked_shl(self.writes.len() as u32).unwrap_or(0);
        }
        self.writes.push(buffer);
    }

    #[inline]
    pub(super) fn scalar<T: Element>(&mut self, value: T) {
        if size_of::<T>() > 8 {
            return self.value(bytemuck::bytes_of(&value));
        }
        // Of a length that the compiler knows: no call.
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        self.word(u64::from_ne_bytes(word));
    }

    /// A value in one word.
    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        self.passed.words.push(word);
    }

    #[inline]
    pub(super) fn value(&mut self, bytes: &[u8]) {
        for word in words_of(bytes) {
            self.passed.words.push(word);
        }
    }

    #[inline]
    pub(super) fn length(&mut self) {
        self.passed.len_at.push(place(self.passed.words.len()));
        self.word(0);
    }
}

/// Of parameters that any kernel can have.
const MOST_BYTES: usize = 32764;

/// Bytes in words, the last one filled up with zeroes.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_ne_bytes(word)
    })
}

/// A place among the arguments. What has more than fit is refused before it is looked at: see [`Args::complete`].
fn place(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

impl Args<'_> {
    /// Elements of argument `index`, a buffer.
    pub(super) fn len_of(&self, index: usize) -> Option<usize> {
        match self.passed.slots.get(index)? {
            Slot::Read(_, place) => self.reads.get(*place as usize).map(AnyIn::len),
            Slot::Write(_, place, _) => self.writes.get(*place as usize).map(AnyBuffer::len),
            Slot::Value { .. } => None,
        }
    }

    /// Looks whether any kernel could take so much, and fills in the length where [`Len`] was passed.
    pub(super) fn complete(&mut self) -> Result<()> {
        // In words that are full, and so at least as much as it is.
        if 8 * (self.passed.words.len() + self.len()) > MOST_BYTES {
            self.few_enough()?;
        }
        if self.passed.len_at.is_empty() {
            return Ok(());
        }
        let lens = || self.reads.iter().map(AnyIn::len).chain(self.writes.iter().map(AnyBuffer::len));
        let Some(len) = lens().next() else { return Err(Error::invalid("args", "`Len` without a buffer")) };
        if lens().any(|other| other != len) {
            return Err(self.lengths_differ());
        }
        for at in &self.passed.len_at {
            if let Some(place) = self.passed.words.get_mut(*at as usize) {
                *place = len as u64;
            }
        }
        Ok(())
    }
}

impl Args<'_> {
    /// Bytes of the buffers.
    pub(super) fn bytes_moved(&self) -> u64 {
        let bytes = |len: usize, dtype: DType| (len * dtype.size()) as u64;
        self.reads.iter().map(|x| bytes(x.len(), x.dtype())).sum::<u64>()
            + self.writes.iter().map(|x| bytes(x.len(), x.dtype())).sum::<u64>()
    }

    #[cold]
    fn few_enough(&self) -> Result<()> {
        let bytes: usize = self.passed.slots.iter().map(|slot| slot.bytes()).sum();
        if bytes > MOST_BYTES || self.len() > MOST_BYTES {
            return Err(Error::invalid("args", format!("{bytes} bytes, a kernel takes {MOST_BYTES} at most")));
        }
        Ok(())
    }

    #[cold]
    fn lengths_differ(&self) -> Error {
        let mut lens = (0..self.len()).filter_map(|index| Some((index, self.len_of(index)?)));
        let (first, other) = lens.next().unwrap_or_default();
        let (index, len) = lens.find(|(_, len)| *len != other).unwrap_or_default();
        let reason = format!("{len} elements, but argument {first} has {other}: `Len` is the length of all");
        Error::invalid(format!("argument {index}"), reason)
    }
}

impl Passed {
    /// Every element of the written operand of this number is written, and none is read.
    pub(super) fn overwrites(&self, index: usize) -> bool {
        match u32::try_from(index).ok().and_then(|index| self.overwritten.checked_shr(index)) {
            Some(bits) => bits & 1 == 1,
            // Too far for the bits.
            None => self.slots.iter().any(|s| matches!(s, Slot::Write(_, i, Written::All) if *i as usize == index)),
        }
    }

    /// The bytes of a value.
    pub(super) fn bytes_of(&self, at: u16, len: u16) -> &[u8] {
        let words = self.words.get(at as usize..).unwrap_or_default();
        bytemuck::cast_slice(words).get(..len as usize).unwrap_or_default()
    }

    /// A value of argument `index`; `None` when it is of another size.
    pub(super) fn read_value<S: Pod>(&self, index: usize) -> Option<S> {
        match self.slots.get(index)? {
            Slot::Value { at, len, .. } => bytemuck::try_pod_read_unaligned(self.bytes_of(*at, *len)).ok(),
            _ => None,
        }
    }
}

macro_rules! tuples { ($(($($t:ident $i:tt),*))*) => { $(
    impl<'a, $($t: Into<Arg<'a>>),*> From<($($t,)*)> for Args<'a> {
        fn from(arguments: ($($t,)*)) -> Self {
            let mut all = Args::new();
            $(all.push(arguments.$i.into());)*
            all
        }
    }
)* } }
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15)
}

impl From<()> for Args<'_> {
    fn from((): ()) -> Self {
        Args::new()
    }
}

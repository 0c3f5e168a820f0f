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
    pub(super) slots: SmallVec<[Slot; 16]>,
    /// The values of all that are no buffers, one behind the other: as bytes, not aligned.
    pub(super) bytes: SmallVec<[u8; 64]>,
    /// Where the length is to be filled in.
    pub(super) len_at: SmallVec<[u16; 1]>,
    /// One bit for each of the first 64 written operands: every element of it is.
    pub(super) overwritten: u64,
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Slot {
    /// The read operand of this number.
    Read(DType, u16),
    /// The written operand of this number.
    Write(DType, u16, Written),
    /// A value at this place among the bytes.
    Value { at: u16, len: u16, kind: ValueKind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueKind {
    Scalar(DType),
    Pointer,
    Plain,
}

impl<'a> Args<'a> {
    /// No arguments yet.
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
        match value {
            Value::Read(input) => self.read(input),
            Value::Write(buffer, written) => self.write(buffer, written),
            Value::Scalar(dtype, bytes) => {
                self.value(bytes.get(..dtype.size()).unwrap_or_default(), ValueKind::Scalar(dtype));
            }
            Value::Pointer(address) => self.value(&address.to_ne_bytes(), ValueKind::Pointer),
            Value::Len => self.length(),
            Value::Plain(bytes) => self.value(&bytes, ValueKind::Plain),
        }
    }

    // What follows is also called by typed launches, which know what each argument is: the way through `Arg` costs some
    // seventy instructions more for each.

    #[inline]
    pub(super) fn read(&mut self, input: AnyIn<'a>) {
        self.passed.slots.push(Slot::Read(input.dtype(), place(self.reads.len())));
        self.reads.push(input);
    }

    #[inline]
    pub(super) fn write(&mut self, buffer: AnyBuffer, written: Written) {
        let index = self.writes.len();
        if written == Written::All {
            self.passed.overwritten |= 1u64.checked_shl(index as u32).unwrap_or(0);
        }
        self.passed.slots.push(Slot::Write(buffer.dtype(), place(index), written));
        self.writes.push(buffer);
    }

    #[inline]
    pub(super) fn scalar<T: Element>(&mut self, value: T) {
        self.value(bytemuck::bytes_of(&value), ValueKind::Scalar(T::DTYPE));
    }

    #[inline]
    pub(super) fn value(&mut self, bytes: &[u8], kind: ValueKind) {
        let at = place(self.passed.bytes.len());
        self.passed.bytes.extend_from_slice(bytes);
        self.passed.slots.push(Slot::Value { at, len: place(bytes.len()), kind });
    }

    #[inline]
    pub(super) fn length(&mut self) {
        self.passed.len_at.push(place(self.passed.bytes.len()));
        self.value(&[0; 8], ValueKind::Scalar(DType::U64));
    }
}

/// Of parameters that any kernel can have.
const MOST_BYTES: usize = 32764;

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
        let bytes = self.passed.bytes.len() + 8 * (self.reads.len() + self.writes.len());
        if bytes > MOST_BYTES || self.len() > MOST_BYTES {
            return Err(Error::invalid("args", format!("{bytes} bytes, a kernel takes {MOST_BYTES} at most")));
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
            let place = self.passed.bytes.get_mut(*at as usize..).and_then(|rest| rest.first_chunk_mut::<8>());
            if let Some(place) = place {
                *place = (len as u64).to_ne_bytes();
            }
        }
        Ok(())
    }
}

impl Args<'_> {
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
        self.bytes.get(at as usize..at as usize + len as usize).unwrap_or_default()
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

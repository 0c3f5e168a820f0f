//! The arguments of a launch, in the order of the kernel's parameters.

use super::arg::{Arg, KernelArgument, Value};
use super::packed::{PackedArguments, Slot, Slots, ValueKind, Written, words_of};
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use crate::libraries::operands::check_packed;

/// The arguments of a launch: made from a tuple of up to sixteen values that convert to [`Arg`], or one by one.
#[derive(Debug, Default)]
pub struct Args<'a> {
    pub(super) packed: PackedArguments,
    pub(super) reads: AnyIns<'a>,
    pub(super) writes: AnyBuffers,
    /// Why the launch is refused: the first tensor that no kernel takes.
    unfit: Option<Box<Error>>,
}

impl<'a> Args<'a> {
    /// An empty list of arguments.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl KernelArgument<'a>) -> Self {
        self.push(argument.into());
        self
    }

    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.packed.slots.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.packed.slots.is_empty()
    }

    fn push(&mut self, Arg(value): Arg<'a>) {
        let value = match value {
            Value::Unfit(value, layout) => {
                self.refuse(self.len(), &layout);
                *value
            }
            value => value,
        };
        let at = place(self.packed.words.len());
        let slot = |len: usize, kind| Slot::Value { at, len: place(len), kind };
        let slot = match &value {
            Value::Read(input) => Slot::Read(input.dtype(), place(self.reads.len())),
            Value::Write(buffer, written) => Slot::Write(buffer.dtype(), place(self.writes.len()), *written),
            Value::Scalar(dtype, _) => slot(dtype.size(), ValueKind::Scalar(*dtype)),
            Value::Pointer(_) => slot(8, ValueKind::Pointer),
            Value::Len => slot(8, ValueKind::Scalar(DType::U64)),
            Value::Plain(bytes) => slot(bytes.len(), ValueKind::Plain),
            Value::Unfit(..) => return, // above, and none holds another
        };
        self.packed.slots.push(slot);
        match value {
            Value::Read(input) => self.read(input),
            Value::Write(buffer, written) => self.write(buffer, written),
            Value::Scalar(dtype, bytes) => self.value(bytes.get(..dtype.size()).unwrap_or_default()),
            Value::Pointer(address) => self.word(address),
            Value::Len => self.length(),
            Value::Plain(bytes) => self.value(&bytes),
            Value::Unfit(..) => {}
        }
    }

    /// An empty list for arguments that a signature has declared.
    #[inline]
    pub(super) fn declared(slots: &'static [Slot]) -> Self {
        let packed = PackedArguments { slots: Slots::Declared(slots), ..PackedArguments::default() };
        Args { packed, reads: AnyIns::new(), writes: AnyBuffers::default(), unfit: None }
    }

    // The functions below are also called by typed launches, whose slots are known: there an argument is only its
    // value.

    #[inline]
    pub(super) fn read(&mut self, input: AnyIn<'a>) {
        self.reads.push(input);
    }

    #[inline]
    pub(super) fn write(&mut self, buffer: AnyBuffer, written: Written) {
        if written == Written::All {
            self.packed.overwritten |= 1u64.checked_shl(self.writes.len() as u32).unwrap_or(0);
        }
        self.writes.push(buffer);
    }

    /// A tensor, for a parameter that a signature has declared.
    pub(super) fn tensor(&mut self, Arg(value): Arg<'a>, written: Written) {
        match value {
            Value::Read(input) => self.read(input),
            Value::Write(buffer, _) => self.write(buffer, written),
            Value::Unfit(value, layout) => {
                let (reads, writes) = (self.reads.len(), self.writes.len());
                let is_next = |slot: &Slot| match slot {
                    Slot::Read(_, at) => matches!(*value, Value::Read(_)) && usize::from(*at) == reads,
                    Slot::Write(_, at, _) => matches!(*value, Value::Write(..)) && usize::from(*at) == writes,
                    Slot::Value { .. } => false,
                };
                self.refuse(self.packed.slots.iter().position(is_next).unwrap_or_default(), &layout);
                self.tensor(Arg(*value), written);
            }
            _ => {}
        }
    }

    #[cold]
    fn refuse(&mut self, index: usize, layout: &Layout) {
        if let (None, Err(error)) = (&self.unfit, check_packed(format!("argument {index}"), layout)) {
            self.unfit = Some(Box::new(error));
        }
    }

    #[inline]
    pub(super) fn scalar<T: Element>(&mut self, value: T) {
        if size_of::<T>() > 8 {
            return self.value(bytemuck::bytes_of(&value));
        }
        // A length that the compiler knows avoids a call.
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        self.word(u64::from_ne_bytes(word));
    }

    /// A value of one word.
    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        self.packed.words.push(word);
    }

    #[inline]
    pub(super) fn value(&mut self, bytes: &[u8]) {
        for word in words_of(bytes) {
            self.packed.words.push(word);
        }
    }

    #[inline]
    pub(super) fn length(&mut self) {
        self.packed.len_at.push(place(self.packed.words.len()));
        self.word(0);
    }
}

/// The maximum size in bytes of all parameters of any kernel.
const MOST_BYTES: usize = 32764;

/// A position among the arguments. A list with more arguments is refused before the position is used: see
/// [`Args::complete`].
fn place(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

impl Args<'_> {
    /// The number of elements of argument `index`, if it is a buffer.
    pub(super) fn len_of(&self, index: usize) -> Option<usize> {
        match self.packed.slots.get(index)? {
            Slot::Read(_, place) => self.reads.get(*place as usize).map(AnyIn::len),
            Slot::Write(_, place, _) => self.writes.get(*place as usize).map(AnyBuffer::len),
            Slot::Value { .. } => None,
        }
    }

    /// Checks that the arguments are not larger than any kernel allows, and fills in the length where [`Len`] was
    /// passed.
    pub(super) fn complete(&mut self) -> Result<()> {
        if let Some(error) = self.unfit.take() {
            return Err(*error);
        }
        // Counted in whole words, so the result is at least the real size.
        if 8 * (self.packed.words.len() + self.len()) > MOST_BYTES {
            self.few_enough()?;
        }
        if self.packed.len_at.is_empty() {
            return Ok(());
        }
        // Two loops: one over both lists takes three times as many instructions.
        let first = self.reads.first().map(AnyIn::len).or(self.writes.first().map(AnyBuffer::len));
        let Some(len) = first else {
            return Err(Error::invalid("args", "`Len` needs a buffer among the arguments"));
        };
        if self.reads.iter().any(|x| x.len() != len) || self.writes.iter().any(|x| x.len() != len) {
            return Err(self.lengths_differ());
        }
        for at in &self.packed.len_at {
            if let Some(place) = self.packed.words.get_mut(*at as usize) {
                *place = len as u64;
            }
        }
        Ok(())
    }
}

impl Args<'_> {
    /// Total size of the buffers in bytes.
    pub(super) fn bytes_moved(&self) -> u64 {
        let bytes = |len: usize, dtype: DType| (len * dtype.size()) as u64;
        self.reads.iter().map(|x| bytes(x.len(), x.dtype())).sum::<u64>()
            + self.writes.iter().map(|x| bytes(x.len(), x.dtype())).sum::<u64>()
    }

    #[cold]
    fn few_enough(&self) -> Result<()> {
        let bytes: usize = self.packed.slots.iter().map(|slot| slot.bytes()).sum();
        if bytes > MOST_BYTES || self.len() > MOST_BYTES {
            return Err(Error::invalid("args", format!("{bytes} bytes, but a kernel takes at most {MOST_BYTES}")));
        }
        Ok(())
    }

    #[cold]
    fn lengths_differ(&self) -> Error {
        let mut lens = (0..self.len()).filter_map(|index| Some((index, self.len_of(index)?)));
        let (first, other) = lens.next().unwrap_or_default();
        let (index, len) = lens.find(|(_, len)| *len != other).unwrap_or_default();
        let reason = format!("{len} elements, but argument {first} has {other}: with `Len` all must be equal");
        Error::invalid(format!("argument {index}"), reason)
    }
}

macro_rules! tuples { ($(($($t:ident $i:tt),*))*) => { $(
    impl<'a, $($t: KernelArgument<'a>),*> From<($($t,)*)> for Args<'a> {
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

//! The text of a kernel as it grows: instructions, the registers that they use, what they call and share.

use crate::core::error::{Error, Result};
use crate::engines::cuda::all_are_since;
use std::fmt::Write;

/// Appends an instruction in the manner of `format!`.
macro_rules! ptx { ($writer:expr, $($format:tt)*) => { $writer.line(format_args!($($format)*)) } }
pub(crate) use ptx;

/// A kind of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 16 bits.
    Half,
    /// 32 bits; also narrower integers, extended by their sign or by zeros.
    Word,
    /// 64 bits.
    Long,
    Single,
    Double,
    Predicate,
}

impl Class {
    /// How each kind is declared, and how its registers begin, in the order of the kinds.
    const NAMES: [(&'static str, &'static str); 6] =
        [(".b16", "%h"), (".b32", "%r"), (".b64", "%q"), (".f32", "%f"), (".f64", "%d"), (".pred", "%p")];

    /// The registers of elements of this size.
    pub(crate) const fn for_size(size: usize) -> Self {
        if size > 4 { Class::Long } else { Class::Word }
    }

    /// Bytes of a register that goes through shared memory.
    pub(crate) const fn size(self) -> usize {
        if matches!(self, Class::Long | Class::Double) { 8 } else { 4 }
    }

    /// The type of its registers in loads and stores of shared memory.
    pub(crate) const fn bits(self) -> &'static str {
        match self {
            Class::Long => "b64",
            Class::Single => "f32",
            Class::Double => "f64",
            _ => "b32",
        }
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg(Class, u32);

impl Reg {
    /// Its kind.
    pub(crate) const fn class(self) -> Class {
        self.0
    }
}

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefix = Class::NAMES.get(self.0 as usize).map_or("%r", |(_, prefix)| prefix);
        write!(f, "{prefix}{}", self.1)
    }
}

/// How elements of a size are accessed, whatever they are; of 16 bytes each half.
pub(crate) const fn unsigned(size: usize) -> &'static str {
    match size {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}

/// Registers that one instruction moves: `.v2` and `{%r0, %r1}`, of a single one nothing and itself.
pub(crate) fn joined(registers: &[Reg]) -> (String, String) {
    let names: Vec<String> = registers.iter().map(Reg::to_string).collect();
    match names.len() {
        0 | 1 => (String::new(), names.concat()),
        several => (format!(".v{several}"), format!("{{{}}}", names.join(", "))),
    }
}

/// The largest size of the parameter of a kernel, in bytes.
const MOST_BYTES: usize = 4096;

/// What a kernel's parameter has: 64-bit words. The first one counts tasks; then come addresses of what is written, then of what
/// is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) words: usize,
    pub(crate) written: usize,
    pub(crate) read: usize,
}

/// Text that grows, and the registers that it uses.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    labels: u32,
    used: [u32; 6],
    shared: String,
    /// What is called, by its names.
    functions: Vec<(String, String)>,
    /// Whether it has instructions of `sm_80`.
    is_ampere: bool,
    /// The most threads of a block, if the registers of more would not be there.
    pub(crate) most_threads: Option<usize>,
}

impl Writer {
    /// The name of the entry point of each kernel.
    pub(crate) const ENTRY: &'static std::ffi::CStr = c"expression";

    /// Whether instructions of `sm_80` may be written; the module then is for that and later.
    pub(crate) fn takes_ampere(&mut self) -> bool {
        self.is_ampere = self.is_ampere || all_are_since(8);
        self.is_ampere
    }

    /// A new register.
    pub(crate) fn reg(&mut self, class: Class) -> Reg {
        let Some(count) = self.used.get_mut(class as usize) else { return Reg(class, 0) };
        *count += 1;
        Reg(class, *count - 1)
    }

    /// New registers of one kind.
    pub(crate) fn regs<const N: usize>(&mut self, class: Class) -> [Reg; N] {
        std::array::from_fn(|_| self.reg(class))
    }

    /// A line with an instruction.
    pub(crate) fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "\t{line};");
    }

    /// A label that no other line has.
    pub(crate) fn fresh_label(&mut self) -> String {
        self.labels += 1;
        format!("NEAR_{}", self.labels)
    }

    pub(crate) fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// Reads a word of the parameter.
    pub(crate) fn word(&mut self, at: usize, class: Class) -> Reg {
        let register = self.reg(class);
        let t = match class {
            Class::Long => "u64",
            Class::Single => "f32",
            Class::Double => "f64",
            _ => "u32",
        };
        ptx!(self, "ld.param.{t} {register}, [args+{}]", 8 * at);
        register
    }

    /// Reads neighbouring words of the parameter, from a place on.
    pub(crate) fn words<const N: usize>(&mut self, first: usize) -> [Reg; N] {
        std::array::from_fn(|k| self.word(first + k, Class::Long))
    }

    /// The value of another lane of the warp: `way` and `distance` say of which, `clamp` among which lanes.
    pub(crate) fn shuffle(&mut self, own: Reg, way: &str, distance: usize, clamp: &str) -> Reg {
        let result = self.reg(own.class());
        if !matches!(own.class(), Class::Long | Class::Double) {
            ptx!(self, "shfl.sync.{way}.b32 {result}, {own}, {distance}, {clamp}");
            return result;
        }
        let [bits, high, low, upper] = self.regs(Class::Long);
        let [low_word, high_word, low_other, high_other] = self.regs(Class::Word);
        ptx!(self, "mov.b64 {bits}, {own}");
        ptx!(self, "cvt.u32.u64 {low_word}, {bits}");
        ptx!(self, "shr.u64 {high}, {bits}, 32");
        ptx!(self, "cvt.u32.u64 {high_word}, {high}");
        ptx!(self, "shfl.sync.{way}.b32 {low_other}, {low_word}, {distance}, {clamp}");
        ptx!(self, "shfl.sync.{way}.b32 {high_other}, {high_word}, {distance}, {clamp}");
        ptx!(self, "cvt.u64.u32 {low}, {low_other}");
        ptx!(self, "cvt.u64.u32 {upper}, {high_other}");
        ptx!(self, "shl.b64 {upper}, {upper}, 32");
        ptx!(self, "or.b64 {upper}, {upper}, {low}");
        ptx!(self, "mov.b64 {result}, {upper}");
        result
    }

    /// Declares shared memory of a block.
    pub(crate) fn share(&mut self, name: std::fmt::Arguments<'_>, align: usize, bytes: usize) {
        let _ = writeln!(self.shared, "\t.shared .align {align} .b8 {name}[{bytes}];");
    }

    /// Names a function of the module that an instruction calls; its text is written once.
    pub(crate) fn function(&mut self, name: String, text: impl FnOnce() -> String) {
        if self.functions.iter().all(|(known, _)| *known != name) {
            self.functions.push((name, text()));
        }
    }

    /// What stands between the braces: the declarations, and the text.
    pub(crate) fn body(&mut self) -> String {
        let mut all = std::mem::take(&mut self.shared);
        for ((kind, prefix), count) in Class::NAMES.iter().zip(self.used).filter(|(_, count)| *count > 0) {
            let _ = writeln!(all, "\t.reg {kind} {prefix}<{count}>;");
        }
        all + &std::mem::take(&mut self.text)
    }

    /// The module, of one kernel, for `sm_70` and later, or `sm_80`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the parameter exceeds 4 KiB.
    pub(crate) fn module(&mut self, parameter: &Parameter) -> Result<String> {
        let Parameter { words, written, read } = *parameter;
        let size = 8 * words;
        if size > MOST_BYTES {
            let what = format!(
                "axes that do not continue each other: their strides and the numbers take {size} bytes, but a kernel takes \
                 {MOST_BYTES}; `contiguous` makes copies of less axes"
            );
            return Err(Error::invalid("formula", what));
        }
        let functions: String = self.functions.iter().map(|(_, text)| text.as_str()).collect();
        let target = if self.is_ampere { "sm_80" } else { "sm_70" };
        let limit = self.most_threads.map(|most| format!(".maxntid {most}, 1, 1\n")).unwrap_or_default();
        Ok(format!(
            ".version 7.0\n.target {target}\n.address_size 64\n{functions}.visible .entry expression(.param .align 8 .b8 args[{size}])\n\
             {limit}{{\n// written 1 to {}, read {} to {}\n{}}}\n",
            1 + written,
            1 + written,
            1 + written + read,
            self.body()
        ))
    }
}

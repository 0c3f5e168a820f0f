//! Text and registers.

use crate::libraries::expressions::low::Lane;
use std::fmt::Write;

/// A kind of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) enum Class {
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
    const ALL: [(Class, &'static str, &'static str); 6] = [
        (Class::Half, ".b16", "%h"),
        (Class::Word, ".b32", "%r"),
        (Class::Long, ".b64", "%q"),
        (Class::Single, ".f32", "%f"),
        (Class::Double, ".f64", "%d"),
        (Class::Predicate, ".pred", "%p"),
    ];

    pub(in crate::libraries) fn for_lane(lane: Lane) -> Self {
        match lane {
            Lane::F32 => Class::Single,
            Lane::F64 => Class::Double,
            Lane::I64 | Lane::U64 => Class::Long,
            _ => Class::Word,
        }
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::libraries) struct Reg(Class, u32);

impl Reg {
    /// Its kind.
    pub(in crate::libraries) const fn class(self) -> Class {
        self.0
    }
}

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefix = Class::ALL.iter().find(|(class, ..)| *class == self.0).map_or("%r", |(_, _, prefix)| prefix);
        write!(f, "{prefix}{}", self.1)
    }
}

/// Text that grows, and the registers that it uses.
#[derive(Default)]
pub(in crate::libraries) struct Writer {
    text: String,
    labels: u32,
    used: [u32; 6],
}

impl Writer {
    /// A new register.
    pub(in crate::libraries) fn reg(&mut self, class: Class) -> Reg {
        let count = Class::ALL.iter().zip(&mut self.used).find(|((c, ..), _)| *c == class);
        Reg(
            class,
            count.map_or(0, |(_, count)| {
                *count += 1;
                *count - 1
            }),
        )
    }

    /// A line with an instruction.
    pub(in crate::libraries) fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "\t{line};");
    }

    /// A label that no other line has.
    pub(in crate::libraries) fn fresh_label(&mut self) -> String {
        self.labels += 1;
        format!("NEAR_{}", self.labels)
    }

    pub(in crate::libraries) fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// The declarations of the registers, and the text.
    pub(in crate::libraries) fn finish(self) -> String {
        let mut all = String::new();
        for ((_, kind, prefix), count) in Class::ALL.iter().zip(self.used).filter(|(_, count)| *count > 0) {
            let _ = writeln!(all, "\t.reg {kind} {prefix}<{count}>;");
        }
        all + &self.text
    }
}

/// Appends an instruction in the manner of `format!`.
macro_rules! ptx { ($writer:expr, $($format:tt)*) => { $writer.line(format_args!($($format)*)) } }
pub(in crate::libraries) use ptx;

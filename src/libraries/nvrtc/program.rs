//! What is compiled.

use super::check;
use super::key::{self, Writer};
use super::scan::Scan;
use super::{Arch, CompileOptions};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What the compiler is to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Emit {
    /// PTX, which the driver translates when it is loaded: runs on the architecture and on later ones.
    #[default]
    Ptx,
    /// A CUBIN: loads at once, on this architecture (and later ones of the same major) alone.
    Cubin,
    /// LTO-IR, for [`Link`](super::Link): code that is optimised when it is linked.
    LtoIr,
}

/// A program of CUDA C++: source, headers, options, the names to look up, and what to make of them.
///
/// Cheap to clone. Keep one rather than make it again: it remembers what it has learnt of itself (its fingerprint, which
/// files it includes), so that a compilation found in memory costs well under a microsecond.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{CompileOptions, Emit, Program};
/// let program = Program::new("#include \"scale.cuh\"\n")
///     .name("scale.cu")
///     .header("scale.cuh", "template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }")
///     .expression("scale<float>")
///     .emit(Emit::Cubin)
///     .options(CompileOptions::new().fast_math(true));
/// program.check()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Program {
    parts: Arc<Parts>,
}

#[derive(Clone)]
struct Parts {
    source: Arc<str>,
    name: String,
    headers: Vec<(String, Arc<str>)>,
    expressions: Vec<String>,
    options: CompileOptions,
    emit: Emit,
    prepared: OnceLock<Result<Prepared>>,
}

/// What a program has learnt of itself: everything that hangs on nothing outside.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// The compiler's arguments, all but the architecture.
    pub(super) arguments: Vec<String>,
    /// The hash of all that the program is, its arguments among it.
    pub(super) fingerprint: [u8; 32],
    /// What the source and the headers in memory include.
    pub(super) scan: Scan,
}

impl Program {
    /// A program of this source text, with the compiler's defaults.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Program {
            parts: Arc::new(Parts {
                source: source.into(),
                name: String::new(),
                headers: Vec::new(),
                expressions: Vec::new(),
                options: CompileOptions::default(),
                emit: Emit::default(),
                prepared: OnceLock::new(),
            }),
        }
    }

    /// A program from a file, named by its path; the file's folder is an
    /// [include path](CompileOptions::include_path).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the file cannot be read or is not UTF-8.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = std::fs::read_to_string(path)
            .map_err(|e| Error::invalid("path", format!("{} cannot be read: {e}", path.display())))?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let options = CompileOptions::new().include_path(whole.parent().unwrap_or(Path::new("/")));
        Ok(Program::new(source).name(whole.display().to_string()).options(options))
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        parts.prepared = OnceLock::new();
        change(parts);
        self
    }

    /// The name that messages, line information and `__FILE__` have; `default_program` otherwise, and for an empty one.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.change(|parts| parts.name = name.into())
    }

    /// A header in memory, found by `#include` under exactly this name.
    pub fn header(self, name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        self.change(|parts| parts.headers.push((name.into(), text.into())))
    }

    /// Asks for the name in the code of what `expression` names in the source: a kernel, an instance of a template
    /// (`scale<float>`), or a variable (`&table`). See [`Image::lowered_name`](super::Image::lowered_name).
    pub fn expression(self, expression: impl Into<String>) -> Self {
        self.change(|parts| {
            let expression = expression.into();
            if !parts.expressions.contains(&expression) {
                parts.expressions.push(expression);
            }
        })
    }

    /// How it is compiled.
    pub fn options(self, options: CompileOptions) -> Self {
        self.change(|parts| parts.options = options)
    }

    /// For which architecture; the same as [`CompileOptions::arch`].
    pub fn arch(self, arch: Arch) -> Self {
        self.change(|parts| parts.options = std::mem::take(&mut parts.options).arch(arch))
    }

    /// What is made of it; PTX otherwise.
    pub fn emit(self, emit: Emit) -> Self {
        self.change(|parts| parts.emit = emit)
    }

    /// The source text.
    pub fn source(&self) -> &str {
        &self.parts.source
    }

    /// The name that messages have.
    pub fn label(&self) -> &str {
        match &*self.parts.name {
            "" => "default_program",
            name => name,
        }
    }

    /// The headers in memory: name and text.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.parts.headers.iter().map(|(name, text)| (&**name, &**text))
    }

    /// The names asked for.
    pub fn expressions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.parts.expressions.iter().map(|e| &**e)
    }

    /// How it is compiled.
    pub fn compile_options(&self) -> &CompileOptions {
        &self.parts.options
    }

    /// What is made of it.
    pub fn emits(&self) -> Emit {
        self.parts.emit
    }

    /// Whether it can be given to the compiler at all. Compiling does this first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] that names what is wrong: an empty source, expression or header's name, a zero byte, a
    /// name of several lines, a header twice, options that contradict each other, a CUBIN for a virtual architecture.
    pub fn check(&self) -> Result<()> {
        self.prepared().map(|_| ())
    }

    pub(super) fn prepared(&self) -> Result<&Prepared> {
        self.parts.prepared.get_or_init(|| self.prepare()).as_ref().map_err(Clone::clone)
    }

    fn prepare(&self) -> Result<Prepared> {
        let parts = &*self.parts;
        check::clean("source", &parts.source)?;
        if !parts.name.is_empty() {
            check::line("name", &parts.name)?;
        }
        for (i, (name, text)) in parts.headers.iter().enumerate() {
            check::line("header", name)?;
            check::without_zero(format!("header {name}"), text)?;
            if parts.headers.iter().take(i).any(|(other, _)| other == name) {
                return Err(Error::invalid("header", format!("`{name}` is given twice")));
            }
        }
        parts.expressions.iter().try_for_each(|e| check::line("expression", e))?;
        if let Some(arch) = parts.options.target().filter(|arch| arch.is_virtual() && parts.emit == Emit::Cubin) {
            return Err(Error::invalid("arch", format!("{arch} is virtual, a CUBIN is for {}", arch.to_real())));
        }
        let mut arguments = parts.options.arguments()?;
        if parts.emit == Emit::LtoIr {
            arguments.push("--dlink-time-opt".to_owned());
        }
        let fingerprint = key::hash(|writer| self.write(&arguments, writer));
        Ok(Prepared { arguments, fingerprint, scan: Scan::of_program(self) })
    }

    /// All that the program is, as bytes that no other program has.
    pub(super) fn write<F: FnMut(&[u8])>(&self, arguments: &[String], out: &mut Writer<F>) {
        let parts = &*self.parts;
        out.piece(match parts.emit {
            Emit::Ptx => b"ptx",
            Emit::Cubin => b"cubin",
            Emit::LtoIr => b"ltoir",
        });
        out.list(arguments);
        out.list(&parts.expressions);
        out.piece(parts.name.as_bytes());
        out.piece(parts.source.as_bytes());
        out.number(parts.headers.len() as u64);
        for (name, text) in &parts.headers {
            out.piece(name.as_bytes());
            out.piece(text.as_bytes());
        }
    }

    /// The same program, seen without comparing where both are clones of one.
    pub(super) fn is(&self, other: &Program) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) || self == other
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.parts, &*other.parts);
        a.emit == b.emit
            && a.name == b.name
            && a.expressions == b.expressions
            && a.options == b.options
            && a.headers == b.headers
            && a.source == b.source
    }
}

impl Eq for Program {}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({}, {} bytes, {:?})", self.label(), self.source().len(), self.emits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(program: &Program) -> [u8; 32] {
        program.prepared().unwrap().fingerprint
    }

    #[test]
    fn every_part_of_a_program_changes_its_fingerprint() {
        let plain = Program::new("int x;");
        let all = [
            plain.clone(),
            Program::new("int y;"),
            plain.clone().name("x.cu"),
            plain.clone().header("a.h", "1"),
            plain.clone().header("a.h", "2"),
            plain.clone().header("b.h", "1"),
            plain.clone().header("a.h", "1").header("b.h", "1"),
            plain.clone().expression("f<int>"),
            plain.clone().expression("f<int>").expression("f<float>"),
            plain.clone().options(CompileOptions::new().fast_math(true)),
            plain.clone().options(CompileOptions::new().define("A", 1)),
            plain.clone().emit(Emit::Cubin),
            plain.clone().emit(Emit::LtoIr),
        ];
        for (i, a) in all.iter().enumerate() {
            assert_eq!(fingerprint(a), fingerprint(&a.clone()));
            for b in &all[i + 1..] {
                assert_ne!(fingerprint(a), fingerprint(b), "{a:?} {b:?}");
                assert_ne!(a, b);
            }
        }
    }

    #[test]
    fn pieces_that_join_to_the_same_text_are_not_the_same() {
        let plain = Program::new("x");
        let pairs = [
            (plain.clone().header("ab", "c"), plain.clone().header("a", "bc")),
            (plain.clone().expression("ab"), plain.clone().expression("a").expression("b")),
            (plain.clone().name("a").expression("b"), plain.clone().name("ab")),
        ];
        for (a, b) in pairs {
            assert_ne!(fingerprint(&a), fingerprint(&b));
        }
    }

    #[test]
    fn a_changed_program_forgets_its_fingerprint() {
        let first = Program::new("int x;");
        let before = fingerprint(&first);
        let second = first.clone().expression("x");
        assert_ne!(fingerprint(&second), before);
        assert_eq!(fingerprint(&first), before);
    }

    #[test]
    fn what_cannot_be_compiled_is_refused_by_its_name() {
        let plain = Program::new("int x;");
        let cases = [
            (Program::new(""), "source"),
            (Program::new("int\0x;"), "source"),
            (plain.clone().name("a\nb"), "name"),
            (plain.clone().header("", "x"), "header"),
            (plain.clone().header("a.h", "x").header("a.h", "x"), "header"),
            (plain.clone().header("a.h", "x\0y"), "header a.h"),
            (plain.clone().expression(""), "expression"),
            (plain.clone().expression("f\n#define x"), "expression"),
            (plain.clone().emit(Emit::Cubin).arch(Arch::SM_90.to_virtual()), "arch"),
            (plain.options(CompileOptions::new().option("bogus")), "option"),
        ];
        for (program, argument) in cases {
            match program.check() {
                Err(Error::InvalidArgument { argument: named, .. }) => assert_eq!(named, argument),
                other => panic!("{program:?}: {other:?}"),
            }
        }
    }
}

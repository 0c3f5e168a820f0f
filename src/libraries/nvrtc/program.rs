//! The source of a compilation and what to make of it.

use super::check;
use super::key::{self, Writer};
use super::scan::Scan;
use super::{Arch, CompileOptions};
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The kind of code that the compiler produces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Emit {
    /// PTX. The driver compiles it when it is loaded. Runs on the architecture and on later ones.
    #[default]
    Ptx,
    /// A CUBIN. It loads without compilation, but only on this architecture (and later ones of the same major version).
    Cubin,
    /// LTO-IR, for [`Link`](super::Link): code that is optimised when it is linked.
    LtoIr,
}

/// A program of CUDA C++: source, headers, options, the name expressions, and the kind of code to produce.
///
/// Cheap to clone. Keep a program instead of making it again: it remembers its fingerprint and the files it includes,
/// so a lookup in the memory cache takes well under a microsecond.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{CompileOptions, Emit, Source};
/// let program = Source::new("#include \"scale.cuh\"\n")
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
pub struct Source {
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

/// What was computed from the program alone, without files or other external state.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// The compiler's arguments, except the architecture.
    pub(super) arguments: Vec<String>,
    /// The hash of the whole program, its arguments included.
    pub(super) fingerprint: [u8; 32],
    /// The files that the source and the headers in memory include.
    pub(super) scan: Scan,
}

impl Source {
    /// A program of this source text, with the compiler's defaults.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Source {
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

    /// A program from a file, with its path as name. The folder of the file becomes an [include
    /// path](CompileOptions::include_path).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the file cannot be read or is not UTF-8.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = std::fs::read_to_string(path)
            .map_err(|e| Error::invalid("path", format!("{} cannot be read: {e}", path.display())))?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let options = CompileOptions::new().include_path(whole.parent().unwrap_or(Path::new("/")));
        Ok(Source::new(source).name(whole.display().to_string()).options(options))
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        let parts = Arc::make_mut(&mut self.parts);
        parts.prepared = OnceLock::new();
        change(parts);
        self
    }

    /// The name used in messages, line information and `__FILE__`. The default, also for an empty name, is
    /// `default_program`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.change(|parts| parts.name = name.into())
    }

    /// Adds a header in memory, which `#include` finds under exactly this name.
    pub fn header(self, name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        self.change(|parts| parts.headers.push((name.into(), text.into())))
    }

    /// Asks for the lowered (mangled) name of `expression`: a kernel, an instance of a template (`scale<float>`), or a
    /// variable (`&table`). See [`Image::lowered_name`](super::Image::lowered_name).
    pub fn expression(self, expression: impl Into<String>) -> Self {
        self.change(|parts| {
            let expression = expression.into();
            if !parts.expressions.contains(&expression) {
                parts.expressions.push(expression);
            }
        })
    }

    /// Sets the compile options.
    pub fn options(self, options: CompileOptions) -> Self {
        self.change(|parts| parts.options = options)
    }

    /// Sets the architecture; the same as [`CompileOptions::arch`].
    pub fn arch(self, arch: Arch) -> Self {
        self.change(|parts| parts.options = std::mem::take(&mut parts.options).arch(arch))
    }

    /// Sets the kind of code to produce; the default is PTX.
    pub fn emit(self, emit: Emit) -> Self {
        self.change(|parts| parts.emit = emit)
    }

    /// The source text.
    pub fn source(&self) -> &str {
        &self.parts.source
    }

    /// The name used in messages.
    pub fn label(&self) -> &str {
        match &*self.parts.name {
            "" => "default_program",
            name => name,
        }
    }

    /// The headers in memory: name and text of each.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.parts.headers.iter().map(|(name, text)| (&**name, &**text))
    }

    /// The name expressions.
    pub fn expressions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.parts.expressions.iter().map(|e| &**e)
    }

    /// The compile options.
    pub fn compile_options(&self) -> &CompileOptions {
        &self.parts.options
    }

    /// The kind of code to produce.
    pub fn emits(&self) -> Emit {
        self.parts.emit
    }

    /// Checks that the program can be passed to the compiler. Compiling does this first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], which names what is wrong: an empty source, expression or header name, a zero byte,
    /// a name of several lines, a repeated header, contradictory options, a CUBIN for a virtual architecture.
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
            return Err(Error::invalid(
                "arch",
                format!("{arch} is virtual, but a CUBIN needs a real architecture: {}", arch.to_real()),
            ));
        }
        let mut arguments = parts.options.arguments()?;
        if parts.emit == Emit::LtoIr {
            arguments.push("--dlink-time-opt".to_owned());
        }
        let fingerprint = key::hash(|writer| self.write(&arguments, writer));
        Ok(Prepared { arguments, fingerprint, scan: Scan::of_program(self) })
    }

    /// Writes the whole program as bytes that are unique to it.
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

    /// Whether the two programs are equal. Clones of one program are recognised without a comparison.
    pub(super) fn is(&self, other: &Source) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) || self == other
    }
}

impl PartialEq for Source {
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

impl Eq for Source {}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({}, {} bytes, {:?})", self.label(), self.source().len(), self.emits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(program: &Source) -> [u8; 32] {
        program.prepared().unwrap().fingerprint
    }

    #[test]
    fn every_part_of_a_program_changes_its_fingerprint() {
        let plain = Source::new("int x;");
        let all = [
            plain.clone(),
            Source::new("int y;"),
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
        let plain = Source::new("x");
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
        let first = Source::new("int x;");
        let before = fingerprint(&first);
        let second = first.clone().expression("x");
        assert_ne!(fingerprint(&second), before);
        assert_eq!(fingerprint(&first), before);
    }

    #[test]
    fn what_cannot_be_compiled_is_refused_by_its_name() {
        let plain = Source::new("int x;");
        let cases = [
            (Source::new(""), "source"),
            (Source::new("int\0x;"), "source"),
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

//! Linking images.

use super::check;
use super::key::{self, Writer};
use super::{Arch, Emit, Image, ImageKind};
use crate::core::error::{Error, Result};

/// Links the images of one or several programs to one image that a device loads (nvJitLink). If there is LTO-IR among
/// the inputs, all code is optimised together.
///
/// Functions are found across images by their names in the code. Compile the inputs as [LTO-IR](Emit::LtoIr), or as
/// [relocatable](super::CompileOptions::relocatable) PTX or CUBIN.
///
/// # Errors
/// Linking fails with [`Error::InvalidArgument`] for no input, for output as PTX if not all inputs are LTO-IR, and for
/// options that the linker does not know; with [`Error::Compile`] and the linker's log if the inputs do not fit
/// together (an undefined name, another architecture); with [`Error::LibraryMissing`] without nvJitLink.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{Arch, Compiler, Emit, Link, Source};
/// let twice = Source::new("__device__ float twice(float x) { return 2 * x; }").emit(Emit::LtoIr);
/// let kernel = Source::new(
///     "extern __device__ float twice(float); extern \"C\" __global__ void k(float* x) { *x = twice(*x); }",
/// ).emit(Emit::LtoIr);
/// let compiler = Compiler::shared();
/// let link = || -> Result<_, windlass::Error> {
///     compiler.link(&Link::new(Arch::SM_80).input(&compiler.compile(&twice)?).input(&compiler.compile(&kernel)?))
/// };
/// match link() {
///     Ok(image) => println!("{image:?}"),
///     Err(windlass::Error::LibraryMissing { help, .. }) => println!("no linker here: {help}"),
///     Err(other) => return Err(other),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Link {
    inputs: Vec<Image>,
    arch: Option<Arch>,
    emit: Emit,
    options: Vec<String>,
}

/// Options that a method sets, or that are set automatically.
const TYPED: [&str; 4] = ["-arch", "-lto", "-ptx", "-dlto"];

impl Link {
    /// A link to a CUBIN for `arch`.
    pub fn new(arch: Arch) -> Self {
        Link { inputs: Vec::new(), arch: Some(arch), emit: Emit::Cubin, options: Vec::new() }
    }

    /// A link to a CUBIN for the device that links it; without a device for `sm_80`.
    pub fn for_device() -> Self {
        Link { inputs: Vec::new(), arch: None, emit: Emit::Cubin, options: Vec::new() }
    }

    /// Adds an input.
    pub fn input(mut self, image: &Image) -> Self {
        self.inputs.push(image.clone());
        self
    }

    /// Sets the output. For PTX all inputs must be LTO-IR.
    pub fn emit(mut self, emit: Emit) -> Self {
        self.emit = emit;
        self
    }

    /// Adds a linker option that has no method here: `-lineinfo`, `-maxrregcount=32`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    pub(super) fn inputs(&self) -> &[Image] {
        &self.inputs
    }

    pub(super) fn emits(&self) -> Emit {
        self.emit
    }

    /// The architecture to link for.
    pub(super) fn target(&self, device: Option<Arch>) -> Arch {
        self.arch.or(device).unwrap_or(Arch::SM_80)
    }

    /// The lowered names of all inputs.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let mut names: Vec<(String, String)> = Vec::new();
        for (expression, name) in self.inputs.iter().flat_map(Image::names) {
            if !names.iter().any(|(known, _)| known == expression) {
                names.push((expression.to_owned(), name.to_owned()));
            }
        }
        names
    }

    /// Whether both are the same link of the same inputs. Inputs that are the same objects are not compared.
    pub(super) fn is(&self, other: &Link) -> bool {
        let same = |(a, b): (&Image, &Image)| {
            a.is_same(b) || (a.kind() == b.kind() && a.bytes() == b.bytes() && a.names().eq(b.names()))
        };
        self.arch == other.arch
            && self.emit == other.emit
            && self.options == other.options
            && self.inputs.len() == other.inputs.len()
            && self.inputs.iter().zip(&other.inputs).all(same)
    }

    /// The hash of the whole link. Each input contributes its own hash, which it remembers.
    pub(super) fn fingerprint(&self, arguments: &[String]) -> [u8; 32] {
        key::hash(|writer| self.describe(arguments, writer, |image, writer| writer.piece(&image.digest())))
    }

    /// Writes the whole link as bytes that are unique to it.
    pub(super) fn write<F: FnMut(&[u8])>(&self, arguments: &[String], out: &mut Writer<F>) {
        self.describe(arguments, out, |image, out| out.piece(image.bytes()));
    }

    fn describe<F: FnMut(&[u8])>(
        &self,
        arguments: &[String],
        out: &mut Writer<F>,
        bytes: impl Fn(&Image, &mut Writer<F>),
    ) {
        out.piece(b"link");
        out.piece(if self.emit == Emit::Ptx { b"ptx" } else { b"cubin" });
        out.list(arguments);
        out.number(self.inputs.len() as u64);
        for image in &self.inputs {
            out.piece(format!("{:?}", image.kind()).as_bytes());
            bytes(image, out);
            out.number(image.names().len() as u64);
            for (expression, name) in image.names() {
                out.piece(expression.as_bytes());
                out.piece(name.as_bytes());
            }
        }
    }

    /// Whether an option names a file, whose contents would not be part of the cache key.
    pub(super) fn touches_files(&self) -> bool {
        self.options.iter().any(|option| check::touches_files(option))
    }

    /// Checks that the link is possible, and returns the linker's arguments.
    pub(super) fn arguments(&self, arch: Arch) -> Result<Vec<String>> {
        if self.inputs.is_empty() {
            return Err(Error::invalid("inputs", "0 images, but a link needs at least 1"));
        }
        let is_lto = |image: &Image| image.kind() == ImageKind::LtoIr;
        let mut arguments = vec![format!("-arch={arch}")];
        if self.inputs.iter().any(is_lto) {
            arguments.push("-lto".to_owned());
        }
        match self.emit {
            Emit::Cubin if arch.is_virtual() => {
                return Err(Error::invalid(
                    "arch",
                    format!("{arch} is virtual, but a CUBIN needs a real architecture: {}", arch.to_real()),
                ));
            }
            Emit::Cubin => {}
            Emit::Ptx => match self.inputs.iter().find(|image| !is_lto(image)) {
                Some(other) => {
                    let reason = format!("{other:?} is among the inputs, but for PTX all must be LTO-IR");
                    return Err(Error::invalid("emit", reason));
                }
                None => arguments.push("-ptx".to_owned()),
            },
            Emit::LtoIr => return Err(Error::invalid("emit", "LTO-IR, but a link produces a CUBIN or PTX")),
        }
        for option in &self.options {
            check::line("option", option)?;
            let name = option.split('=').next().unwrap_or(option);
            if !option.starts_with('-') || TYPED.contains(&name) {
                return Err(Error::invalid(
                    "option",
                    format!("`{option}` is not an option that can be added to a link"),
                ));
            }
            arguments.push(option.clone());
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ptx() -> Image {
        Image::ptx(".version 8.0\n.target sm_80\n.address_size 64\n").unwrap()
    }

    fn argument(link: &Link) -> String {
        match link.arguments(link.target(None)) {
            Err(Error::InvalidArgument { argument, .. }) => argument.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_link_that_cannot_be_is_refused_before_the_library_is_asked() {
        let link = Link::new(Arch::SM_80).input(&ptx());
        assert_eq!(argument(&Link::new(Arch::SM_80)), "inputs");
        assert_eq!(argument(&link.clone().emit(Emit::Ptx)), "emit");
        assert_eq!(argument(&link.clone().emit(Emit::LtoIr)), "emit");
        assert_eq!(argument(&Link::new(Arch::SM_80.to_virtual()).input(&ptx())), "arch");
        for option in ["-arch=sm_90", "-lto", "x", "", "-a\0"] {
            assert_eq!(argument(&link.clone().option(option)), "option", "{option}");
        }
    }
}

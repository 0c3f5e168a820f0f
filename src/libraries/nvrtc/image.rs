//! Compiled code, from the compiler or from outside.

use super::extent::extent;
use super::recognise::recognise;
use super::{Arch, Program};
use crate::{Error, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What an [`Image`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// PTX, the text of a virtual machine; the driver translates it for its GPU.
    Ptx,
    /// A CUBIN: machine code for one architecture.
    Cubin,
    /// LTO-IR, for the linker; no driver loads it.
    LtoIr,
    /// A fatbin: several of these in one.
    Fatbin,
}

/// Compiled code: PTX, a CUBIN, LTO-IR or a fatbin.
///
/// Plain data on the host, for no device in particular; cheap to clone.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{Arch, Image, ImageKind};
/// let image = Image::ptx(".version 8.0\n.target sm_80\n.address_size 64\n")?;
/// assert_eq!((image.kind(), image.arch()), (ImageKind::Ptx, Some(Arch::SM_80)));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Image {
    inner: Arc<Inner>,
}

struct Inner {
    kind: ImageKind,
    arch: Option<Arch>,
    bytes: Box<[u8]>,
    names: Box<[(String, String)]>,
    log: String,
    program: Option<Program>,
    digest: OnceLock<[u8; 32]>,
}

impl Image {
    /// An image of bytes that came from elsewhere. What they are is read from themselves.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they are neither PTX nor a CUBIN, a fatbin or LTO-IR, or fewer than the headers
    /// of a CUBIN or a fatbin say.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::recognised(bytes.into(), "bytes", || "the bytes".to_owned())
    }

    /// An image from a file. What it is is read from its contents, not from its name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the file cannot be read, or as for [`from_bytes`](Self::from_bytes).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|e| Error::invalid("path", format!("{} cannot be read: {e}", path.display())))?;
        Self::recognised(bytes, "path", || path.display().to_string())
    }

    /// An image of PTX text.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the text does not begin with `.version`, as PTX does, or holds a zero byte.
    pub fn ptx(text: impl Into<String>) -> Result<Self> {
        let image = Self::recognised(text.into().into_bytes(), "text", || "the text".to_owned())?;
        match image.kind() {
            ImageKind::Ptx => Ok(image),
            kind => Err(Error::invalid("text", format!("the text is {kind:?}, not PTX"))),
        }
    }

    fn recognised(mut bytes: Vec<u8>, argument: &'static str, what: impl Fn() -> String) -> Result<Self> {
        let Some((kind, arch)) = recognise(&bytes) else {
            let length = bytes.len();
            let reason = format!("{} ({length} bytes): neither PTX nor a CUBIN, a fatbin or LTO-IR", what());
            return Err(Error::invalid(argument, reason));
        };
        // A driver believes what the headers say, and is not told how many bytes there are.
        match extent(kind, &bytes) {
            Some(extent) if extent <= bytes.len() as u64 => {}
            extent => {
                let says = extent.map_or("which are no whole headers".into(), |n| format!("whose headers say {n}"));
                let reason = format!("{}: a {kind:?} of {} bytes, {says}: cut off or damaged", what(), bytes.len());
                return Err(Error::invalid(argument, reason));
            }
        }
        if kind == ImageKind::Ptx {
            let text = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
            bytes.truncate(text);
            if let Some(at) = bytes.iter().position(|&b| b == 0) {
                return Err(Error::invalid(argument, format!("{}: PTX with a zero byte at {at}", what())));
            }
        }
        Ok(Self::compiled(kind, arch, bytes, Vec::new(), String::new(), None))
    }

    pub(crate) fn compiled(
        kind: ImageKind,
        arch: Option<Arch>,
        bytes: Vec<u8>,
        names: Vec<(String, String)>,
        log: String,
        program: Option<Program>,
    ) -> Self {
        let (bytes, names) = (bytes.into(), names.into());
        Image { inner: Arc::new(Inner { kind, arch, bytes, names, log, program, digest: OnceLock::new() }) }
    }

    /// What it holds.
    pub fn kind(&self) -> ImageKind {
        self.inner.kind
    }

    /// The architecture it is for, where that is known. Of a CUBIN from outside only the number is: one for `sm_90a`
    /// says `sm_90`.
    pub fn arch(&self) -> Option<Arch> {
        self.inner.arch
    }

    /// The bytes. PTX has no terminating zero here.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// The text of PTX; `None` for anything else.
    pub fn text(&self) -> Option<&str> {
        match self.kind() {
            ImageKind::Ptx => std::str::from_utf8(self.bytes()).ok(),
            _ => None,
        }
    }

    /// The name expressions asked for when it was compiled, each with the name that the code has in the image.
    pub fn names(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.inner.names.iter().map(|(expression, lowered)| (&**expression, &**lowered))
    }

    /// The name in the image of what `expression` names in the source: `scale<float>` is `_Z5scaleIfEvPT_S0_`. `None`
    /// for an expression that was not asked for.
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.names().find(|(asked, _)| *asked == expression).map(|(_, lowered)| lowered)
    }

    /// What the compiler said, warnings among it. Empty for an image from outside.
    pub fn log(&self) -> &str {
        &self.inner.log
    }

    /// The program it was compiled from, with its options: enough to compile it again. `None` for an image from outside.
    pub fn program(&self) -> Option<&Program> {
        self.inner.program.as_ref()
    }

    /// The hash of the bytes; they are hashed once.
    pub(super) fn digest(&self) -> [u8; 32] {
        *self.inner.digest.get_or_init(|| *blake3::hash(self.bytes()).as_bytes())
    }

    /// The same object, not only the same contents.
    pub(crate) fn is_same(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({:?}", self.kind())?;
        if let Some(arch) = self.arch() {
            write!(f, " for {arch}")?;
        }
        write!(f, ", {} bytes)", self.bytes().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_goes_between_threads() {
        fn goes<T: Send + Sync + Clone + 'static>() {}
        goes::<Image>();
    }

    #[test]
    fn ptx_loses_its_terminating_zero_and_refuses_one_inside() {
        let image = Image::from_bytes(&b".version 8.0\n.target sm_80\n\0"[..]).unwrap();
        assert_eq!(image.text(), Some(".version 8.0\n.target sm_80\n"));
        assert!(Image::ptx(".version 8.0\n\0.target sm_80\n").is_err());
    }

    #[test]
    fn what_is_no_image_is_refused_with_its_name() {
        let error = Image::from_file("/nonexistent/kernel.cubin").unwrap_err();
        assert!(error.to_string().contains("/nonexistent/kernel.cubin"), "{error}");
        assert!(matches!(Image::from_bytes(vec![1, 2, 3]), Err(Error::InvalidArgument { .. })));
        assert!(matches!(Image::ptx("int main() {}"), Err(Error::InvalidArgument { .. })));
    }
}

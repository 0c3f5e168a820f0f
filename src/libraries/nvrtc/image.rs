//! Compiled code, from the compiler or from another source.

use super::extent::extent;
use super::recognise::recognise;
use super::{Arch, Source};
use crate::core::error::{Error, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The format of an [`Image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// PTX: text for a virtual machine. The driver compiles it for its GPU.
    Ptx,
    /// A CUBIN: machine code for one architecture.
    Cubin,
    /// LTO-IR, for the linker. A driver cannot load it.
    LtoIr,
    /// A fatbin: several of these in one file.
    Fatbin,
}

/// Compiled code: PTX, a CUBIN, LTO-IR or a fatbin.
///
/// Plain host data that belongs to no device; cheap to clone.
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
    program: Option<Source>,
    digest: OnceLock<[u8; 32]>,
}

impl Image {
    /// An image from bytes. Their format is detected from the contents.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the bytes are not PTX, a CUBIN, a fatbin or LTO-IR, or if there are fewer bytes
    /// than the headers of a CUBIN or a fatbin say.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::recognised(bytes.into(), "bytes", || "the bytes".to_owned())
    }

    /// An image from a file. Its format is detected from the contents, not from the name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the file cannot be read, or as for [`from_bytes`](Self::from_bytes).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path)
            .map_err(|e| Error::invalid("path", format!("{} cannot be read: {e}", path.display())))?;
        Self::recognised(bytes, "path", || path.display().to_string())
    }

    /// An image of PTX text.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the text does not begin with `.version`, as PTX does, or contains a zero byte.
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
        // A driver relies on the headers: it does not get the number of bytes.
        match extent(kind, &bytes) {
            Some(extent) if extent <= bytes.len() as u64 => {}
            extent => {
                let says = extent.map_or("too few for its headers".into(), |n| format!("whose headers say {n}"));
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
        program: Option<Source>,
    ) -> Self {
        let (bytes, names) = (bytes.into(), names.into());
        Image { inner: Arc::new(Inner { kind, arch, bytes, names, log, program, digest: OnceLock::new() }) }
    }

    /// The format of the image.
    pub fn kind(&self) -> ImageKind {
        self.inner.kind
    }

    /// The architecture of the code, if it is known. A CUBIN that was not compiled here contains only the number: one
    /// for `sm_90a` gives `sm_90`.
    pub fn arch(&self) -> Option<Arch> {
        self.inner.arch
    }

    /// The bytes, without the terminating zero of PTX.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// The text of PTX; `None` for other formats.
    pub fn text(&self) -> Option<&str> {
        match self.kind() {
            ImageKind::Ptx => std::str::from_utf8(self.bytes()).ok(),
            _ => None,
        }
    }

    /// The name expressions of the compilation, each with its lowered name in the image.
    pub fn names(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.inner.names.iter().map(|(expression, lowered)| (&**expression, &**lowered))
    }

    /// The lowered name of `expression` in the image: for example, `scale<float>` is `_Z5scaleIfEvPT_S0_`. `None` for
    /// an expression that was not requested.
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.names().find(|(asked, _)| *asked == expression).map(|(_, lowered)| lowered)
    }

    /// The log of the compiler, with its warnings. Empty for an image that was not compiled here.
    pub fn log(&self) -> &str {
        &self.inner.log
    }

    /// The program from which the image was compiled, with its options: enough to compile it again. `None` for an image
    /// that was not compiled here.
    pub fn program(&self) -> Option<&Source> {
        self.inner.program.as_ref()
    }

    /// The hash of the bytes, computed once.
    pub(super) fn digest(&self) -> [u8; 32] {
        *self.inner.digest.get_or_init(|| *blake3::hash(self.bytes()).as_bytes())
    }

    /// Whether both are the same object; equal contents are not enough.
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

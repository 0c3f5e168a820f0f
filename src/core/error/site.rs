//! Where an error happened.

use super::Text;
use serde::{Deserialize, Serialize};

/// The site of an error: operation, library, numeric code, device, generation, and the last operations before a fault.
///
/// Boxed inside, so that an [`Error`](crate::Error) stays small; an empty site costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Site(Option<Box<Details>>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Details {
    op: Option<Text>,
    library: Option<Text>,
    code: Option<(i32, Text)>,
    device: Option<(Text, u64)>,
    last_ops: Vec<Text>,
    /// What it was for, as the end of a sentence.
    purpose: Option<Text>,
}

impl Site {
    /// An empty site.
    pub const fn none() -> Self {
        Site(None)
    }

    /// The operation's name.
    pub fn op(&self) -> Option<&str> {
        self.0.as_ref()?.op.as_deref()
    }

    /// The library's name.
    pub fn library(&self) -> Option<&str> {
        self.0.as_ref()?.library.as_deref()
    }

    /// The library's or driver's numeric code.
    pub fn code(&self) -> Option<i32> {
        self.0.as_ref()?.code.as_ref().map(|c| c.0)
    }

    /// The code's name in the library's header.
    pub fn code_name(&self) -> Option<&str> {
        self.0.as_ref()?.code.as_ref().map(|c| &*c.1)
    }

    /// The device's name, `host:0` or `cuda:1`.
    pub fn device(&self) -> Option<&str> {
        self.0.as_ref()?.device.as_ref().map(|d| &*d.0)
    }

    /// The device's generation at that time.
    pub fn generation(&self) -> Option<u64> {
        self.0.as_ref()?.device.as_ref().map(|d| d.1)
    }

    /// The operations submitted last before a fault, oldest first.
    pub fn last_ops(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|p| p.last_ops.iter().map(|t| &**t))
    }

    fn place(&mut self) -> &mut Details {
        self.0.get_or_insert_default()
    }

    pub(crate) fn name_op(&mut self, op: &'static str, library: &'static str) {
        let place = self.place();
        if place.op.is_none() {
            place.op = Some(op.into());
            place.library.get_or_insert(library.into());
        }
    }

    pub(crate) fn set_code(&mut self, code: i32, name: impl Into<Text>) -> &mut Self {
        self.place().code.get_or_insert((code, name.into()));
        self
    }

    pub(crate) fn set_device(&mut self, device: impl Into<Text>, generation: u64) -> &mut Self {
        self.place().device.get_or_insert((device.into(), generation));
        self
    }

    #[cfg(feature = "host")]
    pub(crate) fn set_purpose(&mut self, purpose: impl Into<Text>) -> &mut Self {
        self.place().purpose.get_or_insert(purpose.into());
        self
    }

    /// Replaces the device that another process named by a device of this process.
    #[cfg(target_os = "linux")]
    pub(crate) fn move_to(&mut self, device: impl Into<Text>, generation: u64) {
        self.place().device = Some((device.into(), generation));
    }

    pub(crate) fn set_last_ops(&mut self, ops: Vec<Text>) -> &mut Self {
        self.place().last_ops = ops;
        self
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(place) = &self.0 else { return Ok(()) };
        let mut parts: Vec<String> = Vec::new();
        if let Some(purpose) = &place.purpose {
            parts.push(purpose.to_string());
        }
        if let Some(op) = &place.op {
            parts.push(format!("in {op}"));
        }
        if let Some(library) = &place.library {
            parts.push(format!("library {library}"));
        }
        if let Some((code, name)) = &place.code {
            parts.push(format!("code {code} {name}"));
        }
        if let Some((device, generation)) = &place.device {
            parts.push(format!("device {device}, generation {generation}"));
        }
        if !place.last_ops.is_empty() {
            parts.push(format!("last ops {}", place.last_ops.join(" ")));
        }
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

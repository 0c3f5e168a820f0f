//! Target architectures.

use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A GPU architecture: real (`sm_90`) or virtual (`compute_90`). A suffix allows the features of exactly this
/// architecture (`sm_90a`) or of its family (`sm_100f`).
///
/// Code for `sm_90` runs on every GPU of compute capability 9.x from 9.0 on; code for `sm_90a` only on 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Arch {
    number: u16,
    features: Features,
    is_virtual: bool,
}

/// The features beyond the portable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Features {
    Portable,
    Family,
    Specific,
}

macro_rules! archs {
    ($($NAME:ident = $number:literal $features:ident $text:literal;)*) => {
        $(
            #[doc = concat!("`", $text, "`.")]
            pub const $NAME: Arch = Arch { number: $number, features: Features::$features, is_virtual: false };
        )*
        /// All architectures that have a constant here.
        pub const ALL: &'static [Arch] = &[$(Arch::$NAME),*];
    };
}

impl Arch {
    archs! {
        SM_75 = 75 Portable "sm_75";
        SM_80 = 80 Portable "sm_80";
        SM_86 = 86 Portable "sm_86";
        SM_87 = 87 Portable "sm_87";
        SM_88 = 88 Portable "sm_88";
        SM_89 = 89 Portable "sm_89";
        SM_90 = 90 Portable "sm_90";
        SM_90A = 90 Specific "sm_90a";
        SM_100 = 100 Portable "sm_100";
        SM_100A = 100 Specific "sm_100a";
        SM_100F = 100 Family "sm_100f";
        SM_103 = 103 Portable "sm_103";
        SM_103A = 103 Specific "sm_103a";
        SM_103F = 103 Family "sm_103f";
        SM_110 = 110 Portable "sm_110";
        SM_110A = 110 Specific "sm_110a";
        SM_110F = 110 Family "sm_110f";
        SM_120 = 120 Portable "sm_120";
        SM_120A = 120 Specific "sm_120a";
        SM_120F = 120 Family "sm_120f";
        SM_121 = 121 Portable "sm_121";
        SM_121A = 121 Specific "sm_121a";
        SM_121F = 121 Family "sm_121f";
    }

    /// The real architecture of a compute capability: `(9, 0)` gives `sm_90`.
    pub const fn of_capability(major: u32, minor: u32) -> Self {
        let number = major.saturating_mul(10).saturating_add(minor);
        Arch { number: if number > 999 { 999 } else { number as u16 }, features: Features::Portable, is_virtual: false }
    }

    /// The compute capability: `(9, 0)` for `sm_90a`.
    pub const fn capability(self) -> (u32, u32) {
        ((self.number / 10) as u32, (self.number % 10) as u32)
    }

    /// The architecture with the architecture-specific features: `sm_90a` for `sm_90`.
    #[must_use]
    pub const fn specific(self) -> Self {
        Arch { features: Features::Specific, ..self }
    }

    /// The architecture with the features of its family: `sm_100f` for `sm_100`.
    #[must_use]
    pub const fn family(self) -> Self {
        Arch { features: Features::Family, ..self }
    }

    /// The architecture without such features: `sm_90` for `sm_90a`.
    #[must_use]
    pub const fn portable(self) -> Self {
        Arch { features: Features::Portable, ..self }
    }

    /// The virtual architecture, for PTX: `compute_90` for `sm_90`.
    #[must_use]
    pub const fn to_virtual(self) -> Self {
        Arch { is_virtual: true, ..self }
    }

    /// The real architecture, for machine code: `sm_90` for `compute_90`.
    #[must_use]
    pub const fn to_real(self) -> Self {
        Arch { is_virtual: false, ..self }
    }

    /// Whether it is virtual.
    pub const fn is_virtual(self) -> bool {
        self.is_virtual
    }

    /// Whether its code runs only on exactly this architecture (suffix `a`).
    pub const fn is_specific(self) -> bool {
        matches!(self.features, Features::Specific)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_virtual { "compute" } else { "sm" };
        let features = match self.features {
            Features::Portable => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(f, "{kind}_{}{features}", self.number)
    }
}

/// Parses `sm_90a` or `compute_80`.
impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid("arch", format!("`{text}` is not of the form sm_90, sm_90a or compute_90"));
        let (kind, rest) = text.split_once('_').ok_or_else(wrong)?;
        let is_virtual = match kind {
            "sm" => false,
            "compute" => true,
            _ => return Err(wrong()),
        };
        let digits = rest.trim_end_matches(|c: char| !c.is_ascii_digit());
        let features = match rest.strip_prefix(digits) {
            Some("") => Features::Portable,
            Some("f") => Features::Family,
            Some("a") => Features::Specific,
            _ => return Err(wrong()),
        };
        if !matches!(digits.len(), 2 | 3) || digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let number = digits.parse().map_err(|_| wrong())?;
        Ok(Arch { number, features, is_virtual })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_reads_as_it_is_written() {
        for &arch in Arch::ALL {
            for arch in [arch, arch.to_virtual()] {
                assert_eq!(arch.to_string().parse(), Ok(arch));
            }
        }
        assert_eq!(Arch::SM_90A.to_string(), "sm_90a");
        assert_eq!(Arch::SM_100F.to_virtual().to_string(), "compute_100f");
        assert_eq!(Arch::of_capability(12, 1), Arch::SM_121);
        assert_eq!(Arch::SM_103A.capability(), (10, 3));
    }

    #[test]
    fn what_names_no_architecture_is_refused() {
        for text in ["", "90", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_0900", "gfx_90", "sm_+90", "compute_", "sm_90 "]
        {
            assert!(matches!(text.parse::<Arch>(), Err(Error::InvalidArgument { .. })), "{text}");
        }
    }
}

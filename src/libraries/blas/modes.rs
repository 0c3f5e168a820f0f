//! How the library may compute: math modes, atomics, determinism.

use super::Blas;

/// How products of single precision may be computed on a GPU. The host engine always computes in the full precision of
/// the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Math {
    /// In the precision of the type, by whatever kernels the library thinks best.
    #[default]
    Default,
    /// In the precision of the type, without reordering that a plain kernel would not do: slower.
    Pedantic,
    /// Products of f32 and `Complex<f32>` on tensor cores, their inputs rounded to TF32 (10 bits of fraction).
    Tf32,
    /// Products of f32 and `Complex<f32>` composed of nine bf16 products, as precise as f32, if library and GPU have it
    /// (cuBLAS 12.9); with a library that does not, calls fail with [`Error::Unsupported`](crate::Error::Unsupported).
    EmulatedBf16x9,
}

/// How the library may compute; sent with each operation as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Modes {
    pub(crate) math: Math,
    pub(crate) full_reduction: bool,
    pub(crate) atomics: bool,
    pub(crate) deterministic: bool,
}

impl Modes {
    /// The library's own defaults.
    pub(crate) const DEFAULT: Modes =
        Modes { math: Math::Default, full_reduction: false, atomics: false, deterministic: false };
}

#[cfg(feature = "cuda")]
impl Modes {
    /// `cublasMath_t`.
    pub(crate) fn math_code(self) -> u32 {
        let math = match self.math {
            Math::Default => 0,
            Math::Pedantic => 2,
            Math::Tf32 => 3,
            Math::EmulatedBf16x9 => 4,
        };
        math | if self.full_reduction { 16 } else { 0 }
    }

    /// `cublasAtomicsMode_t`.
    pub(crate) fn atomics_code(self) -> u32 {
        u32::from(self.atomics && !self.deterministic)
    }
}

impl Blas {
    /// The same front with another math mode (`cublasSetMathMode`).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Gemm, blas::Math};
    /// let device = Device::host()?;
    /// let fast = device.blas().math(Math::Tf32);
    /// let a = device.tensor([1, 1], [2.0f32])?;
    /// let c = fast.gemm(Gemm::new(), &a, &a, device.uninit([1, 1])?)?;
    /// assert_eq!(device.to_vec(&c)?, [4.0]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn math(mut self, math: Math) -> Self {
        self.modes.math = math;
        self
    }

    /// Whether products of halves may be accumulated in half precision when the library splits a sum over blocks.
    /// Allowed unless this is called with `false` (`CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`).
    #[must_use]
    pub fn reduced_precision_reduction(mut self, allowed: bool) -> Self {
        self.modes.full_reduction = !allowed;
        self
    }

    /// Whether routines may use atomic additions, which are faster for some (symv) and give different bits each time
    /// (`cublasSetAtomicsMode`). Not allowed unless this is called.
    #[must_use]
    pub fn atomics(mut self, allowed: bool) -> Self {
        self.modes.atomics = allowed;
        self
    }

    /// Whether the same call on the same device gives the same bits each time: no atomics, whatever
    /// [`atomics`](Self::atomics) says. The host engine does so anyway.
    #[must_use]
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.modes.deterministic = deterministic;
        self
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn determinism_outranks_atomics() {
        let modes = Modes { atomics: true, ..Modes::DEFAULT };
        assert_eq!(modes.atomics_code(), 1);
        assert_eq!(Modes { deterministic: true, ..modes }.atomics_code(), 0);
        assert_eq!(Modes { math: Math::Tf32, full_reduction: true, ..modes }.math_code(), 19);
    }
}

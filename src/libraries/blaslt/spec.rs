//! What a product is asked for beyond its operands.

use super::types::MatmulTypes;
use crate::core::buffer::In;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::libraries::blas::Numbers;

/// `D = alpha * A * B + beta * C`: `alpha` is 1 and `beta` 0 unless set. Sizes, orders, transposes and batches are those of
/// the tensors. The routine behind it is `cublasLtMatmul`.
#[derive(Clone, Debug)]
#[must_use]
pub struct Matmul<'a, S: Element = f32> {
    /// `None`: 1.
    alpha: Option<Numbers<'a, S>>,
    beta: Option<Numbers<'a, S>>,
    conjugate: [bool; 2],
    tf32: bool,
    fast_accumulation: bool,
}

impl<S: Element> Default for Matmul<'_, S> {
    fn default() -> Self {
        Matmul { alpha: None, beta: None, conjugate: [false; 2], tf32: false, fast_accumulation: false }
    }
}

impl<'a, S: Element> Matmul<'a, S> {
    /// The plain product.
    pub fn new() -> Self {
        Self::default()
    }

    /// The factor of the product: a value, or a number on the device ([`Numbers`](crate::blas::Numbers)).
    pub fn alpha(mut self, alpha: impl Into<Numbers<'a, S>>) -> Self {
        self.alpha = Some(alpha.into());
        self
    }

    /// The factor of C: a value, or a number on the device ([`Numbers`](crate::blas::Numbers)), which makes C be read
    /// whatever the number is.
    pub fn beta(mut self, beta: impl Into<Numbers<'a, S>>) -> Self {
        self.beta = Some(beta.into());
        self
    }

    /// Multiplies the complex conjugate of A. A GPU's library does it in the same call if A lies by rows in a D that lies by
    /// columns, or the reverse (see [the module](crate::blaslt#what-a-gpus-library-does-in-one-call)).
    pub fn conjugate_a(mut self) -> Self {
        let [a, _] = &mut self.conjugate;
        *a = true;
        self
    }

    /// Multiplies the complex conjugate of B; see [`conjugate_a`](Self::conjugate_a).
    pub fn conjugate_b(mut self) -> Self {
        let [_, b] = &mut self.conjugate;
        *b = true;
        self
    }

    /// Lets a GPU multiply f32 in TF32: factors rounded to 11 significant bits, sums in f32. The host engine always
    /// multiplies in f32.
    pub fn tf32(mut self, allowed: bool) -> Self {
        self.tf32 = allowed;
        self
    }

    /// Lets a GPU accumulate products of 8-bit floats only in the accumulators of its tensor cores, which are less
    /// precise. The host engine always sums in f32.
    pub fn fast_accumulation(mut self, allowed: bool) -> Self {
        self.fast_accumulation = allowed;
        self
    }

    /// As plain data, and where alpha and beta are on the device.
    #[expect(clippy::type_complexity, reason = "the settings and two operands")]
    pub(super) fn settings<T: MatmulTypes<Scalar = S>>(&self) -> Result<(Settings<S>, [Option<In<'_, S>>; 2])> {
        fn number<'n, S: Element>(
            name: &'static str,
            number: &'n Option<Numbers<'_, S>>,
            or: S,
        ) -> Result<(S, Option<In<'n, S>>)> {
            number.as_ref().map_or(Ok((or, None)), |number| number.one(name))
        }
        let Matmul { conjugate, tf32, fast_accumulation, .. } = *self;
        let ((alpha, alpha_at), (beta, beta_at)) =
            (number("alpha", &self.alpha, T::ONE)?, number("beta", &self.beta, S::default())?);
        Ok((Settings { alpha, beta, conjugate, tf32, fast_accumulation }, [alpha_at, beta_at]))
    }
}

/// The same as plain data: alpha and beta have no meaning here if they are on the device.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[serde(bound = "S: Element")]
pub(super) struct Settings<S> {
    pub(super) alpha: S,
    pub(super) beta: S,
    /// Whether A and B are conjugated.
    pub(super) conjugate: [bool; 2],
    pub(super) tf32: bool,
    pub(super) fast_accumulation: bool,
}

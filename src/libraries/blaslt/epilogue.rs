//! The operation on a product before it is stored.

use super::beside::{Amax, Keeps, Sums};
use super::kept::Kept;
use crate::core::element::Element;
use crate::device::tensor::{ReadableTensor, TensorRef};
use crate::libraries::flags::Order;
use std::marker::PhantomData;

/// The function that is applied to a value before it is stored in D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum Function {
    #[default]
    None,
    Relu,
    Gelu,
    ReluGradient,
    GeluGradient,
}

/// What is written in addition to D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum SecondOutput {
    #[default]
    Nothing,
    Mask,
    PreActivation,
    /// The sum of D over what a bias is repeated along.
    BiasGradient,
    /// The sum of A over its columns.
    GradientOfA,
    /// The sum of B over its rows.
    GradientOfB,
}

/// An epilogue without its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Kind {
    pub(super) function: Function,
    pub(super) bias: bool,
    pub(super) second: SecondOutput,
    /// Whether the bias, or its gradient, has an element for each line of D, which is a column, or a row if D is row-major; else
    /// for each element of a line, as the library has it.
    pub(super) across: bool,
}

impl Kind {
    /// `cublasLtEpilogue_t`.
    #[cfg(feature = "cuda")]
    pub(super) fn code(self) -> u32 {
        const AUX: u32 = 128;
        let function = match self.function {
            Function::None => 0,
            Function::Relu => 2,
            Function::Gelu => 32,
            Function::ReluGradient => 8 | AUX,
            Function::GeluGradient => 64 | AUX,
        };
        let second = match self.second {
            SecondOutput::Nothing => 0,
            SecondOutput::Mask | SecondOutput::PreActivation => AUX,
            SecondOutput::BiasGradient => 16,
            SecondOutput::GradientOfA => 256,
            SecondOutput::GradientOfB => 512,
        };
        let code = function | second | if self.bias { 4 } else { 0 };
        if code == 0 { 1 } else { code }
    }
}

/// The operation on a product before it is stored, with what it reads.
///
/// `x` is `alpha * A * B + beta * C`, plus the bias if there is one. The constructors are those of `cublasLtEpilogue_t`; `W` is
/// what comes back in addition to D, which the call makes: a mask or a pre-activation for a later gradient ([`Kept`]), or the
/// gradient of a bias (a tensor).
///
/// - **A bias** has an element for each column of D, along its last axis, as a layer whose points are rows has it; with
///   [`per_row`](Self::per_row), for each row. Axes before are a batch, broadcast to that of D.
/// - **ReLU** is `max(x, 0)`; NaN becomes 0. Its mask is set where `x > 0`.
/// - **GELU** is `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`. Its pre-activation is `x`, rounded to its type: gradients
///   are taken at the rounded value. A GPU may compute the tanh with an error of `2^-11`.
/// - **Gradients** multiply `x`, the gradient after the activation, with the activation's derivative.
#[derive(Debug)]
#[must_use]
pub struct Epilogue<'a, Bias: Element, Aux: Element, W = ()> {
    pub(super) kind: Kind,
    pub(super) per_row: bool,
    pub(super) bias: Option<TensorRef<'a, Bias>>,
    pub(super) mask: Option<&'a Kept<u8>>,
    pub(super) pre: Option<&'a Kept<Aux>>,
    pub(super) second: PhantomData<W>,
}

impl<Bias: Element, Aux: Element, W> Clone for Epilogue<'_, Bias, Aux, W> {
    fn clone(&self) -> Self {
        Epilogue { bias: self.bias.clone(), ..*self }
    }
}

/// An epilogue that reads nothing.
fn plain<'a, Bias: Element, Aux: Element, W>(function: Function, second: SecondOutput) -> Epilogue<'a, Bias, Aux, W> {
    let kind = Kind { function, bias: false, second, across: false };
    Epilogue { kind, per_row: false, bias: None, mask: None, pre: None, second: PhantomData }
}

impl<'a, Bias: Element, Aux: Element, W> Epilogue<'a, Bias, Aux, W> {
    fn with_bias(mut self, bias: impl ReadableTensor<'a, Bias>) -> Self {
        self.kind.bias = true;
        self.bias = Some(bias.into());
        self
    }

    /// The bias, or its gradient, has an element for each row of D instead of each column. A GPU does it in the same call if D
    /// lies by columns, and per column if D lies by rows; else in steps.
    pub fn per_row(mut self) -> Self {
        self.per_row = true;
        self
    }

    /// Also returns the largest magnitude in D, before D is scaled and rounded: a tensor of one element. For a D of 8-bit floats.
    pub fn amax(self) -> Epilogue<'a, Bias, Aux, Amax<W>> {
        let Epilogue { kind, per_row, bias, mask, pre, .. } = self;
        Epilogue { kind, per_row, bias, mask, pre, second: PhantomData }
    }

    /// In which order a D that has both is read: that of what was kept of the first product, or that for which the library has the
    /// bias.
    pub(super) fn wanted(&self) -> Order {
        match (self.mask, self.pre) {
            (Some(mask), _) => mask.order(),
            (_, Some(pre)) => pre.order(),
            _ if self.per_row => Order::Column,
            _ => Order::Row,
        }
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux> {
    /// `x`.
    pub fn none() -> Self {
        plain(Function::None, SecondOutput::Nothing)
    }

    /// `x`, with a bias.
    pub fn bias(bias: impl ReadableTensor<'a, Bias>) -> Self {
        Self::none().with_bias(bias)
    }

    /// ReLU.
    pub fn relu() -> Self {
        plain(Function::Relu, SecondOutput::Nothing)
    }

    /// ReLU after a bias.
    pub fn relu_bias(bias: impl ReadableTensor<'a, Bias>) -> Self {
        Self::relu().with_bias(bias)
    }

    /// GELU.
    pub fn gelu() -> Self {
        plain(Function::Gelu, SecondOutput::Nothing)
    }

    /// GELU after a bias.
    pub fn gelu_bias(bias: impl ReadableTensor<'a, Bias>) -> Self {
        Self::gelu().with_bias(bias)
    }

    /// Multiplies by the derivative of ReLU, with the mask from the forward product.
    pub fn drelu(mask: &'a Kept<u8>) -> Self {
        Epilogue { mask: Some(mask), ..plain(Function::ReluGradient, SecondOutput::Nothing) }
    }

    /// Multiplies by the derivative of GELU at the pre-activation from the forward product.
    pub fn dgelu(pre: &'a Kept<Aux>) -> Self {
        Epilogue { pre: Some(pre), ..plain(Function::GeluGradient, SecondOutput::Nothing) }
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, Keeps<u8>> {
    /// ReLU, and the mask for its gradient.
    pub fn relu_aux() -> Self {
        plain(Function::Relu, SecondOutput::Mask)
    }

    /// ReLU after a bias, and the mask for its gradient.
    pub fn relu_aux_bias(bias: impl ReadableTensor<'a, Bias>) -> Self {
        Self::relu_aux().with_bias(bias)
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, Keeps<Aux>> {
    /// GELU, and its argument for its gradient.
    pub fn gelu_aux() -> Self {
        plain(Function::Gelu, SecondOutput::PreActivation)
    }

    /// GELU after a bias, and its argument for its gradient.
    pub fn gelu_aux_bias(bias: impl ReadableTensor<'a, Bias>) -> Self {
        Self::gelu_aux().with_bias(bias)
    }
}

/// The gradients are tensors: the batch axes of D, and one axis.
impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, Sums<Bias>> {
    /// [`drelu`](Epilogue::drelu), and the gradient of the bias: the sum of D over its rows, an element for each column; with
    /// [`per_row`](Self::per_row), over its columns.
    pub fn drelu_bgrad(mask: &'a Kept<u8>) -> Self {
        Epilogue { mask: Some(mask), ..plain(Function::ReluGradient, SecondOutput::BiasGradient) }
    }

    /// [`dgelu`](Epilogue::dgelu), and the gradient of the bias, as [`drelu_bgrad`](Self::drelu_bgrad).
    pub fn dgelu_bgrad(pre: &'a Kept<Aux>) -> Self {
        Epilogue { pre: Some(pre), ..plain(Function::GeluGradient, SecondOutput::BiasGradient) }
    }

    /// `x`, and the sum of A over its columns: an element for each row of D. Alpha is not applied to the sum.
    ///
    /// A GPU's library computes it in the same call if the terms of A are not contiguous (A lies by columns); otherwise it is
    /// a second product, of A and ones.
    pub fn bgrad_a() -> Self {
        plain(Function::None, SecondOutput::GradientOfA)
    }

    /// `x`, and the sum of B over its rows: an element for each column of D. As [`bgrad_a`](Self::bgrad_a): in the same call
    /// if B lies by rows, otherwise by a second product.
    pub fn bgrad_b() -> Self {
        plain(Function::None, SecondOutput::GradientOfB)
    }
}

//! The operation on a product before it is stored, and the additional outputs.

use crate::core::buffer::{DeviceBuffer, In, Readable};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Bufs, Immediate, Output};
use crate::device::Device;

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
    /// The sum of D over its columns.
    RowGradient,
    /// The sum of op(A) over its columns.
    GradientOfA,
    /// The sum of op(B) over its rows.
    GradientOfB,
}

/// An epilogue without its buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Kind {
    pub(super) function: Function,
    pub(super) bias: bool,
    pub(super) second: SecondOutput,
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
            SecondOutput::RowGradient => 16,
            SecondOutput::GradientOfA => 256,
            SecondOutput::GradientOfB => 512,
        };
        let code = function | second | if self.bias { 4 } else { 0 };
        if code == 0 { 1 } else { code }
    }
}

/// The operation on a product before it is stored, with the buffers that it reads and writes.
///
/// `x` is `alpha * op(A) * op(B) + beta * C`, plus the bias of its row if there is a bias. The constructors are those
/// of `cublasLtEpilogue_t`; `W` is what is written in addition to D and comes back with it: a mask or a pre-activation
/// for a later gradient, or the gradient of a bias.
///
/// - **ReLU** is `max(x, 0)`; NaN becomes 0. Its mask has bit `i + j * ld` set if `x > 0`, the lowest bit of a byte
///   first, see [`Matmul::ld_aux`](crate::Matmul::ld_aux). Rows beyond `m` have no meaning, here and in a
///   pre-activation; they are filled with zeros.
/// - **GELU** is `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`. Its auxiliary output is `x`, rounded to its
///   type: gradients are taken at the rounded value. A GPU may compute the tanh with an error of `2^-11`.
/// - **Gradients** multiply `x`, the gradient after the activation, with the activation's derivative.
#[derive(Debug)]
#[must_use]
pub struct Epilogue<'a, Bias: Element, Aux: Element, W = ()> {
    pub(super) kind: Kind,
    pub(super) bias: Option<In<'a, Bias>>,
    pub(super) mask: Option<In<'a, u8>>,
    pub(super) pre: Option<In<'a, Aux>>,
    pub(super) second: W,
}

/// An epilogue that reads nothing and writes nothing.
fn plain<'a, Bias: Element, Aux: Element, W>(
    function: Function,
    second: SecondOutput,
    buffer: W,
) -> Epilogue<'a, Bias, Aux, W> {
    let kind = Kind { function, bias: false, second };
    Epilogue { kind, bias: None, mask: None, pre: None, second: buffer }
}

impl<'a, Bias: Element, Aux: Element, W> Epilogue<'a, Bias, Aux, W> {
    fn with_bias(mut self, bias: impl Readable<'a, Bias>) -> Self {
        self.kind.bias = true;
        self.bias = Some(bias.into());
        self
    }

    /// Also returns the largest magnitude in D, before D is scaled and rounded: one element. For a D of 8-bit floats.
    pub fn amax(self, amax: DeviceBuffer<f32>) -> Epilogue<'a, Bias, Aux, Amax<W>> {
        let Epilogue { kind, bias, mask, pre, second } = self;
        Epilogue { kind, bias, mask, pre, second: Amax(second, amax) }
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux> {
    /// `x`.
    pub fn none() -> Self {
        plain(Function::None, SecondOutput::Nothing, ())
    }

    /// `x`, with a bias: an element for each row of D, added to all of its columns.
    pub fn bias(bias: impl Readable<'a, Bias>) -> Self {
        Self::none().with_bias(bias)
    }

    /// ReLU.
    pub fn relu() -> Self {
        plain(Function::Relu, SecondOutput::Nothing, ())
    }

    /// ReLU after a bias.
    pub fn relu_bias(bias: impl Readable<'a, Bias>) -> Self {
        Self::relu().with_bias(bias)
    }

    /// GELU.
    pub fn gelu() -> Self {
        plain(Function::Gelu, SecondOutput::Nothing, ())
    }

    /// GELU after a bias.
    pub fn gelu_bias(bias: impl Readable<'a, Bias>) -> Self {
        Self::gelu().with_bias(bias)
    }

    /// Multiplies by the derivative of ReLU, with the mask from the forward product.
    pub fn drelu(mask: impl Readable<'a, u8>) -> Self {
        Epilogue { mask: Some(mask.into()), ..plain(Function::ReluGradient, SecondOutput::Nothing, ()) }
    }

    /// Multiplies by the derivative of GELU at the pre-activation from the forward product.
    pub fn dgelu(pre: impl Readable<'a, Aux>) -> Self {
        Epilogue { pre: Some(pre.into()), ..plain(Function::GeluGradient, SecondOutput::Nothing, ()) }
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, DeviceBuffer<u8>> {
    /// ReLU, and the mask for its gradient: [`Matmul::mask_len`](crate::Matmul::mask_len) bytes.
    pub fn relu_aux(mask: DeviceBuffer<u8>) -> Self {
        plain(Function::Relu, SecondOutput::Mask, mask)
    }

    /// ReLU after a bias, and the mask for its gradient: [`Matmul::mask_len`](crate::Matmul::mask_len) bytes.
    pub fn relu_aux_bias(mask: DeviceBuffer<u8>, bias: impl Readable<'a, Bias>) -> Self {
        Self::relu_aux(mask).with_bias(bias)
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, DeviceBuffer<Aux>> {
    /// GELU, and its argument for its gradient: [`Matmul::preactivation_len`](crate::Matmul::preactivation_len)
    /// elements.
    pub fn gelu_aux(pre: DeviceBuffer<Aux>) -> Self {
        plain(Function::Gelu, SecondOutput::PreActivation, pre)
    }

    /// GELU after a bias, and its argument for its gradient.
    pub fn gelu_aux_bias(pre: DeviceBuffer<Aux>, bias: impl Readable<'a, Bias>) -> Self {
        Self::gelu_aux(pre).with_bias(bias)
    }
}

impl<'a, Bias: Element, Aux: Element> Epilogue<'a, Bias, Aux, DeviceBuffer<Bias>> {
    /// [`drelu`](Epilogue::drelu), and the sum of D over its columns: the gradient of the bias, an element for each row.
    pub fn drelu_bgrad(mask: impl Readable<'a, u8>, grad: DeviceBuffer<Bias>) -> Self {
        Epilogue { mask: Some(mask.into()), ..plain(Function::ReluGradient, SecondOutput::RowGradient, grad) }
    }

    /// [`dgelu`](Epilogue::dgelu), and the sum of D over its columns: the gradient of the bias, an element for each row.
    pub fn dgelu_bgrad(pre: impl Readable<'a, Aux>, grad: DeviceBuffer<Bias>) -> Self {
        Epilogue { pre: Some(pre.into()), ..plain(Function::GeluGradient, SecondOutput::RowGradient, grad) }
    }

    /// `x`, and the sum of `op(A)` over `k`: an element for each row of D. Alpha is not applied to the sum.
    ///
    /// A GPU's library computes it in the same call if the terms of `op(A)` are not contiguous (column-major and not
    /// transposed); otherwise it is a second product, of `op(A)` and ones.
    pub fn bgrad_a(grad: DeviceBuffer<Bias>) -> Self {
        plain(Function::None, SecondOutput::GradientOfA, grad)
    }

    /// `x`, and the sum of `op(B)` over `k`: an element for each column of D. As [`bgrad_a`](Self::bgrad_a): in the
    /// same call if B is column-major and transposed, otherwise by a second product.
    pub fn bgrad_b(grad: DeviceBuffer<Bias>) -> Self {
        plain(Function::None, SecondOutput::GradientOfB, grad)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// The additional outputs, and the largest magnitude of D.
#[derive(Debug)]
pub struct Amax<W>(W, DeviceBuffer<f32>);

/// The address and the length of an operand.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[doc(hidden)]
pub struct Place {
    /// Its address.
    pub address: u64,
    /// Its elements.
    pub len: usize,
}

impl<T: Element> From<&crate::core::buffer::Span<T>> for Place {
    fn from(span: &crate::core::buffer::Span<T>) -> Self {
        Place { address: span.address(), len: span.len() }
    }
}

/// All operands to be written.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[doc(hidden)]
pub struct WritePlaces {
    /// D.
    pub d: Place,
    /// The additional output of the epilogue.
    pub second: Option<Place>,
    /// The largest magnitude.
    pub amax: Option<Place>,
}

/// All operands to be written, for a host half; the additional output as bytes.
#[doc(hidden)]
pub struct WriteSlices<'x, D> {
    /// D.
    pub d: &'x mut [D],
    /// The additional output of the epilogue.
    pub second: Option<&'x mut [u8]>,
    /// The largest magnitude.
    pub amax: Option<&'x mut [f32]>,
}

/// The additional outputs for a D of type `D`: none, one buffer, and [`Amax`] of either. Sealed.
pub trait Extra<D: Element>: sealed::Sealed + 'static {
    /// D, alone or in a tuple with the additional outputs.
    type Output: Immediate;
    /// The names of the outputs in errors.
    #[doc(hidden)]
    const NAMES: &'static [&'static str];
    #[doc(hidden)]
    fn bufs(self, d: DeviceBuffer<D>) -> Bufs<Self::Output>;
    /// Buffers of zeros of the same lengths.
    #[doc(hidden)]
    fn scratch(places: &WritePlaces, device: &Device) -> Result<Bufs<Self::Output>>;
    #[doc(hidden)]
    fn places(spans: &SpansOf<Self, D>) -> WritePlaces;
    #[doc(hidden)]
    fn slices<'x>(slices: SlicesOf<'x, Self, D>) -> WriteSlices<'x, D>;
}

type Elems<W, D> = <<W as Extra<D>>::Output as Output>::Writes;
type SpansOf<W, D> = crate::core::op::Spans<Elems<W, D>>;
type SlicesOf<'x, W, D> = <Elems<W, D> as crate::core::buffer::Elems>::SlicesMut<'x>;

fn len(place: Option<Place>) -> usize {
    place.map_or(0, |place| place.len)
}

fn bytes<X: Element>(x: &mut [X]) -> &mut [u8] {
    bytemuck::cast_slice_mut(x)
}

impl sealed::Sealed for () {}
impl<D: Element> Extra<D> for () {
    type Output = DeviceBuffer<D>;
    const NAMES: &'static [&'static str] = &["d"];
    fn bufs(self, d: DeviceBuffer<D>) -> (DeviceBuffer<D>,) {
        (d,)
    }
    fn scratch(places: &WritePlaces, device: &Device) -> Result<(DeviceBuffer<D>,)> {
        Ok((device.zeros(places.d.len)?,))
    }
    fn places((d,): &SpansOf<Self, D>) -> WritePlaces {
        WritePlaces { d: d.into(), second: None, amax: None }
    }
    fn slices<'x>((d,): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
        WriteSlices { d, second: None, amax: None }
    }
}

impl<X: Element> sealed::Sealed for DeviceBuffer<X> {}
impl<D: Element, X: Element> Extra<D> for DeviceBuffer<X> {
    type Output = (DeviceBuffer<D>, DeviceBuffer<X>);
    const NAMES: &'static [&'static str] = &["d", "second"];
    fn bufs(self, d: DeviceBuffer<D>) -> Self::Output {
        (d, self)
    }
    fn scratch(places: &WritePlaces, device: &Device) -> Result<Self::Output> {
        Ok((device.zeros(places.d.len)?, device.zeros(len(places.second))?))
    }
    fn places((d, x): &SpansOf<Self, D>) -> WritePlaces {
        WritePlaces { d: d.into(), second: Some(x.into()), amax: None }
    }
    fn slices<'x>((d, x): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
        WriteSlices { d, second: Some(bytes(x)), amax: None }
    }
}

impl sealed::Sealed for Amax<()> {}
impl<D: Element> Extra<D> for Amax<()> {
    type Output = (DeviceBuffer<D>, DeviceBuffer<f32>);
    const NAMES: &'static [&'static str] = &["d", "amax"];
    fn bufs(self, d: DeviceBuffer<D>) -> Self::Output {
        (d, self.1)
    }
    fn scratch(places: &WritePlaces, device: &Device) -> Result<Self::Output> {
        Ok((device.zeros(places.d.len)?, device.zeros(len(places.amax))?))
    }
    fn places((d, amax): &SpansOf<Self, D>) -> WritePlaces {
        WritePlaces { d: d.into(), second: None, amax: Some(amax.into()) }
    }
    fn slices<'x>((d, amax): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
        WriteSlices { d, second: None, amax: Some(amax) }
    }
}

impl<X: Element> sealed::Sealed for Amax<DeviceBuffer<X>> {}
impl<D: Element, X: Element> Extra<D> for Amax<DeviceBuffer<X>> {
    type Output = (DeviceBuffer<D>, DeviceBuffer<X>, DeviceBuffer<f32>);
    const NAMES: &'static [&'static str] = &["d", "second", "amax"];
    fn bufs(self, d: DeviceBuffer<D>) -> Self::Output {
        (d, self.0, self.1)
    }
    fn scratch(places: &WritePlaces, device: &Device) -> Result<Self::Output> {
        Ok((device.zeros(places.d.len)?, device.zeros(len(places.second))?, device.zeros(len(places.amax))?))
    }
    fn places((d, x, amax): &SpansOf<Self, D>) -> WritePlaces {
        WritePlaces { d: d.into(), second: Some(x.into()), amax: Some(amax.into()) }
    }
    fn slices<'x>((d, x, amax): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
        WriteSlices { d, second: Some(bytes(x)), amax: Some(amax) }
    }
}

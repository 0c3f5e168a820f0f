//! Weight and bias.

use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::tensor::{ReadableTensor, TensorRef};
use crate::libraries::expressions::operands::Read;

/// By what normalised elements are multiplied, and what is added to them; both may be left out.
///
/// Their extents are those of the axes that are normalised, or the channels; see each call.
#[derive(Clone, Debug)]
pub struct Affine<'a, T: Element> {
    weight: Option<TensorRef<'a, T>>,
    bias: Option<TensorRef<'a, T>>,
}

impl<'a, T: Element> Affine<'a, T> {
    /// Neither.
    pub const fn none() -> Self {
        Affine { weight: None, bias: None }
    }

    /// Both.
    pub fn new(weight: impl ReadableTensor<'a, T>, bias: impl ReadableTensor<'a, T>) -> Self {
        Affine { weight: Some(weight.into()), bias: Some(bias.into()) }
    }

    /// A weight alone.
    pub fn weight(weight: impl ReadableTensor<'a, T>) -> Self {
        Affine { weight: Some(weight.into()), bias: None }
    }

    /// The operands.
    pub(super) fn reads(&self) -> Result<[Option<Read<'_>>; 2]> {
        Ok([read(self.weight.as_ref())?, read(self.bias.as_ref())?])
    }
}

fn read<'x, T: Element>(x: Option<&'x TensorRef<'_, T>>) -> Result<Option<Read<'x>>> {
    let Some(x) = x else { return Ok(None) };
    let (part, layout) = x.operand()?;
    Ok(Some((part.into(), layout)))
}

//! How the elements of the ranks become one.

use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How a collective combines the elements of all ranks.
///
/// The integer types combine by all of these; a sum or product wraps. `f16`, `bf16`, `f32` and `f64` do too. Complex numbers
/// have `Sum` and `Avg`. `i16`, `u16`, `Bool` and the 8-bit floating point types can only be moved.
///
/// **Rounding.** On host devices, and with [`deterministic`](super::Communicator::deterministic) on GPUs too, the elements are
/// combined in the order of the ranks; `f16` and `bf16` in `f32`, rounded once at the end. NCCL rounds them after each step,
/// and chooses the order by size and topology, so its results may differ in the last bits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Combine<T: Element> {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The largest element. A NaN loses against a number; `+0` is larger than `-0` on host devices.
    Max,
    /// The smallest element, as `Max`.
    Min,
    /// The sum divided by the number of ranks. For integers the sum wraps, and the quotient is truncated towards zero.
    Avg,
    /// The sum, after each element was multiplied by the factor of its rank: one factor for all, or one for each rank of
    /// this process, in their order. (NCCL 2.11)
    PreMulSum(Vec<T>),
}

/// [`Combine`] without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum How {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
    PreMulSum,
}

/// How elements are combined, and the factors' bytes: one for each rank of this process, or none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reduction {
    pub(super) how: How,
    pub(super) factors: Vec<[u8; 8]>,
}

impl How {
    pub(super) fn name(self) -> &'static str {
        match self {
            How::Sum => "Sum",
            How::Prod => "Prod",
            How::Max => "Max",
            How::Min => "Min",
            How::Avg => "Avg",
            How::PreMulSum => "PreMulSum",
        }
    }
}

impl<T: Element> Combine<T> {
    fn how(&self) -> How {
        match self {
            Combine::Sum => How::Sum,
            Combine::Prod => How::Prod,
            Combine::Max => How::Max,
            Combine::Min => How::Min,
            Combine::Avg => How::Avg,
            Combine::PreMulSum(_) => How::PreMulSum,
        }
    }

    /// Without its type, for a process that has `locals` ranks.
    pub(super) fn erased(&self, locals: usize) -> Result<Reduction> {
        let how = self.how();
        refuse_type(T::DTYPE, how)?;
        let factors: &[T] = if let Combine::PreMulSum(factors) = self { factors } else { &[] };
        if how == How::PreMulSum && factors.len() != 1 && factors.len() != locals {
            let count = factors.len();
            let what = format!("{count} factors for {locals} ranks of this process; give one for each, or one for all");
            return Err(Error::invalid("combine", what));
        }
        let bytes = |factor: &T| {
            let mut bytes = [0; 8];
            let from = bytemuck::bytes_of(factor);
            bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            bytes
        };
        let one: Vec<[u8; 8]> = factors.iter().map(bytes).collect();
        let factors = if let [all] = &one[..] { vec![*all; locals] } else { one };
        Ok(Reduction { how, factors })
    }
}

/// Refuses elements that cannot be combined this way.
fn refuse_type(dtype: DType, how: How) -> Result<()> {
    let remedy = match dtype {
        DType::I16 | DType::U16 | DType::Bool | DType::F8E4M3 | DType::F8E5M2 => {
            "such elements can only be moved; convert them to a wider type first"
        }
        DType::C32 | DType::C64 if !matches!(how, How::Sum | How::Avg) => "complex numbers have `Sum` and `Avg`",
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("`Combine::{}` of {dtype}: {remedy}", how.name())))
}

//! Keys and values in pages: blocks of some places each, of which a table names those of each batch.

use super::problem::AttentionProblem;
use super::spec::Attention;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout, ReadableTensor};
use crate::libraries::dnn::formulas::{Value, formula};
use crate::libraries::dnn::maybe_copied::MaybeCopied;
use crate::libraries::expressions::Symbol;
use crate::libraries::expressions::front::made_any;
use crate::libraries::tensor_routine::missing;
use serde::{Deserialize, Serialize};

/// Where the keys and values of batches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in super::super) struct Pages {
    /// How many blocks there are.
    pub(in super::super) blocks: usize,
    /// The places of a block.
    pub(in super::super) places: usize,
    /// The pages of a batch.
    pub(in super::super) table: usize,
}

impl<'a, T: Element> Attention<'a, T> {
    /// Keys and values are in blocks, which batches have in any order, as a server keeps them of requests that grow: `k` and `v` have the
    /// extents blocks, heads, places of a block, width. The table, of batch and pages, has the numbers of the blocks of a batch, the first
    /// places first; a number that no block has counts as the nearest. Needs [`lengths`](Self::lengths); pages beyond the length of the
    /// keys are not read. For the forward pass.
    #[must_use]
    pub fn pages(mut self, table: impl ReadableTensor<'a, i32>) -> Self {
        self.pages = Some(table.into());
        self
    }
}

/// The pages of a call: of a table, and keys of these extents.
pub(super) fn pages(table: &AnyTensorRef<'_>, batch: usize, k: [usize; 4], lengths: bool) -> Result<Pages> {
    let [blocks, _, places, _] = k;
    let &[of_table, pages] = table.shape() else {
        let what = format!("extents {:?}; batch and pages are needed", table.shape());
        return Err(Error::invalid("pages", what));
    };
    if of_table != batch {
        return Err(Error::invalid(
            "pages",
            format!("extents {:?} where {:?} are needed", table.shape(), [batch, pages]),
        ));
    }
    if !lengths {
        return Err(Error::invalid("pages", "these need the lengths of the batches: `Attention::lengths`"));
    }
    if blocks == 0 && batch * pages > 0 {
        return Err(Error::invalid("k", format!("no blocks, and a table of {pages} pages")));
    }
    Ok(Pages { blocks, places, table: pages })
}

/// The table, with numbers of blocks alone.
pub(super) fn bounded(device: &Device, table: &AnyTensorRef<'_>, pages: Pages) -> Result<MaybeCopied<'static>> {
    let last = i32::try_from(pages.blocks.saturating_sub(1)).unwrap_or(i32::MAX);
    let clamped = formula(&[DType::I32], |inputs| {
        let bound = |x: &Value| {
            let x = Symbol::<i32>::new(x.raw).clamp(0, last);
            Value::new(x.raw)
        };
        inputs.iter().map(bound).collect()
    })?;
    let (part, layout) = table.operand()?;
    let made = Layout::row_major(table.shape())?;
    let buffers = [device.uninit_any(DType::I32, table.shape())?.into_parts().0].into_iter().collect();
    let made_of = made_any(device, clamped, &[(part, layout)], buffers, &made)?.into_output();
    let buffer = made_of.into_iter().next().ok_or_else(missing)?;
    Ok(MaybeCopied::Copied(AnyTensor::from_buffer(buffer, made)?))
}

impl AttentionProblem {
    /// The extents of keys or values where they lie.
    pub(in super::super) fn stored(&self, places: [usize; 4]) -> [usize; 4] {
        let [_, heads, _, width] = places;
        match self.pages {
            Some(pages) => [pages.blocks, heads, pages.places, width],
            None => places,
        }
    }
}

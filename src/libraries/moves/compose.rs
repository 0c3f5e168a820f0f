//! A new tensor made of pieces of others: the one operation behind `concat`, `stack` and `pad`.

#[cfg(feature = "host")]
use crate::device::tensor::assign::host;
#[cfg(feature = "cuda")]
use crate::device::tensor::assign::{cuda, plan};
use crate::device::tensor::{Layout, fused};
use crate::libraries::tensor_routine::prelude::*;

/// A box of the new tensor, and the elements that it gets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Where it begins.
    pub(super) start: Vec<usize>,
    /// The operand that is read.
    pub(super) source: usize,
    /// Its elements, of the extents of the box.
    pub(super) layout: Layout,
}

/// Writes a row-major tensor piece by piece. All is plain data, and admitted by [`TensorRoutine::check`], wherever it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Compose {
    pub(super) dtype: DType,
    pub(super) target: Layout,
    /// What is written where no piece is: the bytes of an element, repeated.
    pub(super) value: Option<[u8; 16]>,
    pub(super) pieces: Vec<Piece>,
}

/// More pieces than any call makes of a sensible number of operands.
pub(super) const MOST: usize = 4096;

impl Compose {
    /// The elements of a piece in the new tensor.
    fn place(&self, piece: &Piece) -> Result<Layout> {
        let strides = self.target.strides();
        let offset = piece.start.iter().zip(strides).map(|(start, stride)| start * stride.unsigned_abs()).sum();
        Layout::new(piece.layout.shape(), strides, offset)
    }
}

impl TensorRoutine for Compose {
    const NAME: &'static str = "compose";
    const LIBRARY: &'static str = "copy";
    const PREPARED: bool = false;
    type Raw = ();

    /// Any number of sources, of one type.
    fn operands(&self) -> Operands<'_> {
        let target = Operand::exactly("target", self.dtype, self.target.len());
        Operands::new([Operand::any("source", self.dtype)], [target])
    }

    fn check_data(&self) -> Result<()> {
        if self.target != Layout::row_major(self.target.shape())? {
            return Err(Error::invalid("target", "it is not row-major"));
        }
        if self.pieces.len() > MOST {
            return Err(Error::invalid(
                "sources",
                format!("{} pieces, but at most {MOST} are made", self.pieces.len()),
            ));
        }
        let mut covered = 0usize;
        for (k, piece) in self.pieces.iter().enumerate() {
            let extents = piece.layout.shape();
            let ends = piece.start.iter().zip(extents).map(|(start, n)| start.checked_add(*n));
            let inside = extents.len() == self.target.rank()
                && piece.start.len() == extents.len()
                && ends.zip(self.target.shape()).all(|(end, n)| end.is_some_and(|end| end <= *n));
            if !inside {
                let what = format!("piece {k} of extents {extents:?} at {:?} is not inside", piece.start);
                return Err(Error::invalid("target", what));
            }
            covered = covered.saturating_add(piece.layout.len());
            let apart = |other: &Piece| {
                let own = piece.start.iter().zip(extents);
                let others = other.start.iter().zip(other.layout.shape());
                own.zip(others).any(|((a, n), (b, m))| a + n <= *b || b + m <= *a)
            };
            let before = self.pieces.get(..k).unwrap_or_default();
            let filled = |other: &&Piece| !other.layout.is_empty();
            if !piece.layout.is_empty() && !before.iter().filter(filled).all(apart) {
                return Err(Error::invalid("target", format!("piece {k} meets another one")));
            }
        }
        if self.value.is_none() && covered != self.target.len() {
            let what = format!("the pieces have {covered} of {} elements", self.target.len());
            return Err(Error::invalid("target", what));
        }
        Ok(())
    }

    fn check_operands(&self, reads: &[AnySpan], writes: &[AnySpan]) -> Result<()> {
        let [target] = writes else {
            return Err(Error::invalid("target", format!("{} operands instead of one", writes.len())));
        };
        for (k, span) in reads.iter().chain(writes).enumerate() {
            if span.dtype() != self.dtype {
                let what = format!("its elements are {}, not {}", span.dtype(), self.dtype);
                return Err(Error::invalid(format!("operand {k}"), what));
            }
        }
        if target.len() != self.target.len() {
            let what = format!("{} elements, but the pieces make {}", target.len(), self.target.len());
            return Err(Error::invalid("target", what));
        }
        for piece in &self.pieces {
            let len = reads.get(piece.source).map_or(0, |span| span.len());
            piece.layout.check_inside(format_args!("source {}", piece.source), len)?;
        }
        match reads.iter().position(|read| read.overlaps(target)) {
            Some(k) => Err(Error::invalid("target", format!("it lies in the memory of source {k}"))),
            None => Ok(()),
        }
    }

    fn overwrites_each(&self, _: &[AnySpan], _: usize) -> bool {
        // The check refuses pieces that leave anything out.
        true
    }

    fn operand_name(&self, index: usize, read_count: usize) -> Option<String> {
        Some(if index < read_count { format!("source {index}") } else { "target".to_owned() })
    }

    fn cost(&self) -> Cost {
        let read: usize = self.pieces.iter().map(|piece| piece.layout.len()).sum();
        Cost { flops: 0, bytes: (read as u64 + self.target.len() as u64).saturating_mul(self.dtype.size() as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, operands: Checked<'_, '_>) -> Result<()> {
        let Checked { reads, writes, .. } = operands;
        let (start, len) = writes.into_iter().next().ok_or_else(missing)?.into_raw();
        let size = self.dtype.size();
        if let Some(bytes) = &self.value {
            // Aligned for every element.
            let words: [u64; 2] = bytemuck::cast(*bytes);
            let (source, from) = (bytemuck::bytes_of(&words), self.target.broadcast_of_one()?);
            // SAFETY: the operand is exclusively ours, and of elements of this size.
            unsafe { host::assign_raw(size, (start, len, &self.target), (source, &from)) }?;
        }
        for piece in self.pieces.iter().filter(|piece| !piece.layout.is_empty()) {
            let source = reads.get(piece.source).ok_or_else(missing)?.bytes();
            let layouts = fused(&[&self.place(piece)?, &piece.layout]);
            let [to, from] = &layouts[..] else { return Err(missing()) };
            // SAFETY: as above.
            unsafe { host::assign_raw(size, (start, len, to), (source, from)) }?;
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
        let size = self.dtype.size();
        let target = queue.writes().first().ok_or_else(missing)?.address();
        if self.target.is_empty() {
            return Ok(());
        }
        if let Some(bytes) = &self.value {
            // SAFETY: all elements of an operand (the check has compared the lengths).
            unsafe { queue.fill(target, self.target.len(), bytes.get(..size).unwrap_or_default()) }?;
        }
        for piece in self.pieces.iter().filter(|piece| !piece.layout.is_empty()) {
            let source = queue.reads().get(piece.source).ok_or_else(missing)?.address();
            let layouts = fused(&[&self.place(piece)?, &piece.layout]);
            let [to, from] = &layouts[..] else { return Err(missing()) };
            let (to_at, from_at) = (target + (to.offset() * size) as u64, source + (from.offset() * size) as u64);
            let way = plan::Plan::new(size, (to, to_at), (from, plan::From::Elements(from_at)));
            // SAFETY: the layouts lie inside the operands (the check), the elements of the target differ, and no operand that is
            // written is also read.
            unsafe { cuda::run(queue, way, to_at, from_at) }?;
        }
        Ok(())
    }
}

tensor_routines!(Compose);

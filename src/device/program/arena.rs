//! The places of a program's temporaries in its arena. A temporary reuses the memory of another only where each of its steps already
//! follows all steps of the other.

use super::entry::{ALIGN, Entry, Part, Piece, Source};
use super::order::Ancestors;
use crate::core::error::{Error, Result};

/// A block of the arena, and the steps that use its latest temporary.
struct Block {
    offset: u64,
    bytes: u64,
    users: Vec<usize>,
}

/// The offsets of the temporaries in the arena, and the size of the arena in bytes.
pub(super) fn lay_out(pieces: &[Piece], entries: &[Entry], before: &Ancestors) -> Result<(Vec<Option<u64>>, u64)> {
    let mut users: Vec<Vec<usize>> = pieces.iter().map(|_| Vec::new()).collect();
    let mut order = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        for one in &entry.uses {
            let Source::Piece(piece) = one.source else { continue };
            if let Some(users) = users.get_mut(piece) {
                if users.is_empty() {
                    order.push(piece);
                }
                if users.last() != Some(&index) {
                    users.push(index);
                }
            }
        }
    }
    let (mut slots, mut blocks, mut end) = (vec![None; pieces.len()], Vec::<Block>::new(), 0u64);
    for index in order {
        let Some(piece) = pieces.get(index).filter(|piece| piece.part == Part::Temporary) else { continue };
        let users = users.get_mut(index).map(std::mem::take).unwrap_or_default();
        let free = |block: &Block| users.iter().all(|&own| block.users.iter().all(|&other| before.has(own, other)));
        let fits = blocks.iter_mut().filter(|block| block.bytes >= piece.bytes && free(block));
        let offset = match fits.min_by_key(|block| block.bytes) {
            Some(block) => {
                block.users = users;
                block.offset
            }
            None => {
                let bytes = piece.bytes.checked_next_multiple_of(ALIGN);
                let next = bytes.and_then(|bytes| end.checked_add(bytes));
                let (Some(bytes), Some(next)) = (bytes, next) else {
                    return Err(Error::invalid("len", "the temporaries exceed the address space"));
                };
                blocks.push(Block { offset: end, bytes, users });
                std::mem::replace(&mut end, next)
            }
        };
        if let Some(slot) = slots.get_mut(index) {
            *slot = Some(offset);
        }
    }
    Ok((slots, end))
}

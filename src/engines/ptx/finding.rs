//! What a check found, and where it is in the text.

use super::code::{Kernel, Spot};
use super::token::Place;
use crate::core::error::{Finding, FindingKind};

/// What is known where something is found; block and thread are added further up.
pub(super) struct Found {
    pub(super) kind: FindingKind,
    pub(super) lane: usize,
    pub(super) detail: String,
}

impl Found {
    pub(super) fn new(kind: FindingKind, lane: usize, detail: String) -> Box<Found> {
        Box::new(Found { kind, lane, detail })
    }
}

/// The finding of a kernel at one of its instructions.
pub(super) fn finding(
    kernel: &Kernel,
    files: &[(u32, String)],
    pc: u32,
    found: Found,
    at: ([u32; 3], [u32; 3]),
) -> Finding {
    let spot = kernel.code.get(pc as usize).and_then(|one| kernel.places.get(one.place as usize));
    let Spot { text: Place { line, .. }, source } = spot.copied().unwrap_or_default();
    let file = |number: u32| files.iter().find(|(known, _)| *known == number).map(|(_, name)| name.clone());
    let source = source.and_then(|(number, line)| Some((file(number)?, line)));
    let (block, thread) = at;
    Finding { kind: found.kind, kernel: kernel.name.clone(), line, source, block, thread, detail: found.detail }
}

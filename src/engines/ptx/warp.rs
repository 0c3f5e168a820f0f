//! A warp: its registers, and which of its lanes are where.

use super::cells::{Knows, Stamp};
use super::code::{Kernel, Reg, Special};
use super::lanes::{LANES, Row};
use super::launch::Shape;
use crate::core::error::Result;
use crate::core::room;

/// Why lanes do not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    /// For lanes of their warp.
    Lanes,
    /// For the block, at barrier number so and so; of so many threads, or of all.
    Block {
        number: u32,
        count: Option<u32>,
    },
}

/// Lanes that are at the same instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) wait: Wait,
}

/// A warp.
pub(super) struct Warp {
    pub(super) number: u32,
    pub(super) rows: Vec<Row>,
    pub(super) local: Vec<u8>,
    pub(super) groups: Vec<Group>,
    /// Instructions while several groups could go on: from time to time another one than the first has its turn.
    pub(super) shared_turn: u32,
    pub(super) order: Order,
}

/// What the lanes of a warp know of others, for races.
#[derive(Default)]
pub(super) struct Order {
    pub(super) block: u32,
    pub(super) warp: u32,
    /// Rises at each synchronization of lanes.
    pub(super) time: u32,
    /// Of all threads of the block all that has an earlier time came before: their times met at a barrier.
    pub(super) base: u32,
    /// To which time of lane `b` lane `a` knows what it did: row `a`, column `b`.
    pub(super) lanes: Option<Box<[[u32; LANES]; LANES]>>,
    /// The same of whole warps of the block.
    pub(super) warps: Vec<u32>,
    /// What came before this release, of any block, happened before: it was seen through memory.
    pub(super) acquired: u32,
    /// The release that its last fence was: what it writes strongly from then on tells of it.
    pub(super) fenced: u32,
}

impl Knows for Order {
    #[inline(always)]
    fn is_after(&self, lane: usize, earlier: &Stamp) -> bool {
        let same = earlier.block == self.block;
        if same && earlier.time < self.base || earlier.tick < self.acquired {
            return true;
        }
        let (warp, other) = (earlier.thread() / LANES as u32, earlier.thread() as usize % LANES);
        let known = match () {
            () if !same => 0,
            () if warp != self.warp => self.warps.get(warp as usize).copied().unwrap_or_default(),
            () if other == lane => return true,
            () => self.lanes.as_ref().and_then(|lanes| lanes.get(lane)?.get(other).copied()).unwrap_or_default(),
        };
        // A count that has come to its end orders everything from there on: no race is invented.
        earlier.time < known || earlier.time == u32::MAX || earlier.tick == u32::MAX
    }
}

impl Order {
    /// The lanes of `mask` meet: each knows what all of them know.
    pub(super) fn meet(&mut self, mask: u32) {
        self.time = self.time.saturating_add(1);
        let Some(lanes) = self.lanes.as_deref_mut() else { return };
        let inside = |lane: usize| mask >> lane & 1 != 0;
        let mut all = [0u32; LANES];
        for row in lanes.iter().enumerate().filter(|(lane, _)| inside(*lane)).map(|(_, row)| row) {
            for (all, known) in all.iter_mut().zip(row) {
                *all = (*all).max(*known);
            }
        }
        for (_, all) in all.iter_mut().enumerate().filter(|(lane, _)| inside(*lane)) {
            *all = self.time;
        }
        for row in lanes.iter_mut().enumerate().filter(|(lane, _)| inside(*lane)).map(|(_, row)| row) {
            *row = all;
        }
    }
}

impl Warp {
    /// Its memory; [`again`](Self::again) makes it a warp of a block.
    pub(super) fn new(kernel: &Kernel, shape: &Shape, number: u32, races: bool) -> Result<Self> {
        let warps = if races { shape.threads().div_ceil(LANES as u32) as usize } else { 0 };
        let lanes = if races { Some(room::boxed([[0; LANES]; LANES])?) } else { None };
        Ok(Warp {
            number,
            rows: room::filled(kernel.registers as usize, [0; LANES])?,
            local: room::zeroed((kernel.local_bytes as usize).saturating_mul(LANES))?,
            groups: room::with_capacity(LANES)?,
            shared_turn: 0,
            order: Order { lanes, warps: room::filled(warps, 0)?, ..Order::default() },
        })
    }

    /// The bytes that it takes.
    pub(super) fn bytes(kernel: &Kernel, shape: &Shape, races: bool) -> u64 {
        let known = (size_of::<[[u32; LANES]; LANES]>() as u64) + 4 * u64::from(shape.threads().div_ceil(32));
        let rows = (size_of::<Row>() as u64).saturating_mul(kernel.registers.into());
        let local = kernel.local_bytes.saturating_mul(LANES as u64);
        rows.saturating_add(local).saturating_add(if races { known } else { 0 })
    }

    /// As a new warp of a block: its memory is used again.
    pub(super) fn again(&mut self, kernel: &Kernel, shape: &Shape, block: [u32; 3]) {
        self.rows.fill([0; LANES]);
        self.local.fill(0);
        let Order { lanes, warps, .. } = &mut self.order;
        lanes.iter_mut().for_each(|lanes| lanes.fill([0; LANES]));
        warps.fill(0);
        self.begin(kernel, shape, block);
    }

    /// At the first instruction, with zeros in all memory.
    fn begin(&mut self, kernel: &Kernel, shape: &Shape, block: [u32; 3]) {
        let first = self.number * LANES as u32;
        let count = shape.threads().saturating_sub(first).min(LANES as u32);
        let mask = if count >= 32 { u32::MAX } else { (1 << count) - 1 };
        self.groups.clear();
        self.groups.push(Group { pc: 0, mask, wait: Wait::No });
        self.shared_turn = 0;
        let Order { lanes, warps, .. } = std::mem::take(&mut self.order);
        let block_number = shape.block_number(block) as u32 + 1;
        self.order = Order { block: block_number, warp: self.number, lanes, warps, ..Order::default() };
        for (register, value) in &kernel.constants {
            *self.row_mut(*register) = [*value; LANES];
        }
        for (register, special) in &kernel.specials {
            let row = self.row_mut(*register);
            for (lane, value) in row.iter_mut().enumerate() {
                *value = value_of(*special, shape, block, first + lane as u32).into();
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the decoder counts the registers")]
    pub(super) fn row(&self, register: Reg) -> &Row {
        &self.rows[register as usize]
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the decoder counts the registers")]
    pub(super) fn row_mut(&mut self, register: Reg) -> &mut Row {
        &mut self.rows[register as usize]
    }

    /// Writes the lanes of `mask` of a register.
    #[inline(always)]
    pub(super) fn blend(&mut self, register: Reg, values: &Row, mask: u32) {
        let row = self.row_mut(register);
        if mask == u32::MAX {
            *row = *values;
            return;
        }
        for (lane, (to, from)) in row.iter_mut().zip(values).enumerate() {
            *to = if mask >> lane & 1 != 0 { *from } else { *to };
        }
    }

    /// The lanes whose predicate is true.
    pub(super) fn truths(&self, predicate: Reg) -> u32 {
        let bits = self.row(predicate).iter().enumerate();
        bits.fold(0, |mask, (lane, bit)| mask | ((*bit as u32 & 1) << lane))
    }

    /// The lanes that have not ended.
    pub(super) fn alive(&self) -> u32 {
        self.groups.iter().fold(0, |mask, group| mask | group.mask)
    }

    /// Joins groups that are at the same instruction.
    pub(super) fn merge(&mut self) {
        let mut at = 0;
        while let Some(group) = self.groups.get(at).copied() {
            let same = |other: &Group| other.pc == group.pc && group.wait != Wait::Lanes && other.wait == group.wait;
            let twin = self.groups.iter().skip(at + 1).position(|other| {
                // Lanes that wait for others look again when these arrive.
                same(other)
                    || other.pc == group.pc
                        && matches!((group.wait, other.wait), (Wait::No | Wait::Lanes, Wait::No | Wait::Lanes))
            });
            let Some(twin) = twin else {
                at += 1;
                continue;
            };
            let other = self.groups.swap_remove(at + 1 + twin);
            if let Some(group) = self.groups.get_mut(at) {
                group.mask |= other.mask;
                if other.wait == Wait::No {
                    group.wait = Wait::No;
                }
            }
        }
    }
}

/// The lanes of a mask.
pub(super) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(lane as usize)
    })
}

fn value_of(special: Special, shape: &Shape, block: [u32; 3], thread: u32) -> u32 {
    let lane = thread % LANES as u32;
    let axis = |of: [u32; 3], axis: u8| of.get(axis as usize).copied().unwrap_or_default();
    match special {
        Special::Thread(n) => axis(shape.thread(thread), n),
        Special::Threads(n) => axis(shape.block, n),
        Special::Block(n) => axis(block, n),
        Special::Blocks(n) => axis(shape.grid, n),
        Special::Lane => lane,
        Special::Warp => thread / LANES as u32,
        Special::Warps => shape.threads().div_ceil(LANES as u32),
        Special::MaskEqual => 1 << lane,
        Special::MaskLess => (1 << lane) - 1,
        Special::MaskLessEqual => u32::MAX >> (31 - lane),
        Special::MaskGreater => !(u32::MAX >> (31 - lane)),
        Special::MaskGreaterEqual => u32::MAX << lane,
        Special::WarpSize => LANES as u32,
        Special::DynamicShared => shape.dynamic_shared,
        Special::TotalShared => shape.total_shared,
        Special::Other => 0,
    }
}

//! Loads, stores and atomic operations of a warp.

use super::block::Place;
use super::cells::Does;
use super::code::{Access, Atomic, Combine, Instruction, Order, Reg};
use super::execute::space_of;
use super::finding::Found;
use super::halves;
use super::lanes::{LANES, Lane, Row};
use super::memory::{self, Area, LOCAL_WINDOW, Memory, PARAMETER_WINDOW, SHARED_WINDOW};
use super::types::{Kind, Space, Type};
use super::warp::{Warp, lanes_of};
use crate::core::error::FindingKind;
use smallvec::{SmallVec, smallvec};

/// The spaces of generic addresses.
const SPACES: [(Space, u64); 4] = [
    (Space::Global, 0),
    (Space::Shared, SHARED_WINDOW),
    (Space::Local, LOCAL_WINDOW),
    (Space::Param, PARAMETER_WINDOW),
];

/// The addresses of an access: of these lanes, in one space.
pub(super) struct Run {
    pub(super) addresses: Row,
    pub(super) mask: u32,
    pub(super) space: Space,
    /// Of one element, and of all of a vector.
    pub(super) bytes: u32,
    pub(super) whole: u32,
    pub(super) writes: bool,
    pub(super) order: Order,
    /// The area of all lanes, if it is one.
    pub(super) area: Option<usize>,
}

impl Run {
    pub(super) fn address(&self, lane: usize, further: u64) -> u64 {
        self.addresses.get(lane).copied().unwrap_or_default().wrapping_add(further)
    }

    /// The area of these bytes, in global memory.
    pub(super) fn area<'r, 'm>(&self, memory: &'r Memory<'m>, address: u64) -> Option<&'r Area<'m>> {
        let at = self.area.or_else(|| memory.find(address, self.bytes.into()))?;
        memory.areas.get(at)
    }
}

impl Warp {
    pub(super) fn load(
        &mut self,
        place: &mut Place<'_, '_>,
        access: &Access,
        base: Reg,
        active: u32,
    ) -> Result<(), Box<Found>> {
        let whole = access.bytes * access.registers.len() as u32;
        for run in self.runs(access.space, base, access.offset, active) {
            let run = Run { bytes: access.bytes, whole, writes: false, order: access.order, ..run };
            let run = Run { area: self.check(place, &run)?, ..run };
            for (n, register) in access.registers.iter().enumerate() {
                let mut values = self.read(place, &run, n as u64 * u64::from(access.bytes))?;
                let Some(register) = register else { continue };
                if access.signed {
                    let shift = 64 - 8 * access.bytes;
                    values.iter_mut().for_each(|value| *value = ((*value << shift) as i64 >> shift) as u64);
                }
                self.blend(*register, &values, run.mask);
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        place: &mut Place<'_, '_>,
        access: &Access,
        base: Reg,
        active: u32,
    ) -> Result<(), Box<Found>> {
        let whole = access.bytes * access.registers.len() as u32;
        for run in self.runs(access.space, base, access.offset, active) {
            let run = Run { bytes: access.bytes, whole, writes: true, order: access.order, ..run };
            let run = Run { area: self.check(place, &run)?, ..run };
            for (n, register) in access.registers.iter().enumerate() {
                let values = *self.row(register.unwrap_or_default());
                self.write(place, &run, n as u64 * u64::from(access.bytes), &values)?;
            }
        }
        Ok(())
    }

    /// The lanes of an access by their space, with addresses of that space.
    fn runs(&self, space: Space, base: Reg, offset: i64, active: u32) -> SmallVec<[Run; 1]> {
        let mut addresses = *self.row(base);
        let run = |addresses, mask, space| Run {
            addresses,
            mask,
            space,
            bytes: 0,
            whole: 0,
            writes: false,
            order: Order::Weak,
            area: None,
        };
        if space == Space::Shared || space == Space::Local || space == Space::Param {
            // An address of 32 bits may stand in a register with more.
            addresses.iter_mut().for_each(|one| *one = (*one as u32).wrapping_add(offset as u32).into());
            return smallvec![run(addresses, active, space)];
        }
        addresses.iter_mut().for_each(|one| *one = one.wrapping_add(offset as u64));
        if space != Space::Generic {
            return smallvec![run(addresses, active, Space::Global)];
        }
        let mut all = SmallVec::new();
        for (space, window) in SPACES {
            let is_here = |lane: &usize| addresses.get(*lane).is_some_and(|one| space_of(*one) == space);
            let mask = lanes_of(active).filter(is_here).fold(0, |mask, lane| mask | 1 << lane);
            if mask != 0 {
                all.push(run(addresses.map(|one| one.wrapping_sub(window)), mask, space));
            }
        }
        all
    }

    /// Alignment and bounds. The area, where all lanes are in one.
    fn check(&self, place: &Place<'_, '_>, run: &Run) -> Result<Option<usize>, Box<Found>> {
        let (mut least, mut most, mut bits) = (u64::MAX, 0, 0);
        for (lane, address) in run.addresses.iter().enumerate() {
            if run.mask >> lane & 1 != 0 {
                least = least.min(*address);
                most = most.max(*address);
                bits |= address;
            }
        }
        let size = u64::from(run.whole);
        // The decoder admits vectors of 1, 2, 4 or 8 elements: a power of two.
        if bits & (size - 1) != 0 {
            let is_off = |lane: &usize| run.addresses.get(*lane).is_some_and(|one| one & (size - 1) != 0);
            let lane = lanes_of(run.mask).find(is_off).unwrap_or_default();
            let address = run.addresses.get(lane).copied().unwrap_or_default();
            let detail = format!("{size} bytes at {} address {address:#x}, which is no multiple of {size}", run.space);
            return Err(Found::new(FindingKind::Misaligned, lane, detail));
        }
        let limit = match run.space {
            Space::Shared => place.shared.len() as u64,
            Space::Local => place.kernel.local_bytes,
            Space::Param => place.parameters.len() as u64,
            _ => return self.check_global(place, run, least, most),
        };
        if most.checked_add(size).is_some_and(|end| end <= limit) {
            return Ok(None);
        }
        let is_out = |lane: &usize| run.addresses.get(*lane).is_some_and(|one| one.saturating_add(size) > limit);
        let lane = lanes_of(run.mask).find(is_out).unwrap_or_default();
        let address = run.addresses.get(lane).copied().unwrap_or_default();
        let (access, space) = (if run.writes { "write" } else { "read" }, run.space);
        let detail = format!("{access} of {size} bytes at {space} address {address:#x}; there are {limit} bytes");
        Err(Found::new(FindingKind::OutOfBounds, lane, detail))
    }

    fn check_global(
        &self,
        place: &Place<'_, '_>,
        run: &Run,
        least: u64,
        most: u64,
    ) -> Result<Option<usize>, Box<Found>> {
        let size = u64::from(run.whole);
        let area = |at: usize| place.memory.areas.get(at);
        let span = (most - least).checked_add(size);
        if let Some(at) = span.and_then(|span| place.memory.find(least, span))
            && area(at).is_some_and(|area| area.writable || !run.writes)
        {
            return Ok(Some(at));
        }
        for lane in lanes_of(run.mask) {
            let address = run.addresses.get(lane).copied().unwrap_or_default();
            match place.memory.find(address, size).and_then(area) {
                None => return Err(place.memory.outside(lane, address, size, run.writes)),
                Some(area) if run.writes && !area.writable => {
                    let at = address - area.start;
                    let detail = format!("{size} bytes at {address:#x}, byte {at} of {}", area.name);
                    return Err(Found::new(FindingKind::ReadOnly, lane, detail));
                }
                Some(_) => {}
            }
        }
        Ok(None)
    }

    pub(super) fn atomic(
        &mut self,
        place: &mut Place<'_, '_>,
        atomic: &Atomic,
        instruction: &Instruction,
        active: u32,
    ) -> Result<(), Box<Found>> {
        let [base, b, c] = instruction.from;
        let (ty, bytes) = (atomic.ty, atomic.ty.bytes());
        let told = self.told(place, atomic.order);
        let (first, second) = (*self.row(b), *self.row(c));
        let mut returned = [0; LANES];
        for run in self.runs(atomic.space, base, atomic.offset, active) {
            let run = Run { bytes, whole: bytes, writes: true, order: Order::Relaxed, ..run };
            let run = Run { area: self.check(place, &run)?, ..run };
            // What it replaces, and what it makes of that.
            self.note(place, &run, 0, Does::Look)?;
            self.note(place, &run, 0, Does::Write { same: false })?;
            let mut held = None;
            for lane in lanes_of(run.mask) {
                let at = |row: &Row| row.get(lane).copied().unwrap_or_default();
                let (address, x, y) = (at(&run.addresses), at(&first), at(&second));
                self.synchronise(place, &run, address, told, &mut held)?;
                let apply = |old: u64| combine(atomic.combine, ty, old, x, y);
                let old = match run.space {
                    Space::Shared => in_bytes(&mut place.shared, address, bytes, apply),
                    Space::Local => {
                        let at = lane as u64 * place.kernel.local_bytes + address;
                        in_bytes(&mut self.local, at, bytes, apply)
                    }
                    Space::Param => 0,
                    _ => match run.area(place.memory, address) {
                        // SAFETY: `check` found the area of these bytes, which may be written, and their alignment.
                        Some(area) => unsafe { area.update(address, bytes, apply) },
                        None => 0,
                    },
                };
                if let Some(returned) = returned.get_mut(lane) {
                    *returned = old;
                }
            }
        }
        if atomic.returns {
            self.blend(instruction.to, &returned, active);
        }
        Ok(())
    }
}

pub(super) fn masked(value: u64, bytes: u32) -> u64 {
    value & (u64::MAX >> (64 - 8 * bytes.clamp(1, 8)))
}

fn in_bytes(memory: &mut [u8], at: u64, bytes: u32, apply: impl FnOnce(u64) -> u64) -> u64 {
    let old = memory::load_bytes(memory, at, bytes).unwrap_or_default();
    memory::store_bytes(memory, at, bytes, apply(old));
    old
}

/// The new value of an atomic operation.
pub(super) fn combine(how: Combine, ty: Type, old: u64, x: u64, y: u64) -> u64 {
    let sign = |value: u64| ((value << (64 - ty.bits)) as i64) >> (64 - ty.bits);
    let (old, x) = (masked(old, ty.bytes()), masked(x, ty.bytes()));
    match how {
        Combine::Add => match (ty.kind, ty.bits) {
            (Kind::Float, 32) => (f32::take(old) + f32::take(x)).put(),
            (Kind::Float, 64) => (f64::take(old) + f64::take(x)).put(),
            _ if ty.is_float() => halves::added(ty, old, x),
            _ => old.wrapping_add(x),
        },
        Combine::Min if ty.is_signed() => sign(old).min(sign(x)) as u64,
        Combine::Max if ty.is_signed() => sign(old).max(sign(x)) as u64,
        Combine::Min => old.min(x),
        Combine::Max => old.max(x),
        Combine::And => old & x,
        Combine::Or => old | x,
        Combine::Xor => old ^ x,
        Combine::Exchange => x,
        Combine::Compare => {
            if old == x {
                y
            } else {
                old
            }
        }
        Combine::Increment => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        Combine::Decrement => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
    }
}

//! Values between the registers of a warp and memory, at addresses that were checked.

use super::access::Run;
use super::block::Place;
use super::cells::Does;
use super::code::Order;
use super::finding::Found;
use super::lanes::{LANES, Row};
use super::memory;
use super::types::Space;
use super::warp::{Warp, lanes_of};

impl Warp {
    /// The values at `addresses + further`, which were checked.
    pub(super) fn read(&mut self, place: &mut Place<'_, '_>, run: &Run, further: u64) -> Result<Row, Box<Found>> {
        if run.order != Order::Weak {
            return self.read_strong(place, run, further);
        }
        let mut values = [0; LANES];
        match run.space {
            Space::Shared => gather(&place.shared, run, further, &mut values),
            Space::Param => gather(place.parameters, run, further, &mut values),
            Space::Local => self.read_lanes(place, run, further, &mut values),
            _ => match run.area.and_then(|at| place.memory.areas.get(at)) {
                Some(area) => {
                    let lanes = values.iter_mut().zip(&run.addresses).enumerate();
                    for (_, (value, address)) in lanes.filter(|(lane, _)| run.mask >> lane & 1 != 0) {
                        // SAFETY: `check` found all bytes in this area, and their alignment.
                        *value = unsafe { area.load(address.wrapping_add(further), run.bytes) };
                    }
                }
                None => self.read_lanes(place, run, further, &mut values),
            },
        }
        self.note_read(place, run, further)?;
        Ok(values)
    }

    /// Lane by lane: each sees the releases that the memory tells of.
    fn read_strong(&mut self, place: &mut Place<'_, '_>, run: &Run, further: u64) -> Result<Row, Box<Found>> {
        let (mut values, mut held) = ([0; LANES], None);
        for lane in lanes_of(run.mask) {
            let address = run.address(lane, further);
            self.synchronise(place, run, address, 0, &mut held)?;
            if let Some(value) = values.get_mut(lane) {
                *value = self.read_lane(place, run, address, lane);
            }
        }
        drop(held);
        self.note_read(place, run, further)?;
        Ok(values)
    }

    fn read_lanes(&self, place: &Place<'_, '_>, run: &Run, further: u64, values: &mut Row) {
        for lane in lanes_of(run.mask) {
            if let Some(value) = values.get_mut(lane) {
                *value = self.read_lane(place, run, run.address(lane, further), lane);
            }
        }
    }

    fn read_lane(&self, place: &Place<'_, '_>, run: &Run, address: u64, lane: usize) -> u64 {
        match run.space {
            Space::Shared => memory::load_bytes(&place.shared, address, run.bytes).unwrap_or_default(),
            Space::Local => {
                let at = lane as u64 * place.kernel.local_bytes + address;
                memory::load_bytes(&self.local, at, run.bytes).unwrap_or_default()
            }
            Space::Param => memory::load_bytes(place.parameters, address, run.bytes).unwrap_or_default(),
            _ => match run.area(place.memory, address) {
                // SAFETY: `check` found the area of these bytes, and their alignment.
                Some(area) => unsafe { area.load(address, run.bytes) },
                None => 0,
            },
        }
    }

    /// Lane by lane: a later one sees what an earlier one wrote.
    pub(super) fn write(
        &mut self,
        place: &mut Place<'_, '_>,
        run: &Run,
        further: u64,
        values: &Row,
    ) -> Result<(), Box<Found>> {
        let mut held = None;
        let noted = self.is_noted(place, run).then(|| self.noted(place, run, Does::Write { same: false }));
        let told = (run.order != Order::Weak).then(|| self.told(place, run.order));
        for lane in lanes_of(run.mask) {
            let value = values.get(lane).copied().unwrap_or_default();
            let address = run.address(lane, further);
            if let Some(noted) = noted {
                self.note_lane(place, run, further, lane, noted, Some(value), &mut held)?;
            }
            if let Some(told) = told {
                self.synchronise(place, run, address, told, &mut held)?;
            }
            match run.space {
                Space::Shared => {
                    memory::store_bytes(&mut place.shared, address, run.bytes, value);
                }
                Space::Local => {
                    let at = lane as u64 * place.kernel.local_bytes + address;
                    memory::store_bytes(&mut self.local, at, run.bytes, value);
                }
                Space::Param => {}
                _ => {
                    if let Some(area) = run.area(place.memory, address) {
                        // SAFETY: `check` found the area of these bytes, which may be written, and their alignment.
                        unsafe { area.store(address, run.bytes, value) }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The values at `addresses + further` of a block's memory or of the parameters.
fn gather(memory: &[u8], run: &Run, further: u64, values: &mut Row) {
    #[inline(always)]
    fn of<const N: usize>(memory: &[u8], run: &Run, further: u64, values: &mut Row, value: impl Fn([u8; N]) -> u64) {
        let lanes = values.iter_mut().zip(&run.addresses).enumerate();
        for (_, (to, address)) in lanes.filter(|(lane, _)| run.mask >> lane & 1 != 0) {
            let from = memory.get(address.wrapping_add(further) as usize..).and_then(|rest| rest.first_chunk::<N>());
            *to = from.map_or(0, |bytes| value(*bytes));
        }
    }
    match run.bytes {
        1 => of::<1>(memory, run, further, values, |bytes| u8::from_le_bytes(bytes).into()),
        2 => of::<2>(memory, run, further, values, |bytes| u16::from_le_bytes(bytes).into()),
        4 => of::<4>(memory, run, further, values, |bytes| u32::from_le_bytes(bytes).into()),
        _ => of::<8>(memory, run, further, values, u64::from_le_bytes),
    }
}

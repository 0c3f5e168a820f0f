//! A device for each piece of work.

use crate::core::error::{Error, Result};
use crate::core::sync::{AtomicUsize, Ordering};
use crate::device::Device;

/// Chooses one of several devices for each piece of work.
///
/// Each call takes one of the three rules; they may be mixed. A device that is lost, faulted or being rebuilt is skipped
/// until it is healthy again. Any number of threads may share one value by reference. The choice reserves nothing: what
/// is submitted to the device afterwards is what counts.
///
/// ```
/// # fn main() -> windlass::Result<()> {
/// use rayon::prelude::*;
/// use windlass::{Device, placement::Placement};
/// let place = Placement::new(&[Device::host()?, Device::host()?])?;
/// let sizes: Vec<usize> = (1..=8)
///     .into_par_iter()
///     .map(|n| Ok(place.round_robin()?.zeros::<f32>(n)?.len()))
///     .collect::<windlass::Result<_>>()?;
/// assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 8]);
/// let home = place.by_key("user 17")?; // the same in each run
/// assert_eq!(home, place.by_key("user 17")?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Placement {
    devices: Vec<Device>,
    /// What keys are hashed with, for each device: it does not depend on the others.
    seeds: Vec<u64>,
    /// Whose turn it is, for each of the rules that take turns.
    round: AtomicUsize,
    least: AtomicUsize,
}

impl Placement {
    /// Chooses among these devices.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: no device, or a handle of a recording.
    pub fn new<'d>(devices: impl IntoIterator<Item = &'d Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().cloned().collect();
        if devices.is_empty() {
            return Err(Error::invalid("devices", "the list is empty"));
        }
        if devices.iter().any(|device| device.recording().is_some()) {
            return Err(Error::invalid("devices", "a recording belongs to one device; place its replays instead"));
        }
        let names: Vec<Vec<u8>> = devices.iter().map(identity).collect();
        // Two handles of one GPU are told apart by their order.
        let same = |index: usize, name: &Vec<u8>| names.iter().take(index).filter(|other| *other == name).count();
        let seed = |(index, name): (usize, &Vec<u8>)| mixed(hash(name), same(index, name) as u64);
        let seeds = names.iter().enumerate().map(seed).collect();
        Ok(Placement { devices, seeds, round: AtomicUsize::new(0), least: AtomicUsize::new(0) })
    }

    /// The devices, in the order in which they were given.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// One device after the other.
    ///
    /// # Errors
    /// If no device is healthy, the error of the first one: [`Error::DeviceLost`], or [`Error::ContextPoisoned`] while it is
    /// rebuilt.
    pub fn round_robin(&self) -> Result<&Device> {
        let healthy: Vec<&Device> = self.healthy().collect();
        next(&healthy, &self.round).ok_or_else(|| self.none())
    }

    /// The device with the fewest dispatches that are not complete; among several such devices, one after the other.
    ///
    /// It counts what the whole process has submitted to the device. Threads that choose at the same moment, before any of
    /// them has submitted, see the same counts.
    ///
    /// # Errors
    /// As [`round_robin`](Self::round_robin).
    pub fn least_loaded(&self) -> Result<&Device> {
        let load = |device: &Device| {
            let epoch = device.epoch();
            epoch.engine.look();
            epoch.engine.unfinished(&epoch)
        };
        let loads: Vec<(u64, &Device)> = self.healthy().map(|device| (load(device), device)).collect();
        let least = loads.iter().map(|(load, _)| *load).min().unwrap_or_default();
        let idlest: Vec<&Device> = loads.iter().filter(|(load, _)| *load == least).map(|(_, device)| *device).collect();
        next(&idlest, &self.least).ok_or_else(|| self.none())
    }

    /// The device of a key: always the same one, in every process and on every machine that has the same devices.
    ///
    /// If a device is skipped, or is not in the list of another process, only its own keys move, evenly to the others; they
    /// come back with the device. (Rendezvous hashing, Thaler and Ravishankar 1998.) GPUs are told apart by their UUIDs, so
    /// neither their ordinals nor their order matters; host devices by their [names](Device::name).
    ///
    /// # Errors
    /// As [`round_robin`](Self::round_robin).
    pub fn by_key(&self, key: impl AsRef<[u8]>) -> Result<&Device> {
        let key = hash(key.as_ref());
        let pairs = self.devices.iter().zip(&self.seeds).filter(|(device, _)| is_healthy(device));
        let most = pairs.max_by_key(|(_, seed)| mixed(key, **seed));
        most.map(|(device, _)| device).ok_or_else(|| self.none())
    }

    fn healthy(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| is_healthy(device))
    }

    #[cold]
    fn none(&self) -> Error {
        let refusal = self.devices.first().and_then(|device| device.epoch().admit().err());
        refusal.unwrap_or_else(|| Error::library("a device became healthy while one was looked for; try again"))
    }
}

/// The one whose turn it is among these. (Counted in these alone: one that is skipped does not leave its turn to its
/// neighbour.)
fn next<'d>(among: &[&'d Device], turn: &AtomicUsize) -> Option<&'d Device> {
    let turn = turn.fetch_add(1, Ordering::Relaxed);
    among.get(turn.checked_rem(among.len())?).copied()
}

fn is_healthy(device: &Device) -> bool {
    device.epoch().admit().is_ok()
}

/// What tells a device from others, in every process.
fn identity(device: &Device) -> Vec<u8> {
    match device.info().uuid {
        Some(uuid) => uuid.to_vec(),
        None => device.name().as_bytes().to_vec(),
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A number made of two, each bit of which depends on all of theirs: SplitMix64's finalizer, twice.
fn mixed(a: u64, b: u64) -> u64 {
    let finalize = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    finalize(finalize(a.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ b)
}

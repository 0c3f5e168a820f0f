//! Data that survives its device.

use crate::sync::{Arc, Mutex};
use crate::{Device, Element, GpuRef, Result};
use std::sync::Weak;

/// Read-only data on a device with a copy on the host: after a loss the supervisor itself puts it back, before anybody may
/// use the new generation. Made by [`Device::mirrored`].
///
/// For what a program computes *with*: weights, tables, the matrix of a solver. [`get`](Self::get) gives the data of the
/// generation now, so ask for it anew for each round of work; a handle that was asked for earlier goes stale like any other.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::time::Duration;
/// let device = windlass::Device::host()?;
/// let table = device.mirrored(vec![1.0f32, 2.0])?;
/// let before = table.get();
/// device.rebuild(Duration::from_secs(10))?;
/// assert!(device.download(&before).is_err()); // of the life before
/// assert_eq!(device.download(&table.get())?.await_result()?, [1.0, 2.0]);
/// # Ok(()) }
/// ```
pub struct Mirrored<T: Element> {
    device: Device,
    shared: Arc<Shared<T>>,
}

struct Shared<T: Element>(Mutex<Held<T>>);

struct Held<T: Element> {
    host: Arc<[T]>,
    there: GpuRef<T>,
}

/// What the supervisor puts back.
pub(crate) trait PutBack: Send + Sync {
    fn put_back(&self, device: &Device) -> Result<()>;
}

/// The mirrors of a device, as long as somebody holds them.
#[derive(Default)]
pub(crate) struct Mirrors(Mutex<Vec<Weak<dyn PutBack>>>);

impl Mirrors {
    fn add(&self, mirror: Weak<dyn PutBack>) {
        let mut all = self.0.lock();
        all.retain(|mirror| mirror.strong_count() > 0);
        all.push(mirror);
    }

    /// Into a generation that is not admitted yet.
    pub(crate) fn put_back(&self, device: &Device) -> Result<()> {
        let all: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        all.iter().try_for_each(|mirror| mirror.put_back(device))
    }
}

impl<T: Element> PutBack for Shared<T> {
    fn put_back(&self, device: &Device) -> Result<()> {
        let host = self.0.lock().host.clone();
        let there = upload(device, &host)?;
        let mut held = self.0.lock();
        // Replaced meanwhile: then by data of another life, or of this one, which is newer.
        if Arc::ptr_eq(&held.host, &host) {
            held.there = there;
        }
        Ok(())
    }
}

fn upload<T: Element>(device: &Device, data: &[T]) -> Result<GpuRef<T>> {
    Ok(device.upload(data)?.await_result()?.share())
}

impl<T: Element> Mirrored<T> {
    /// The data on the device, in the generation now.
    pub fn get(&self) -> GpuRef<T> {
        self.shared.0.lock().there.clone()
    }

    /// The copy on the host.
    pub fn host(&self) -> Arc<[T]> {
        self.shared.0.lock().host.clone()
    }

    /// Other data, on both sides. Handles that were given out keep the old.
    ///
    /// # Errors
    /// As [`Device::upload`]; then nothing has changed.
    pub fn set(&self, data: impl Into<Arc<[T]>>) -> Result<()> {
        let host = data.into();
        let there = upload(&self.device, &host)?;
        let made = there.generation();
        *self.shared.0.lock() = Held { host, there };
        if made == self.device.generation() {
            return Ok(());
        }
        // The device was lost between the two steps: what the supervisor put back was the old.
        self.shared.put_back(&self.device)
    }
}

impl<T: Element> std::fmt::Debug for Mirrored<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mirrored({:?})", self.get())
    }
}

impl Device {
    /// Uploads data that shall survive the loss of the device; see [`Mirrored`]. Waits until it is there.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn mirrored<T: Element>(&self, data: impl Into<Arc<[T]>>) -> Result<Mirrored<T>> {
        let host = data.into();
        let there = upload(self, &host)?;
        let made = there.generation();
        let shared = Arc::new(Shared(Mutex::new(Held { host, there })));
        let weak: Weak<Shared<T>> = Arc::downgrade(&shared);
        self.inner().mirrors.add(weak);
        if made != self.epoch().generation {
            shared.put_back(self)?; // lost before the supervisor knew of it
        }
        Ok(Mirrored { device: self.clone(), shared })
    }
}

//! Data that survives the loss of its device.

use crate::core::buffer::GpuRef;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, Mutex};
use crate::device::Device;
use std::sync::Weak;
use std::time::Duration;

/// Read-only data on a device, with a copy on the host. After a loss or a rebuild the supervisor uploads the copy
/// again, before the new generation can be used. Made by [`Device::mirrored`].
///
/// Meant for data that a program computes *with*: weights, tables, the matrix of a solver. [`get`](Self::get) returns a
/// handle of the current generation, so call it again for each round of work. An older handle goes stale like any
/// other.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::time::Duration;
/// let device = windlass::Device::host()?;
/// let table = device.mirrored(vec![1.0f32, 2.0])?;
/// let before = table.get();
/// device.rebuild(Duration::from_secs(10))?;
/// assert!(device.download(&before).is_err()); // of the previous generation
/// assert_eq!(device.download(&table.get())?.await_result()?, [1.0, 2.0]);
/// # Ok(()) }
/// ```
pub struct Mirrored<T: Element> {
    device: Device,
    shared: Arc<Shared<T>>,
}

struct Shared<T: Element>(Mutex<Copies<T>>);

struct Copies<T: Element> {
    host: Arc<[T]>,
    there: GpuRef<T>,
}

/// Data that the supervisor restores in a new generation.
pub(crate) trait PutBack: Send + Sync {
    fn put_back(&self, device: &Device) -> Result<()>;
}

/// The mirrors of a device that still exist: each is held by its [`Mirrored`].
#[derive(Default)]
pub(crate) struct Mirrors(Mutex<Vec<Weak<dyn PutBack>>>);

impl Mirrors {
    fn add(&self, mirror: Weak<dyn PutBack>) {
        let mut all = self.0.lock();
        all.retain(|mirror| mirror.strong_count() > 0);
        all.push(mirror);
    }

    /// Restores all of them in a generation that is not admitted yet.
    pub(crate) fn put_back(&self, device: &Device) -> Result<()> {
        let all: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        all.iter().try_for_each(|mirror| mirror.put_back(device))
    }
}

impl<T: Element> PutBack for Shared<T> {
    fn put_back(&self, device: &Device) -> Result<()> {
        let (host, past) = {
            let mut held = self.0.lock();
            // A buffer of an earlier generation is freed first: there may not be enough memory for both.
            let past = held.there.epoch().dead().then(|| held.there.of_the_past());
            (held.host.clone(), past.map(|past| std::mem::replace(&mut held.there, past)))
        };
        drop(past);
        let there = upload(device, &host)?;
        let mut held = self.0.lock();
        // If `held` was replaced meanwhile, it has newer data or belongs to a newer generation, and stays.
        let unwanted = if Arc::ptr_eq(&held.host, &host) && there.generation() >= held.there.generation() {
            std::mem::replace(&mut held.there, there)
        } else {
            there
        };
        drop(held);
        drop(unwanted);
        Ok(())
    }
}

impl<T: Element> Shared<T> {
    /// Replaces the data on both sides; `there` is `host` on the device. Returns when the data is in an epoch that has
    /// not ended.
    fn store(&self, device: &Device, host: Arc<[T]>, there: GpuRef<T>) -> Result<()> {
        let old = std::mem::replace(&mut *self.0.lock(), Copies { host, there });
        drop(old);
        self.keep(device)
    }

    /// Call this after something was stored or registered. The epoch may end between the upload and that moment, and by
    /// then the supervisor may have restored the earlier data. The supervisor begins only after the epoch's flag was
    /// set. So either this function sees the flag, or the supervisor sees what was stored.
    fn keep(&self, device: &Device) -> Result<()> {
        while self.0.lock().there.epoch().dead() {
            let epoch = device.epoch();
            if epoch.generation > device.inner().epoch().generation {
                return Err(epoch.verdict()); // inside a hook that the recovery itself waits for
            }
            device.wait_healthy(Duration::MAX)?;
            match self.put_back(device) {
                // The device was lost once more: try again.
                Ok(()) | Err(Error::ContextPoisoned { .. } | Error::GpuRefStale { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn upload<T: Element>(device: &Device, data: &[T]) -> Result<GpuRef<T>> {
    Ok(device.upload(data)?.await_result()?.share())
}

impl<T: Element> Mirrored<T> {
    /// A handle of the data on the device, in the current generation.
    pub fn get(&self) -> GpuRef<T> {
        self.shared.0.lock().there.clone()
    }

    /// The copy on the host.
    pub fn host(&self) -> Arc<[T]> {
        self.shared.0.lock().host.clone()
    }

    /// Replaces the data on the device and in the host's copy. Handles from earlier calls of [`get`](Self::get) keep
    /// the old data. If the device is lost meanwhile, this waits until it is healthy again and uploads the new data
    /// there.
    ///
    /// # Errors
    /// As [`Device::upload`]. After an error nothing has changed, with two exceptions: after [`Error::DeviceLost`], and
    /// when the next generation does not have enough memory, the host's copy is already the new data and
    /// [`get`](Self::get) returns a stale handle.
    pub fn set(&self, data: impl Into<Arc<[T]>>) -> Result<()> {
        let host = data.into();
        let there = upload(&self.device, &host)?;
        self.shared.store(&self.device, host, there)
    }
}

impl<T: Element> std::fmt::Debug for Mirrored<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mirrored({:?})", self.get())
    }
}

/// Memory on the host and on the device.
impl Device {
    /// Uploads data that must survive the loss of the device; see [`Mirrored`]. Waits until the upload is complete.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn mirrored<T: Element>(&self, data: impl Into<Arc<[T]>>) -> Result<Mirrored<T>> {
        let host = data.into();
        let there = upload(self, &host)?;
        register(self, host, there)
    }
}

fn register<T: Element>(device: &Device, host: Arc<[T]>, there: GpuRef<T>) -> Result<Mirrored<T>> {
    let shared = Arc::new(Shared(Mutex::new(Copies { host, there })));
    let weak: Weak<Shared<T>> = Arc::downgrade(&shared);
    device.inner().mirrors.add(weak);
    shared.keep(device)?;
    Ok(Mirrored { device: device.clone(), shared })
}

#[cfg(test)]
#[cfg(feature = "host")]
mod tests {
    use super::*;
    use crate::core::clock::Clock;
    use crate::core::sync::Ordering;
    use std::sync::mpsc;

    /// A thread that rebuilds `device` and has restored its mirrors, but does not admit the new generation until a
    /// thread waits for it.
    fn being_rebuilt(device: &Device, ready: &mpsc::Receiver<()>) -> std::thread::JoinHandle<Result<()>> {
        let rebuilt = device.clone();
        let thread = std::thread::spawn(move || rebuilt.rebuild(Duration::from_secs(20)));
        ready.recv().unwrap();
        thread
    }

    fn device() -> (Device, mpsc::Receiver<()>) {
        let (tell, ready) = mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let hook = move |device: &Device| {
            tell.lock().unwrap().send(()).unwrap();
            let start = Clock::SYSTEM.start();
            while device.inner().supervisor.waiters.load(Ordering::SeqCst) == 0 {
                assert!(start.elapsed().as_secs() < 60, "nothing waits for the new generation");
                std::thread::yield_now();
            }
            Ok(())
        };
        (Device::builder().host().before_admission(hook).open().unwrap(), ready)
    }

    fn down(device: &Device, x: &GpuRef<f32>) -> Vec<f32> {
        device.download(x).unwrap().await_result().unwrap()
    }

    #[test]
    fn what_is_set_beside_a_rebuild_is_there_afterwards() {
        let (device, ready) = device();
        let table = device.mirrored(vec![1.0f32]).unwrap();
        let host: Arc<[f32]> = vec![2.0].into();
        // `set`, with a rebuild between its two steps.
        let there = upload(&device, &host).unwrap();
        let thread = being_rebuilt(&device, &ready);
        table.shared.store(&device, host, there).unwrap();
        assert_eq!((table.get().generation(), down(&device, &table.get())), (1, vec![2.0]));
        thread.join().unwrap().unwrap();
        assert_eq!((table.get().generation(), down(&device, &table.get())), (1, vec![2.0]));
    }

    #[test]
    fn what_is_registered_beside_a_rebuild_is_there_afterwards() {
        let (device, ready) = device();
        let host: Arc<[f32]> = vec![3.0].into();
        let there = upload(&device, &host).unwrap();
        let thread = being_rebuilt(&device, &ready);
        let table = register(&device, host, there).unwrap();
        assert_eq!((table.get().generation(), down(&device, &table.get())), (1, vec![3.0]));
        thread.join().unwrap().unwrap();
    }
}

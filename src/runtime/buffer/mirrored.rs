//! Data that survives its device.

use crate::sync::{Arc, Mutex};
use crate::{Device, Element, Error, GpuRef, Result};
use std::sync::Weak;
use std::time::Duration;

/// Read-only data on a device with a copy on the host: after a loss the supervisor itself puts it back, before anybody may
/// use the new generation. Made by [`Device::mirrored`].
///
/// For what a program computes *with*: weights, tables, the matrix of a solver. [`get`](Self::get) gives the data of the
/// generation now, so ask for it again for each round of work; a handle that was asked for earlier goes stale like any other.
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

struct Shared<T: Element>(Mutex<Copies<T>>);

struct Copies<T: Element> {
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
        let (host, past) = {
            let mut held = self.0.lock();
            // A buffer of an earlier generation is freed first: there may not be enough memory for both.
            let past = held.there.epoch().dead().then(|| held.there.of_the_past());
            (held.host.clone(), past.map(|past| std::mem::replace(&mut held.there, past)))
        };
        drop(past);
        let there = upload(device, &host)?;
        let mut held = self.0.lock();
        // Replaced meanwhile: then by data of another life, or of this one, which is newer.
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
    /// Other data on both sides, `there` being `host` on the device: returns when it is in a life that goes on.
    fn store(&self, device: &Device, host: Arc<[T]>, there: GpuRef<T>) -> Result<()> {
        let old = std::mem::replace(&mut *self.0.lock(), Copies { host, there });
        drop(old);
        self.keep(device)
    }

    /// To be called after something was stored or registered. A life may end between an upload into it and that moment,
    /// and the supervisor may have put back what was there before by then. It begins only after the life's flag was set:
    /// so either the flag is seen here, or the supervisor sees what was stored.
    fn keep(&self, device: &Device) -> Result<()> {
        while self.0.lock().there.epoch().dead() {
            let epoch = device.epoch();
            if epoch.generation > device.inner().epoch().generation {
                return Err(epoch.verdict()); // in a hook, which the recovery itself waits for
            }
            device.wait_healthy(Duration::MAX)?;
            match self.put_back(device) {
                // Lost once more.
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
    /// The data on the device, in the generation now.
    pub fn get(&self) -> GpuRef<T> {
        self.shared.0.lock().there.clone()
    }

    /// The copy on the host.
    pub fn host(&self) -> Arc<[T]> {
        self.shared.0.lock().host.clone()
    }

    /// Replaces the data on the device and in the host's copy. Handles that were given out keep the old data. If the device is
    /// lost meanwhile, this waits until it is healthy again and uploads the new data there.
    ///
    /// # Errors
    /// As [`Device::upload`]. Nothing has changed then, with two exceptions: after [`Error::DeviceLost`], and when the next
    /// generation has not enough memory, the host's copy is the new data already and [`get`](Self::get) is stale.
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

impl Device {
    /// Uploads data that shall survive the loss of the device; see [`Mirrored`]. Waits until it is there.
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
    use crate::clock::Clock;
    use crate::sync::Ordering;
    use std::sync::mpsc;

    /// A device, and a thread that rebuilds it and has put its mirrors back, but does not admit the new life until somebody
    /// waits for that.
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
                assert!(start.elapsed().as_secs() < 60, "nobody waits for the new life");
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

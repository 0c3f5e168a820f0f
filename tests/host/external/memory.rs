//! Raw memory in and out.

use crate::common::{Gate, devices, down, eventually, host, inline, is_host, refused, up};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass::external::ForeignStream::Idle;
use windlass::{Device, DeviceBuffer, Error};

/// Owns host memory and counts its drops.
struct Counted {
    _data: Vec<f64>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

fn adopted(device: &Device, len: usize) -> (DeviceBuffer<f64>, Arc<AtomicUsize>) {
    let mut data: Vec<f64> = (0..len).map(|i| i as f64).collect();
    let (at, drops) = (data.as_mut_ptr(), Arc::new(AtomicUsize::new(0)));
    let owner = Counted { _data: data, drops: drops.clone() };
    // SAFETY: the owner has the elements, and nobody else uses them.
    (unsafe { device.adopt(at, len, owner, Idle) }.unwrap(), drops)
}

fn host_devices() -> impl Iterator<Item = Device> {
    [host(2), inline()].into_iter().map(|builder| builder.open().unwrap())
}

#[test]
fn adopted_memory_is_a_buffer_like_any_other() {
    for device in host_devices() {
        let used = device.stats().bytes_used;
        let (x, drops) = adopted(&device, 100);
        assert_eq!(device.stats().bytes_used, used, "it counts against no limit");
        let y = device.blas().axpy(1.0, &x, up(&device, vec![1.0; 100])).unwrap().into_buffer();
        assert_eq!(down(&device, &y)[99], 100.0);
        let (left, right) = x.split_at(40).unwrap();
        let left = device.fill(left, -1.0).unwrap().into_output();
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        let shared = left.into_buffer().join(right).unwrap().share();
        let part = shared.slice(38..42).unwrap();
        drop(shared);
        assert_eq!(down(&device, &part), [-1.0, -1.0, 40.0, 41.0]);
        drop(part);
        assert!(eventually(10, || drops.load(Ordering::SeqCst) == 1));
        drop(device);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn the_owner_is_dropped_when_the_last_work_is_done_not_before() {
    let device = host(2).open().unwrap();
    let (x, drops) = adopted(&device, 4);
    let gate = Gate::default();
    drop(gate.hold(&device, x));
    assert_eq!(drops.load(Ordering::SeqCst), 0, "the work still has the memory");
    gate.open();
    assert!(eventually(10, || drops.load(Ordering::SeqCst) == 1));
}

#[test]
fn an_owner_that_panics_ends_nothing() {
    struct Loud(#[expect(dead_code, reason = "owned")] Vec<f32>);
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("the owner panics");
        }
    }
    for device in host_devices() {
        let mut data = vec![1.0f32; 8];
        let at = data.as_mut_ptr();
        // SAFETY: as above.
        let x = unsafe { device.adopt(at, 8, Loud(data), Idle) }.unwrap();
        drop(device.fill(x, 2.0).unwrap());
        assert_eq!(down(&device, &up(&device, vec![3.0f32])), [3.0]);
    }
}

#[test]
fn what_cannot_be_memory_is_refused_and_its_owner_dropped() {
    for device in devices() {
        let drops = Arc::new(AtomicUsize::new(0));
        let owner = || Counted { _data: vec![], drops: drops.clone() };
        let at = |address: usize| std::ptr::without_provenance_mut::<f64>(address);
        for (address, len, name) in [
            (at(0), 1, "address"),
            (at(68), 1, "address"),
            (at(usize::MAX - 7), 1, "address"),
            (at(64), usize::MAX, "len"),
            (at(64), usize::MAX / 8, "len"),
            (at(usize::MAX - 63), 64, "address"),
        ] {
            let before = drops.load(Ordering::SeqCst);
            // SAFETY: nothing is there, so nothing may become a buffer of it.
            let error = unsafe { device.adopt(address, len, owner(), Idle) }.unwrap_err();
            assert_eq!(refused(&error).0, name, "{error}");
            assert_eq!(drops.load(Ordering::SeqCst), before + 1);
        }
        // Nothing at all is memory.
        // SAFETY: there are no elements.
        let nothing = unsafe { device.adopt(at(0), 0, owner(), Idle) }.unwrap();
        assert_eq!(down(&device, &nothing), [0.0; 0]);
    }
}

#[test]
fn a_buffer_is_lent_and_comes_back() {
    for device in devices() {
        let x = device.fill(device.uninit::<f32>(6).unwrap(), 1.5).unwrap().into_output();
        let x = x.into_buffer().narrow(2..5).unwrap();
        let out = device.hand_out(x, Idle).unwrap();
        assert_eq!((out.len(), out.is_empty(), out.address() % 4), (3, false, 0));
        if is_host(&device) {
            // SAFETY: the memory is there, and nobody else uses it.
            unsafe { *(out.address() as *mut f32).add(1) = 7.0 };
        }
        // SAFETY: nothing uses it any more.
        let x = unsafe { out.take_back(Idle) }.unwrap();
        assert_eq!(down(&device, &x), if is_host(&device) { [1.5, 7.0, 1.5] } else { [1.5; 3] });
        assert_eq!(down(&device, &x.widen()).len(), 6);
        let undefined = device.hand_out(device.uninit::<f32>(3).unwrap().into_buffer(), Idle).unwrap_err();
        assert!(matches!(undefined.error, Error::InvalidArgument { .. }) && undefined.back.is_some());
    }
}

#[test]
fn a_stream_of_cuda_is_none_of_the_cpu() {
    let device = Device::host().unwrap();
    // SAFETY: the legacy default stream, which is never used here.
    let stream = unsafe { windlass::external::ForeignStream::cuda(std::ptr::null_mut()) };
    let rejected = device.hand_out(up(&device, vec![1.0f32]), stream).unwrap_err();
    assert_eq!(refused(&rejected.error).0, "stream");
    assert_eq!(rejected.back.unwrap().len(), 1);
}

#[test]
fn memory_that_a_program_has_captured_stays() {
    for device in devices() {
        let x = up(&device, vec![1.0f32; 4]);
        let (program, _) = device
            .record(|r| {
                let y = r.output::<f32>(4)?;
                drop(r.copy(&x, y)?);
                Ok(())
            })
            .unwrap();
        let rejected = device.hand_out(x, Idle).unwrap_err();
        assert!(refused(&rejected.error).1.contains("captured"));
        drop(program);
        assert!(device.hand_out(rejected.back.unwrap(), Idle).is_ok());
    }
}

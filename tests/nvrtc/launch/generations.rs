//! Kernels and modules across a rebuild, and when a module goes.

use super::kernels::{PTX, add_one, axpb};
use crate::common::{assert_back_at, builders, devices, down, holdings, up};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use windlass::nvrtc::{LaunchConfig, Len, TypedKernel, Write};
use windlass::{Device, DeviceBuffer, Error, error::Stale, nvrtc::Image};

const LONG: Duration = Duration::from_secs(60);

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

#[test]
fn after_a_rebuild_a_kernel_is_stale_until_it_is_reloaded() {
    for device in devices() {
        let (kernel, typed) = (axpb(&device), add_one(&device));
        device.rebuild(LONG).unwrap();
        let (x, y) = (up(&device, [1.0f32, 2.0]), up(&device, [7.0f32, 8.0]));
        // SAFETY: refused.
        let rejected = unsafe { kernel.launch(config(), (&x, y, 2usize, 1.0f32, 1.0f32)) }.unwrap_err();
        let stale = Stale::Generation { made: 0, now: 1 };
        assert!(matches!(&rejected.error, Error::GpuRefStale { reason, .. } if *reason == stale), "{}", rejected.error);
        assert_eq!(rejected.error.site().unwrap().op(), Some("launch"));
        let (y,) = rejected.back.unwrap().downcast::<DeviceBuffer<f32>>().unwrap();
        let rejected = typed.launch(config(), (y, Len)).unwrap_err();
        assert!(matches!(&rejected.error, Error::GpuRefStale { .. }), "{}", rejected.error);
        let (y,) = rejected.back.unwrap();
        assert_eq!(down(&device, &y), [7.0, 8.0]);

        let (kernel, typed) = (kernel.reload().unwrap(), typed.reload().unwrap());
        assert_eq!((kernel.generation(), typed.kernel().generation()), (1, 1));
        let y = typed.launch(config(), (y, Len)).unwrap().into_output();
        assert_eq!(down(&device, &y), [8.0, 9.0]);
        // SAFETY: both have two elements.
        let written = unsafe { kernel.launch(config(), (&x, y, 2usize, 2.0f32, 0.5f32)) }.unwrap().into_output();
        let (y,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [2.5, 4.5]);
    }
}

#[test]
fn a_kernel_without_buffers_is_stale_as_well() {
    for device in devices() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";
        let module = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap();
        let kernel = module.kernel("empty").unwrap().twin_fn::<()>(|_, ()| {}).unwrap();
        // SAFETY: it does nothing.
        unsafe { kernel.launch(config(), ()) }.unwrap().await_result().unwrap();
        device.rebuild(LONG).unwrap();
        // SAFETY: it does nothing.
        let error = unsafe { kernel.launch(config(), ()) }.map(drop).unwrap_err().error;
        assert!(matches!(error, Error::GpuRefStale { .. }), "{error}");
        assert!(module.kernel("empty").is_err() || crate::common::is_host(&device));
        assert!(module.reload().unwrap().kernel("empty").is_ok());
    }
}

#[test]
fn a_hook_reloads_kernels_before_anybody_else_may_launch() {
    for builder in builders() {
        // What the program holds, and puts back itself after a rebuild.
        let mine = Arc::new(Mutex::new(None));
        let place = mine.clone();
        let hook = move |device: &Device| {
            let mut mine = place.lock().unwrap();
            let (kernel, _): (TypedKernel<(Write<f32>, Len)>, DeviceBuffer<f32>) = mine.take().expect("set below");
            let fresh = kernel.on(device)?.reload()?;
            let x = fresh.launch(config(), (device.zeros::<f32>(4)?, Len))?.await_result()?;
            *mine = Some((fresh, x));
            Ok(())
        };
        let device = builder.before_admission(hook).open().unwrap();
        *mine.lock().unwrap() = Some((add_one(&device), device.zeros(4).unwrap().into_buffer()));
        device.rebuild(LONG).unwrap();
        let (kernel, x) = mine.lock().unwrap().take().unwrap();
        assert_eq!((kernel.kernel().generation(), x.generation()), (1, 1));
        let x = kernel.launch(config(), (x, Len)).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0; 4]);
    }
}

#[test]
fn a_module_outlives_its_handles_while_its_work_is_in_flight() {
    for device in devices() {
        let base = holdings(&device);
        let x = {
            let kernel = add_one(&device);
            let config = LaunchConfig::for_elements(100_000).unwrap();
            let x = device.zeros::<f32>(100_000).unwrap().into_buffer();
            (0..50).fold(x, |x, _| kernel.launch(config, (x, Len)).unwrap().into_output())
        };
        assert_eq!(down(&device, &x), vec![50.0; 100_000]);
        drop(x);
        assert_back_at(&device, base);
    }
}

#[test]
fn a_kernel_outlives_its_device_handle_and_its_module() {
    for builder in builders() {
        let (kernel, x) = {
            let device: Device = builder.open().unwrap();
            (add_one(&device), device.zeros::<f32>(4).unwrap())
        };
        // The kernel holds its device.
        let x = kernel.launch(config(), (x, Len)).unwrap().into_output();
        assert_eq!(down(kernel.kernel().device(), &x), [1.0; 4]);
    }
}

#[test]
fn one_image_serves_many_devices() {
    let image = Image::ptx(PTX).unwrap();
    for device in devices().iter().chain(&devices()) {
        let module = device.nvrtc().load(&image).unwrap();
        module.load().unwrap();
        assert!(module.image().is_some() && module.kernel("sixteen").is_ok());
    }
}

//! Variables of a module: read and written in the order of its launches.

use super::kernels::{GLOBALS, module};
use crate::common::{devices, down, is_host, refused, up};
use std::time::Duration;
use windlass::nvrtc::{Global, LaunchConfig, Len, TypedKernel, Write};
use windlass::{Device, Error, Module, nvrtc::Image};

type Scale = (Write<f32>, Len);

/// The module with its variables, on a GPU.
struct Fixture {
    module: Module,
    scale: TypedKernel<Scale>,
    factor: Global<f32>,
    calls: Global<u32>,
}

fn fixture(device: &Device) -> Fixture {
    let module = device.nvrtc().load(&Image::ptx(GLOBALS).unwrap()).unwrap();
    // SAFETY: the kernel's parameters; it stays below the length, and uses its module's own variables beside.
    let scale = unsafe { module.kernel("scale_by_factor").unwrap().typed::<Scale>() }.unwrap();
    let (factor, calls) = (module.global("factor").unwrap(), module.global("calls").unwrap());
    Fixture { module, scale, factor, calls }
}

fn gpus() -> Vec<Device> {
    devices().into_iter().filter(|device| !is_host(device)).collect()
}

#[test]
fn a_variable_holds_what_the_source_says_and_then_what_was_written() {
    for device in gpus() {
        let Fixture { scale, factor, calls, .. } = fixture(&device);
        assert_eq!((factor.len(), calls.len()), (4, 1));
        assert_eq!(factor.read().unwrap().await_result().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        let x = up(&device, [1.0f32; 8]);
        let x = scale.launch(LaunchConfig::new(1, 32), (x, Len)).unwrap().into_output();
        assert_eq!(calls.read().unwrap().await_result().unwrap(), [1]);
        factor.write([10.0f32, 1.0, 1.0, 1.0]).unwrap().await_result().unwrap();
        let x = scale.launch(LaunchConfig::new(1, 32), (x, Len)).unwrap().into_output();
        assert_eq!(down(&device, &x), [10.0, 2.0, 3.0, 4.0, 10.0, 2.0, 3.0, 4.0]);
        assert_eq!(calls.read().unwrap().await_result().unwrap(), [2]);
        let mut target = [0.0f32; 4];
        factor.read().unwrap().await_result_into(&mut target).unwrap();
        assert_eq!(target, [10.0, 1.0, 1.0, 1.0]);
    }
}

/// Nothing is awaited: each launch must find the factor that was written before it, and not the one after.
#[test]
fn writes_reads_and_launches_on_different_buffers_keep_the_programs_order() {
    for device in gpus() {
        let Fixture { scale, factor, calls, .. } = fixture(&device);
        let n = 40_000;
        let config = LaunchConfig::for_elements(n).unwrap();
        let steps: Vec<_> = (1..30u32)
            .map(|step| {
                drop(factor.write(vec![step as f32; 4]).unwrap());
                let x = up(&device, vec![1.0f32; n]);
                let x = scale.launch(config, (x, Len)).unwrap().into_output();
                (x, factor.read().unwrap(), calls.read().unwrap(), step)
            })
            .collect();
        for (x, factor, calls, step) in steps {
            assert_eq!(down(&device, &x), vec![step as f32; n]);
            assert_eq!(factor.await_result().unwrap(), [step as f32; 4]);
            assert_eq!(calls.await_result().unwrap(), [step]);
        }
    }
}

#[test]
fn many_threads_write_and_launch_and_no_write_falls_into_a_launch() {
    for device in gpus() {
        let Fixture { scale, factor, calls, .. } = fixture(&device);
        let (n, factor) = (10_000usize, &factor);
        let config = LaunchConfig::for_elements(n).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (scale, device) = (scale.clone(), &device);
                scope.spawn(move || {
                    for step in 0..20 {
                        drop(factor.write(vec![(thread * 100 + step) as f32; 4]).unwrap());
                        let x = up(device, vec![1.0f32; n]);
                        let x = down(device, &scale.launch(config, (x, Len)).unwrap().into_output());
                        assert!(x.iter().all(|value| *value == x[0]), "a write fell into a launch");
                    }
                });
            }
        });
        assert_eq!(calls.read().unwrap().await_result().unwrap(), [80]);
    }
}

/// Larger than a piece of the staging, by an odd number of elements.
#[test]
fn a_large_variable_is_written_piece_by_piece() {
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 table[300001];\n\
        .visible .entry nothing(.param .u32 a) { ret; }\n";
    for device in gpus() {
        let module = device.nvrtc().load(&Image::ptx(ptx).unwrap()).unwrap();
        let table: Global<u32> = module.global("table").unwrap();
        let data: Vec<u32> = (0..300_001u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        table.write(&data[..]).unwrap().await_result().unwrap();
        assert!(table.read().unwrap().await_result().unwrap() == data);
    }
}

#[test]
fn variables_that_are_not_there_or_do_not_fit_are_refused() {
    for device in gpus() {
        let Fixture { module, factor, .. } = fixture(&device);
        assert_eq!(refused(&module.global::<f32>("factors").unwrap_err()).0, "name");
        assert_eq!(refused(&module.global::<u64>("calls").unwrap_err()).0, "T");
        let (argument, reason) = refused(&factor.write([1.0f32; 3]).unwrap_err());
        assert!(argument == "data" && reason.contains('3') && reason.contains('4'), "{reason}");
        device.rebuild(Duration::from_secs(30)).unwrap();
        assert!(matches!(factor.read(), Err(Error::GpuRefStale { .. })));
        assert!(matches!(factor.write([1.0f32; 4]), Err(Error::GpuRefStale { .. })));
        let again: Global<f32> = module.reload().unwrap().global("factor").unwrap();
        assert_eq!(again.read().unwrap().await_result().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn a_host_device_has_no_variables_and_says_so() {
    for device in devices().iter().filter(|device| is_host(device)) {
        let error = module(device).global::<f32>("factor").unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("capture") && told.contains("argument"), "what to do instead: {told}");
    }
}

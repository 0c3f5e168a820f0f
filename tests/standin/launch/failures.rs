//! Every call fails once: a typed error or success, the buffers back, and everything works again afterwards.

use crate::common::{down, up};
use crate::kernels::{GLOBALS, add_one, module, turn_blocks};
use crate::standin::{device, session};
use windlass::nvrtc::{Global, LaunchConfig, Len, Write};
use windlass::{Device, DeviceBuffer, Error, Kernel, Module, Result, nvrtc::Image};

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

fn code(error: &Error) -> Option<i32> {
    error.site().and_then(|site| site.code())
}

/// It loads, launches and gives what it should.
#[track_caller]
fn assert_works(device: &Device) {
    let kernel = add_one(device);
    let x = kernel.launch(config(), (up(device, [1f32, 2.0]), Len)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &x), [2.0, 3.0]);
}

#[test]
fn a_load_that_fails_is_a_typed_error_and_can_be_tried_again() {
    let driver = session();
    let device = device(2);
    for (call, code_) in [("cuModuleLoadDataEx", 1), ("cuModuleGetFunction", 1), ("cuFuncGetAttribute", 1)] {
        let module = module(&device);
        driver.fail(call, 0, code_);
        let error = module.kernel("axpb_f32").unwrap_err();
        assert!(matches!(error, Error::LibraryError { .. }) && code(&error) == Some(code_), "{call}: {error}");
        assert!(error.to_string().contains(call), "{error}");
        module.kernel("axpb_f32").expect("the next try finds nothing wrong");
    }
    driver.fail("cuModuleLoadDataEx", 0, 2);
    assert!(matches!(module(&device).load(), Err(Error::OutOfMemory { .. })));
    driver.fail("cuModuleLoadDataEx", 0, 209);
    let error = module(&device).load().unwrap_err();
    assert!(matches!(error, Error::LibraryError { .. }) && error.to_string().contains("NO_BINARY_FOR_GPU"), "{error}");
    driver.fail("cuModuleLoadDataEx", 0, 222);
    assert!(matches!(module(&device).load(), Err(Error::Compile { .. })), "PTX of a newer version");
    assert_works(&device);
    drop(device);
    driver.assert_finished();
}

#[test]
fn the_log_of_the_driver_and_the_line_it_speaks_of_are_in_the_error() {
    let driver = session();
    let device = device(1);
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry broken() { mov.nonsense; ret; }\n";
    let error = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap().load().unwrap_err();
    let Error::Compile { log, diagnostics, .. } = &error else { panic!("{error}") };
    assert!(log.contains("CUDA_ERROR_INVALID_PTX") && log.contains("mov.nonsense"), "{log}");
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].source.iter().any(|(line, text)| *line == 4 && text.contains("mov.nonsense;")));
    assert_works(&device);
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_launch_that_the_driver_refuses_leaves_the_buffers_as_they_were() {
    let driver = session();
    let device = device(2);
    let kernel = add_one(&device);
    let urgent = config().priority(-1);
    for (call, config, refusal) in
        [("cuLaunchKernel", config(), 1), ("cuLaunchKernel", config(), 701), ("cuLaunchKernelEx", urgent, 1)]
    {
        let x = up(&device, [1f32, 2.0]);
        driver.fail(call, 0, refusal);
        let rejected = kernel.launch(config, (x, Len)).unwrap_err();
        assert!(matches!(rejected.error, Error::LibraryError { .. }), "{}", rejected.error);
        assert_eq!(code(&rejected.error), Some(refusal));
        let (x,) = rejected.back.unwrap();
        assert_eq!(down(&device, &x), [1.0, 2.0], "nothing was enqueued, so nothing was lost");
    }
    assert_works(&device);
    drop((kernel, device));
    driver.assert_finished();
}

#[test]
fn a_launch_without_memory_is_tried_again_when_some_was_given_back() {
    let driver = session();
    let device = device(1);
    let kernel = add_one(&device);
    driver.fail("cuLaunchKernel", 0, 2);
    let x = kernel.launch(config(), (up(&device, [1f32]), Len)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [2.0]);
    assert_eq!(driver.failed(), 1);
    drop((kernel, x, device));
    driver.assert_finished();
}

#[test]
fn shared_memory_that_is_not_granted_is_a_typed_error() {
    let driver = session();
    let device = device(1);
    let kernel = turn_blocks(&device);
    let x = up(&device, [1f32]);
    driver.fail("cuFuncSetAttribute", 0, 1);
    // SAFETY: one element each.
    let launch = |y| unsafe { kernel.launch(config().shared(100 << 10), (&x, y, 1usize)) };
    let rejected = launch(up(&device, [5f32])).unwrap_err();
    assert_eq!(code(&rejected.error), Some(1));
    let (y,) = rejected.back.unwrap().downcast::<DeviceBuffer<f32>>().unwrap();
    assert_eq!(down(&device, &y), [5.0]);
    launch(y).expect("it is asked for again").await_result().unwrap();
    drop((kernel, x, device));
    driver.assert_finished();
}

#[test]
fn a_sticky_code_at_a_launch_or_a_load_loses_the_device() {
    for (call, load) in [("cuLaunchKernel", false), ("cuModuleLoadDataEx", true), ("cuFuncGetAttribute", true)] {
        let driver = session();
        let device = device(1);
        let kernel = add_one(&device);
        let x = up(&device, [1f32]);
        driver.fail(call, 0, 700);
        let error = match load {
            true => module(&device).kernel("axpb_f32").map(drop).unwrap_err(),
            false => kernel.launch(config(), (x, Len)).map(drop).unwrap_err().error,
        };
        assert!(matches!(error, Error::DeviceLost { .. }), "{call}: {error}");
        assert!(matches!(kernel.reload(), Err(Error::DeviceLost { .. })));
        driver.silently("dropping what was lost", || drop((kernel, device)));
        driver.await_rest();
        driver.reset();
    }
}

fn globals(device: &Device) -> (Module, Kernel, Global<f32>) {
    let module = device.nvrtc().load(&Image::ptx(GLOBALS).unwrap()).unwrap();
    let (kernel, factor) = (module.kernel("scale_by_factor").unwrap(), module.global("factor").unwrap());
    (module, kernel, factor)
}

#[test]
fn a_write_of_a_variable_that_failed_is_told_to_launches_until_the_next_one() {
    let driver = session();
    let device = device(2);
    let (module, kernel, factor) = globals(&device);
    // SAFETY: the kernel's parameters; it stays below the length.
    let scale = unsafe { kernel.typed::<(Write<f32>, Len)>() }.unwrap();
    driver.fail("cuMemcpyHtoDAsync", 0, 1);
    assert_eq!(code(&factor.write([9f32; 4]).map(drop).unwrap_err()), Some(1));
    let rejected = scale.launch(config(), (up(&device, [1f32]), Len)).unwrap_err();
    assert!(matches!(&rejected.error, Error::Upstream { operand, .. } if operand == "globals"), "{}", rejected.error);
    drop(factor.write([3f32; 4]).unwrap());
    let x = scale.launch(config(), (rejected.back.unwrap().0, Len)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [3.0]);
    // A read that fails changes nothing.
    driver.fail("cuMemcpyDtoHAsync", 0, 1);
    assert_eq!(code(&factor.read().map(drop).unwrap_err()), Some(1));
    let x = scale.launch(config(), (x, Len)).unwrap().await_result().unwrap();
    assert_eq!((down(&device, &x), factor.read().unwrap().await_result().unwrap()), (vec![9.0], vec![3.0; 4]));
    driver.fail("cuModuleGetGlobal", 0, 1);
    assert_eq!(code(&module.global::<u32>("calls").map(drop).unwrap_err()), Some(1));
    assert!(module.global::<u32>("calls").is_ok());
    drop((module, kernel, scale, factor, x, device));
    driver.assert_finished();
}

/// Loads, launches each way, reads and writes a variable, reloads after a rebuild.
fn program(device: &Device) -> Vec<Result<()>> {
    let launches = || -> Result<()> {
        let kernel = module(device).kernel("add_one_f32")?;
        // SAFETY: the kernel's parameters; it stays below the length.
        let kernel = unsafe { kernel.typed::<(Write<f32>, Len)>() }?;
        let x = kernel.launch(config(), (device.zeros::<f32>(4)?, Len)).map_err(kept)?.into_output();
        let x = kernel.launch(config().priority(-2).cooperative(), (x, Len)).map_err(kept)?.into_output();
        let x = kernel.launch(config().shared(64 << 10), (x, Len)).map_err(kept)?.await_result()?;
        assert_eq!(device.download(&x)?.await_result()?, [3.0; 4]);
        kernel.kernel().best_block(0)?;
        Ok(())
    };
    let variables = || -> Result<()> {
        let module = device.nvrtc().load(&Image::ptx(GLOBALS)?)?;
        // SAFETY: as above.
        let scale = unsafe { module.kernel("scale_by_factor")?.typed::<(Write<f32>, Len)>() }?;
        let factor = module.global::<f32>("factor")?;
        factor.write([2f32; 4])?.await_result()?;
        let x = scale.launch(config(), (device.upload([1f32; 4])?.into_output(), Len)).map_err(kept)?.into_output();
        assert_eq!(device.download(&x)?.await_result()?, [2.0; 4]);
        assert_eq!(factor.read()?.await_result()?, [2.0; 4]);
        Ok(())
    };
    vec![launches(), variables()]
}

fn kept<B>(rejected: windlass::Rejected<B>) -> Error {
    assert!(rejected.back.is_some(), "the buffers did not come back after {}", rejected.error);
    rejected.error
}

#[test]
fn any_one_call_may_fail_and_nothing_is_leaked() {
    let driver = session();
    for code in [1, 2] {
        let mut errors = 0;
        for nth in 0.. {
            driver.reset();
            driver.set_total_memory(8 << 20);
            let device = device(2);
            driver.fail_any(nth, code);
            let answers = program(&device);
            let fired = driver.failed() > 0;
            driver.clear();
            for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
                errors += 1;
                let known = matches!(
                    error,
                    Error::LibraryError { .. }
                        | Error::OutOfMemory { .. }
                        | Error::Upstream { .. }
                        | Error::InvalidArgument { .. }
                );
                assert!(known || error.is_poisoning(), "call {nth} with {code}: {error:?}");
            }
            for answer in program(&device) {
                answer.unwrap_or_else(|error| panic!("after call {nth} with {code}: {error}"));
            }
            driver.await_rest(); // who failed to free may be about to count it
            let leaked = device.stats().leaked;
            drop((answers, device));
            let gone = || driver.left().iter().map(|(_, count)| *count as u64).sum::<u64>() <= leaked;
            assert!(crate::common::eventually(5, gone), "call {nth} with {code}: {:?} left", driver.left());
            driver.assert_clean();
            if !fired {
                println!("{nth} calls, {errors} errors for code {code}");
                assert!(nth > 60 && errors > 15, "hardly anything failed");
                break;
            }
        }
    }
}

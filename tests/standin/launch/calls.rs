//! Which calls are made, in which order.

use crate::common::{down, refused, up};
use crate::kernels::{GLOBALS, add_one, axpb, module, sixteen, turn_blocks};
use crate::standin::{Current, Driver, Mode, device, session};
use windlass::nvrtc::{DevicePtr, Global, LaunchConfig, Len, Plain, Write};
use windlass::{DeviceBuffer, PendingHost, nvrtc::Image};

const GET: &str = "cuCtxGetCurrent";
const STATE: &str = "cuDevicePrimaryCtxGetState";
const LAUNCH: &str = "cuLaunchKernel";
const RECORD: &str = "cuEventRecord";

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|call| *call == name).count()
}

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

/// Everything that is made once for a buffer, a slot and a launch has been made.
fn settle(driver: &Driver) {
    driver.mode(Mode::Eager);
    driver.await_rest();
}

#[test]
fn a_launch_is_one_look_at_the_context_the_launch_and_one_record() {
    let driver = session();
    let current = Current::of(0);
    let device = device(1);
    let (add_one, sixteen) = (add_one(&device), sixteen(&device));
    let mut verdicts: Vec<PendingHost<()>> = Vec::new();
    let mut x = up(&device, [0f32; 4]);
    let (f, d, i4) = (up(&device, [1f32]), up(&device, [1f64]), up(&device, [1i32]));
    let (u1, u8s, i2) = (up(&device, [1u8]), up(&device, [1u64]), up(&device, [1i16]));
    let (mut sum, mut index) = (up(&device, [0f64]), up(&device, [0u32]));
    // Events for more than what is kept in flight below.
    driver.mode(Mode::Manual);
    let many: Vec<_> = (0..12).map(|_| device.zeros::<f32>(4).unwrap()).collect();
    driver.mode(Mode::Eager);
    device.synchronize(std::time::Duration::from_secs(60)).unwrap();
    for turn in 0..4 {
        settle(&driver);
        let (pending, calls) = driver.calls_in(|| add_one.launch(config(), (x, Len)).unwrap());
        assert!(turn < 2 || calls == [GET, STATE, LAUNCH, RECORD], "{calls:?}");
        let ((next,), verdict) = pending.into_parts();
        (x, _) = (next, verdicts.push(verdict));
        settle(&driver);
        let plain = Plain([0u32; 3]);
        let args = (&f, &d, &i4, &u1, &u8s, &i2, sum, index, 0f32, 0f64, 0i8, 0u16, 0i64, plain, 1usize, DevicePtr(0));
        // SAFETY: one element each.
        let (pending, calls) = driver.calls_in(|| unsafe { sixteen.launch(config(), args) }.unwrap());
        assert!(turn < 2 || calls == [GET, STATE, LAUNCH, RECORD], "{calls:?}");
        let (written, verdict) = pending.into_parts();
        verdicts.push(verdict);
        (sum, index) = written.downcast::<(DeviceBuffer<f64>, DeviceBuffer<u32>)>().unwrap();
    }
    assert_eq!((down(&device, &x), down(&device, &sum)), (vec![4.0; 4], vec![24.0]));
    drop((many, verdicts, add_one, sixteen, x, f, d, i4, u1, u8s, i2, sum, index, device, current));
    driver.assert_finished();
}

#[test]
fn a_module_is_loaded_once_and_its_kernels_are_asked_once() {
    let driver = session();
    let current = Current::of(0);
    let device = device(2);
    let module = driver.silently("making a module", || module(&device));
    let (_, calls) = driver.calls_in(|| module.load().unwrap());
    assert_eq!(calls, [GET, STATE, "cuModuleLoadDataEx"]);
    driver.silently("loading it again", || module.load().unwrap());
    let (kernel, calls) = driver.calls_in(|| module.kernel("axpb_f32").unwrap());
    assert_eq!(calls[..3], [GET, STATE, "cuModuleGetFunction"]);
    assert_eq!((count(&calls, "cuFuncGetAttribute"), count(&calls, "cuModuleLoadDataEx")), (8, 0));
    assert_eq!(count(&calls, "cuDeviceGetAttribute"), 12, "the device's limits");
    let (other, calls) = driver.calls_in(|| module.kernel("sixteen").unwrap());
    assert_eq!((calls.len(), count(&calls, "cuFuncGetAttribute")), (11, 8), "the limits are known: {calls:?}");
    let answers = driver.silently("what is known of a kernel", || (kernel.attributes().unwrap(), kernel.clone()));
    assert_eq!((answers.0.max_threads, answers.0.registers, answers.0.binary_version), (1024, 32, 90));
    let x = up(&device, [1f32]);
    driver.silently("a refused launch", || {
        // SAFETY: refused.
        assert_eq!(refused(&unsafe { kernel.launch(config(), (&x,)) }.map(drop).unwrap_err().error).0, "args");
    });
    drop((x, answers, kernel, other, module, device, current));
    driver.assert_finished();
}

#[test]
fn what_the_text_does_not_tell_the_driver_is_asked() {
    let driver = session();
    let device = device(1);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .visible .entry empty(.param .align 4 .b8 a[12U], .param .u64 b) { ret; }\n";
    let (kernel, calls) =
        driver.calls_in(|| device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap().kernel("empty").unwrap());
    assert_eq!(count(&calls, "cuFuncGetParamInfo"), 3, "two parameters, and no third: {calls:?}");
    // SAFETY: refused.
    let few = unsafe { kernel.launch(config(), (1u64,)) }.map(drop).unwrap_err().error;
    assert_eq!(refused(&few).1, "1 arguments, but `empty` has 2 parameters");
    // SAFETY: refused.
    let wide = unsafe { kernel.launch(config(), (Plain([0u64; 2]), 1u64)) }.map(drop).unwrap_err().error;
    let (argument, reason) = refused(&wide);
    assert!(argument == "argument 0" && reason.contains("16 bytes") && reason.contains("12 bytes"), "{reason}");
    drop((kernel, device));
    driver.assert_finished();
}

#[test]
fn attributes_of_a_launch_go_with_it() {
    let driver = session();
    let device = device(1);
    let kernel = add_one(&device);
    let launch = |config: LaunchConfig| {
        driver.log_of_this_thread();
        let x = kernel.launch(config, (device.zeros::<f32>(64).unwrap(), Len)).unwrap().await_result().unwrap();
        driver.log(false);
        assert_eq!(down(&device, &x), [1.0; 64]);
        driver.take_log().into_iter().find(|line| line.starts_with(LAUNCH)).expect("a launch")
    };
    let plain = launch(LaunchConfig::new(2, 32).shared(16));
    assert!(plain.starts_with("cuLaunchKernel ") && plain.contains("grid 2,1,1 block 32,1,1 shared 16"), "{plain}");
    let all = launch(LaunchConfig::new((4, 1), 16).cooperative().cluster((2, 1)).priority(-3));
    assert!(all.starts_with("cuLaunchKernelEx") && all.contains("cooperative 1 cluster 2,1,1 priority -3"), "{all}");
    let urgent = launch(LaunchConfig::new(2, 32).priority(-5));
    assert!(urgent.contains("cooperative 0 cluster 1,1,1 priority -5"), "{urgent}");
    drop((kernel, device));
    driver.assert_finished();
}

#[test]
fn more_than_48_kib_of_shared_memory_is_asked_for_once() {
    let driver = session();
    let device = device(2);
    let kernel = turn_blocks(&device);
    let mut launch = |shared: u32| {
        let (x, y) = (up(&device, [1f32, 2.0]), up(&device, [0f32; 2]));
        // SAFETY: both have two elements, and each of two threads its 64 bytes.
        let (pending, calls) = driver
            .calls_in(|| unsafe { kernel.launch(LaunchConfig::new(1, 2).shared(shared), (&x, y, 2usize)) }.unwrap());
        let (y,) = pending.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [2.0, 1.0]);
        count(&calls, "cuFuncSetAttribute")
    };
    assert_eq!([48 << 10, 100 << 10, 227 << 10, 100 << 10, 128].map(&mut launch), [0, 1, 0, 0, 0]);
    drop((kernel, device));
    driver.assert_finished();
}

#[test]
fn a_grid_that_cannot_be_on_the_device_at_once_is_refused_a_cooperative_launch() {
    let driver = session();
    let device = device(1);
    let kernel = add_one(&device);
    // 132 multiprocessors of 2048 threads each: two blocks of 1024.
    assert_eq!(kernel.kernel().active_blocks(1024, 0).unwrap(), 2);
    let n = 64;
    let launch = |blocks: u32| {
        kernel.launch(LaunchConfig::new(blocks, 1024).cooperative(), (device.zeros::<f32>(n).unwrap(), Len))
    };
    drop(launch(264).unwrap().await_result().unwrap());
    let rejected = launch(265).unwrap_err();
    let (argument, reason) = refused(&rejected.error);
    assert!(argument == "grid" && reason.contains("265") && reason.contains("264"), "{reason}");
    assert_eq!(down(&device, &rejected.back.unwrap().0), vec![0.0; n]);
    driver.set_attribute(95, 0);
    let old = add_one(&crate::standin::device(1));
    let error = old.launch(LaunchConfig::new(1, 32).cooperative(), (up(old.kernel().device(), [0f32]), Len));
    assert!(matches!(error.map(drop).unwrap_err().error, windlass::Error::Unsupported { .. }));
    drop((kernel, old, device, rejected.error));
    driver.assert_finished();
}

#[test]
fn the_kernels_own_limit_of_threads_is_named() {
    let driver = session();
    let device = device(1);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .visible .entry empty()\n.maxntid 640, 1, 1\n{ ret; }\n";
    let kernel = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap().kernel("empty").unwrap();
    assert_eq!(kernel.best_block(0).unwrap(), 640);
    assert_eq!(kernel.config_for_elements(1281).unwrap(), LaunchConfig::new(3, 640));
    // SAFETY: it does nothing.
    let launch = |threads: u32| unsafe { kernel.launch(LaunchConfig::new(1, threads), ()) };
    drop(launch(640).unwrap().await_result().unwrap());
    let (argument, reason) = refused(&launch(641).map(drop).unwrap_err().error);
    let named = ["641", "640", "32 registers", "`empty`"];
    assert!(argument == "block" && named.iter().all(|name| reason.contains(name)), "{reason}");
    drop((kernel, device));
    driver.assert_finished();
}

#[test]
fn an_access_to_a_variable_waits_for_launches_elsewhere_and_launches_do_not_wait_for_each_other() {
    let driver = session();
    let device = device(4);
    let module = device.nvrtc().load(&Image::ptx(GLOBALS).unwrap()).unwrap();
    // SAFETY: the kernel's parameters; it stays below the length.
    let scale = unsafe { module.kernel("scale_by_factor").unwrap().typed::<(Write<f32>, Len)>() }.unwrap();
    let factor: Global<f32> = module.global("factor").unwrap();
    let waits = |f: &mut dyn FnMut()| {
        let before = device.stats().forced_waits;
        f();
        device.stats().forced_waits - before
    };
    driver.mode(Mode::Manual); // so each finds a slot of its own
    let buffers: Vec<_> = (0..3).map(|_| device.zeros::<f32>(8).unwrap()).collect();
    let mut outputs = Vec::new();
    let mut buffers = buffers.into_iter();
    let among_themselves = waits(&mut || {
        let x = buffers.next().unwrap();
        let (first, verdict) = scale.launch(config(), (x, Len)).unwrap().into_parts();
        let x = buffers.next().unwrap();
        outputs.extend([first.0, scale.launch(config(), (x, Len)).unwrap().into_output()]);
        drop(verdict); // only now is the housekeeping called, which looks at the slots
    });
    assert_eq!(among_themselves, 0);
    let mut write = None;
    let for_launches = waits(&mut || write = Some(factor.write([2f32; 4]).unwrap()));
    assert!(for_launches >= 1, "a write follows launches on other slots");
    let mut read = None;
    waits(&mut || read = Some(factor.read().unwrap()));
    outputs.push(scale.launch(config(), (buffers.next().unwrap(), Len)).unwrap().into_output());
    driver.mode(Mode::Eager);
    assert_eq!(read.unwrap().await_result().unwrap(), [2.0; 4]);
    write.unwrap().await_result().unwrap();
    drop((outputs, scale, factor, module, device));
    driver.assert_finished();
}

#[test]
fn the_twin_is_not_called_on_a_gpu() {
    let driver = session();
    let device = device(1);
    let kernel = axpb(&device).twin::<crate::kernels::Axpb>(|_, _| panic!("the twin was called")).unwrap();
    let (x, y) = (up(&device, [1f32]), up(&device, [0f32]));
    // SAFETY: one element each.
    let written = unsafe { kernel.launch(config(), (&x, y, 1usize, 2f32, 0f32)) }.unwrap().await_result().unwrap();
    let (y,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
    assert_eq!(down(&device, &y), [2.0]);
    drop((kernel, x, y, device));
    driver.assert_finished();
}

#[test]
fn buffers_and_kernels_of_another_gpu_are_refused_without_a_call() {
    let driver = session();
    driver.set_device_count(2);
    let (device, other) = (device(1), windlass::Device::cuda(1).unwrap());
    let (kernel, theirs, ours) = (add_one(&device), up(&other, [1f32]), up(&device, [1f32]));
    let axpb = axpb(&device);
    driver.silently("launching on a foreign buffer", || {
        let (argument, reason) = refused(&kernel.launch(config(), (theirs, Len)).map(drop).unwrap_err().error);
        assert!(argument == "argument 0" && reason.contains("cuda:1") && reason.contains("cuda:0"), "{reason}");
        assert_eq!(refused(&kernel.on(&other).map(drop).unwrap_err()).0, "device");
    });
    let (theirs, mixed) = (up(&other, [1f32]), up(&device, [0f32]));
    driver.silently("reading a foreign buffer", || {
        // SAFETY: refused.
        let mixed = unsafe { axpb.launch(config(), (&theirs, mixed, 1usize, 1f32, 1f32)) };
        assert_eq!(refused(&mixed.map(drop).unwrap_err().error).0, "argument 0");
    });
    let same = kernel.on(&device.labelled("again")).unwrap();
    assert_eq!(down(&device, &same.launch(config(), (ours, Len)).unwrap().into_output()), [2.0]);
    drop((kernel, same, axpb, theirs, device, other));
    driver.assert_finished();
}

//! When a module goes: at the end of its last handle, never under work in flight, never in a context that is dead.

use crate::common::{down, eventually, up};
use crate::kernels::{add_one, module};
use crate::standin::{Mode, device, endless, session};
use std::time::Duration;
use windlass::nvrtc::{LaunchConfig, Len};

fn config() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn the_last_handle_takes_the_module_with_it_and_calls_nothing_itself() {
    let driver = session();
    let device = device(2);
    let module = module(&device);
    let kernels = [module.kernel("axpb_f32").unwrap(), module.kernel("sixteen").unwrap()];
    let typed = add_one(&device);
    assert_eq!(driver.live("modules"), 2);
    driver.silently("dropping the module's own handle", || drop(module));
    let [one, other] = kernels;
    driver.silently("dropping a kernel", || drop(one));
    driver.await_rest();
    assert_eq!((driver.live("modules"), driver.calls_of("cuModuleUnload")), (2, 0), "a kernel is left");
    driver.silently("dropping the last kernel", || drop(other));
    assert!(eventually(5, || driver.live("modules") == 1), "the module stayed");
    drop(typed);
    assert!(eventually(5, || driver.live("modules") == 0));
    drop(device);
    driver.assert_finished();
}

#[test]
fn nothing_is_unloaded_while_its_work_is_in_flight() {
    let driver = session();
    let device = device(2);
    driver.mode(Mode::Manual);
    let kernel = add_one(&device);
    let x = kernel.launch(config(), (device.zeros::<f32>(4).unwrap(), Len)).unwrap().into_output();
    driver.silently("dropping a kernel in flight", || drop(kernel));
    driver.await_sweeps();
    assert_eq!(driver.calls_of("cuModuleUnload"), 0);
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &x), [1.0; 4]);
    assert!(eventually(5, || driver.live("modules") == 0), "it goes when the work is over");
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn unloading_waits_for_everything_on_the_device_because_the_driver_might() {
    let driver = session();
    let device = device(3);
    let kernel = add_one(&device);
    let x = kernel.launch(config(), (up(&device, [1f32]), Len)).unwrap().await_result().unwrap();
    let busy = endless(&device);
    let loaded = driver.live("modules");
    drop(kernel);
    driver.await_sweeps();
    assert_eq!((driver.calls_of("cuModuleUnload"), driver.live("modules")), (0, loaded), "an endless kernel runs");
    // Nobody waits for it: work goes on beside.
    let other = add_one(&device);
    let x = other.launch(config(), (x, Len)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &x), [3.0]);
    driver.release();
    drop(busy);
    assert!(eventually(5, || driver.live("modules") == loaded), "one went, one came");
    drop((other, x, device));
    driver.assert_finished();
}

#[test]
fn modules_that_come_and_go_on_a_device_that_is_never_idle_stay_few() {
    let driver = session();
    let device = device(3);
    let busy = endless(&device);
    let before = driver.live("modules");
    let (mut x, mut most) = (up(&device, [0f32]), before);
    for _ in 0..200 {
        let kernel = add_one(&device);
        x = kernel.launch(config(), (x, Len)).unwrap().await_result().unwrap();
        drop(kernel);
        most = most.max(driver.live("modules"));
    }
    assert!(most > before + 4, "{most} modules: it is not this that was to be tested");
    // Sixteen that wait, and a few whose last launch the slot has not let go of yet.
    assert!(most <= before + 24, "{most} modules of 200, {before} before");
    assert_eq!(down(&device, &x), [200.0]);
    driver.release();
    drop((busy, x));
    assert!(eventually(5, || driver.live("modules") == before), "and at an idle moment all go");
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_rebuild_unloads_what_there_is_and_later_drops_call_nothing() {
    let driver = session();
    let device = device(2);
    let (kernel, module) = (add_one(&device), module(&device));
    module.load().unwrap();
    device.rebuild(LIMIT).unwrap();
    assert_eq!(driver.live("modules"), 0, "unloaded with their generation");
    let fresh = kernel.reload().unwrap();
    driver.silently("dropping stale handles", || drop((kernel, module)));
    let x = fresh.launch(config(), (up(&device, [1f32]), Len)).unwrap().await_result().unwrap();
    assert_eq!((down(&device, &x), driver.live("modules")), (vec![2.0], 1));
    drop((fresh, x, device));
    driver.assert_finished();
}

#[test]
fn siblings_that_are_reloaded_share_a_module_again() {
    let driver = session();
    let device = device(1);
    let module = module(&device);
    let (one, other) = (module.kernel("axpb_f32").unwrap(), module.kernel("sixteen").unwrap());
    device.rebuild(LIMIT).unwrap();
    let fresh = (one.reload().unwrap(), other.reload().unwrap(), module.reload().unwrap());
    assert_eq!(driver.live("modules"), 1);
    fresh.2.load().unwrap();
    assert_eq!(driver.live("modules"), 1);
    drop((one, other, module, fresh, device));
    driver.assert_finished();
}

#[test]
fn a_context_that_is_dead_is_left_alone() {
    let driver = session();
    let device = device(2);
    let (kernel, module) = (add_one(&device), module(&device));
    module.load().unwrap();
    let x = device.zeros::<f32>(1).unwrap();
    driver.fault(700);
    let lost = kernel.launch(config(), (x, Len));
    assert!(lost.is_err());
    let calls = driver.calls_of("cuModuleUnload");
    driver.silently("dropping kernels of a lost device", || drop((kernel, module)));
    drop((lost, device));
    driver.await_rest();
    assert_eq!(driver.calls_of("cuModuleUnload"), calls);
}

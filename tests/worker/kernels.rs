//! Kernels of an isolated host device: their twins run in the worker.

use crate::common::{down, up};
use crate::{LONG, alone, isolated, kill, tells};
use windlass::nvrtc::{DevicePtr, LaunchConfig, Len, Read, ThreadIndex, TypedKernel, Write};
use windlass::{Device, Error, error::Stale, health::Phase};

fn config() -> LaunchConfig {
    LaunchConfig::new(4, 32)
}

type Add = (Read<f32>, Write<f32>, f32);

fn add(device: &Device) -> TypedKernel<Add> {
    let add = device.nvrtc().twin_fn::<Add>("add", |at, (x, y, a)| {
        if at.x() < y.len() {
            y.set(at.x(), y.get(at.x()) + a * x.get(at.x()));
        }
    });
    add.unwrap()
}

/// Which process a twin runs in: a function as well as a closure.
fn whereabouts(at: ThreadIndex, (pid,): (windlass::nvrtc::SharedSlice<'_, u32>,)) {
    if at.x() == 0 {
        pid.set(0, std::process::id());
    }
}

#[test]
fn a_twin_runs_in_the_worker() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let kernel = device.nvrtc().twin_fn::<(Write<u32>,)>("whereabouts", whereabouts).unwrap();
    let pid = kernel.launch(config(), (up(&device, [0u32]),)).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &pid), [device.worker_pid().unwrap()]);
    let (x, y) = (up(&device, [1.0f32, 2.0]), up(&device, [10.0f32, 20.0]));
    let y = add(&device).launch(config(), (&x, y, 3.0)).unwrap().into_output();
    assert_eq!(down(&device, &y), [13.0, 26.0]);
    assert_eq!(device.stats().faults, 0);
}

#[test]
fn after_a_loss_a_kernel_is_stale_until_it_is_reloaded() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let kernel = add(&device);
    for generation in 1..4 {
        kill(&device);
        assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
        while device.generation() < generation {
            std::thread::yield_now();
        }
        let (x, y) = (up(&device, [1.0f32]), up(&device, [2.0f32]));
        let rejected = kernel.launch(config(), (&x, y, 1.0)).unwrap_err();
        let stale = Stale::Generation { made: 0, now: generation };
        assert!(matches!(&rejected.error, Error::GpuRefStale { reason, .. } if *reason == stale), "{}", rejected.error);
        let (y,) = rejected.back.unwrap();
        let y = kernel.reload().unwrap().launch(config(), (&x, y, 1.0)).unwrap().into_output();
        assert_eq!(down(&device, &y), [3.0]);
    }
}

#[test]
fn a_twin_that_ends_its_process_costs_the_worker_and_not_the_program() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let bad = device.nvrtc().twins().kernel("bad").unwrap();
    let bad = bad.twin_fn::<(DevicePtr,)>(|_, _| std::process::abort()).unwrap();
    // SAFETY: none: it runs in a process that is there to be lost.
    let error = unsafe { bad.launch(config(), (DevicePtr(8),)) }.unwrap().await_result().unwrap_err().error;
    assert!(matches!(&error, Error::ContextPoisoned { cause, .. } if tells(cause, "SIGABRT")), "{error}");
    assert!(error.site().unwrap().last_ops().any(|op| op == "bad"), "the kernel is named: {error}");
    assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
    let y = add(&device).launch(config(), (&up(&device, [1.0f32]), up(&device, [1.0f32]), 1.0)).unwrap();
    assert_eq!((down(&device, &y.into_output()), device.stats().faults), (vec![2.0], 1));
}

#[test]
fn a_twin_that_captures_something_is_refused_with_the_reason_and_the_buffers_back() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let factor = std::hint::black_box(2.0f32);
    let scale = device.nvrtc().twin::<(Write<f32>, Len)>("scale", move |at, (x, n)| {
        if at.x() < n {
            x.set(at.x(), x.get(at.x()) * factor);
        }
    });
    let rejected = scale.unwrap().launch(config(), (up(&device, [1.0f32, 2.0]), Len)).unwrap_err();
    let told = rejected.error.to_string();
    assert!(matches!(rejected.error, Error::Unsupported { .. }), "{told}");
    assert!(told.contains("`scale`") && told.contains("captures") && told.contains("argument"), "{told}");
    let (x,) = rejected.back.unwrap();
    assert_eq!((down(&device, &x), device.stats().faults), (vec![1.0, 2.0], 0));
}

/// A value of no size may still be one that only its maker can make: no worker makes it from nothing.
#[test]
fn a_twin_that_captures_a_value_of_no_size_is_refused_as_well() {
    mod token {
        /// Nobody else can make one.
        #[derive(Clone, Copy)]
        pub(super) struct Token(());
        pub(super) fn only_here() -> Token {
            Token(())
        }
    }
    let _alone = alone();
    let device = isolated().open().unwrap();
    let token = token::only_here();
    let holds = device.nvrtc().twin::<(Write<f32>,)>("holds", move |_, (x,)| {
        let _proof: token::Token = token;
        x.set(0, 1.0);
    });
    let rejected = holds.unwrap().launch(config(), (up(&device, [0f32]),)).unwrap_err();
    assert!(matches!(&rejected.error, Error::Unsupported { reason, .. } if reason.contains("twin_fn")), "{rejected}");
}

#[test]
fn a_twin_that_panics_or_goes_past_the_end_is_an_error_and_the_worker_goes_on() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let panics = device.nvrtc().twin_fn::<(Write<f32>,)>("panics", |at, _| assert_ne!(at.x(), 7, "thread seven"));
    let error = panics.unwrap().launch(config(), (up(&device, [0f32]),)).unwrap().await_result().unwrap_err().error;
    assert!(matches!(error, Error::Panicked { .. }) && error.to_string().contains("thread seven"), "{error}");
    let past = device.nvrtc().twin_fn::<(Write<f32>,)>("past", |_, (x,)| x.set(1, 0.0)).unwrap();
    let x = past.launch(config(), (up(&device, [0f32]),)).unwrap().into_output();
    let error = device.download(&x).unwrap().await_result().unwrap_err();
    assert!(matches!(error, Error::Upstream { .. }), "what it was to write is worth nothing: {error}");
    assert_eq!((device.stats().faults, device.generation()), (0, 0));
}

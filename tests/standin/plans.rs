//! Plans of cuDNN that outlive their process: one process keeps them, and a later one uses or removes them.

use std::path::PathBuf;

use crate::common::child::this_test;
use crate::standin::{Driver, device, in_child};
use windlass::dnn::{Attention, PlanSource};
use windlass::{Device, Error, f16};

/// The folder of all processes of a test, which have one parent.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{name}-{}", std::os::unix::process::parent_id()))
}

fn files(name: &str) -> usize {
    std::fs::read_dir(folder(name).join("plans")).map_or(0, |all| all.count())
}

/// Computes gradients of an attention, as a program does. Where the plan came from.
fn gradients(device: &Device) -> PlanSource {
    let x = device.zeros::<f16>([1, 2, 16, 16]).unwrap();
    let sums = device.zeros::<f32>([1, 2, 16]).unwrap();
    let (dnn, spec) = (device.dnn(), Attention::new());
    let source = dnn.plan_attention_gradients(&spec, &x, &x, &x).unwrap().explain().unwrap().source;
    drop(dnn.attend_gradients(&spec, &x, &x, &x, &x, &x, &sums).unwrap().await_result().unwrap());
    source
}

fn begin(driver: &Driver, name: &str, takes: bool) -> Device {
    // SAFETY: this process runs one test, whose threads do not look at the environment now.
    unsafe { std::env::set_var("WINDLASS_CACHE_DIR", folder(name)) };
    driver.with_cudnn();
    driver.cudnn_texts(takes);
    device(1)
}

#[test]
fn a_plan_that_was_in_use_at_a_fault_is_removed_and_the_fault_says_so() {
    in_child(&this_test!(), &["keeps", "uses", "faults", "chooses again"], |driver, case| {
        let device = begin(driver, "faulted", true);
        let source = gradients(&device);
        match case {
            "keeps" => assert_eq!((source, files("faulted")), (PlanSource::Chosen, 1)),
            "uses" => assert_eq!((source, files("faulted")), (PlanSource::Kept, 1)),
            "faults" => {
                assert_eq!(source, PlanSource::Kept);
                driver.fail("cuLaunchKernel", 0, 716);
                let pending = device.map(&device.zeros::<f32>([8]).unwrap(), |x| x + 1.0).unwrap();
                let error: Error = pending.await_result().unwrap_err().into();
                let Error::DeviceLost { cause, .. } = &error else { panic!("{error:?}") };
                assert!(cause.contains("CUDA_ERROR_MISALIGNED_ADDRESS"), "{cause}");
                assert!(cause.contains("1 cuDNN plans that an earlier process had kept"), "{cause}");
                assert_eq!(files("faulted"), 0);
            }
            _ => {
                assert_eq!((source, files("faulted")), (PlanSource::Chosen, 1));
                std::fs::remove_dir_all(folder("faulted")).unwrap();
            }
        }
    });
}

#[test]
fn a_plan_that_the_library_refuses_is_replaced_and_that_is_said() {
    in_child(&this_test!(), &["keeps", "refuses", "uses"], |driver, case| {
        let device = begin(driver, "refused", case != "refuses");
        let source = gradients(&device);
        let wanted = match case {
            "keeps" => PlanSource::Chosen,
            "refuses" => PlanSource::Replaced,
            _ => PlanSource::Kept,
        };
        assert_eq!((source, files("refused")), (wanted, 1), "{case}");
        if case == "uses" {
            std::fs::remove_dir_all(folder("refused")).unwrap();
        }
    });
}

//! Kernels that run by their text on the stand-in: what they compute, the variables of their modules, and what is said of those that
//! leave their memory.

use crate::standin::{device, in_child, session};
use windlass::Device;
use windlass::nvrtc::{Image, LaunchConfig, Write};

const TEXT: &str = ".version 7.0\n.target sm_70\n.address_size 64
    .visible .global .align 4 .u32 calls = 40;
    .visible .entry step_words(.param .u64 x, .param .u32 n) {
        .reg .u64 %x, %at; .reg .u32 %i, %n, %v; .reg .pred %p;
        ld.param.u64 %x, [x]; ld.param.u32 %n, [n];
        mov.u32 %i, %tid.x; setp.ge.u32 %p, %i, %n; @%p ret;
        mul.wide.u32 %at, %i, 4; add.u64 %x, %x, %at;
        ld.global.u32 %v, [%x]; add.u32 %v, %v, %i; st.global.u32 [%x], %v;
        setp.ne.u32 %p, %i, 0; @%p ret;
        atom.global.add.u32 %v, [calls], 1; st.global.u32 [%x], %v;
        ret;
    }
    .visible .entry racy(.param .u64 x, .param .u32 n) {
        .reg .u64 %x; .reg .u32 %i;
        ld.param.u64 %x, [x]; mov.u32 %i, %tid.x; st.global.u32 [%x], %i; ret;
    }
    .visible .entry odd(.param .u64 x, .param .u32 n) {
        .reg .u64 %x; .reg .u32 %n; .reg .u64 %at;
        ld.param.u64 %x, [x]; ld.param.u32 %n, [n]; cvt.u64.u32 %at, %n; add.u64 %x, %x, %at; st.global.u32 [%x], %n; ret;
    }";

fn launch(device: &Device, name: &str, threads: u32, n: u32, words: usize) -> windlass::Result<Vec<u32>> {
    let module = device.nvrtc().load(&Image::ptx(TEXT)?)?;
    // SAFETY: not always so: what is beside the memory is found by the stand-in.
    let kernel = unsafe { module.kernel(name)?.typed::<(Write<u32>, u32)>() }?;
    let mut x = device.zeros::<u32>(words)?;
    for _ in 0..2 {
        x = kernel.launch(LaunchConfig::new(1, threads), (x, n))?.await_result()?.into();
    }
    device.to_vec(&x)
}

#[test]
fn a_kernel_computes_and_its_variable_keeps_its_value() {
    let driver = session();
    let device = device(1);
    assert_eq!(launch(&device, "step_words", 64, 5, 5).unwrap(), [41, 2, 4, 6, 8]);
    assert_eq!(driver.ran_by_text(), 2);
    drop(device);
    driver.assert_finished();
}

#[test]
fn what_a_check_finds_is_said_and_a_race_stops_nothing() {
    let driver = session();
    let device = device(1);
    launch(&device, "racy", 2, 0, 1).unwrap();
    let said = driver.violations();
    assert!(said.iter().any(|line| line.contains("race in kernel `racy`") && line.contains("mem#")), "{said:?}");
    driver.clear_violations();
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_kernel_that_leaves_its_memory_is_a_fault_of_the_device() {
    let test = "text::a_kernel_that_leaves_its_memory_is_a_fault_of_the_device";
    in_child(test, &["beside", "misaligned"], |driver, case| {
        let device = device(1);
        let (name, n, what) = match case {
            "beside" => ("odd", 1 << 30, "out of bounds"),
            _ => ("odd", 2, "misaligned"),
        };
        let lost = launch(&device, name, 1, n, 4).unwrap_err();
        assert!(!matches!(lost, windlass::Error::Unsupported { .. }), "{lost}");
        let said = driver.violations();
        assert!(said.iter().any(|line| line.contains(what) && line.contains("`odd`")), "{said:?}");
        driver.clear_violations();
        // The violations were written down when they happened, and are what was wanted.
        if let Some(report) = std::env::var_os("WINDLASS_STANDIN_REPORT") {
            std::fs::write(report, "").unwrap();
        }
    });
}

//! Kernels on a host device without a twin.

use windlass::nvrtc::{Image, KernelChecks, LaunchConfig, Len, Out, Read, Source, Write};
use windlass::{Device, Error, error::FindingKind};

const SELF_TEST: &str = include_str!("../../../src/device/supervisor/self_test.ptx");

fn host() -> Device {
    Device::builder().host().open().unwrap()
}

#[test]
fn a_kernel_from_ptx_runs_and_is_ordered_like_any_other_work() {
    let device = host();
    let module = device.nvrtc().load(&Image::ptx(SELF_TEST).unwrap()).unwrap();
    // SAFETY: `y[i] = x[i] * x[i] + 1` for `n` elements.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Out<u32>, Read<u32>, u64)>() }.unwrap();
    let n = 1000u64;
    let mut x = device.buffer((0..n as u32).collect::<Vec<_>>()).unwrap();
    for _ in 0..3 {
        let out = device.uninit::<u32>(n as usize).unwrap();
        x = kernel.launch(LaunchConfig::for_elements(n as usize).unwrap(), (out, &x, n)).unwrap().into_output();
    }
    let step = |x: u32| x.wrapping_mul(x).wrapping_add(1);
    let want: Vec<u32> = (0..n as u32).map(|i| step(step(step(i)))).collect();
    assert_eq!(device.to_vec(&x).unwrap(), want);
}

#[test]
fn a_finding_is_an_error_of_the_launch() {
    let device = host();
    let module = device.nvrtc().load(&Image::ptx(SELF_TEST).unwrap()).unwrap();
    // SAFETY: not so: it is launched with more elements than there are, which the host engine finds.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Write<u32>, Read<u32>, u64)>() }.unwrap();
    let (x, y) = (device.buffer(vec![1u32; 1000]).unwrap(), device.buffer(vec![0u32; 1000]).unwrap());
    let config = LaunchConfig::for_elements(1001).unwrap();
    let error = kernel.launch(config, (y, &x, 1001)).unwrap().await_result().unwrap_err().error;
    let Error::KernelCheck { finding, site, .. } = &error else { panic!("{error}") };
    assert_eq!(finding.kind, FindingKind::OutOfBounds);
    assert!(finding.detail.contains("argument 1 (4000 bytes)") && site.to_string().contains("launch"), "{error}");
    // The device is as it was.
    assert_eq!(device.to_vec(&x).unwrap(), vec![1; 1000]);
    // An output that is not written whole.
    // SAFETY: not so either.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Out<u32>, Read<u32>, u64)>() }.unwrap();
    let out = device.uninit::<u32>(1000).unwrap();
    let error = kernel.launch(config, (out, &x, 999)).unwrap().await_result().unwrap_err().error;
    assert!(matches!(&error, Error::KernelCheck { finding, .. } if finding.kind == FindingKind::NotWritten), "{error}");
    // An output without contents is for a kernel that is said to write all of it.
    // SAFETY: it is refused.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Write<u32>, Read<u32>, u64)>() }.unwrap();
    let error = kernel.launch(config, (device.uninit(1000).unwrap(), &x, 999)).unwrap_err().error.to_string();
    assert!(error.contains("`nvrtc::Out`") && error.contains("`Arg::out`"), "{error}");
    let none = device.uninit::<u32>(1000).unwrap();
    let error = kernel.launch(config, (device.zeros(1000).unwrap(), &none, 999)).unwrap_err().error.to_string();
    assert!(error.contains("undefined") && !error.contains("Out"), "{error}");
    // Without that check it is what it is.
    let device = Device::builder().host().check_kernels(KernelChecks::bounds()).open().unwrap();
    let module = device.nvrtc().load(&Image::ptx(SELF_TEST).unwrap()).unwrap();
    // SAFETY: as above.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Out<u32>, Read<u32>, u64)>() }.unwrap();
    let (x, out) = (device.buffer(vec![1u32; 1000]).unwrap(), device.uninit::<u32>(1000).unwrap());
    kernel.launch(config, (out, &x, 999)).unwrap().await_result().unwrap();
}

/// With a compiler the source of a program runs on the CPU too; without one the error says so.
#[test]
fn a_program_runs_without_a_twin_where_a_compiler_is() {
    let device = host();
    let source = Source::new(
        "extern \"C\" __global__ void scan(float* x, size_t n) {
            __shared__ float part[256];
            part[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
            for (unsigned step = 1; step < 256; step *= 2) {
                __syncthreads();
                float before = threadIdx.x >= step ? part[threadIdx.x - step] : 0.0f;
                __syncthreads();
                part[threadIdx.x] += before;
            }
            if (threadIdx.x < n) x[threadIdx.x] = part[threadIdx.x];
        }",
    );
    let kernel = device.nvrtc().module(&source).unwrap().kernel("scan").unwrap();
    // SAFETY: it stays within `n`, the length, of at most 256.
    let kernel = unsafe { kernel.typed::<(Write<f32>, Len)>() }.unwrap();
    let x = device.buffer((0..200).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    match kernel.launch(LaunchConfig::new(1, 256), (x, Len)) {
        Ok(pending) => {
            let sums = device.to_vec(&pending.await_result().unwrap()).unwrap();
            assert!(sums.iter().enumerate().all(|(i, sum)| *sum == (i * (i + 1) / 2) as f32), "{sums:?}");
        }
        Err(refused) => {
            let text = refused.error.to_string();
            assert!(matches!(refused.error, Error::Unsupported { .. }) && text.contains("no compiler"), "{text}");
        }
    }
}

/// The text crosses once; its kernels, their checks and what they find are as in this process, and its variables live in the worker.
#[cfg(target_os = "linux")]
#[test]
fn kernels_run_in_a_worker_process() {
    let open = |checks| Device::builder().host().isolated().check_kernels(checks).open().unwrap();
    let device = open(KernelChecks::all());
    let module = device.nvrtc().load(&Image::ptx(SELF_TEST).unwrap()).unwrap();
    // SAFETY: not so where it is launched with more elements than there are, which the host engine finds.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Out<u32>, Read<u32>, u64)>() }.unwrap();
    let x = device.buffer((0..1000).collect::<Vec<u32>>()).unwrap();
    let config = LaunchConfig::for_elements(1000).unwrap();
    let launch = |n| kernel.launch(config, (device.uninit::<u32>(1000).unwrap(), &x, n)).unwrap();
    let y = launch(1000).await_result().unwrap();
    assert_eq!(device.to_vec(&y).unwrap(), (0..1000).map(|i| i * i + 1).collect::<Vec<u32>>());
    for _ in 0..2 {
        let error = launch(999).await_result().unwrap_err().error;
        let Error::KernelCheck { finding, .. } = &error else { panic!("{error}") };
        assert!(finding.kind == FindingKind::NotWritten && finding.detail.contains("argument 0"), "{error}");
    }
    drop((module, kernel));
    // The device goes on, and a module counts for itself.
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.global .u32 calls;
        .visible .entry count(.param .u64 y) {
            .reg .u64 %y; .reg .u32 %n;
            ld.param.u64 %y, [y]; atom.global.add.u32 %n, [calls], 1; st.global.u32 [%y], %n; ret;
        }";
    for _ in 0..2 {
        let module = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap();
        // SAFETY: it writes one word.
        let count = unsafe { module.kernel("count").unwrap().typed::<(Write<u32>,)>() }.unwrap();
        let mut y = device.zeros::<u32>(1).unwrap();
        for calls in 0..3 {
            y = count.launch(LaunchConfig::new(1, 1), (y,)).unwrap().await_result().unwrap().into();
            assert_eq!(device.to_vec(&y).unwrap(), [calls]);
        }
    }
    // With other checks another device; what is no PTX is refused where it is loaded.
    let device = open(KernelChecks::bounds());
    let module = device.nvrtc().load(&Image::ptx(SELF_TEST).unwrap()).unwrap();
    // SAFETY: as above.
    let kernel = unsafe { module.kernel("self_test").unwrap().typed::<(Out<u32>, Read<u32>, u64)>() }.unwrap();
    let (x, out) = (device.buffer(vec![1u32; 1000]).unwrap(), device.uninit::<u32>(1000).unwrap());
    let out = kernel.launch(config, (out, &x, 999)).unwrap().await_result().unwrap();
    assert_eq!(device.to_vec(&out).unwrap()[..999], [2; 999]);
}

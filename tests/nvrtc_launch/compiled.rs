//! Kernels that are compiled when the test runs: where NVRTC and a GPU are. Elsewhere each test says that it was skipped.

use crate::common::{devices, down, is_host, refused, up};
use std::io::Write as _;
use std::time::Duration;
use windlass::nvrtc::{
    CompileOptions, Compiler, Emit, Global, ImageKind, LaunchConfig, Len, Link, Plain, Program, Write,
};
use windlass::{Device, DeviceBuffer, Error};

/// The GPUs under test, where programs can be compiled for them.
fn gpus() -> Vec<Device> {
    let skip = |why: &str| {
        let thread = std::thread::current();
        let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {why}", thread.name().unwrap_or("a test"));
        Vec::new()
    };
    let gpus: Vec<Device> = devices().into_iter().filter(|device| !is_host(device)).collect();
    if gpus.is_empty() {
        return skip("WINDLASS_TEST_DEVICE names no GPU");
    }
    match Compiler::shared().version() {
        Ok(_) => gpus,
        Err(Error::LibraryMissing { help, .. }) => skip(&help),
        Err(other) => panic!("{other:?}"),
    }
}

/// The stand-in loads PTX only, and runs the kernels that it knows by name.
fn is_real(device: &Device) -> bool {
    device.info().name != "Stand-in GPU"
}

const ADD: &str = "
#ifndef STEP
#define STEP 1
#endif
extern \"C\" __global__ void add_one_f32(float* x, unsigned long long n) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) x[i] += STEP;
}
";

#[test]
fn a_program_becomes_a_kernel_and_comes_back_after_a_rebuild() {
    for device in gpus() {
        let module = device.nvrtc().module(&Program::new(ADD).name("add.cu")).unwrap();
        assert_eq!(module.image().unwrap().kind(), ImageKind::Ptx);
        // SAFETY: the source is above.
        let kernel = unsafe { module.kernel("add_one_f32").unwrap().typed::<(Write<f32>, Len)>() }.unwrap();
        let x = kernel.launch(LaunchConfig::new(1, 32), (up(&device, [1f32, 2.0]), Len)).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0, 3.0]);
        device.rebuild(Duration::from_secs(30)).unwrap();
        let misses = device.nvrtc().compiler().stats().memory_misses;
        let kernel = kernel.reload().unwrap();
        assert_eq!(device.nvrtc().compiler().stats().memory_misses, misses, "the image was kept");
        let x = kernel.launch(LaunchConfig::new(1, 32), (up(&device, [1f32, 2.0]), Len)).unwrap().into_output();
        assert_eq!(down(&device, &x), [2.0, 3.0]);
    }
}

#[test]
fn one_source_with_other_options_is_another_kernel() {
    for device in gpus().iter().filter(|device| is_real(device)) {
        for step in [1, 7] {
            let options = CompileOptions::new().define("STEP", step.to_string());
            let module = device.nvrtc().module(&Program::new(ADD).options(options)).unwrap();
            // SAFETY: the source is above.
            let kernel = unsafe { module.kernel("add_one_f32").unwrap().typed::<(Write<f32>, Len)>() }.unwrap();
            let x = kernel.launch(LaunchConfig::new(1, 32), (up(device, [1f32]), Len)).unwrap().into_output();
            assert_eq!(down(device, &x), [1.0 + step as f32]);
        }
    }
}

#[test]
fn templates_are_found_by_their_expressions_and_run() {
    let source = "struct Pair { int a; float b; };
        template <class T> __global__ void fill(T* x, size_t n, Pair pair) {
            size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
            if (i < n) x[i] = T(pair.a + pair.b);
        }";
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Pair {
        a: i32,
        b: f32,
    }
    let program = Program::new(source).expression("fill<float>").expression("fill<double>");
    for device in gpus() {
        let module = device.nvrtc().module(&program).unwrap();
        let pair = Plain(Pair { a: 3, b: 0.5 });
        let config = LaunchConfig::new(1, 32);
        let single = module.kernel("fill<float>").unwrap();
        assert_eq!(single.name(), "fill<float>");
        // SAFETY: the source is above.
        let written = unsafe { single.launch(config, (up(&device, [0f32; 3]), Len, pair)) }.unwrap().into_output();
        let (x,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
        let double = module.kernel("fill<double>").unwrap();
        // SAFETY: the source is above.
        let written = unsafe { double.launch(config, (up(&device, [0f64; 3]), Len, pair)) }.unwrap().into_output();
        let (y,) = written.downcast::<DeviceBuffer<f64>>().unwrap();
        if is_real(&device) {
            assert_eq!((down(&device, &x), down(&device, &y)), (vec![3.5; 3], vec![3.5; 3]));
        }
        assert_eq!(refused(&module.kernel("fill<int>").unwrap_err()).0, "name");
        // SAFETY: refused.
        let few = unsafe { single.launch(config, (up(&device, [0f32; 3]), Len)) }.map(drop).unwrap_err();
        assert!(refused(&few.error).1.contains("`fill<float>` has 3 parameters"), "{}", few.error);
    }
}

#[test]
fn machine_code_and_linked_code_are_checked_by_what_the_driver_knows() {
    for device in gpus().iter().filter(|device| is_real(device)) {
        let nvrtc = device.nvrtc();
        let cubin = nvrtc.compile(&Program::new(ADD).emit(Emit::Cubin)).unwrap();
        assert_eq!(cubin.kind(), ImageKind::Cubin);
        let mut images = vec![cubin];
        let lto = nvrtc.compile(&Program::new(ADD).emit(Emit::LtoIr)).unwrap();
        match nvrtc.link(&Link::for_device().input(&lto)) {
            Ok(linked) => images.push(linked),
            Err(Error::LibraryMissing { help, .. }) => eprintln!("SKIPPED: linked code: {help}"),
            Err(other) => panic!("{other:?}"),
        }
        for image in images {
            let kernel = nvrtc.load(&image).unwrap().kernel("add_one_f32").unwrap();
            let attributes = kernel.attributes().unwrap();
            assert!(attributes.registers > 0 && attributes.max_threads > 0, "{attributes:?}");
            // SAFETY: the source is above.
            let launch = |n: u64| unsafe { kernel.launch(LaunchConfig::new(1, 32), (up(device, [1f32]), n)) };
            let (x,) = launch(1).unwrap().into_output().downcast::<DeviceBuffer<f32>>().unwrap();
            assert_eq!(down(device, &x), [2.0]);
            if device.info().driver_version.is_some_and(|version| version >= 12040) {
                // SAFETY: refused.
                let narrow = unsafe { kernel.launch(LaunchConfig::new(1, 32), (x, 1u32)) }.map(drop).unwrap_err();
                let (argument, reason) = refused(&narrow.error);
                assert!(argument == "argument 1" && reason.contains("8 bytes"), "{reason}");
            }
        }
    }
}

#[test]
fn variables_that_were_asked_for_are_read_and_written() {
    let source = "__constant__ int factor[2] = {3, 4};
        extern \"C\" __global__ void times(int* x) { x[threadIdx.x] *= factor[threadIdx.x % 2]; }";
    for device in gpus().iter().filter(|device| is_real(device)) {
        for emit in [Emit::Ptx, Emit::Cubin] {
            let program = Program::new(source).expression("&factor").emit(emit);
            let module = device.nvrtc().module(&program).unwrap();
            let factor: Global<i32> = module.global("factor").unwrap();
            assert_eq!(factor.read().unwrap().await_result().unwrap(), [3, 4]);
            drop(factor.write([5, 6]).unwrap());
            let times = module.kernel("times").unwrap();
            // SAFETY: two threads, two elements.
            let x = unsafe { times.launch(LaunchConfig::new(1, 2), (up(device, [10i32, 10]),)) }.unwrap();
            drop(factor.write([0, 0]).unwrap());
            let (x,) = x.into_output().downcast::<DeviceBuffer<i32>>().unwrap();
            assert_eq!(down(device, &x), [50, 60]);
        }
    }
}

#[test]
fn blocks_that_sync_across_the_grid_run_together() {
    // Every block waits until all have come; without a cooperative launch this may never end.
    let source = "extern \"C\" __global__ void meet(unsigned* count, unsigned* seen) {
            if (threadIdx.x == 0) {
                atomicAdd(count, 1u);
                while (atomicAdd(count, 0u) < gridDim.x) {}
                seen[blockIdx.x] = atomicAdd(count, 0u);
            }
        }";
    for device in gpus().iter().filter(|device| is_real(device)) {
        let meet = device.nvrtc().module(&Program::new(source)).unwrap().kernel("meet").unwrap();
        let blocks = device.info().processors;
        let args = (up(device, [0u32]), device.zeros::<u32>(blocks as usize).unwrap());
        // SAFETY: an element for each block; all blocks fit on the device, one on each multiprocessor.
        let met = unsafe { meet.launch(LaunchConfig::new(blocks, 64).cooperative(), args) }.unwrap();
        let (_, seen) = met.await_result().unwrap().downcast::<(DeviceBuffer<u32>, DeviceBuffer<u32>)>().unwrap();
        assert_eq!(down(device, &seen), vec![blocks; blocks as usize]);
    }
}

#[test]
fn blocks_of_a_cluster_know_their_place_in_it() {
    let source = "extern \"C\" __global__ void place(unsigned* rank) {
            unsigned at;
            asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(at));
            if (threadIdx.x == 0) rank[blockIdx.x] = at;
        }";
    for device in gpus().iter().filter(|device| is_real(device)) {
        if device.info().compute_capability.is_none_or(|(major, _)| major < 9) {
            eprintln!("SKIPPED: no clusters before compute capability 9.0");
            continue;
        }
        let place = device.nvrtc().module(&Program::new(source)).unwrap().kernel("place").unwrap();
        // SAFETY: an element for each block.
        let ranks = unsafe { place.launch(LaunchConfig::new(8, 32).cluster(4), (up(device, [9u32; 8]),)) }.unwrap();
        let (ranks,) = ranks.await_result().unwrap().downcast::<DeviceBuffer<u32>>().unwrap();
        assert_eq!(down(device, &ranks), [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}

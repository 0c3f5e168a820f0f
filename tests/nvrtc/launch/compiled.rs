//! Kernels that are compiled when the test runs: where NVRTC and a GPU are. Elsewhere each test says that it was skipped.

use crate::common::fatbin::fatbin;
use crate::common::{devices, down, is_host, refused, up};
use std::io::Write as _;
use std::time::Duration;
use windlass::nvrtc::{
    CompileOptions, Compiler, Emit, Global, ImageKind, LaunchConfig, Len, Link, Plain, Source, Write,
};
use windlass::{Device, DeviceBuffer, Error, nvrtc::Image};

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
        let module = device.nvrtc().module(&Source::new(ADD).name("add.cu")).unwrap();
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
            let module = device.nvrtc().module(&Source::new(ADD).options(options)).unwrap();
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
    let program = Source::new(source).expression("fill<float>").expression("fill<double>");
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
        let cubin = nvrtc.compile(&Source::new(ADD).emit(Emit::Cubin)).unwrap();
        assert_eq!(cubin.kind(), ImageKind::Cubin);
        let mut images = vec![cubin];
        let lto = nvrtc.compile(&Source::new(ADD).emit(Emit::LtoIr)).unwrap();
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
                assert!(argument.starts_with("argument 1") && reason.contains("8 bytes"), "{reason}");
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
            let program = Source::new(source).expression("&factor").emit(emit);
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
        let meet = device.nvrtc().module(&Source::new(source)).unwrap().kernel("meet").unwrap();
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
        let place = device.nvrtc().module(&Source::new(source)).unwrap().kernel("place").unwrap();
        // SAFETY: an element for each block.
        let ranks = unsafe { place.launch(LaunchConfig::new(8, 32).cluster(4), (up(device, [9u32; 8]),)) }.unwrap();
        let (ranks,) = ranks.await_result().unwrap().downcast::<DeviceBuffer<u32>>().unwrap();
        assert_eq!(down(device, &ranks), [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}

#[test]
fn a_fatbin_and_a_file_are_loaded_and_launched() {
    for device in gpus().iter().filter(|device| is_real(device)) {
        let nvrtc = device.nvrtc();
        let (cubin, (major, minor)) = (Source::new(ADD).emit(Emit::Cubin), device.info().compute_capability.unwrap());
        let cubin = nvrtc.compile(&cubin).unwrap();
        let fat = Image::from_bytes(fatbin(&[(cubin.bytes(), major * 10 + minor)])).unwrap();
        assert_eq!((fat.kind(), fat.arch()), (ImageKind::Fatbin, None));
        let mut images = vec![fat.clone()];
        for image in [&nvrtc.compile(&Source::new(ADD)).unwrap(), &cubin, &fat] {
            let name = format!("windlass-{}-{:?}.bin", std::process::id(), image.kind());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, image.bytes()).unwrap();
            let read = Image::from_file(&path);
            std::fs::remove_file(&path).unwrap();
            images.push(read.unwrap());
            assert_eq!(images.last().unwrap().kind(), image.kind());
        }
        for image in &images {
            let kernel = nvrtc.load(image).unwrap().kernel("add_one_f32").unwrap();
            // SAFETY: the source is above.
            let kernel = unsafe { kernel.typed::<(Write<f32>, Len)>() }.unwrap();
            let x = kernel.launch(LaunchConfig::new(1, 32), (up(device, [1f32, 2.0]), Len)).unwrap().into_output();
            assert_eq!(down(device, &x), [2.0, 3.0], "{image:?}");
        }
    }
}

#[test]
fn attributes_are_what_the_source_says_and_limits_are_kept_to_the_byte() {
    let source = "__constant__ float factors[250];
        extern \"C\" __global__ void __launch_bounds__(256) tile(float* x, const int* at) {
            __shared__ float s[256];
            extern __shared__ float more[];
            float own[256];
            for (int i = 0; i < at[4]; ++i) own[at[i] & 255] = x[i];
            own[at[0] & 255] += 1.0f;
            s[threadIdx.x] = own[at[1] & 255] * factors[at[2]];
            __syncthreads();
            x[threadIdx.x] = s[255 - threadIdx.x] + (at[3] > 0 ? more[at[3]] : 0.0f);
        }";
    for device in gpus().iter().filter(|device| is_real(device)) {
        let (major, minor) = device.info().compute_capability.unwrap();
        // Its constants stay, because they are asked for.
        let program = Source::new(source).expression("&factors").emit(Emit::Cubin);
        let tile = device.nvrtc().module(&program).unwrap().kernel("tile").unwrap();
        let attributes = tile.attributes().unwrap();
        println!("{attributes:?}");
        // From compute capability 9.0 on the system keeps 1 KiB of a block's shared memory, which some releases count.
        assert!([1024, 2048].contains(&attributes.shared_bytes), "{attributes:?}");
        assert_eq!(attributes.constant_bytes, 1000, "{attributes:?}");
        assert!((1024..1280).contains(&attributes.local_bytes), "{attributes:?}");
        assert!(attributes.registers > 0 && attributes.max_threads >= 256, "{attributes:?}");
        let number = major * 10 + minor;
        assert_eq!((attributes.ptx_version, attributes.binary_version), (number, number), "{attributes:?}");

        let at = up(device, [5i32, 5, 7, 0, 5]);
        let launch = |threads: u32, shared: u32| {
            let config = LaunchConfig::new(1, threads).shared(shared);
            // SAFETY: an element for each thread; none of the places is past its array.
            unsafe { tile.launch(config, (up(device, [1f32; 1024]), &at)) }
        };
        let most = attributes.max_threads;
        launch(256, 0).unwrap().await_result().unwrap();
        let (argument, reason) = refused(&launch(most + 1, 0).map(drop).unwrap_err().error);
        assert!(argument == "block" && reason.contains(&most.to_string()), "{reason}");
        // The most dynamic shared memory is what the device has, less the kernel's own.
        let reason = refused(&launch(32, u32::MAX).map(drop).unwrap_err().error).1;
        let of_device: u32 =
            reason.split("the device has ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let most = of_device - attributes.shared_bytes;
        launch(32, most).unwrap().await_result().unwrap();
        let (argument, reason) = refused(&launch(32, most + 1).map(drop).unwrap_err().error);
        assert!(argument == "shared" && reason.contains(&(most + 1).to_string()), "{reason}");

        let best = tile.best_block(0).unwrap();
        assert!(best.is_multiple_of(32) && (32..=attributes.max_threads).contains(&best), "{best}");
        assert!(tile.active_blocks(best, 0).unwrap() >= 1);
        assert_eq!(tile.active_blocks(32, most).unwrap(), 1);
        let config = tile.config_for_elements(100_001).unwrap();
        assert_eq!(config.block().x, best);
        assert_eq!(config.grid().x, 100_001u32.div_ceil(best));
    }
}

#[test]
fn a_variable_larger_than_a_piece_of_staging_is_written_and_read_whole() {
    // Up to 8 MiB go in pieces of 512 KiB, more in pieces of 8 MiB.
    let source = "__device__ unsigned some[300001]; __device__ unsigned many[2500001];
        extern \"C\" __global__ void sums(unsigned long long* x) {
            atomicAdd(x, (unsigned long long)some[blockIdx.x * blockDim.x + threadIdx.x]);
        }";
    for device in gpus().iter().filter(|device| is_real(device)) {
        let program = Source::new(source).expression("&some").expression("&many");
        let module = device.nvrtc().module(&program).unwrap();
        for (name, len) in [("some", 300_001u32), ("many", 2_500_001)] {
            let variable: Global<u32> = module.global(name).unwrap();
            assert_eq!(variable.len(), len as usize);
            let data: Vec<u32> = (0..len).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            drop(variable.write(&data[..]).unwrap());
            assert!(variable.read().unwrap().await_result().unwrap() == data, "{name}");
        }
        let data: u64 = (0..299_008u32).map(|i| u64::from(i.wrapping_mul(2_654_435_761))).sum();
        // SAFETY: 299008 threads, each with an element of `some`.
        let x = unsafe { module.kernel("sums").unwrap().launch(LaunchConfig::new(292, 1024), (up(device, [0u64]),)) };
        let (x,) = x.unwrap().into_output().downcast::<DeviceBuffer<u64>>().unwrap();
        assert_eq!(down(device, &x), [data]);
    }
}

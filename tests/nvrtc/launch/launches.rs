//! What a launch computes.

use super::kernels::{Mix, add_one, axpb, sixteen, turn_blocks, where_am_i};
use crate::common::{builders, devices, down, seeds, up};
use std::sync::{Arc, Mutex};
use windlass::nvrtc::{Arg, Args, DevicePtr, Dim3, LaunchConfig, Len, Plain};
use windlass::tensor::Layout;
use windlass::{
    DType, DeviceBuffer,
    trace::{OpInfo, Trace},
};

/// What `axpb` gives, in plain Rust.
fn plain(x: &[f32], a: f32, b: f32) -> Vec<f32> {
    x.iter().map(|x| a.mul_add(*x, b)).collect()
}

#[test]
fn a_kernel_writes_what_it_says_and_its_buffers_come_back() {
    for device in devices() {
        let kernel = axpb(&device);
        for n in [1usize, 255, 256, 257, 10_000] {
            let x: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
            let (source, target) = (up(&device, x.clone()), up(&device, vec![0f32; n]));
            let config = LaunchConfig::for_elements(n).unwrap();
            // SAFETY: both buffers have `n` elements.
            let pending = unsafe { kernel.launch(config, (&source, target, n, 2.0f32, -1.0f32)) }.unwrap();
            let written = pending.await_result().unwrap();
            assert_eq!((written.len(), written[0].dtype(), written[0].len()), (1, DType::F32, n));
            let (target,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
            assert_eq!(down(&device, &target), plain(&x, 2.0, -1.0));
            assert_eq!(down(&device, &source), x);
        }
    }
}

#[test]
fn what_the_kernel_writes_all_of_may_be_a_buffer_that_was_never_written() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0, 3.0]).share());
        let config = LaunchConfig::for_elements(3).unwrap();
        let args = (&x, Arg::out(device.uninit::<f32>(3).unwrap().into_buffer()), 3usize, 1.0f32, 0.5f32);
        // SAFETY: both have three elements, and all three are written.
        let written = unsafe { kernel.launch(config, args) }.unwrap().into_output();
        let (y,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [1.5, 2.5, 3.5]);
    }
}

#[test]
fn views_are_read_and_written_where_they_lie() {
    for device in devices() {
        let kernel = axpb(&device);
        let x = up(&device, (0..10).map(|i| i as f32).collect::<Vec<_>>());
        let y = up(&device, vec![-1.0f32; 10]).narrow(4..7).unwrap();
        let config = LaunchConfig::for_elements(3).unwrap();
        // SAFETY: both windows have three elements.
        let pending =
            unsafe { kernel.launch(config, (x.as_in().slice(2..5).unwrap(), y, 3usize, 10.0f32, 0.0f32)) }.unwrap();
        let (y,) = pending.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [20.0, 30.0, 40.0]);
        assert_eq!(down(&device, &y.widen()), [-1., -1., -1., -1., 20., 30., 40., -1., -1., -1.]);
    }
}

/// A tensor in row-major order is an argument as its elements are, wherever they lie in its buffer.
#[test]
fn tensors_are_read_and_written_where_they_lie() {
    for device in devices() {
        let kernel = axpb(&device);
        let x = device.tensor([5, 2], (0..10).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let rows = x.slice((1..3, ..)).unwrap();
        let y = device.full([2, 2], -1.0f32).unwrap();
        let config = LaunchConfig::for_elements(4).unwrap();
        // SAFETY: both have four elements.
        let pending = unsafe { kernel.launch(config, (&rows, y, Len, 10.0f32, 0.0f32)) }.unwrap();
        let (y,) = pending.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [20.0, 30.0, 40.0, 50.0]);
        // Work in flight, an axis of one with any stride, and a signature.
        let sum = device.contiguous(&rows).unwrap();
        let column = x.slice((2.., ..1)).unwrap();
        let one = column.slice((..1, ..)).unwrap().transpose();
        // SAFETY: as above; then one element each.
        unsafe {
            drop(kernel.launch(config, (&sum, device.zeros::<f32>([4]).unwrap(), Len, 1.0f32, 0.0f32)).unwrap());
            let y = device.zeros::<f32>([]).unwrap();
            let pending = kernel.launch(config, (&one, y, Len, 1.0f32, 0.0f32)).unwrap();
            let (y,) = pending.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
            assert_eq!(down(&device, &y), [4.0]);
        }
        let written = add_one(&device).launch(config, (sum, Len)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &written), [3.0, 4.0, 5.0, 6.0]);
        let none = device.zeros::<f32>([0, 3]).unwrap().with_layout(Layout::column_major([0, 3]).unwrap()).unwrap();
        assert!(add_one(&device).launch(config, (none, Len)).unwrap().await_result().unwrap().is_empty());
    }
}

#[test]
fn sixteen_arguments_of_eleven_types_arrive_in_their_order() {
    for device in devices() {
        let kernel = sixteen(&device);
        seeds(3, |rng, _| {
            let n = 1 + (rng.next() % 700) as usize;
            let mut numbers = |most: u64| (0..n).map(|_| rng.next() % most).collect::<Vec<_>>();
            let f: Vec<f32> = numbers(1000).iter().map(|x| *x as f32 / 8.0).collect();
            let d: Vec<f64> = numbers(1 << 30).iter().map(|x| *x as f64 / 16.0).collect();
            let i4: Vec<i32> = numbers(1 << 31).iter().map(|x| (*x as u32).cast_signed()).collect();
            let u1: Vec<u8> = numbers(256).iter().map(|x| *x as u8).collect();
            let u8s: Vec<u64> = numbers(1 << 40);
            let i2: Vec<i16> = numbers(1 << 16).iter().map(|x| (*x as u16).cast_signed()).collect();
            let sum: Vec<f64> = numbers(100).iter().map(|x| *x as f64).collect();
            let (sf, sd, s1, s2, s8) = (0.5f32, -3.25f64, -7i8, 60_000u16, -(1i64 << 40));
            let mix = Mix { a: 3_000_000_000, b: 0.125, c: [1, 2, 3, 200] };
            let want: Vec<f64> = (0..n)
                .map(|i| {
                    // All are multiples of 1/16 below 2^43, so every sum is exact in whatever order.
                    let buffers = f64::from(f[i]) + d[i] + f64::from(i4[i]) + f64::from(u1[i]) + u8s[i] as f64;
                    let scalars = f64::from(sf) + sd + f64::from(s1) + f64::from(s2) + s8 as f64;
                    sum[i] + buffers + f64::from(i2[i]) + scalars + 3_000_000_000.125 + 200.0 + 1.0
                })
                .collect();
            let (f, d, i4) = (up(&device, f), up(&device, d).share(), up(&device, i4));
            let (u1, u8s, i2) = (up(&device, u1), up(&device, u8s), up(&device, i2).share());
            let (sum, index) = (up(&device, sum), device.uninit::<u32>(n).unwrap());
            let args = (
                &f,
                &d,
                &i4,
                u1.as_in(),
                &u8s,
                &i2,
                sum,
                Arg::out(index.into_buffer()),
                sf,
                sd,
                s1,
                s2,
                s8,
                Plain(mix),
                n,
                DevicePtr(64),
            );
            let config = LaunchConfig::for_elements_in_blocks(n, 128).unwrap();
            // SAFETY: all buffers have `n` elements; the pointer is compared and not followed.
            let written = unsafe { kernel.launch(config, args) }.unwrap().await_result().unwrap();
            let (sum, index) = written.downcast::<(DeviceBuffer<f64>, DeviceBuffer<u32>)>().unwrap();
            assert_eq!(down(&device, &sum), want);
            assert_eq!(down(&device, &index), (0..n as u32).collect::<Vec<_>>());
        });
    }
}

#[test]
fn arguments_can_be_passed_one_by_one() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let buffers = Args::new().arg(&x).arg(up(&device, [0.0f32; 2]));
        let args = [3.0f32, 0.0].into_iter().fold(buffers.arg(2usize), Args::arg);
        assert_eq!(args.len(), 5);
        // SAFETY: both have two elements.
        let written = unsafe { kernel.launch(LaunchConfig::new(1, 2), args) }.unwrap().await_result().unwrap();
        let (y,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [3.0, 6.0]);
    }
}

#[test]
fn every_thread_of_three_dimensions_runs_once_and_knows_its_place() {
    for device in devices() {
        let kernel = where_am_i(&device);
        for (grid, block) in
            [((3, 2, 2), (4, 5, 3)), ((1, 1, 1), (1, 1, 64)), ((7, 1, 1), (1024, 1, 1)), ((1, 3, 1), (2, 1, 1))]
        {
            let (grid, block) = (Dim3::from(grid), Dim3::from(block));
            let (w, h, d) = (grid.x * block.x, grid.y * block.y, grid.z * block.z);
            let out = up(&device, vec![u32::MAX; (w * h * d) as usize]);
            // SAFETY: an element for each thread.
            let written = unsafe { kernel.launch(LaunchConfig::new(grid, block), (out,)) }.unwrap().await_result();
            let (out,) = written.unwrap().downcast::<DeviceBuffer<u32>>().unwrap();
            let want: Vec<u32> =
                (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z << 20) | (y << 10) | x))).collect();
            assert_eq!(down(&device, &out), want, "{grid} of {block}");
        }
    }
}

#[test]
fn dynamic_shared_memory_goes_past_48_kib() {
    for device in devices() {
        let kernel = turn_blocks(&device);
        // 16 floats of a tile for each thread.
        for (threads, n) in [(32u32, 40usize), (1024, 3000)] {
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let want: Vec<f32> = (0..n)
                .map(|i| {
                    let (block, next) = (i / threads as usize, (i + 1) % threads as usize);
                    x.get(block * threads as usize + next).copied().unwrap_or(0.0)
                })
                .collect();
            let config = LaunchConfig::for_elements_in_blocks(n, threads).unwrap().shared(threads * 64);
            let (source, target) = (up(&device, x), device.zeros::<f32>(n).unwrap());
            // SAFETY: both have `n` elements, and the tile has its 64 bytes for each thread.
            let written = unsafe { kernel.launch(config, (&source, target, n)) }.unwrap().await_result().unwrap();
            let (target,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
            assert_eq!(down(&device, &target), want, "{threads} threads, {} bytes", threads * 64);
        }
    }
}

#[test]
fn a_priority_changes_nothing_of_what_comes_out() {
    for device in devices() {
        let (urgent, least) = device.nvrtc().priorities().unwrap();
        assert!(urgent <= least);
        let kernel = add_one(&device);
        let mut x = device.zeros::<f32>(100).unwrap().into_buffer();
        for priority in [urgent, least] {
            let config = LaunchConfig::for_elements(100).unwrap().priority(priority);
            x = kernel.launch(config, (x, Len)).unwrap().into_output();
        }
        assert_eq!(down(&device, &x), [2.0; 100]);
    }
}

#[test]
fn a_launch_can_be_timed_and_is_counted() {
    for device in devices() {
        let kernel = add_one(&device).on(&device.timed()).unwrap();
        let before = device.stats().dispatches;
        let x = device.zeros::<f32>(1000).unwrap();
        let launches = device.stats().dispatches;
        let timed = kernel.launch(LaunchConfig::for_elements(1000).unwrap(), (x, Len)).unwrap().await_timed().unwrap();
        assert_eq!(device.stats().dispatches - launches, 1);
        assert!(timed.device.is_some() && device.stats().dispatches > before);
        assert_eq!(down(&device, &timed.output), [1.0; 1000]);
    }
}

/// Keeps what it is told when work is submitted.
#[derive(Default)]
struct Seen(Mutex<Vec<OpInfo>>);

impl Trace for Seen {
    fn before_enqueue(&self, op: &OpInfo) {
        self.0.lock().unwrap().push(*op);
    }
}

#[test]
fn a_trace_is_told_the_kernel_and_the_types_of_its_buffers() {
    for builder in builders() {
        let seen = Arc::new(Seen::default());
        let device = builder.trace(seen.clone()).open().unwrap();
        let (axpb, x) = (axpb(&device), up(&device, vec![1f32; 100]));
        let y = up(&device, vec![1f32; 50]);
        seen.0.lock().unwrap().clear();
        // SAFETY: fifty elements are there.
        let pending = unsafe { axpb.launch(LaunchConfig::new(1, 64), (&x, y, 50usize, 1f32, 1f32)) };
        drop(pending.unwrap().await_result().unwrap());
        let seen = seen.0.lock().unwrap().clone();
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!((seen[0].op, seen[0].library, seen[0].kernel), ("launch", "nvrtc", Some("axpb_f32")));
        assert_eq!((seen[0].reads, seen[0].writes, seen[0].bytes), (&[DType::F32][..], &[DType::F32][..], 600));
    }
}

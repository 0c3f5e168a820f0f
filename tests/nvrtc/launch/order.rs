//! Launches among the other operations on their buffers, from one thread and from many.

use super::kernels::{add_one, axpb};
use crate::common::{devices, down, seeds, up};
use windlass::DeviceBuffer;
use windlass::nvrtc::{LaunchConfig, Len};

#[test]
fn launches_and_other_operations_on_one_buffer_follow_each_other() {
    for device in devices() {
        let (kernel, n) = (add_one(&device), 5000usize);
        let config = LaunchConfig::for_elements(n).unwrap();
        seeds(4, |rng, _| {
            let mut want = vec![0f32; n];
            let mut x = device.zeros::<f32>(n).unwrap().into_buffer();
            let ones = up(&device, vec![1.0f32; n]).share();
            let mut reads = Vec::new();
            for _ in 0..60 {
                match rng.below(5) {
                    0 | 1 => {
                        x = kernel.launch(config, (x, Len)).unwrap().into_output();
                        want.iter_mut().for_each(|w| *w += 1.0);
                    }
                    2 => {
                        x = device.blas().axpy(2.0, &ones, x).unwrap().into_buffer();
                        want.iter_mut().for_each(|w| *w += 2.0);
                    }
                    3 => {
                        let value = rng.below(9) as f32;
                        x = device.fill(x, value).unwrap().into_buffer();
                        want.fill(value);
                    }
                    _ => reads.push((device.download(&x).unwrap(), want.clone())),
                }
            }
            assert_eq!(down(&device, &x), want);
            for (read, want) in reads {
                assert_eq!(read.await_result().unwrap(), want);
            }
        });
    }
}

#[test]
fn a_reader_follows_the_writer_and_the_next_writer_follows_the_reader() {
    for device in devices() {
        let (axpb, n) = (axpb(&device), 20_000usize);
        let config = LaunchConfig::for_elements(n).unwrap();
        let mut x = up(&device, vec![1.0f32; n]);
        let mut y = up(&device, vec![0.0f32; n]);
        // y = 2 x, then x = y + 1, and so on: each reads what the other has written.
        for _ in 0..10 {
            // SAFETY: both have `n` elements.
            let written = unsafe { axpb.launch(config, (&x, y, n, 2.0f32, 0.0f32)) }.unwrap().into_output();
            (y,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
            // SAFETY: as above.
            let written = unsafe { axpb.launch(config, (&y, x, n, 1.0f32, 1.0f32)) }.unwrap().into_output();
            (x,) = written.downcast::<DeviceBuffer<f32>>().unwrap();
        }
        let want = (0..10).fold(1.0f32, |x, _| 2.0 * x + 1.0);
        assert_eq!(down(&device, &x), vec![want; n]);
    }
}

#[test]
fn clones_of_a_kernel_are_launched_from_many_threads_at_once() {
    for device in devices() {
        let kernel = add_one(&device);
        let config = LaunchConfig::for_elements(300).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (kernel, device) = (kernel.clone(), &device);
                scope.spawn(move || {
                    let mut x = device.zeros::<f32>(300).unwrap().into_buffer();
                    for _ in 0..100 {
                        x = kernel.launch(config, (x, Len)).unwrap().into_output();
                    }
                    assert_eq!(down(device, &x), [100.0; 300]);
                });
            }
        });
    }
}

#[test]
fn a_launch_that_fails_leaves_its_verdict_to_what_reads_its_output() {
    // On the host, where a twin can be made to fail: on a GPU it is a fault.
    let device = crate::common::host(2).open().unwrap();
    let kernel = add_one(&device);
    let x = device.zeros::<f32>(4).unwrap();
    // SAFETY: the twin looks at the bounds, and is all there is.
    let pending = unsafe { kernel.kernel().launch(LaunchConfig::new(1, 32), (x, 5usize)) }.unwrap();
    let (x,) = pending.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
    let error = device.download(&x).unwrap().await_result().map(drop).unwrap_err();
    assert!(matches!(error, windlass::Error::Upstream { .. }), "{error}");
    let x = device.fill(x, 1.0).unwrap().into_output();
    assert_eq!(down(&device, &x), [1.0; 4]);
}

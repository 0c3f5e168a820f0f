//! Typed kernels: what they take, and what they give back.

use super::kernels::{Axpb, Mix, Sixteen, axpb, sixteen};
use crate::common::{devices, down, refused, up};
use windlass::nvrtc::{DevicePtr, LaunchConfig, Len, Out, Read, Signature, TypedKernel, Write};
use windlass::{DeviceBuffer, Error, GpuRef, Kernel, Module, nvrtc::Image};

#[test]
fn handles_go_between_threads_and_are_cloned() {
    fn goes<T: Send + Sync + Clone + 'static>() {}
    goes::<Kernel>();
    goes::<TypedKernel<Sixteen>>();
    goes::<Module>();
    goes::<windlass::nvrtc::Compiler>();
    goes::<Image>();
    fn lent<T: Send + Sync + 'static>() {}
    lent::<windlass::nvrtc::Global<f32>>();
    lent::<windlass::nvrtc::PendingCompile>();
}

#[test]
fn a_typed_launch_is_safe_and_gives_typed_buffers() {
    for device in devices() {
        // SAFETY: the kernel's parameters; it stays below the length.
        let kernel = unsafe { axpb(&device).typed::<Axpb>() }.unwrap();
        let x: GpuRef<f32> = up(&device, [1.0f32, 2.0, 3.0]).share();
        let y = up(&device, [0.0f32; 3]);
        let y: DeviceBuffer<f32> =
            kernel.launch(LaunchConfig::new(1, 3), (&x, y, Len, 2.0, 1.0)).unwrap().into_output();
        assert_eq!(down(&device, &y), [3.0, 5.0, 7.0]);
        let z = kernel.launch(LaunchConfig::new(1, 3), (y.as_in(), device.zeros(3).unwrap(), Len, 1.0, 1.0));
        assert_eq!(down(&device, &z.unwrap().await_result().unwrap()), [4.0, 6.0, 8.0]);
    }
}

#[test]
fn several_written_buffers_come_back_as_a_tuple_in_order() {
    for device in devices() {
        // SAFETY: the kernel's parameters; it stays below the length; the pointer is compared and not followed.
        let kernel: TypedKernel<Sixteen> = unsafe { sixteen(&device).typed() }.unwrap();
        let (f, d, i4) = (up(&device, [1f32]), up(&device, [2f64]), up(&device, [3i32]));
        let (u1, u8s, i2) = (up(&device, [4u8]), up(&device, [5u64]), up(&device, [6i16]));
        let (sum, index) = (up(&device, [0f64]), up(&device, [9u32]));
        let mix = Mix { a: 7, b: 8.0, c: [0, 0, 0, 9] };
        let args = (&f, &d, &i4, &u1, &u8s, &i2, sum, index, 10.0, 11.0, 12, 13, 14, mix, Len, DevicePtr(1));
        let (sum, index): (DeviceBuffer<f64>, DeviceBuffer<u32>) =
            kernel.launch(LaunchConfig::new(1, 32), args).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &sum), [f64::from((1..=14).sum::<i32>()) + 1.0]);
        assert_eq!(down(&device, &index), [0]);
    }
}

#[test]
fn out_takes_a_buffer_that_was_never_written() {
    for device in devices() {
        type Filled = (Read<f32>, Out<f32>, Len, f32, f32);
        // SAFETY: the kernel's parameters; it writes all of the three elements.
        let kernel = unsafe { super::kernels::module(&device).kernel("axpb_f32").unwrap().typed::<Filled>() }.unwrap();
        let kernel = kernel
            .twin_fn(|at, (src, dst, n, a, b)| {
                if at.x() < n {
                    dst.set(at.x(), a * src.get(at.x()) + b);
                }
            })
            .unwrap();
        let x = up(&device, [1.0f32, 2.0, 3.0]);
        let fresh = device.uninit(3).unwrap();
        let y = kernel.launch(LaunchConfig::new(1, 32), (&x, fresh, Len, 3.0, 0.0)).unwrap().into_output();
        assert_eq!(down(&device, &y), [3.0, 6.0, 9.0]);
    }
}

#[test]
fn no_parameters_are_a_signature_too() {
    fn is_signature<S: Signature>() {}
    is_signature::<()>();
    is_signature::<Sixteen>();
    for device in devices() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";
        let kernel = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap().kernel("empty").unwrap();
        // SAFETY: it does nothing.
        let kernel = unsafe { kernel.typed::<()>() }.unwrap().twin_fn(|_, ()| {}).unwrap();
        kernel.launch(LaunchConfig::new(4, 64), ()).unwrap().await_result().unwrap();
    }
}

#[test]
fn the_length_is_that_of_all_buffers_or_the_launch_is_refused() {
    for device in devices() {
        // SAFETY: the kernel's parameters; it stays below the length.
        let kernel = unsafe { axpb(&device).typed::<Axpb>() }.unwrap();
        let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [7.0f32; 3]));
        let rejected = kernel.launch(LaunchConfig::new(1, 32), (&x, y, Len, 1.0, 1.0)).unwrap_err();
        let (argument, reason) = refused(&rejected.error);
        assert!(argument == "argument 1" && reason.contains("3 elements") && reason.contains('4'), "{reason}");
        assert_eq!(rejected.error.site().unwrap().op(), Some("launch"));
        let (y,) = rejected.back.unwrap();
        let three = x.as_in().slice(1..4).unwrap();
        let y = kernel.launch(LaunchConfig::new(1, 32), (three, y, Len, 1.0, 1.0)).unwrap().into_output();
        assert_eq!(down(&device, &y), [2.0; 3]);
        // Without a signature as well.
        // SAFETY: all have four elements.
        let written =
            unsafe { kernel.kernel().launch(LaunchConfig::new(1, 4), (&x, up(&device, [0f32; 4]), Len, 3f32, 0f32)) };
        let (y,) = written.unwrap().into_output().downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [3.0; 4]);
        // SAFETY: refused.
        let none = unsafe { kernel.kernel().launch(LaunchConfig::new(1, 4), (Len, Len, Len, 3f32, 0f32)) };
        assert_eq!(refused(&none.map(drop).unwrap_err().error).0, "args");
    }
}

#[test]
fn a_check_that_was_declared_with_the_signature_decides_over_every_launch() {
    for device in devices() {
        type Part = (Read<f32>, Write<f32>, usize, f32, f32);
        let kernel = super::kernels::module(&device).kernel("axpb_f32").unwrap();
        let check = |config: &LaunchConfig, (x, y, n, a, _): (usize, usize, usize, f32, f32)| {
            let fits = n <= x && n <= y && a > 0.0 && config.block().x == 32;
            if fits { Ok(()) } else { Err(Error::invalid("n", format!("{n} of {x} and {y}"))) }
        };
        // SAFETY: the kernel's parameters; it stays below `n`, and that below both lengths.
        let kernel = unsafe { kernel.typed_if::<Part>(check) }.unwrap();
        let kernel = kernel
            .twin_fn(|at, (x, y, n, a, b)| {
                if at.x() < n {
                    y.set(at.x(), a * x.get(at.x()) + b)
                }
            })
            .unwrap();
        let (x, y) = (up(&device, [1.0f32; 4]), up(&device, [7.0f32; 3]));
        let rejected = kernel.launch(LaunchConfig::new(1, 32), (&x, y, 4, 2.0, 0.0)).unwrap_err();
        assert_eq!(refused(&rejected.error), ("n".into(), "4 of 4 and 3".into()));
        let rejected =
            kernel.launch(LaunchConfig::new(1, 64), (&x, rejected.back.unwrap().0, 2, 2.0, 0.0)).unwrap_err();
        let y = kernel.launch(LaunchConfig::new(1, 32), (&x, rejected.back.unwrap().0, 2, 2.0, 0.0));
        assert_eq!(down(&device, &y.unwrap().into_output()), [2.0, 2.0, 7.0]);
    }
}

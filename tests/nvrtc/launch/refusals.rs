//! What is refused before anything is launched: a typed error that names the argument and both values, the buffers
//! back, and the device as it was.

use super::kernels::{Mix, add_one, axpb, module, sixteen};
use crate::common::{assert_back_at, devices, down, holdings, host, is_host, refused, up};
use windlass::nvrtc::{Arg, Args, DevicePtr, LaunchConfig, Len, Plain, Write};
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, Rejected, Submitted, Tensor, nvrtc::Image, op::AnyBuffers};

fn one() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

/// The buffers of a refused launch, and why it was.
#[track_caller]
fn back<B>(answer: Result<B, Rejected<AnyBuffers>>) -> (Error, AnyBuffers) {
    let Err(rejected) = answer else { panic!("it was launched") };
    assert_eq!(rejected.error.site().expect("a place").op(), Some("launch"), "{}", rejected.error);
    (rejected.error, rejected.back.expect("the buffers come back"))
}

/// Asserts that a launch is refused because of `argument` with a reason that holds all of `values`, and that the one
/// buffer it was to write comes back as it was.
#[track_caller]
fn assert_refused(device: &Device, answer: Submitted<AnyBuffers>, argument: &str, values: &[&str]) {
    let (error, buffers) = back(answer);
    let (name, reason) = refused(&error);
    assert_eq!(name, argument, "{error}");
    assert!(values.iter().all(|value| reason.contains(value)), "{reason:?} does not name {values:?}");
    let (y,) = buffers.downcast::<DeviceBuffer<f32>>().unwrap();
    assert_eq!(down(device, &y), [7.0, 8.0]);
}

/// The device does what it should.
#[track_caller]
fn assert_healthy(device: &Device) {
    let x = device.zeros::<f32>(10).unwrap();
    let x = add_one(device).launch(LaunchConfig::for_elements(10).unwrap(), (x, Len)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &x), [1.0; 10]);
    assert_eq!(device.health().phase, windlass::health::Phase::Healthy);
}

#[test]
fn too_few_and_too_many_arguments_are_refused() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let y = || up(&device, [7.0f32, 8.0]);
        // SAFETY: refused.
        unsafe {
            let none = kernel.launch(one(), ()).map(drop).unwrap_err().error;
            assert_eq!(refused(&none), ("args".into(), "0 arguments, but `axpb_f32` has 5 parameters".into()));
            let few = kernel.launch(one(), (&x, y(), 2usize, 1.0f32));
            assert_refused(&device, few, "args", &["4 arguments", "5 parameters", "axpb_f32"]);
            let many = kernel.launch(one(), (&x, y(), 2usize, 1.0f32, 1.0f32, 1.0f32));
            assert_refused(&device, many, "args", &["6 arguments", "5 parameters"]);
        }
        assert_healthy(&device);
    }
}

#[test]
fn tensors_that_are_not_in_row_major_order_are_refused() {
    for device in devices() {
        let kernel = axpb(&device);
        let x = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let y = || up(&device, [7.0f32, 8.0]);
        let views = [
            x.transpose(),
            x.slice((.., ..1)).unwrap(),
            x.flip(1).unwrap(),
            x.index(0, 0).unwrap().broadcast([3, 2]).unwrap(),
        ];
        for view in &views {
            // SAFETY: refused.
            let answer = unsafe { kernel.launch(one(), (view, y(), Len, 1.0f32, 1.0f32)) };
            assert_refused(&device, answer, "argument 0", &["row-major", "`contiguous`"]);
        }
        let written = Tensor::from(y()).with_layout(Layout::new([2], [-1], 1).unwrap()).unwrap();
        // SAFETY: refused.
        let answer = unsafe { kernel.launch(one(), (&x, written, Len, 1.0f32, 1.0f32)) };
        assert_refused(&device, answer, "argument 1", &["strides [-1]", "`contiguous`"]);
        // With a signature, too.
        let written = Tensor::from(y()).with_layout(Layout::new([2], [-1], 1).unwrap()).unwrap();
        let rejected = add_one(&device).launch(one(), (written, Len)).map(drop).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "argument 0");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0, 8.0]);
        assert_healthy(&device);
    }
}

#[test]
fn arguments_of_another_size_or_kind_or_order_are_refused() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let y = || up(&device, [7.0f32, 8.0]);
        // SAFETY: refused.
        unsafe {
            let narrow = kernel.launch(one(), (&x, y(), 2u32, 1.0f32, 1.0f32));
            assert_refused(&device, narrow, "argument 2", &["u32", "4 bytes", "8 bytes"]);
            let wide = kernel.launch(one(), (&x, y(), 2usize, 1.0f64, 1.0f32));
            assert_refused(&device, wide, "argument 3", &["f64", "8 bytes", "4 bytes"]);
            let swapped = kernel.launch(one(), (&x, y(), 1.0f32, 2usize, 1.0f32));
            assert_refused(&device, swapped, "argument 2", &["f32", "4 bytes", "8 bytes"]);
            // As large as it should be, and of another kind.
            let integer = kernel.launch(one(), (&x, y(), 2usize, 1.0f32, 1i32));
            assert_refused(&device, integer, "argument 4", &["i32", "float"]);
            let float = kernel.launch(one(), (&x, y(), 2.0f64, 1.0f32, 1.0f32));
            assert_refused(&device, float, "argument 2", &["f64", "integer"]);
            let structure = kernel.launch(one(), (&x, y(), Plain(Mix::default()), 1.0f32, 1.0f32));
            assert_refused(&device, structure, "argument 2", &["12 bytes", "8 bytes"]);
        }
        assert_healthy(&device);
    }
}

#[test]
fn a_struct_of_another_size_is_refused() {
    for device in devices() {
        let kernel = sixteen(&device);
        let (f, d, i4) = (up(&device, [1f32]), up(&device, [1f64]), up(&device, [1i32]));
        let (u1, u8s, i2) = (up(&device, [1u8]), up(&device, [1u64]), up(&device, [1i16]));
        let first = |sum, index| Args::new().arg(&f).arg(&d).arg(&i4).arg(&u1).arg(&u8s).arg(&i2).arg(sum).arg(index);
        let (sum, index) = (up(&device, [3f64]), up(&device, [4u32]));
        let middle = first(sum, index).arg(1f32).arg(1f64).arg(1i8).arg(1u16).arg(1i64);
        let args = middle.arg(Plain([1u32; 4])).arg(1usize).arg(DevicePtr(0));
        // SAFETY: refused.
        let (error, buffers) = back(unsafe { kernel.launch(one(), args) });
        let (name, reason) = refused(&error);
        assert_eq!(name, "argument 13");
        assert!(reason.contains("16 bytes") && reason.contains("12 bytes"), "{reason}");
        let (sum, index) = buffers.downcast::<(DeviceBuffer<f64>, DeviceBuffer<u32>)>().unwrap();
        assert_eq!((down(&device, &sum), down(&device, &index)), (vec![3.0], vec![4]));
    }
}

#[test]
fn grids_and_blocks_that_are_empty_or_too_large_are_refused() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        device.synchronize(std::time::Duration::from_secs(60)).unwrap();
        let base = holdings(&device);
        let dispatches = device.stats().dispatches;
        let cases: &[(LaunchConfig, &str, &[&str])] = &[
            (LaunchConfig::new(0, 32), "grid", &["x is 0"]),
            (LaunchConfig::new((1, 0), 32), "grid", &["y is 0"]),
            (LaunchConfig::new(1, (32, 1, 0)), "block", &["z is 0"]),
            (LaunchConfig::new(1, 1025), "block", &["1025", "1024"]),
            (LaunchConfig::new(1, (1, 1, 65)), "block", &["65", "64"]),
            (LaunchConfig::new(1, (32, 32, 2)), "block", &["2048", "1024"]),
            (LaunchConfig::new(1 << 31, 32), "grid", &["2147483648", "2147483647"]),
            (LaunchConfig::new((1, 65536), 32), "grid", &["65536", "65535"]),
            (LaunchConfig::new((1, 1, u32::MAX), 32), "grid", &["4294967295", "65535"]),
        ];
        let count = cases.len() as u64;
        for (config, argument, values) in cases {
            let y = up(&device, [7.0f32, 8.0]);
            // SAFETY: refused.
            let answer = unsafe { kernel.launch(*config, (&x, y, 2usize, 1.0f32, 1.0f32)) };
            assert_refused(&device, answer, argument, values);
        }
        assert_eq!(device.stats().dispatches, dispatches + 2 * count, "an upload and a download each, and no launch");
        assert_back_at(&device, base);
        assert_healthy(&device);
    }
}

#[test]
fn too_much_shared_memory_is_refused_with_what_there_is() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let config = LaunchConfig::new(1, 32).shared(1 << 20);
        let y = up(&device, [7.0f32, 8.0]);
        // SAFETY: refused.
        let answer = unsafe { kernel.launch(config, (&x, y, 2usize, 1.0f32, 1.0f32)) };
        assert_refused(&device, answer, "shared", &["1048576", "axpb_f32"]);
        assert_healthy(&device);
    }
}

#[test]
fn clusters_and_priorities_that_cannot_be_are_refused() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let (urgent, least) = device.nvrtc().priorities().unwrap();
        let launch = |config| {
            // SAFETY: refused.
            unsafe { kernel.launch(config, (&x, up(&device, [7.0f32, 8.0]), 2usize, 1.0f32, 1.0f32)) }
        };
        for priority in [urgent - 1, least + 1, i32::MAX, i32::MIN] {
            let (config, asked) = (one().priority(priority), priority.to_string());
            assert_refused(&device, launch(config), "priority", &[&asked, &urgent.to_string(), &least.to_string()]);
        }
        let (error, _) = back(launch(one().cluster(16)));
        if !matches!(error, Error::Unsupported { .. }) {
            assert_refused(&device, launch(one().cluster(16)), "cluster", &["16", "8"]);
            assert_refused(&device, launch(one().cluster((0, 1))), "cluster", &["0"]);
            let config = LaunchConfig::new((6, 4), 32).cluster((4, 2));
            assert_refused(&device, launch(config), "cluster", &["4 x 2 x 1", "6 x 4 x 1"]);
        }
        assert_healthy(&device);
    }
}

#[test]
fn a_kernel_without_code_and_twin_is_unsupported_on_the_host_and_says_so() {
    let device = host(1).open().unwrap();
    let kernel = device.nvrtc().twins().kernel("add_one_f32").unwrap();
    let x = up(&device, [7.0f32, 8.0]);
    // SAFETY: refused.
    let (error, buffers) = back(unsafe { kernel.launch(one(), (x, 2usize)) });
    assert!(
        matches!(&error, Error::Unsupported { reason, .. } if reason.contains("twin") && reason.contains("add_one_f32")),
        "{error}"
    );
    let (x,) = buffers.downcast::<DeviceBuffer<f32>>().unwrap();
    assert_eq!(down(&device, &x), [7.0, 8.0]);
    assert!(matches!(kernel.attributes(), Err(Error::Unsupported { .. })));
    assert!(matches!(kernel.active_blocks(32, 0), Err(Error::Unsupported { .. })));
    assert_eq!(kernel.config_for_elements(257).unwrap(), LaunchConfig::new(2, 256));
}

#[test]
fn buffers_and_kernels_of_another_device_are_refused() {
    let others = [host(1).open().unwrap(), host(1).open().unwrap()];
    for device in devices() {
        let kernel = axpb(&device);
        for other in &others {
            let (ours, theirs) = (up(&device, [1.0f32, 2.0]), up(other, [1.0f32, 2.0]));
            let names = [device.name(), other.name()];
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            let y = up(&device, [7.0f32, 8.0]);
            // SAFETY: refused.
            let answer = unsafe { kernel.launch(one(), (&theirs, y, 2usize, 1.0f32, 1.0f32)) };
            assert_refused(&device, answer, "argument 0", &names);
            let y = up(other, [7.0f32, 8.0]);
            // SAFETY: refused.
            let answer = unsafe { kernel.launch(one(), (&ours, y, 2usize, 1.0f32, 1.0f32)) };
            assert_refused(other, answer, "argument 1", &names);
            let error = kernel.on(other).unwrap_err();
            let (argument, reason) = refused(&error);
            assert!(argument == "device" && names.iter().all(|name| reason.contains(name)), "{error}");
        }
        assert_healthy(&device);
    }
}

#[test]
fn a_buffer_that_was_never_written_is_refused_unless_all_of_it_will_be() {
    for device in devices() {
        let (kernel, x) = (axpb(&device), up(&device, [1.0f32, 2.0]));
        let fresh = || device.uninit::<f32>(2).unwrap();
        // SAFETY: refused.
        let (error, _) = back(unsafe { kernel.launch(one(), (&x, fresh(), 2usize, 1.0f32, 1.0f32)) });
        assert_eq!(refused(&error).0, "argument 1");
        // SAFETY: refused.
        let (error, _) =
            back(unsafe { kernel.launch(one(), (&fresh(), Arg::out(fresh().into_buffer()), 2usize, 1.0f32, 1.0f32)) });
        assert_eq!(refused(&error).0, "argument 0");
        // SAFETY: both elements are written.
        let written =
            unsafe { kernel.launch(one(), (&x, Arg::out(fresh().into_buffer()), 2usize, 1.0f32, 1.0f32)) }.unwrap();
        let (y,) = written.into_output().downcast::<DeviceBuffer<f32>>().unwrap();
        assert_eq!(down(&device, &y), [2.0, 3.0]);
    }
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
    for device in devices() {
        let error = module(&device).kernel("axpb_f64").unwrap_err();
        let (argument, reason) = refused(&error);
        assert_eq!(argument, "name");
        assert!(
            reason.contains("`axpb_f64`") && reason.contains("`axpb_f32`") && reason.contains("`sixteen`"),
            "{reason}"
        );
        assert_eq!(refused(&module(&device).kernel("").unwrap_err()).0, "name");
        assert_eq!(refused(&module(&device).kernel("add\0one").unwrap_err()).0, "name");
        assert_healthy(&device);
    }
}

#[test]
fn signatures_that_do_not_fit_are_refused_when_they_are_declared() {
    for device in devices() {
        let kernel = module(&device).kernel("add_one_f32").unwrap();
        // SAFETY: refused.
        let error = unsafe { kernel.typed::<(Write<f32>, u32)>() }.map(drop).unwrap_err();
        let (argument, reason) = refused(&error);
        assert!(argument == "argument 1" && reason.contains("u32") && reason.contains("8 bytes"), "{error}");
        // SAFETY: refused.
        let error = unsafe { kernel.typed::<(Write<f32>,)>() }.map(drop).unwrap_err();
        assert_eq!(refused(&error).1, "1 arguments, but `add_one_f32` has 2 parameters");
        let error = kernel.twin_fn::<(f32, usize)>(|_, _| {}).unwrap_err();
        assert_eq!(refused(&error).0, "argument 0");
        // An address is an address to the kernel; what it points at is for the signature and the twin to agree on.
        let twin = kernel.twin_fn::<(Write<f64>, usize)>(|_, _| {}).unwrap();
        // SAFETY: refused.
        let error = unsafe { twin.typed::<(Write<f32>, Len)>() }.map(drop).unwrap_err();
        assert_eq!(refused(&error).0, "S");
    }
}

#[test]
fn ptx_that_the_driver_refuses_is_a_compile_error_with_its_log() {
    for device in devices().iter().filter(|device| !is_host(device)) {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry broken() { mov.nonsense; ret; }\n";
        let module = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap();
        let error = module.load().unwrap_err();
        assert!(matches!(&error, Error::Compile { log, .. } if log.contains("PTX") || log.contains("ptx")), "{error}");
        assert!(module.kernel("broken").is_err());
        assert_healthy(device);
    }
}

#[test]
fn lto_ir_is_for_the_linker() {
    for device in devices() {
        let mut bytes = vec![0u8; 64];
        bytes[..4].copy_from_slice(&[0xed, 0x43, 0x4e, 0x7f]);
        let error = device.nvrtc().load(&Image::from_bytes(bytes).unwrap()).unwrap_err();
        assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("link")), "{error}");
    }
}

#[test]
fn twins_alone_are_for_the_host() {
    for device in devices() {
        let module = device.nvrtc().twins();
        assert!(module.image().is_none() && module.program().is_none());
        match module.kernel("any") {
            Ok(kernel) => assert!(is_host(&device) && kernel.name() == "any"),
            Err(error) => assert!(matches!(error, Error::Unsupported { .. }) && !is_host(&device), "{error}"),
        }
    }
}

#[test]
fn more_than_any_kernel_takes_is_refused() {
    for device in devices() {
        let kernel = axpb(&device);
        let y = up(&device, [7.0f32, 8.0]);
        let huge = (0..70_000).fold(Args::new().arg(y), |args, _| args.arg(1u64));
        // SAFETY: refused.
        assert_refused(&device, unsafe { kernel.launch(one(), huge) }, "args", &["560008", "32764"]);
        // SAFETY: refused.
        let answer = unsafe { kernel.launch(one(), (up(&device, [7.0f32, 8.0]), Plain([0u64; 4096]))) };
        assert_refused(&device, answer, "args", &["32776", "32764"]);
    }
}

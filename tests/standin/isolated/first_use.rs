//! What a GPU's libraries make at their first use: it takes long, is no hang for the watchdog, and can be had ahead of time.

use super::{LONG, calls, inside, isolated, standin};
use crate::common::child::this_test;
use crate::common::{Deed, InPlace, columns, down, up};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use windlass::tensor::Layout;
use windlass::{
    Device, Error, Matmul, Result,
    health::Phase,
    nvrtc::Image,
    op::{Enqueue, Wire},
};

const LIMIT: Duration = Duration::from_secs(5);

/// Calls of the function stop in the worker, for so many milliseconds.
#[derive(Serialize, Deserialize)]
struct Hold(String, u64);

impl Deed for Hold {
    const NAME: &'static str = "hold";
    type Element = u8;

    fn cuda(&self, _: &mut Enqueue<'_, InPlace<Self>>) -> Result<()> {
        let (held, time) = (standin::driver().hold(&self.0), Duration::from_millis(self.1));
        std::thread::spawn(move || {
            std::thread::sleep(time);
            drop(held);
        });
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

fn hold(device: &Device, function: &str, time: Duration) {
    let hold = Hold(function.into(), time.as_millis() as u64);
    drop(
        device.dispatch(InPlace(hold), (), (device.zeros(1).unwrap().into_buffer(),)).unwrap().await_result().unwrap(),
    );
}

/// Uses it for the first time, and waits in another thread for what comes of it.
fn multiply(device: &Device, fused: bool) {
    let (a, c) = (up(device, [1.0f32, 2.0, 3.0, 4.0]), device.zeros::<f32>(4).unwrap());
    let c = if fused {
        let (a, c) = (columns(&a, 2, 2), c.with_layout(Layout::columns(2, 2)).unwrap());
        device.blas_lt().matmul(Matmul::new(), &a, &a, c).unwrap().into_buffer()
    } else {
        device.blas().axpy(1.0, &a, c).unwrap().into_buffer()
    };
    let product = std::thread::scope(|scope| scope.spawn(|| down(device, &c)).join().unwrap());
    assert_eq!(product, if fused { [7.0, 10.0, 15.0, 22.0] } else { [1.0, 2.0, 3.0, 4.0] });
}

#[test]
#[ignore = "timed: `.ci/deep timed`, for the worker lives by the system's clock"]
fn the_first_use_of_a_library_is_no_hang_for_the_watchdog() {
    inside(&this_test!(), &[], || {
        const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry endless() { ret; }\n";
        for function in ["cublasCreate", "cublasLtCreate", "cuModuleLoadDataEx"] {
            let device = isolated().watchdog(LIMIT).open().unwrap();
            let start = Instant::now();
            hold(&device, function, 2 * LIMIT + Duration::from_secs(1));
            match function {
                "cublasCreate" => multiply(&device, false),
                "cublasLtCreate" => multiply(&device, true),
                _ => device.nvrtc().load(&Image::ptx(PTX).unwrap()).unwrap().load().unwrap(),
            }
            assert!(start.elapsed() > 2 * LIMIT, "{function} was not held: {:?}", start.elapsed());
            assert_eq!(device.stats().faults, 0, "{function}: {:?}", device.stats().last_fault);
        }
    });
}

#[test]
fn a_driver_that_hangs_in_what_is_no_first_use_is_seen_by_the_watchdog() {
    inside(&this_test!(), &[], || {
        let device = isolated().watchdog(LIMIT).open().unwrap();
        // The order that made the handle is over, and with it what is left out.
        multiply(&device, false);
        hold(&device, "cuMemcpyDtoDAsync", 30 * LIMIT);
        let (x, y) = (up(&device, [1u8]), device.zeros(1).unwrap());
        let error = device.copy(&x, y).unwrap().await_timeout(LONG).expect("it hangs").unwrap_err().error;
        assert!(
            matches!(&error, Error::ContextPoisoned { cause, .. } if cause.contains("submitting an order")),
            "{error}"
        );
        assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
    });
}

#[test]
fn warming_makes_the_handles_of_a_gpu_in_a_worker() {
    inside(&this_test!(), &[], || {
        let device = isolated().slots(3).open().unwrap();
        let made = || (calls(&device, "cublasCreate"), calls(&device, "cublasLtCreate"));
        assert_eq!(made(), (0, 0));
        device.blas().warm().unwrap();
        assert_eq!(made(), (3, 0));
        device.blas_lt().warm().unwrap();
        assert_eq!(made(), (3, 3));
        device.blas().warm().unwrap();
        multiply(&device, false);
        multiply(&device, true);
        assert_eq!(made(), (3, 3));
    });
}

#[test]
fn warming_a_gpu_in_a_worker_says_what_the_library_refused() {
    let test = &this_test!();
    inside(test, &[("WINDLASS_STANDIN_FAIL", "cublasCreate:0:14")], || {
        let device = isolated().open().unwrap();
        let error = device.blas().warm().unwrap_err();
        assert!(matches!(&error, Error::LibraryError { message, .. } if message.contains("cublasCreate")), "{error}");
        device.blas().warm().unwrap();
        assert_eq!(device.stats().faults, 0);
    });
}

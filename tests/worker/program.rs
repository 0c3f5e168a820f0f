//! The crate's own worker program, for programs that cannot be their own: it knows the library's operations.
//!
//! That it knows all of them is seen by running the suites over it:
//! `WINDLASS_TEST_DEVICE=host:isolated WINDLASS_WORKER=$PWD/target/debug/windlass-worker cargo test`. It is built by
//! `cargo build --features worker-program --bin windlass-worker`.

use crate::common;

use common::{Deed, InPlace, columns, down, host, into_columns, up};
use serde::{Deserialize, Serialize};
use windlass::nvrtc::{LaunchConfig, Write};
use windlass::{Error, Gemm, Matmul, Result, blas, op::Wire};

/// An operation of one's own.
#[derive(Serialize, Deserialize)]
struct Own;

impl Deed for Own {
    const NAME: &'static str = "own";
    type Element = f64;
    fn host(&self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

#[test]
#[ignore = "needs the program of this same source: `.ci/deep isolated` builds it first"]
fn the_crates_own_program_knows_the_librarys_operations_and_no_others() {
    // It lies beside the folder of this program.
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("windlass-worker");
    let device = host(2).isolated().worker_program(program).open().unwrap();
    let (blas, lt) = (device.blas(), device.blas_lt());
    let a = up(&device, [1.0f32, 3.0, 2.0, 4.0]);
    let (of_a, c) = (columns(&a, 2, 2), into_columns(device.uninit(4).unwrap().into_buffer(), 2, 2));
    let c = blas.gemm(Gemm::new(), &of_a, &of_a, c).unwrap().into_buffer();
    let c = device.fill(c.narrow(0..1).unwrap(), 8.0).unwrap().into_buffer().widen();
    let c = blas.axpy(1.0, &a, blas.scal(2.0, c).unwrap().into_buffer()).unwrap().into_buffer();
    assert_eq!(down(&device, &device.duplicate(&c).unwrap().into_output()), [17.0, 33.0, 22.0, 48.0]);
    assert_eq!(blas.dot(&a, &a).unwrap().await_result().unwrap(), 30.0);
    let x = up(&device, [1.0f32, 10.0]);
    let y = blas.gemv(blas::Gemv::new(), &of_a, &x, device.uninit(2).unwrap()).unwrap().into_output();
    assert_eq!(down(&device, &y), [21.0, 43.0]);
    let (a_1, d) = (columns(&a, 2, 2), device.uninit::<f32>([2, 2]).unwrap());
    let d = lt.matmul(Matmul::new(), &a_1, &a_1, d).unwrap().into_output();
    assert_eq!(down(&device, &d), [7.0, 10.0, 15.0, 22.0]);
    let error = device
        .dispatch(InPlace(Own), (), (device.zeros(1).unwrap().into_buffer(),))
        .unwrap()
        .await_result()
        .unwrap_err()
        .error;
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("worker::init")), "{error}");
    let twin = device.nvrtc().twin_fn::<(Write<f32>,)>("one", |_, (x,)| x.set(0, 1.0)).unwrap();
    let rejected = twin.launch(LaunchConfig::new(1, 1), (up(&device, [7.0f32]),)).unwrap_err();
    let (error, (x,)) = (rejected.error, rejected.back.unwrap());
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("worker::init")), "{error}");
    assert_eq!((down(&device, &x), device.stats().faults), (vec![7.0], 0));
}

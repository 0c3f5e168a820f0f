//! Every driver call of a program fails once: a typed error or success, never a wrong answer, a panic or a leak.

use crate::common;
mod one_call;
use crate::standin;
mod sweep;

use common::{columns, into_columns};
use standin::{launch, session};
use std::time::Duration;
use windlass::managed::{Advice, PagePlace};
use windlass::{Device, Error, Gemm, Rejected, Result};

const LIMIT: Duration = Duration::from_secs(60);

fn open() -> Result<Device> {
    Device::builder().cuda(0).slots(2).open()
}

/// What a failed submission of an operation owes: the buffers.
fn keep<B>(rejected: Rejected<B>) -> Error {
    assert!(rejected.back.is_some(), "the buffers did not come back after {}", rejected.error);
    rejected.error
}

/// Waits with a limit: a failure must not make anything hang.
fn wait<O: windlass::op::Output, V>(pending: windlass::PendingDispatch<O, V>) -> Result<O>
where
    Rejected<windlass::op::Bufs<O>>: Into<Error>,
{
    match pending.await_timeout(LIMIT) {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => panic!("hung"),
    }
}

/// A bit of everything. Whatever is answered is right.
fn program(device: &Device) -> Vec<Result<()>> {
    let vectors = || -> Result<()> {
        let x = device.upload(vec![1.0f64, 2.0, 3.0, 4.0])?.into_output();
        let y = device.zeros::<f64>(4)?;
        let y = wait(device.blas().axpy(2.0, &x, y).map_err(keep)?)?;
        assert_eq!(wait(device.blas().dot(&x, &y)?)?, 60.0);
        assert_eq!(wait(device.blas().nrm2(x.as_in().slice(2..4)?)?)?, 5.0);
        assert_eq!(wait(device.download(&y)?)?, [2.0, 4.0, 6.0, 8.0]);
        Ok(())
    };
    let matrices = || -> Result<()> {
        let a = device.upload([1.0f32, 3.0, 2.0, 4.0])?.into_output();
        let (a, c) = (columns(&a, 2, 2), into_columns(device.uninit(4)?.into_buffer(), 2, 2));
        let c = device.blas().gemm(Gemm::new(), &a, &a, c).map_err(keep)?.into_output();
        let copy = device.duplicate(c.buffer())?.into_output();
        drop(c);
        assert_eq!(wait(device.download(&copy)?)?, [7.0, 15.0, 10.0, 22.0]);
        Ok(())
    };
    let parts = || -> Result<()> {
        let (left, right) = device.zeros::<u16>(8)?.into_buffer().split_at(4)?;
        let left = device.fill(left, 3).map_err(keep)?.into_output();
        let right = device.fill(right, 0x0102).map_err(keep)?.into_output();
        let all = left.into_buffer().join(right.into_buffer())?;
        let [three, other] = [3u16, 0x0102];
        assert_eq!(wait(device.download(&all)?)?, [three, three, three, three, other, other, other, other]);
        Ok(())
    };
    let rest = || -> Result<()> {
        let x = device.upload([1.0f32, 2.0])?.into_output();
        let timed = device.timed().dispatch(standin::Launch::of(c"add_one_f32"), (), (x,)).map_err(keep)?;
        let x = timed.await_timed()?.output;
        let blocking = device.waiting(windlass::Wait::Block).download(&x)?;
        assert_eq!(blocking.await_result()?, [2.0, 3.0]);
        device.memory()?;
        device.synchronize(LIMIT)
    };
    let managed = || -> Result<()> {
        let mut x = device.managed::<f32>(4)?;
        x.host_mut()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        let slice = x.host()?;
        assert_eq!((wait(device.blas().dot(&x, &x)?)?, &*slice), (30.0, &[1.0, 2.0, 3.0, 4.0][..]));
        drop(slice);
        x.prefetch(PagePlace::Device)?;
        let mut x = wait(device.blas().scal(2.0, x).map_err(keep)?)?.into_buffer();
        x.advise(Advice::NotReadMostly)?;
        assert_eq!(*x.host()?, [2.0, 4.0, 6.0, 8.0]);
        Ok(())
    };
    let growing = || -> Result<()> {
        let mut x = device.growing::<u8>([3], 1 << 20)?;
        x.grow(200_000)?;
        let x = wait(device.fill(x.into_buffer().narrow(3..5)?, 7).map_err(keep)?)?.into_buffer();
        let mut x = x.widen();
        x.shrink(199_998)?;
        x.grow(1)?;
        assert_eq!(wait(device.download(&x)?)?, [0, 0, 0, 7, 7, 0]);
        Ok(())
    };
    vec![vectors(), matrices(), parts(), managed(), growing(), rest()]
}

/// Everything answers again, rightly.
fn assert_works(device: &Device) {
    for answer in program(device) {
        answer.expect("nothing fails any more");
    }
}

#[test]
fn a_library_handle_that_finds_no_memory_is_made_after_the_ladder() {
    let driver = session();
    for status in [1, 3] {
        driver.reset();
        let device = open().unwrap();
        driver.fail("cublasCreate", 0, status);
        assert_works(&device);
        assert_eq!(driver.failed(), 1);
        assert!(driver.calls_of("cuMemPoolTrimTo") > 0, "the pool may hold what the library wants");
        drop(device);
        driver.assert_finished();
    }
    for (call, code) in [("cublasCreate", 14), ("cublasSetStream", 1), ("cublasSetWorkspace", 7)] {
        driver.reset();
        driver.set_total_memory(256 << 20); // room for several workspaces
        let device = Device::builder().cuda(0).slots(1).open().unwrap();
        let x = common::up(&device, [1.0f32; 4]);
        driver.fail(call, 0, code);
        let first = device.blas().dot(&x, &x).and_then(wait);
        assert!(first.is_err() || code == 1, "{call}: {first:?}");
        assert_eq!(driver.failed(), 1);
        assert_works(&device);
        drop((x, device));
        driver.assert_finished();
    }
}

#[test]
fn a_device_that_cannot_be_opened_leaves_nothing_and_can_be_opened_later() {
    let driver = session();
    let calls =
        [("cuStreamCreate", 1), ("cuDevicePrimaryCtxRetain", 0), ("cuMemPoolSetAttribute", 1), ("cuCtxSetCurrent", 0)];
    for (call, nth) in calls {
        driver.reset();
        driver.fail(call, nth, 2);
        let error = open().map(drop).expect_err(call);
        assert!(matches!(error, Error::OutOfMemory { .. }), "{call}: {error:?}");
        driver.assert_finished();
        assert_works(&open().unwrap());
        driver.assert_finished();
    }
}

#[test]
fn a_pool_that_may_not_be_exported_is_a_plain_one() {
    let driver = session();
    driver.log(true);
    driver.fail("cuMemPoolCreate", 0, 801);
    let device = open().expect("a plain pool will do");
    let pools: Vec<String> = driver.take_log().into_iter().filter(|l| l.starts_with("cuMemPoolCreate")).collect();
    assert!(pools[0].ends_with("-> 801") && pools[1].contains("handles 0"), "{pools:?}");
    assert_works(&device);
    let x = launch(&device, c"add_one_f32", common::up(&device, [1.0f32])).await_result().unwrap();
    assert_eq!(common::down(&device, &x), [2.0]);
    drop((x, device));
    driver.assert_finished();
}

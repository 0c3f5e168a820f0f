//! What a dispatch costs on the CUDA engine, call by call.

use crate::common;
mod memory;
mod silence;
use crate::standin;

use common::{down, up};
use standin::{Current, Driver, Mode, session};
use std::time::Duration;
use windlass::clock::Timing;
use windlass::{Device, DeviceBuffer, PendingHost};

const GET: &str = "cuCtxGetCurrent";
const STATE: &str = "cuDevicePrimaryCtxGetState";
const SET: &str = "cuCtxSetCurrent";
const AXPY: &str = "cublasAxpyEx_64";
const RECORD: &str = "cuEventRecord";
const WAIT: &str = "cuStreamWaitEvent";
const ALLOCATE: &str = "cuMemAllocFromPoolAsync";

/// A device whose housekeeping thread sleeps until it is woken, however long a test takes: looking by itself it would hold a
/// slot's lease now and then, and a dispatch would go to another slot.
fn device(slots: usize) -> Device {
    let mut timing = Timing::default();
    timing.sweeps.doze = Duration::from_secs(3600);
    Device::builder().cuda(0).slots(slots).timing(timing).open().expect("the stand-in opens")
}

/// A sum that the housekeeping thread is not told of, so that it stays asleep: its verdict is kept.
fn axpy(verdicts: &mut Verdicts, device: &Device, x: &DeviceBuffer<f32>, y: DeviceBuffer<f32>) -> DeviceBuffer<f32> {
    let ((y,), verdict) = device.blas().axpy(1.0, x, y).expect("an addition").into_parts();
    verdicts.push(verdict);
    y.into_buffer()
}

type Verdicts = Vec<PendingHost<()>>;

/// Uses every slot until nothing has to be made any more.
fn warm(driver: &Driver, device: &Device) {
    let wanted = device.stats().slots as u64;
    let x = up(device, vec![1.0f32; 8]);
    for _ in 0..50 {
        // While nothing completes, each buffer finds a slot of its own, and each dispatch needs an event.
        driver.mode(Mode::Manual);
        let many: Vec<_> = (0..wanted).map(|_| device.zeros::<f32>(8).unwrap()).collect();
        for y in many {
            let y = (0..40).fold(y, |y, _| device.blas().axpy(1.0, &x, y).unwrap().into_output());
            drop((device.blas().nrm2(&y).unwrap(), device.download(&y).unwrap()));
        }
        calm(driver);
        device.synchronize(Duration::from_secs(60)).unwrap();
        if device.stats().library_handles == wanted && device.stats().events >= 40 * wanted {
            break;
        }
    }
    drop(x);
    assert!(common::eventually(4, || device.stats().allocations == 0), "freed by nobody");
    calm(driver);
    assert_eq!(device.stats().library_handles, wanted);
    driver.mode(Mode::Auto);
}

/// Finishes everything and waits until the housekeeping thread sleeps.
fn calm(driver: &Driver) {
    driver.mode(Mode::Eager);
    driver.await_rest();
}

/// How many waits `f` put on the device, as the calls and the statistics have it.
fn waits_of<R>(driver: &Driver, device: &Device, f: impl FnOnce() -> R) -> (R, usize) {
    let before = device.stats().forced_waits;
    let (answer, calls) = driver.calls_in(f);
    let waits = calls.iter().filter(|call| *call == WAIT).count();
    assert_eq!(device.stats().forced_waits - before, waits as u64);
    (answer, waits)
}

#[test]
fn a_chained_call_is_a_look_at_the_context_the_library_call_and_one_record() {
    let (driver, mut verdicts) = (session(), Verdicts::new());
    let current = Current::of(0);
    let device = device(4);
    warm(&driver, &device);
    let (x, mut y) = (up(&device, vec![1.0f32; 8]), up(&device, vec![0.0f32; 8]));
    assert_eq!((down(&device, &x), down(&device, &y)), (vec![1.0; 8], vec![0.0; 8]));
    calm(&driver);
    y = axpy(&mut verdicts, &device, &x, y); // puts the pointer mode back, which a norm has changed
    calm(&driver);
    driver.mode(Mode::Manual); // nothing completes, as if the device were far behind
    for _ in 0..4 {
        let (next, calls) = driver.calls_in(|| axpy(&mut verdicts, &device, &x, y));
        assert_eq!(calls, [GET, STATE, AXPY, RECORD]);
        y = next;
    }
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [5.0; 8]);
    drop((x, y, device, current));
    driver.assert_finished();
}

#[test]
fn a_thread_without_a_context_gets_none_and_one_with_another_keeps_it() {
    let (driver, mut verdicts) = (session(), Verdicts::new());
    let device = device(1);
    let (x, y) = (up(&device, vec![1.0f32; 8]), up(&device, vec![0.0f32; 8]));
    let y = axpy(&mut verdicts, &device, &x, y);
    assert_eq!(down(&device, &y), [1.0; 8]);
    calm(&driver);
    assert_eq!(Current::now(), None);
    let (y, calls) = driver.calls_in(|| axpy(&mut verdicts, &device, &x, y));
    assert_eq!(calls, [GET, SET, AXPY, RECORD, SET]);
    let other = Current::of(1);
    let theirs = Current::now();
    let y = axpy(&mut verdicts, &device, &x, y);
    assert_eq!(down(&device, &y), [3.0; 8]);
    assert!(theirs.is_some() && Current::now() == theirs);
    drop((x, y, device, other));
    driver.assert_finished();
}

#[test]
fn a_thousand_chained_calls_make_nothing_and_ask_little() {
    let (driver, mut verdicts) = (session(), Verdicts::new());
    let current = Current::of(0);
    let device = device(4);
    warm(&driver, &device);
    let (x, y) = (up(&device, vec![1.0f32; 8]), up(&device, vec![0.0f32; 8]));
    calm(&driver);
    let y = (0..2000).fold(y, |y, _| axpy(&mut verdicts, &device, &x, y));
    calm(&driver);
    let chain = || (0..1000).fold(y, |y, _| axpy(&mut verdicts, &device, &x, y));
    let (y, calls) = driver.calls_in(chain);
    let count = |name: &str| calls.iter().filter(|call| *call == name).count();
    assert_eq!((count(AXPY), count(RECORD)), (1000, 1000));
    assert!(count("cuEventQuery") <= 80, "{} queries", count("cuEventQuery"));
    assert!(count(GET) == 1000 && count(STATE) <= 1000 + count("cuEventQuery"), "a query needs no current context");
    let known = [GET, STATE, AXPY, RECORD, "cuEventQuery"];
    let others: Vec<_> = calls.iter().filter(|call| !known.contains(&call.as_str())).collect();
    assert!(others.is_empty(), "also called {others:?}");
    assert_eq!(down(&device, &y)[0], 3000.0);
    drop((x, y, device, current));
    driver.assert_finished();
}

#[test]
fn a_wait_is_put_on_the_device_once_for_each_mark_and_never_for_work_known_to_be_over() {
    let (driver, mut verdicts) = (session(), Verdicts::new());
    let current = Current::of(0);
    let device = device(4);
    warm(&driver, &device);
    driver.mode(Mode::Manual);
    // While nothing completes, each finds a slot of its own.
    let ((x,), _one) = device.fill(device.uninit(8).unwrap(), 1.0).unwrap().into_parts();
    let ((y,), _two) = device.fill(device.uninit(8).unwrap(), 2.0).unwrap().into_parts();
    let (y, waits) = waits_of(&driver, &device, || axpy(&mut verdicts, &device, x.buffer(), y.into_buffer()));
    assert_eq!(waits, 1, "x was written on another slot");
    let (y, waits) = waits_of(&driver, &device, || {
        let y = axpy(&mut verdicts, &device, x.buffer(), y);
        axpy(&mut verdicts, &device, x.buffer(), y)
    });
    assert_eq!(waits, 0, "the slot waits for that already");
    let (pending, waits) = waits_of(&driver, &device, || device.fill(x, 3.0).unwrap());
    assert_eq!(waits, 1, "a writer follows the readers on another slot");
    driver.step(1000);
    assert!(common::eventually(5, || pending.is_ready()));
    let x = pending.into_output();
    let (y, waits) = waits_of(&driver, &device, || axpy(&mut verdicts, &device, x.buffer(), y));
    assert_eq!(waits, 0, "x is known to be complete");
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &y), [2.0 + 3.0 * 1.0 + 3.0; 8]);
    drop((x, y, device, current));
    driver.assert_finished();
}

#[test]
fn a_query_needs_no_current_context_where_the_driver_wants_none_and_has_one_where_it_does() {
    let driver = session();
    let device = device(1);
    warm(&driver, &device);
    driver.mode(Mode::Manual);
    let pending = device.fill(device.uninit::<f32>(4).unwrap(), 1.0).unwrap();
    let (ready, calls) = driver.calls_in(|| pending.is_ready());
    assert_eq!((ready, calls), (false, vec![STATE.to_string(), "cuEventQuery".into()]));
    driver.fail("cuEventQuery", 0, 201);
    let (ready, calls) = driver.calls_in(|| pending.is_ready());
    let wanted = [STATE, "cuEventQuery", GET, SET, "cuEventQuery", SET];
    assert_eq!((ready, calls), (false, wanted.map(String::from).to_vec()));
    assert_eq!(Current::now(), None);
    driver.mode(Mode::Eager);
    assert_eq!(down(&device, &pending.await_result().unwrap()), [1.0; 4]);
    drop(device);
    driver.assert_finished();
}

#[test]
fn a_scalar_is_copied_behind_the_work_and_a_download_needs_no_allocation() {
    let driver = session();
    let current = Current::of(0);
    let device = device(2);
    warm(&driver, &device);
    let x = up(&device, vec![2.0f32; 8]);
    assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 32.0);
    let (pending, calls) = driver.calls_in(|| device.blas().dot(&x, &x).unwrap());
    assert_eq!(calls, [GET, STATE, "cublasDotEx_64", "cuMemcpyDtoHAsync", RECORD]);
    assert_eq!(pending.await_result().unwrap(), 32.0);
    assert_eq!(down(&device, &x), [2.0; 8]);
    let (pending, calls) = driver.calls_in(|| device.download(&x).unwrap());
    let count = |name: &str| calls.iter().filter(|call| *call == name).count();
    assert_eq!((count("cuMemcpyDtoHAsync"), count("cuMemHostAlloc"), count("cuEventCreate")), (1, 0, 0), "{calls:?}");
    assert_eq!(pending.await_result().unwrap(), [2.0; 8]);
    drop((x, device, current));
    driver.assert_finished();
}

/// Modes go with the call: set where the handle is in another, and back for the next call that has others.
#[test]
fn a_mode_is_set_when_it_changes_and_does_not_stay_behind() {
    use windlass::{Gemm, blas::Math};
    let driver = session();
    let device = device(1);
    let x = device.full([2, 2], 1.0f32).unwrap();
    let (plain, tf32) = (device.blas(), device.blas().math(Math::Tf32));
    let modes = |blas: &windlass::Blas| {
        let c = device.zeros([2, 2]).unwrap();
        let (c, calls) = driver.calls_in(|| blas.gemm(Gemm::new(), &x, &x, c).unwrap().into_output());
        assert_eq!(down(&device, &c), [2.0; 4]);
        calls.into_iter().filter(|call| call.starts_with("cublasSet")).collect::<Vec<_>>()
    };
    modes(&plain);
    assert_eq!(modes(&plain), [""; 0]);
    assert_eq!(modes(&tf32), ["cublasSetMathMode"]);
    assert_eq!(modes(&tf32), [""; 0]);
    assert_eq!(modes(&tf32.clone().atomics(true)), ["cublasSetAtomicsMode"]);
    assert_eq!(modes(&tf32.clone().atomics(true).deterministic(true)), ["cublasSetAtomicsMode"]);
    assert_eq!(modes(&plain), ["cublasSetMathMode"]);
    assert_eq!(modes(&plain.clone().reduced_precision_reduction(false)), ["cublasSetMathMode"]);
    assert_eq!(modes(&plain), ["cublasSetMathMode"]);
    drop((x, plain, tf32, device));
    driver.assert_finished();
}

/// Every type of a product costs the same calls: one of the library, one look at the context, one record.
#[test]
fn a_product_of_halves_calls_no_more_than_any_other() {
    use windlass::{Gemm, bf16, f16};
    fn calls<T: windlass::blas::GemmElement<Out = T>>(driver: &Driver, device: &Device) -> Vec<String> {
        let blas = device.blas();
        let (x, c) = (device.zeros::<T>([2, 2]).unwrap(), device.zeros([2, 2]).unwrap());
        let c = blas.gemm(Gemm::new(), &x, &x, c).unwrap().into_output(); // its modes are set
        let (c, calls) = driver.calls_in(|| blas.gemm(Gemm::new(), &x, &x, c).unwrap().into_output());
        drop(c.share());
        calls
    }
    let driver = session();
    let current = Current::of(0);
    let device = device(1);
    warm(&driver, &device);
    driver.mode(Mode::Manual);
    let single = calls::<f32>(&driver, &device);
    assert_eq!(single, [GET, STATE, "cublasGemmEx_64", RECORD]);
    assert_eq!([calls::<f16>(&driver, &device), calls::<bf16>(&driver, &device)], [single.clone(), single]);
    drop((device, current));
    driver.assert_finished();
}

/// The stand-in lacks the typed routines of level 1, as an old library would.
#[test]
fn a_routine_that_the_library_lacks_is_named_and_nothing_is_lost() {
    use windlass::Error;
    let driver = session();
    let device = device(1);
    let (x, y) = (up(&device, vec![1.0f32; 4]), up(&device, vec![2.0f32; 4]));
    let error = device.blas().asum(&x).map(drop).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("cublasSasum_v2_64"), "{error}");
    let rejected = device.blas().swap(device.duplicate(&x).unwrap().into_output(), y).unwrap_err();
    assert!(rejected.error.to_string().contains("cublasSswap_v2_64"), "{rejected}");
    let (_, y) = rejected.back.unwrap();
    assert_eq!(down(&device, &y), [2.0; 4], "nothing was touched");
    let y = device.blas().axpy(1.0, &x, y).unwrap().await_result().unwrap().into_buffer();
    assert_eq!(down(&device, &y), [3.0; 4], "and everything goes on");
    drop((x, y, device));
    driver.assert_finished();
}

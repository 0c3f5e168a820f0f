//! Tables of addresses on the CUDA engine: written once for the same matrices, never changed under work that uses them,
//! bounded, counted, and given back.

use crate::common;
use crate::standin;

use common::{columns, down, into_columns, up};
use standin::{Current, Driver, Mode, session};
use std::sync::atomic::{AtomicBool, Ordering};
use windlass::blas::Triangular;
use windlass::tensor::Layout;
use windlass::{Device, DeviceBuffer, Error, Gemm, Side, Tensor, Uplo};

const MATINV: &str = "cublasDmatinvBatched";
const LAUNCH: &str = "cuLaunchKernel";
const ALLOCATE: &str = "cuMemAllocFromPoolAsync";
const FREE: &str = "cuMemFreeAsync";
const COPY: &str = "cuMemcpyHtoDAsync";
const PIN: &str = "cuMemHostAlloc";

/// One slot, so that every call finds the tables of those before.
fn device() -> Device {
    standin::device(1)
}

/// Matrices of one element and a place for their inverses, each in a buffer of its own.
struct Numbers {
    a: Vec<Tensor<f64>>,
    c: Vec<Tensor<f64>>,
    info: Tensor<i32>,
}

impl Numbers {
    fn new(device: &Device, values: impl IntoIterator<Item = u32>) -> Self {
        let one = |value| into_columns(up(device, [value]), 1, 1);
        let a: Vec<_> = values.into_iter().map(|value| one(f64::from(value))).collect();
        let c = a.iter().map(|_| one(0.0)).collect();
        let info = up(device, vec![7; a.len()]).into();
        Numbers { a, c, info }
    }

    /// Enqueues their inversion.
    fn invert(self, device: &Device) -> Self {
        let Numbers { a, c, info } = self;
        let (c, info) = device.blas().matinv_batched(&a, c, info).unwrap().into_output();
        Numbers { a, c, info }
    }

    #[track_caller]
    fn check(&self, device: &Device) {
        for (a, c) in self.a.iter().zip(&self.c) {
            assert_eq!(down(device, c)[0], 1.0 / down(device, a)[0]);
        }
        assert_eq!(down(device, &self.info), vec![0; self.a.len()]);
    }
}

/// What of the calls in `f` makes tables, or is the library's. Frees of what a test has dropped come when they come.
fn told<R>(driver: &Driver, f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let (answer, calls) = driver.calls_in(f);
    let quiet = |call: &String| ["cuCtx", "cuDevice", "cuEvent", FREE].iter().any(|quiet| call.starts_with(quiet));
    (answer, calls.into_iter().filter(|call| !quiet(call)).collect())
}

#[test]
fn a_second_call_with_the_same_matrices_writes_no_addresses() {
    let driver = session();
    let (current, device) = (Current::of(0), device());
    let numbers = Numbers::new(&device, 1..=5).invert(&device); // makes the handle and loads the kernels
    driver.mode(Mode::Eager);
    let (numbers, calls) = told(&driver, || numbers.invert(&device));
    assert_eq!(calls, [MATINV]);
    numbers.check(&device);
    assert_eq!(device.stats().table_bytes, 2 * 5 * 8);
    // Another list is another table, by one launch that brings it along.
    let others = Numbers::new(&device, 6..=8);
    let (others, calls) = told(&driver, || others.invert(&device));
    assert_eq!(calls, [ALLOCATE, LAUNCH, MATINV]);
    others.check(&device);
    let (numbers, calls) = told(&driver, || numbers.invert(&device));
    assert_eq!(calls, [MATINV], "the first one is still there");
    numbers.check(&device);
    // One matrix in another place is enough.
    let Numbers { mut a, c, info } = numbers;
    a[4] = into_columns(up(&device, [0.5]), 1, 1);
    let (numbers, calls) = told(&driver, || Numbers { a, c, info }.invert(&device));
    assert_eq!(calls, [ALLOCATE, LAUNCH, MATINV]);
    numbers.check(&device);
    drop((numbers, others, device, current));
    driver.assert_finished();
}

/// Parameters of a kernel hold so many; the others go through staging.
#[test]
fn any_number_of_addresses_arrives_whole() {
    let driver = session();
    let device = device();
    let kept = Numbers::new(&device, 1..=1).invert(&device);
    for count in [2, 30, 31, 32, 239, 240, 241, 700] {
        let numbers = Numbers::new(&device, 1..=count);
        driver.mode(Mode::Eager);
        let (numbers, calls) = told(&driver, || numbers.invert(&device));
        let copies = calls.iter().filter(|call| *call == COPY).count();
        assert_eq!((copies, copies + calls.iter().filter(|call| *call == LAUNCH).count()), ((count > 240).into(), 1));
        driver.mode(Mode::Auto);
        numbers.check(&device);
    }
    drop((kept, device));
    driver.assert_finished();
}

/// Addresses that no kernel's parameters hold go through pinned memory. To make that may wait for all that the GPU is
/// doing, so nobody's slot is held meanwhile.
#[test]
fn room_for_addresses_is_made_before_a_slot_is_leased() {
    let driver = session();
    // So little staging that it is made block by block.
    let device = Device::builder().cuda(0).slots(1).staging_limit(8 << 20).open().unwrap();
    let numbers = Numbers::new(&device, 1..=700);
    drop(Numbers::new(&device, 1..=1).invert(&device));
    driver.mode(Mode::Eager);
    let held = driver.hold(PIN);
    let done = AtomicBool::new(false);
    let numbers = std::thread::scope(|scope| {
        let before = driver.calls_of(PIN);
        let inverted = scope.spawn(|| told(&driver, || numbers.invert(&device)));
        assert!(common::eventually(20, || driver.calls_of(PIN) > before), "11 KiB are pinned");
        // The only slot: it is free for others.
        let other = scope.spawn(|| {
            drop(device.fill(device.uninit(4).unwrap(), 1.0f32).unwrap());
            done.store(true, Ordering::Relaxed);
        });
        let free = common::eventually(2, || done.load(Ordering::Relaxed));
        drop(held);
        other.join().unwrap();
        let (numbers, calls) = inverted.join().unwrap();
        assert_eq!(calls, [PIN, ALLOCATE, COPY, MATINV]);
        assert!(free, "the slot was held while pinned memory was made");
        numbers
    });
    numbers.check(&device);
    driver.await_rest();
    let (numbers, calls) = told(&driver, || numbers.invert(&device));
    assert_eq!(calls, [MATINV], "the room is there, and the table too");
    drop((numbers, device));
    driver.assert_finished();
}

/// What a call needs no room for does not fail for want of it; what needs it says what there is.
#[test]
fn a_kept_table_wants_no_room() {
    let driver = session();
    let limit = 64 << 10;
    let device = Device::builder().cuda(0).slots(1).staging_limit(limit).open().unwrap();
    let [numbers, others] = [1..=700, 2..=701].map(|values| Numbers::new(&device, values));
    let numbers = numbers.invert(&device);
    let data = device.zeros::<u8>(4096).unwrap();
    driver.mode(Mode::Eager);
    driver.await_rest(); // nobody has any of the staging
    // They have all that may be pinned.
    let all: Vec<_> = std::iter::from_fn(|| device.download(&data).ok()).take(100).collect();
    assert!(all.len() < 100);
    let (numbers, calls) = told(&driver, || numbers.invert(&device));
    assert_eq!(calls, [MATINV]);
    let Numbers { a, c, info } = others;
    let Err(rejected) = device.blas().matinv_batched(&a, c, info) else { panic!("it had room") };
    let Error::OutOfMemory { free, limit: told_limit, requested, .. } = rejected.error else { panic!("{rejected}") };
    assert_eq!((free, told_limit), (0, limit));
    assert!(requested >= 2 * 700 * 8, "{requested}");
    drop(all);
    numbers.check(&device);
    drop((a, data, numbers, device));
    driver.assert_finished();
}

/// What holds the staging is over in a moment: a call that wants some waits, as a transfer does.
#[test]
fn room_that_transfers_have_is_waited_for() {
    let driver = session();
    let limit = 64 << 10;
    let device = Device::builder().cuda(0).slots(1).staging_limit(limit).open().unwrap();
    let numbers = Numbers::new(&device, 1..=700);
    drop(Numbers::new(&device, 1..=1).invert(&device)); // makes the handle
    let data = device.zeros::<u8>(4096).unwrap();
    device.synchronize(common::LONG).unwrap();
    driver.mode(Mode::Manual);
    // As many as leave no 16 KiB.
    let uploads: Vec<_> = (0..limit / 4096).map(|_| up(&device, vec![1u8; 4096])).collect();
    let held = driver.calls();
    let numbers = std::thread::scope(|scope| {
        let inverted = scope.spawn(|| numbers.invert(&device));
        assert!(common::eventually(20, || driver.calls() > held + 100), "it looks again and again");
        driver.mode(Mode::Auto);
        driver.release();
        inverted.join().unwrap()
    });
    numbers.check(&device);
    drop((numbers, uploads, data, device));
    driver.assert_finished();
}

#[test]
fn matrices_at_even_distances_are_told_by_a_launch_and_remembered() {
    let driver = session();
    let (current, device) = (Current::of(0), device());
    let count = 1000;
    let values: Vec<f64> = (0..3 * count).map(|i| f64::from(i + 1)).collect();
    let (a, mut c, mut info) = (up(&device, values.clone()), up(&device, vec![0.0; 2000]), up(&device, vec![7; 1000]));
    let blas = device.blas();
    let invert = |count, stride: usize, c: DeviceBuffer<f64>, info: DeviceBuffer<i32>| {
        let one = Layout::columns(1, 1);
        let c = c.with_layout(one.batch(count, stride)).unwrap();
        let info = info.with_layout(Layout::row_major([count]).unwrap()).unwrap();
        let (c, info) = blas.matinv(a.view(one.batch(count, 3)).unwrap(), c, info).unwrap().into_output();
        (c.into_buffer(), info.into_buffer())
    };
    driver.mode(Mode::Eager);
    let mut wanted = vec![vec![ALLOCATE, LAUNCH, MATINV], vec![MATINV], vec![MATINV]].into_iter();
    drop(Numbers::new(&device, 1..=1).invert(&device));
    // Loads the kernel.
    drop(invert(1, 1, up(&device, [0.0]), up(&device, [1])));
    device.synchronize(common::LONG).unwrap();
    for calls in wanted.by_ref() {
        let ((new_c, new_info), log) = told(&driver, || invert(1000, 2, c, info));
        assert_eq!(log, calls);
        (c, info) = (new_c, new_info);
    }
    for (i, pair) in down(&device, &c).chunks(2).enumerate() {
        assert_eq!(pair, [1.0 / values[3 * i], 0.0]);
    }
    // The same begin with another distance or number is another table.
    for (count, stride) in [(1000, 1), (999, 2)] {
        let ((new_c, new_info), log) = told(&driver, || invert(count, stride, c, info));
        assert_eq!(log, [ALLOCATE, LAUNCH, MATINV]);
        (c, info) = (new_c, new_info);
    }
    drop((a, c, info, blas, device, current));
    driver.assert_finished();
}

/// More lists than a slot keeps tables of, all enqueued before the device begins: those that are pushed out are freed
/// behind the work that reads them, and every call finds its own addresses.
#[test]
fn a_table_that_is_pushed_out_lasts_as_long_as_the_work_that_reads_it() {
    let driver = session();
    let device = device();
    let warm = Numbers::new(&device, 1..=1).invert(&device);
    let many: Vec<_> = (0..50).map(|i| Numbers::new(&device, (1..=3).map(|j| 10 * i + j))).collect();
    device.synchronize(std::time::Duration::from_secs(60)).unwrap();
    driver.mode(Mode::Manual);
    let mut many: Vec<_> = many.into_iter().map(|numbers| numbers.invert(&device)).collect();
    many = many.into_iter().map(|numbers| numbers.invert(&device)).collect();
    assert!(device.stats().table_bytes <= 32 * 6 * 8, "{:?}", device.stats());
    assert!(driver.pending() >= 100, "nothing has run");
    driver.mode(Mode::Auto);
    many.iter().for_each(|numbers| numbers.check(&device));
    drop((warm, many, device));
    driver.assert_finished();
}

#[test]
fn what_is_too_large_to_be_kept_serves_its_call_alone() {
    let driver = session();
    let (current, device) = (Current::of(0), device());
    let count = 20_000; // 320 000 bytes of addresses
    let (a, c, info) = (up(&device, vec![2.0; count]), up(&device, vec![0.0; count]), up(&device, vec![7; count]));
    let layout = Layout::columns(1, 1).batch(count, 1);
    let (a, c) = (a.with_layout(layout).unwrap(), c.with_layout(layout).unwrap());
    let (c, info) = device.blas().matinv(&a, c, info).unwrap().await_result().unwrap();
    assert_eq!(device.stats().table_bytes, 0);
    driver.mode(Mode::Eager);
    let ((c, info), calls) = told(&driver, || device.blas().matinv(&a, c, info).unwrap().into_output());
    assert_eq!(calls, [ALLOCATE, LAUNCH, MATINV]);
    assert!(down(&device, &c).iter().all(|x| *x == 0.5) && down(&device, &info).iter().all(|x| *x == 0));
    drop((a, c, info, device, current));
    driver.assert_finished();
}

#[test]
fn a_rebuild_forgets_the_tables() {
    let driver = session();
    let device = device();
    drop(Numbers::new(&device, 1..=3).invert(&device));
    assert!(device.stats().table_bytes > 0);
    device.rebuild(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(device.stats().table_bytes, 0);
    // The new generation's buffers may well lie where the old ones did.
    Numbers::new(&device, 4..=6).invert(&device).check(&device);
    assert_eq!(device.stats().table_bytes, 2 * 3 * 8);
    drop(device);
    driver.assert_finished();
}

/// They count against the limit, and are the first to go.
#[test]
fn tables_make_room_for_buffers() {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let limit = 64 << 20;
    let device = Device::builder().cuda(0).slots(1).memory_limit(limit).open().unwrap();
    let numbers = Numbers::new(&device, 1..=8).invert(&device);
    let stats = device.stats();
    assert_eq!(stats.table_bytes, 2 * 8 * 8);
    assert_eq!(stats.bytes_used, 8 * 8 + 8 * 8 + 8 * 4, "tables are no buffers");
    // All that is left, to the last byte.
    let rest = device.uninit::<u8>((limit - stats.bytes_used) as usize).expect("the tables go first");
    assert_eq!((device.stats().table_bytes, device.stats().bytes_used), (0, limit));
    // Without room a table is scratch of its call.
    let numbers = numbers.invert(&device);
    assert_eq!(device.stats().table_bytes, 0);
    let error = device.uninit::<u8>(1).map(drop).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { free: 0, .. }), "{error:?}");
    drop(rest);
    assert!(common::eventually(5, || device.stats().bytes_used < limit));
    let numbers = numbers.invert(&device);
    assert_eq!(device.stats().table_bytes, 2 * 8 * 8);
    numbers.check(&device);
    drop((numbers, device));
    driver.assert_finished();
}

#[test]
fn a_table_that_could_not_be_written_is_not_kept() {
    let driver = session();
    let device = device();
    let numbers = Numbers::new(&device, 1..=1).invert(&device);
    for call in [LAUNCH, ALLOCATE, MATINV] {
        let Numbers { a, c, info } = Numbers::new(&device, 2..=4);
        driver.fail(call, 0, if call == MATINV { 14 } else { 1 });
        let Err(rejected) = device.blas().matinv_batched(&a, c, info) else { panic!("{call}") };
        driver.clear();
        assert!(matches!(rejected.error, Error::LibraryError { .. }), "{call}: {rejected}");
        let held = device.stats().table_bytes;
        assert_eq!(held, 2 * 8 + if call == MATINV { 2 * 3 * 8 } else { 0 }, "{call}");
        drop((a, rejected));
    }
    numbers.invert(&device).check(&device);
    Numbers::new(&device, 5..=9).invert(&device).check(&device);
    drop(device);
    driver.assert_finished();
}

/// The other routines that take lists.
#[test]
fn products_and_solutions_keep_their_tables() {
    let driver = session();
    let (current, device) = (Current::of(0), device());
    let (a, b) = (up(&device, [1.0f32; 12]), up(&device, [1.0f32; 12]));
    let three = || (0..3).map(|_| up(&device, [0f32; 4])).collect::<Vec<_>>();
    let blas = device.blas();
    let list = |all: Vec<Tensor<f32>>| all.into_iter().map(Tensor::into_buffer).collect::<Vec<_>>();
    let product = |c: Vec<DeviceBuffer<f32>>| {
        let (a, b) = ([(); 3].map(|()| columns(&a, 2, 3)), [(); 3].map(|()| columns(&b, 3, 2)));
        let c = c.into_iter().map(|c| into_columns(c, 2, 2));
        list(blas.gemm_batched(Gemm::new(), a, b, c).unwrap().into_output())
    };
    let grouped = |c: Vec<DeviceBuffer<f32>>| {
        let sizes = [(2, 3), (1, 4), (1, 4)];
        let (a, b) = (sizes.map(|(n, k)| columns(&a, n, k)), sizes.map(|(n, k)| columns(&b, k, n)));
        let c = c.into_iter().zip(sizes).map(|(c, (n, _))| into_columns(c, n, n));
        list(blas.gemm_grouped([(Gemm::new(), 1), (Gemm::new(), 2)], a, b, c).unwrap().into_output())
    };
    let spec = || Triangular::new(Side::Left, Uplo::Lower);
    let solved = |b: Vec<DeviceBuffer<f32>>| {
        let b = b.into_iter().map(|b| into_columns(b, 2, 2));
        list(blas.trsm_batched(spec(), [(); 3].map(|()| columns(&a, 2, 2)), b).unwrap().into_output())
    };
    let strided = |b: DeviceBuffer<f32>| {
        let three = Layout::columns(2, 2).batch(3, 4);
        let b = b.with_layout(three).unwrap();
        blas.trsm(spec(), a.view(three).unwrap(), b).unwrap().into_buffer()
    };
    let (mut c, mut x) = (solved(grouped(product(three()))), strided(up(&device, [0f32; 12])));
    driver.mode(Mode::Eager);
    for _ in 0..2 {
        let ((new_c, new_x), calls) = told(&driver, || (solved(grouped(product(c))), strided(x)));
        (c, x) = (new_c, new_x);
        let expected = ["cublasGemmBatchedEx_64", "cublasGemmGroupedBatchedEx_64", "cublasStrsmBatched_64"];
        assert_eq!(calls, [&expected[..], &expected[2..]].concat());
    }
    drop((c, x, a, b, blas, device, current));
    driver.assert_finished();
}

//! The CUDA engine in a worker process, on the stand-in driver: device faults end the worker, and the program goes on.

use crate::common;
mod first_use;
mod kernels;
mod padded;
use crate::standin;
use crate::system;

use common::child::{of_module, this_test};
use common::{InPlace, assert_back_at, columns, down, eventually, up, within};
use serde::{Deserialize, Serialize};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use windlass::blaslt::{Epilogue, Operands};
use windlass::loader::Library;
use windlass::tensor::Layout;
use windlass::{
    Device, DeviceBuffer, DeviceBuilder, DeviceKind, Error, Matmul, RestartPolicy, Result, Stats,
    health::Phase,
    op::{Enqueue, Op, Slices, SlicesMut, Spans, Wire},
};

const INSIDE: &str = "WINDLASS_TEST_INSIDE";
const LONG: Duration = Duration::from_secs(60);

/// Runs `body` in a process whose children find the stand-in as well: this very test, started again with `variables`.
#[track_caller]
fn inside(test: &str, variables: &[(&str, &str)], body: impl FnOnce() + Send + 'static) {
    if std::env::var_os(INSIDE).is_some() {
        return within(300, body);
    }
    let driver = standin::driver();
    let report = format!("{}/{}-{test}.violations", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .envs(driver.environment())
        .env("WINDLASS_STANDIN_MEMORY", "1073741824")
        .envs(variables.iter().copied())
        .env("WINDLASS_STANDIN_REPORT", &report)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
    let violations = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    assert!(violations.is_empty(), "{violations}{text}");
}

fn isolated() -> DeviceBuilder {
    Device::builder().cuda(0).isolated().restart_policy(RestartPolicy::unlimited())
}

#[test]
fn a_gpu_in_a_worker_gives_the_same_answers() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        assert!(device.kind() == DeviceKind::Cuda && device.is_isolated() && device.info().uuid.is_some());
        let x = up(&device, (0..100_000).map(f64::from).collect::<Vec<_>>());
        let y = device.blas().axpy(2.0, &x, device.zeros(100_000).unwrap()).unwrap().into_buffer();
        let (left, right) = y.split_at(50_000).unwrap();
        let left = device.fill(left, 1.0).unwrap().into_output();
        let y = down(&device, &left.into_buffer().join(right).unwrap());
        assert_eq!((y[0], y[49_999], y[50_000], y[99_999]), (1.0, 1.0, 100_000.0, 199_998.0));
        assert_eq!(device.blas().nrm2(&up(&device, [3.0f32, 4.0])).unwrap().await_result().unwrap(), 5.0);
        let memory = device.memory().unwrap();
        assert!(memory.total >= memory.free && memory.free > 0, "{memory:?}");
        drop(x);
        assert_back_at(&device, (0, 0, 0));
        device.rebuild(LONG).unwrap();
        assert_eq!((device.generation(), down(&device, &up(&device, [7u8]))), (1, vec![7]));
    });
}

/// The worker maps, and answers; what is refused there leaves the buffer as it was.
#[test]
fn a_buffer_of_a_worker_grows_and_shrinks_there() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let mut x = device.growing::<f32>([0, 4], 1 << 20).unwrap();
        for rows in [1, 50_000, 3] {
            x.grow(rows).unwrap();
            x = device.fill(x, 2.0).unwrap().into_output();
        }
        assert_eq!(down(&device, &x), vec![2.0; 4 * 50_004]);
        assert!(calls(&device, "cuMemCreate") > 0);
        x.shrink(50_000).unwrap();
        x.grow(1).unwrap();
        assert_eq!(down(&device, &x), [vec![2.0; 16], vec![0.0; 4]].concat());
        assert_eq!(device.stats().bytes_used, 80);
        assert!(eventually(60, || calls(&device, "cuMemUnmap") > 0));
        let error = x.grow(1 << 21).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
        drop(x);
        assert_back_at(&device, (0, 0, 0));
        let mut large = device.growing::<u8>([1], 1 << 40).unwrap();
        let error = large.grow(1 << 31).unwrap_err(); // the GPU has 1 GiB
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        large.grow(1 << 20).unwrap();
        assert_eq!(down(&device, &device.fill(up(&device, [1.0f32]), 2.0).unwrap().into_output()), [2.0]);
        device.rebuild(LONG).unwrap();
        assert!(matches!(large.grow(1), Err(Error::GpuRefStale { .. })));
    });
}

/// Each call of the driver that growing, shrinking and dropping make is the last one of a worker. The program hears of it, or had its
/// answer; the next worker does the same from the start, and nothing is left of the first.
#[test]
fn a_worker_that_dies_in_any_call_of_a_growth_takes_only_its_buffers_along() {
    let folder = std::env::temp_dir().join(format!("windlass-deadly-{}", std::process::id()));
    let told = std::env::var_os("WINDLASS_STANDIN_DEADLY").map_or(folder.clone(), Into::into);
    std::fs::create_dir_all(&told).unwrap();
    inside(&this_test!(), &[("WINDLASS_STANDIN_DEADLY", folder.to_str().unwrap())], move || {
        let device = isolated().open().unwrap();
        let growth = || -> Result<()> {
            let mut x = device.growing::<f32>([1, 4], 1 << 20)?;
            x.grow(600_000)?;
            x = device.fill(x, 2.0)?.into_output();
            x.shrink(600_000)?;
            x.grow(200_000)?;
            let all = device.download(&x)?.await_result()?;
            assert!(all[..4].iter().all(|one| *one == 2.0) && all[4..].iter().all(|one| *one == 0.0));
            Ok(())
        };
        let calls = [
            "cuMemGetAllocationGranularity", // once a worker, so before all growth
            "cuMemAddressReserve",
            "cuMemCreate",
            "cuMemMap",
            "cuMemRelease",
            "cuMemSetAccess",
            "cuMemUnmap",
            "cuMemAddressFree",
        ];
        for (round, call) in calls.iter().enumerate() {
            let file = told.join(call);
            std::fs::write(&file, "").unwrap();
            let heard = growth().err();
            // What is given back is unmapped later, by whoever comes by.
            assert!(eventually(60, || device.zeros::<u8>(1).is_err() || !file.exists()), "{call} is not made");
            assert!(eventually(60, || device.generation() == 1 + round as u64), "{call}: {heard:?}");
            device.wait_healthy(LONG).unwrap();
            assert!(
                matches!(
                    heard,
                    None | Some(Error::ContextPoisoned { .. } | Error::GpuRefStale { .. } | Error::Upstream { .. })
                ),
                "{call}: {heard:?}"
            );
            growth().unwrap();
            assert_back_at(&device, (0, 0, 0));
            assert_eq!(device.memory().unwrap().addresses, 0, "{call}");
        }
        std::fs::remove_dir(&told).unwrap();
    });
}

/// The front asks what there is before it sends anything: later the stream would have moved on.
#[test]
fn a_stream_that_no_kernel_makes_is_the_cpus_and_one_that_nobody_has_stays_where_it_was() {
    use windlass::rng::{Generator, Stream, Uniform};
    inside(&this_test!(), &[], || {
        let (device, host) = (isolated().open().unwrap(), Device::host().unwrap());
        for generator in [Generator::Mt19937, Generator::Mtgp32] {
            let draw = |device: &Device| {
                let mut rng = device.rng_of(Stream::new(generator, 5));
                let x = rng.fill(Uniform::above_zero(), device.zeros::<f32>(8).unwrap()).unwrap().into_output();
                (down(device, &x), rng.stream().clone())
            };
            assert_eq!(draw(&device), draw(&host));
            let mut rng = device.rng_of(Stream::new(generator, 5).at(1 << 40));
            let before = rng.stream().clone();
            let rejected = rng.fill(Uniform::above_zero(), device.zeros::<f32>(8).unwrap()).unwrap_err();
            assert!(matches!(rejected.error, Error::Unsupported { .. }), "{rejected}");
            assert_eq!(down(&device, &rejected.back.unwrap().0), [0.0; 8]);
            assert_eq!(*rng.stream(), before);
        }
        assert_back_at(&device, (0, 0, 0));
    });
}

/// It is the worker's libraries that count, so the worker is asked.
#[test]
fn the_worker_tells_the_versions_of_its_libraries() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let driver = standin::driver();
        assert_eq!(calls(&device, "cublasGetProperty"), 0, "nobody has asked");
        let version = |library| device.library_version(library).map(|v| v.map(|v| v.to_string()));
        for _ in 0..2 {
            assert_eq!(version(Library::Cublas), Ok(Some("13.0.0".into())));
            assert_eq!(version(Library::CublasLt), Ok(Some("13.0.2".into())));
            device.rebuild(LONG).unwrap();
        }
        assert_eq!(calls(&device, "cublasGetProperty"), 0, "it is another one");
        assert_eq!(version(Library::Cublas), Ok(Some("13.0.0".into())));
        assert_eq!((calls(&device, "cublasGetProperty"), driver.calls_of("cublasGetProperty")), (3, 0));
        match version(Library::Cudnn) {
            Err(Error::LibraryMissing { library, tried, .. }) => assert!(library == "cuDNN" && !tried.is_empty()),
            other => assert!(matches!(other, Ok(Some(_))), "{other:?}"), // a machine that has one
        }
        assert_eq!(down(&device, &up(&device, [7u8])), [7]);
    });
}

/// A factor of the library would stay in the worker.
#[test]
fn direct_solvers_in_a_worker_are_unsupported_and_say_why() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let a = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[0, 1], &[4.0f64, 2.0]).unwrap();
        for how in
            [windlass::direct::Factorization::Lu, windlass::direct::Factorization::Cholesky(windlass::Uplo::Lower)]
        {
            let error = device.direct().analyse(how, &a).unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("isolated"), "{error}");
        }
    });
}

/// It holds what an engine in this process would, and says so.
#[test]
fn the_worker_says_what_it_holds_and_nobody_waits_for_it() {
    inside(&this_test!(), &[], || {
        let device = isolated().slots(3).open().unwrap();
        let told = |what: fn(&Stats) -> bool| assert!(eventually(10, || what(&device.stats())), "{:?}", device.stats());
        let (x, y) = (up(&device, [1.0f32; 1000]), device.zeros::<f32>(1000).unwrap());
        let y = device.blas().axpy(2.0, &x, y).unwrap().await_result().unwrap().into_buffer();
        told(|stats| stats.slots == 3 && stats.streams >= 3 && stats.events > 0 && stats.library_handles > 0);
        told(|stats| stats.pool_misses >= 2 && stats.parked == 0);
        // A buffer like the last one, which nobody wants any more.
        for _ in 0..200 {
            drop(device.fill(device.uninit::<u8>(4096).unwrap(), 1).unwrap().await_result().unwrap());
        }
        told(|stats| stats.pool_hits > 0 && stats.pool_hits + stats.pool_misses >= 200);
        let pool = device.memory().unwrap().pool.expect("a GPU has one");
        assert!(pool.used >= 8000 && pool.used <= pool.used_peak, "{pool:?}");
        assert!(pool.reserved >= pool.used && pool.reserved <= pool.reserved_peak, "{pool:?}");
        // It stands still: what it said last is all that there is, and that at once.
        let pid = device.worker_pid().unwrap();
        system::signal(pid, libc::SIGSTOP);
        for _ in 0..5 {
            let stats = device.stats();
            assert!(stats.streams >= 3, "{stats:?}");
        }
        assert_eq!(device.generation(), 0, "it was waited for until it was given up");
        system::signal(pid, libc::SIGKILL);
        device.wait_healthy(LONG).unwrap();
        assert!(eventually(10, || device.generation() == 1));
        // Another worker, which counts anew.
        told(|stats| stats.streams >= 3 && stats.pool_hits + stats.pool_misses < 100);
        drop((x, y));
    });
}

/// How often the worker has called a function of the driver: the answer is an error's text.
#[derive(Serialize, Deserialize)]
struct Calls(String);

impl Op for Calls {
    const NAME: &'static str = "calls";
    type Reads = ();
    type Output = DeviceBuffer<u8>;
    type Raw = ();
    fn check(&self, (): &Spans<()>, _: &Spans<(u8,)>) -> Result<()> {
        Ok(())
    }
    fn host(&self, (): Slices<'_, Self>, _: SlicesMut<'_, Self>) -> Result<()> {
        Ok(())
    }
    fn cuda(&self, _: &mut Enqueue<'_, Self>) -> Result<()> {
        Err(Error::library(format!("calls: {}", standin::driver().calls_of(&self.0))))
    }
    fn wire() -> Option<Wire<Self>> {
        Wire::plain()
    }
    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

fn calls(device: &Device, function: &str) -> u64 {
    let pending = device.dispatch(Calls(function.into()), (), (device.zeros::<u8>(1).unwrap().into_buffer(),)).unwrap();
    let text = pending.await_result().unwrap_err().to_string();
    let (_, count) = text.split_once("calls: ").expect(&text);
    count.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Several parts of shared memory, from its first byte past the largest of them.
fn copies_both_ways(device: &Device) {
    for len in [0usize, 1, 1000, 300_000, 3_000_000, 20_000_000] {
        let data: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let x = up(device, data.clone());
        let (left, right) = x.split_at(len / 3).unwrap();
        let (one, two) = (device.download(&left).unwrap(), device.download(&right).unwrap());
        let mut back = one.await_result().unwrap();
        back.extend(two.await_result().unwrap());
        assert!(back == data, "{len}");
    }
}

#[test]
fn bulk_data_crosses_once_and_by_staging_where_the_driver_refuses() {
    let test = &this_test!();
    let report = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda_isolated_report");
    let _ = std::fs::remove_file(&report);
    for refused in ["", "cuMemHostRegister:0:801,cuMemHostRegister:1:801,cuMemHostRegister:2:2"] {
        let report = report.to_str().unwrap();
        inside(test, &[("WINDLASS_STANDIN_FAIL", refused), ("WINDLASS_STANDIN_REPORT", report)], || {
            let device = isolated().open().unwrap();
            let staged = calls(&device, "cuMemHostAlloc");
            copies_both_ways(&device);
            let (parts, staged) = (calls(&device, "cuMemHostRegister"), calls(&device, "cuMemHostAlloc") - staged);
            copies_both_ways(&device);
            // Parts of 1, 1, 2 ... 64, 64 MiB, each once; how far up depends on what is under way at once.
            let again = calls(&device, "cuMemHostRegister");
            assert!(again <= 13, "{parts} parts, then {again}");
            let all = std::env::var("WINDLASS_STANDIN_FAIL").unwrap().is_empty();
            assert!(parts >= 6 && (staged == 0) == all, "{parts} parts, {staged} staged");
            // The heart says so, at its next beat.
            assert!(eventually(10, || device.stats().bulk_staged != all), "{:?}", device.stats());
            std::thread::sleep(if all { Duration::from_millis(600) } else { Duration::ZERO });
            assert_eq!(device.stats().bulk_staged, !all);
            assert_back_at(&device, (0, 0, 0));
        });
    }
    assert!(!report.exists(), "{}", std::fs::read_to_string(&report).unwrap_or_default());
}

/// How often NVML is open in this process, and how many devices it has opened.
fn nvml() -> (i32, i32) {
    // SAFETY: the stand-in, which does nothing when it is loaded; two functions without arguments.
    unsafe {
        let library = libloading::os::unix::Library::new("libnvidia-ml.so.1").unwrap();
        let open = library.get::<unsafe extern "C" fn() -> i32>(b"standin_nvml_open\0").unwrap();
        let devices = library.get::<unsafe extern "C" fn() -> i32>(b"standin_nvml_devices\0").unwrap();
        let answer = (open(), devices());
        std::mem::forget(library);
        answer
    }
}

#[test]
fn the_driver_is_kept_awake_while_there_are_isolated_devices_and_no_longer() {
    inside(&this_test!(), &[], || {
        for _ in 0..3 {
            assert_eq!(nvml(), (0, 0));
            let one = isolated().open().unwrap();
            let two = isolated().open().unwrap();
            assert!(eventually(10, || one.stats().driver_held && two.stats().driver_held && nvml() == (1, 2)));
            one.rebuild(LONG).unwrap();
            assert!(one.stats().driver_held && nvml() == (1, 2), "it is held across workers, and by one process once");
            drop(one);
            assert!(two.stats().driver_held && nvml().0 == 1);
            drop(two);
            assert!(eventually(10, || nvml() == (0, 0)));
        }
    });
}

#[test]
fn a_large_download_is_taken_out_while_it_arrives_and_a_loss_meanwhile_is_told() {
    let test = &this_test!();
    inside(test, &[], || {
        let device = isolated().open().unwrap();
        let data: Vec<u32> = (0..12 << 20).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let x = up(&device, data.clone());
        let y = device.duplicate(&x).unwrap().into_output();
        for round in 0..6 {
            // Three at a time: the places and the blocks of one become another's.
            let (one, two) = (device.download(&x).unwrap(), device.download(&y).unwrap());
            let gone = device.download(&x).unwrap();
            let mut into = vec![0u32; data.len()];
            one.await_result_into(&mut into).unwrap();
            assert!(into == data, "{round}");
            if round % 2 == 0 {
                drop(gone)
            } else {
                assert!(gone.await_result().unwrap() == data, "{round}")
            }
            assert!(two.await_result().unwrap() == data, "{round}");
        }
        let before = device.generation();
        let under_way: Vec<_> = (0..4).map(|_| device.download(&x).unwrap()).collect();
        system::signal(device.worker_pid().unwrap(), 9);
        for pending in under_way {
            match pending.await_result() {
                Ok(back) => assert!(back == data),
                Err(Error::ContextPoisoned { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        device.wait_healthy(LONG).unwrap();
        assert_eq!(device.generation(), before + 1);
        drop((x, y));
        assert_back_at(&device, (0, 0, 0));
    });
}

#[test]
fn a_copy_that_fails_half_way_is_an_error_and_gives_its_memory_back() {
    let test = &this_test!();
    // Of the 16 MiB below, which are several parts, the third.
    inside(test, &[("WINDLASS_STANDIN_FAIL", "cuMemcpyDtoHAsync:4:1")], || {
        let device = isolated().open().unwrap();
        let x = up(&device, vec![7u8; 16 << 20]);
        let mut failed = 0;
        for _ in 0..8 {
            match device.download(&x).unwrap().await_result() {
                Ok(back) => assert!(back.iter().all(|b| *b == 7)),
                Err(Error::LibraryError { .. } | Error::InvalidArgument { .. }) => failed += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!((failed, device.stats().faults), (1, 0));
    });
}

/// What may still be under way of it is waited for before the answer, and the work of others is not.
#[test]
fn a_copy_that_fails_half_way_is_answered_while_other_threads_go_on() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let test = &this_test!();
    inside(test, &[("WINDLASS_STANDIN_FAIL", "cuMemcpyDtoHAsync:4:1")], || {
        let device = isolated().open().unwrap();
        let x = up(&device, vec![7u8; 16 << 20]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut other = device.zeros::<u8>(4 << 20).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    if device.stats().in_flight < 300 {
                        (0..50).for_each(|i| {
                            let taken = std::mem::replace(&mut other, device.uninit(0).unwrap());
                            other = device.fill(taken, i).unwrap().into_output();
                        });
                    }
                }
            });
            assert!(eventually(60, || device.stats().in_flight > 50), "nobody else submits");
            let mut failed = 0;
            for _ in 0..4 {
                // The load would go on for ever.
                let answer = device.download(&x).unwrap().await_timeout(2 * LONG);
                stop.store(answer.is_err(), Ordering::Relaxed);
                failed += u32::from(answer.expect("it waits for the work of others").is_err());
            }
            stop.store(true, Ordering::Relaxed);
            load.join().unwrap();
            assert_eq!((failed, device.stats().faults), (1, 0), "{:?}", device.stats().last_fault);
        });
    });
}

static ENDLESS: windlass::op::Ptx =
    windlass::op::Ptx::new(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry endless() { ret; }\n");

/// Is at its buffer for as long as the worker lives.
#[derive(Serialize, Deserialize)]
struct Endless;

impl common::Deed for Endless {
    const NAME: &'static str = "endless";
    type Element = u8;
    fn cuda(&self, queue: &mut Enqueue<'_, InPlace<Self>>) -> Result<()> {
        let dims = windlass::op::LaunchDims { grid: (1, 1, 1), block: (1, 1, 1), shared: 0 };
        // SAFETY: no parameters; the kernel touches no memory.
        unsafe { queue.launch(&ENDLESS, c"endless", dims, &[]) }
    }
    fn wire() -> Option<Wire<InPlace<Self>>> {
        Wire::plain()
    }
}

/// Only a GPU that may still be at shared memory is waited for.
#[test]
fn an_operation_that_fails_before_it_begins_waits_for_nobody() {
    let test = &this_test!();
    inside(test, &[("WINDLASS_STANDIN_MODE", "background")], || {
        let device = isolated().open().unwrap();
        let x = device.zeros::<u8>(1 << 20).unwrap();
        let ((x,), endless) = device.dispatch(InPlace(Endless), (), (x.into_buffer(),)).unwrap().into_parts();
        let (_, failing) = device.dispatch(Calls("cuInit".into()), (), (x,)).unwrap().into_parts();
        assert!(failing.await_timeout(LONG).expect("it waits for what came before").is_err());
        assert!(!endless.is_ready());
        system::signal(device.worker_pid().unwrap(), 9);
        assert!(endless.await_result().is_err());
    });
}

/// The library is asked in the worker, the worker's GPU is measured, and the worker remembers what was best.
#[test]
fn the_ways_to_multiply_are_measured_in_the_worker() {
    inside(&this_test!(), &[], || {
        let device = isolated().slots(1).open().unwrap();
        let x = up(&device, [1.0f32; 64]);
        let x = columns(&x, 8, 8);
        let ds = up(&device, [7.0f32; 65]).split_at(1).unwrap();
        let d = ds.1.with_layout(Layout::columns(8, 8)).unwrap();
        let (d, tuning) = device.blas_lt().autotune(Matmul::new(), Operands::new(&x, &x), Epilogue::none(), d).unwrap();
        assert_eq!(down(&device, &d), [7.0; 64], "what is measured is written elsewhere");
        assert!(tuning.candidates.len() == 3 && tuning.chosen.is_some(), "{tuning:?}");
        assert!(tuning.candidates.iter().all(|way| way.time > Duration::ZERO), "{tuning:?}");
        // An output of the same alignment finds the way that was pinned, and the library is not asked again.
        let d = device.blas_lt().matmul(Matmul::new(), &x, &x, d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [8.0; 64]);
        let told = |stats: &Stats| stats.plans_pinned == 1 && stats.plan_hits == 1 && stats.plan_misses == 0;
        assert!(eventually(10, || told(&device.stats())), "{:?}", device.stats());
        assert_eq!(device.stats().faults, 0);
    });
}

/// Also a GPU whose cuBLAS makes no handle is tested, comes back, and does what needs no cuBLAS.
#[test]
fn a_gpu_in_a_worker_comes_back_without_any_library() {
    inside(&this_test!(), &[("WINDLASS_STANDIN_FAIL", "cublasCreate:0:14")], || {
        let device = isolated().open().unwrap();
        let x = up(&device, [1.0f32; 4]);
        let outcome = device.blas().axpy(2.0, &x, device.zeros(4).unwrap()).unwrap().await_result();
        assert!(matches!(outcome.unwrap_err().error, Error::LibraryError { .. }));
        system::signal(device.worker_pid().unwrap(), libc::SIGKILL);
        assert!(eventually(60, || device.generation() == 1), "{:?}", device.health());
        assert_eq!(down(&device, &up(&device, [3u8; 5])), [3; 5]);
        assert_eq!(device.stats().faults, 1);
    });
}

#[test]
#[ignore = "timed: `.ci/deep timed`, for the worker lives by the system's clock"]
fn the_watchdog_of_a_gpu_holds_nothing_against_work_that_waits() {
    inside(&this_test!(), &[], || {
        // Far more than any one of them takes on a busy machine.
        let limit = Duration::from_secs(6);
        let device = isolated().watchdog(limit).open().unwrap();
        let x = up(&device, vec![1u8; 64 << 20]).share();
        let mut other = device.zeros::<u8>(64 << 20).unwrap();
        // Each takes the stand-in a few milliseconds: more of them until all, ordered at once, take longer than the limit.
        let mut many = 400;
        loop {
            device.synchronize(LONG).unwrap();
            let start = Instant::now();
            for _ in 0..many {
                other = device.copy(&x, other).unwrap().into_output();
            }
            device.synchronize(4 * LONG).unwrap();
            if start.elapsed() > limit {
                break;
            }
            many *= 2;
        }
        assert_eq!(device.stats().faults, 0, "{:?}", device.stats().last_fault);
        assert_eq!(down(&device, other.buffer().as_in().slice(5..6).unwrap()), [1]);
    });
}

#[test]
fn a_device_fault_ends_the_worker_and_the_program_goes_on() {
    let test = &this_test!();
    for code in ["700", "719"] {
        // The two hundredth command of every worker faults.
        let fault = format!("200:{code}");
        let code: i32 = code.parse().unwrap();
        inside(test, &[("WINDLASS_STANDIN_FAULT", &fault), ("WINDLASS_TEST_CODE", &code.to_string())], || {
            let code: i32 = std::env::var("WINDLASS_TEST_CODE").unwrap().parse().unwrap();
            let device = isolated().open().unwrap();
            let (mut right, mut lost) = (0u32, 0);
            while right < 150 || lost < 3 {
                let value = f64::from(right);
                let attempt = || -> Result<f64, Error> {
                    let x = device.upload([value, 0.0])?.into_output();
                    let x = device.blas().scal(2.0, x)?.into_buffer();
                    device.blas().nrm2(&x)?.await_result()
                };
                match attempt() {
                    Ok(norm) => {
                        assert_eq!(norm, 2.0 * value);
                        right += 1;
                    }
                    Err(error @ Error::ContextPoisoned { .. }) => {
                        let site = error.site().unwrap();
                        assert_eq!(site.code(), Some(code), "{error}");
                        assert!(site.last_ops().count() > 0 && error.is_retryable(), "{error}");
                        lost += 1;
                        assert_eq!(device.wait_healthy(LONG).unwrap().phase, Phase::Healthy);
                    }
                    Err(Error::GpuRefStale { .. } | Error::Upstream { .. }) => drop(device.wait_healthy(LONG).unwrap()),
                    Err(error) => panic!("{error:?}"),
                }
            }
            // What frees the last buffers may have been a two hundredth command.
            assert!(eventually(10, || device.stats().faults == device.generation()), "{:?}", device.stats());
            assert!(device.wait_healthy(LONG).unwrap().generation >= 3);
            assert_back_at(&device, (0, 0, 0));
        });
    }
}

/// What workers that are started from now on find. To be called where no other thread looks at variables.
fn set(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the one test of its process; see above.
        unsafe { std::env::set_var(name, value) };
    }
}

#[test]
fn the_gpu_is_found_by_its_uuid_and_no_other_is_opened() {
    let two = [("WINDLASS_STANDIN_DEVICES", "2")];
    inside(&this_test!(), &two, || {
        let device = isolated().open().unwrap();
        // It has the other's number now, and a second context in one process fails.
        set(&[("WINDLASS_STANDIN_UUIDS", "1"), ("WINDLASS_STANDIN_FAIL", "cuDevicePrimaryCtxRetain:1:2")]);
        device.rebuild(LONG).unwrap();
        assert_eq!((device.generation(), down(&device, &up(&device, [7u8]))), (1, vec![7]));
    });
}

#[test]
fn a_gpu_that_is_gone_is_not_replaced_by_another() {
    inside(&this_test!(), &[("WINDLASS_STANDIN_DEVICES", "1")], || {
        let device = isolated().restart_policy(RestartPolicy::never()).open().unwrap();
        set(&[("WINDLASS_STANDIN_UUIDS", "1")]);
        let error = device.rebuild(LONG).unwrap_err();
        assert!(error.to_string().contains("not among the 1 GPUs"), "{error}");
        assert_eq!(device.health().phase, Phase::Lost);
        assert!(device.health().reason.unwrap().contains("not among the 1 GPUs"));
    });
}

/// A GPU that one process at a time may use: there can be no standby, and the program goes on without one.
#[test]
fn a_standby_that_cannot_be_had_is_told_of_and_missed_by_nobody() {
    inside(&this_test!(), &[], || {
        let device = isolated().standby(true).open().unwrap();
        assert!(eventually(20, || device.stats().standby.is_some()));
        assert_eq!(device.stats().standby_failed, None);
        // What the driver answers a second process then; it is asked by the one that replaces the standby.
        set(&[("WINDLASS_STANDIN_FAIL", "cuDevicePrimaryCtxRetain:0:46")]);
        system::signal(device.stats().standby.unwrap(), 9);
        assert!(eventually(20, || device.stats().standby_failed.is_some()));
        let stats = device.stats();
        assert!(stats.standby_failed.unwrap().contains("46") && stats.standby.is_none() && stats.faults == 0);
        assert_eq!(down(&device, &up(&device, [7u8])), [7]);
        // Another is tried for by and by, and right after a loss.
        set(&[("WINDLASS_STANDIN_FAIL", "")]);
        assert!(eventually(20, || device.stats().standby.is_some()));
        assert_eq!((device.generation(), device.stats().standby_failed), (0, None));
        system::signal(device.worker_pid().unwrap(), 9);
        assert!(eventually(20, || device.generation() == 1 && device.stats().standby.is_some()));
        assert_eq!((device.stats().standby_failed, down(&device, &up(&device, [8u8]))), (None, vec![8]));
    });
}

/// Not a test of its own: a program whose worker does not get past the driver's start.
#[test]
#[ignore = "run by the test below"]
fn opens_for_long() {
    drop(isolated().open());
}

#[test]
fn a_worker_whose_parent_ends_while_it_opens_the_device_ends_as_well() {
    let driver = standin::driver();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args([of_module(module_path!(), "opens_for_long").as_str(), "--exact", "--ignored"])
        .envs(driver.environment())
        .env("WINDLASS_STANDIN_SLOW_INIT", "300000")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut worker = None;
    assert!(eventually(20, || {
        worker = system::children_of(parent.id()).first().copied();
        worker.is_some()
    }));
    // It has been told what to do, and is inside a moment later.
    let tasks = format!("/proc/{}/task", worker.unwrap());
    let heart = || {
        let tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.into_iter().any(|name| name.starts_with("windlass heart"))
    };
    assert!(eventually(20, heart));
    std::thread::sleep(Duration::from_millis(300));
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(eventually(10, || system::is_gone(worker.unwrap())));
}

/// The driver of the worker refuses, not the limit here: the worker knows what it holds for whom.
#[test]
fn a_worker_that_finds_no_memory_names_the_largest_living_buffers_with_their_labels() {
    inside(&this_test!(), &[("WINDLASS_STANDIN_MEMORY", "67108864")], || {
        let device = isolated().memory_limit(1 << 30).open().unwrap();
        let first = device.labelled("first").uninit::<u8>(40 << 20).unwrap();
        let small = device.labelled("small").uninit::<u8>(100).unwrap();
        let second = device.labelled("second").uninit::<u8>(30 << 20).unwrap();
        let rejected = device.fill(second, 1).unwrap().await_result().unwrap_err();
        let Error::OutOfMemory { requested, total, largest, .. } = &rejected.error else { panic!("{rejected:?}") };
        let named: Vec<_> = largest.iter().map(|one| (one.bytes, one.label.as_deref())).collect();
        assert_eq!(named, [(40 << 20, Some("first")), (100, Some("small"))]);
        assert_eq!((*requested, *total), (30 << 20, 64 << 20));
        let pool = device.memory().unwrap().pool.expect("a GPU has one");
        assert!(pool.trims > 0 && pool.threshold == u64::MAX, "{pool:?}");
        drop((first, small, rejected));
        let all = device.uninit::<u8>(60 << 20).unwrap();
        drop(device.fill(all, 1).unwrap().await_result().expect("it is there again"));
        // After a loss the next worker holds nothing.
        device.rebuild(LONG).unwrap();
        assert!(device.memory_report().largest.is_empty());
        assert_back_at(&device, (0, 0, 0));
    });
}

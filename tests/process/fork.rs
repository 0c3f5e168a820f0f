//! A forked child never uses its parent's device: it is told so, and may open devices of its own.
//!
//! In a process of its own: a fork copies one thread only, so nothing else may run.

use crate::common;
use crate::common::child::{alone, this_test};

use common::{Gate, builders, down, host, up};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use windlass::{Device, Error};

/// Runs `child` in a forked process and gives its exit status: 0 when it returned true.
fn forked(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: this is the only test of the process; the child uses locks of this library and the allocator alone, which
    // nobody held, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let fine = catch_unwind(AssertUnwindSafe(child)).unwrap_or(false);
        // SAFETY: ends the child at once, without the handlers of its parent.
        unsafe { libc::_exit(if fine { 0 } else { 1 }) }
    }
    let until = Instant::now() + common::LONG;
    let mut status = 0;
    // SAFETY: the child is ours and `status` outlives the call.
    while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > until {
            // SAFETY: as above; it has not been waited for yet, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            panic!("the child hung");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    status
}

fn lost(error: &Error) -> bool {
    matches!(error, Error::DeviceLost { remedy, .. } if remedy.contains("fork"))
}

/// Where the compiler is. Not a test of its own, for nothing may run beside a fork.
#[cfg(feature = "cuda")]
fn a_compilation_under_way_is_lost_to_a_child() {
    use windlass::nvrtc::{Compiler, DiskCache, Emit, Source};
    let compiler = Compiler::builder().disk(DiskCache::Off).build();
    match compiler.version() {
        Ok(_) => {}
        Err(Error::LibraryMissing { help, .. }) => return eprintln!("SKIPPED: a fork beside a compilation: {help}"),
        Err(other) => panic!("{other:?}"),
    }
    // Longer and longer, until it is still under way when both children are over.
    let under_way = [20, 100, 500].into_iter().any(|kernels| {
        let mut source = String::new();
        (0..kernels).for_each(|i| {
            source.push_str(&format!(
                "extern \"C\" __global__ void k{i}(double* x) {{ *x = pow(sin(*x), cos(*x + {i})); }}\n"
            ));
        });
        let mut pending = Some(compiler.compile_pending(&Source::new(source).emit(Emit::Cubin)).unwrap());
        let result = forked(|| {
            let pending = pending.take().unwrap();
            pending.is_ready() && lost(&pending.await_result().unwrap_err())
        });
        let own = forked(|| {
            let own = Source::new("extern \"C\" __global__ void own(int* x) { *x = 815; }").emit(Emit::Cubin);
            lost(&compiler.compile(&own).unwrap_err())
        });
        let pending = pending.take().expect("the parent's own");
        let under_way = !pending.is_ready();
        pending.await_result().unwrap();
        assert!(!under_way || result == 0, "a compilation of the parent never ends in the child: {result}");
        assert!(!under_way || own == 0, "what the child compiles itself would wait for the parent's locks: {own}");
        under_way
    });
    assert!(under_way, "each was over before the forks");
    let own = Source::new("extern \"C\" __global__ void own(int* x) { *x = 815; }").emit(Emit::Cubin);
    let status = forked(|| compiler.compile(&own).is_ok());
    assert_eq!(status, 0, "forked while nothing compiles");
}

#[test]
fn a_forked_child_is_told_that_its_parents_device_is_lost_and_opens_its_own() {
    alone(&this_test!(), || {
        for builder in builders() {
            let device = builder.open().unwrap();
            let x = up(&device, [1.0f64, 2.0]);
            let mut labelled = Some(device.labelled("of the parent").zeros::<u8>(10).unwrap());
            // A GPU may have none.
            let mut growing = device.growing::<u8>([3], 100).ok();
            device.synchronize(Duration::from_secs(60)).unwrap();
            let status = forked(|| {
                drop(labelled.take());
                let told = |result: windlass::Result<()>| result.is_err_and(|error| lost(&error));
                if growing.as_mut().is_some_and(|x| !told(x.grow(1)) || !told(x.shrink(1))) {
                    return false;
                }
                drop(growing.take());
                let rejected = device.fill(x, 1.0).unwrap_err();
                lost(&rejected.error)
                    && rejected.back.is_some()
                    && lost(&device.upload([1u8]).unwrap_err())
                    && lost(&device.zeros::<u8>(1).unwrap_err())
                    && device.memory_report().labels.iter().all(|share| share.label.is_none())
            });
            assert_eq!(status, 0, "{device:?}: the child did not get DeviceLost everywhere");
            // The parent's device is as it was.
            if let Some(x) = &mut growing {
                x.grow(1).unwrap();
                assert_eq!(down(&device, &*x), [0; 4]);
            }
            assert_eq!(down(&device, &up(&device, [3.0f64])), [3.0]);
        }

        let device = host(1).open().unwrap();
        let gate = Gate::default();
        let pending = gate.hold(&device, up(&device, [1.0f64]));
        gate.await_arrivals(1);
        let mut pending = Some(pending);
        let status = forked(|| {
            let pending = pending.take().unwrap();
            pending.is_ready() && lost(&pending.await_result().unwrap_err().error)
        });
        assert_eq!(status, 0, "work that is in flight in the parent never ends in the child");
        gate.open();
        let pending = pending.take().expect("the parent's own");
        assert_eq!(down(&device, &pending.await_result().unwrap()), [1.0]);

        let status = forked(|| {
            let own = Device::builder().host().host_pool(windlass::HostPool::Threads(1)).open().unwrap();
            down(&own, &up(&own, [7u8])) == [7] && lost(&device.upload([1u8]).unwrap_err())
        });
        assert_eq!(status, 0, "a device opened after the fork works");

        #[cfg(feature = "cuda")]
        a_compilation_under_way_is_lost_to_a_child();
    });
}

/// What a worker has answered lies in memory that the parent uses again: the child reads none of it, also of what had settled
/// before it was there.
#[test]
fn a_forked_child_gets_no_data_of_its_parents_worker() {
    alone(&this_test!(), || {
        let device = host(1).isolated().open().unwrap();
        let x = up(&device, vec![1.0f64; 4 << 20]).share();
        let settled = |pending: &dyn Fn() -> bool| assert!(common::eventually(60, pending));
        let small = device.download(x.as_in().slice(0..100).unwrap()).unwrap();
        let large = device.download(&x).unwrap();
        let norm = device.blas().nrm2(x.as_in().slice(0..4).unwrap()).unwrap();
        settled(&|| small.is_ready() && large.is_ready() && norm.is_ready());
        let mut all = Some((small, large, norm));
        let status = forked(|| {
            let (small, large, norm) = all.take().unwrap();
            let mut target = vec![0.0; 100];
            let small = small.await_result_into(&mut target).unwrap_err();
            lost(&small)
                && target == [0.0; 100]
                && lost(&large.await_result().unwrap_err())
                && lost(&norm.await_result().unwrap_err())
        });
        assert_eq!(status, 0, "what had settled before the fork");
        let (small, large, norm) = all.take().expect("the parent's own");
        assert_eq!(small.await_result().unwrap(), [1.0; 100]);
        assert!(large.await_result().unwrap() == vec![1.0; 4 << 20]);
        assert_eq!(norm.await_result().unwrap(), 2.0);

        // What is answered after the fork.
        for _ in 0..20 {
            let mut all =
                Some((device.blas().nrm2(&x).unwrap(), device.download(x.as_in().slice(0..9).unwrap()).unwrap()));
            let status = forked(|| {
                common::let_others_run();
                let (norm, read) = all.take().unwrap();
                lost(&norm.await_result().unwrap_err()) && lost(&read.await_result().unwrap_err())
            });
            assert_eq!(status, 0, "what was in flight at the fork");
            let (norm, read) = all.take().expect("the parent's own");
            assert_eq!((norm.await_result().unwrap(), read.await_result().unwrap()), (2048.0, vec![1.0; 9]));
        }
    });
}

#[test]
fn a_forked_child_is_told_at_once_how_its_parents_device_stands() {
    alone(&this_test!(), || {
        for device in [host(1).open().unwrap(), host(1).isolated().open().unwrap()] {
            let status = forked(|| {
                let health = device.health();
                health.phase == windlass::health::Phase::Lost
                    && health.reason.is_some_and(|reason| reason.contains("fork"))
                    && lost(&device.wait_healthy(Duration::MAX).unwrap_err())
                    && lost(&device.rebuild(Duration::MAX).unwrap_err())
            });
            assert_eq!(status, 0, "{device:?}");
            assert_eq!(device.health().phase, windlass::health::Phase::Healthy);
        }
    });
}

/// Stands in the hook before a completion, so that the dispatch is claimed and not settled.
#[derive(Default)]
struct Stands {
    arrived: std::sync::atomic::AtomicBool,
    open: std::sync::atomic::AtomicBool,
}

impl windlass::trace::Trace for Stands {
    fn before_complete(&self, _: &windlass::trace::OpInfo) {
        use std::sync::atomic::Ordering::SeqCst;
        if self.arrived.swap(true, SeqCst) {
            return;
        }
        let until = Instant::now() + common::LONG;
        while !self.open.load(SeqCst) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The thread that settles it is not in the child.
#[test]
fn a_wait_for_what_another_thread_was_settling_ends_in_a_forked_child() {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::SeqCst;
    alone(&this_test!(), || {
        for isolated in [false, true] {
            let stands = Arc::new(Stands::default());
            let builder = host(1).trace(stands.clone());
            let device = if isolated { builder.isolated() } else { builder }.open().unwrap();
            let x = device.zeros::<f64>(4).unwrap();
            let mut pending = Some(device.blas().scal(2.0, x).unwrap());
            std::thread::scope(|scope| {
                // On an isolated device nobody may come by to settle it.
                let other = device.clone();
                scope.spawn(move || other.synchronize(common::LONG));
                assert!(common::eventually(60, || stands.arrived.load(SeqCst)), "nobody settles it");
                let status = forked(|| lost(&pending.take().unwrap().await_result().unwrap_err().error));
                stands.open.store(true, SeqCst);
                assert_eq!(status, 0, "isolated: {isolated}");
            });
            drop(pending.take().expect("the parent's own").await_result().unwrap());
        }
    });
}

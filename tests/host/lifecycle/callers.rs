//! Callers of every kind: plain threads, rayon pools, pools of one thread, nested parallel iterators. None deadlocks.

use crate::common::{busy, columns, devices, down, host, inline, into_columns, map, up, within};
use rayon::prelude::*;
use std::sync::Arc;
use windlass::{Device, DeviceBuilder, Gemm, HostPool, Wait};

const POLICIES: [Wait; 3] = [Wait::Adaptive, Wait::Block, Wait::Rayon];

/// Copies, products and sums that follow each other, with waits between.
fn program(device: &Device) {
    let a = up(device, [1.0f64, 2.0, 3.0, 4.0]).share();
    let identity = up(device, [1.0f64, 0.0, 0.0, 1.0]);
    let (of_a, unit) = (columns(&a, 2, 2), columns(&identity, 2, 2));
    let mut c = into_columns(device.zeros::<f64>(4).unwrap().into_buffer(), 2, 2);
    for i in 0..10 {
        let pending = device.blas().gemm(Gemm::new().beta(1.0), &of_a, &unit, c).unwrap();
        c = if i % 3 == 0 { pending.await_result().unwrap() } else { pending.into_output() };
    }
    let c = busy(device, c.into_buffer(), 0);
    assert_eq!(device.blas().dot(&c, &identity).unwrap().await_result().unwrap(), 50.0);
    assert_eq!(down(device, &c), [10.0, 20.0, 30.0, 40.0]);
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn plain_threads_share_a_device() {
    for device in devices() {
        within(60, move || {
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| (0..10).for_each(|_| program(&device)));
                }
            });
        });
    }
}

#[test]
fn jobs_of_a_rayon_pool_share_a_device() {
    for (device, policy) in devices().into_iter().flat_map(|d| POLICIES.map(|p| (d.clone(), p))) {
        let device = device.waiting(policy);
        within(60, move || {
            pool(4).install(|| (0..100).into_par_iter().with_max_len(1).for_each(|_| program(&device)));
        });
    }
}

#[test]
fn a_pool_of_one_thread_gets_its_answers() {
    for (device, policy) in devices().into_iter().flat_map(|d| POLICIES.map(|p| (d.clone(), p))) {
        let device = device.waiting(policy);
        within(60, move || {
            pool(1).install(|| {
                program(&device);
                (0..20).into_par_iter().for_each(|_| program(&device));
            });
        });
    }
}

#[test]
fn nested_parallel_iterators_share_a_device() {
    for (device, policy) in devices().into_iter().flat_map(|d| POLICIES.map(|p| (d.clone(), p))) {
        let device = device.waiting(policy);
        within(60, move || {
            pool(3).install(|| {
                (0..6).into_par_iter().for_each(|_| {
                    program(&device);
                    (0..6).into_par_iter().for_each(|_| {
                        rayon::join(|| program(&device), || program(&device));
                    });
                });
            });
        });
    }
}

/// Work that uses rayon inside, as a large product does.
fn parallel_inside(device: &Device, len: usize) -> windlass::PendingDispatch<windlass::DeviceBuffer<f64>> {
    map(device, device.zeros(len).unwrap().into_buffer(), |x| {
        x.par_iter_mut().with_max_len(1).for_each(|y| {
            // Long enough for others of the pool to take up jobs meanwhile. Not by yields: on a busy machine each costs a whole
            // time slice.
            (0..500).for_each(|_| std::hint::spin_loop());
            *y += 1.0;
        });
    })
}

/// Many jobs of one pool wait for a follower of work that is parallel inside. On the callers' own pool this hung in
/// 8 of 40 runs: a worker inside the work's join took up a job that waits for that very work.
fn forty_runs(open: impl Fn() -> DeviceBuilder + Send + 'static) {
    for _ in 0..40 {
        let device = open().open().unwrap();
        within(10, move || {
            pool(4).install(|| {
                let x = parallel_inside(&device, 128).into_output();
                (0..64).into_par_iter().with_max_len(1).for_each(|_| {
                    assert_eq!(device.blas().dot(&x, &x).unwrap().await_result().unwrap(), 128.0);
                });
            });
        });
    }
}

#[test]
fn work_that_is_parallel_inside_does_not_deadlock_a_device_with_threads_of_its_own() {
    forty_runs(|| host(1));
    forty_runs(|| host(2).wait(Wait::Rayon));
}

#[test]
fn work_that_is_parallel_inside_does_not_deadlock_devices_that_share_a_pool() {
    let shared = Arc::new(pool(2));
    let (one, other) =
        [(); 2].map(|()| Device::builder().host().host_pool(HostPool::Shared(shared.clone())).open().unwrap()).into();
    within(60, move || {
        pool(4).install(|| {
            (0..200).into_par_iter().with_max_len(1).for_each(|i| {
                let device = if i % 2 == 0 { &one } else { &other };
                assert_eq!(down(device, &parallel_inside(device, 8).into_output()), [1.0; 8]);
            });
        });
    });
}

/// Every job has work of its own that is parallel inside.
fn jobs_with_parallel_work(builder: DeviceBuilder) {
    let device = builder.open().unwrap();
    within(10, move || {
        pool(4).install(|| {
            (0..200).into_par_iter().with_max_len(1).for_each(|i| {
                let len = if i % 4 == 0 { 64 } else { 2 };
                assert_eq!(down(&device, &parallel_inside(&device, len).into_output()), vec![1.0; len]);
            });
        });
    });
}

#[test]
fn jobs_may_each_have_work_that_is_parallel_inside() {
    jobs_with_parallel_work(host(1));
    jobs_with_parallel_work(host(2));
}

#[test]
fn jobs_may_each_have_work_that_is_parallel_inside_on_an_inline_device() {
    (0..8).for_each(|_| jobs_with_parallel_work(inline()));
}

//! Buffers and fronts, with sizes on both sides of those whose memory is kept and used again.

use super::{Case, Failure, IN_FRONTS, Outcome, Whole, arm, disarm, walk};
use crate::{alone, common};
use common::down;
use std::sync::atomic::Ordering;
use windlass::reductions::All;
use windlass::{Device, DeviceBuffer, Error, PendingDispatch, op::Output};

/// Elements of 8 bytes: memory that the allocator keeps, that is kept for later buffers, and that is not kept.
const SIZES: [usize; 3] = [20_000, 300_000, 33 << 20];

/// A call whose answer is there at once.
fn made<T>(answer: Result<T, impl Into<Error>>) -> Whole<()> {
    Whole(answer.map(drop).map_err(Into::into))
}

/// The same with a wait; what it allocates itself does not come back.
fn done<O: Output, V, E: Into<Error>>(answer: Result<PendingDispatch<O, V>, E>) -> Whole<()> {
    let pending = answer.map_err(Into::into);
    Whole(pending.and_then(|pending| pending.await_result().map(drop).map_err(Into::into)))
}

/// All of it can be written and read.
fn assert_usable(device: &Device, len: usize) {
    let all = |buffer: DeviceBuffer<u64>, wanted| {
        assert!(down(device, &buffer).iter().all(|x| *x == wanted), "{len} elements");
    };
    all(device.fill(device.uninit(len).unwrap(), 7).unwrap().into_buffer(), 7);
    all(device.zeros(len).unwrap().into_buffer(), 0);
}

fn of_buffers() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    for n in SIZES {
        case!(all, "uninit", |d| {} made(d.uninit::<u64>(n)));
        case!(all, "zeros", |d| {} made(d.zeros::<u64>(n)));
        case!(all, "full", |d| {} made(d.full([n], 1.5f64)));
        case!(all, "fill", |d| { let x = d.uninit::<u64>(n).unwrap(); } d.fill(x, 3));
    }
    for n in SIZES.into_iter().take(2) {
        case!(all, "upload", |d| { let x = vec![1u64; n]; } done(d.upload(x)));
        case!(all, "upload of a slice", |d| { let x = vec![1u64; n]; } done(d.upload(&x[..])));
        case!(all, "tensor", |d| { let x = vec![1u64; n]; } made(d.tensor([n], &x[..])));
        case!(all, "download", |d| { let x = d.zeros::<u64>(n).unwrap(); } done(d.download(&x)));
        case!(all, "to_vec", |d| { let x = d.zeros::<u64>(n).unwrap(); } made(d.to_vec(&x)));
        case!(all, "duplicate", |d| { let x = d.zeros::<u64>(n).unwrap(); } done(d.duplicate(&x)));
        case!(all, "copy", |d| { let (x, y) = (d.zeros::<u64>(n).unwrap(), d.uninit(n).unwrap()); } d.copy(&x, y));
        case!(all, "eye", |d| {} done(d.eye::<f64>([n.isqrt(); 2], 0)));
        case!(all, "download of columns", |d| { let x = d.zeros::<u64>([n / 8, 8]).unwrap(); }
            done(d.download(x.transpose())));
        case!(all, "contiguous", |d| { let x = d.zeros::<u64>([n / 8, 8]).unwrap(); } done(d.contiguous(x.transpose())));
        case!(all, "map", |d| { let x = d.zeros::<f64>([n]).unwrap(); } done(d.map(&x, |x| x + 1.0)));
        case!(all, "sum", |d| { let x = d.zeros::<f64>([n]).unwrap(); } done(d.sum(&x, All)));
        case!(all, "cumsum", |d| { let x = d.zeros::<f64>([n]).unwrap(); } done(d.cumsum(&x, 0)));
        case!(all, "sort", |d| { let x = d.zeros::<i32>([n]).unwrap(); } done(d.sort(&x, 0)));
        case!(all, "show", |d| { let x = d.zeros::<f64>([n]).unwrap(); } made(d.show(&x)));
    }
    all
}

#[test]
fn each_allocation_of_a_buffer_or_a_front_may_fail() {
    let _alone = alone();
    IN_FRONTS.store(true, Ordering::Relaxed);
    let refusals = walk(of_buffers(), &|device| SIZES.into_iter().take(2).for_each(|n| assert_usable(device, n)));
    IN_FRONTS.store(false, Ordering::Relaxed);
    println!("{refusals} allocations refused");
    assert!(refusals > 20);
}

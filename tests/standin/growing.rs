//! Buffers that grow, on the stand-in: what is asked of the driver, what waits for what, and refusals of each call.

use crate::common;
use crate::gpus::with_two_gpus;
use crate::standin;

use common::{assert_back_at, down, eventually, up};
use standin::{Mode, launch, session};
use std::time::Duration;
use windlass::{Device, DeviceBuffer, Error};

const LIMIT: Duration = Duration::from_secs(60);
/// Of the stand-in.
const GRANULE: usize = 64 << 10;

fn grown(device: &Device, bytes: usize) -> DeviceBuffer<u8> {
    device.growing::<u8>([bytes], 1 << 30).unwrap().into_buffer()
}

#[test]
fn memory_is_made_mapped_and_opened_once_a_granule_and_the_handle_released() {
    let driver = session();
    let device = standin::device(2);
    driver.log_of_this_thread();
    let mut x = grown(&device, 1);
    let calls = |log: &[String]| -> Vec<String> {
        let names = log.iter().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("cuMem")));
        names.map(|name| name.trim_end_matches(|c: char| !c.is_alphanumeric()).to_string()).collect()
    };
    let log = driver.take_log();
    for name in ["cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemSetAccess"] {
        assert_eq!(log.iter().filter(|line| line.contains(name)).count(), 1, "{name}: {:?}", calls(&log));
    }
    for _ in 0..9 {
        x.grow(5).unwrap();
    }
    assert!(driver.take_log().iter().all(|line| !line.contains("cuMemCreate")), "the granule has room");
    // Steps of one granule: an eighth of what is mapped at least, so ever fewer calls.
    for _ in 0..400 {
        x.grow(GRANULE).unwrap();
    }
    let made = driver.calls_of("cuMemCreate");
    assert!(made < 60, "{made}");
    assert!(device.stats().bytes_used as usize <= (x.len() + x.len() / 8).next_multiple_of(GRANULE));
    assert!(down(&device, &x).iter().all(|byte| *byte == 0), "fresh memory holds anything");
    drop(x);
    assert!(eventually(60, || driver.live("reserves") + driver.live("physical") == 0));
    drop(device);
    driver.assert_finished();
}

#[test]
fn it_grows_beside_work_in_flight_without_a_wait() {
    let driver = session();
    let device = standin::device(2);
    let x = device.growing::<f32>([8], 1 << 20).unwrap().into_buffer();
    device.synchronize(LIMIT).unwrap();
    driver.mode(Mode::Manual);
    let mut x = launch(&device, c"add_one_f32", x).into_output();
    driver.log_of_this_thread();
    x.grow(100_000).unwrap();
    let log = driver.take_log();
    assert!(log.iter().any(|line| line.contains("cuMemMap")));
    assert!(log.iter().all(|line| !line.contains("ynchronize")), "{log:?}");
    driver.mode(Mode::Background);
    let all = down(&device, &x);
    assert!(all[..8] == [1.0; 8] && all[8..].iter().all(|one| *one == 0.0));
    drop((x, device));
    driver.assert_finished();
}

/// Memory goes back behind the work that uses it, and growth before that takes it again.
#[test]
fn what_is_given_back_is_unmapped_behind_its_last_use() {
    let driver = session();
    let device = standin::device(2);
    let x = grown(&device, 20 * GRANULE);
    let mut x = device.fill(x, 3).unwrap().into_buffer();
    x.grow(10 * GRANULE).unwrap();
    device.synchronize(LIMIT).unwrap();
    driver.mode(Mode::Manual);
    x = device.fill(x, 7).unwrap().into_buffer();
    x.shrink(10 * GRANULE).unwrap();
    common::let_others_run();
    assert_eq!((driver.calls_of("cuMemUnmap"), device.stats().bytes_used), (0, 20 * GRANULE as u64));
    let before = driver.calls_of("cuMemCreate");
    x.grow(5 * GRANULE).unwrap();
    assert_eq!(driver.calls_of("cuMemCreate"), before, "it is there still");
    x.shrink(5 * GRANULE).unwrap();
    driver.mode(Mode::Background);
    assert!(eventually(60, || driver.live("physical") == 1), "{}", driver.live("physical"));
    x.grow(GRANULE).unwrap();
    let all = down(&device, &x);
    assert!(all[..20 * GRANULE].iter().all(|one| *one == 7) && all[20 * GRANULE..].iter().all(|one| *one == 0));
    // All of it at once, with work in flight: the addresses outlive the work as well.
    driver.mode(Mode::Manual);
    drop(device.fill(x, 1).unwrap().into_buffer());
    common::let_others_run();
    assert_eq!(driver.live("reserves"), 1);
    driver.mode(Mode::Background);
    assert!(eventually(60, || driver.live("reserves") + driver.live("physical") == 0));
    assert_back_at(&device, (0, 0, 0));
    drop(device);
    driver.assert_finished();
}

/// The part behind it was given back first, and is used for longer.
#[test]
fn a_part_is_unmapped_behind_the_work_on_what_was_given_back_behind_it() {
    const N: usize = GRANULE; // elements: four granules
    let driver = session();
    let device = standin::device(2);
    let mut x = device.growing::<f32>([N], 1 << 20).unwrap().into_buffer();
    x.grow(N).unwrap();
    let (mut left, right) = x.split_at(N).unwrap();
    device.synchronize(LIMIT).unwrap();
    let mut right = launch(&device, c"endless", right).into_output();
    right.shrink(N).unwrap();
    left.shrink(N).unwrap();
    common::let_others_run();
    assert_eq!(driver.calls_of("cuMemUnmap"), 0);
    driver.release();
    assert!(eventually(60, || driver.live("physical") == 0));
    drop((left, right, device));
    driver.assert_finished();
}

#[test]
fn growth_that_is_refused_takes_nothing_again_of_what_was_given_back() {
    const N: usize = GRANULE; // elements: four granules
    let driver = session();
    let device = standin::device(2);
    let mut x = device.growing::<f32>([N], 1 << 20).unwrap().into_buffer();
    x.grow(N).unwrap();
    device.synchronize(LIMIT).unwrap();
    let mut x = launch(&device, c"endless", x).into_output();
    x.shrink(N).unwrap();
    driver.fail("cuMemCreate", 0, 1);
    x.grow(3 * N).unwrap_err();
    assert_eq!((x.len(), device.stats().bytes_used, driver.live("physical")), (N, 4 * N as u64, 2));
    driver.release();
    assert!(eventually(60, || driver.live("physical") == 1));
    drop((x, device));
    driver.assert_finished();
}

#[test]
fn each_call_that_is_refused_leaves_the_buffer_and_nothing_else() {
    let driver = session();
    let device = standin::device(2);
    let calls = [
        "cuDeviceGetAttribute",
        "cuMemGetAllocationGranularity",
        "cuMemAddressReserve",
        "cuMemCreate",
        "cuMemMap",
        "cuMemRelease",
        "cuMemSetAccess",
    ];
    for call in calls {
        driver.fail(call, 0, 1);
        let error = device.growing::<u8>([1], 1 << 20).map(drop).unwrap_err();
        assert!(matches!(&error, Error::LibraryError { site, .. } if site.code() == Some(1)), "{call}: {error:?}");
        assert!(eventually(60, || driver.live("reserves") == 0), "{call}");
    }
    assert_eq!(driver.live("physical"), 1, "the one whose handle was not released");
    assert_eq!(device.stats().leaked, 1);
    let mut x = grown(&device, GRANULE);
    x = device.fill(x, 9).unwrap().into_buffer();
    for call in &calls[3..] {
        if *call == "cuMemRelease" {
            continue;
        }
        for code in [1, 2] {
            let refusals = if code == 2 { 4 } else { 1 };
            (0..refusals).for_each(|nth| driver.fail(call, nth, code));
            let error = x.grow(GRANULE).unwrap_err();
            assert_eq!(matches!(error, Error::OutOfMemory { .. }), code == 2, "{call}: {error:?}");
            driver.clear();
            assert_eq!((x.len(), driver.live("physical")), (GRANULE, 2), "{call}");
            assert_eq!(device.stats().bytes_used, GRANULE as u64, "{call}");
        }
    }
    // `NOT_READY` passes.
    driver.fail("cuMemSetAccess", 0, 600);
    x.grow(GRANULE).unwrap();
    let all = down(&device, &x);
    assert!(all[..GRANULE].iter().all(|one| *one == 9) && all[GRANULE..].iter().all(|one| *one == 0));
    // What the undo of a refused step cannot unmap either is used by the next growth, with access.
    driver.fail("cuMemSetAccess", 0, 1);
    driver.fail("cuMemUnmap", 0, 1);
    x.grow(4 * GRANULE).unwrap_err();
    assert_eq!((x.len(), device.stats().bytes_used), (2 * GRANULE, 2 * GRANULE as u64));
    let made = driver.calls_of("cuMemCreate");
    x.grow(4 * GRANULE).unwrap();
    assert_eq!((driver.calls_of("cuMemCreate"), down(&device, &x)[6 * GRANULE - 1]), (made, 0));
    // What a shrinking cannot unmap is used by the next growth.
    driver.fail("cuMemUnmap", 0, 1);
    let unmapped = driver.calls_of("cuMemUnmap");
    x.shrink(5 * GRANULE).unwrap();
    assert!(eventually(60, || driver.calls_of("cuMemUnmap") > unmapped));
    x.grow(5 * GRANULE).unwrap();
    assert_eq!((driver.calls_of("cuMemCreate"), down(&device, &x)[GRANULE]), (made, 0));
    // What a drop cannot unmap goes with the device, with its addresses.
    for call in ["cuMemUnmap", "cuMemAddressFree"] {
        let (y, before) = (grown(&device, GRANULE), driver.calls_of(call));
        driver.fail(call, 0, 2);
        drop(y);
        assert!(eventually(60, || driver.calls_of(call) > before), "{call}");
    }
    drop((x, device));
    // The context last: the next test's would be that of this device, which ends it.
    assert!(eventually(60, || driver.live("contexts") == 0));
    assert_eq!((driver.live("reserves"), driver.live("physical")), (0, 1), "the one whose handle was not released");
    assert!(driver.violations().is_empty(), "{:?}", driver.violations());
}

#[test]
fn a_gpu_without_virtual_memory_says_so() {
    let driver = session();
    driver.set_attribute(102, 0);
    let device = standin::device(1);
    let error = device.growing::<u8>([1], 2).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("attribute 102")), "{error}");
    assert_eq!((driver.calls_of("cuMemAddressReserve"), device.stats().allocations), (0, 0));
    driver.set_attribute(102, 1);
    drop(device);
    driver.assert_finished();
}

/// What the pool hoards, and what was dropped, is given back first; a step that is too large is made as small as it can be.
#[test]
fn a_lack_of_memory_climbs_the_ladder() {
    let driver = session();
    const MIB: usize = 1 << 20;
    driver.set_total_memory(8 * MIB);
    let device = Device::builder().cuda(0).slots(2).memory_limit(8 * MIB as u64).open().unwrap();
    let mut x = device.labelled("cache").growing::<u8>([3 * MIB], 1 << 30).unwrap().into_buffer();
    drop(device.zeros::<u8>(4 * MIB).unwrap());
    x.grow(4 * MIB).expect("the pool's hoard");
    x.grow(15 * GRANULE).expect("no eighth is left, and this fits");
    let error = x.grow(2 * GRANULE).unwrap_err();
    let Error::OutOfMemory { largest, .. } = &error else { panic!("{error:?}") };
    assert_eq!(largest[0].label.as_deref(), Some("cache"));
    assert_eq!(x.len(), 7 * MIB + 15 * GRANULE);
    x.shrink(6 * MIB).unwrap();
    let y = device.zeros::<u8>(MIB).expect("what was given back");
    drop((x, y));
    let z = device.growing::<u8>([7 * MIB], 1 << 30).expect("what was dropped");
    drop((z, device));
    driver.assert_finished();
}

#[test]
fn a_rebuild_frees_what_stale_handles_hold() {
    let driver = session();
    let device = standin::device(2);
    let x = grown(&device, 3 * GRANULE);
    device.rebuild(LIMIT).unwrap();
    assert_eq!((driver.live("reserves"), driver.live("physical"), device.stats().leaked), (0, 0, 0));
    let y = grown(&device, GRANULE);
    driver.silently("dropping what was freed", || drop(x));
    assert_eq!(down(&device, &y).len(), GRANULE);
    drop((y, device));
    driver.assert_finished();
}

#[test]
fn many_reserves_live_beside_each_other() {
    let driver = session();
    let device = standin::device(2);
    let mut all: Vec<_> = (0..300).map(|_| grown(&device, 1)).collect();
    all.iter_mut().for_each(|one| one.grow(1).unwrap());
    assert_eq!((driver.live("reserves"), device.memory().unwrap().addresses), (300, 300 << 30));
    drop((all, device));
    driver.assert_finished();
}

/// Before and after the other GPU was given access.
#[test]
fn peers_have_access_to_what_is_there_and_to_what_comes() {
    with_two_gpus(|one, two| {
        let x = one.growing::<f32>([4], 1 << 20).unwrap();
        let mut x = one.fill(x, 1.0).unwrap().into_buffer();
        let y = two.copy_peer(&x, two.zeros(4).unwrap()).unwrap().into_output();
        assert_eq!(down(&two, &y), [1.0; 4]);
        x.grow(100_000).unwrap();
        let y = two.copy_peer(&x, two.zeros(100_004).unwrap()).unwrap().into_output();
        assert_eq!(down(&two, &y).iter().sum::<f32>(), 4.0);
        let z = two.copy_peer(&up(&one, [2.0f32; 4]), two.growing::<f32>([4], 9).unwrap()).unwrap().into_output();
        assert_eq!(down(&two, &z), [2.0; 4]);
    });
}

/// The copy is refused, and the next one tries again.
#[test]
fn a_peer_that_gets_no_access_to_a_reserve_copies_nothing() {
    let driver = session();
    let (one, two) = (Device::cuda(0).unwrap(), Device::cuda(1).unwrap());
    let x = one.growing::<f32>([4], 1 << 20).unwrap();
    let mut x = one.fill(x, 1.0).unwrap().into_buffer();
    driver.fail("cuMemSetAccess", 0, 1);
    let rejected = two.copy_peer(&x, two.zeros(4).unwrap()).map(drop).unwrap_err();
    assert!(matches!(&rejected.error, Error::LibraryError { .. }), "{:?}", rejected.error);
    x.grow(100_000).unwrap();
    let y = two.copy_peer(&x, two.zeros(100_004).unwrap()).unwrap().into_output();
    assert_eq!(down(&two, &y).iter().sum::<f32>(), 4.0);
    drop((x, y, one, two));
    assert!(eventually(10, || driver.live("contexts") == 0));
    driver.assert_clean();
}

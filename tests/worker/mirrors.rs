//! Data that survives its device.

use crate::common::{down, eventually};
use crate::{LONG, alone, isolated, kill};
use windlass::Error;

#[test]
fn mirrored_data_is_there_again_after_every_loss() {
    let _alone = alone();
    let device = isolated().open().unwrap();
    let table = device.mirrored(vec![1.0f64, 2.0]).unwrap();
    let gone = device.mirrored(vec![1u8; 1 << 20]).unwrap();
    for round in 0..5u32 {
        let before = table.get();
        kill(&device);
        while device.generation() == u64::from(round) {
            std::thread::yield_now();
        }
        device.wait_healthy(LONG).unwrap();
        assert!(matches!(device.download(&before), Err(Error::GpuRefStale { .. })));
        let now = table.get();
        assert_eq!((now.generation(), down(&device, &now)), (u64::from(round) + 1, vec![f64::from(round) + 1.0, 2.0]));
        table.set(vec![f64::from(round) + 2.0, 2.0]).unwrap();
        assert_eq!(table.host()[0], f64::from(round) + 2.0);
    }
    assert_eq!(down(&device, gone.get()), [1; 1 << 20]);
    drop((gone, table));
    crate::common::assert_back_at(&device, (0, 0, 0));
}

/// Memory of a worker goes with it, whoever still holds a handle of it.
#[test]
fn a_mirror_of_more_than_half_the_memory_is_put_back_beside_stale_handles() {
    let _alone = alone();
    let device = isolated().memory_limit(1 << 20).open().unwrap();
    let data = vec![7u8; 600 << 10];
    let table = device.mirrored(data.clone()).unwrap();
    let mut stale = Vec::new();
    for round in 1..=2u64 {
        stale.push(table.get());
        kill(&device);
        while device.generation() < round {
            assert!(device.health().phase != windlass::health::Phase::Lost, "{:?}", device.health());
            std::thread::yield_now();
        }
        device.wait_healthy(LONG).unwrap();
        assert_eq!((table.get().generation(), down(&device, table.get()) == data), (round, true));
        // Also what the test of the new worker had, a moment later.
        assert!(eventually(10, || device.stats().bytes_used == 600 << 10), "only what is there now");
    }
    drop((stale, table));
    crate::common::assert_back_at(&device, (0, 0, 0));
}

//! Data that survives its device.

use crate::common::down;
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
    assert_eq!(down(&device, &gone.get()), [1; 1 << 20]);
    drop((gone, table));
    crate::common::assert_back_at(&device, (0, 0, 0));
}

//! Large downloads, which are taken out of shared memory while they arrive.

use crate::{alone, isolated};

/// The last bytes have arrived a moment before the operation is over, and it holds its operand until then.
#[test]
fn who_has_a_large_download_finds_what_it_held_given_back() {
    const LEN: usize = (8 << 20) + 100;
    let _alone = alone();
    // Room for one at a time.
    let device = isolated().memory_limit(LEN as u64).open().unwrap();
    for round in 0..10u8 {
        let x = device.fill(device.uninit::<u8>(LEN).unwrap(), round).unwrap().await_result().unwrap();
        let pending = device.download(&x).unwrap();
        drop(x);
        let data = pending.await_result().unwrap();
        assert_eq!(device.memory().unwrap().used, 0, "in round {round}");
        assert!(data.len() == LEN && data.iter().all(|x| *x == round));
    }
}

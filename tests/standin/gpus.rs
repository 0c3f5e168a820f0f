//! Two GPUs of the stand-in driver, and the first copy between them.

use crate::common::{Asleep, down, eventually, let_others_run, up};
use crate::standin;
use windlass::Device;

/// Runs `f` with two GPUs, under several schedules.
pub(crate) fn with_two_gpus(f: impl Fn(Device, Device)) {
    let driver = standin::session();
    for seed in 0..6 {
        driver.seed(seed);
        f(Device::cuda(0).unwrap(), Device::cuda(1).unwrap());
        // Their own threads tear dropped devices down; the next session resets the driver under them.
        assert!(eventually(10, || driver.live("contexts") == 0), "a dropped device kept its context");
        driver.assert_clean();
    }
}

/// A path that somebody else is still checking is not open yet.
#[test]
fn nobody_copies_on_a_path_whose_check_is_under_way() {
    let driver = standin::session();
    let (one, two) = (Device::cuda(0).unwrap(), Device::cuda(1).unwrap());
    let x = up(&one, [1.0f32, 2.0]);
    driver.mode(standin::Mode::Manual);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let asleep = Asleep::default();
    let copy = || {
        let copied = two.copy_peer(&x, two.uninit(2).unwrap()).unwrap().into_output();
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        copied
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(copy);
        assert!(eventually(5, || driver.calls_of("cuMemcpyPeerAsync") == 1), "the check");
        let second = scope.spawn(|| {
            asleep.here();
            copy()
        });
        asleep.wait();
        let_others_run();
        let early = done.load(std::sync::atomic::Ordering::Relaxed);
        driver.mode(standin::Mode::Background);
        for thread in [first, second] {
            assert_eq!(down(&two, &thread.join().unwrap()), [1.0, 2.0]);
        }
        assert_eq!(early, 0, "it copied before the path was known to work");
    });
    let checked = driver.calls_of("cuMemPoolSetAccess");
    drop(two.copy_peer(&x, two.uninit(2).unwrap()).unwrap());
    assert_eq!(driver.calls_of("cuMemPoolSetAccess"), checked, "from then on it is open");
    drop((x, one, two));
    assert!(eventually(10, || driver.live("contexts") == 0));
    driver.assert_clean();
}

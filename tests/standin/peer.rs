//! Copies between devices of one kind: they follow earlier work on both sides, and what comes later follows them.
//!
//! Two host devices everywhere, and two GPUs: of the stand-in driver, and real ones in the program `gpu`.

use crate::common;
use crate::gpus::with_two_gpus;

use common::{down, host, up, within};
use std::time::Duration;
use windlass::{Device, Error};

/// The copy follows the writer, the next writer of the source follows the copy, the reader of the target too.
fn in_order(one: &Device, two: &Device) {
    for round in 0..20 {
        let n = 1000;
        let x = one.blas().scal(2.0, up(one, vec![f64::from(round); n])).unwrap().into_buffer();
        let y = two.copy_peer(&x, two.uninit(n).unwrap()).unwrap().into_output();
        let x = one.fill(x, -1.0).unwrap().into_output();
        let y = two.blas().axpy(1.0, &two.duplicate(&y).unwrap().into_output(), y).unwrap().into_buffer();
        assert_eq!(down(two, &y), vec![4.0 * f64::from(round); n]);
        assert_eq!(down(one, &x), vec![-1.0; n]);
        // And back, into a window.
        let x = two.copy_peer(&y, two.uninit(n).unwrap()).unwrap().into_output();
        let back = one.copy_peer(
            x.buffer().as_in().slice(0..10).unwrap(),
            one.zeros(20).unwrap().into_buffer().narrow(5..15).unwrap(),
        );
        let back = down(one, &back.unwrap().into_buffer().widen());
        assert!(back[..5] == [0.0; 5] && back[5..15] == [4.0 * f64::from(round); 10] && back[15..] == [0.0; 5]);
    }
}

#[test]
fn copies_between_host_devices_keep_the_order_on_both() {
    within(60, || in_order(&host(2).open().unwrap(), &host(1).open().unwrap()));
}

#[test]
fn copies_between_gpus_keep_the_order_on_both() {
    with_two_gpus(|one, two| in_order(&one, &two));
}

#[test]
fn a_source_that_is_rebuilt_waits_for_the_copy_that_reads_it() {
    with_two_gpus(|one, two| {
        let x = up(&one, vec![7.0f32; 100_000]);
        let y = two.copy_peer(&x, two.uninit(100_000).unwrap()).unwrap().into_output();
        one.rebuild(Duration::from_secs(60)).unwrap();
        assert_eq!(down(&two, &y), vec![7.0f32; 100_000]);
        let error = two.copy_peer(&x, y).unwrap_err();
        assert!(matches!(error.error, Error::GpuRefStale { .. }) && error.back.is_some(), "{error}");
        two.rebuild(Duration::from_secs(60)).unwrap();
        let x = up(&one, [1.0f32, 2.0]);
        assert_eq!(down(&two, &two.copy_peer(&x, two.zeros(2).unwrap()).unwrap().into_output()), [1.0, 2.0]);
    });
}

#[test]
fn a_copy_between_a_gpu_and_the_host_says_what_to_do_instead() {
    with_two_gpus(|gpu, _| {
        let cpu = host(1).open().unwrap();
        let x = up(&cpu, [1.0f32]);
        let rejected = gpu.copy_peer(&x, gpu.zeros(1).unwrap()).unwrap_err();
        assert!(matches!(&rejected.error, Error::Unsupported { reason, .. } if reason.contains("download")));
        assert!(rejected.back.is_some());
    });
}

#[test]
fn lengths_that_differ_are_refused_and_the_target_comes_back() {
    let (one, two) = (host(1).open().unwrap(), host(1).open().unwrap());
    let rejected = two.copy_peer(&up(&one, [1u8, 2]), two.zeros(3).unwrap()).unwrap_err();
    assert!(rejected.error.to_string().contains("shape [3], but `source` has [2]"), "{}", rejected.error);
    assert_eq!(rejected.back.unwrap().0.len(), 3);
}

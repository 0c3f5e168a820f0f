//! Frequencies and good lengths, against their definitions.

use crate::common::refused;
use windlass::fft::{fftfreq, next_fast_len, rfftfreq};

#[test]
fn frequencies_are_in_the_order_of_the_points() {
    assert_eq!(fftfreq(1, 3.0).unwrap(), [0.0]);
    assert_eq!(fftfreq(8, 0.125).unwrap(), [0.0, 1.0, 2.0, 3.0, -4.0, -3.0, -2.0, -1.0]);
    assert_eq!(fftfreq(5, 0.2).unwrap(), [0.0, 1.0, 2.0, -2.0, -1.0]);
    assert_eq!(rfftfreq(8, 0.125).unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(rfftfreq(1, 1.0).unwrap(), [0.0]);
    for n in 1..50 {
        let (all, half) = (fftfreq(n, 1.0).unwrap(), rfftfreq(n, 1.0).unwrap());
        assert_eq!((all.len(), half.len()), (n, n / 2 + 1));
        let same = all.iter().zip(&half).filter(|(a, b)| a == b).count();
        assert!(same + 1 >= half.len(), "but for the last of an even number, which is its own mirror image");
    }
}

#[test]
fn what_has_no_frequencies_is_refused() {
    for (n, d, name) in [(0, 1.0, "n"), (4, 0.0, "d"), (4, f64::NAN, "d"), (4, f64::INFINITY, "d")] {
        assert_eq!(refused(&fftfreq(n, d).unwrap_err()).0, name);
        assert_eq!(refused(&rfftfreq(n, d).unwrap_err()).0, name);
    }
}

#[test]
fn a_good_length_is_the_next_without_large_factors() {
    let smooth = |mut n: usize| {
        for p in [2, 3, 5, 7] {
            while n.is_multiple_of(p) {
                n /= p;
            }
        }
        n == 1
    };
    for n in 1..3000 {
        let want = (n..).find(|n| smooth(*n));
        assert_eq!(next_fast_len(n), want, "{n}");
    }
    assert_eq!(next_fast_len(1_000_003), Some(1_000_188));
    assert_eq!(next_fast_len(usize::MAX / 2 + 1), Some(usize::MAX / 2 + 1));
    assert!(smooth(1_000_188));
    // There is one close to the end, and none behind it.
    assert!(next_fast_len(usize::MAX).is_none());
}

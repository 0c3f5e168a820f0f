//! Loops compiled for several instruction sets.
//!
//! Every multiplication followed by an addition states whether it is fused, so the bits are the same whichever version
//! runs: the machine affects only the speed.

/// A loop that [`run`] compiles for several instruction sets.
pub(crate) trait Loop {
    type Output;
    /// Must be `inline(always)`: only inlined code takes on the features of its caller.
    fn body(self) -> Self::Output;
}

/// Runs the loop with the widest vectors of the machine that support fused multiply-add.
pub(crate) fn run<L: Loop>(of: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<L: Loop>(of: L) -> L::Output {
            of.body()
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<L: Loop>(of: L) -> L::Output {
            of.body()
        }
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("fma") {
            // SAFETY: the machine has all of these, as checked above.
            return unsafe { avx512(of) };
        }
        if has!("avx2") && has!("fma") {
            // SAFETY: the machine has both, as checked above.
            return unsafe { avx2(of) };
        }
    }
    of.body()
}

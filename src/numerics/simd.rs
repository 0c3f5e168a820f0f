//! Loops compiled for more than the target's baseline.

/// A loop that [`run`] compiles for several instruction sets.
pub(super) trait Kernel {
    type Output;

    /// Must be `inline(always)`: only inlined code takes on the features of its caller.
    fn body(self) -> Self::Output;
}

/// Runs the loop, with AVX2 where the machine has it.
///
/// AVX-512 is left out: these loops wait for memory, and what AVX2 does for them is enough.
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.body()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2, as was asked just now.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.body()
}

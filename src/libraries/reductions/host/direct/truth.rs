//! How many truth values are true. Each byte but 0 is.

use super::Group;

/// The bytes that are not zero.
///
/// # Safety
/// As of [`Direct`](super::Direct).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn there(group: &Group) -> usize {
    // SAFETY: the elements of the group.
    let x = unsafe { std::slice::from_raw_parts(group.x, group.len) };
    // Sums of as many bytes that are 0 or 1 fit a byte.
    x.chunks(128).map(|x| usize::from(x.iter().map(|x| u8::from(*x != 0)).sum::<u8>())).sum()
}

/// # Safety
/// As of [`Direct`](super::Direct).
pub(super) unsafe fn count(group: &Group) {
    // SAFETY: the caller's promise.
    unsafe { *group.out[0].cast() = there(group) as i64 };
}

/// # Safety
/// As of [`Direct`](super::Direct).
pub(super) unsafe fn any(group: &Group) {
    // SAFETY: the caller's promise.
    unsafe { *group.out[0] = u8::from(there(group) > 0) };
}

/// # Safety
/// As of [`Direct`](super::Direct).
pub(super) unsafe fn all(group: &Group) {
    // SAFETY: the caller's promise.
    unsafe { *group.out[0] = u8::from(there(group) == group.len) };
}

//! This process: its forks, its end, and whose privileges it has.

/// Calls `handler` in every child that this process forks.
///
/// The handler does what is allowed between a fork and an exec: it touches atomics.
pub(crate) fn in_forked_children(handler: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: an `extern "C"` function without captures, which the caller keeps to what is allowed there.
    unsafe {
        libc::pthread_atfork(None, None, Some(handler));
    }
    #[cfg(not(unix))]
    let _ = handler;
}

/// Calls `handler` when the process exits, before those that are registered already.
#[cfg(feature = "cuda")]
pub(crate) fn at_exit(handler: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: an `extern "C"` function without captures.
    unsafe {
        libc::atexit(handler);
    }
    // Elsewhere no library of CUDA is loaded, so none has a handler of its own.
    #[cfg(not(unix))]
    let _ = handler;
}

/// Whether the program has more rights than the user who started it, who controls the environment variables.
#[cfg(any(feature = "nvrtc", feature = "dnn"))]
pub(crate) fn is_privileged() -> bool {
    #[cfg(unix)]
    // SAFETY: these take nothing and cannot fail.
    return unsafe { libc::geteuid() != libc::getuid() || libc::getegid() != libc::getgid() };
    #[cfg(not(unix))]
    false
}

/// Whether the system's linker distrusts the environment variables.
#[cfg(feature = "cuda")]
pub(crate) fn is_secure() -> bool {
    #[cfg(target_os = "linux")]
    // SAFETY: reads a value that the kernel gave the process; an unknown one is 0.
    return unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    #[cfg(not(target_os = "linux"))]
    false
}

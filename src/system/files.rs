//! Files that must belong to this user, and files that may be pipes.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;

/// Opening a pipe shall not block. (Elsewhere than on Unix no path is a pipe.)
pub(crate) fn do_not_block(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK);
    #[cfg(not(unix))]
    let _ = options;
}

/// A new file shall be readable and writable for its owner alone.
pub(crate) fn private_file(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// A new folder shall be accessible to its owner alone.
pub(crate) fn private_folder(builder: &mut DirBuilder) {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    #[cfg(not(unix))]
    let _ = builder;
}

/// Refuses files that other users made or can write.
pub(crate) fn only_ours(found: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // SAFETY: takes nothing and cannot fail.
        let ours = found.uid() == unsafe { libc::geteuid() };
        if !ours || found.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    #[cfg(not(unix))]
    let _ = found;
    Ok(())
}

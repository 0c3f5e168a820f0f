//! Files that must belong to this user, files that may be pipes, and files that take the place of others.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// How often a name is tried anew, if one is taken.
const TRIES: usize = 16;

/// Puts a file with these contents in the place of `path`: all of it or nothing. It is written beside it first, under a name that
/// nobody knows before. Others may be able to write in that folder, as in that for temporary files: they must not be able to make
/// a link there that leads the write to a file of this user.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "programs are saved on Linux"))]
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    replace_by(path, contents, OpenOptions::new().write(true).create_new(true), &mut unknown)
}

/// As [`replace`]; only its owner can read the file.
pub(crate) fn replace_privately(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private_file(&mut options);
    replace_by(path, contents, &options, &mut unknown)
}

/// A number that nobody can know: the standard library seeds its hashes by the system's random numbers.
fn unknown() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn replace_by(path: &Path, contents: &[u8], options: &OpenOptions, number: &mut dyn FnMut() -> u64) -> io::Result<()> {
    let mut tries = 0;
    let (new, mut file) = loop {
        let mut new = path.as_os_str().to_os_string();
        new.push(format!(".new-{:016x}", number()));
        match options.open(&new) {
            Ok(file) => break (PathBuf::from(new), file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    };
    let written = file.write_all(contents).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder of a test, which goes with this.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("windlass-files-{name}-{:016x}", unknown()));
            std::fs::create_dir(&folder).unwrap();
            Folder(folder)
        }

        fn names(&self) -> Vec<String> {
            let files = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_left_alone_and_no_link_is_followed() {
        let folder = Folder::new("taken");
        let at = |name: &str| folder.0.join(name);
        std::fs::write(at("victim"), "keep").unwrap();
        symlink(at("victim"), at("file.new-0000000000000001")).unwrap();
        symlink(at("nowhere"), at("file.new-0000000000000002")).unwrap();
        std::fs::write(at("file.new-0000000000000003"), "of others").unwrap();
        let (mut options, mut next) = (OpenOptions::new(), 0);
        let mut number = || {
            next += 1;
            next
        };
        replace_by(&at("file"), b"new", options.write(true).create_new(true), &mut number).unwrap();
        assert_eq!(next, 4);
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "keep");
        assert_eq!(std::fs::read_to_string(at("file.new-0000000000000003")).unwrap(), "of others");
        assert!(!at("nowhere").exists());
        // All names are taken: an error, and nothing is written or removed.
        let before = folder.names();
        let refused = replace_by(&at("file"), b"newer", options.write(true).create_new(true), &mut || 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((folder.names(), std::fs::read(at("file")).unwrap()), (before, b"new".to_vec()));
    }

    #[test]
    fn a_file_takes_the_place_of_a_link_and_not_of_what_it_names() {
        let folder = Folder::new("link");
        let at = |name: &str| folder.0.join(name);
        std::fs::write(at("victim"), "keep").unwrap();
        for replace in [replace, replace_privately] {
            symlink(at("victim"), at("file")).unwrap();
            replace(&at("file"), b"new").unwrap();
            assert!(!at("file").symlink_metadata().unwrap().is_symlink());
            assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "keep");
            assert_eq!(folder.names(), ["file", "victim"]);
            std::fs::remove_file(at("file")).unwrap();
        }
    }

    #[test]
    fn a_private_file_is_readable_for_its_owner_alone() {
        let folder = Folder::new("private");
        let file = folder.0.join("file");
        replace_privately(&file, b"lengths and labels").unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
        // A folder is in the place: nothing stays beside it.
        let inside = folder.0.join("folder");
        std::fs::create_dir_all(inside.join("full")).unwrap();
        replace(&inside, b"new").unwrap_err();
        assert_eq!(folder.names(), ["file", "folder"]);
        assert_ne!(unknown(), unknown());
    }
}

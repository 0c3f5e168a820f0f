//! Identifies this executable, for distances that are stored and used later.

use super::distance;
use crate::core::error::{Error, Result};
use std::sync::OnceLock;

/// The hash of the file that this code was loaded from. Reads the whole file, once.
pub(crate) fn executable() -> Result<[u8; 32]> {
    static HASH: OnceLock<Result<[u8; 32]>> = OnceLock::new();
    HASH.get_or_init(|| {
        let path =
            distance::file().ok_or_else(|| Error::unsupported("the path of this program's file is not known"))?;
        let read = |path: &std::path::Path| {
            let mut hasher = blake3::Hasher::new();
            std::io::copy(&mut std::fs::File::open(path)?, &mut hasher)?;
            Ok(*hasher.finalize().as_bytes())
        };
        read(&path).map_err(|error: std::io::Error| {
            Error::unsupported(format!("this program's file cannot be read: {}: {error}", path.display()))
        })
    })
    .clone()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_of_the_tests_is_found() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(super::executable().unwrap(), *blake3::hash(&own).as_bytes());
    }
}

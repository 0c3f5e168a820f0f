//! Where the examples write their pictures.

use std::path::PathBuf;

/// The file that the caller named, or else one of this name in the folder of what is built.
pub(crate) fn file(named: Option<impl Into<PathBuf>>, name: &str) -> std::io::Result<PathBuf> {
    if let Some(file) = named {
        return Ok(file.into());
    }
    let folder = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join(name))
}

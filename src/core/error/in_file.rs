//! The file that an error is about.

use super::Error;
use std::path::Path;

impl Error {
    /// Names the file, in an error of its contents or of the system about it.
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        let text = match &mut self {
            Error::InvalidArgument { argument, reason, .. } if matches!(&**argument, "file" | "path" | "name") => {
                reason
            }
            Error::Unsupported { reason, .. } => reason,
            Error::LibraryError { message, .. } if message.contains("the file") => message,
            _ => return self,
        };
        *text = format!("{}: {text}", path.display());
        self
    }
}

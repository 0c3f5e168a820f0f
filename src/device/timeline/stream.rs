//! Writes events to a file as they occur, and switches from one file to the next.
//!
//! A file is a JSON array of events whose closing bracket may be missing, which the format allows. It always ends with
//! a whole event, so it can be opened even if the program crashes. Names are written when they are given, and again at
//! the beginning of each file.

use super::names::Names;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes to collect before a write.
const ENOUGH: usize = 64 << 10;

/// The file that is written at present.
pub(super) struct Stream {
    path: PathBuf,
    file: File,
    /// Text that is not in the file yet.
    waiting: String,
    written: u64,
    most: u64,
    files: usize,
    /// Nothing is written after a failure.
    failed: Option<io::Error>,
    broken: bool,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} bytes", self.path.display(), self.written)
    }
}

impl Stream {
    pub(super) fn open(path: &Path, most: u64, files: usize) -> io::Result<Self> {
        let (file, path, waiting) = (create(path)?, path.to_owned(), String::new());
        let files = files.max(1);
        let mut stream = Stream { path, file, waiting, written: 0, most, files, failed: None, broken: false };
        stream.begin();
        Ok(stream)
    }

    fn begin(&mut self) {
        self.written = 0;
        self.put("[");
    }

    fn put(&mut self, text: &str) {
        self.written += text.len() as u64;
        self.waiting.push_str(text);
    }

    fn write(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.file.write_all(waiting.as_bytes())
    }

    /// Adds one event or name. `names`: all names that were given before.
    pub(super) fn add(&mut self, text: &str, names: &Names) {
        if self.broken {
            return;
        }
        let mut add = || {
            if self.written + text.len() as u64 > self.most && self.written > 1 {
                self.turn(names)?;
            }
            let separator = if self.written > 1 { ",\n" } else { "\n" };
            self.put(separator);
            self.put(text);
            if self.waiting.len() < ENOUGH { Ok(()) } else { self.write() }
        };
        if let Err(error) = add() {
            (self.failed, self.broken) = (Some(error), true);
        }
    }

    /// Switches to the next file.
    fn turn(&mut self, names: &Names) -> io::Result<()> {
        self.put("\n]\n");
        self.write()?;
        for number in (1..self.files).rev() {
            let older = if number == 1 { self.path.clone() } else { self.numbered(number - 1) };
            match fs::rename(older, self.numbered(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = create(&self.path)?;
        self.begin();
        let mut text = String::from("\n");
        names.all(&mut text);
        // The next event adds its own comma.
        self.put(text.strip_suffix(",\n").unwrap_or_default());
        Ok(())
    }

    /// The path of an older file, such as `trace.1.json`.
    fn numbered(&self, number: usize) -> PathBuf {
        let kind = self.path.extension().map(|kind| kind.to_string_lossy().into_owned());
        self.path.with_extension(kind.map_or_else(|| number.to_string(), |kind| format!("{number}.{kind}")))
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.write(),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.broken {
            self.put("\n]\n");
            let _ = self.write();
        }
    }
}

/// Creates a file. The error names it.
pub(super) fn create(path: &Path) -> io::Result<File> {
    File::create(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

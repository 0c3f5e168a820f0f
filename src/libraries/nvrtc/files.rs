//! The current state of the files that a program can read.
//!
//! This state is part of the cache key: the paths, and the contents or the absence of each file. The hash changes if a
//! header changes, disappears, or appears at a path that is searched earlier. The files are read again for every
//! compilation that has any; a program whose headers are all in memory has none.

use super::Link;
use super::program::{Prepared, Source};
use super::scan::{Include, Scan};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The limits of the search: 64 MiB in 4096 files.
const MOST_FILES: usize = 4096;
const MOST_BYTES: usize = 64 << 20;
const TOO_MUCH: &str = "more than 4096 headers, or 64 MiB of them";

/// The state of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// The program reads none.
    None,
    /// One line for each path that was checked: the path, and the length and hash of its contents.
    Read {
        /// The hash of the listing.
        digest: [u8; 32],
        /// The listing, compared byte for byte on disk.
        listing: Vec<u8>,
    },
    /// The files cannot be determined, for this reason: the answer must not be cached.
    Unknown(&'static str),
}

impl Files {
    /// Determines the files. `cudas` are the folders of CUDA's own headers, which the compiler searches after those of
    /// the program.
    pub(super) fn find(program: &Source, prepared: &Prepared, cudas: &[PathBuf]) -> Self {
        if let Some(why) = prepared.scan.opaque {
            return Files::Unknown(why);
        }
        // The library reads this variable. Its effect is not documented, so nothing is known of the answer.
        if std::env::var_os("NVRTC_APPEND_FLAGS").is_some_and(|flags| !flags.is_empty()) {
            return Files::Unknown("NVRTC_APPEND_FLAGS is set");
        }
        let own = program.compile_options().include_paths();
        // The program's folders come first, also for includes in CUDA's headers: then all of these are listed file by
        // file.
        let (paths, cudas) = if own.is_empty() { (Vec::new(), cudas) } else { ([own, cudas].concat(), [].as_slice()) };
        let reaches_a_file =
            |include: &Include| !paths.is_empty() || !cudas.is_empty() || Path::new(&include.name).is_absolute();
        if !prepared.scan.includes.iter().any(reaches_a_file) {
            return Files::None;
        }
        Search::new(program, &paths, cudas).run(&prepared.scan)
    }

    /// A link reads only the images that it gets.
    pub(super) fn of_link(link: &Link) -> Self {
        if link.touches_files() { Files::Unknown("a free option that reads or writes files") } else { Files::None }
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        match self {
            Files::Read { digest, .. } => *digest,
            Files::None | Files::Unknown(_) => [0; 32],
        }
    }

    pub(super) fn listing(&self) -> &[u8] {
        match self {
            Files::Read { listing, .. } => listing,
            Files::None | Files::Unknown(_) => &[],
        }
    }
}

struct Search<'a> {
    program: &'a Source,
    paths: &'a [PathBuf],
    /// Folders of CUDA's own headers, whose contents are determined by their version.
    cudas: &'a [PathBuf],
    /// Every path that was checked, and whether there was a file.
    seen: HashMap<PathBuf, bool>,
    listing: Vec<u8>,
    bytes: usize,
    files: usize,
    /// Includes that are still to be searched, and the folders of the files that contain them.
    queue: VecDeque<(Vec<PathBuf>, Include)>,
}

impl<'a> Search<'a> {
    fn new(program: &'a Source, paths: &'a [PathBuf], cudas: &'a [PathBuf]) -> Self {
        let (seen, listing, queue) = (HashMap::new(), Vec::new(), VecDeque::new());
        Search { program, paths, cudas, seen, listing, bytes: 0, files: 0, queue }
    }

    fn run(mut self, scan: &Scan) -> Files {
        // Headers in memory have folders through their names, as the program has.
        let own = [self.program.label()].into_iter().chain(self.program.headers().map(|(name, _)| name));
        let mut beside: Vec<PathBuf> = own.filter_map(|name| folder(Path::new(name))).collect();
        beside.sort();
        beside.dedup();
        self.note_cudas();
        self.queue.extend(scan.includes.iter().map(|include| (beside.clone(), include.clone())));
        while let Some((beside, include)) = self.queue.pop_front() {
            if let Err(why) = self.look_for(&beside, &include) {
                return Files::Unknown(why);
            }
        }
        Files::Read { digest: *blake3::hash(&self.listing).as_bytes(), listing: self.listing }
    }

    /// Searches in the order of the compiler: the folder of the including file, then the include paths, until the file
    /// is found. For `#include_next` all later files may count.
    fn look_for(&mut self, beside: &[PathBuf], include: &Include) -> Result<(), &'static str> {
        let name = Path::new(&include.name);
        if name.is_absolute() {
            return self.look_at(name.to_path_buf()).map(|_| ());
        }
        if self.paths.is_empty() && self.cudas.is_empty() {
            return Ok(());
        }
        // The request may come from files in several folders (the headers in memory): all of these count.
        let mut found = false;
        for folder in beside.iter().filter(|_| include.quoted) {
            found |= self.look_at(folder.join(name))?;
        }
        let in_memory = || self.program.headers().any(|(header, _)| header == include.name);
        if !include.next && (in_memory() || (found && beside.len() == 1)) {
            return Ok(());
        }
        for path in self.paths {
            if self.look_at(path.join(name))? && !include.next {
                break;
            }
        }
        if let Some(header) = self.cudas.iter().map(|folder| folder.join(name)).find(|file| file.is_file()) {
            self.listing.extend_from_slice(header.as_os_str().as_encoded_bytes());
            self.listing.push(0);
        }
        Ok(())
    }

    /// Notes the release of CUDA's headers: a file that changes with each release, and its modification time.
    fn note_cudas(&mut self) {
        const TELLING: [&str; 6] = [
            "cuda.h",
            "cuda_runtime_api.h",
            "cuda_fp16.h",
            "cooperative_groups.h",
            "cuda/std/__cccl/version.h",
            "cuda/__cccl_config",
        ];
        for file in self.cudas.iter().flat_map(|folder| TELLING.map(|name| folder.join(name))) {
            let Ok(found) = file.metadata() else { continue };
            let put = found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            self.listing.extend_from_slice(file.as_os_str().as_encoded_bytes());
            self.listing.push(0);
            self.listing.extend_from_slice(&found.len().to_le_bytes());
            self.listing.extend_from_slice(&put.unwrap_or_default().as_nanos().to_le_bytes());
        }
    }

    /// Notes the contents of `path`, once. Returns whether it is a file.
    fn look_at(&mut self, path: PathBuf) -> Result<bool, &'static str> {
        if let Some(&known) = self.seen.get(&path) {
            return Ok(known);
        }
        self.files += 1;
        let text = contents(&path, MOST_BYTES - self.bytes)?;
        self.bytes += text.as_ref().map_or(0, Vec::len);
        if self.files > MOST_FILES {
            return Err(TOO_MUCH);
        }
        self.listing.extend_from_slice(path.as_os_str().as_encoded_bytes());
        self.listing.push(0);
        let is_file = match &text {
            Some(text) => {
                self.listing.extend_from_slice(&(text.len() as u64).to_le_bytes());
                self.listing.extend_from_slice(blake3::hash(text).as_bytes());
                true
            }
            // Absent, a folder, or not readable: the compiler continues with the next path too.
            None => {
                self.listing.extend_from_slice(&u64::MAX.to_le_bytes());
                false
            }
        };
        if let Some(text) = text {
            let scan = Scan::of_text(&String::from_utf8_lossy(&text));
            if let Some(why) = scan.opaque {
                return Err(why);
            }
            let beside: Vec<PathBuf> = folder(&path).into_iter().collect();
            self.queue.extend(scan.includes.into_iter().map(|include| (beside.clone(), include)));
        }
        self.seen.insert(path, is_file);
        Ok(is_file)
    }
}

/// The contents of a file, at most `most` bytes; `None` for paths that the compiler skips: absent, a folder, not
/// readable.
fn contents(path: &Path, most: usize) -> Result<Option<Vec<u8>>, &'static str> {
    let mut options = File::options();
    options.read(true);
    // Without this flag, opening a pipe would block.
    crate::system::files::do_not_block(&mut options);
    let Ok(file) = options.open(path) else { return Ok(None) };
    match file.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(found) if !found.is_dir() => return Err("an #include of a path that is no file"),
        _ => return Ok(None),
    }
    let mut text = Vec::new();
    match file.take(most as u64 + 1).read_to_end(&mut text) {
        Ok(read) if read > most => Err(TOO_MUCH),
        Ok(_) => Ok(Some(text)),
        Err(_) => Ok(None),
    }
}

/// The folder of a file, made absolute against the current folder.
fn folder(file: &Path) -> Option<PathBuf> {
    std::path::absolute(file).ok()?.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::nvrtc::CompileOptions;
    use crate::libraries::nvrtc::testing::Folder;

    fn digest(program: &Source) -> [u8; 32] {
        match Files::find(program, program.prepared().unwrap(), &[]) {
            Files::Read { digest, .. } => digest,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_with_its_headers_in_memory_reads_no_file() {
        let program = Source::new("#include \"a.h\"\n#include <missing.h>\n").header("a.h", "");
        assert_eq!(Files::find(&program, program.prepared().unwrap(), &[]), Files::None);
    }

    #[test]
    fn a_header_that_changes_anywhere_below_changes_the_state() {
        let folder = Folder::new();
        folder.write("inc/a.h", "#include \"b.h\"\n");
        folder.write("inc/b.h", "#if 0\n#include <sub/c.h>\n#endif\n");
        folder.write("inc/sub/c.h", "#include \"d.h\"\n");
        folder.write("inc/sub/d.h", "int one;");
        let options = CompileOptions::new().include_path(folder.join("early")).include_path(folder.join("inc"));
        let program = Source::new("#include <a.h>\n").options(options);
        let first = digest(&program);
        assert_eq!(digest(&program), first);
        folder.write("inc/sub/d.h", "int two;");
        let second = digest(&program);
        assert_ne!(second, first);
        // Another file of the same name appears in a folder that is searched earlier.
        folder.write("early/b.h", "");
        assert_eq!(digest(&program), second, "found beside a.h first");
        folder.write("early/a.h", "");
        let third = digest(&program);
        assert_ne!(third, second);
        std::fs::remove_file(folder.join("early/a.h")).unwrap();
        assert_eq!(digest(&program), second);
        folder.write("inc/sub/d.h", "int one;");
        assert_eq!(digest(&program), first);
        folder.write("inc/unrelated.h", "x");
        assert_eq!(digest(&program), first);
    }

    #[test]
    fn the_next_header_of_a_name_counts_too() {
        for (text, own) in [("#include_next <a.h>\n", None), ("#if __has_include_next(<a.h>)\n#endif\n", Some(""))] {
            let folder = Folder::new();
            folder.write("one/a.h", text);
            folder.write("two/a.h", "1");
            folder.write("three/a.h", "1");
            let paths = ["one", "two", "three"].map(|name| folder.join(name));
            let options = paths.into_iter().fold(CompileOptions::new(), CompileOptions::include_path);
            let program = match own {
                None => Source::new("#include <a.h>\n"),
                // The first file of this name is in memory, and asks for the next one.
                Some(_) => Source::new("#include <a.h>\n").header("a.h", text),
            };
            let program = program.options(options);
            let first = digest(&program);
            folder.write("two/a.h", "2");
            let second = digest(&program);
            assert_ne!(second, first, "{text}");
            folder.write("three/a.h", "2");
            assert_ne!(digest(&program), second, "{text}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_is_neither_read_nor_waited_for() {
        let folder = Folder::new();
        let pipe = folder.join("pipe.h");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: a string with its zero at the end.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [pipe.to_str().unwrap(), "/dev/zero"] {
            let program = Source::new(format!("#if 0\n#include \"{path}\"\n#endif\n"));
            let files = Files::find(&program, program.prepared().unwrap(), &[]);
            assert!(matches!(files, Files::Unknown(why) if why.contains("no file")), "{path}: {files:?}");
        }
        // A folder of this name is skipped, as the compiler does.
        folder.write("inc/a.h/b", "");
        let program = Source::new("#include <a.h>\n").options(CompileOptions::new().include_path(folder.join("inc")));
        digest(&program);
    }

    #[test]
    fn a_header_by_its_absolute_path_counts_without_an_include_path() {
        let folder = Folder::new();
        folder.write("a.h", "1");
        let program = Source::new(format!("#include \"{}\"\n", folder.join("a.h").display()));
        let first = digest(&program);
        folder.write("a.h", "2");
        assert_ne!(digest(&program), first);
    }

    #[test]
    fn a_header_that_cannot_be_followed_makes_the_answer_unknown() {
        let folder = Folder::new();
        folder.write("a.h", "#include MACRO\n");
        let program = Source::new("#include <a.h>\n").options(CompileOptions::new().include_path(folder.path()));
        assert!(matches!(Files::find(&program, program.prepared().unwrap(), &[]), Files::Unknown(_)));
        let program = Source::new("x").options(CompileOptions::new().option("--pre-include=a.h"));
        assert!(matches!(Files::find(&program, program.prepared().unwrap(), &[]), Files::Unknown(_)));
    }

    /// CUDA's own headers count as one release, not as many files: another release is another state.
    #[test]
    fn cudas_headers_count_by_their_release() {
        let folder = Folder::new();
        folder.write("cudas/cuda_fp16.h", "#include MACRO\n");
        folder.write("cudas/cuda.h", "#define CUDA_VERSION 13000\n");
        let program = Source::new("#include <cuda_fp16.h>\n");
        let digest = || match Files::find(&program, program.prepared().unwrap(), &[folder.join("cudas")]) {
            Files::Read { digest, .. } => digest,
            other => panic!("{other:?}"),
        };
        let first = digest();
        assert_eq!(digest(), first);
        folder.write("cudas/cuda.h", "#define CUDA_VERSION 130010\n");
        assert_ne!(digest(), first);
        // If the program's own folders come before them, each file counts.
        folder.write("own/other.h", "");
        let program = program.clone().options(CompileOptions::new().include_path(folder.join("own")));
        let files = Files::find(&program, program.prepared().unwrap(), &[folder.join("cudas")]);
        assert!(matches!(files, Files::Unknown(_)), "{files:?}");
    }
}

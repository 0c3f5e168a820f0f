//! One job for the compiler or the linker, with everything that its answer depends on.

use super::compiler::Identity;
use super::extent::extent;
use super::files::Files;
use super::key::{Key, Writer};
use super::{Arch, Emit, Image, ImageKind, Link, Source, backend, cudas};
use crate::core::error::Result;
use crate::libraries::disk_cache::Answer;
use std::path::PathBuf;

/// The input of a job.
#[derive(Clone)]
pub(super) enum Request {
    Compile(Source),
    Link(Link),
}

impl Request {
    /// Whether all bytes of both are equal. Clones are recognised without a comparison.
    pub(super) fn is(&self, other: &Request) -> bool {
        match (self, other) {
            (Request::Compile(a), Request::Compile(b)) => a.is(b),
            (Request::Link(a), Request::Link(b)) => a.is(b),
            _ => false,
        }
    }

    /// The bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Request::Compile(program) => {
                program.source().len() + program.headers().map(|(_, t)| t.len()).sum::<usize>()
            }
            Request::Link(link) => link.inputs().iter().map(|image| image.bytes().len()).sum(),
        }
    }
}

/// A request with what was determined for it: the tool, the architecture, the files it can read.
pub(super) struct Job {
    pub(super) request: Request,
    identity: &'static Identity,
    arch: Arch,
    files: Files,
    /// CUDA's own headers, if the program can include some.
    cudas: Vec<PathBuf>,
}

impl Job {
    /// Checks the request. `device` is the architecture if the request names none.
    pub(super) fn new(request: Request, device: Option<Arch>) -> Result<Self> {
        let (identity, arch, files, cudas) = match &request {
            Request::Compile(program) => {
                let prepared = program.prepared()?;
                let identity = backend::identity()?;
                let arch = identity.target(program.compile_options().target(), device, program.emits())?;
                let cudas = cudas::wanted(program, prepared, backend::header_folders);
                (identity, arch, Files::find(program, prepared, &cudas), cudas)
            }
            Request::Link(link) => {
                let arch = link.target(device);
                link.arguments(arch)?;
                (backend::linker()?, arch, Files::of_link(link), Vec::new())
            }
        };
        Ok(Job { request, identity, arch, files, cudas })
    }

    /// The cache key of the answer; `None` if the answer must not be cached.
    pub(super) fn key(&self) -> Result<Option<Key>> {
        if matches!(self.files, Files::Unknown(_)) {
            return Ok(None);
        }
        let fingerprint = match &self.request {
            Request::Compile(program) => program.prepared()?.fingerprint,
            Request::Link(link) => link.fingerprint(&link.arguments(self.arch)?),
        };
        Ok(Some(Key::new(fingerprint, self.arch, self.files.digest())))
    }

    /// Everything that an entry on disk depends on, in full: it is stored, and compared byte for byte.
    pub(super) fn material(&self) -> Result<Vec<u8>> {
        let mut all = Vec::with_capacity(self.request.bytes() + 1024);
        let mut writer = Writer(|bytes: &[u8]| all.extend_from_slice(bytes));
        writer.number(self.identity.version.0.into());
        writer.number(self.identity.version.1.into());
        writer.piece(&self.identity.build);
        writer.piece(self.arch.to_string().as_bytes());
        writer.piece(self.files.listing());
        match &self.request {
            Request::Compile(program) => program.write(&program.prepared()?.arguments, &mut writer),
            Request::Link(link) => link.write(&link.arguments(self.arch)?, &mut writer),
        }
        Ok(all)
    }

    /// Runs the job, without a lock. This can take long.
    pub(super) fn run(&self) -> Result<Answer> {
        match &self.request {
            Request::Compile(program) => backend::compile(program, program.prepared()?, self.arch, &self.cudas)
                .map_err(|error| cudas::advise(error, self.identity.version.0, &self.cudas)),
            Request::Link(link) => backend::link(link.inputs(), self.arch, link.emits(), &link.arguments(self.arch)?),
        }
    }

    /// Whether the files have not changed since the job began. If they have, it is unknown which state the answer
    /// belongs to.
    pub(super) fn is_as_it_was(&self) -> bool {
        match &self.request {
            Request::Compile(program) if self.files != Files::None => {
                program.prepared().is_ok_and(|prepared| Files::find(program, prepared, &self.cudas) == self.files)
            }
            _ => true,
        }
    }

    /// Whether a cached binary is as long as its own headers say: a driver relies on them.
    pub(super) fn takes(&self, answer: &Answer) -> bool {
        let length = answer.bytes.len() as u64;
        extent(self.kind(), &answer.bytes).is_some_and(|extent| extent <= length)
    }

    fn kind(&self) -> ImageKind {
        let emit = match &self.request {
            Request::Compile(program) => program.emits(),
            Request::Link(link) => link.emits(),
        };
        match emit {
            Emit::Ptx => ImageKind::Ptx,
            Emit::Cubin => ImageKind::Cubin,
            Emit::LtoIr => ImageKind::LtoIr,
        }
    }

    /// The image of an answer.
    pub(super) fn image(&self, answer: Answer) -> Image {
        let Answer { bytes, log, names } = answer;
        let (names, program) = match &self.request {
            Request::Compile(program) => (names, Some(program.clone())),
            Request::Link(link) => (link.names(), None),
        };
        Image::compiled(self.kind(), Some(self.arch.to_real()), bytes, names, log, program)
    }
}

#[cfg(test)]
impl Job {
    /// A job with a tool and files that a test chooses.
    pub(super) fn test(request: Request, identity: &'static Identity, arch: Arch) -> Self {
        let files = match &request {
            Request::Compile(program) => Files::find(program, program.prepared().unwrap(), &[]),
            Request::Link(link) => Files::of_link(link),
        };
        Job { request, identity, arch, files, cudas: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::nvrtc::CompileOptions;

    /// Lives as long as the process, as that of a library does, and stays reachable for the leak sanitizer.
    fn identity(version: (u32, u32), build: u8) -> &'static Identity {
        static MADE: std::sync::Mutex<Vec<&'static Identity>> = std::sync::Mutex::new(Vec::new());
        let made: &'static Identity =
            Box::leak(Box::new(Identity { version, build: [build; 32], archs: vec![80, 90] }));
        MADE.lock().unwrap().push(made);
        made
    }

    fn both(request: Request, arch: Arch, identity: &'static Identity) -> (Key, Vec<u8>) {
        let job = Job::test(request, identity, arch);
        (job.key().unwrap().unwrap(), job.material().unwrap())
    }

    fn link(text: &str) -> Link {
        Link::new(Arch::SM_90).input(&Image::ptx(text).unwrap())
    }

    #[test]
    fn whatever_the_answer_depends_on_changes_the_key_and_the_material() {
        let (plain, tool) = (Source::new("int x;"), identity((13, 0), 1));
        let one = link(".version 8.0\n");
        let all = [
            (Request::Compile(plain.clone()), Arch::SM_90),
            (Request::Compile(plain.clone()), Arch::SM_90A),
            (Request::Compile(plain.clone()), Arch::SM_90.to_virtual()),
            (Request::Compile(Source::new("int y;")), Arch::SM_90),
            (Request::Compile(plain.clone().options(CompileOptions::new().ftz(true))), Arch::SM_90),
            (Request::Compile(plain.clone().header("a.h", "1")), Arch::SM_90),
            (Request::Compile(plain.clone().header("a.h", "2")), Arch::SM_90),
            (Request::Compile(plain.clone().expression("x")), Arch::SM_90),
            (Request::Compile(plain.emit(Emit::Cubin)), Arch::SM_90),
            (Request::Link(one.clone()), Arch::SM_90),
            (Request::Link(one.clone()), Arch::SM_90A),
            (Request::Link(one.clone().option("-lineinfo")), Arch::SM_90),
            (Request::Link(link(".version 8.1\n")), Arch::SM_90),
            (Request::Link(one.input(&Image::ptx(".version 8.0\n").unwrap())), Arch::SM_90),
        ];
        let all: Vec<_> = all.into_iter().map(|(request, arch)| both(request, arch, tool)).collect();
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(a.0, b.0);
                assert_ne!(a.1, b.1);
            }
        }
        let again = both(Request::Compile(Source::new("int x;")), Arch::SM_90, tool);
        assert_eq!(again, all[0]);
        assert_eq!(both(Request::Link(link(".version 8.0\n")), Arch::SM_90, tool), all[9]);
    }

    #[test]
    fn a_link_whose_options_name_files_is_not_kept() {
        let key = |link: Link| Job::test(Request::Link(link), identity((13, 0), 1), Arch::SM_90).key().unwrap();
        assert!(key(link(".version 8.0\n").option("-lineinfo")).is_some());
        assert!(key(link(".version 8.0\n").option("-Xptxas=--options-file=o.txt")).is_none());
    }

    #[test]
    fn machine_code_that_was_cut_off_before_it_was_kept_is_not_taken() {
        let job =
            |emit| Job::test(Request::Compile(Source::new("int x;").emit(emit)), identity((13, 0), 1), Arch::SM_90);
        let mut elf = vec![0u8; 64];
        elf[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        let answer = |bytes: &[u8]| Answer { bytes: bytes.to_vec(), log: String::new(), names: Vec::new() };
        assert!(job(Emit::Cubin).takes(&answer(&elf)));
        assert!(!job(Emit::Cubin).takes(&answer(&elf[..60])));
        assert!(job(Emit::Ptx).takes(&answer(b".version 8.0\n")));
    }

    #[test]
    fn another_compiler_makes_other_material() {
        let material = |tool| both(Request::Compile(Source::new("int x;")), Arch::SM_90, tool).1;
        let plain = material(identity((13, 0), 1));
        for tool in [identity((13, 1), 1), identity((12, 0), 1), identity((13, 0), 2)] {
            assert_ne!(material(tool), plain, "{tool:?}");
        }
    }
}

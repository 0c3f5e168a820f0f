//! What an answer of the compiler depends on.

use super::Arch;
use super::files::Files;
use super::program::{Prepared, Program};

/// Everything that an image depends on, hashed: the program with its options, the architecture, and the files it may
/// read. The compiler is one for the life of a process; on disk its version and build count as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    program: [u8; 32],
    arch: Arch,
    files: [u8; 32],
}

impl Key {
    pub(super) fn new(prepared: &Prepared, arch: Arch, files: &Files) -> Self {
        Key { program: prepared.fingerprint, arch, files: files.digest() }
    }

    #[cfg(test)]
    pub(super) fn test(number: u8) -> Self {
        Key { program: [number; 32], arch: Arch::SM_80, files: [0; 32] }
    }
}

/// Which compiler it was, for what outlives the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompilerMark {
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// Tells one build from another.
    pub(super) build: [u8; 32],
}

/// All that an entry on disk depends on, in full: it is stored, and compared byte for byte.
pub(super) fn material(
    compiler: &CompilerMark,
    program: &Program,
    prepared: &Prepared,
    arch: Arch,
    files: &Files,
) -> Vec<u8> {
    let mut all = Vec::with_capacity(program.source().len() + 1024);
    all.extend_from_slice(&compiler.version.0.to_le_bytes());
    all.extend_from_slice(&compiler.version.1.to_le_bytes());
    all.extend_from_slice(&compiler.build);
    for piece in [arch.to_string().as_bytes(), files.listing()] {
        all.extend_from_slice(&(piece.len() as u64).to_le_bytes());
        all.extend_from_slice(piece);
    }
    program.write(&prepared.arguments, &mut |bytes| all.extend_from_slice(bytes));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvrtc::{CompileOptions, Emit};

    const MARK: CompilerMark = CompilerMark { version: (13, 0), build: [7; 32] };

    fn both(program: &Program, arch: Arch, mark: &CompilerMark) -> (Key, Vec<u8>) {
        let prepared = program.prepared().unwrap();
        let files = Files::of(program, prepared);
        (Key::new(prepared, arch, &files), material(mark, program, prepared, arch, &files))
    }

    #[test]
    fn whatever_the_answer_depends_on_changes_the_key_and_the_material() {
        let plain = Program::new("int x;");
        let all = [
            both(&plain, Arch::SM_90, &MARK),
            both(&plain, Arch::SM_90A, &MARK),
            both(&plain, Arch::SM_90.to_virtual(), &MARK),
            both(&Program::new("int y;"), Arch::SM_90, &MARK),
            both(&plain.clone().options(CompileOptions::new().ftz(true)), Arch::SM_90, &MARK),
            both(&plain.clone().header("a.h", "1"), Arch::SM_90, &MARK),
            both(&plain.clone().header("a.h", "2"), Arch::SM_90, &MARK),
            both(&plain.clone().expression("x"), Arch::SM_90, &MARK),
            both(&plain.clone().emit(Emit::Cubin), Arch::SM_90, &MARK),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(a.0, b.0);
                assert_ne!(a.1, b.1);
            }
        }
        assert_eq!(both(&plain, Arch::SM_90, &MARK), both(&Program::new("int x;"), Arch::SM_90, &MARK));
    }

    #[test]
    fn another_compiler_makes_other_material() {
        let program = Program::new("int x;");
        let plain = both(&program, Arch::SM_90, &MARK).1;
        for mark in [CompilerMark { version: (13, 1), ..MARK }, CompilerMark { build: [8; 32], ..MARK }] {
            assert_ne!(both(&program, Arch::SM_90, &mark).1, plain);
        }
    }
}

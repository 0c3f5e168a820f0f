//! What the compiler says, and where it says it of.

use super::here::{Folder, kernel, memory_only, nvrtc, template};
use windlass::nvrtc::{CompileOptions, Source};
use windlass::{Error, error::Diagnostic};

fn failure(program: &Source) -> (String, Vec<Diagnostic>, String) {
    match memory_only().compile(program) {
        Err(error) => match error.clone() {
            Error::Compile { log, diagnostics, .. } => (log, diagnostics, error.to_string()),
            other => panic!("{other:?}"),
        },
        Ok(image) => panic!("{image:?}"),
    }
}

#[test]
fn an_error_carries_the_log_and_the_lines_it_speaks_of() {
    if !nvrtc() {
        return;
    }
    let source = "// one\n// two\n__global__ void k(int* x) {\n  *x = nonsense;\n}\n// six\n// seven\n";
    let (log, diagnostics, shown) = failure(&Source::new(source).name("dir (1): odd/bad.cu"));
    assert!(log.contains("identifier \"nonsense\" is undefined"), "{log}");
    let first = &diagnostics[0];
    assert_eq!((&*first.file, first.line, first.is_error), ("dir (1): odd/bad.cu", 4, true));
    let lines: Vec<(u32, &str)> = first.source.iter().map(|(n, text)| (*n, text.as_str())).collect();
    assert_eq!(lines[0], (2, "// two"));
    assert_eq!(lines[2], (4, "  *x = nonsense;"));
    assert_eq!(lines[4], (6, "// six"));
    assert!(shown.contains(&log) && shown.contains(">    4 |   *x = nonsense;"), "{shown}");
}

#[test]
fn errors_in_headers_show_the_headers_lines() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("disk.cuh", "\n\n\n__device__ int g() { return also_nonsense; }\n");
    let options = CompileOptions::new().include_path(folder.path());
    let program = Source::new("#include \"memory.cuh\"\n#include <disk.cuh>\n")
        .header("memory.cuh", "\n__device__ int f() { return nonsense; }\n")
        .options(options);
    let (_, diagnostics, shown) = failure(&program);
    let told: Vec<u32> = diagnostics.iter().filter(|d| d.is_error).map(|d| d.line).collect();
    assert_eq!(told, [2, 4]);
    assert_eq!(diagnostics[0].file, "memory.cuh");
    assert!(shown.contains(">    2 | __device__ int f() { return nonsense; }"), "{shown}");
    assert!(shown.contains(">    4 | __device__ int g() { return also_nonsense; }"), "{shown}");
}

#[test]
fn an_error_of_the_assembler_shows_the_ptx() {
    if !nvrtc() {
        return;
    }
    let program = Source::new("__global__ void k() { asm(\"nonsense.f32 r;\"); }")
        .arch(windlass::nvrtc::Arch::SM_80)
        .emit(windlass::nvrtc::Emit::Cubin);
    let (log, diagnostics, shown) = failure(&program);
    assert!(log.contains("ptxas"), "{log}");
    assert!(diagnostics[0].source.iter().any(|(_, line)| line.contains("nonsense.f32")), "{shown}");
}

#[test]
fn an_expression_that_names_nothing_is_an_error_that_names_it() {
    if !nvrtc() {
        return;
    }
    let (log, _, _) = failure(&template().expression("scael<float>"));
    assert!(log.contains("scael"), "{log}");
}

#[test]
fn warnings_are_kept_with_the_image_also_on_disk() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let program = Source::new("extern \"C\" __global__ void k() { int never_used; }\n");
    let first = folder.compiler().compile(&program).unwrap();
    assert!(first.log().contains("never_used"), "{}", first.log());
    let again = folder.compiler();
    assert_eq!(again.compile(&program).unwrap().log(), first.log());
    assert_eq!(again.stats().disk_hits, 1);
    assert_eq!(memory_only().compile(&kernel()).unwrap().log(), "");
}

#[test]
fn a_failure_is_not_kept() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let compiler = folder.compiler();
    for _ in 0..2 {
        assert!(matches!(compiler.compile(&Source::new("nonsense")), Err(Error::Compile { .. })));
    }
    let stats = compiler.stats();
    assert_eq!((stats.failed, stats.compiled, stats.disk_stored, stats.memory_images), (2, 0, 0, 0));
}

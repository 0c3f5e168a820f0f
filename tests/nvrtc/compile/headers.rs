//! Headers that change: what came of the old ones is not given out for the new ones.

use super::here::{Folder, memory_only, nvrtc};
use windlass::nvrtc::{Arch, CompileOptions, Compiler, Source};

const SOURCE: &str = "#include \"value.cuh\"\nextern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";

#[track_caller]
fn holds(compiler: &Compiler, program: &Source, value: u32) {
    let image = compiler.compile(program).unwrap();
    let text = image.text().unwrap();
    assert!(text.contains(&format!(", {value};")), "not {value}: {text}");
}

#[test]
fn a_changed_header_in_memory_is_a_miss() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let program = |value: u32| Source::new(SOURCE).header("value.cuh", format!("#define VALUE {value}\n"));
    for round in 0..2 {
        let compiler = folder.compiler();
        for value in [4711, 815, 4711] {
            holds(&compiler, &program(value), value);
        }
        let stats = compiler.stats();
        assert_eq!((stats.compiled, stats.disk_hits), if round == 0 { (2, 0) } else { (0, 2) });
        assert_eq!(stats.memory_hits, 1);
    }
}

#[test]
fn a_changed_header_on_disk_is_a_miss_and_the_old_one_hits_again() {
    if !nvrtc() {
        return;
    }
    let (cache, headers) = (Folder::new(), Folder::new());
    let options = CompileOptions::new().arch(Arch::SM_80).include_path(headers.path());
    let program = Source::new(SOURCE).options(options);
    let compiler = cache.compiler();
    headers.write("value.cuh", "#include <inner/deep.cuh>\n");
    for value in [4711, 815] {
        headers.write("inner/deep.cuh", &format!("#define VALUE {value}\n"));
        holds(&compiler, &program, value);
        holds(&compiler, &program, value);
        holds(&cache.compiler(), &program, value);
    }
    headers.write("inner/deep.cuh", "#define VALUE 4711\n");
    holds(&compiler, &program, 4711);
    let stats = compiler.stats();
    assert_eq!((stats.compiled, stats.memory_hits), (2, 3));
}

#[test]
fn a_header_that_comes_to_stand_before_another_is_a_miss() {
    if !nvrtc() {
        return;
    }
    let headers = Folder::new();
    headers.write("late/value.cuh", "#define VALUE 4711\n");
    headers.write("early/other.cuh", "");
    let options =
        CompileOptions::new().include_path(headers.path().join("early")).include_path(headers.path().join("late"));
    let (compiler, program) = (memory_only(), Source::new(SOURCE).options(options));
    holds(&compiler, &program, 4711);
    headers.write("early/value.cuh", "#define VALUE 815\n");
    holds(&compiler, &program, 815);
    std::fs::remove_file(headers.path().join("early/value.cuh")).unwrap();
    holds(&compiler, &program, 4711);
    assert_eq!(compiler.stats().compiled, 2);
}

#[test]
fn headers_beside_a_program_from_a_file_are_found_and_watched() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("kernels/k.cu", SOURCE);
    folder.write("kernels/value.cuh", "#include \"../common/value.cuh\"\n");
    folder.write("common/value.cuh", "#include \"more.cuh\"\n");
    folder.write("common/more.cuh", "#define VALUE 4711\n");
    let compiler = memory_only();
    let program = Source::from_file(folder.path().join("kernels/k.cu")).unwrap();
    holds(&compiler, &program, 4711);
    folder.write("common/more.cuh", "#define VALUE 815\n");
    holds(&compiler, &program, 815);
    folder.write("kernels/k.cu", "extern \"C\" __global__ void k(int* x) { *x = 99; }\n");
    holds(&compiler, &Source::from_file(folder.path().join("kernels/k.cu")).unwrap(), 99);
}

#[test]
fn without_an_include_path_nothing_of_the_machine_is_seen() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("value.cuh", "#define VALUE 4711\n");
    let named = folder.path().join("k.cu").display().to_string();
    let alone = Source::new(SOURCE).name(named.as_str());
    assert!(matches!(memory_only().compile(&alone), Err(windlass::Error::Compile { .. })));
    holds(&memory_only(), &alone.header("value.cuh", "#define VALUE 815\n"), 815);
}

#[test]
fn the_memory_comes_before_the_disk() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("value.cuh", "#define VALUE 4711\n");
    let program = Source::new(SOURCE)
        .header("value.cuh", "#define VALUE 815\n")
        .options(CompileOptions::new().include_path(folder.path()));
    holds(&memory_only(), &program, 815);
}

/// The one that the compiler takes, and that the caches watch: beside the program, in memory, or along a path.
#[test]
fn a_header_beside_the_program_and_in_memory_is_the_one_that_is_watched() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("inc/other.cuh", "");
    folder.write("beside/value.cuh", "#define VALUE 4711\n");
    let program = Source::new(SOURCE)
        .name(folder.path().join("beside/k.cu").to_str().unwrap())
        .header("value.cuh", "#define VALUE 815\n")
        .options(CompileOptions::new().include_path(folder.path().join("inc")));
    let compiler = memory_only();
    let is = |value: u32| compiler.compile(&program).unwrap().text().unwrap().contains(&format!(", {value};"));
    let from_disk = is(4711);
    folder.write("beside/value.cuh", "#define VALUE 99\n");
    assert!(if from_disk { is(99) } else { is(815) }, "from disk first: {from_disk}");
}

#[test]
fn what_cannot_be_told_from_the_text_is_compiled_anew() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("value.cuh", "#define VALUE 4711\n");
    let options = CompileOptions::new().include_path(folder.path());
    let computed =
        "#define NAME \"value.cuh\"\n#include NAME\nextern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";
    let program = Source::new(computed).options(options);
    let compiler = folder.compiler();
    holds(&compiler, &program, 4711);
    folder.write("value.cuh", "#define VALUE 815\n");
    holds(&compiler, &program, 815);
    let clock = Source::new("extern \"C\" __global__ void k(char* x) { *x = __TIME__[7]; }\n");
    compiler.compile(&clock).unwrap();
    compiler.compile(&clock).unwrap();
    let stats = compiler.stats();
    assert_eq!((stats.compiled, stats.uncacheable, stats.memory_images, stats.disk_stored), (4, 4, 0, 0));
}

#[test]
fn a_header_that_changes_while_it_is_compiled_leaves_nothing_behind() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    folder.write("value.cuh", "#define VALUE 4711\n");
    let slow = super::here::slow(5, windlass::nvrtc::Emit::Cubin);
    let source = format!("{SOURCE}{}", slow.source());
    let options = CompileOptions::new().arch(Arch::SM_80).include_path(folder.path());
    let program = Source::new(source).options(options);
    let compiler = folder.compiler();
    let pending = compiler.compile_pending(&program).unwrap();
    // It was looked at before the call came back, and is looked at again when the code is there.
    folder.write("value.cuh", "#define VALUE 815\n");
    pending.await_result().unwrap();
    let stats = compiler.stats();
    assert_eq!((stats.compiled, stats.uncacheable, stats.memory_images, stats.disk_stored), (1, 1, 0, 0));
    holds(&compiler, &program, 815);
}

/// CUDA's own headers are found where its libraries are; where they are missing, the error says how to get them.
#[test]
fn cudas_own_headers_need_no_include_path() {
    if !nvrtc() {
        return;
    }
    let sources = [
        "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(__half* x) { x[0] = __hadd(x[0], x[1]); }\n",
        "#include <cuda_bf16.h>\nextern \"C\" __global__ void k(__nv_bfloat16* x) { x[0] = __hadd(x[0], x[1]); }\n",
        "#include <cooperative_groups.h>\nextern \"C\" __global__ void k() { cooperative_groups::this_grid().sync(); }\n",
        "#include <cuda/std/limits>\nextern \"C\" __global__ void k(float* x) { *x = cuda::std::numeric_limits<float>::max(); }\n",
    ];
    let folder = Folder::new();
    let mut complete = true;
    for source in sources {
        let compiler = folder.compiler();
        match compiler.compile(&Source::new(source)) {
            Ok(image) => {
                assert!(image.text().unwrap().contains(".entry k"), "{source}");
                compiler.clear_memory();
                compiler.compile(&Source::new(source)).unwrap();
                let stats = compiler.stats();
                assert_eq!((stats.compiled, stats.disk_hits), (1, 1), "kept: {source}");
            }
            Err(windlass::Error::Compile { log, .. }) => {
                complete = false;
                assert!(log.contains("pip install nvidia-cuda-runtime"), "{source}{log}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    if !complete {
        eprintln!("CUDA's headers are not beside its libraries here: only the advice was tested");
    }
    // A header of nobody's is not spoken of so.
    let error = memory_only().compile(&Source::new("#include <nobodys.h>\n")).unwrap_err().to_string();
    assert!(error.contains("nobodys.h") && !error.contains("pip install"), "{error}");
}

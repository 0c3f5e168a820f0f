//! What a compilation costs that was done before: found in memory, found on disk, and made.
//!
//! Needs libnvrtc (`WINDLASS_CUDA_PATH=$(.ci/nvrtc) cargo bench --bench nvrtc`) and no GPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a benchmark")]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use windlass::Error;
use windlass::nvrtc::{Arch, CompileOptions, Compiler, DiskCache, Emit, Source};

/// A source of about 20 KB whose CUBIN is about as large.
fn program(folder: Option<&std::path::Path>) -> Source {
    let mut source = String::from("#include \"part.cuh\"\n");
    for i in 0..4 {
        source.push_str(&format!(
            "extern \"C\" __global__ void k{i}(float* x, int n) {{ for (int j = 0; j < n; ++j) x[j] = part(x[j]) * {i}.5f; }}\n"
        ));
    }
    while source.len() < 20_000 {
        source.push_str("// A comment stands for the lines that a real program of this length has.\n");
    }
    let part = "__device__ float part(float x) { return sinf(x) + x; }\n";
    let options = CompileOptions::new().arch(Arch::SM_90);
    let program = Source::new(source).name("bench.cu").emit(Emit::Cubin);
    match folder {
        Some(folder) => {
            std::fs::write(folder.join("part.cuh"), part).unwrap();
            program.options(options.include_path(folder))
        }
        None => program.header("part.cuh", part).options(options),
    }
}

fn nvrtc(c: &mut Criterion) {
    match Compiler::shared().version() {
        Ok((major, minor)) => println!("NVRTC {major}.{minor}"),
        Err(Error::LibraryMissing { help, .. }) => {
            println!("SKIPPED: no NVRTC here ({help})");
            return;
        }
        Err(other) => panic!("{other:?}"),
    }
    let folder = std::env::temp_dir().join(format!("windlass-bench-nvrtc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let compiler = Compiler::builder().disk_folder(&folder).build();
    let kept = program(None);
    let image = compiler.compile(&kept).unwrap();
    println!("source of {} bytes, CUBIN of {} bytes", kept.source().len(), image.bytes().len());

    let mut group = c.benchmark_group("nvrtc");
    group.bench_function("in memory, the program kept", |b| {
        b.iter(|| black_box(compiler.compile(black_box(&kept)).unwrap()));
    });
    group.bench_function("in memory, the program made anew", |b| {
        let text = kept.source().to_owned();
        let (name, header) = kept.headers().next().map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        b.iter(|| {
            let again = Source::new(text.as_str()).name("bench.cu").emit(Emit::Cubin);
            let again = again.header(name.as_str(), header.as_str()).arch(Arch::SM_90);
            compiler.compile(&again).unwrap()
        });
    });
    let on_disk = program(Some(&folder));
    compiler.compile(&on_disk).unwrap();
    group.bench_function("in memory, with a header on disk", |b| {
        b.iter(|| compiler.compile(&on_disk).unwrap());
    });
    group.bench_function("on disk", |b| {
        b.iter(|| {
            compiler.clear_memory();
            compiler.compile(&kept).unwrap()
        });
    });
    let stats = compiler.stats();
    assert_eq!(stats.compiled, 2, "{stats:?}");
    group.sample_size(10);
    let none = Compiler::builder().disk(DiskCache::Off).memory_images(0).build();
    group.bench_function("compiled", |b| b.iter(|| none.compile(&kept).unwrap()));
    group.finish();
    let _ = std::fs::remove_dir_all(&folder);
}

criterion_group!(benches, nvrtc);
criterion_main!(benches);

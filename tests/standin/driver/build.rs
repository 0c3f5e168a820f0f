//! Compiles the libraries.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Where the sources are.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/standin/driver") // the benchmarks include this file as well
}

/// The folder with the libraries and the self-test. It is named for the sources and made under another name, so that
/// any number of test processes may ask at once, and an edit makes a new one.
pub(super) fn build() -> io::Result<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(sources())?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let source = |path: &PathBuf| path.extension().is_some_and(|kind| ["c", "h", "cpp"].iter().any(|one| kind == *one));
    files.retain(|path| source(path) || path.ends_with("build.rs"));
    files.sort();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/libraries/sparse/kernels");
    let mut sparse: Vec<PathBuf> = fs::read_dir(kernels)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    sparse.retain(|path| path.extension().is_some_and(|kind| kind == "cu" || kind == "cuh"));
    sparse.sort();
    let mut hasher = DefaultHasher::new();
    for path in files.iter().chain(&sparse) {
        fs::read(path)?.hash(&mut hasher);
    }
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = parent.join(format!("standin-{:016x}", hasher.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    let draft = parent.join(format!("standin-draft-{}", std::process::id()));
    fs::create_dir_all(&draft)?;
    compile_all(&files, &draft)?;
    match fs::rename(&draft, &folder) {
        Ok(()) => Ok(folder),
        // Another process was faster.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&draft).map(|()| folder),
        Err(error) => Err(error),
    }
}

fn compile_all(files: &[PathBuf], into: &Path) -> io::Result<()> {
    let named = |test: fn(&str) -> bool| -> Vec<&Path> {
        let wanted = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.ends_with(".c") && test(name)
        };
        files.iter().filter(wanted).map(PathBuf::as_path).collect()
    };
    let nothing = into.join("nothing.c");
    fs::write(&nothing, "int standin_nothing;\n")?;
    let link = |library: &str| [format!("-L{}", into.display()), format!("-l:{library}"), "-Wl,-rpath,$ORIGIN".into()];
    let library = |name: &str, sources: &[&Path], uses: &[String]| {
        let mut arguments = vec!["-shared".into(), format!("-Wl,-soname,{name}"), "-Wl,-z,nodelete".into()];
        arguments.push("-Wl,--no-as-needed".into());
        arguments.extend_from_slice(uses);
        compile(sources, &into.join(name), &arguments)
    };
    let driver = named(|name| {
        let others =
            ["cudnn.c", "cufft.c", "cusparse.c", "cutensor.c", "nccl.c", "selftest.c", "nvtx.c", "nvml.c", "turns.c"];
        !name.starts_with("cublas") && !name.starts_with("cusolver") && !others.contains(&name)
    });
    library("libcuda.so.1", &driver, &[])?;
    let of_blas = named(|name| name.starts_with("cublas") && name != "cublaslt.c");
    library("libcublas.so.13", &of_blas, &link("libcuda.so.1"))?;
    let of_lt = named(|name| matches!(name, "cublaslt.c" | "cublas_numbers.c" | "cublas_shared.c"));
    library("libcublasLt.so.13", &of_lt, &link("libcuda.so.1"))?;
    let of_fft = named(|name| matches!(name, "cufft.c" | "cublas_numbers.c"));
    library("libcufft.so.12", &of_fft, &link("libcuda.so.1"))?;
    let of_sparse = named(|name| matches!(name, "cusparse.c" | "cublas_numbers.c" | "cublas_shared.c"));
    library("libcusparse.so.12", &of_sparse, &link("libcuda.so.1"))?;
    let of_tensor = named(|name| matches!(name, "cutensor.c" | "cublas_numbers.c" | "cublas_shared.c"));
    library("libcutensor.so.2", &of_tensor, &link("libcuda.so.1"))?;
    let of_direct = named(|name| matches!(name, "cudss.c" | "cublas_numbers.c" | "cublas_shared.c"));
    library("libcudss.so.1", &of_direct, &link("libcuda.so.1"))?;
    let of_nccl = named(|name| matches!(name, "nccl.c" | "cublas_numbers.c" | "cublas_shared.c"));
    library("libnccl.so.2", &of_nccl, &link("libcuda.so.1"))?;
    let of_solver =
        named(|name| name.starts_with("cusolver") || matches!(name, "cublas_numbers.c" | "cublas_shared.c"));
    library("libcusolver.so.12", &of_solver, &link("libcuda.so.1"))?;
    library("libcudnn.so.9", &named(|name| name == "cudnn.c"), &link("libcuda.so.1"))?;
    library("libnvtx3interop.so.1", &named(|name| name == "nvtx.c"), &link("libcuda.so.1"))?;
    library("libnvidia-ml.so.1", &named(|name| name == "nvml.c"), &[])?;
    library("libstandin-turns.so", &named(|name| name == "turns.c"), &[])?;
    library("libcuda.so", &[&nothing], &link("libcuda.so.1"))?;
    library("libcublas.so", &[&nothing], &link("libcublas.so.13"))?;
    library("libcublasLt.so", &[&nothing], &link("libcublasLt.so.13"))?;
    library("libcufft.so", &[&nothing], &link("libcufft.so.12"))?;
    library("libcusparse.so", &[&nothing], &link("libcusparse.so.12"))?;
    library("libcusolver.so", &[&nothing], &link("libcusolver.so.12"))?;
    for source in files.iter().filter(|path| path.extension().is_some_and(|kind| kind == "cpp")) {
        compile_plus(source, &into.join("libstandin-sparse.so"), &link("libcuda.so.1"))?;
    }
    let uses = [link("libcublas.so.13"), link("libcuda.so.1")].concat();
    compile(&named(|name| name == "selftest.c"), &into.join("selftest"), &uses)
}

/// A library in C++, where there is a compiler for it: without one there is no library.
fn compile_plus(source: &Path, output: &Path, uses: &[String]) -> io::Result<()> {
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let done = Command::new(&compiler)
        .args(["-std=c++17", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-shared"])
        .args(["-Wl,-z,nodelete", "-Wl,--no-as-needed"])
        .arg(source)
        .arg("-o")
        .arg(output)
        .args(uses)
        .output();
    let done = match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        done => done?,
    };
    if done.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{} failed for {}:\n{message}", compiler.display(), output.display())))
}

fn compile(sources: &[&Path], output: &Path, arguments: &[String]) -> io::Result<()> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let done = Command::new(&compiler)
        .args(["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"])
        .args(sources)
        .arg("-o")
        .arg(output)
        .args(arguments)
        .args(["-lm", "-ldl"])
        .output()?;
    if done.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{} failed for {}:\n{message}", compiler.display(), output.display())))
}

//! What comes of a program: by options, by architecture, by name.

use super::here::{Folder, kernel, memory_only, nvjitlink, nvrtc, template};
use std::collections::HashSet;
use windlass::nvrtc::{Arch, CompileOptions, Compiler, CppStandard, Emit, Link, Source};
use windlass::{Device, Error, nvrtc::Image};

fn entries_of(image: &Image) -> Vec<String> {
    let text = image.text().unwrap();
    let lines = text.lines().filter_map(|line| line.split(".entry ").nth(1));
    lines.map(|line| line.trim_end_matches(['(', ' ']).to_owned()).collect()
}

#[test]
fn the_same_source_with_other_options_gives_another_image() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let plain = || CompileOptions::new().arch(Arch::SM_80);
    let options = [
        plain(),
        plain().fast_math(true),
        plain().ftz(true),
        plain().prec_div(false),
        plain().fmad(false),
        plain().line_info(true),
        plain().debug(true),
        plain().define("VALUE", 2),
        plain().define("VALUE", "3"),
        plain().define_flag("OTHER").define("VALUE", 4),
        plain().arch(Arch::SM_90),
    ];
    let mut seen = HashSet::new();
    for options in &options {
        let image = compiler.compile(&kernel().options(options.clone())).unwrap();
        assert!(seen.insert(image.bytes().to_vec()), "{options:?} gave an image of other options");
    }
    let count = options.len() as u64;
    assert_eq!((compiler.stats().compiled, compiler.stats().memory_hits), (count, 0));
    // And each is found again as itself.
    for options in &options {
        let image = compiler.compile(&kernel().options(options.clone())).unwrap();
        let fresh = memory_only().compile(&kernel().options(options.clone())).unwrap();
        assert_eq!(image.bytes(), fresh.bytes(), "{options:?}");
    }
    assert_eq!((compiler.stats().compiled, compiler.stats().memory_hits), (count, count));
}

#[test]
fn options_do_what_they_say() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let text = |options: CompileOptions| {
        let image = compiler.compile(&kernel().options(options.arch(Arch::SM_80))).unwrap();
        image.text().unwrap().to_owned()
    };
    let plain = text(CompileOptions::new());
    assert!(plain.contains("div.rn.f32") && !plain.contains("ftz"), "{plain}");
    assert!(text(CompileOptions::new().fast_math(true)).contains("div.approx.ftz.f32"));
    assert!(text(CompileOptions::new().ftz(true)).contains("div.rn.ftz.f32"));
    assert!(text(CompileOptions::new().prec_div(false)).contains("div.full.f32"));
    assert!(text(CompileOptions::new().line_info(true)).contains(".loc"));
    assert!(text(CompileOptions::new().debug(true)).contains("debug"));
    let cubin = |most: u32| {
        let mut sum = String::from("0");
        (0..100).for_each(|i| sum.push_str(&format!(" + x[{i}] * x[{}]", 199 - i)));
        let greedy = format!(
            "extern \"C\" __global__ void k(volatile float* x) {{ float y[200]; for (int i = 0; i < 200; ++i) y[i] = x[i]; __syncthreads(); *x = {}; }}",
            sum.replace('x', "y")
        );
        let options = CompileOptions::new().arch(Arch::SM_80).max_registers(most);
        compiler.compile(&Source::new(greedy).emit(Emit::Cubin).options(options)).unwrap().bytes().to_vec()
    };
    assert_ne!(cubin(32), cubin(255));
    let standard = Source::new("extern \"C\" __global__ void k(long* x) { *x = __cplusplus; }");
    for (cpp, value) in [(CppStandard::Cpp14, "201402"), (CppStandard::Cpp17, "201703"), (CppStandard::Cpp20, "202002")]
    {
        let image = compiler.compile(&standard.clone().options(CompileOptions::new().standard(cpp))).unwrap();
        assert!(image.text().unwrap().contains(value), "{cpp:?}: {}", image.text().unwrap());
    }
    let undecorated = Source::new("int f() { return 1; } extern \"C\" __global__ void k(int* x) { *x = f(); }");
    assert!(matches!(compiler.compile(&undecorated), Err(Error::Compile { .. })));
    compiler.compile(&undecorated.options(CompileOptions::new().default_device(true))).unwrap();
}

#[test]
fn lowered_names_are_the_names_in_the_code() {
    if !nvrtc() {
        return;
    }
    let image = memory_only().compile(&template()).unwrap();
    let (float, double) = (image.lowered_name("scale<float>").unwrap(), image.lowered_name("scale<double>").unwrap());
    assert_ne!(float, "scale<float>");
    assert_ne!(float, double);
    let entries = entries_of(&image);
    assert_eq!(entries.len(), 2, "{entries:?}");
    assert!(entries.iter().any(|e| e == float) && entries.iter().any(|e| e == double), "{entries:?} {float} {double}");
    let weights = image.lowered_name("&table::weights").unwrap();
    assert!(image.text().unwrap().contains(&format!(" {weights}[16]")), "{weights}: {}", image.text().unwrap());
    assert_eq!(image.lowered_name("scale<int>"), None, "never asked for");
    assert_eq!(image.names().len(), 3);
}

#[test]
fn other_name_expressions_are_another_image() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let source = template().source().to_owned();
    let program = |expression: &str| Source::new(source.as_str()).expression(expression);
    let shared = folder.compiler();
    for compiler in [shared.clone(), shared.clone(), folder.compiler()] {
        let float = compiler.compile(&program("scale<float>")).unwrap();
        let double = compiler.compile(&program("scale<double>")).unwrap();
        assert!(float.lowered_name("scale<double>").is_none() && double.lowered_name("scale<float>").is_none());
        assert_ne!(entries_of(&float), entries_of(&double));
    }
    assert_eq!((shared.stats().compiled, shared.stats().memory_hits), (2, 2));
    // From disk alone, each by itself.
    let float = folder.compiler().compile(&program("scale<float>")).unwrap();
    let double = folder.compiler().compile(&program("scale<double>")).unwrap();
    assert!(float.lowered_name("scale<float>").is_some() && double.lowered_name("scale<double>").is_some());
}

#[test]
fn sm_90_and_sm_90a_stay_apart() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let program = Source::new(
        "extern \"C\" __global__ void k(int* x) {\n\
         #ifdef __CUDA_ARCH_FEAT_SM90_ALL\n *x = 4711;\n#else\n *x = 815;\n#endif\n}\n",
    );
    for round in 0..2 {
        // In the second round from disk, in the other order.
        let compiler = folder.compiler();
        let mut archs = [Arch::SM_90, Arch::SM_90A, Arch::SM_90.to_virtual(), Arch::SM_90A.to_virtual()];
        if round == 1 {
            archs.reverse();
        }
        for arch in archs {
            let image = compiler.compile(&program.clone().arch(arch)).unwrap();
            let text = image.text().unwrap();
            let value = if arch.is_specific() { "4711" } else { "815" };
            assert!(text.contains(value) && text.contains(&format!(".target {}", arch.to_real())), "{arch}: {text}");
            assert_eq!(image.arch(), Some(arch.to_real()));
        }
        let stats = compiler.stats();
        assert_eq!((stats.compiled, stats.disk_hits), if round == 0 { (4, 0) } else { (0, 4) });
    }
}

#[test]
fn every_kind_is_recognised_from_its_bytes() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    for (arch, emit) in [
        (Arch::SM_80, Emit::Ptx),
        (Arch::SM_90A, Emit::Ptx),
        (Arch::SM_80, Emit::Cubin),
        (Arch::SM_90, Emit::Cubin),
        (Arch::SM_90A, Emit::Cubin),
        (Arch::SM_100, Emit::Cubin),
        (Arch::SM_120, Emit::Cubin),
        (Arch::SM_80, Emit::LtoIr),
    ] {
        if !compiler.archs().unwrap().contains(&arch.portable()) {
            continue;
        }
        let made = compiler.compile(&template().arch(arch).emit(emit)).unwrap();
        let read = Image::from_bytes(made.bytes()).unwrap();
        assert_eq!(read.kind(), made.kind(), "{arch} {emit:?}");
        if emit != Emit::LtoIr {
            let told = if emit == Emit::Cubin { arch.portable() } else { arch };
            assert_eq!(read.arch(), Some(told), "{emit:?}");
        }
        assert_eq!(made.program().map(Source::source), Some(template().source()));
    }
}

#[test]
fn what_the_compiler_does_not_know_is_told_before_or_in_its_words() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let unknown: Arch = "sm_999".parse().unwrap();
    match compiler.compile(&kernel().arch(unknown)) {
        Err(Error::Unsupported { reason, .. }) => {
            assert!(reason.contains("sm_999") && reason.contains("80"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    let options = CompileOptions::new().arch(Arch::SM_80).option("--no-such-option");
    match compiler.compile(&kernel().options(options)) {
        Err(Error::InvalidArgument { argument, reason, .. }) => {
            assert!(argument == "option" && reason.contains("--no-such-option"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(compiler.stats().failed, 1);
}

#[test]
fn a_device_compiles_for_itself_and_shows_it_in_its_stats() {
    if !nvrtc() {
        return;
    }
    let own = memory_only();
    let device = Device::builder().host().compiler(own.clone()).open().unwrap();
    let program = Source::new("extern \"C\" __global__ void k(int* x) { *x = 1; }");
    let image = device.nvrtc().compile(&program).unwrap();
    assert_eq!(image.arch(), Some(Arch::SM_80), "the stated default where the device has none");
    device.nvrtc().compile_pending(&program).unwrap().await_result().unwrap();
    let stats = device.stats().compiler;
    assert_eq!((stats.compiled, stats.memory_hits, stats.memory_misses), (1, 1, 1));
    assert_eq!(own.stats(), stats);
    assert_eq!(Device::host().unwrap().stats().compiler, Compiler::shared().stats());
}

#[test]
fn every_device_compiles_for_its_own_architecture() {
    if !nvrtc() {
        return;
    }
    let program = Source::new("extern \"C\" __global__ void k(int* x) { *x = __CUDA_ARCH__; }");
    for builder in crate::common::builders() {
        let device = builder.compiler(memory_only()).open().unwrap();
        let own = device.info().compute_capability.map(|(major, minor)| Arch::of_capability(major, minor));
        assert_eq!(device.nvrtc().arch(), own);
        let arch = own.unwrap_or(Arch::SM_80);
        for emit in [Emit::Ptx, Emit::Cubin] {
            let image = device.nvrtc().compile(&program.clone().emit(emit)).unwrap();
            assert_eq!(image.arch(), Some(arch), "{device:?}");
            assert_eq!(Image::from_bytes(image.bytes()).unwrap().arch(), Some(arch), "{device:?}");
        }
        // What is asked for comes before the device's own.
        assert_eq!(device.nvrtc().compile(&program.clone().arch(Arch::SM_89)).unwrap().arch(), Some(Arch::SM_89));
    }
}

/// The generations of GPUs that our own kernels are compiled for, as far as the compiler that is here knows them.
fn generations() -> Vec<Arch> {
    let known = memory_only().archs().unwrap();
    let (here, missing): (Vec<Arch>, _) =
        [Arch::SM_80, Arch::SM_90, Arch::SM_100].into_iter().partition(|arch| known.contains(arch));
    missing.iter().for_each(|arch| super::here::loudly(&format!("tools for {arch}"), "a newer release"));
    assert!(here.len() >= 2, "{known:?}");
    here
}

/// The kernels of the tests and of the examples, which are sources.
#[test]
fn our_own_kernels_compile_for_every_generation_of_gpus() {
    if !nvrtc() {
        return;
    }
    // An example keeps its source in a raw string.
    let of_example = |text: &'static str| {
        let (_, raw) = text.split_once("const SOURCE: &str = r").unwrap();
        let (hashes, source) = raw.split_once('"').unwrap();
        source.split_once(&format!("\"{hashes};")).unwrap().0
    };
    let sources: [(_, _, &[&str]); 5] = [
        ("kernels.cu", include_str!("../launch/kernels.cu"), &[]),
        ("globals.cu", include_str!("../launch/globals.cu"), &[]),
        ("heat2d", of_example(include_str!("../../../examples/more/heat2d/step.rs")), &[]),
        ("saxpy", of_example(include_str!("../../../examples/saxpy.rs")), &[]),
        (
            "templated",
            of_example(include_str!("../../../examples/templated.rs")),
            &["raise<float, 3>", "raise<double, 2>"],
        ),
    ];
    for arch in generations() {
        for (name, source, expressions) in sources {
            let program = Source::new(source).name(name).arch(arch).emit(Emit::Cubin);
            let program = expressions.iter().fold(program, |program, e| program.expression(*e));
            let image = memory_only().compile(&program).unwrap_or_else(|e| panic!("{name} for {arch}: {e}"));
            let read = Image::from_bytes(image.bytes()).unwrap();
            assert_eq!((read.kind(), read.arch()), (windlass::nvrtc::ImageKind::Cubin, Some(arch)), "{name}");
        }
    }
}

/// Those that are PTX. That a GPU's assembler takes them is seen here, without the GPU.
#[test]
fn our_own_ptx_assembles_for_every_generation_of_gpus() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let texts = [
        ("gemm_i8.ptx", include_str!("../../../src/libraries/blas/gemm_i8.ptx")),
        ("pivots.ptx", include_str!("../../../src/libraries/blas/level3/pivots.ptx")),
        ("move_32.ptx", include_str!("../../../src/libraries/fft/native/move_32.ptx")),
        ("move_64.ptx", include_str!("../../../src/libraries/fft/native/move_64.ptx")),
        ("move_16.ptx", include_str!("../../../src/libraries/fft/native/move_16.ptx")),
        ("roll.ptx", include_str!("../../../src/libraries/fft/native/roll.ptx")),
        ("matmul_32.ptx", include_str!("../../../src/libraries/blaslt/kernels/matmul_32.ptx")),
        ("matmul_64.ptx", include_str!("../../../src/libraries/blaslt/kernels/matmul_64.ptx")),
        ("faulty.ptx", include_str!("../../common/faulty.ptx")),
        ("poly.ptx", include_str!("../../../examples/custom_op/poly.ptx")),
        ("kernels.ptx", include_str!("../launch/kernels.ptx")),
        ("globals.ptx", include_str!("../launch/globals.ptx")),
    ];
    for (name, text) in texts {
        let image = Image::ptx(text).unwrap();
        for arch in generations() {
            let linked =
                memory_only().link(&Link::new(arch).input(&image)).unwrap_or_else(|e| panic!("{name} {arch}: {e}"));
            let read = Image::from_bytes(linked.bytes()).unwrap();
            assert_eq!((read.kind(), read.arch()), (windlass::nvrtc::ImageKind::Cubin, Some(arch)), "{name}");
        }
    }
}

//! Images linked to one.

use super::here::{Folder, is_same, loudly, memory_only, nvjitlink, nvrtc, template};
use crate::common::child::this_test;
use windlass::nvrtc::{Arch, CompileOptions, Emit, ImageKind, Link, Source};
use windlass::{Error, nvrtc::Image};

const TWICE: &str = "__device__ float twice(float x) { return x + x; }\n";
const KERNEL: &str =
    "extern __device__ float twice(float); extern \"C\" __global__ void k(float* x) { *x = twice(*x); }\n";

fn is_old() -> bool {
    memory_only().version().unwrap().0 < 13
}

fn compiled(source: &str, emit: Emit) -> Image {
    let options = CompileOptions::new().arch(Arch::SM_80).relocatable(emit != Emit::LtoIr);
    memory_only().compile(&Source::new(source.to_owned()).options(options).emit(emit)).unwrap()
}

#[test]
fn code_of_two_programs_becomes_one_image() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let compiler = memory_only();
    for (a, b) in
        [(Emit::LtoIr, Emit::LtoIr), (Emit::Ptx, Emit::Ptx), (Emit::Cubin, Emit::Cubin), (Emit::Cubin, Emit::LtoIr)]
    {
        let link = Link::new(Arch::SM_80).input(&compiled(TWICE, a)).input(&compiled(KERNEL, b));
        let image = compiler.link(&link).unwrap_or_else(|e| panic!("{a:?} {b:?}: {e}"));
        assert_eq!((image.kind(), image.arch()), (ImageKind::Cubin, Some(Arch::SM_80)));
        assert_eq!(Image::from_bytes(image.bytes()).unwrap().kind(), ImageKind::Cubin);
    }
    assert_eq!(compiler.stats().linked, 4);
}

#[test]
fn code_across_programs_is_optimised_together_to_ptx() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let link = Link::new(Arch::SM_90).emit(Emit::Ptx);
    let link = link.input(&compiled(TWICE, Emit::LtoIr)).input(&compiled(KERNEL, Emit::LtoIr));
    let image = memory_only().link(&link).unwrap();
    let text = image.text().unwrap();
    assert!(text.contains(".entry k") && text.contains("add.f32") && !text.contains("call"), "{text}");
}

#[test]
fn names_of_templates_go_on_through_a_link() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let lto = memory_only().compile(&template().emit(Emit::LtoIr)).unwrap();
    let image = memory_only().link(&Link::new(Arch::SM_80).input(&lto)).unwrap();
    let name = image.lowered_name("scale<float>").unwrap().as_bytes();
    assert!(image.bytes().windows(name.len()).any(|part| part == name));
}

#[test]
fn links_are_kept_like_compilations() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let folder = Folder::new();
    let (twice, kernel) = (compiled(TWICE, Emit::LtoIr), compiled(KERNEL, Emit::LtoIr));
    let thrice = compiled(&TWICE.replace("x + x", "3 * x"), Emit::LtoIr);
    let links = [
        Link::new(Arch::SM_80).input(&twice).input(&kernel),
        Link::new(Arch::SM_90).input(&twice).input(&kernel),
        Link::new(Arch::SM_80).input(&thrice).input(&kernel),
        Link::new(Arch::SM_80).input(&twice).input(&kernel).emit(Emit::Ptx),
        Link::new(Arch::SM_80).input(&twice).input(&kernel).option("-lineinfo"),
    ];
    let first = folder.compiler();
    let images: Vec<Image> = links.iter().map(|link| first.link(link).unwrap()).collect();
    assert_eq!((first.stats().linked, first.stats().memory_hits, first.stats().disk_stored), (5, 0, 5));
    assert_ne!(images[0].bytes(), images[2].bytes());
    let second = folder.compiler();
    for (link, image) in links.iter().zip(&images) {
        assert!(is_same(&first.link(link).unwrap(), image));
        let kept = second.link(link).unwrap();
        assert_eq!((kept.bytes(), kept.kind(), kept.arch()), (image.bytes(), image.kind(), image.arch()));
    }
    assert_eq!((first.stats().linked, first.stats().memory_hits), (5, 5));
    assert_eq!((second.stats().linked, second.stats().disk_hits), (0, 5));
}

#[test]
fn what_does_not_fit_together_is_told_in_the_linkers_words() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let compiler = memory_only();
    match compiler.link(&Link::new(Arch::SM_80).input(&compiled(KERNEL, Emit::Cubin))) {
        // The linker of CUDA 12.0 writes what it means to stderr.
        Err(Error::Compile { log, .. }) => assert!(log.contains("twice") || is_old(), "{log}"),
        other => panic!("{other:?}"),
    }
    let option = Link::new(Arch::SM_80).input(&compiled(TWICE, Emit::Cubin)).option("-no-such-option");
    assert!(matches!(compiler.link(&option), Err(Error::InvalidArgument { .. })), "{:?}", compiler.link(&option));
    let arch = Link::new("sm_999".parse().unwrap()).input(&compiled(TWICE, Emit::Cubin));
    let answer = compiler.link(&arch);
    assert!(matches!(answer, Err(Error::Unsupported { .. })) || (is_old() && answer.is_err()), "{answer:?}");
    let broken = Image::ptx(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n").unwrap();
    match compiler.link(&Link::new(Arch::SM_80).input(&broken)) {
        Err(Error::Compile { log, diagnostics, .. }) => {
            assert!(
                log.contains("line 4") && diagnostics.first().is_some_and(|d| d.line == 4),
                "{log} {diagnostics:?}"
            );
            let line = (4, "nonsense".to_owned());
            assert!(diagnostics[0].source.contains(&line), "{log} {diagnostics:?}");
        }
        other => panic!("{other:?}"),
    }
    // Of several texts it is the one that is meant.
    let fine = Image::ptx(".version 8.0\n.target sm_80\n.address_size 64\n// fine\n").unwrap();
    match compiler.link(&Link::new(Arch::SM_80).input(&fine).input(&broken).input(&fine)) {
        Err(Error::Compile { log, diagnostics, .. }) => {
            let line = (4, "nonsense".to_owned());
            assert!(is_old() || diagnostics[0].source.contains(&line), "{log} {diagnostics:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(compiler.stats().linked, 0);
}

/// The wheel of NVRTC comes without nvJitLink.
#[test]
#[cfg(target_os = "linux")]
fn a_compiler_without_a_linker_compiles_and_says_what_a_link_lacks() {
    const ALONE: &str = "WINDLASS_TEST_NVRTC_ALONE";
    if std::env::var_os(ALONE).is_some() {
        let code = compiled(KERNEL, Emit::LtoIr);
        match memory_only().link(&Link::new(Arch::SM_80).input(&code)) {
            Err(Error::LibraryMissing { library, tried, .. }) => {
                assert!(library.contains("nvJitLink"), "{library}");
                assert!(tried.iter().any(|line| line.contains("windlass-nvrtc-")), "{tried:#?}");
            }
            // Half of a program does not link, but what says so is a linker.
            Ok(_) | Err(Error::Compile { .. }) => {
                loudly("place without nvJitLink", "one is installed where it is always found");
            }
            Err(other) => panic!("{other:?}"),
        }
        return;
    }
    if !nvrtc() {
        return;
    }
    // Where the one of this process is.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path =
        maps.lines().find_map(|line| line.find('/').map(|at| &line[at..]).filter(|p| p.contains("/libnvrtc.so")));
    let (from, alone) = (std::path::Path::new(path.unwrap()).parent().unwrap(), Folder::new());
    for item in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if item.file_name().to_string_lossy().starts_with("libnvrtc") {
            std::os::unix::fs::symlink(item.path(), alone.path().join(item.file_name())).unwrap();
        }
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &this_test!()]);
    let output = child.env(ALONE, "").env("WINDLASS_CUDA_PATH", alone.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

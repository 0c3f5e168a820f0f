//! The CUDA C++ that the examples bring, and what the PTX of the tests was made from: it compiles, and is what it says.

use super::here::{memory_only, nvrtc};
use windlass::nvrtc::Image;
use windlass::nvrtc::{Arch, Compiler, Source};

/// The raw string after `const SOURCE`.
fn source_of(example: &str) -> &str {
    let text = example.split_once("const SOURCE: &str = r").unwrap().1;
    let (open, close) = if text.starts_with('#') { ("#\"", "\"#;") } else { ("\"", "\";") };
    text.strip_prefix(open).unwrap().split_once(close).unwrap().0
}

fn archs(compiler: &Compiler) -> Vec<Arch> {
    let known = compiler.archs().unwrap();
    let archs: Vec<_> = [Arch::SM_80, Arch::SM_90, Arch::SM_100].into_iter().filter(|a| known.contains(a)).collect();
    assert!(archs.len() >= 2, "{known:?}");
    archs
}

#[test]
fn the_examples_kernels_compile_for_every_generation_of_gpus() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let raise = ["raise<float, 2>", "raise<double, 5>", "raise<int, 2>", "raise<unsigned long long, 5>"];
    let examples: [(&str, &[&str]); 3] = [
        (include_str!("../../../examples/saxpy.rs"), &["saxpy"]),
        (include_str!("../../../examples/templated.rs"), &raise),
        (include_str!("../../../examples/more/heat2d/step.rs"), &["heat_step"]),
    ];
    for (example, kernels) in examples {
        let program = kernels.iter().fold(Source::new(source_of(example)), |program, name| program.expression(*name));
        for arch in archs(&compiler) {
            let image = compiler.compile(&program.clone().arch(arch)).unwrap();
            let entries = entries(image.text().unwrap());
            for kernel in kernels {
                let name = image.lowered_name(kernel).unwrap();
                assert!(entries.iter().any(|(entry, _)| entry == name), "{arch}: {name} in {entries:?}");
            }
        }
    }
}

/// The kernels of PTX with their parameters: alignment, type and count, without their names.
fn entries(ptx: &str) -> Vec<(String, Vec<String>)> {
    let parameter = |text: &str| {
        let mut words: Vec<&str> = text.split_whitespace().filter(|word| *word != ".param").collect();
        let name = words.pop().unwrap_or_default();
        let count = name.split_once('[').map_or("", |(_, count)| count);
        // Of one number the alignment is its size, and newer compilers say what a pointer points at.
        let kept: Vec<&str> = words.into_iter().take_while(|word| *word != ".ptr").collect();
        format!("{} {count}", kept.join(" ")).trim().to_owned()
    };
    let entry = |text: &str| {
        let (name, rest) = text.split_once('(').unwrap();
        let parameters = rest.split_once(')').unwrap().0.split(',').map(parameter);
        (name.trim().to_owned(), parameters.filter(|parameter| !parameter.is_empty()).collect())
    };
    let mut all: Vec<_> = ptx.split(".entry ").skip(1).map(entry).collect();
    all.sort();
    all
}

/// Names of variables with their bytes as PTX declares them.
fn variables(ptx: &str) -> Vec<String> {
    let starts = [".visible .global", ".visible .const", ".global", ".const"];
    let outside = ptx.lines().map(str::trim).filter(|line| starts.iter().any(|start| line.starts_with(start)));
    let name = |line: &str| line.split(['=', ';']).next().unwrap().split_whitespace().last().unwrap().to_owned();
    let mut all: Vec<_> = outside.map(name).collect();
    all.sort();
    all
}

#[test]
fn the_tests_ptx_is_of_the_sources_beside_it() {
    if !nvrtc() {
        return;
    }
    let compiler = memory_only();
    let oldest = compiler.archs().unwrap()[0];
    let pairs = [
        (include_str!("../launch/kernels.cu"), include_str!("../launch/kernels.ptx"), 5),
        (include_str!("../launch/globals.cu"), include_str!("../launch/globals.ptx"), 1),
    ];
    for (source, ptx, count) in pairs {
        Image::ptx(ptx).unwrap();
        let compiled = compiler.compile(&Source::new(source).arch(oldest)).unwrap();
        assert_eq!(entries(compiled.text().unwrap()), entries(ptx));
        assert_eq!(entries(ptx).len(), count);
        assert!(entries(ptx).iter().all(|(_, parameters)| !parameters.is_empty()), "{:?}", entries(ptx));
    }
    let asked = Source::new(pairs[1].0).expression("&factor").expression("&calls").arch(oldest);
    let compiled = compiler.compile(&asked).unwrap();
    assert_eq!(variables(compiled.text().unwrap()), variables(pairs[1].1));
    assert_eq!(variables(pairs[1].1), ["calls", "factor[16]"]);
}

//! Texts that are no PTX, or another one than the machine knows.

use super::{Case, HEAD};
use windlass::ptx::{Fault, PtxModule};

#[test]
fn errors_tell_line_and_column() {
    let text = |text: &str| match PtxModule::new(text) {
        Err(Fault::Text { line, column, .. }) => (line, column),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(""), (1, 1));
    assert_eq!(text(".version 8.0\n.address_size 32"), (2, 1));
    assert_eq!(text(".version 10.0"), (1, 10));
    assert_eq!(text(&format!("{HEAD}.visible .entry k(.param .u65 a) {{ ret; }}")), (4, 26));
    assert_eq!(text(&format!("{HEAD}.entry k() {{\n  mov.u32 %r1, ;;\n  ret")), (6, 6));
    assert_eq!(text(&format!("{HEAD}.global .b8 huge[99999999999999999];")).0, 4);
    let fault = Case::new("mov.u32 %r1, %r99;").module().unwrap().parameters("k").unwrap_err();
    assert!(fault.to_string().contains("`%r99` is not declared"), "{fault}");
}

#[test]
fn what_is_not_modelled_is_named() {
    for (body, name) in [
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};", "mma"),
        ("cp.async.ca.shared.global [%r1], [%x], 16;", "cp"),
        ("add.strange.f32 %f1, %f2, %f3;", "`.strange`"),
        ("mov.u32 %r1, %aggr_smem_size;", "%aggr_smem_size"),
    ] {
        match Case::new(body).module().unwrap().parameters("k") {
            Err(fault @ Fault::Unsupported { .. }) => assert!(fault.to_string().contains(name), "{fault}"),
            other => panic!("{other:?} of {body}"),
        }
    }
    assert!(matches!(Case::new("").module().unwrap().parameters("other"), Err(Fault::Missing(_))));
}

/// Every prefix of a text, and the text with each byte replaced: an error or a module, and never a panic.
#[test]
fn damaged_texts_are_refused_or_read() {
    let text = include_str!("../../../src/device/supervisor/self_test.ptx");
    for end in 0..text.len() {
        let _ = PtxModule::new(&text[..end]);
    }
    for at in 0..text.len() {
        for byte in [b'}', b'<', b'[', b'"', b'9', b'%', b';', b' '] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = byte;
            if let Ok(module) = PtxModule::new(std::str::from_utf8(&bytes).unwrap()) {
                let names: Vec<String> = module.kernels().map(str::to_owned).collect();
                names.iter().for_each(|name| drop(module.parameters(name)));
            }
        }
    }
}

#[test]
fn every_kernel_of_the_crate_is_known() {
    fn texts(folder: &std::path::Path, into: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                texts(&path, into);
            } else if path.extension().is_some_and(|kind| kind == "ptx") {
                into.push(path);
            }
        }
    }
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    // On a machine that got the test programs alone.
    if !source.exists() && std::env::var_os("CI").is_none() {
        println!("skipped: there is no {source:?}");
        return;
    }
    let mut paths = Vec::new();
    texts(&source, &mut paths);
    let mut count = 0;
    for path in paths {
        let module = PtxModule::new(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|fault| panic!("{path:?}: {fault}"));
        for name in module.kernels() {
            module.parameters(name).unwrap_or_else(|fault| panic!("{path:?}, {name}: {fault}"));
            count += 1;
        }
    }
    assert!(count > 500, "{count} kernels");
}

/// Texts that would make the machine read beside a buffer, or take memory or time on their word.
#[test]
fn hostile_texts_are_refused_before_anything_is_made() {
    let refused = |case: &Case| {
        let fault = case.module().and_then(|module| module.parameters("k").map(drop)).unwrap_err();
        assert!(!matches!(fault, Fault::Found(_)), "{fault}");
        fault.to_string()
    };
    for body in [
        "ld.global.v4.u32 {%r1, %r2, %r3}, [%x];",
        "ld.global.u32 {%r1, %r2, %r3}, [%x];",
        "st.global.v2.u64 [%y], %q1;",
        "atom.global.add.u8 %r1, [%y], 1;",
        "atom.global.u64 %q1, [%y], 1;",
        "ld.global.pred %p1, [%x];",
    ] {
        refused(&Case::new(body));
    }
    assert!(refused(&Case::new(".reg .b32 %many<4000000>;")).contains("too many"));
    assert!(refused(&Case::new(".local .b8 own[100000000];")).contains("512 KiB"));
    let text = format!("{HEAD}.visible .entry k(.param .b8 x[99999999]) {{ ret; }}");
    assert!(PtxModule::new(&text).unwrap().parameters("k").unwrap_err().to_string().contains("32764"));
    // Each function calls the next one twice: 2^40 calls.
    let mut text = format!("{HEAD}.func f0() {{ ret; }}\n");
    for n in 0..40 {
        text += &format!(".func f{}() {{ call f{n}; call f{n}; ret; }}\n", n + 1);
    }
    text += ".visible .entry k() { call f40; ret; }";
    let fault = PtxModule::new(&text).unwrap().parameters("k").unwrap_err();
    assert!(fault.to_string().contains("more calls"), "{fault}");
}

//! The files of the library ask for this name where a model wants them smaller.

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rerun-if-changed=build.rs");
}

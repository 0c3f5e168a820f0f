//! Machine code that came from elsewhere: whole, cut off, in a fatbin, in a file.

use super::here::{Folder, memory_only, nvjitlink, nvrtc};
use crate::common::fatbin::fatbin;
use windlass::nvrtc::{Arch, CompileOptions, Emit, ImageKind, Link, Source};
use windlass::{Error, nvrtc::Image};

/// Of every kind of memory, more than the file is long, so that sections without bytes reach past its end.
const SOURCE: &str = "
__device__ float zeros[1 << 20];
__device__ int numbers[3] = {1, 2, 3};
__constant__ float factors[64];
extern \"C\" __device__ float outside(float);
extern \"C\" __global__ void k(float* x, int n) {
    __shared__ float tile[4096];
    extern __shared__ float more[];
    float own[300];
    for (int i = 0; i < n; ++i) own[i % 300] = x[i];
    tile[threadIdx.x] = own[n % 300] + factors[threadIdx.x % 64] + zeros[n] + numbers[n % 3] + more[n];
    __syncthreads();
    *x = tile[n % 4096];
}
";

fn cubin(arch: Arch, relocatable: bool) -> Image {
    let options = CompileOptions::new().arch(arch).relocatable(relocatable);
    memory_only().compile(&Source::new(SOURCE).emit(Emit::Cubin).options(options)).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    match Image::from_bytes(bytes) {
        Err(Error::InvalidArgument { argument, reason, .. }) => {
            assert_eq!(argument, "bytes");
            reason
        }
        other => panic!("{} bytes: {other:?}", bytes.len()),
    }
}

/// A driver is told where a binary is and not how long: what is cut off would be read past its end.
#[test]
fn what_is_cut_off_is_no_image() {
    if !nvrtc() {
        return;
    }
    for arch in [Arch::SM_80, Arch::SM_90, Arch::SM_100] {
        for relocatable in [false, true] {
            let whole = cubin(arch, relocatable).bytes().to_vec();
            assert_eq!(Image::from_bytes(whole.clone()).unwrap().kind(), ImageKind::Cubin);
            for len in 0..whole.len() {
                refused(&whole[..len]);
            }
            let reason = refused(&whole[..whole.len() - 1]);
            let (has, says) = ((whole.len() - 1).to_string(), whole.len().to_string());
            assert!(reason.contains(&has) && reason.contains(&says), "{reason}");
        }
    }
    let whole = fatbin(&[(cubin(Arch::SM_80, false).bytes(), 80), (cubin(Arch::SM_90, false).bytes(), 90)]);
    assert_eq!(Image::from_bytes(whole.clone()).unwrap().kind(), ImageKind::Fatbin);
    for len in 0..whole.len() {
        refused(&whole[..len]);
    }
}

#[test]
fn a_fatbin_is_known_and_linked() {
    if !nvrtc() || !nvjitlink() {
        return;
    }
    let relocatable = |source: &str| {
        let options = CompileOptions::new().arch(Arch::SM_80).relocatable(true);
        memory_only().compile(&Source::new(source).emit(Emit::Cubin).options(options)).unwrap()
    };
    let twice = relocatable("__device__ float twice(float x) { return x + x; }");
    let kernel = relocatable(
        "extern __device__ float twice(float); extern \"C\" __global__ void k(float* x) { *x = twice(*x); }",
    );
    let fat = Image::from_bytes(fatbin(&[(twice.bytes(), 80)])).unwrap();
    assert_eq!((fat.kind(), fat.arch()), (ImageKind::Fatbin, None));
    let linked = memory_only().link(&Link::new(Arch::SM_80).input(&fat).input(&kernel)).unwrap();
    assert_eq!((linked.kind(), linked.arch()), (ImageKind::Cubin, Some(Arch::SM_80)));
    // Without what is in the fatbin there is no such function.
    let alone = memory_only().link(&Link::new(Arch::SM_80).input(&kernel));
    assert!(matches!(alone, Err(Error::Compile { .. })), "{alone:?}");
}

#[test]
fn a_file_is_read_for_what_it_holds_not_for_its_name() {
    if !nvrtc() {
        return;
    }
    let (folder, arch) = (Folder::new(), Arch::SM_80);
    let program = |emit| Source::new("extern \"C\" __global__ void k(int* x) { *x = 1; }").arch(arch).emit(emit);
    for (emit, kind) in [(Emit::Ptx, ImageKind::Ptx), (Emit::Cubin, ImageKind::Cubin), (Emit::LtoIr, ImageKind::LtoIr)]
    {
        let made = memory_only().compile(&program(emit)).unwrap();
        let path = folder.path().join("kernel.bin");
        std::fs::write(&path, made.bytes()).unwrap();
        let read = Image::from_file(&path).unwrap();
        assert_eq!((read.kind(), read.bytes()), (kind, made.bytes()));
        if emit == Emit::Cubin {
            std::fs::write(&path, &made.bytes()[..made.bytes().len() / 2]).unwrap();
            let error = Image::from_file(&path).unwrap_err().to_string();
            assert!(error.contains("kernel.bin") && error.contains("cut off"), "{error}");
        }
    }
}

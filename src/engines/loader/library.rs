//! The CUDA libraries that the loader knows, and their file names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A shared library of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Library {
    /// The driver, `libcuda`: comes with the kernel module, never with a toolkit.
    Driver,
    /// cuBLAS, dense linear algebra.
    Cublas,
    /// cuBLASLt, the matrix product with epilogues.
    CublasLt,
    /// cuDNN, neural-network primitives.
    Cudnn,
    /// cuDSS, direct solvers of sparse systems.
    Cudss,
    /// cuFFT, Fourier transforms.
    Cufft,
    /// cuRAND, random numbers.
    Curand,
    /// cuSOLVER, factorizations and eigenproblems.
    Cusolver,
    /// cuSPARSE, sparse matrices.
    Cusparse,
    /// cuTENSOR, tensor contractions.
    Cutensor,
    /// NVRTC, the run-time compiler of CUDA C++.
    Nvrtc,
    /// nvJitLink, the run-time linker; cuSPARSE and cuSOLVER depend on it.
    NvJitLink,
    /// NCCL, collectives among GPUs.
    Nccl,
    /// NVML, device management; comes with the driver.
    Nvml,
    /// NVTX, named ranges for profilers.
    Nvtx,
}

impl Library {
    /// Every library, the driver first.
    pub const ALL: &'static [Library] = &[
        Library::Driver,
        Library::Cublas,
        Library::CublasLt,
        Library::Cudnn,
        Library::Cudss,
        Library::Cufft,
        Library::Curand,
        Library::Cusolver,
        Library::Cusparse,
        Library::Cutensor,
        Library::Nvrtc,
        Library::NvJitLink,
        Library::Nccl,
        Library::Nvml,
        Library::Nvtx,
    ];

    /// Its usual name, such as `cuBLAS`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The crate feature that enables this library.
    #[must_use]
    pub fn feature(self) -> &'static str {
        self.spec().feature
    }

    /// Whether this build enables the library. One that is not enabled is still loaded if another library needs it.
    #[must_use]
    pub fn is_enabled(self) -> bool {
        self.spec().enabled
    }

    /// Whether the library processes code and needs no device: this process uses it, even if the code is for a device
    /// in a worker.
    pub(crate) fn needs_no_device(self) -> bool {
        matches!(self, Library::Nvrtc | Library::NvJitLink)
    }

    pub(crate) fn spec(self) -> &'static Spec {
        match self {
            Library::Driver => &DRIVER,
            Library::Cublas => &CUBLAS,
            Library::CublasLt => &CUBLASLT,
            Library::Cudnn => &CUDNN,
            Library::Cudss => &CUDSS,
            Library::Cufft => &CUFFT,
            Library::Curand => &CURAND,
            Library::Cusolver => &CUSOLVER,
            Library::Cusparse => &CUSPARSE,
            Library::Cutensor => &CUTENSOR,
            Library::Nvrtc => &NVRTC,
            Library::NvJitLink => &NVJITLINK,
            Library::Nccl => &NCCL,
            Library::Nvml => &NVML,
            Library::Nvtx => &NVTX,
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who installs a library; this decides where it is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The driver package: system folders only.
    Driver,
    /// A toolkit, a Python wheel, a conda package.
    Toolkit,
}

/// A file name to search for.
#[derive(Debug)]
pub(crate) struct Soname {
    /// The name on disk, which is also the name inside the file.
    pub(crate) file: &'static str,
    /// The CUDA major versions that ship this name. Several: the name alone does not determine it. None: not bound to
    /// one.
    pub(crate) majors: &'static [u32],
}

/// What the loader knows about one library.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// The newest first.
    pub(crate) sonames: &'static [Soname],
    /// A file of an older release, which is not this library to this crate, and why.
    pub(crate) refused: Option<(&'static str, &'static str)>,
    /// Loaded before it, in this order, if they are found: some of these files have no RUNPATH of their own.
    pub(crate) needs: &'static [Library],
    /// The common prefix of the names of files that the library later opens by bare name; they are loaded from its own
    /// folder.
    pub(crate) companions: Option<&'static str>,
    pub(crate) origin: Origin,
    pub(crate) feature: &'static str,
    pub(crate) enabled: bool,
    /// What may help if it is missing.
    pub(crate) hint: &'static str,
}

const fn so(file: &'static str, majors: &'static [u32]) -> Soname {
    Soname { file, majors }
}

macro_rules! spec {
    ($NAME:ident = $name:literal [$($file:literal: $majors:expr),*] $origin:ident feature $feature:literal
     needs [$($need:ident),*] $(companions $companions:literal)? $(refuses $old:literal $why:literal)? hint $hint:literal) => {
        static $NAME: Spec = Spec {
            name: $name,
            sonames: &[$(so($file, &$majors)),*],
            refused: spec!(@refused $($old $why)?),
            needs: &[$(Library::$need),*],
            companions: spec!(@companions $($companions)?),
            origin: Origin::$origin,
            feature: $feature,
            enabled: cfg!(feature = $feature),
            hint: $hint,
        };
    };
    (@companions $text:literal) => { Some($text) };
    (@companions) => { None };
    (@refused $old:literal $why:literal) => { Some(($old, $why)) };
    (@refused) => { None };
}

// `libcuda.so` comes last: without the `.1` it is the name of a toolkit's stub.
spec!(DRIVER = "the CUDA driver" ["libcuda.so.1": [], "libcuda.so": []] Driver feature "cuda" needs []
    hint "install the NVIDIA driver; in a container, start it with the GPU passed in (`--gpus all`)");
spec!(CUBLAS = "cuBLAS" ["libcublas.so.13": [13], "libcublas.so.12": [12]] Toolkit feature "blas" needs [CublasLt]
    hint "install the CUDA toolkit, or `pip install nvidia-cublas` (CUDA 13) or `nvidia-cublas-cu12`");
spec!(CUBLASLT = "cuBLASLt" ["libcublasLt.so.13": [13], "libcublasLt.so.12": [12]] Toolkit feature "blaslt" needs []
    hint "it comes with cuBLAS: install the toolkit, or `pip install nvidia-cublas` (CUDA 13) or `nvidia-cublas-cu12`");
spec!(CUDNN = "cuDNN" ["libcudnn.so.9": []] Toolkit feature "dnn" needs [Nvrtc, CublasLt, Cublas]
    hint "install cuDNN 9, or `pip install nvidia-cudnn-cu13` or `nvidia-cudnn-cu12`");
spec!(CUDSS = "cuDSS" ["libcudss.so.1": [13, 12]] Toolkit feature "direct" needs [Nvrtc, CublasLt, Cublas]
    refuses "libcudss.so.0" "cuDSS 0.x has other functions under the same names, and this crate calls those of 1.x"
    hint "install cuDSS 1, or `pip install nvidia-cudss-cu13` or `nvidia-cudss-cu12`");
spec!(CUFFT = "cuFFT" ["libcufft.so.12": [13], "libcufft.so.11": [12]] Toolkit feature "fft" needs []
    hint "install the CUDA toolkit, or `pip install nvidia-cufft` (CUDA 13) or `nvidia-cufft-cu12`");
spec!(CURAND = "cuRAND" ["libcurand.so.10": [13, 12, 11]] Toolkit feature "rng" needs []
    hint "install the CUDA toolkit, or `pip install nvidia-curand` (CUDA 13) or `nvidia-curand-cu12`");
spec!(CUSOLVER = "cuSOLVER" ["libcusolver.so.12": [13], "libcusolver.so.11": [12, 11]] Toolkit feature "solver"
    needs [NvJitLink, CublasLt, Cublas, Cusparse]
    hint "install the CUDA toolkit, or `pip install nvidia-cusolver` (CUDA 13) or `nvidia-cusolver-cu12`");
spec!(CUSPARSE = "cuSPARSE" ["libcusparse.so.12": [13, 12]] Toolkit feature "sparse" needs [NvJitLink]
    hint "install the CUDA toolkit, or `pip install nvidia-cusparse` (CUDA 13) or `nvidia-cusparse-cu12`");
spec!(CUTENSOR = "cuTENSOR" ["libcutensor.so.2": []] Toolkit feature "tensor" needs [CublasLt]
    hint "install cuTENSOR 2, or `pip install cutensor-cu13` or `cutensor-cu12`");
// The file name of the builtins contains the minor version, so it is searched for by its prefix.
spec!(NVRTC = "NVRTC" ["libnvrtc.so.13": [13], "libnvrtc.so.12": [12]] Toolkit feature "nvrtc" needs []
    companions "libnvrtc-builtins.so."
    hint "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` (CUDA 13) or `nvidia-cuda-nvrtc-cu12`");
spec!(NVJITLINK = "nvJitLink" ["libnvJitLink.so.13": [13], "libnvJitLink.so.12": [12]] Toolkit feature "cuda" needs []
    hint "install the CUDA toolkit, or `pip install nvidia-nvjitlink` (CUDA 13) or `nvidia-nvjitlink-cu12`");
spec!(NCCL = "NCCL" ["libnccl.so.2": []] Toolkit feature "collective" needs []
    hint "install NCCL 2, or `pip install nvidia-nccl-cu13` or `nvidia-nccl-cu12`");
spec!(NVML = "NVML" ["libnvidia-ml.so.1": []] Driver feature "cuda" needs []
    hint "it comes with the NVIDIA driver; in a container, pass in the `utility` capability");
spec!(NVTX = "NVTX" ["libnvtx3interop.so.1": [], "libnvToolsExt.so.1": []] Toolkit feature "nvtx" needs []
    hint "install the CUDA toolkit, or `pip install nvidia-nvtx` (CUDA 13) or `nvidia-nvtx-cu12`");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_is_listed_once_and_names_at_least_one_file() {
        let mut seen = std::collections::BTreeSet::new();
        for &library in Library::ALL {
            assert!(seen.insert(library), "{library:?} is listed twice");
            assert!(!library.spec().sonames.is_empty(), "{library:?} names no file");
        }
        assert_eq!(seen.len(), 15);
    }

    /// A cycle would make the loader recurse endlessly.
    #[test]
    fn needs_form_no_cycle() {
        fn depth(library: Library, left: usize) {
            assert!(left > 0, "{library:?} needs itself");
            for &need in library.spec().needs {
                depth(need, left - 1);
            }
        }
        for &library in Library::ALL {
            depth(library, Library::ALL.len());
        }
    }

    #[test]
    fn majors_are_those_of_the_toolkits_that_ship_the_name() {
        let majors =
            |library: Library, file: &str| library.spec().sonames.iter().find(|s| s.file == file).map(|s| s.majors);
        assert_eq!(majors(Library::Cufft, "libcufft.so.12"), Some(&[13][..]));
        assert_eq!(majors(Library::Cufft, "libcufft.so.11"), Some(&[12][..]));
        assert_eq!(majors(Library::Cusolver, "libcusolver.so.12"), Some(&[13][..]));
        assert_eq!(majors(Library::Cublas, "libcublas.so.12"), Some(&[12][..]));
        assert_eq!(majors(Library::Nccl, "libnccl.so.2"), Some(&[][..]));
    }
}

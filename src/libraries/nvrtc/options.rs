//! Compile options.

use super::Arch;
use super::check::{self, clean};
use crate::core::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Turns off the search for a quoted include in the folder of the including file.
pub(super) const ALONE: &str = "--no-source-include";

/// The C++ dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CppStandard {
    /// C++03.
    Cpp03,
    /// C++11.
    Cpp11,
    /// C++14.
    Cpp14,
    /// C++17, the default of the compiler.
    Cpp17,
    /// C++20.
    Cpp20,
}

impl CppStandard {
    fn name(self) -> &'static str {
        match self {
            CppStandard::Cpp03 => "c++03",
            CppStandard::Cpp11 => "c++11",
            CppStandard::Cpp14 => "c++14",
            CppStandard::Cpp17 => "c++17",
            CppStandard::Cpp20 => "c++20",
        }
    }
}

/// The options with which a [`Source`](super::Source) is compiled. Options that are not set have the default of the
/// compiler.
///
/// [`check`](Self::check) and the compilation refuse settings that contradict each other, and strings that cannot be
/// passed to the compiler.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{Arch, CompileOptions, CppStandard};
/// let options = CompileOptions::new().arch(Arch::SM_90A).standard(CppStandard::Cpp20).fast_math(true).define("TILE", "32");
/// options.check()?;
/// assert!(options.ftz(false).check().is_err()); // fast math flushes denormals
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub struct CompileOptions {
    arch: Option<Arch>,
    standard: Option<CppStandard>,
    fast_math: bool,
    ftz: Option<bool>,
    prec_div: Option<bool>,
    prec_sqrt: Option<bool>,
    fmad: Option<bool>,
    max_registers: Option<u32>,
    line_info: bool,
    debug: bool,
    relocatable: bool,
    default_device: bool,
    include_paths: Vec<PathBuf>,
    defines: Vec<(String, Option<String>)>,
    free: Vec<String>,
}

impl CompileOptions {
    /// The compiler's defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The architecture (`--gpu-architecture`). The default is that of the device for which the compiler works; without
    /// a device it is `sm_80`, whose PTX runs on every GPU since Ampere.
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = Some(arch);
        self
    }

    /// The C++ dialect (`--std`).
    pub fn standard(mut self, standard: CppStandard) -> Self {
        self.standard = Some(standard);
        self
    }

    /// Fast, less accurate single precision (`--use_fast_math`): denormals are flushed to zero; divisions and roots are
    /// approximate.
    pub fn fast_math(mut self, on: bool) -> Self {
        self.fast_math = on;
        self
    }

    /// Whether single-precision denormals are flushed to zero (`--ftz`).
    pub fn ftz(mut self, on: bool) -> Self {
        self.ftz = Some(on);
        self
    }

    /// Whether single-precision division is rounded as in IEEE 754 (`--prec-div`).
    pub fn prec_div(mut self, on: bool) -> Self {
        self.prec_div = Some(on);
        self
    }

    /// Whether the single-precision square root is rounded as in IEEE 754 (`--prec-sqrt`).
    pub fn prec_sqrt(mut self, on: bool) -> Self {
        self.prec_sqrt = Some(on);
        self
    }

    /// Whether a product and a sum may be contracted to one operation with one rounding (`--fmad`).
    pub fn fmad(mut self, on: bool) -> Self {
        self.fmad = Some(on);
        self
    }

    /// The maximum number of registers of a thread (`--maxrregcount`), 1 to 255.
    pub fn max_registers(mut self, count: u32) -> Self {
        self.max_registers = Some(count);
        self
    }

    /// Generates line numbers for profilers (`--generate-line-info`).
    pub fn line_info(mut self, on: bool) -> Self {
        self.line_info = on;
        self
    }

    /// Generates unoptimised code for a debugger (`--device-debug`, `-G`).
    pub fn debug(mut self, on: bool) -> Self {
        self.debug = on;
        self
    }

    /// Generates code that can be linked with other code (`--relocatable-device-code`). LTO-IR always can.
    pub fn relocatable(mut self, on: bool) -> Self {
        self.relocatable = on;
        self
    }

    /// Makes functions without `__device__` or `__global__` device functions (`--device-as-default-execution-space`).
    pub fn default_device(mut self, on: bool) -> Self {
        self.default_device = on;
        self
    }

    /// Adds a folder of headers (`--include-path`). Folders are searched after the headers in memory, in the order
    /// given. A relative path is made absolute now, against the current folder of the process.
    ///
    /// CUDA's own headers (`cuda_fp16.h`, `cooperative_groups.h`, libcu++) need no include path: the folder next to
    /// CUDA's libraries is searched last.
    ///
    /// A program without include paths that includes no header of CUDA sees only its headers in memory, and files
    /// included by an absolute path. Otherwise a quoted include is first searched in the folder of the including file,
    /// as usual (the folder of the program itself follows from its name).
    pub fn include_path(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        // An empty path stays empty, so that `check` refuses it.
        self.include_paths.push(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
        self
    }

    /// Defines a macro with a value (`--define-macro`).
    pub fn define(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.defines.push((name.into(), Some(value.to_string())));
        self
    }

    /// Defines a macro without a value: its value is 1.
    pub fn define_flag(mut self, name: impl Into<String>) -> Self {
        self.defines.push((name.into(), None));
        self
    }

    /// Adds a compiler option that has no method here, as one string: `--extra-device-vectorization`, `-Xptxas=-v`. An
    /// option that has a method is refused, because the compiler would decide which of the two wins.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.free.push(option.into());
        self
    }

    /// The architecture that was set.
    pub fn target(&self) -> Option<Arch> {
        self.arch
    }

    pub(super) fn include_paths(&self) -> &[PathBuf] {
        &self.include_paths
    }

    /// Whether a free option makes the compiler read or write files itself.
    pub(super) fn touches_files(&self) -> bool {
        self.free.iter().any(|option| check::touches_files(option))
    }

    /// Checks that the options are consistent and can be passed to the compiler.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], which names the option and what is wrong.
    pub fn check(&self) -> Result<()> {
        if self.fast_math {
            let implied = [
                ("ftz", self.ftz, true),
                ("prec_div", self.prec_div, false),
                ("prec_sqrt", self.prec_sqrt, false),
                ("fmad", self.fmad, true),
            ];
            if let Some((name, _, means)) = implied.into_iter().find(|(_, set, means)| *set == Some(!means)) {
                return Err(Error::invalid(name, format!("{}, but fast_math sets it to {means}", !means)));
            }
        }
        if self.debug && self.line_info {
            return Err(Error::invalid(
                "line_info",
                "cannot be combined with debug, which already includes line numbers",
            ));
        }
        if let Some(count) = self.max_registers.filter(|count| !(1..=255).contains(count)) {
            return Err(Error::invalid(
                "max_registers",
                format!("{count} registers per thread, but 1 to 255 are possible"),
            ));
        }
        for path in &self.include_paths {
            let text = path.to_str().ok_or_else(|| {
                Error::invalid("include_path", format!("{} is not UTF-8, but the compiler needs UTF-8", path.display()))
            })?;
            clean("include_path", text)?;
        }
        for (name, value) in &self.defines {
            check::define(name, value.as_deref())?;
        }
        self.free.iter().try_for_each(|option| check::free(option))
    }

    /// The compiler's arguments, except the architecture.
    pub(super) fn arguments(&self) -> Result<Vec<String>> {
        self.check()?;
        let mut all = Vec::new();
        let mut flag = |on: bool, text: &str| {
            if on {
                all.push(text.to_owned());
            }
        };
        flag(self.fast_math, "--use_fast_math");
        flag(self.line_info, "--generate-line-info");
        flag(self.debug, "--device-debug");
        flag(self.relocatable, "--relocatable-device-code=true");
        flag(self.default_device, "--device-as-default-execution-space");
        flag(self.include_paths.is_empty(), ALONE);
        for (name, set) in
            [("ftz", self.ftz), ("prec-div", self.prec_div), ("prec-sqrt", self.prec_sqrt), ("fmad", self.fmad)]
        {
            all.extend(set.map(|on| format!("--{name}={on}")));
        }
        all.extend(self.standard.map(|standard| format!("--std={}", standard.name())));
        all.extend(self.max_registers.map(|count| format!("--maxrregcount={count}")));
        all.extend(self.include_paths.iter().map(|path| format!("--include-path={}", path.display())));
        all.extend(self.defines.iter().map(|(name, value)| match value {
            Some(value) => format!("--define-macro={name}={value}"),
            None => format!("--define-macro={name}"),
        }));
        all.extend(self.free.iter().cloned());
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: CompileOptions) -> (String, String) {
        match options.check() {
            Err(Error::InvalidArgument { argument, reason, .. }) => (argument.into_owned(), reason),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_setting_reaches_the_arguments() {
        let plain = CompileOptions::new();
        let settings: Vec<CompileOptions> = vec![
            plain.clone().standard(CppStandard::Cpp20),
            plain.clone().standard(CppStandard::Cpp14),
            plain.clone().fast_math(true),
            plain.clone().ftz(true),
            plain.clone().ftz(false),
            plain.clone().prec_div(true),
            plain.clone().prec_sqrt(true),
            plain.clone().fmad(true),
            plain.clone().max_registers(32),
            plain.clone().line_info(true),
            plain.clone().debug(true),
            plain.clone().relocatable(true),
            plain.clone().default_device(true),
            plain.clone().include_path("/a"),
            plain.clone().include_path("/b"),
            plain.clone().define("A", 1),
            plain.clone().define("A", "2"),
            plain.clone().define_flag("A"),
            plain.clone().option("--extra-device-vectorization"),
            plain,
        ];
        let arguments: Vec<_> = settings.iter().map(|o| o.arguments().unwrap()).collect();
        for (i, a) in arguments.iter().enumerate() {
            for (b, other) in arguments.iter().zip(&settings).skip(i + 1) {
                assert_ne!(a, b, "{other:?}");
            }
        }
        assert_eq!(arguments[3], ["--no-source-include", "--ftz=true"]);
        assert_eq!(arguments[13], ["--include-path=/a"]);
    }

    #[test]
    fn what_contradicts_fast_math_is_refused_by_its_name() {
        let fast = CompileOptions::new().fast_math(true);
        assert_eq!(refused(fast.clone().ftz(false)).0, "ftz");
        assert_eq!(refused(fast.clone().prec_div(true)).0, "prec_div");
        assert_eq!(refused(fast.clone().prec_sqrt(true)).0, "prec_sqrt");
        assert_eq!(refused(fast.clone().fmad(false)).0, "fmad");
        fast.ftz(true).prec_div(false).prec_sqrt(false).fmad(true).check().unwrap();
    }

    #[test]
    fn impossible_values_are_refused_with_both_values() {
        let plain = CompileOptions::new();
        for count in [0, 256] {
            let (name, reason) = refused(plain.clone().max_registers(count));
            assert!(
                name == "max_registers" && reason.contains(&count.to_string()) && reason.contains("255"),
                "{reason}"
            );
        }
        assert_eq!(refused(plain.clone().debug(true).line_info(true)).0, "line_info");
        assert_eq!(refused(plain.clone().include_path("")).0, "include_path");
        assert_eq!(refused(plain.include_path("/a\0b")).0, "include_path");
    }

    #[test]
    fn a_relative_include_path_is_fixed_when_it_is_given() {
        let options = CompileOptions::new().include_path("headers");
        assert!(options.include_paths()[0].is_absolute());
    }
}

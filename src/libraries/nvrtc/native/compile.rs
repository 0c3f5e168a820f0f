//! One compilation from a program to its image, with the calls of NVRTC.

use super::super::Arch;
use super::super::compiler::Identity;
use super::super::options::ALONE;
use super::super::program::{Emit, Prepared, Source};
use super::functions::{Nvrtc, Program as NvrtcProgram};
use super::status;
use crate::core::error::{Diagnostic, Error, PTX_INPUT, Result, Site};
use crate::core::process::leaving;
use crate::engines::library::{self, Code};
use crate::libraries::disk_cache::Answer;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The compiler of this process. The first call loads it.
pub(in crate::libraries::nvrtc) fn identity() -> Result<&'static Identity> {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    if let Some(known) = IDENTITY.get() {
        return Ok(known);
    }
    let api = Nvrtc::load()?;
    let found = look(api)?;
    crate::engines::loader::guard_destructors(api.library(), &[c"nvrtcVersion"]);
    leaving::watch();
    Ok(IDENTITY.get_or_init(|| found))
}

/// The folders of CUDA's own headers. The search is repeated until it finds some.
pub(in crate::libraries::nvrtc) fn header_folders() -> Vec<PathBuf> {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return found.clone();
    }
    let (Ok(api), Ok(identity)) = (Nvrtc::load(), identity()) else { return Vec::new() };
    let mut found = crate::engines::loader::header_folders(&api.library().path, identity.version.0);
    // The compiler accepts only UTF-8.
    found.retain(|folder| folder.to_str().is_some());
    match found.is_empty() {
        true => found,
        false => FOUND.get_or_init(|| found).clone(),
    }
}

/// Runs `f` unless the process is exiting; an exit waits for it.
pub(in crate::libraries::nvrtc) fn unless_exiting<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let gone = || Err(Error::GpuRefStale { reason: crate::core::error::Stale::ShuttingDown, site: Site::none() });
    leaving::unless_leaving(f).unwrap_or_else(gone)
}

/// The version, build and architectures of the compiler.
fn look(api: &Nvrtc) -> Result<Identity> {
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: two ints are written through valid pointers.
    check(unsafe { api.version(&mut major, &mut minor) }, "nvrtcVersion")?;
    // SAFETY: one int is written through a valid pointer.
    check(unsafe { api.num_supported_archs(&mut count) }, "nvrtcGetNumSupportedArchs")?;
    let mut archs = vec![0 as c_int; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the buffer has as many elements as the library said.
    check(unsafe { api.supported_archs(archs.as_mut_ptr()) }, "nvrtcGetSupportedArchs")?;
    Ok(Identity {
        version: (major.unsigned_abs(), minor.unsigned_abs()),
        build: build(&api.library().path),
        archs: archs.into_iter().map(c_int::unsigned_abs).collect(),
    })
}

/// A hash that distinguishes builds of a library: releases of one minor version differ in their code. It covers the
/// length of the file and its first page, where the linker puts a hash of the build; and the same of the file beside it
/// that contains NVRTC's built-in code.
pub(in crate::libraries::nvrtc) fn build(file: &Path) -> [u8; 32] {
    let beside = file.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let is_code = |name: &str| name.starts_with("libnvrtc-builtins") || name.starts_with("nvrtc-builtins64");
    let builtins = beside.filter(|item| item.file_name().to_str().is_some_and(is_code)).map(|item| item.path());
    let mut files: Vec<PathBuf> = builtins.collect();
    files.sort();
    files.insert(0, file.to_path_buf());
    let mut hasher = blake3::Hasher::new();
    for mut file in files.iter().filter_map(|file| File::open(file).ok()) {
        let mut page = [0; 4096];
        let read = file.read(&mut page).unwrap_or(0);
        hasher.update(&file.metadata().map_or(0, |m| m.len()).to_le_bytes());
        hasher.update(page.get(..read).unwrap_or_default());
    }
    *hasher.finalize().as_bytes()
}

fn error(code: Code, call: &str) -> Error {
    let name = library::name(status::NVRTC, code);
    Error::library(format!("{call} failed: {name}")).locate(|site| {
        site.set_code(code.0, name);
    })
}

fn check(code: Code, call: &str) -> Result<()> {
    code.ok().map_err(|code| error(code, call))
}

/// A function that writes a property of a program.
type Getter<T> = unsafe fn(&Nvrtc, NvrtcProgram, *mut T) -> Code;

/// A program of the library, destroyed when it is dropped.
struct Native {
    api: &'static Nvrtc,
    program: NvrtcProgram,
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: owned by this value, made by the library, destroyed once.
        let _ = unsafe { self.api.destroy_program(&mut self.program) };
    }
}

/// Stops a compilation when the process begins to exit.
unsafe extern "C" fn stop_at_exit(_: *mut c_void, _: *mut c_void) -> c_int {
    c_int::from(!leaving::goes_on())
}

fn c_string(argument: &'static str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|e| Error::invalid(argument, format!("a zero byte at position {}", e.nul_position())))
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|s| s.as_ptr()).collect()
}

impl Native {
    fn new(api: &'static Nvrtc, program: &Source) -> Result<Self> {
        let source = c_string("source", program.source())?;
        let name = c_string("name", program.label())?;
        let names = program.headers().map(|(name, _)| c_string("header", name)).collect::<Result<Vec<_>>>()?;
        let texts = program.headers().map(|(_, text)| c_string("header", text)).collect::<Result<Vec<_>>>()?;
        let count = c_int::try_from(names.len()).map_err(|_| Error::invalid("header", "more headers than 2^31"))?;
        let mut native = std::ptr::null_mut();
        // SAFETY: all strings end with a zero and outlive the call, which copies them; `count` of each list.
        let code = unsafe {
            api.create_program(
                &mut native,
                source.as_ptr(),
                name.as_ptr(),
                count,
                pointers(&texts).as_ptr(),
                pointers(&names).as_ptr(),
            )
        };
        check(code, "nvrtcCreateProgram")?;
        let native = Native { api, program: native };
        // SAFETY: the function has no state, and exists as long as the process. The call may fail on a compiler without
        // this function: then an exit only waits.
        let _ = unsafe { api.set_flow_callback(native.program, stop_at_exit, std::ptr::null_mut()) };
        Ok(native)
    }

    /// Gets a result with two calls: first its size, then its bytes.
    ///
    /// # Safety
    /// `size` and `get` are a matching pair of the library's functions, like `nvrtcGetPTXSize` and `nvrtcGetPTX`: the
    /// first writes how many bytes the second writes.
    unsafe fn take(&self, call: &str, size: Getter<usize>, get: Getter<c_char>) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: our program; the size is written through a valid pointer.
        check(unsafe { size(self.api, self.program, &mut bytes) }, call)?;
        let mut buffer = vec![0u8; bytes];
        if bytes > 0 {
            // SAFETY: our program; the buffer has as many bytes as are written, by the caller's promise.
            check(unsafe { get(self.api, self.program, buffer.as_mut_ptr().cast()) }, call)?;
        }
        Ok(buffer)
    }

    fn log(&self) -> String {
        // SAFETY: a matching pair.
        let log = unsafe { self.take("nvrtcGetProgramLog", Nvrtc::log_size, Nvrtc::log) };
        text(log.unwrap_or_default())
    }

    fn ptx(&self) -> Result<Vec<u8>> {
        // SAFETY: a matching pair.
        let mut ptx = unsafe { self.take("nvrtcGetPTX", Nvrtc::ptx_size, Nvrtc::ptx) }?;
        while ptx.pop_if(|last| *last == 0).is_some() {}
        Ok(ptx)
    }

    fn cubin(&self) -> Result<Vec<u8>> {
        // SAFETY: a matching pair.
        unsafe { self.take("nvrtcGetCUBIN", Nvrtc::cubin_size, Nvrtc::cubin) }
    }

    fn ltoir(&self) -> Result<Vec<u8>> {
        // SAFETY: a matching pair.
        unsafe { self.take("nvrtcGetLTOIR", Nvrtc::ltoir_size, Nvrtc::ltoir) }
    }

    fn lowered(&self, expression: &str) -> Result<String> {
        let asked = c_string("expression", expression)?;
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: our program, compiled; the string ends with a zero; a pointer is written.
        check(unsafe { self.api.lowered_name(self.program, asked.as_ptr(), &mut name) }, "nvrtcGetLoweredName")
            .map_err(|e| Error::invalid("expression", format!("NVRTC has no lowered name for `{expression}`: {e}")))?;
        if name.is_null() {
            return Err(Error::invalid("expression", format!("NVRTC has no lowered name for `{expression}`")));
        }
        // SAFETY: a terminated string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }
}

fn text(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len()));
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Compiles `program` for `arch`; the folders of CUDA's headers are searched after its own. Takes no lock; can take
/// long.
pub(in crate::libraries::nvrtc) fn compile(
    program: &Source,
    prepared: &Prepared,
    arch: Arch,
    cudas: &[PathBuf],
) -> Result<Answer> {
    const OPTION: i32 = 5;
    const COMPILATION: i32 = 6;
    const CANCELLED: i32 = 16;
    leaving::admit()?;
    let api = Nvrtc::load()?;
    let native = Native::new(api, program)?;
    for expression in program.expressions() {
        let expression = c_string("expression", expression)?;
        // SAFETY: our program, not compiled yet; the string ends with a zero and is copied.
        let code = unsafe { api.add_name_expression(native.program, expression.as_ptr()) };
        check(code, "nvrtcAddNameExpression")?;
    }
    let target = format!("--gpu-architecture={arch}");
    let cudas: Vec<String> = cudas.iter().map(|folder| format!("--include-path={}", folder.display())).collect();
    // CUDA's headers include each other through the folder in which they are.
    let goes = |argument: &&String| cudas.is_empty() || *argument != ALONE;
    let arguments = std::iter::once(&target).chain(prepared.arguments.iter().filter(goes)).chain(&cudas);
    let arguments = arguments.map(|a| c_string("option", a)).collect::<Result<Vec<_>>>()?;
    let count = c_int::try_from(arguments.len()).map_err(|_| Error::invalid("option", "more options than 2^31"))?;
    // SAFETY: our program, used by this thread alone; `count` strings that end with a zero.
    let code = unsafe { api.compile_program(native.program, count, pointers(&arguments).as_ptr()) };
    let log = native.log();
    match code.0 {
        0 => {}
        OPTION => {
            return Err(Error::invalid(
                "option",
                format!("{} ({target} {})", log.trim(), prepared.arguments.join(" ")),
            ));
        }
        COMPILATION => return Err(failed(&native, program, log)),
        CANCELLED => {
            return Err(Error::GpuRefStale { reason: crate::core::error::Stale::ShuttingDown, site: Site::none() });
        }
        _ => {
            let error = error(code, "nvrtcCompileProgram");
            return Err(if log.trim().is_empty() { error } else { with_log(error, &log) });
        }
    }
    let bytes = match program.emits() {
        Emit::Ptx => native.ptx()?,
        Emit::Cubin => native.cubin()?,
        Emit::LtoIr => native.ltoir()?,
    };
    if bytes.is_empty() {
        return Err(Error::library(format!(
            "NVRTC compiled {program:?} for {arch}, but returned no {:?}",
            program.emits()
        )));
    }
    let names = program.expressions().map(|e| Ok((e.to_owned(), native.lowered(e)?))).collect::<Result<_>>()?;
    Ok(Answer { bytes, names, log })
}

fn with_log(error: Error, log: &str) -> Error {
    match error {
        Error::LibraryError { message, site } => Error::LibraryError { message: format!("{message}\n{log}"), site },
        other => other,
    }
}

/// The error for a source that the compiler refused: the log, with the lines that it mentions.
fn failed(native: &Native, program: &Source, log: String) -> Error {
    let text_of = |file: &str| {
        if file == program.label() {
            return Some(program.source().to_owned());
        }
        if let Some((_, text)) = program.headers().find(|(name, _)| *name == file) {
            return Some(text.to_owned());
        }
        if file == PTX_INPUT {
            return native.ptx().ok().map(text);
        }
        // A header that the compiler found on disk, under the name with which it was found.
        std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let diagnostics = Diagnostic::read(&log, text_of);
    Error::Compile { log, diagnostics }
}

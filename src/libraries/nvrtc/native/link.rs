//! One link from images to an image, with the calls of nvJitLink.

use super::super::compiler::Identity;
use super::super::{Arch, Emit, Image, ImageKind};
use super::compile::build;
use super::linker_functions::{Handle, NvJitLink};
use super::status;
use crate::core::error::{Diagnostic, Error, PTX_INPUT, Result};
use crate::core::process::leaving;
use crate::engines::library::{self, Code};
use crate::libraries::disk_cache::Answer;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// A linker of the library, destroyed when it is dropped.
struct Native {
    api: &'static NvJitLink,
    handle: Handle,
}

impl Drop for Native {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: owned by this value, made by the library, destroyed once.
            let _ = unsafe { self.api.destroy(&mut self.handle) };
        }
    }
}

/// The linker of this process. The first call loads it.
pub(in crate::libraries::nvrtc) fn linker() -> Result<&'static Identity> {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    if let Some(known) = IDENTITY.get() {
        return Ok(known);
    }
    let api = NvJitLink::load()?;
    let mut version = (0, 0);
    // SAFETY: two numbers are written through valid pointers. The first releases do not have this function; their build
    // identifies them.
    let _ = unsafe { api.version(&mut version.0, &mut version.1) };
    crate::engines::loader::guard_destructors(api.library(), &[c"nvJitLinkDestroy", c"__nvJitLinkDestroy_12_0"]);
    leaving::watch();
    Ok(IDENTITY.get_or_init(|| Identity { version, build: build(&api.library().path), archs: Vec::new() }))
}

/// Links. Takes no lock; can take long.
pub(in crate::libraries::nvrtc) fn link(
    inputs: &[Image],
    arch: Arch,
    emit: Emit,
    arguments: &[String],
) -> Result<Answer> {
    leaving::admit()?;
    let api = NvJitLink::load()?;
    let strings: Vec<CString> = arguments.iter().filter_map(|a| CString::new(a.as_str()).ok()).collect();
    let pointers: Vec<*const c_char> = strings.iter().map(|s| s.as_ptr()).collect();
    let count = u32::try_from(pointers.len()).map_err(|_| Error::invalid("option", "more options than 2^32"))?;
    // The linker keeps the addresses of its inputs until it is destroyed (observed: an error named an input with bytes
    // that had reused the memory of its name). So the inputs are made before it, and dropped after it.
    let given: Vec<(c_int, Vec<u8>, CString)> = inputs.iter().enumerate().map(|(i, image)| given(i, image)).collect();
    let mut linker = Native { api, handle: std::ptr::null_mut() };
    // SAFETY: `count` strings that end with a zero and outlive the call; the handle is written.
    let code = unsafe { api.create(&mut linker.handle, count, pointers.as_ptr()) };
    linker.check(code, "nvJitLinkCreate", inputs, arch, arguments)?;
    for (kind, bytes, name) in &given {
        // SAFETY: the bytes and the name outlive the linker.
        let code = unsafe { api.add_data(linker.handle, *kind, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) };
        linker.check(code, "nvJitLinkAddData", inputs, arch, arguments)?;
    }
    // SAFETY: our linker, used by this thread alone.
    let code = unsafe { api.complete(linker.handle) };
    linker.check(code, "nvJitLinkComplete", inputs, arch, arguments)?;
    let bytes = linker.result(emit)?;
    Ok(Answer { bytes, log: linker.log(false), names: Vec::new() })
}

/// The name of an input in messages.
fn name_of(i: usize, image: &Image) -> String {
    image.program().map_or_else(|| format!("input {i}"), |program| program.label().to_owned())
}

/// An input in the form that the linker requires: kind, bytes and name.
fn given(i: usize, image: &Image) -> (c_int, Vec<u8>, CString) {
    let kind = match image.kind() {
        ImageKind::Cubin => 1,
        ImageKind::Ptx => 2,
        ImageKind::LtoIr => 3,
        ImageKind::Fatbin => 4,
    };
    let mut bytes = image.bytes().to_vec();
    // PTX is passed as a string, and its terminating zero is counted.
    if image.kind() == ImageKind::Ptx {
        bytes.push(0);
    }
    (kind, bytes, CString::new(name_of(i, image)).unwrap_or_default())
}

/// The text to which messages of the assembler refer. The assembler has one name for all PTX; the linker adds which
/// input it was (`JIT the PTX (input 0)`). `None` if several inputs match, or if the linker made the PTX itself.
fn text_of(inputs: &[Image], log: &str, file: &str) -> Option<String> {
    let is_meant = |i: usize, image: &Image| inputs.len() == 1 || log.contains(&format!("PTX ({})", name_of(i, image)));
    let mut meant = inputs.iter().enumerate().filter(|(i, image)| is_meant(*i, image));
    match (meant.next(), meant.next()) {
        (Some((_, one)), None) if file == PTX_INPUT => one.text().map(str::to_owned),
        _ => None,
    }
}

impl Native {
    fn check(&self, code: Code, call: &str, inputs: &[Image], arch: Arch, arguments: &[String]) -> Result<()> {
        if code.is_success() {
            return Ok(());
        }
        let name = library::name(status::NVJITLINK, code);
        let log = if self.handle.is_null() { String::new() } else { self.log(true) };
        let told = if log.trim().is_empty() { name.to_owned() } else { format!("{name}: {}", log.trim()) };
        const OPTION: i32 = 1;
        const THREADS: i32 = 7;
        Err(match code.0 {
            OPTION => Error::invalid("option", format!("{told} ({})", arguments.join(" "))),
            16 | 17 => Error::unsupported(format!("nvJitLink does not link for {arch}: {told}")),
            // "Internal" can also mean an undefined name, with a log.
            _ if code.0 == THREADS || log.trim().is_empty() => {
                Error::library(format!("{call} failed: {told}")).locate(|site| {
                    site.set_code(code.0, name);
                })
            }
            // All other codes are about the inputs.
            _ => Error::Compile { diagnostics: Diagnostic::read(&log, |file| text_of(inputs, &log, file)), log },
        })
    }

    fn log(&self, errors: bool) -> String {
        let (api, handle) = (self.api, self.handle);
        let mut size = 0;
        // SAFETY: our linker; the size is written through a valid pointer.
        let code = unsafe {
            if errors { api.error_log_size(handle, &mut size) } else { api.info_log_size(handle, &mut size) }
        };
        if !code.is_success() || size == 0 {
            return String::new();
        }
        let mut text = vec![0u8; size];
        let to: *mut c_char = text.as_mut_ptr().cast();
        // SAFETY: the buffer has the size that was asked for.
        let code = unsafe { if errors { api.error_log(handle, to) } else { api.info_log(handle, to) } };
        if !code.is_success() {
            return String::new();
        }
        text.truncate(text.iter().position(|b| *b == 0).unwrap_or(text.len()));
        String::from_utf8_lossy(&text).into_owned()
    }

    fn result(&self, emit: Emit) -> Result<Vec<u8>> {
        let (api, handle) = (self.api, self.handle);
        let is_ptx = emit == Emit::Ptx;
        let fail = |code: Code, call: &str| {
            let name = library::name(status::NVJITLINK, code);
            Err(Error::library(format!("{call} failed: {name}")).locate(|site| {
                site.set_code(code.0, name);
            }))
        };
        let mut size = 0;
        // SAFETY: our linker, complete; the size is written through a valid pointer.
        let code = unsafe { if is_ptx { api.ptx_size(handle, &mut size) } else { api.cubin_size(handle, &mut size) } };
        if !code.is_success() {
            return fail(code, "nvJitLinkGetLinkedCubinSize");
        }
        let mut bytes = vec![0u8; size];
        let to: *mut c_void = bytes.as_mut_ptr().cast();
        // SAFETY: the buffer has the size that was asked for.
        let code = unsafe { if is_ptx { api.ptx(handle, to.cast()) } else { api.cubin(handle, to) } };
        if !code.is_success() {
            return fail(code, "nvJitLinkGetLinkedCubin");
        }
        if is_ptx {
            while bytes.pop_if(|last| *last == 0).is_some() {}
        }
        Ok(bytes)
    }
}

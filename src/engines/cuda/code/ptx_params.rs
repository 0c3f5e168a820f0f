//! What a kernel of the crate's own PTX declares as its parameters, compared with the arguments of each launch. Only with debug
//! assertions: a launch copies as many bytes as the kernel declares, whatever the caller gave.

use super::ptx::{KernelArg, Ptx};
use crate::core::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::io::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The bytes of each parameter of each kernel.
pub(super) type Declared = HashMap<String, Vec<usize>>;

/// Reads the parameter lists of all kernels of a text.
pub(super) fn declared(text: &str) -> Declared {
    let one = |entry: &str| {
        let (name, rest) = entry.split_once('(')?;
        let (list, _) = rest.split_once(')')?;
        let bytes = list.split(',').filter(|of| !of.trim().is_empty()).map(bytes).collect::<Option<Vec<_>>>()?;
        Some((name.trim().to_owned(), bytes))
    };
    text.split(".entry").skip(1).filter_map(one).collect()
}

/// The size of `.param .u64 name` or `.param .align 8 .b8 name[496]`.
fn bytes(parameter: &str) -> Option<usize> {
    let types = ["8", "16", "32", "64"];
    let ty = parameter.split_whitespace().rfind(|word| word.starts_with('.'))?;
    let bits = types.into_iter().rfind(|bits| ty.ends_with(bits))?.parse::<usize>().ok()?;
    let count = match parameter.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0.trim().parse().ok()?,
        None => 1,
    };
    Some(bits / 8 * count)
}

/// Fails unless the arguments are as many as the parameters of the kernel, each of the same size.
pub(super) fn check(ptx: &Ptx, name: &CStr, args: &[KernelArg]) -> Result<()> {
    let name = name.to_string_lossy();
    record(&name);
    let Some(wanted) = ptx.declared().get(&*name) else {
        return Err(Error::invalid("name", format!("the PTX has no kernel `{name}`")));
    };
    let given: Vec<usize> = args.iter().map(KernelArg::size).collect();
    if given == *wanted {
        return Ok(());
    }
    Err(Error::invalid("args", format!("`{name}` has parameters of {wanted:?} bytes, not of {given:?}")))
}

/// Appends the name of each kernel that is launched to the file that `WINDLASS_TEST_LAUNCHES` names; `.ci/kernels reached` lists
/// those that no test launched.
fn record(name: &str) {
    /// The file, and what stands in it.
    type Record = Mutex<(std::fs::File, HashSet<String>)>;
    static FILE: LazyLock<Option<Record>> = LazyLock::new(|| {
        let path = std::env::var_os("WINDLASS_TEST_LAUNCHES")?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
        Some(Mutex::new((file, HashSet::new())))
    });
    if let Some(file) = &*FILE {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.1.insert(name.to_owned()) {
            let _ = file.0.write_all(format!("{name}\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 7.0\n.visible .entry one(.param .u64 x, .param .f32 y,\n .param .align 8 .b8 z[496]) { ret; }\n\
        .visible .entry none()\n{ ret; }\n.visible .entry two(\n .param .b16 p_0,\n .param .s8 p_1\n)\n{ ret; }";

    #[test]
    fn parameters_are_read_from_the_text() {
        let of = declared(TEXT);
        assert_eq!(of["one"], [8, 4, 496]);
        assert_eq!(of["two"], [2, 1]);
        assert!(of["none"].is_empty() && of.len() == 3);
    }

    #[test]
    fn arguments_of_another_number_or_size_are_refused() {
        static KERNELS: Ptx = Ptx::new(".entry k(.param .u64 a, .param .u32 b) { ret; }");
        assert!(check(&KERNELS, c"k", &[1u64.into(), 1u32.into()]).is_ok());
        for args in [&[1u64.into(), 1usize.into()][..], &[1u64.into()], &[1u64.into(), 1u32.into(), 1u32.into()]] {
            assert!(matches!(check(&KERNELS, c"k", args), Err(Error::InvalidArgument { .. })));
        }
        assert!(check(&KERNELS, c"other", &[]).is_err());
    }
}

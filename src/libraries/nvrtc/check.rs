//! Checks of strings for the compiler, before any native call.

use crate::core::error::{Error, Result, Text};

/// Checks that the text is not empty and contains no zero byte.
pub(super) fn clean(argument: impl Into<Text>, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid(argument, "must not be empty"));
    }
    without_zero(argument, text)
}

/// Checks that the text contains no zero byte: a C string ends there, and the rest would be dropped silently.
pub(super) fn without_zero(argument: impl Into<Text>, text: &str) -> Result<()> {
    match text.bytes().position(|b| b == 0) {
        Some(at) => Err(Error::invalid(argument, format!("a zero byte at position {at} of {}", text.len()))),
        None => Ok(()),
    }
}

/// As [`clean`], and the text has only one line.
pub(super) fn line(argument: impl Into<Text>, text: &str) -> Result<()> {
    let argument = argument.into();
    clean(argument.clone(), text)?;
    match text.contains(['\n', '\r']) {
        true => Err(Error::invalid(argument, format!("`{}` is more than one line", text.escape_debug()))),
        false => Ok(()),
    }
}

/// Checks a macro: a name, or a name with parameters; a value in one line.
pub(super) fn define(name: &str, value: Option<&str>) -> Result<()> {
    line("define", name)?;
    let bare = name.split('(').next().unwrap_or_default();
    let begins = bare.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !begins || !bare.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Err(Error::invalid("define", format!("`{name}` is not the name of a macro")));
    }
    if bare.len() < name.len() && !name.ends_with(')') {
        return Err(Error::invalid("define", format!("the list of parameters of `{name}` is not closed")));
    }
    let Some(value) = value else { return Ok(()) };
    without_zero("define", value)?;
    match value.contains(['\n', '\r']) {
        true => Err(Error::invalid(
            "define",
            format!("the value of `{name}` is more than one line, but the compiler takes one"),
        )),
        false => Ok(()),
    }
}

/// The options that have methods, with every name that the compiler accepts for them.
const TYPED: &[(&[&str], &str)] = &[
    (&["gpu-architecture", "arch"], "CompileOptions::arch"),
    (&["std"], "CompileOptions::standard"),
    (&["use_fast_math"], "CompileOptions::fast_math"),
    (&["ftz"], "CompileOptions::ftz"),
    (&["prec-div"], "CompileOptions::prec_div"),
    (&["prec-sqrt"], "CompileOptions::prec_sqrt"),
    (&["fmad"], "CompileOptions::fmad"),
    (&["maxrregcount"], "CompileOptions::max_registers"),
    (&["generate-line-info", "lineinfo"], "CompileOptions::line_info"),
    (&["device-debug", "G"], "CompileOptions::debug"),
    (&["relocatable-device-code", "rdc", "device-c", "dc", "device-w", "dw"], "CompileOptions::relocatable"),
    (&["device-as-default-execution-space", "default-device"], "CompileOptions::default_device"),
    (&["include-path"], "CompileOptions::include_path"),
    (&["define-macro"], "CompileOptions::define"),
    (&["dlink-time-opt", "dlto", "gen-opt-lto"], "Emit::LtoIr"),
    (&["no-source-include"], "CompileOptions::include_path (without one, the folder of the source is not searched)"),
];

/// Options with which the compiler produces something other than code.
const REFUSED: &[(&[&str], &str)] =
    &[(&["optix-ir"], "OptiX IR is not supported as output"), (&["fdevice-syntax-only"], "it produces no code")];

/// Options that read or write files: their effect depends on more than the program.
const FILES: &[&str] = &[
    "pre-include",
    "include",
    "pch",
    "create-pch",
    "use-pch",
    "pch-dir",
    "time",
    "options-file",
    "optf",
    "fdevice-time-trace",
];

/// Checks an option that has no method and is given as one string.
pub(super) fn free(option: &str) -> Result<()> {
    line("option", option)?;
    if !option.starts_with('-') {
        return Err(Error::invalid(
            "option",
            format!("`{option}` does not begin with `-`; write a value as `--option=value`"),
        ));
    }
    let name = name(option);
    let find =
        |table: &[(&[&str], &'static str)]| table.iter().find(|(names, _)| names.contains(&name)).map(|(_, s)| *s);
    // `-DX`, `-IX` and `-UX` may have their value directly behind them.
    let method = match option.as_bytes() {
        [b'-', b'D', ..] => Some("CompileOptions::define"),
        [b'-', b'I', ..] => Some("CompileOptions::include_path"),
        _ => find(TYPED),
    };
    if let Some(method) = method {
        return Err(Error::invalid("option", format!("`{option}` has a typed form: use {method}")));
    }
    match find(REFUSED) {
        Some(reason) => Err(Error::invalid("option", format!("`{option}`: {reason}"))),
        None => Ok(()),
    }
}

/// See [`CompileOptions::touches_files`](super::CompileOptions::touches_files).
pub(super) fn touches_files(option: &str) -> bool {
    // An option for the assembler can also name a file.
    FILES.contains(&name(option)) || option.contains("file")
}

/// The `name` in `--name=value`, `-name value` and `-name`.
fn name(option: &str) -> &str {
    let bare = option.trim_start_matches('-');
    bare.split(['=', ' ', '\t']).next().unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_has_a_method_is_refused_in_every_spelling() {
        for option in [
            "--gpu-architecture=sm_90",
            "-arch=sm_90",
            "-arch sm_90",
            "--std=c++20",
            "-std=c++20",
            "--use_fast_math",
            "-ftz=true",
            "-G",
            "-lineinfo",
            "-dlto",
            "-I/usr",
            "-I",
            "--include-path=/x",
            "-DX=1",
            "-D",
            "-D X",
            "--define-macro=X",
            "-rdc=true",
            "-dc",
            "--no-source-include",
            "-maxrregcount=3",
        ] {
            let error = free(option).unwrap_err().to_string();
            assert!(error.contains(option) && error.contains("typed form"), "{error}");
        }
        for option in ["--extra-device-vectorization", "-Xptxas=-v", "-restrict", "-w", "--device-int128", "-dopt=on"] {
            free(option).unwrap();
        }
    }

    #[test]
    fn an_option_that_cannot_be_passed_on_is_refused() {
        for option in ["", "-a\0b", "-a\n-b", "restrict", "--optix-ir"] {
            assert!(matches!(free(option), Err(Error::InvalidArgument { .. })), "{option:?}");
        }
    }

    #[test]
    fn a_macro_is_a_name_and_a_value_in_one_line() {
        for (name, value) in [("A", Some("")), ("_a1", None), ("F(x,y)", Some("((x)+(y))"))] {
            define(name, value).unwrap();
        }
        for (name, value) in [
            ("", None),
            ("1a", None),
            ("A B", None),
            ("A=1", None),
            ("F(x", None),
            ("A", Some("1\n2")),
            ("A", Some("\0")),
        ] {
            assert!(define(name, value).is_err(), "{name:?} {value:?}");
        }
    }

    #[test]
    fn options_that_read_files_are_known() {
        assert!(touches_files("--pre-include=x.h") && touches_files("-include=x.h") && touches_files("-pch"));
        assert!(touches_files("-Xptxas=--options-file=x"));
        assert!(!touches_files("-w") && !touches_files("--pch-verbose=true"));
    }
}

//! The names of a kernel's parameters, read from the text of its source: an error then names an argument as its author does.

use crate::core::error::Error;

/// Adds the parameter's name to an error that names an argument by its position: ``argument 0 (`x`)``. The text need not be
/// understood: without a name the error stays as it is.
#[cold]
pub(super) fn name_argument(mut error: Error, kernel: &str, texts: &[&str]) -> Error {
    if let Error::InvalidArgument { argument, .. } = &mut error
        && let Some(index) = argument.strip_prefix("argument ").and_then(|index| index.parse::<usize>().ok())
        && let Some(name) = texts.iter().find_map(|text| names(text, kernel)).and_then(|all| all.get(index).copied())
        && !name.is_empty()
    {
        *argument = format!("argument {index} (`{name}`)").into();
    }
    error
}

/// The names in the first declaration of the kernel; an empty one for a parameter without.
fn names<'t>(text: &'t str, kernel: &str) -> Option<Vec<&'t str>> {
    let name = kernel.split('<').next()?.rsplit("::").next()?.trim();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for (at, found) in text.match_indices(name) {
        let (before, behind) = (text.get(..at)?, text.get(at + found.len()..)?);
        if name.is_empty() || before.ends_with(is_part) || !behind.trim_start().starts_with('(') {
            continue;
        }
        // Of a kernel's declaration, not of a call.
        let begin = before.rfind([';', '}']).map_or(0, |end| end + 1);
        if !before.get(begin..)?.contains("__global__") {
            continue;
        }
        return list(behind.trim_start().strip_prefix('(')?);
    }
    None
}

/// The names of a list of parameters up to its closing parenthesis.
fn list(text: &str) -> Option<Vec<&str>> {
    let (mut depth, mut begin, mut all) = (0usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                let last = text.get(begin..at)?;
                if !(all.is_empty() && matches!(last.trim(), "" | "void")) {
                    all.push(name_in(last));
                }
                return Some(all);
            }
            ')' | '>' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                all.push(name_in(text.get(begin..at)?));
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The last word of a parameter, before a default and the extents of an array.
fn name_in(parameter: &str) -> &str {
    let declared = parameter.split(['=', '[']).next().unwrap_or_default().trim_end();
    let start = declared.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |last| last + 1);
    match (declared.get(..start), declared.get(start..)) {
        // A single word is a type.
        (Some(before), Some(name)) if !before.trim().is_empty() => name,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_names_of_their_declaration() {
        let text = "__device__ float scale(float unused); // scale(\n\
            template <class T> __global__ void scale(const T* __restrict__ x, T (&y)[4], Pair<int, float> pair, float a = 1.0f, int)\n\
            { scale(x); }\n extern \"C\" __global__ void __launch_bounds__(256) none ( void ) {}";
        let told = names(text, "ns::scale<float>").unwrap();
        assert_eq!((&told[..1], &told[2..]), (&["x"][..], &["pair", "a", ""][..]));
        assert_eq!(names(text, "none").unwrap(), [""; 0]);
        assert_eq!((names(text, "cale"), names(text, ""), names("__global__ void f(int a", "f")), (None, None, None));
    }

    #[test]
    fn an_error_gets_the_name_if_there_is_one() {
        let text = ["#include <x>", "__global__ void add(float* sum, int n) {}"];
        let told =
            |argument: &'static str, kernel| name_argument(Error::invalid(argument, "no"), kernel, &text).to_string();
        assert_eq!(told("argument 1", "add"), "argument 1 (`n`): no");
        assert_eq!(told("argument 2", "add"), "argument 2: no");
        assert_eq!(
            (told("args", "add"), told("argument 0", "sub")),
            ("argument `args`: no".into(), "argument 0: no".into())
        );
    }
}

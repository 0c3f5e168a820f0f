//! The macro that declares a table of typed routines.
//!
//! cuBLAS and cuSOLVER have most routines four times, by a letter: S f32, D f64, C `Complex<f32>`, Z `Complex<f64>`.
//! With matrices and scalars as untyped pointers all four have the same signature. So one line declares them, and the
//! letter is an argument of the call.

use std::ffi::CStr;
use std::marker::PhantomData;

use super::Code;
use crate::core::element::Letter;
use crate::engines::loader::Loaded;

/// The four functions of one routine in the order of the letters, each with its name. A name is empty if the library
/// has no such routine for that letter.
///
/// They are kept without their type, so that what looks them up is compiled once and not for each signature.
pub(crate) struct Variants<F> {
    found: [Named; 4],
    function: PhantomData<F>,
}

type Named = (&'static CStr, Option<unsafe extern "C" fn()>);

impl<F: Copy> Variants<F> {
    /// Looks up the four functions.
    ///
    /// # Safety
    /// All of `names` have the type `F`.
    #[inline(always)]
    pub(crate) unsafe fn from_loaded(loaded: &Loaded, names: [&'static str; 4]) -> Self {
        Variants { found: look_up(loaded, names), function: PhantomData }
    }

    /// The function for a letter, and its name.
    #[inline(always)]
    pub(crate) fn get(&self, letter: Letter) -> (&'static str, Option<F>) {
        const { assert!(size_of::<Option<F>>() == size_of::<Option<unsafe extern "C" fn()>>(), "a pointer to a function") };
        let (name, function) = variant(&self.found, letter);
        // SAFETY: it is null for `None` in either type, and else a function of the type `F`, as the maker has promised.
        (name, unsafe { std::mem::transmute_copy::<Option<unsafe extern "C" fn()>, Option<F>>(&function) })
    }
}

fn look_up(loaded: &Loaded, names: [&'static str; 4]) -> [Named; 4] {
    names.map(|name| {
        let name = terminated(name);
        // SAFETY: any function has this type as long as it is not called.
        let found = if name.is_empty() { None } else { unsafe { loaded.symbol::<unsafe extern "C" fn()>(name) } };
        (name, found)
    })
}

fn variant(found: &[Named; 4], letter: Letter) -> (&'static str, Option<unsafe extern "C" fn()>) {
    let [s, d, c, z] = found;
    let (name, function) = match letter {
        Letter::S => s,
        Letter::D => d,
        Letter::C => c,
        Letter::Z => z,
    };
    (name.to_str().unwrap_or_default(), *function)
}

/// A name as a C string; the macro ends each name with a zero byte.
fn terminated(name: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
}

/// The outcome of a call of a typed routine: its name, and its status; `None` if the library has no such function.
#[must_use = "the status tells whether the call did anything"]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) name: &'static str,
    pub(crate) code: Option<Code>,
}

/// The four names of a routine: from the text after the letter, or given one by one, with `_` for none.
macro_rules! letters {
    ($prefix:literal, [$($name:tt),+]) => { [$($crate::engines::ffi::letters!(@one $name)),+] };
    (@one _) => { "\0" };
    (@one $name:literal) => { concat!($name, "\0") };
    ($prefix:literal, $suffix:literal) => {
        [
            concat!($prefix, "S", $suffix, "\0"),
            concat!($prefix, "D", $suffix, "\0"),
            concat!($prefix, "C", $suffix, "\0"),
            concat!($prefix, "Z", $suffix, "\0"),
        ]
    };
}
pub(crate) use letters;

/// Declares a table of typed routines: `Table = Library, "prefix", Handle { .. }`.
/// In it, `fn copy(n: i64, ..) = "copy_v2_64";` declares `unsafe fn copy(&self, letter, handle, n, ..) -> Called`. The
/// four names consist of the prefix, the letter and the given text; irregular names are listed in the order S, D, C, Z.
/// A function that the library lacks is reported by the call that needs it.
macro_rules! typed_table {
    (
        $(#[$meta:meta])*
        $Table:ident = $library:ident, $prefix:literal, $Handle:ty
        { $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $names:tt;)* }
    ) => {
        $(#[$meta])*
        pub(crate) struct $Table {
            $($name: $crate::engines::ffi::Variants<unsafe extern "C" fn($Handle, $($ty),*) -> i32>,)*
        }

        impl $Table {
            /// The table of this process.
            pub(crate) fn load() -> Result<&'static Self, $crate::engines::ffi::LoadError> {
                static TABLE: std::sync::OnceLock<$Table> = std::sync::OnceLock::new();
                if let Some(table) = TABLE.get() {
                    return Ok(table);
                }
                let loaded = $crate::engines::loader::open($crate::engines::loader::Library::$library)?;
                Ok(TABLE.get_or_init(|| Self::from_loaded(loaded)))
            }

            /// Fills a table from `loaded`.
            pub(crate) fn from_loaded(loaded: &$crate::engines::loader::Loaded) -> Self {
                $Table {
                    $(
                        // SAFETY: the declared parameters are those of the library's header, where the four letters
                        // have one signature except for the types behind pointers.
                        $name: unsafe {
                            $crate::engines::ffi::Variants::from_loaded(loaded, $crate::engines::ffi::letters!($prefix, $names))
                        },
                    )*
                }
            }

            $(
                $(#[$doc])*
                #[doc = "\n\n# Safety\nThe rules of the library's routine: operands of the letter's type that lie where"]
                #[doc = "the sizes say, a live handle that no other thread uses, scalars where its pointer mode says."]
                #[allow(clippy::too_many_arguments, reason = "the signature is the library's")]
                #[inline]
                pub(crate) unsafe fn $name(
                    &self,
                    letter: $crate::core::element::Letter,
                    handle: $Handle,
                    $($arg: $ty),*
                ) -> $crate::engines::ffi::Called {
                    let (name, function) = self.$name.get(letter);
                    // SAFETY: the pointer comes from the library under this signature; the caller keeps its rules.
                    let code = function.map(|f| $crate::engines::ffi::Code(unsafe { f(handle, $($arg),*) }));
                    $crate::engines::ffi::Called { name, code }
                }
            )*

            /// The name of each routine with the library's four names for it.
            #[cfg(test)]
            pub(crate) const NAMES: &'static [(&'static str, [&'static str; 4])] =
                &[$((stringify!($name), $crate::engines::ffi::letters!($prefix, $names))),*];
        }
    };
}
pub(crate) use typed_table;

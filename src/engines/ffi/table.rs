//! The macro that declares a table of functions, and the error of filling one.

use std::ffi::{CStr, c_void};
use std::path::PathBuf;

use crate::engines::loader::{Library, Loaded, Missing};
use crate::system::shared_library::as_function;

/// A library that cannot be used: it is not there, or it lacks a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    /// The library was not found, or does not load.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The library lacks a function that this crate requires: the library is too old, or it is another library.
    #[error("{library} in {} has no function {symbol}", path.display())]
    Symbol {
        /// The library.
        library: Library,
        /// The file that was loaded.
        path: PathBuf,
        /// The function's name in the library.
        symbol: &'static str,
    },
    /// The library is older than the oldest release that this crate can use.
    #[error("{library} in {} is older than {}.{}", path.display(), oldest.0, oldest.1)]
    Old {
        /// The library.
        library: Library,
        /// The file that was loaded.
        path: PathBuf,
        /// The oldest release, major and minor.
        oldest: (u32, u32),
    },
}

impl LoadError {
    /// The library is older than `oldest`.
    pub(crate) fn old(loaded: &Loaded, oldest: (u32, u32)) -> Self {
        LoadError::Old { library: loaded.library, path: loaded.path.clone(), oldest }
    }
}

/// The first of `names` that the library has.
///
/// # Safety
/// All of `names` have the type `T`.
#[inline(always)]
pub(crate) unsafe fn optional<T: Copy>(loaded: &Loaded, names: &[&'static CStr]) -> Option<T> {
    let address = found(loaded, names)?;
    // SAFETY: guaranteed by the caller.
    Some(unsafe { as_function(address) })
}

/// As [`optional`], but fails with an error that names the first of `names`.
///
/// # Safety
/// As [`optional`].
#[inline(always)]
pub(crate) unsafe fn required<T: Copy>(loaded: &Loaded, names: &[&'static CStr]) -> Result<T, LoadError> {
    match needed(loaded, names) {
        // SAFETY: guaranteed by the caller.
        Ok(address) => Ok(unsafe { as_function(address) }),
        Err(error) => Err(error),
    }
}

fn found(loaded: &Loaded, names: &[&'static CStr]) -> Option<*mut c_void> {
    names.iter().find_map(|name| loaded.lib.address(name))
}

fn needed(loaded: &Loaded, names: &[&'static CStr]) -> Result<*mut c_void, LoadError> {
    found(loaded, names).ok_or_else(|| LoadError::Symbol {
        library: loaded.library,
        path: loaded.path.clone(),
        symbol: names.first().and_then(|name| name.to_str().ok()).unwrap_or("?"),
    })
}

/// Declares a table: a struct of function pointers, an unsafe method to call each of them, `load` to get the process's
/// table, and `from_loaded` to fill one from a given library.
///
/// `fn mem_free(pointer: CUdeviceptr) = c"cuMemFree_v2";` declares `unsafe fn mem_free(&self, pointer) -> Code`.
/// Further names after the first are tried in order. Functions under `optional` return `Option<Code>`, `None` if the
/// library has no such function.
macro_rules! function_table {
    (
        $(#[$meta:meta])*
        $Table:ident = $library:ident
        required { $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $($symbol:literal),+;)* }
        optional { $($(#[$odoc:meta])* fn $oname:ident($($oarg:ident: $oty:ty),* $(,)?) = $($osymbol:literal),+;)* }
    ) => {
        $(#[$meta])*
        pub(crate) struct $Table {
            #[allow(dead_code, reason = "not every library is asked where it lies")]
            loaded: &'static $crate::engines::loader::Loaded,
            $($name: unsafe extern "C" fn($($ty),*) -> i32,)*
            $($oname: Option<unsafe extern "C" fn($($oty),*) -> i32>,)*
        }

        impl $Table {
            /// The process's table: the first call loads the library permanently. A failure is not remembered here.
            pub(crate) fn load() -> Result<&'static Self, $crate::engines::ffi::LoadError> {
                static TABLE: std::sync::OnceLock<$Table> = std::sync::OnceLock::new();
                if let Some(table) = TABLE.get() {
                    return Ok(table);
                }
                let table = Self::from_loaded($crate::engines::loader::open($crate::engines::loader::Library::$library)?)?;
                Ok(TABLE.get_or_init(|| table))
            }

            /// Fills a table from `loaded`.
            pub(crate) fn from_loaded(
                loaded: &'static $crate::engines::loader::Loaded,
            ) -> Result<Self, $crate::engines::ffi::LoadError> {
                Ok($Table {
                    loaded,
                    $(
                        // SAFETY: the declared parameters are those of the library's header, where the status is a
                        // 32-bit integer; all names of a line share one signature.
                        $name: unsafe { $crate::engines::ffi::required(loaded, &[$($symbol),+]) }?,
                    )*
                    $(
                        // SAFETY: as above.
                        $oname: unsafe { $crate::engines::ffi::optional(loaded, &[$($osymbol),+]) },
                    )*
                })
            }

            /// The library behind the table.
            #[allow(dead_code, reason = "not every library is asked where it lies")]
            pub(crate) fn library(&self) -> &'static $crate::engines::loader::Loaded {
                self.loaded
            }

            $(
                $(#[$doc])*
                #[doc = concat!("\n\n# Safety\nThe rules of `", stringify!($($symbol),+), "`: valid pointers, and")]
                #[doc = "handles of the current context that no other thread destroys meanwhile."]
                #[allow(clippy::too_many_arguments, reason = "the signature is the library's")]
                #[inline]
                pub(crate) unsafe fn $name(&self, $($arg: $ty),*) -> $crate::engines::ffi::Code {
                    // SAFETY: the pointer comes from the library under this signature; the caller keeps its rules.
                    $crate::engines::ffi::Code(unsafe { (self.$name)($($arg),*) })
                }
            )*
            $(
                $(#[$odoc])*
                #[doc = "\n\n`None` where the library lacks it."]
                #[doc = concat!("\n\n# Safety\nThe rules of `", stringify!($($osymbol),+), "`.")]
                #[allow(clippy::too_many_arguments, reason = "the signature is the library's")]
                #[inline]
                pub(crate) unsafe fn $oname(&self, $($oarg: $oty),*) -> Option<$crate::engines::ffi::Code> {
                    let function = self.$oname?;
                    // SAFETY: as for the required functions.
                    Some($crate::engines::ffi::Code(unsafe { function($($oarg),*) }))
                }
            )*

            /// The names of the functions that the library must have, for each line in the order in which they are
            /// tried.
            #[cfg(test)]
            #[allow(dead_code, reason = "asked of the tables that a test builds")]
            pub(crate) const REQUIRED: &'static [&'static [&'static std::ffi::CStr]] = &[$(&[$($symbol),+]),*];
        }
    };
}
pub(crate) use function_table;

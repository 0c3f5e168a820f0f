//! The directions of quasi-random sequences, plain or scrambled as cuRAND scrambles them.
//!
//! A scrambled sequence has other directions, and in each dimension a constant that is XORed into every point. How
//! cuRAND computes both is not published, but `libcurand` returns them, without a GPU. Here the constant takes the
//! place of the last direction, the one before it is 0, and the index of a point starts at 2^63: the Gray code of each
//! such index selects the last two directions. So host and kernels need no special case.

use super::host::sobol;
use super::spec::Start;
use super::stream::Generator;
use crate::core::error::Result;

/// The index of the first point of a draw, for the directions.
pub(super) fn point(place: &Start) -> u64 {
    place.first | if place.scrambled { 1 << 63 } else { 0 }
}

/// The directions of a dimension, as fractions of 64 bits.
pub(super) fn directions(generator: Generator, scrambled: bool, dimension: usize) -> [u64; 64] {
    if !scrambled {
        return sobol::directions(dimension);
    }
    // The tables are there: without them `available` refuses the draw.
    tables::scrambled(generator, dimension).unwrap_or([0; 64])
}

/// Fails if cuRAND's tables are missing.
pub(super) fn available() -> Result<()> {
    tables::load().map(drop)
}

#[cfg(feature = "cuda")]
mod tables {
    use super::super::draw::DIMENSIONS;
    use super::super::stream::Generator;
    use crate::core::error::{Error, Result};
    use crate::engines::library::function_table;
    use std::ffi::c_int;
    use std::sync::OnceLock;

    function_table! {
        /// The functions of `libcurand` that return its tables.
        CurandTables = Curand
        required {
            /// Directions of 32 bits: 32 for each of 20000 dimensions.
            fn vectors_32(vectors: *mut *const u32, set: c_int) = c"curandGetDirectionVectors32";
            /// Directions of 64 bits: 64 for each of 20000 dimensions.
            fn vectors_64(vectors: *mut *const u64, set: c_int) = c"curandGetDirectionVectors64";
            /// A constant for each dimension.
            fn constants_32(constants: *mut *const u32) = c"curandGetScrambleConstants32";
            /// A constant for each dimension.
            fn constants_64(constants: *mut *const u64) = c"curandGetScrambleConstants64";
        }
        optional { }
    }

    /// `CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6`, and the same of 64 bits.
    const SCRAMBLED_32: c_int = 102;
    const SCRAMBLED_64: c_int = 104;

    /// The tables in the library's memory, which last as long as the process.
    pub(super) struct Tables {
        vectors_32: &'static [u32],
        vectors_64: &'static [u64],
        constants_32: &'static [u32],
        constants_64: &'static [u64],
    }

    pub(super) fn load() -> Result<&'static Tables> {
        static TABLES: OnceLock<std::result::Result<Tables, String>> = OnceLock::new();
        let tables = TABLES.get_or_init(|| {
            let api = CurandTables::load().map_err(|error| error.to_string())?;
            ask(api).ok_or_else(|| "libcurand did not return its tables".to_string())
        });
        tables.as_ref().map_err(|why| {
            Error::unsupported(format!("cuRAND's scrambled sequences need tables that only libcurand has: {why}"))
        })
    }

    fn ask(api: &CurandTables) -> Option<Tables> {
        let (mut vectors_32, mut vectors_64) = (std::ptr::null(), std::ptr::null());
        let (mut constants_32, mut constants_64) = (std::ptr::null(), std::ptr::null());
        // SAFETY: all pointers are valid for the writes.
        let codes = unsafe {
            [
                api.vectors_32(&mut vectors_32, SCRAMBLED_32),
                api.vectors_64(&mut vectors_64, SCRAMBLED_64),
                api.constants_32(&mut constants_32),
                api.constants_64(&mut constants_64),
            ]
        };
        let there =
            !vectors_32.is_null() && !vectors_64.is_null() && !constants_32.is_null() && !constants_64.is_null();
        if !there || codes.iter().any(|code| code.0 != 0) {
            return None;
        }
        let dimensions = DIMENSIONS as usize;
        // SAFETY: these are the library's own tables, of these sizes, which are never written; the library is never
        // unloaded.
        Some(unsafe {
            Tables {
                vectors_32: std::slice::from_raw_parts(vectors_32, 32 * dimensions),
                vectors_64: std::slice::from_raw_parts(vectors_64, 64 * dimensions),
                constants_32: std::slice::from_raw_parts(constants_32, dimensions),
                constants_64: std::slice::from_raw_parts(constants_64, dimensions),
            }
        })
    }

    pub(super) fn scrambled(generator: Generator, dimension: usize) -> Option<[u64; 64]> {
        let tables = load().ok()?;
        let mut all = [0u64; 64];
        let constant = if generator == Generator::Sobol32 {
            let own = tables.vectors_32.get(32 * dimension..32 * (dimension + 1))?;
            all.iter_mut().zip(own).for_each(|(to, v)| *to = u64::from(*v) << 32);
            u64::from(*tables.constants_32.get(dimension)?) << 32
        } else {
            let own = tables.vectors_64.get(64 * dimension..64 * (dimension + 1))?;
            all.iter_mut().zip(own).for_each(|(to, v)| *to = *v);
            *tables.constants_64.get(dimension)?
        };
        let [.., before, last] = &mut all;
        (*before, *last) = (0, constant);
        Some(all)
    }
}

#[cfg(not(feature = "cuda"))]
mod tables {
    use super::super::stream::Generator;
    use crate::core::error::{Error, Result};

    pub(super) fn load() -> Result<()> {
        Err(Error::unsupported("this build cannot make cuRAND's scrambled sequences (feature `rng`)"))
    }

    pub(super) fn scrambled(_: Generator, _: usize) -> Option<[u64; 64]> {
        None
    }
}

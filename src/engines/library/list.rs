//! The list of libraries.

/// The list of libraries, those whose feature is selected: a line `front, "feature" => Library;` for each, or `front, "feature";` for a front without a
/// library of CUDA behind it; or `front + fill, ..` if the front has counters of its own, which `front::fill` adds.
/// Makes `TABLE`, and gives every library its number.
macro_rules! libraries {
    (@fill $front:ident) => { |_, _| {} };
    (@fill $front:ident $fill:ident) => { $front::$fill };
    (@native) => { None };
    (@native $library:path) => { Some($crate::engines::library::Native::of::<$library>()) };
    ($($front:ident $(+ $fill:ident)?, $feature:tt $(=> $library:path)?;)*) => {
        /// The numbers of the libraries: their places in the table.
        #[cfg(feature = "cuda")]
        #[allow(non_camel_case_types, reason = "the names of the fronts")]
        #[allow(dead_code, reason = "a front without a library behind it has a number too")]
        enum Number { $(#[cfg(feature = $feature)] $front),* }

        $($(
            #[cfg(all(feature = "cuda", feature = $feature))]
            impl $crate::engines::library::Listed for $library {
                const ID: usize = Number::$front as usize;
            }
        )?)*

        const NAMES: &[&str] = &[$(#[cfg(feature = $feature)] $feature),*];

        /// Every library that this build includes.
        pub(crate) static TABLE: [$crate::engines::ffi::Entry; NAMES.len()] = [$(
            #[cfg(feature = $feature)]
            $crate::engines::ffi::Entry {
                name: $feature,
                #[cfg(all(feature = "every-operation", target_os = "linux"))]
                register: $front::register,
                fill: $crate::engines::library::libraries!(@fill $front $($fill)?),
                #[cfg(feature = "cuda")]
                native: $crate::engines::library::libraries!(@native $($library)?),
            }
        ),*];
    };
}
pub(crate) use libraries;

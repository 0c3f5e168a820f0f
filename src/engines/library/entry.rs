//! A library without its type, and the list that makes a table of them.

#[cfg(feature = "cuda")]
use super::contract::{CudaLibrary, Listed};
#[cfg(feature = "cuda")]
use super::handles::ApiHandle;
#[cfg(feature = "cuda")]
use super::{Code, question, warm};
#[cfg(feature = "cuda")]
use crate::core::dispatch::Options;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
#[cfg(feature = "cuda")]
use crate::core::error::Result;
use crate::core::settings::Settings;
#[cfg(feature = "cuda")]
use crate::core::sync::Arc;
use crate::core::trace::Stats;
#[cfg(feature = "cuda")]
use crate::engines::cuda::Core;
#[cfg(feature = "cuda")]
use std::any::Any;
#[cfg(feature = "cuda")]
use std::sync::Once;

/// What the core knows about a library.
pub(crate) struct Entry {
    /// The name of its front.
    pub(crate) name: &'static str,
    /// Registers its operations in a worker that is another executable.
    #[cfg(all(feature = "every-operation", target_os = "linux"))]
    pub(crate) register: fn(&mut crate::engines::worker::Registry),
    /// Adds the counters of its front, for a device that was opened with these settings.
    pub(crate) fill: fn(&Settings, &mut Stats),
    /// Its native side, if there is a library of CUDA behind it.
    #[cfg(feature = "cuda")]
    pub(crate) native: Option<Native>,
}

/// Answers a question to a library.
#[cfg(feature = "cuda")]
type Ask = fn(&Core, &[u8]) -> Result<Vec<u8>>;

/// A library's native side without its type.
#[cfg(feature = "cuda")]
pub(crate) struct Native {
    /// Makes the state that the epoch's slots share.
    pub(crate) shared: fn() -> Box<dyn Any + Send + Sync>,
    pub(super) destroy: fn(Box<dyn Any + Send>) -> Code,
    pub(crate) fill: fn(&(dyn Any + Send + Sync), &mut Stats),
    pub(crate) placement: super::Placement,
    pub(crate) warm: fn(&Options, &Arc<Epoch>) -> Result<()>,
    pub(super) ask: Ask,
    pub(crate) distrust: fn() -> Option<String>,
    /// Used when the first handle of the library is created in this process.
    pub(super) first: Once,
}

#[cfg(feature = "cuda")]
impl Native {
    pub(crate) const fn of<L: Listed>() -> Self {
        Native {
            shared: || Box::new(L::Shared::default()),
            destroy: |held| match held.downcast::<ApiHandle<L>>() {
                Ok(held) => L::destroy(held.api, held.handle),
                Err(_) => Code::SUCCESS, // cannot happen: a library's place holds only its own handle
            },
            fill: |shared, stats| {
                if let Some(shared) = shared.downcast_ref() {
                    L::fill(shared, stats);
                }
            },
            placement: L::HANDLES,
            warm: warm::on_each_slot::<L>,
            ask: question::answer::<L>,
            distrust: L::distrust,
            first: Once::new(),
        }
    }
}

/// The state that the slots of an epoch share, by the number of the library.
#[cfg(feature = "cuda")]
pub(crate) struct Shared(Box<[Box<dyn Any + Send + Sync>]>);

#[cfg(feature = "cuda")]
impl Shared {
    pub(crate) fn new(libraries: &[Entry]) -> Self {
        let make = |entry: &Entry| entry.native.as_ref().map_or_else(|| Box::new(()) as _, |native| (native.shared)());
        Shared(libraries.iter().map(make).collect())
    }

    pub(crate) fn get<L: Listed>(&self) -> Option<&<L as CudaLibrary>::Shared> {
        self.0.get(L::ID)?.downcast_ref()
    }

    /// Adds the counters of all libraries.
    pub(crate) fn fill(&self, libraries: &[Entry], stats: &mut Stats) {
        for (shared, entry) in self.0.iter().zip(libraries) {
            if let Some(native) = &entry.native {
                (native.fill)(&**shared, stats);
            }
        }
    }
}

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
        pub(crate) static TABLE: [$crate::engines::library::Entry; NAMES.len()] = [$(
            #[cfg(feature = $feature)]
            $crate::engines::library::Entry {
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

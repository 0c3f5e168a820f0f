//! The fronts that this build is without: a call of one does not compile, and the compiler names the feature that has it.
//!
//! On each method stands a bound that nothing meets. It is about a lifetime of the caller: one about nothing of the caller would
//! be refused here already.

use crate::device::Device;
use std::marker::PhantomData;

/// What the methods return, so that they have a body.
pub struct Absent<'a>(PhantomData<&'a Device>);

macro_rules! absent {
    ($($(#[$told:meta])+ $feature:literal, $built:ident => $method:ident($($argument:ident: $type:ty)?);)*) => {$(
        #[cfg(not(feature = $feature))]
        $(#[$told])+
        pub trait $built {}

        #[cfg(not(feature = $feature))]
        impl Device {
            #[doc(hidden)]
            pub fn $method<'a>(&'a self $(, $argument: $type)?) -> Absent<'a>
            where
                Absent<'a>: $built,
            {
                Absent(PhantomData)
            }
        }
    )*};
}

absent! {
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `blas`", label = "of the feature `blas`")]
    "blas", Blas => blas();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `blaslt`", label = "of the feature `blaslt`")]
    "blaslt", BlasLt => blas_lt();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `direct`", label = "of the feature `direct`")]
    "direct", Direct => direct();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `dnn`", label = "of the feature `dnn`")]
    "dnn", Dnn => dnn();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `fft`", label = "of the feature `fft`")]
    "fft", Fft => fft();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `nvrtc`", label = "of the feature `nvrtc`")]
    "nvrtc", Nvrtc => nvrtc();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `rng`", label = "of the feature `rng`")]
    "rng", Rng => rng(_seed: u64);
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `solver`", label = "of the feature `solver`")]
    "solver", Solver => solver();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `sparse`", label = "of the feature `sparse`")]
    "sparse", Sparse => sparse();
    #[diagnostic::on_unimplemented(message = "windlass is built without its feature `tensor`", label = "of the feature `tensor`")]
    "tensor", TensorOps => tensor_ops();
}

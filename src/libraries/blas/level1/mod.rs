//! Vectors: level 1.
//!
//! | file | routines |
//! |---|---|
//! | `axpy`, `scal`, `copy` | updates, scaling, copies and swaps |
//! | `dot`, `nrm2`, `asum`, `extreme` | one number: sums, norms, the index of the largest or smallest magnitude |
//! | `reduction` | what those share: the dispatch returns the number, or it stays on the device |
//! | `rot`, `modified` | plane rotations and their modified form, and the routines that compute their parameters |

mod asum;
mod axpy;
mod copy;
mod dot;
mod extreme;
mod modified;
mod nrm2;
mod reduction;
mod rot;
mod scal;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
use super::{BlasElement, RealElement, VectorElement};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use crate::engines::worker::Registry;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use reduction::{OnDevice, Returned};

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn vectors<T: VectorElement>(registry: &mut Registry) {
    registry.routine::<axpy::Axpy<T>>();
    registry.routine::<Returned<dot::Dot<T, false>>>();
    registry.routine::<Returned<dot::Dot<T, true>>>();
    registry.routine::<OnDevice<dot::Dot<T, false>>>();
    registry.routine::<OnDevice<dot::Dot<T, true>>>();
    registry.routine::<Returned<nrm2::Nrm2<T>>>();
    registry.routine::<OnDevice<nrm2::Nrm2<T>>>();
    registry.routine::<scal::Scal<T>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn vectors_of_fields<T: BlasElement>(registry: &mut Registry) {
    registry.routine::<Returned<asum::Asum<T>>>();
    registry.routine::<OnDevice<asum::Asum<T>>>();
    registry.routine::<Returned<extreme::Find<T, true>>>();
    registry.routine::<OnDevice<extreme::Find<T, true>>>();
    registry.routine::<Returned<extreme::Find<T, false>>>();
    registry.routine::<OnDevice<extreme::Find<T, false>>>();
    registry.routine::<scal::ScalReal<T>>();
    registry.routine::<copy::Copy<T>>();
    registry.routine::<copy::Swap<T>>();
    registry.routine::<rot::Rot<T>>();
    registry.routine::<rot::RotReal<T>>();
    registry.routine::<rot::Rotg<T>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn vectors_of_reals<T: RealElement>(registry: &mut Registry) {
    registry.routine::<modified::Rotm<T>>();
    registry.routine::<modified::Rotmg<T>>();
}

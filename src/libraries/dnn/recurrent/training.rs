//! What joins both passes.

use super::net::RecurrentProblem;
use crate::core::buffer::DeviceBuffer;
use crate::libraries::dnn::DnnElement;

/// What [`Dnn::recur_training`](crate::dnn::Dnn::recur_training) keeps for [`Dnn::recur_gradients`](crate::dnn::Dnn::recur_gradients):
/// the gates of all steps, as the engine has them. The gradients use it up, so there is one pass back for each pass forth; it is
/// refused by another net, and by tensors of other sizes.
#[derive(Debug)]
pub struct RecurrentTraining<T: DnnElement> {
    pub(super) problem: RecurrentProblem,
    pub(super) reserve: DeviceBuffer<T::Sum>,
}

impl<T: DnnElement> RecurrentTraining<T> {
    /// How many bytes of device memory it holds.
    pub fn bytes(&self) -> usize {
        self.reserve.len() * size_of::<T::Sum>()
    }
}

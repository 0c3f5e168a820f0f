//! Collectives of tensors, for a process that has one rank: the usual case of a job. A tensor's elements are sent in row-major
//! order, so its extents need not be the same everywhere, only their number.

use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, WritableTensor};
use crate::libraries::collective::{Combine, Communicator};

impl Communicator {
    /// The tensor of each rank becomes the combination of all of them ([`all_reduce_in_place`](Self::all_reduce_in_place)).
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a process with several ranks: lend the buffers there. [`Error::InvalidArgument`] for a tensor that
    /// is not in row-major order: [`Device::contiguous`](crate::Device::contiguous) makes a copy that is. Else as
    /// [`all_reduce`](Self::all_reduce).
    ///
    /// ```
    /// # fn main() -> windlass::Result<()> {
    /// use windlass::{Device, collective::{Combine, Communicator}};
    /// let device = Device::host()?;
    /// let comm = Communicator::new([&device])?; // `join`, in a job
    /// let gradient = device.tensor([2, 3], vec![1.0f32; 6])?;
    /// let gradient = comm.all_reduce_tensor(Combine::Avg, gradient)?.await_result()?;
    /// let all = comm.all_gather_tensor(&gradient)?.await_result()?;
    /// assert_eq!(all.extents(), [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn all_reduce_tensor<T: Element>(
        &self,
        combine: Combine<T>,
        tensor: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.in_place(tensor.into(), |comm, buffers| comm.all_reduce_in_place(combine, buffers))
    }

    /// The tensor of each rank becomes that of rank `root` ([`broadcast_in_place`](Self::broadcast_in_place)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); no rank `root`.
    pub fn broadcast_tensor<T: Element>(&self, root: usize, tensor: impl WritableTensor<T>) -> Submitted<Tensor<T>> {
        self.in_place(tensor.into(), |comm, buffers| comm.broadcast_in_place(root, buffers))
    }

    /// The tensors of all ranks, as one with a new first axis, which counts the ranks ([`all_gather`](Self::all_gather)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor).
    pub fn all_gather_tensor<'a, T: Element>(
        &self,
        tensor: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let tensor = tensor.into();
        let (device, (part, layout)) = (self.only_device()?, tensor.operand()?);
        check_order(&layout)?;
        let mut extents = vec![self.ranks()];
        extents.extend_from_slice(layout.extents());
        let output = device.uninit_tensor(extents)?;
        Ok(self.in_place(output.into(), |comm, outputs| comm.all_gather([part], outputs))?)
    }

    /// The combination of the tensors of all ranks, of which each rank gets its part along the first axis: rank `r` the
    /// rows `r * n..(r + 1) * n` of `ranks * n` ([`reduce_scatter`](Self::reduce_scatter)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); [`Error::InvalidArgument`] if the first extent is no multiple of the
    /// number of ranks.
    pub fn reduce_scatter_tensor<'a, T: Element>(
        &self,
        combine: Combine<T>,
        tensor: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let tensor = tensor.into();
        let (device, (part, layout)) = (self.only_device()?, tensor.operand()?);
        check_order(&layout)?;
        let (rows, ranks) = (layout.extents().first().copied(), self.ranks());
        let Some(rows) = rows.filter(|rows| rows.is_multiple_of(ranks)) else {
            let what = format!("extents {:?}: the first is no multiple of the {ranks} ranks", layout.extents());
            return Err(Error::invalid("tensor", what));
        };
        let mut extents = layout.extents().to_vec();
        extents.iter_mut().take(1).for_each(|first| *first = rows / ranks);
        let output = device.uninit_tensor(extents)?;
        Ok(self.in_place(output.into(), |comm, outputs| comm.reduce_scatter(combine, [part], outputs))?)
    }

    /// The device of the one rank of this process.
    fn only_device(&self) -> Result<&Device> {
        match self.devices() {
            [device] => Ok(device),
            devices => Err(Error::unsupported(format!(
                "tensors in a process with {} ranks: call the method for buffers, with a list of `tensor.buffer()` or \
                 `tensor.into_buffer()`",
                devices.len()
            ))),
        }
    }

    /// A submission that writes the window of a tensor.
    fn in_place<T: Element>(
        &self,
        part: Part<T>,
        submit: impl FnOnce(&Self, Vec<DeviceBuffer<T>>) -> Submitted<Vec<DeviceBuffer<T>>>,
    ) -> Submitted<Tensor<T>> {
        let (buffer, layout, whole) = part.operand();
        if let Err(error) = self.only_device().and_then(|_| check_order(&layout)) {
            return Err(Rejected::new(error, (whole.tensor(buffer),)));
        }
        // One comes back for the one that was given.
        let one = |mut buffers: Vec<DeviceBuffer<T>>| buffers.pop().ok_or(());
        let lost = || Error::library("internal error: a collective without its output");
        let submitted = match submit(self, vec![buffer]) {
            Ok(pending) => match pending.retype(|(buffers,)| one(buffers).map(|buffer| (buffer,))) {
                Ok(pending) => Ok(pending),
                Err(()) => Err(Rejected { error: lost(), back: None }),
            },
            Err(Rejected { error, back }) => {
                Err(Rejected { error, back: back.and_then(|(buffers,)| Some((one(buffers).ok()?,))) })
            }
        };
        whole.submitted(submitted)
    }
}

fn check_order(layout: &Layout) -> Result<()> {
    if layout.is_row_major() {
        return Ok(());
    }
    let what = format!("{layout:?} is not in row-major order; `contiguous` makes a copy that is");
    Err(Error::invalid("tensor", what))
}

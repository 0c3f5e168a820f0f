//! Collectives of tensors, for a process that has one rank: the usual case of a job. A tensor's elements are sent in row-major
//! order, so its extents need not be the same everywhere, only their number. Where a tensor keeps its extents it is written in
//! place; else there is a new one.

use crate::core::buffer::{DeviceBuffer, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, WritableTensor};
use crate::libraries::collective::{Combine, Communicator, Transfer};
use std::convert::Infallible;

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
    /// assert_eq!(all.shape(), [1, 2, 3]);
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
        extents.extend_from_slice(layout.shape());
        let output = device.uninit_tensor(extents)?;
        Ok(self.in_place(output.into(), |comm, outputs| comm.all_gather([part], outputs))?)
    }

    /// The tensor of rank `root` becomes the combination of all of them; the others stay as they are
    /// ([`reduce_in_place`](Self::reduce_in_place)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); no rank `root`.
    pub fn reduce_tensor<T: Element>(
        &self,
        combine: Combine<T>,
        root: usize,
        tensor: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let is_root = root == self.first_rank();
        self.in_place(tensor.into(), |comm, buffers| match (is_root, buffers.first()) {
            (false, Some(buffer)) => {
                let submitted = comm.reduce_in_place(combine, root, [buffer.as_in()], Vec::new());
                beside(submitted, buffers)
            }
            _ => comm.reduce_in_place(combine, root, none::<T>(), buffers),
        })
    }

    /// Rank `root` gets the tensors of all ranks, as one with a new first axis, which counts the ranks; the others get one
    /// whose first extent is 0 ([`gather`](Self::gather)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); no rank `root`.
    pub fn gather_tensor<'a, T: Element>(
        &self,
        root: usize,
        tensor: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let tensor = tensor.into();
        let (device, (part, layout)) = (self.only_device()?, tensor.operand()?);
        check_order(&layout)?;
        let is_root = root == self.first_rank();
        let mut extents = vec![if is_root { self.ranks() } else { 0 }];
        extents.extend_from_slice(layout.shape());
        let output = device.uninit_tensor(extents)?;
        Ok(self.in_place(output.into(), |comm, outputs| match is_root {
            true => comm.gather(root, [part], outputs),
            false => beside(comm.gather(root, [part], Vec::new()), outputs),
        })?)
    }

    /// Each rank gets its part, along the first axis, of the tensor of rank `root`: rank `r` the rows `r * n..(r + 1) * n` of
    /// `ranks * n`. In place, so the others pass tensors of `n` rows, which become their parts; that of the root stays as it
    /// is, and has the root's own part ([`scatter_in_place`](Self::scatter_in_place)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); no rank `root`.
    pub fn scatter_tensor<T: Element>(&self, root: usize, tensor: impl WritableTensor<T>) -> Submitted<Tensor<T>> {
        self.in_place(tensor.into(), |comm, buffers| comm.scatter_in_place(root, buffers))
    }

    /// Exchanges parts along the first axis: the rows `r * n..(r + 1) * n` of the result on rank `s` are the rows
    /// `s * n..(s + 1) * n` of the tensor of rank `r` ([`all_to_all`](Self::all_to_all)).
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); [`Error::InvalidArgument`] if the first extent is no multiple of the
    /// number of ranks.
    pub fn all_to_all_tensor<'a, T: Element>(
        &self,
        tensor: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let tensor = tensor.into();
        let (device, (part, layout)) = (self.only_device()?, tensor.operand()?);
        self.rows_of_each(&layout)?;
        let output = device.uninit_tensor(layout.shape())?;
        Ok(self.in_place(output.into(), |comm, outputs| comm.all_to_all([part], outputs))?)
    }

    /// Sends the tensor of rank `from` to rank `to`, where it is written to the tensor given there: one transfer of an
    /// [`exchange`](Self::exchange). Every rank calls it, with a tensor that comes back; only that of `to` is written.
    ///
    /// # Errors
    /// As [`all_reduce_tensor`](Self::all_reduce_tensor); no such rank.
    pub fn send_tensor<T: Element>(
        &self,
        Transfer { from, to }: Transfer,
        tensor: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (own, transfer) = (self.first_rank(), [Transfer { from, to }]);
        self.in_place(tensor.into(), |comm, buffers| match buffers.first() {
            Some(_) if from == to => {
                let error = Error::invalid("transfer", format!("rank {from} sends to itself, and has only one tensor"));
                Err(Rejected::new(error, (buffers,)))
            }
            Some(buffer) if from == own => {
                let submitted = comm.exchange(&transfer, [buffer.as_in()], Vec::new());
                beside(submitted, buffers)
            }
            Some(_) if to == own => comm.exchange(&transfer, none::<T>(), buffers),
            _ => beside(comm.exchange(&transfer, none::<T>(), Vec::new()), buffers),
        })
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
        let rows = self.rows_of_each(&layout)?;
        let mut extents = layout.shape().to_vec();
        extents.iter_mut().take(1).for_each(|first| *first = rows);
        let output = device.uninit_tensor(extents)?;
        Ok(self.in_place(output.into(), |comm, outputs| comm.reduce_scatter(combine, [part], outputs))?)
    }

    /// How many rows each rank has of a tensor in row-major order.
    fn rows_of_each(&self, layout: &Layout) -> Result<usize> {
        check_order(layout)?;
        let (rows, ranks) = (layout.shape().first().copied(), self.ranks());
        match rows.filter(|rows| rows.is_multiple_of(ranks)) {
            Some(rows) => Ok(rows / ranks),
            None => {
                let what = format!("extents {:?}: the first is no multiple of the {ranks} ranks", layout.shape());
                Err(Error::invalid("tensor", what))
            }
        }
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

/// No input.
fn none<T: Element>() -> [In<'static, T>; 0] {
    []
}

/// A submission that does not write `buffers`, as one that gives them back.
fn beside<T: Element>(
    submitted: Submitted<Vec<DeviceBuffer<T>>>,
    buffers: Vec<DeviceBuffer<T>>,
) -> Submitted<Vec<DeviceBuffer<T>>> {
    match submitted {
        Ok(pending) => Ok(pending.retype(|_| Ok::<_, Infallible>((buffers,))).unwrap_or_else(|never| match never {})),
        Err(rejected) => Err(rejected.map(|_| (buffers,))),
    }
}

fn check_order(layout: &Layout) -> Result<()> {
    if layout.is_row_major() {
        return Ok(());
    }
    let what = format!("{layout:?} is not in row-major order; `contiguous` makes a copy that is");
    Err(Error::invalid("tensor", what))
}

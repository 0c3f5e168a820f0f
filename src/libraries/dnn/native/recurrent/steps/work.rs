//! A pass that is being enqueued.

use super::super::super::super::recurrent::RecurrentProblem;
use super::kernels::{Kernels, Pass, Role};
use super::memory::{Layer, Matrix, bytes};
use crate::core::buffer::AnySpan;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::blas::native::real_product;

/// A queue with the kernels of a pass. All addresses are those of operands of the dispatch, or of its scratch memory.
pub(super) struct Work<'w, 'q> {
    pub(super) problem: &'w RecurrentProblem,
    pub(super) queue: &'w mut Queue<'q>,
    kernels: Kernels,
    /// The lengths in device memory, if there are any.
    lengths: Option<u64>,
    /// Scratch memory of a step: for the hidden elements of all sequences, and for their states.
    pub(super) spare: [u64; 2],
}

impl<'w, 'q> Work<'w, 'q> {
    pub(super) fn new(problem: &'w RecurrentProblem, queue: &'w mut Queue<'q>, pass: Pass) -> Result<Self> {
        let kernels = Kernels::new(problem, pass)?;
        let lengths = match &problem.lengths {
            Some(lengths) => Some(queue.table(|words| {
                words.extend(lengths.chunks(2).map(|pair| {
                    let part = |k: usize| u64::from(pair.get(k).copied().unwrap_or(0) as u32);
                    part(0) | part(1) << 32
                }));
            })?),
            None => None,
        };
        Ok(Work { problem, queue, kernels, lengths, spare: [0; 2] })
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.problem.net.dtype != self.problem.net.sums()
    }

    /// Scratch memory of so many elements of the type of sums.
    pub(super) fn scratch(&mut self, sizes: &[usize]) -> Result<u64> {
        self.queue.scratch(bytes(self.problem, sizes)?)
    }

    /// Launches a kernel at a step, which takes the lengths if there are any.
    ///
    /// # Safety
    /// What the layouts of the role reach from the addresses, outputs before inputs, lies in memory that the dispatch may write, or read.
    pub(super) unsafe fn step(&mut self, role: Role, step: usize, addresses: &[u64]) -> Result<()> {
        let mut all = addresses.to_vec();
        all.extend(self.lengths);
        // SAFETY: the caller's promise; there is a length for each sequence.
        unsafe { self.kernels.launch(self.queue, role, step, &all) }
    }

    /// Launches a kernel that takes no lengths.
    ///
    /// # Safety
    /// As for [`step`](Self::step).
    pub(super) unsafe fn all(&mut self, role: Role, addresses: &[u64]) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.kernels.launch(self.queue, role, 0, addresses) }
    }

    /// `C = A * B + beta * C`: C has m rows and n columns, each element is a sum of k products.
    ///
    /// # Safety
    /// The matrices lie in memory that the dispatch may read, or write for C.
    pub(super) unsafe fn product(
        &mut self,
        (m, n, k): (usize, usize, usize),
        c: Matrix,
        [a, b]: [Matrix; 2],
        beta: f64,
    ) -> Result<()> {
        let net = &self.problem.net;
        // Halves have no more bits than TF32.
        let tf32 = net.sums() == DType::F32 && (net.tf32 || self.is_narrow());
        // The library has columns where there are rows here: it computes the transpose of C.
        let all = [(b.at, b.ld), (a.at, a.ld), (c.at, c.ld)];
        // SAFETY: the caller's promise.
        unsafe { real_product(self.queue, (net.sums(), tf32), (b.turned, a.turned), beta, (n, m, k), all) }
    }

    /// The input in the type of sums, with zeros behind the ends of sequences: itself, or a copy.
    pub(super) fn input(&mut self, x: &AnySpan) -> Result<u64> {
        if !self.is_narrow() && self.lengths.is_none() {
            return Ok(x.address());
        }
        let to = self.scratch(&[self.problem.time, self.problem.batch, self.problem.net.input])?;
        // SAFETY: the operand, and scratch memory of as many elements.
        unsafe { self.step(Role::Input, 0, &[to, x.address()]) }?;
        Ok(to)
    }

    /// The parameters in the type of sums: themselves, or a copy.
    pub(super) fn parameters(&mut self, parameters: &AnySpan) -> Result<u64> {
        if !self.is_narrow() {
            return Ok(parameters.address());
        }
        let to = self.scratch(&[parameters.len()])?;
        // SAFETY: the operand, and scratch memory of as many elements.
        unsafe { self.all(Role::Parameters, &[to, parameters.address()]) }?;
        Ok(to)
    }

    /// The part of an operand that is of a layer in one direction: states or cells.
    fn part(&self, layer: &Layer<'_>, all: &AnySpan, width: usize) -> u64 {
        all.address() + (layer.index() * self.problem.batch * width * self.problem.net.dtype.size()) as u64
    }

    fn carried(&self, is_cell: bool) -> (usize, Role, Role) {
        match is_cell {
            true => (self.problem.net.hidden, Role::Cell, Role::LastCell),
            false => (self.problem.net.state(), Role::State, Role::LastState),
        }
    }

    /// Writes what a layer begins with, in the type of sums: states or cells, or zeros if there are none.
    ///
    /// # Safety
    /// `to` is memory of the dispatch that has as many elements as the states of all sequences, or cells.
    pub(super) unsafe fn begin(
        &mut self,
        layer: &Layer<'_>,
        is_cell: bool,
        to: u64,
        from: Option<&AnySpan>,
    ) -> Result<()> {
        let (width, role, _) = self.carried(is_cell);
        let Some(from) = from else {
            let bytes = bytes(self.problem, &[self.problem.batch, width])?;
            // SAFETY: the caller's promise.
            return unsafe { self.queue.fill(to, bytes, &[0]) };
        };
        // SAFETY: the caller's promise, and a part of the operand.
        unsafe { self.step(role, 0, &[to, self.part(layer, from, width)]) }
    }

    /// Writes what a layer ends with to its part of an operand.
    ///
    /// # Safety
    /// As for [`begin`](Self::begin), of `from`.
    pub(super) unsafe fn end(&mut self, layer: &Layer<'_>, is_cell: bool, to: &AnySpan, from: u64) -> Result<()> {
        let (width, _, role) = self.carried(is_cell);
        // SAFETY: the caller's promise, and a part of the operand.
        unsafe { self.all(role, &[self.part(layer, to, width), from]) }
    }
}

//! Tensors as the matrices of the dense solvers, which are column-major.

use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Bufs, Output, Verdict};
use crate::device::tensor::{Layout, Part, ReadableTensor, Tensor, Whole};
use crate::libraries::flags::{Transpose, Uplo};
use crate::libraries::operands::Matrices;
use crate::libraries::solver::{Cholesky, Lu, Matrix, Qr, Solved, Solver, SolverElement, Structure};

impl Matrix {
    /// The matrices of the last two axes of a tensor; the axes before are a batch. They begin where the operand does that
    /// [`take`](Self::take) makes of the tensor.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with less than two axes, and when the columns are not contiguous or the batch is not at even
    /// distances: [`Device::contiguous_columns`](crate::Device::contiguous_columns) makes a copy that is.
    pub fn of_tensor<'a, T: Element>(x: impl ReadableTensor<'a, T>) -> Result<Self> {
        of_layout("x", x.into().layout())
    }

    /// Takes a tensor apart into matrices and the buffer that holds them, for a call of the solver: no element moves.
    ///
    /// # Errors
    /// As [`of_tensor`](Self::of_tensor); the tensor comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Uplo, solver::{EighSpec, Matrix}};
    /// let device = Device::host()?;
    /// let a = device.contiguous_columns(&device.tensor([2, 2], [2.0f64, 0.0, 0.0, 1.0])?)?.into_output();
    /// let (of_a, a) = Matrix::take(a)?;
    /// let eigh = device.solver().eigh(EighSpec::new(Uplo::Lower, of_a), a)?.await_result()?;
    /// assert_eq!(device.download(&eigh.values)?.await_result()?, [1.0, 2.0]);
    /// let vectors = of_a.into_tensor(eigh.vectors)?;
    /// assert_eq!(vectors.shape(), [2, 2]);
    /// # Ok(()) }
    /// ```
    pub fn take<T: Element>(tensor: Tensor<T>) -> Result<(Self, DeviceBuffer<T>), Rejected<Tensor<T>>> {
        taken("tensor", tensor).map(|(matrix, buffer, _)| (matrix, buffer))
    }

    /// The matrices in a buffer as a tensor of two axes, or of three if they are several: no element moves.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the buffer does not hold them; it comes back.
    pub fn into_tensor<T: Element>(self, buffer: DeviceBuffer<T>) -> Result<Tensor<T>, Rejected<DeviceBuffer<T>>> {
        let step = |n: usize| isize::try_from(n).map_err(|_| Error::invalid("buffer", format!("a distance of {n}")));
        let layout = step(self.leading()).and_then(|ld| match self.count() {
            1 => Layout::new([self.rows(), self.cols()], [1, ld], 0),
            count => Layout::new([count, self.rows(), self.cols()], [step(self.distance())?, 1, ld], 0),
        });
        let layout = match layout {
            Ok(layout) => layout,
            Err(error) => return Err(Rejected::new(error, buffer)),
        };
        Tensor::from(buffer).with_layout(layout).map_err(|rejected| rejected.map(Tensor::into_buffer))
    }
}

fn of_layout(name: &'static str, layout: &Layout) -> Result<Matrix> {
    let matrices = Matrices::from_layout(name, layout)?;
    let matrix = Matrix::new(matrices.rows, matrices.cols).ld(matrices.columns(name)?);
    Ok(if matrices.count == 1 { matrix } else { matrix.batch(matrices.count).stride(matrices.stride) })
}

/// A refusal that returns both tensors.
type BothBack<T> = Rejected<(Tensor<T>, Tensor<T>)>;

/// The matrices, the buffer, and what makes the tensor again of the buffer.
fn taken<T: Element>(
    name: &'static str,
    tensor: Tensor<T>,
) -> Result<(Matrix, DeviceBuffer<T>, Whole), Rejected<Tensor<T>>> {
    match of_layout(name, tensor.layout()) {
        // Without elements, or with positive strides, the first element is the first of the operand.
        Ok(matrix) => {
            let (buffer, _, whole) = Part::from(tensor).operand();
            Ok((matrix, buffer, whole))
        }
        Err(error) => Err(Rejected::new(error, tensor)),
    }
}

/// A factorization in place of a tensor, which comes back if it is refused.
fn in_place<T: Element, O: Output, V>(
    op: &'static str,
    a: Tensor<T>,
    submit: impl FnOnce(Matrix, DeviceBuffer<T>) -> Result<PendingDispatch<O, V>, Rejected<Bufs<O>>>,
    first: impl FnOnce(Bufs<O>) -> DeviceBuffer<T>,
) -> Result<PendingDispatch<O, V>, Rejected<(Tensor<T>,)>> {
    match taken("a", a) {
        Ok((of_a, a, whole)) => submit(of_a, a).map_err(|rejected| rejected.map(|back| (whole.tensor(first(back)),))),
        Err(Rejected { error, back }) => {
            Err(Rejected { error: error.in_op(op, "solver"), back: back.map(|tensor| (tensor,)) })
        }
    }
}

/// Factors in flight; a refused tensor comes back.
type Factoring<F, T> = Result<PendingDispatch<F, Verdict>, Rejected<(Tensor<T>,)>>;

impl Solver {
    /// LU factors of the column-major matrices of the last two axes, in place ([`lu`](Self::lu)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`] and [`lu`](Self::lu); at the submission the tensor comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Transpose};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [1.0f64, 1.0, 2.0, 4.0])?;
    /// let b = device.contiguous_columns(&device.tensor([2, 1], [3.0f64, 8.0])?)?.into_output();
    /// assert!(device.solver().lu_tensor(device.tensor([2, 2], [1.0f64, 1.0, 2.0, 4.0])?).is_err()); // row-major
    /// let lu = device.solver().lu_tensor(device.contiguous_columns(&a)?.into_output())?.await_result()?;
    /// let x = lu.solve_tensor(&device.solver(), Transpose::No, b)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[2.]\n [1.]]");
    /// # Ok(()) }
    /// ```
    pub fn lu_tensor<T: SolverElement>(&self, a: Tensor<T>) -> Factoring<Lu<T>, T> {
        in_place("getrf", a, |of_a, a| self.lu(of_a, a), |(a, ..)| a)
    }

    /// Cholesky factors of the column-major matrices of the last two axes, in place ([`cholesky`](Self::cholesky)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`] and [`cholesky`](Self::cholesky); at the submission the tensor comes back.
    pub fn cholesky_tensor<T: SolverElement>(&self, uplo: Uplo, a: Tensor<T>) -> Factoring<Cholesky<T>, T> {
        in_place("potrf", a, |of_a, a| self.cholesky(uplo, of_a, a), |(a, ..)| a)
    }

    /// QR factors of the column-major matrices of the last two axes, in place ([`qr`](Self::qr)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`] and [`qr`](Self::qr); at the submission the tensor comes back.
    pub fn qr_tensor<T: SolverElement>(&self, a: Tensor<T>) -> Result<PendingDispatch<Qr<T>>, Rejected<(Tensor<T>,)>> {
        in_place("geqrf", a, |of_a, a| self.qr(of_a, a), |(a, ..)| a)
    }

    /// Solves `A * X = B` for the column-major matrices of the last two axes, in place of B ([`solve`](Self::solve)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`], which names the operand, and [`solve`](Self::solve); at the submission the tensors come back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::{Matrix, Structure}};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [4.0f64, 0.0, 0.0, 2.0])?; // symmetric, but row-major
    /// let b = device.tensor([2], [8.0f64, 8.0])?.with_layout(windlass::tensor::Layout::column_major([2, 1])?)?;
    /// let a = device.contiguous_columns(&a)?.into_output();
    /// let of_x = Matrix::of_tensor(&b)?;
    /// let solved = device.solver().solve_tensor(Structure::General, a, b)?.await_result()?;
    /// assert_eq!(device.show(&of_x.into_tensor(solved.x)?)?.to_string(), "[[2.]\n [4.]]");
    /// # Ok(()) }
    /// ```
    #[expect(clippy::result_large_err, reason = "two tensors come back, without a heap allocation")]
    pub fn solve_tensor<T: SolverElement>(
        &self,
        structure: Structure,
        a: Tensor<T>,
        b: Tensor<T>,
    ) -> Result<PendingDispatch<Solved<T>, Verdict>, BothBack<T>> {
        let (of_a, of_b) = match (of_layout("a", a.layout()), of_layout("b", b.layout())) {
            (Ok(of_a), Ok(of_b)) => (of_a, of_b),
            (Err(error), _) | (_, Err(error)) => return Err(Rejected::new(error.in_op("gesv", "solver"), (a, b))),
        };
        let ((a, _, whole_a), (b, _, whole_b)) = (Part::from(a).operand(), Part::from(b).operand());
        let back = |(a, b, _): (_, _, DeviceBuffer<i32>)| (whole_a.tensor(a), whole_b.tensor(b));
        self.solve(structure, of_a, a, of_b, b).map_err(|rejected| rejected.map(back))
    }
}

impl<T: SolverElement> Lu<T> {
    /// Solves `op(A) * X = B` for the column-major matrices of the last two axes of B, in place ([`solve`](Self::solve)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`] and [`solve`](Self::solve); B comes back.
    pub fn solve_tensor(
        &self,
        solver: &Solver,
        trans: Transpose,
        b: Tensor<T>,
    ) -> Result<PendingDispatch<Tensor<T>>, Rejected<(Tensor<T>,)>> {
        match of_layout("b", b.layout()) {
            Ok(of_b) => {
                let (b, _, whole) = Part::from(b).operand();
                whole.submitted(self.solve(solver, trans, of_b, b))
            }
            Err(error) => Err(Rejected::new(error.in_op("getrs", "solver"), (b,))),
        }
    }
}

impl<T: SolverElement> Cholesky<T> {
    /// Solves `A * X = B` for the column-major matrices of the last two axes of B, in place ([`solve`](Self::solve)).
    ///
    /// # Errors
    /// As [`Matrix::of_tensor`] and [`solve`](Self::solve); B comes back.
    pub fn solve_tensor(
        &self,
        solver: &Solver,
        b: Tensor<T>,
    ) -> Result<PendingDispatch<Tensor<T>>, Rejected<(Tensor<T>,)>> {
        match of_layout("b", b.layout()) {
            Ok(of_b) => {
                let (b, _, whole) = Part::from(b).operand();
                whole.submitted(self.solve(solver, of_b, b))
            }
            Err(error) => Err(Rejected::new(error.in_op("potrs", "solver"), (b,))),
        }
    }
}

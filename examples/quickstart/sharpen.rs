//! Undoes a blur: of all pictures `x`, finds the one for which `|A x - b|^2 + w |x|^2` is least.

use windlass::blas::Gemv;
use windlass::solver::{Matrix, Structure};
use windlass::{Device, Gemm, Result, Transpose, Uplo};

/// The weight `w` of a small picture against a close fit: it keeps the noise from growing.
const WEIGHT: f64 = 3e-6;

/// `a` is the blur as a matrix of `n * n`, `b` the blurred picture of `n` points. Solves `(A^T A + w I) x = A^T b`.
pub(crate) fn sharpen(device: &Device, a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let (n, blas) = (b.len(), device.blas());
    let mut weight = vec![0.0; n * n];
    weight.iter_mut().step_by(n + 1).for_each(|diagonal| *diagonal = WEIGHT);

    let (a, b, weight) = (device.buffer(a)?, device.buffer(b)?, device.buffer(weight)?);
    // Each call returns at once. `into_output` passes its result on to the next one, with no wait between them.
    let square = Gemm::new(n, n, n).trans_a(Transpose::Yes).beta(1.0);
    let normal = blas.gemm(square, &a, &a, weight)?.into_output();
    let right = blas.gemv(Gemv::new(n, n).trans(Transpose::Yes), &a, &b, device.uninit(n)?)?.into_output();
    // By Cholesky's factorization. The wait returns the buffers, or says that the matrix has none.
    let structure = Structure::PositiveDefinite(Uplo::Lower);
    let solved =
        device.solver().solve(structure, Matrix::square(n), normal, Matrix::new(n, 1), right)?.await_result()?;
    device.to_vec(&solved.x)
}

/// The product and the factorization; the rest is small beside them.
pub(crate) fn flops(n: usize) -> f64 {
    (2.0 + 1.0 / 3.0) * (n as f64).powi(3)
}

//! The rows of `src/guide/from_scipy.md`.

use windlass::arrays::Distance;
use windlass::blaslt::{Epilogue, Operands};
use windlass::direct::Factorization;
use windlass::dnn::{
    Activation, Affine, LabelLoss, LossReduction, NormKind, Pool, Recurrent, RecurrentGate, RecurrentParameter,
    Sequences,
};
use windlass::fft::{Convolve, Edges, Mode, Stft};
use windlass::solver::Vectors;
use windlass::sparse::Spmv;
use windlass::{Complex, Device, Gemm, Matmul, Result, Tensor, Transpose, Uplo, expressions};

pub(super) fn run(device: &Device) -> Result<()> {
    dense(device)?;
    transforms(device)?;
    sparse(device)?;
    random(device)?;
    networks(device)
}

fn dense(device: &Device) -> Result<()> {
    let (a, b) = (device.tensor([2, 2], [2.0f64, 1.0, 1.0, 3.0])?, device.tensor([2, 2], [1.0f64, 2.0, 3.0, 5.0])?);
    let (c, solver) = (device.zeros::<f64>([2, 2])?, device.solver());
    device.matmul(&a, &b)?;
    device.tensor_ops().einsum("ij,jk->ik", (&a, &b))?;
    device.tensor_ops().tensordot(&a, &b, &[1], &[0])?;
    device.tensor_ops().kron(&a, &b)?;
    device.tensor_ops().trace(&a, 0, 0, 1)?;
    device.blas().gemm(Gemm::new().alpha(2.0).beta(1.0), &a, &b, c)?;
    let x = device.tensor([3], [1.0f64, -4.0, 2.0])?;
    device.blas().nrm2(&x)?;
    device.blas().asum(&x)?;
    device.norm2(&a, 1)?;
    device.blas().iamax(&x)?;
    device.solve(&a, &b)?;
    device.inverse(&a)?;
    device.svd(Vectors::Thin, &a)?;
    device.eigh(Uplo::Lower, &a)?;
    let _ = solver.lstsq(None, &a, &b)?.await_result()?.x;
    solver.rank(None, &a)?;
    solver.cond(&a)?;
    let _ = solver.pinv(None, &a)?;
    let (x, y, h) = (device.duplicate(&a)?, device.duplicate(&b)?, 0.5);
    device.cdist(&x, &y, Distance::Euclidean)?;
    let _ = (Distance::Squared, Distance::Cosine);
    device.cumulative_trapezoid(&y, h, -1)?;
    Ok(())
}

fn transforms(device: &Device) -> Result<()> {
    let (x, h, fft) = (device.full([16, 16], 1.0f32)?, device.full([3, 3], 0.5f32)?, device.fft());
    fft.rfft(&x, &[-2, -1])?;
    fft.dct(&x, &[])?;
    let y = device.zeros::<Complex<f32>>(501)?;
    fft.irfft(&y, 1000, &[-1])?;
    let y = device.zeros::<f32>([16, 16])?;
    fft.convolve(&Convolve::new().mode(Mode::Same), &x, &h, y)?;
    let (x, w) = (device.full(4096, 1.0f32)?, device.full(1024, 1.0f32)?);
    let stft = Stft::new(1024);
    let y = device.zeros::<Complex<f32>>([stft.frames(4096)?, 513])?;
    fft.stft(&stft, &x, &w, y)?;
    let stft = Stft::new(1024).hop(256).edges(Edges::Mirrored);
    let y = device.zeros::<Complex<f32>>([stft.frames(4096)?, 513])?;
    fft.stft(&stft, &x, &w, y)?;
    Ok(())
}

fn sparse(device: &Device) -> Result<()> {
    let (sparse, direct, m, n) = (device.sparse(), device.direct(), 2, 2);
    let (i, j, v) = (device.tensor([3], [0i32, 1, 1])?, device.tensor([3], [0i32, 1, 1])?, device.full(3, 2.0f64)?);
    let a = sparse.sum_duplicates(m, n, &i, &j, &v)?;
    let (x, y, b) = (device.full(2, 1.0f64)?, device.zeros::<f64>(2)?, device.full(2, 1.0f64)?);
    sparse.spmv(Spmv::new(), &a, &x, y)?;
    let a = sparse.coo_to_csr(&a)?;
    let lu = direct.factor(&direct.analyse(Factorization::Lu, &a)?, &a)?;

    lu.solve(&direct, Transpose::No, b)?;
    let _ = Transpose::Yes;
    Ok(())
}

fn random(device: &Device) -> Result<()> {
    let (mut rng, k, axis) = (device.rng(42), 2, 0);
    let n = 4;
    rng.normal::<f32>([n])?;
    rng.integers(0u32..6, [n])?;
    let lam = device.full(3, 2.0f64)?;
    rng.poisson_each(&lam)?;
    let (mean, p) = (device.full(3, 1.0f32)?, device.full(3, 0.5f64)?);
    rng.normal_each(&mean, &mean)?;
    {
        let n = device.full(3, 5u32)?;
        rng.binomial_each(&n, &p)?;
    }
    let w = device.tensor([3], [1.0f64, 2.0, 3.0])?;
    rng.weighted_choice(&w, k)?;
    rng.weighted_sample(&w, k)?;
    let n = 9u32;
    rng.multinomial(n, &p, k)?;
    let x = device.tensor([3], [1.0f32, 2.0, 3.0])?;
    rng.shuffled(&x, axis)?;
    rng.split(8)?;
    let _: Option<expressions::random::Counter<f32>> = None;
    Ok(())
}

fn networks(device: &Device) -> Result<()> {
    let (x, w) = (device.full([2, 4], 1.0f32)?, device.full([3, 4], 1.0f32)?);
    let (b, y, y2) = (device.full(3, 1.0f32)?, device.zeros::<f32>([2, 3])?, device.zeros([2, 3])?);
    let (operands, bias) = (Operands::new(&x, w.transpose()), Epilogue::relu_bias(&b));
    device.blas_lt().matmul_with(Matmul::new(), operands, bias, y)?;
    let (operands, bias) = (Operands::new(&x, w.transpose()), Epilogue::relu_bias(&b));
    device.blas_lt().matmul_with(Matmul::new(), operands, bias, y2)?;
    let y = device.matmul(&x, w.transpose())?.await_result()?;
    (&y + &b).eval(device)?;
    let dnn = device.dnn();
    dnn.activate(&x, Activation::Gelu)?;
    let (w, b) = (device.full(4, 1.0f32)?, device.full(4, 1.0f32)?);
    dnn.norm(&x, NormKind::Layer(1), 1e-5, &Affine::new(&w, &b))?;
    {
        let x = device.full([1, 1, 8, 8], 1.0f32)?;
        dnn.max_pool(&x, &Pool::new([3, 3]).stride([2]).padding([1]))?;
    }
    let labels = device.tensor([2], [0i64, 3])?;
    dnn.cross_entropy(&x, &labels, &LabelLoss::new(LossReduction::Mean))?;
    let x = device.full([5, 2, 16], 1.0f32)?;
    for hidden in [8, 32] {
        let lstm = Recurrent::lstm(16, hidden);
        let parameters: Tensor<f32> = device.zeros([lstm.parameter_count().unwrap()])?;
        dnn.recur(&lstm, &Sequences::new(&x), &parameters)?;
    }
    let lstm = Recurrent::lstm(16, 32).layers(2);
    let parameters: Tensor<f32> = device.zeros([lstm.parameter_count().unwrap()])?;
    dnn.recur(&lstm, &Sequences::new(&x), &parameters)?;
    Recurrent::parameter(&lstm, 0, 0, RecurrentParameter::Input, RecurrentGate::Input)?;
    Ok(())
}

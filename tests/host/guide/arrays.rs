//! The rows of `src/guide/from_python.md`.

use std::f64::consts::TAU;
use std::time::Duration;
use windlass::arrays::{self, By, Combine, Indexing, Method, SearchSide};
use windlass::dlpack::DlpackForm;
use windlass::external::ForeignStream;
use windlass::moves::Pad;
use windlass::ndarray;
use windlass::npy::Npz;
use windlass::reductions::{All, Keep, Max};
use windlass::safetensors::Safetensors;
use windlass::tensor::AnyTensor;
use windlass::{Device, Result, Tensor};

pub(super) fn run(device: &Device) -> Result<()> {
    let _: fn(Device, &str) -> Result<()> = files;
    data(device)?;
    elements(device.clone())?;
    made(device)?;
    chosen(device)?;
    written(device)?;
    calculus(device)
}

fn data(device: &Device) -> Result<()> {
    let (v, m, n, limit) = ([1.0f32; 6], 2, 3, Duration::from_secs(60));
    device.buffer(v)?;
    let x = device.tensor([m, n], v)?;
    device.to_vec(&x)?;
    device.zeros::<f32>(n)?;
    device.uninit::<f32>(n)?;
    let pending = device.upload([1.0f32])?;
    pending.await_result()?;
    device.synchronize(limit)?;
    let a = ndarray::array![[1.0f32, 2.0]];
    device.tensor_of(&a)?;
    let (form, s) = (DlpackForm::Versioned, ForeignStream::Idle);
    let import = |device: &Device, x| device.tensor_of_dlpack(x, s).map_err(windlass::Rejected::into_error);
    import(device, device.dlpack(x, form, s)?)?;
    Ok(())
}

fn files(device: Device, path: &str) -> Result<()> {
    let x = device.load_npy("x.npy")?;
    let _ = x.downcast::<f64>().unwrap_err();
    let x = device.load_npy("x.npy")?.downcast::<f32>()?;
    device.save_npy("x.npy", &x)?;
    let x: AnyTensor = Npz::open("all.npz")?.read(&device, "x")?;
    let w: AnyTensor = Safetensors::open(path)?.read(&device, "w")?;
    Ok(())
}

fn elements(device: Device) -> Result<()> {
    let (v, axis) = ([1.0f64, 5.0, 3.0, 4.0, 2.0, 6.0], 1);
    let (x, y) = (device.tensor([2, 3], v)?, device.tensor([2, 3], v)?);
    let (w, q, bins, a, b) = (device.full([2, 3], 1.0f64)?, [0.5], 4, 0.0, 1.0);
    (&x * &y).eval(&device)?;
    device.map(&x, |x| x.exp())?;
    let c = device.map(&x, |x| x.gt(2.0))?.into_output();
    device.map((&c, &x, &y), |(c, x, y)| c.select(x, y))?;
    device.map(&x, |x| x.clamp(a, b))?;
    device.map(&x, |x| x.cast::<f64>())?;
    device.sum(&x, axis)?;
    device.mean(&x, Keep(axis))?;
    device.max(&x, All)?;
    device.argmax(&x, axis)?;
    device.all_true(&x, axis)?;
    device.std(&x, axis, 1)?;
    {
        let axis = 1;
        device.cumsum(&x, axis)?;
    }
    device.reduce((&x, &y), axis, |(x, y)| (x - y).abs(), Max)?;
    {
        let axis = 1;
        device.softmax(&x, axis)?;
    }
    device.logsumexp(&x, axis)?;
    device.nansum(&x, axis)?;
    device.nanmean(&x, axis)?;
    device.nanmax(&x, axis)?;
    device.nanmin(&x, axis)?;
    device.nanvar(&x, axis, 0)?;
    device.nan_to_num(&x, 0.0, None)?;
    device.average(&x, &w, axis)?;
    device.ptp(&x, axis)?;
    device.cov(&x, 1)?;
    let ddof = 1;
    device.corrcoef(&x)?;
    device.quantile(&x, &q, 1, Method::Hazen)?;
    let (axis, method) = (1, Method::Linear);
    let axes = axis;
    device.quantile(&x, &q, axis, Method::Hazen)?;
    device.median(&x, axis)?;
    device.quantile(&x, &[0.25], axis, method)?;
    device.histogram(&x, bins, None)?;
    device.histogram_weighted(&x, bins, None, &w)?;
    let (numbers, weights) = (device.tensor([3], [0i64, 2, 2])?, device.full([3], 1.0f32)?);
    let counted = |x: &Tensor<i64>| -> Result<()> {
        let x = device.duplicate(x)?.into_output();
        device.bincount(&x, bins)?;
        device.bincount_weighted(&x, bins, &weights)?;
        Ok(())
    };
    counted(&numbers)
}

fn made(device: &Device) -> Result<()> {
    let (x, y) = (device.tensor([2, 3], [1.0f32; 6])?, device.tensor([2, 3], [2.0f32; 6])?);
    let (axis, k, n, m) = (1, 0, 3, 3);
    x.transpose();
    x.rank();
    x.len();
    x.reshape([x.len()])?;
    device.concat([&x, &y], axis)?;
    device.stack([&x, &y], 0)?;
    device.pad(&x, &[(1, 1), (2, 0)], Pad::Edge)?;
    device.tile(&x, [2, 3])?;
    device.repeat(&x, 3, axis)?;
    let counts = device.tensor([3], [1i64, 0, 2])?;
    device.repeat_each(&x, &counts, axis, None)?;
    device.tril(&x, k)?;
    device.triu(&x, k)?;
    device.eye::<f32>([n, m], k)?;
    let (v, matrix) = (device.tensor([2], [1.0f32, 2.0])?, device.zeros::<f32>([3, 3])?);
    device.diag(&v, k)?;
    matrix.diagonal(k, 0, 1)?;
    let (x, y) = (device.tensor([2], [1.0f32, 2.0])?, device.tensor([2], [1.0f32, 2.0])?);
    arrays::meshgrid(&[x.view(), y.view()], Indexing::Xy)?;
    let i = device.tensor([2], [0i64, 1])?;
    device.one_hot(&i, n, -1, [0.0, 1.0])?;
    device.linspace::<f64>(0.0, 1.0, 5)?;
    device.logspace::<f64>(0.0, 3.0, 4, 10.0)?;
    let (a, b, step) = (0.0, 1.0, 0.25);
    device.arange(a, b, step)?;
    Ok(())
}

fn chosen(device: &Device) -> Result<()> {
    let (x, axis, k) = (device.tensor([2, 3], [1.0f32, 5.0, 3.0, 4.0, 2.0, 6.0])?, 1, 2);
    device.sort(&x, axis)?;
    device.argsort(&x, axis)?;
    device.sort_with_indices(&x, axis)?;
    device.sort(&x, By::axis(axis).descending())?;
    device.top_k(&x, k, -1)?;
    device.partition(&x, &[k], axis)?;
    device.cummax_with_indices(&x, axis)?;
    device.unique_all(&x)?;
    let mask = device.map(&x, |x| x.gt(2.0))?.into_output();
    device.nonzero(&mask)?;
    device.masked_select(&x, &mask)?;
    device.compress(&x, mask.index(0, 0)?, axis)?;
    let (v, a) = (device.tensor([2], [1.0f32, 4.0])?, device.tensor([2], [0.0f32, 4.0])?);
    device.isin(&x, &v)?;
    device.searchsorted(&a, &v, SearchSide::Left)?;
    let (i, places) = (device.tensor([2, 1], [0i64, 1])?, device.tensor([1, 2], [0i64, 1])?);
    {
        let i = device.tensor([2], [0i64, 1])?;
        device.take(&x, &i, axis)?;
    }
    device.take_along_axis(&x, &i, 1)?;
    device.gather_nd(&x, &places, 0)?;
    let j = i;
    Ok(())
}

fn written(device: &Device) -> Result<()> {
    let x = device.tensor([2, 3], [1.0f32, 5.0, 3.0, 4.0, 2.0, 6.0])?;
    let (y, mask) = (device.zeros::<f32>([2, 3])?, device.map(&x, |x| x.gt(2.0))?.into_output());
    let values = device.zeros::<f32>(4)?;
    let x = device.masked_fill(x, &mask, 0.0)?.into_output();
    let x = device.masked_scatter(x, &mask, &values)?.into_output();
    let x = device.masked_assign(x, &mask, &y)?.into_output();
    let i = device.zeros::<i64>([2, 3])?;
    let x = device.put_along_axis(x, &i, &y, 1, Combine::Replace)?.await_result()?;
    let x = device.put_along_axis(x, &i, &y, 1, Combine::Add)?.await_result()?;
    let i = device.tensor([2], [1i64, 0])?;
    device.put(x, &i, &y, 0, Combine::Add)?.await_result()?;
    Ok(())
}

fn calculus(device: &Device) -> Result<()> {
    let (x, y) = (device.tensor([2, 3], [1.0f64; 6])?, device.tensor([2, 3], [2.0f64; 6])?);
    let (n, h, axis) = (1, 0.5, 1);
    device.diff(&x, n, axis)?;
    device.gradient(&x, h, axis)?;
    {
        let x = device.tensor([3], [0.0f64, 1.0, 2.0])?;
        device.trapezoid(&y, &x, axis)?;
    }
    let (xp, fp) = (device.tensor([2], [0.0f64, 2.0])?, device.tensor([2], [1.0f64, 3.0])?);
    device.interp(&x, &xp, &fp)?;
    let (a, b) = (device.duplicate(&x)?, device.duplicate(&x)?);
    device.cross(&a, &b, -1)?;
    device.unwrap(&x, TAU, -1)?;
    device.allclose(&a, &b, 1e-5, 1e-8)?;
    Ok(())
}

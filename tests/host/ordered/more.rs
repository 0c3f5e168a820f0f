//! The calls of `more.py`.

use super::against::Call;
use windlass::arrays::{Distance, Measured, Ordered, SearchSide};
use windlass::blas::BlasElement;
use windlass::expressions::Parts;
use windlass::reductions::{Max, Mean, Min, Reduction, Sum, Var};
use windlass::{Bool, Device, Element, Tensor};

macro_rules! done {
    ($call:expr) => {
        $call.unwrap().await_result().unwrap()
    };
}

/// The calls whose results are equal to NumPy's.
pub(super) fn moved<T: Ordered + Parts<Part = T> + PartialEq>(call: &Call<'_>, number: impl Fn(i8) -> T)
where
    Max: Reduction<T, Output = T>,
    Min: Reduction<T, Output = T>,
{
    let (device, x) = (call.device, call.tensor::<T>(0));
    let axis = call.numbers.first().copied().unwrap_or(0);
    match call.name {
        "take_along" => call.equals(0, &done!(device.take_along_axis(&x, &call.tensor::<i64>(1), axis))),
        "gather_nd" => call.equals(0, &done!(device.gather_nd(&x, &call.tensor::<i64>(1), 0))),
        "masked" => {
            let (mask, others, values) = (call.truth(1), call.tensor::<T>(2), call.tensor::<T>(3));
            call.equals(1, &done!(device.masked_assign(call.tensor::<T>(0), &mask, &others)));
            call.equals(2, &done!(device.masked_scatter(call.tensor::<T>(0), &mask, &values)));
            call.equals(0, &done!(device.masked_fill(x, &mask, number(3))));
        }
        "isin" => {
            let found = done!(device.isin(&x, &call.tensor::<T>(1)));
            let found = done!(device.map(&found, |found| found.cast::<i8>()));
            call.equals(0, &found);
        }
        "search_rows" => {
            let values = call.tensor::<T>(1);
            call.equals(0, &done!(device.searchsorted(&x, &values, SearchSide::Left)));
            call.equals(1, &done!(device.searchsorted(&x, &values, SearchSide::Right)));
        }
        "linspace" => {
            let ends = device.to_vec(&call.tensor::<f64>(1)).unwrap();
            call.equals(0, &done!(device.linspace::<T>(ends[0], ends[1], call.number(0))));
        }
        "arange" => {
            let three = device.to_vec(&x).unwrap();
            call.equals(0, &done!(device.arange(three[0], three[1], three[2])));
        }
        "diag" => call.equals(0, &done!(device.diag(&x, axis))),
        "diff" => call.equals(0, &done!(device.diff(&x, call.number(0), call.numbers[1]))),
        "nan_to_num" => {
            call.equals(0, &done!(device.nan_to_num(&x, number(0), None)));
            call.equals(1, &done!(device.nan_to_num(&x, number(3), Some([number(4), number(5)]))));
        }
        "ptp" => call.equals(0, &done!(device.ptp(&x, axis as i32))),
        "nan_extremes" => {
            call.equals(0, &done!(device.nanmax(&x, axis as i32)));
            call.equals(1, &done!(device.nanmin(&x, axis as i32)));
        }
        other => panic!("{other}"),
    }
}

fn near<R: Measured + Into<f64>>(call: &Call<'_>, k: usize, got: &Tensor<R>, error: f64) {
    let (extents, want) = call.wanted::<R>(k);
    let got_extents = got.shape().to_vec();
    let got: Vec<f64> = call.device.to_vec(got).unwrap().into_iter().map(Into::into).collect();
    let want: Vec<f64> = want.into_iter().map(Into::into).collect();
    let scale = want.iter().filter(|x| x.is_finite()).fold(1.0f64, |most, x| most.max(x.abs()));
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= error * scale;
    let is_right = got_extents == extents && got.iter().zip(&want).all(same);
    assert!(is_right, "result {k} of {}: {got_extents:?} {got:?}, but should be {want:?}", call.line);
}

/// The calls whose results are sums and quotients, within some roundings.
pub(super) fn real<T, R>(call: &Call<'_>, error: f64)
where
    T: Ordered + PartialEq,
    R: Measured + BlasElement + PartialEq + Into<f64>,
    Mean: Reduction<T, Output = R>,
    Var: Reduction<T, Output = R>,
    Sum: Reduction<T>,
    <Sum as Reduction<T>>::Output: Element,
{
    let (device, x): (&Device, _) = (call.device, call.tensor::<T>(0));
    let axis = call.numbers.first().copied().unwrap_or(0);
    match call.name {
        "nan_moments" => {
            let sum = done!(device.nansum(&x, axis as i32));
            near(call, 0, &done!(device.map(&sum, |sum| sum.cast::<f64>())), error);
            near(call, 1, &done!(device.nanmean(&x, axis as i32)), error);
            near(call, 2, &done!(device.nanvar(&x, axis as i32, call.number(1) as u32)), error);
        }
        "average" => near(call, 0, &done!(device.average(&x, &call.tensor::<R>(1), axis as i32)), error),
        "covariance" => {
            near(call, 0, &done!(device.cov(&x, 1)), error);
            near(call, 1, &done!(device.corrcoef(&x)), error);
        }
        "distances" => {
            let y = call.tensor::<T>(1);
            // The product loses half of the digits of a root.
            let root = if x.shape()[1] > 64 { error.sqrt() } else { error };
            near(call, 0, &done!(device.cdist(&x, &y, Distance::Euclidean)), root);
            near(call, 1, &done!(device.cdist(&x, &y, Distance::Squared)), 100.0 * error);
            near(call, 2, &done!(device.cdist(&x, &y, Distance::Cosine)), error);
        }
        "calculus" => {
            let at = call.tensor::<R>(1);
            near(call, 0, &done!(device.trapezoid(&x, 0.5, axis)), error);
            near(call, 1, &done!(device.trapezoid(&x, &at, axis)), error);
            near(call, 2, &done!(device.cumulative_trapezoid(&x, 0.5, axis)), error);
            near(call, 3, &done!(device.cumulative_trapezoid(&x, &at, axis)), error);
            near(call, 4, &done!(device.unwrap(&x, std::f64::consts::TAU, axis)), error);
            if call.results() > 5 {
                call.equals(5, &done!(device.gradient(&x, 0.5, axis)));
                near(call, 6, &done!(device.gradient(&x, &at, axis)), error);
            }
        }
        "interp" => {
            let (xp, fp) = (call.tensor::<T>(1), call.tensor::<R>(2));
            near(call, 0, &done!(device.interp(&x, &xp, &fp)), 10.0 * error);
        }
        "cross" => {
            let b = call.tensor::<T>(1);
            call.equals(0, &done!(device.cross(&x, &b, -1)));
            let thin = x.reshape([2, 1, 3]).unwrap();
            call.equals(1, &done!(device.cross(&b, &thin, -1)));
        }
        other => panic!("{other}"),
    }
}

impl Call<'_> {
    fn truth(&self, k: usize) -> Tensor<Bool> {
        let x = self.tensor::<i8>(k);
        done!(self.device.map(&x, |x| x.ne(0)))
    }
}

//! What a row gives, beside what PyTorch says.

use super::cases::Stored;
use windlass::expressions::Overflow;
use windlass::{DType, Device, tensor::AnyTensor};

/// Relative to the element, and to the largest one: of sums the error is one of their terms.
fn allowed(dtype: &str) -> [f64; 2] {
    match dtype {
        "f64" => [1e-11, 1e-13],
        "f32" => [2e-6, 2e-6],
        // Half a unit for the result and one for a rounding before.
        "f16" => [1.5e-3, 5e-4],
        _ => [1.2e-2, 4e-3],
    }
}

fn numbers(device: &Device, x: &AnyTensor) -> Vec<f64> {
    let wide = device.cast_any(x, DType::F64, Overflow::Saturate).unwrap();
    bytemuck::pod_collect_to_vec(&device.bytes_any(&wide).unwrap())
}

/// What is wrong, in words. A batch of one may come before the axes. `terms` is the size of terms that cancel each other.
pub(super) fn difference(device: &Device, dtype: &str, terms: f64, got: &AnyTensor, want: &Stored) -> Option<String> {
    let extents = got.shape();
    let bare = extents.strip_prefix(&[1]).unwrap_or(extents);
    if extents != want.shape() && bare != want.shape() {
        return Some(format!("extents {extents:?}, not {:?}", want.shape()));
    }
    let (got, want) = (numbers(device, got), numbers(device, &want.up(device)));
    let [relative, of_largest] = allowed(dtype);
    let largest = want.iter().filter(|x| x.is_finite()).fold(terms, |largest: f64, x| largest.max(x.abs()));
    let bound = |x: f64| relative * x.abs() + of_largest * largest;
    let near = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (b.is_finite() && (a - b).abs() <= bound(b));
    let worst = got.iter().zip(&want).enumerate().filter(|(_, (a, b))| !near(**a, **b));
    let count = worst.clone().count();
    let by = |(a, b): (&f64, &f64)| (a - b).abs() / bound(*b).max(f64::MIN_POSITIVE);
    let (at, _) = worst.max_by(|a, b| by(a.1).total_cmp(&by(b.1)))?;
    let times = by((&got[at], &want[at]));
    Some(format!(
        "{count} of {}: element {at} is {:?}, not {:?} ({times:.1} times the bound)",
        got.len(),
        got[at],
        want[at]
    ))
}

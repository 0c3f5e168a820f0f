//! What a row gives, beside what ONNX says.

use super::cases::Case;
use windlass::expressions::Overflow;
use windlass::{DType, Device, tensor::AnyTensor};

/// ONNX's own tests allow 1e-3 and 1e-7. Its expected values were computed by NumPy in the type of the case.
const RELATIVE: f64 = 1e-5;
const ABSOLUTE: f64 = 1e-7;

/// What is wrong, in words.
pub(super) fn differences(device: &Device, case: &Case, made: &[AnyTensor]) -> Vec<String> {
    let mut wrong = vec![];
    if made.len() != case.outputs.len() {
        wrong.push(format!("{} outputs instead of {}", made.len(), case.outputs.len()));
    }
    for (k, (got, wanted)) in made.iter().zip(&case.outputs).enumerate() {
        let want = wanted.up(device);
        if (got.dtype(), got.shape()) != (want.dtype(), want.shape()) {
            let (dtype, extents) = (got.dtype(), got.shape());
            wrong.push(format!("output {k} is {dtype} {extents:?}, not {} {:?}", want.dtype(), want.shape()));
            continue;
        }
        // Integers and truth values are equal bit for bit; halves have fewer digits.
        let float = [DType::F64, DType::F32, DType::F16, DType::Bf16, DType::F8E4M3, DType::F8E5M2];
        if !float.contains(&wanted.dtype()) && device.bytes_any(got).unwrap() == wanted.bytes() {
            continue;
        }
        let exact = !float[..4].contains(&wanted.dtype());
        let (got, want) = (numbers(device, got), numbers(device, &want));
        let relative = match wanted.dtype() {
            // An attention rounds at other steps on a GPU.
            DType::F16 if case.op == "Attention" => 4e-3,
            DType::F16 => 1e-3,
            // There each step is rounded.
            DType::Bf16 if case.op == "Attention" => 1.6e-2,
            DType::Bf16 => 8e-3,
            // Written down with four digits.
            _ if ["averagepool_2d_ceil_last_window_starts_on_pad", "gridsample_bicubic"].contains(&&*case.name) => 1e-3,
            _ => RELATIVE,
        };
        // The error of a sum is one of its terms, not of what is left of them: two units of the largest number.
        let largest = want.iter().filter(|x| x.is_finite()).fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let absolute = if case.op == "DFT" { 2.0 * f64::from(f32::EPSILON) * largest } else { ABSOLUTE };
        let near = |a: f64, b: f64| {
            a == b || (a.is_nan() && b.is_nan()) || (b.is_finite() && (a - b).abs() <= absolute + relative * b.abs())
        };
        let off = got.iter().zip(&want).position(|(a, b)| !(if exact { same(*a, *b) } else { near(*a, *b) }));
        match off {
            Some(at) => wrong.push(format!("output {k}, element {at}: {:?}, not {:?}", got[at], want[at])),
            None if !float.contains(&wanted.dtype()) => wrong.push(format!("output {k} has other bits")),
            None => {}
        }
    }
    wrong.into_iter().map(|what| format!("{} on {device:?}: {what}", case.name)).collect()
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// The elements as numbers.
fn numbers(device: &Device, x: &AnyTensor) -> Vec<f64> {
    let wide = device.cast_any(x, DType::F64, Overflow::Saturate).unwrap();
    bytemuck::pod_collect_to_vec(&device.bytes_any(&wide).unwrap())
}

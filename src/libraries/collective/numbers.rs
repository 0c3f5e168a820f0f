//! The arithmetic of the host engine: elements of several ranks, combined in the order of the ranks.

use super::combine::How;
use crate::core::element::{DType, Element};
use half::{bf16, f16};

/// An element type that can be combined, and the type in which that is done.
trait Number: Element {
    type Sum: Copy;
    fn widen(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn mul(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn max(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn min(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// The quotient by a number of ranks.
    fn shared(sum: Self::Sum, ranks: usize) -> Self::Sum;
}

macro_rules! integers { ($($t:ty),*) => { $(
    impl Number for $t {
        type Sum = $t;
        fn widen(self) -> $t { self }
        fn narrow(sum: $t) -> $t { sum }
        fn add(a: $t, b: $t) -> $t { a.wrapping_add(b) }
        fn mul(a: $t, b: $t) -> $t { a.wrapping_mul(b) }
        fn max(a: $t, b: $t) -> $t { Ord::max(a, b) }
        fn min(a: $t, b: $t) -> $t { Ord::min(a, b) }
        fn shared(sum: $t, ranks: usize) -> $t {
            // Wider than the type: it need not hold the number of ranks.
            (i128::from(sum) / ranks.max(1) as i128) as $t
        }
    }
)* } }
integers!(i8, u8, i32, u32, i64, u64);

macro_rules! floats { ($($t:ty: $sum:ty, $widen:expr, $narrow:expr;)*) => { $(
    impl Number for $t {
        type Sum = $sum;
        fn widen(self) -> $sum { $widen(self) }
        fn narrow(sum: $sum) -> $t { $narrow(sum) }
        fn add(a: $sum, b: $sum) -> $sum { a + b }
        fn mul(a: $sum, b: $sum) -> $sum { a * b }
        fn max(a: $sum, b: $sum) -> $sum {
            // As `maximumNumber` of IEEE 754-2019.
            if a == b { if a.is_sign_negative() { b } else { a } } else { <$sum>::max(a, b) }
        }
        fn min(a: $sum, b: $sum) -> $sum {
            if a == b { if a.is_sign_negative() { a } else { b } } else { <$sum>::min(a, b) }
        }
        fn shared(sum: $sum, ranks: usize) -> $sum { sum / ranks as $sum }
    }
)* } }
floats! {
    f32: f32, std::convert::identity, std::convert::identity;
    f64: f64, std::convert::identity, std::convert::identity;
    f16: f32, f16::to_f32, f16::from_f32;
    bf16: f32, bf16::to_f32, bf16::from_f32;
}

/// The type whose arithmetic combines elements of `dtype`, and how many of it an element has.
pub(super) fn scalars(dtype: DType) -> (DType, usize) {
    match dtype {
        DType::C32 => (DType::F32, 2),
        DType::C64 => (DType::F64, 2),
        other => (other, 1),
    }
}

/// Combines the elements of all ranks, in their order: `inputs` are as long as `output`, in bytes, and are aligned for
/// `dtype`, which is none of the complex types. `ranks` is what an average divides by.
pub(super) fn combine((dtype, how): (DType, How), inputs: &[(&[u8], [u8; 8])], output: &mut [u8], ranks: usize) {
    match dtype {
        DType::I8 => fold::<i8>(how, inputs, output, ranks),
        DType::U8 => fold::<u8>(how, inputs, output, ranks),
        DType::I32 => fold::<i32>(how, inputs, output, ranks),
        DType::U32 => fold::<u32>(how, inputs, output, ranks),
        DType::I64 => fold::<i64>(how, inputs, output, ranks),
        DType::U64 => fold::<u64>(how, inputs, output, ranks),
        DType::F16 => fold::<f16>(how, inputs, output, ranks),
        DType::Bf16 => fold::<bf16>(how, inputs, output, ranks),
        DType::F32 => fold::<f32>(how, inputs, output, ranks),
        DType::F64 => fold::<f64>(how, inputs, output, ranks),
        _ => {} // refused before: `refuse_type`
    }
}

/// Elements that are combined at a time: their sums stay in a core's first cache.
const TILE: usize = 512;

fn fold<T: Number>(how: How, inputs: &[(&[u8], [u8; 8])], output: &mut [u8], ranks: usize) {
    let Ok(output) = bytemuck::try_cast_slice_mut::<u8, T>(output) else { return };
    let mut sums = [T::default().widen(); TILE];
    for (tile, output) in output.chunks_mut(TILE).enumerate() {
        let sums = sums.get_mut(..output.len()).unwrap_or_default();
        for (index, (input, factor)) in inputs.iter().enumerate() {
            let (input, factor) = (elements::<T>(input), of_bytes::<T>(*factor).widen());
            let pairs = sums.iter_mut().zip(input.get(tile * TILE..).unwrap_or_default());
            match how {
                How::PreMulSum if index == 0 => pairs.for_each(|(sum, x)| *sum = T::mul(x.widen(), factor)),
                _ if index == 0 => pairs.for_each(|(sum, x)| *sum = x.widen()),
                How::Sum | How::Avg => pairs.for_each(|(sum, x)| *sum = T::add(*sum, x.widen())),
                How::PreMulSum => pairs.for_each(|(sum, x)| *sum = T::add(*sum, T::mul(x.widen(), factor))),
                How::Prod => pairs.for_each(|(sum, x)| *sum = T::mul(*sum, x.widen())),
                How::Max => pairs.for_each(|(sum, x)| *sum = T::max(*sum, x.widen())),
                How::Min => pairs.for_each(|(sum, x)| *sum = T::min(*sum, x.widen())),
            }
        }
        if how == How::Avg {
            sums.iter_mut().for_each(|sum| *sum = T::shared(*sum, ranks));
        }
        output.iter_mut().zip(sums).for_each(|(y, sum)| *y = T::narrow(*sum));
    }
}

fn elements<T: Element>(bytes: &[u8]) -> &[T] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

fn of_bytes<T: Element>(bytes: [u8; 8]) -> T {
    bytes.get(..size_of::<T>()).map_or_else(T::default, bytemuck::pod_read_unaligned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T: Element>(how: How, inputs: &[&[T]], factor: T) -> Vec<T> {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&factor));
        let mut output = vec![T::default(); inputs[0].len()];
        let inputs: Vec<_> = inputs.iter().map(|input| (bytemuck::cast_slice(input), bytes)).collect();
        combine((T::DTYPE, how), &inputs, bytemuck::cast_slice_mut(&mut output), 2);
        output
    }

    #[test]
    fn integers_wrap_and_averages_truncate_towards_zero() {
        assert_eq!(of(How::Sum, &[&[i8::MAX, 1], &[1, 2]], 0), [i8::MIN, 3]);
        assert_eq!(of(How::Avg, &[&[-3i32, 3], &[0, 0]], 0), [-1, 1]);
        assert_eq!(of(How::Avg, &[&[u64::MAX], &[0]], 0), [u64::MAX / 2]);
        assert_eq!(of(How::PreMulSum, &[&[2u8], &[3]], 100), [244]);
    }

    #[test]
    fn numbers_win_over_nan_and_plus_zero_over_minus_zero() {
        let (max, min) = (of(How::Max, &[&[f32::NAN, 0.0, -0.0], &[1.0, -0.0, 0.0]], 0.0), [1.0, -0.0, -0.0]);
        assert_eq!(max.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [1.0f32, 0.0, 0.0].map(f32::to_bits));
        let least = of(How::Min, &[&[f32::NAN, 0.0, -0.0], &[1.0, -0.0, 0.0]], 0.0);
        assert_eq!(least.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), min.map(f32::to_bits));
    }

    #[test]
    fn every_element_of_many_tiles_is_combined() {
        for len in [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 7] {
            let (a, b): (Vec<u32>, Vec<u32>) = ((0..len as u32).collect(), (0..len as u32).map(|x| x * x).collect());
            let sums: Vec<u32> = a.iter().zip(&b).map(|(a, b)| 3 * (a + b)).collect();
            assert_eq!(of(How::PreMulSum, &[&a, &b], 3), sums);
        }
    }

    #[test]
    fn halves_are_rounded_once() {
        let half = f16::from_f32;
        // 2048 + 1 is rounded to 2048 in f16: twice that would lose both ones.
        assert_eq!(of(How::Sum, &[&[half(2048.0)], &[half(1.0)], &[half(1.0)]], half(0.0)), [half(2050.0)]);
    }
}

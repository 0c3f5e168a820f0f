//! The kernels of deterministic reductions without a GPU: by the PTX machine, against sums written down here.

use crate::Rng;
use windlass::ptx::{Area, Checks, PtxModule, Shape};
use windlass::{Element, bf16, f16};

const TEXT: &str = include_str!("../../src/libraries/collective/native/ordered.ptx");

/// Combines `ranks` rows of `count` elements, `stride` apart, with a kernel.
fn combined<T: Element>(name: &str, data: &[T], (count, stride, ranks, how): (usize, usize, usize, u64)) -> Vec<T> {
    let module = PtxModule::new(TEXT).unwrap();
    let mut output = vec![T::default(); count];
    {
        let from = Area::read("from", bytemuck::cast_slice(data));
        let to = Area::output("to", bytemuck::cast_slice_mut(&mut output));
        let parameters = [from.address(), to.address(), count as u64, stride as u64, ranks as u64, how];
        let parameters: Vec<u8> = parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect();
        let shape = Shape::new([(count as u32).div_ceil(64), 1, 1], [64, 1, 1], 0);
        module.launch(name, shape, &parameters, vec![from, to], Checks::ALL, &|_| {}).unwrap();
    }
    output
}

fn check<T: Element>(name: &str, make: fn(f64) -> T, fold: fn(u64, &[T]) -> T) {
    let mut rng = Rng::new(9);
    for (count, stride, ranks) in [(1, 1, 1), (65, 70, 3), (130, 130, 8)] {
        let data: Vec<T> =
            (0..stride * ranks).map(|_| make((rng.next() as i32 as f64) * 1e-9 * [1.0, 40.0][rng.below(2)])).collect();
        for how in 0..3 {
            let found = combined(name, &data, (count, stride, ranks, how));
            for (i, found) in found.iter().enumerate() {
                let inputs: Vec<T> = (0..ranks).map(|rank| data[rank * stride + i]).collect();
                let expected = fold(how, &inputs);
                assert!(
                    bytemuck::bytes_of(found) == bytemuck::bytes_of(&expected),
                    "{name}, {how}: {found:?}, {expected:?}"
                );
            }
        }
    }
}

macro_rules! fold {
    ($how:expr, $inputs:expr, $t:ty) => {{
        let mut sum: $t = $inputs[0];
        for x in &$inputs[1..] {
            sum = if $how == 2 { sum * *x } else { sum + *x };
        }
        if $how == 1 { sum / $inputs.len() as $t } else { sum }
    }};
}

#[test]
fn the_kernels_combine_in_the_order_of_the_ranks() {
    check::<f32>("combine_f32", |x| x as f32, |how, x| fold!(how, x, f32));
    check::<f64>("combine_f64", |x| x, |how, x| fold!(how, x, f64));
    check::<f16>("combine_f16", f16::from_f64, |how, x| {
        let x: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
        f16::from_f32(fold!(how, x, f32))
    });
    check::<bf16>("combine_bf16", bf16::from_f64, |how, x| {
        let x: Vec<f32> = x.iter().map(|x| x.to_f32()).collect();
        bf16::from_f32(fold!(how, x, f32))
    });
}

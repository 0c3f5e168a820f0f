//! Residual, bias and clipping in the pass of a convolution.

use super::oracle::{Case, Numbers, Order, Real, down, near, up};
use crate::common::{Rng, devices, seeds};
use windlass::dnn::Fused;
use windlass::{Device, bf16, f16};

fn fused<T: Real>(device: &Device, rng: &mut Rng, case: &Case, parts: usize) {
    let what = format!("{} {:?} {parts} {case:?}", T::DTYPE, device.kind());
    let [x, w, residual, bias] =
        [&case.x, &case.w, &case.y(), &vec![case.w[0]]].map(|extents| Numbers::random::<T>(rng, extents));
    let (mut want, mut scale) = (case.forward(&x, &w), case.forward(&x.magnitudes(), &w.magnitudes()));
    let places: usize = case.y()[2..].iter().product();
    for k in 0..want.all.len() {
        let filter = k / places % case.w[0];
        for (wanted, number) in [(parts & 1, residual.all[k]), (parts & 2, bias.all[filter])] {
            if wanted > 0 {
                want.all[k] += number;
                scale.all[k] += number.abs();
            }
        }
        if parts & 4 > 0 {
            want.all[k] = want.all[k].max(0.0);
        }
    }
    let mut tensor = |numbers: &Numbers| {
        let order = rng.pick(&[Order::First, Order::Last, Order::Odd]);
        up::<T>(device, rng, numbers, order)
    };
    let [x, w, residual, bias] = [&x, &w, &residual, &bias].map(&mut tensor);
    let mut all = Fused::new();
    if parts & 1 > 0 {
        all = all.residual(&residual);
    }
    if parts & 2 > 0 {
        all = all.bias(&bias);
    }
    if parts & 4 > 0 {
        all = all.relu();
    }
    let y = device.dnn().convolve_fused(&case.spec(), &x, &w, all).expect(&what).await_result().expect(&what);
    assert_eq!(y.shape(), case.y(), "{what}");
    near(&down(device, &y), &want, &scale, case.w[1..].iter().product(), &what);
}

#[test]
fn what_follows_a_convolution_is_done_before_it_is_rounded() {
    let devices = devices();
    seeds(48, |rng, seed| {
        let case = Case::random(rng);
        for device in &devices {
            let rng = &mut Rng::new(seed);
            let parts = (seed / 4 % 8) as usize;
            match seed % 4 {
                0 => fused::<f32>(device, rng, &case, parts),
                1 => fused::<f16>(device, rng, &case, parts),
                2 => fused::<bf16>(device, rng, &case, parts),
                _ => fused::<f64>(device, rng, &case, parts),
            }
        }
    });
}

#[test]
fn a_sum_of_nothing_has_its_bias() {
    for device in devices() {
        for parts in 0..8 {
            fused::<f32>(&device, &mut Rng::new(parts as u64), &Case::new(&[2, 0, 3, 3], &[4, 0, 2, 2]), parts);
            fused::<f16>(&device, &mut Rng::new(parts as u64), &Case::new(&[2, 0, 3], &[4, 0, 2]), parts);
            fused::<f32>(&device, &mut Rng::new(parts as u64), &Case::new(&[0, 2, 3], &[4, 2, 2]), parts);
        }
    }
}

//! A sink: a score of each head that belongs to no key.

use super::oracle::Case;
use super::{backward, forward};
use crate::common::{Rng, devices, is_host, refused};
use windlass::dnn::{Attention, Corner};
use windlass::{Error, PendingDispatch, Tensor, bf16, f16};

fn sinks(rng: &mut Rng, heads: usize) -> Option<Vec<f64>> {
    Some((0..heads).map(|_| rng.pick(&[-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])).collect())
}

#[test]
fn random_attention_with_a_sink_equals_the_definition() {
    for device in devices() {
        for seed in 0..10 {
            let rng = &mut Rng::new(seed);
            let mut case = Case::random(rng, is_host(&device));
            case.sink = sinks(rng, case.sizes[1]);
            match seed % 2 {
                0 => forward::<bf16>(&device, rng, &case),
                _ => forward::<f16>(&device, rng, &case),
            }
            backward::<f16>(&device, rng, &case);
            if is_host(&device) {
                forward::<f64>(&device, rng, &case);
                backward::<f64>(&device, rng, &case);
                backward::<f32>(&device, rng, &case);
            }
        }
    }
}

/// Each setting by itself, and queries that see no key.
#[test]
fn a_sink_goes_with_every_other_setting() {
    for device in devices() {
        let plain = Case { sink: Some(vec![0.5, -1.0]), ..Case::new([2, 2, 2, 17, 29, 16, 16]) };
        let causal = |corner| Case { causal: Some(corner), ..plain.clone() };
        let (lengths, more) = (Some([vec![17, 5], vec![29, 9]]), Some([vec![9, 0], vec![4, 3]]));
        let of = |sizes, case: &Case| Case { sizes, ..case.clone() };
        let all = [
            plain.clone(),
            causal(Corner::TopLeft),
            causal(Corner::BottomRight),
            Case { window: Some(9), ..causal(Corner::TopLeft) },
            Case { lengths: lengths.clone(), ..plain.clone() },
            Case { lengths: lengths.clone(), ..causal(Corner::BottomRight) },
            Case { lengths, ..causal(Corner::TopLeft) },
            Case { lengths: more, ..causal(Corner::BottomRight) },
            Case { bias: Some([1, 2, 17, 29]), ..plain.clone() },
            of([1, 2, 1, 17, 29, 40, 64], &plain),
            of([1, 2, 1, 65, 72, 16, 16], &plain),
            of([1, 2, 2, 1, 61, 64, 64], &plain),
            of([1, 2, 2, 9, 5, 16, 16], &causal(Corner::BottomRight)),
            Case { window: Some(2), ..of([1, 2, 2, 9, 5, 16, 16], &causal(Corner::TopLeft)) },
        ];
        for (seed, case) in all.into_iter().enumerate() {
            forward::<f16>(&device, &mut Rng::new(seed as u64), &case);
            backward::<f16>(&device, &mut Rng::new(seed as u64), &case);
        }
    }
}

/// Far below all scores it is none; far above, nothing is left for the keys.
#[test]
fn a_sink_far_from_the_scores_takes_nothing_or_all() {
    for device in devices() {
        for sink in [f64::NEG_INFINITY, -60000.0, -100.0, 100.0, 60000.0] {
            let case = Case { sink: Some(vec![sink; 2]), ..Case::new([1, 2, 2, 5, 7, 16, 16]) };
            forward::<f16>(&device, &mut Rng::new(1), &case);
        }
    }
}

#[test]
fn a_sink_of_nothing_is_nothing() {
    for device in devices() {
        for sizes in [[0, 2, 1, 3, 3, 8, 8], [2, 0, 0, 3, 3, 8, 8], [2, 2, 1, 0, 3, 8, 8], [2, 2, 1, 3, 0, 8, 8]] {
            let case = Case { sink: Some(vec![1.0; sizes[1]]), ..Case::new(sizes) };
            forward::<f16>(&device, &mut Rng::new(3), &case);
            backward::<f16>(&device, &mut Rng::new(3), &case);
        }
    }
}

#[test]
fn a_sink_that_does_not_fit_is_refused() {
    for device in devices() {
        let (dnn, x) = (device.dnn(), device.zeros::<f16>([2, 4, 6, 8]).unwrap());
        let sums = device.zeros::<f32>([2, 4, 6]).unwrap();
        let named = |error: Result<PendingDispatch<Tensor<f16>>, Error>, argument: &str| {
            let error = error.map(drop).unwrap_err();
            assert_eq!(refused(&error).0, argument, "{error}");
        };
        for extents in [&[3][..], &[1], &[4, 1], &[]] {
            let sink = device.zeros::<f16>(extents).unwrap();
            let spec = Attention::new().sink(&sink);
            named(dnn.attend(&spec, &x, &x, &x), "sink");
            named(dnn.attend_sink_gradient(&spec, &x, &x, &sums), "sink");
        }
        let sink = device.zeros::<f16>([4]).unwrap();
        let spec = Attention::new().sink(&sink);
        named(dnn.attend_sink_gradient(&Attention::new(), &x, &x, &sums), "spec");
        named(dnn.attend_sink_gradient(&spec, &device.zeros::<f16>([2, 4, 6]).unwrap(), &x, &sums), "o");
        named(dnn.attend_sink_gradient(&spec, &x, &device.zeros::<f16>([2, 4, 6, 9]).unwrap(), &sums), "dy");
        let few = device.zeros::<f32>([2, 4, 5]).unwrap();
        named(dnn.attend_sink_gradient(&spec, &x, &x, &few), "log_sums");
    }
}

//! Dropout of weights, whose mask is that of the stream.

use super::oracle::{Case, Dropout};
use super::{Given, backward, forward};
use crate::common::{Rng, assert_same_bits, devices, is_host, refused};
use crate::convolution::oracle::{Numbers, down, up};
use windlass::dnn::{Attention, Corner};
use windlass::rng::{Generator, Stream};
use windlass::{Device, Error, bf16, f16};

impl Case {
    /// The mask is what a generator draws for a tensor of all scores.
    fn dropped(mut self, probability: f64, seed: u64) -> Self {
        let [batch, heads, _, queries, keys, ..] = self.sizes;
        let (device, n) = (Device::host().unwrap(), batch * heads * queries * keys);
        let drawn = device.rng(seed).uniform::<f32>([n]).unwrap().into_output();
        let drawn = device.download(&drawn).unwrap().await_result().unwrap();
        let kept = drawn.iter().map(|x| *x > probability as f32).collect();
        self.dropout = Some(Dropout { probability, seed, kept });
        self
    }
}

#[test]
fn weights_are_dropped_as_the_stream_says() {
    for device in devices() {
        for (seed, probability) in [(0, 0.5), (1, 0.1), (2, 0.9)] {
            let rng = &mut Rng::new(seed);
            for _ in 0..3 {
                let case = Case::random(rng, is_host(&device)).dropped(probability, seed);
                match seed {
                    0 => forward::<bf16>(&device, rng, &case),
                    _ => forward::<f16>(&device, rng, &case),
                }
                if is_host(&device) {
                    forward::<f64>(&device, rng, &case);
                    backward::<f64>(&device, rng, &case);
                }
                backward::<f16>(&device, rng, &case);
            }
        }
    }
}

/// Each setting by itself: what an engine of a library may have for one and not for another.
#[test]
fn dropout_goes_with_every_other_setting() {
    for device in devices() {
        let plain = Case::new([2, 2, 2, 17, 29, 16, 16]);
        let causal = |corner| Case { causal: Some(corner), ..plain.clone() };
        let lengths = Some([vec![17, 5], vec![29, 9]]);
        let all = [
            plain.clone(),
            causal(Corner::TopLeft),
            causal(Corner::BottomRight),
            Case { window: Some(9), ..causal(Corner::TopLeft) },
            Case { lengths: lengths.clone(), ..plain.clone() },
            Case { lengths, ..causal(Corner::BottomRight) },
            Case { bias: Some([1, 2, 17, 29]), ..plain.clone() },
            Case { sink: Some(vec![0.5, -1.0]), ..plain.clone() },
            Case::new([1, 4, 2, 17, 29, 40, 64]),
            Case::new([1, 2, 1, 65, 72, 16, 16]),
            Case::new([1, 2, 2, 1, 61, 64, 64]),
            Case::new([1, 1, 1, 1, 1, 8, 8]),
        ];
        for (seed, case) in all.into_iter().enumerate() {
            let case = case.dropped(0.25, seed as u64);
            forward::<f16>(&device, &mut Rng::new(seed as u64), &case);
            backward::<f16>(&device, &mut Rng::new(seed as u64), &case);
        }
    }
}

#[test]
fn of_probability_0_it_is_none_and_a_mask_of_nothing_is_nothing() {
    for device in devices() {
        let x = up::<f16>(
            &device,
            &mut Rng::new(1),
            &Numbers::random::<f16>(&mut Rng::new(2), &[1, 2, 9, 16]),
            crate::convolution::oracle::Order::First,
        );
        let stream = Stream::new(Generator::Philox, 3);
        let of = |spec: &Attention<'_, f16>| {
            down(&device, &device.dnn().attend(spec, &x, &x, &x).unwrap().await_result().unwrap())
        };
        let plain = Attention::new();
        for none in [0.0, -0.0] {
            assert_same_bits(&of(&plain.clone().dropout(none, &stream)), &of(&plain), "nothing dropped");
        }
        for sizes in [[0, 2, 1, 3, 3, 8, 8], [2, 2, 1, 0, 3, 8, 8], [2, 2, 1, 3, 0, 8, 8]] {
            let case = Case::new(sizes).dropped(0.5, 1);
            forward::<f16>(&device, &mut Rng::new(3), &case);
            backward::<f16>(&device, &mut Rng::new(3), &case);
        }
    }
}

/// The same call again has the same mask, and so has another engine: what is dropped does not depend on the rounding.
#[test]
fn the_mask_has_the_same_bits_each_time_and_on_every_engine() {
    let host = Device::host().unwrap();
    for device in devices() {
        let case = Case::new([1, 2, 2, 16, 16, 16, 16]).dropped(0.5, 7);
        // A value is one where a key is, so that the result tells which weights are kept.
        let of = |device: &Device| {
            let zeros = device.zeros::<f16>([1, 2, 16, 16]).unwrap();
            let eye: Vec<f16> = (0..512).map(|k| f16::from_f64(f64::from(u8::from(k / 16 % 16 == k % 16)))).collect();
            let v = device.tensor([1, 2, 16, 16], eye).unwrap();
            let given = Given::<f16>::new(device, &mut Rng::new(0), &case, None);
            down(device, &device.dnn().attend(&given.spec(&case), &zeros, &zeros, &v).unwrap().await_result().unwrap())
        };
        let got = of(&device);
        assert_same_bits(&got, &of(&device), "again");
        assert_same_bits(&got, &of(&host), "host");
        let kept = &case.dropout.as_ref().unwrap().kept;
        assert!(got.iter().zip(kept).all(|(x, kept)| x.to_f64() == if *kept { 0.125 } else { 0.0 }));
    }
}

#[test]
fn a_probability_or_a_stream_that_does_not_fit_is_refused() {
    for device in devices() {
        let x = device.zeros::<f16>([1, 1, 4, 8]).unwrap();
        for bad in [1.0, -0.1, 2.0, f64::NAN, f64::INFINITY] {
            let spec = Attention::new().dropout(bad, &Stream::new(Generator::Philox, 3));
            let error = device.dnn().attend(&spec, &x, &x, &x).unwrap_err();
            assert_eq!(refused(&error).0, "dropout", "{error}");
        }
        let spec = Attention::new().dropout(0.5, &Stream::new(Generator::Xorwow, 3));
        let error = device.dnn().attend(&spec, &x, &x, &x).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. } | Error::InvalidArgument { .. }), "{error:?}");
    }
}

//! Deterministic gradients whose scores need too much memory at once.

use crate::common::{assert_same_bits, devices, is_host};
use crate::convolution::oracle::down;
use windlass::dnn::{Attention, Corner};
use windlass::{Device, Tensor, f16};

fn filled(device: &Device, extents: [usize; 4], seed: f32) -> Tensor<f16> {
    let made = device.tabulate(extents, || {
        let at = windlass::expressions::position(0).cast::<f32>() * 17.0
            + windlass::expressions::position(1).cast::<f32>() * 5.0
            + windlass::expressions::position(2).cast::<f32>() * 0.37
            + windlass::expressions::position(3).cast::<f32>();
        (at * seed).sin().cast::<f16>()
    });
    made.unwrap().await_result().unwrap()
}

/// On a GPU: 16 GiB of scores, by two heads of keys at a time; each pass is what the call of these heads alone gives.
#[test]
fn gradients_by_parts_of_the_heads_have_the_same_bits() {
    for device in devices() {
        // On a host device nothing is cut: the sizes are small.
        let (places, heads, kv) = if is_host(&device) { (33, 8, 4) } else { (16384, 32, 16) };
        let places_of_keys = places + 1;
        let [q, k, v, dy] =
            [(heads, places, 0.3), (kv, places_of_keys, 0.7), (kv, places_of_keys, 1.1), (heads, places, 1.9)]
                .map(|(heads, places, seed)| filled(&device, [1, heads, places, 64], seed));
        let dnn = device.dnn();
        let spec = Attention::new().causal(Corner::TopLeft).deterministic(true);
        if !is_host(&device) {
            let plan = dnn.plan_attention_gradients(&spec, &q, &k, &v).unwrap().prepare().unwrap();
            println!("{plan}");
            assert!(plan.workspace < 3 << 30, "{plan}");
        }
        let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
        let whole = dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).unwrap().await_result().unwrap();
        // The first and the last group of heads, by themselves.
        for group in [0, kv / 2 - 1] {
            let of = |x: &Tensor<f16>, n: usize| -> Tensor<f16> {
                let first = (n * group) as isize;
                let part = x.slice((.., first..first + n as isize)).unwrap();
                device.contiguous(part).unwrap().await_result().unwrap()
            };
            let (n, m) = (2 * heads / kv, 2);
            let first = (n * group) as isize;
            let part = sums.slice((.., first..first + n as isize)).unwrap();
            let part = device.contiguous(part).unwrap().await_result().unwrap();
            let [q, o, dy] = [&q, &o, &dy].map(|x| of(x, n));
            let [k, v] = [&k, &v].map(|x| of(x, m));
            let alone = dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &part).unwrap().await_result().unwrap();
            for (whole, alone, n) in [(&whole.0, &alone.0, n), (&whole.1, &alone.1, m), (&whole.2, &alone.2, m)] {
                assert_same_bits(&down(&device, &of(whole, n)), &down(&device, alone), "a group by itself");
            }
        }
    }
}

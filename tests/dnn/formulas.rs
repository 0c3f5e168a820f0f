//! Activations, losses and the like beside central differences in `f64`, and the same bits on all devices.

use crate::sample::{Laid, Rng, read, same_bits, typed};
use windlass::dnn::{Activation, Interpolation, LabelLoss, LossReduction, Nearest, Pool, Resize, ResponseNorm, Rotary};
use windlass::{Device, Result, Tensor, TensorRef};

pub(crate) type Made = Result<Tensor<f64>>;

pub(crate) fn near(got: &[f64], want: &[f64], allowed: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= allowed * (1.0 + want.abs()), "{what}: element {k} is {got}, not {want}");
    }
}

/// That `back` of a gradient `dy` is what central differences of `f` say.
pub(crate) fn check(
    devices: &[Device],
    rng: &mut Rng,
    (extents, what): (&[usize], &str),
    f: impl Fn(&Device, &TensorRef<'_, f64>) -> Made,
    back: impl Fn(&Device, &TensorRef<'_, f64>, &TensorRef<'_, f64>) -> Made,
) {
    let x = Laid::<f64>::random(rng, extents, |rng| rng.unit() * 3.0);
    let host = devices.last().unwrap();
    let made = f(host, &typed::<f64>(&x.up(host))).unwrap();
    let dy = Laid::<f64>::random(rng, made.shape(), |rng| rng.unit());
    let (mut forward, mut gradients) = (vec![], vec![]);
    for device in devices {
        let (x, dy) = (x.up(device), dy.up(device));
        forward.push(read(device, &f(device, &typed(&x)).unwrap()));
        gradients.push(read(device, &back(device, &typed(&x), &typed(&dy)).unwrap()));
    }
    same_bits(&forward, what);
    same_bits(&gradients, what);
    let submit = |k: usize, h: f64| {
        let mut elements = x.elements.clone();
        elements[k] += h;
        let x = host.tensor(extents, elements).unwrap();
        host.download(&f(host, &x.view()).unwrap()).unwrap()
    };
    let h = 1e-5;
    // All are submitted before the first is waited for.
    let pending: Vec<_> = (0..x.elements.len()).map(|k| [submit(k, h), submit(k, -h)]).collect();
    let slope = |both: [_; 2]| {
        let [above, below] = both.map(|y: windlass::PendingDispatch<Vec<f64>, _>| {
            let y = y.await_result().unwrap();
            y.iter().zip(&dy.elements).map(|(y, dy)| y * dy).sum::<f64>()
        });
        (above - below) / (2.0 * h)
    };
    let slopes: Vec<f64> = pending.into_iter().map(slope).collect();
    near(&gradients[0], &slopes, 1e-6, what);
}

pub(crate) fn activations(devices: &[Device]) {
    use Activation::*;
    let mut rng = Rng::new(5);
    for activation in [
        Relu,
        ClippedRelu(1.5),
        LeakyRelu(0.1),
        ThresholdedRelu(0.5),
        HardTanh(-1.0, 0.7),
        Elu(0.8),
        Selu,
        Celu(1.3),
        Gelu,
        GeluTanh,
        Sigmoid,
        HardSigmoid(0.2, 0.5),
        LogSigmoid,
        Tanh,
        Swish(1.0),
        Swish(1.7),
        HardSwish,
        Softplus(1.0),
        Softplus(2.5),
        Softsign,
        Mish,
        Shrink(0.5, 0.2),
    ] {
        check(
            devices,
            &mut rng,
            (&[3, 5], &format!("{activation:?}")),
            |device, x| Ok(device.dnn().activate(x, activation)?.into_output()),
            |device, x, dy| Ok(device.dnn().activation_gradient(x, dy, activation)?.into_output()),
        );
    }
}

pub(crate) fn losses(devices: &[Device]) {
    let mut rng = Rng::new(6);
    for reduction in [LossReduction::None, LossReduction::Mean, LossReduction::Sum] {
        for (weighted, ignored) in [(false, None), (true, None), (false, Some(1)), (true, Some(2))] {
            let given = |device: &Device| {
                let labels = device.tensor([2, 3], [0i64, 2, 1, 3, 2, 0]).unwrap();
                (labels, device.tensor([4], [0.5f64, 1.0, 2.0, 0.25]).unwrap())
            };
            fn with<'a>(
                reduction: LossReduction,
                weights: Option<&'a Tensor<f64>>,
                ignored: Option<i64>,
            ) -> LabelLoss<'a, f64> {
                let mut loss = LabelLoss::new(reduction);
                if let Some(weights) = weights {
                    loss = loss.weights(weights);
                }
                ignored.map_or(loss.clone(), |label| loss.ignore(label))
            }
            let what = format!("{reduction:?} {weighted} {ignored:?}");
            check(
                devices,
                &mut rng,
                (&[2, 4, 3], &what),
                |device, x| {
                    let (labels, weights) = given(device);
                    let loss = with(reduction, weighted.then_some(&weights), ignored);
                    Ok(device.dnn().cross_entropy(x, &labels, &loss)?.await_result()?)
                },
                |device, x, dy| {
                    let (labels, weights) = given(device);
                    let loss = with(reduction, weighted.then_some(&weights), ignored);
                    Ok(device.dnn().cross_entropy_gradient(x, &labels, dy, &loss)?.into_output())
                },
            );
            check(
                devices,
                &mut rng,
                (&[2, 4, 3], &what),
                |device, x| {
                    let (labels, weights) = given(device);
                    let loss = with(reduction, weighted.then_some(&weights), ignored);
                    Ok(device.dnn().negative_log_likelihood(x, &labels, &loss)?.await_result()?)
                },
                |device, x, dy| {
                    let (labels, weights) = given(device);
                    let loss = with(reduction, weighted.then_some(&weights), ignored);
                    Ok(device.dnn().negative_log_likelihood_gradient(x, &labels, dy, &loss)?.into_output())
                },
            );
        }
    }
}

pub(crate) fn others(devices: &[Device]) {
    let mut rng = Rng::new(7);
    for p in [1.0, 2.0, 3.0] {
        let pool = Pool::new([2, 3]).stride([1, 2]).padding([1]);
        check(
            devices,
            &mut rng,
            (&[2, 4, 5], &format!("{p}-norm")),
            |device, x| Ok(device.dnn().lp_pool(x, p, &pool)?.into_output()),
            |device, x, dy| {
                let y = device.dnn().lp_pool(x, p, &pool)?.into_output();
                Ok(device.dnn().lp_pool_gradient(x, &y, dy, p, &pool)?.into_output())
            },
        );
    }
    for size in [1, 2, 3] {
        let norm = ResponseNorm { size, alpha: 0.5, beta: 0.75, k: 1.5 };
        check(
            devices,
            &mut rng,
            (&[2, 4, 3], &format!("response of {size}")),
            |device, x| Ok(device.dnn().response_norm(x, norm)?.into_output()),
            |device, x, dy| Ok(device.dnn().response_norm_gradient(x, dy, norm)?.into_output()),
        );
    }
    for (way, back) in [(Rotary::Halves, Rotary::HalvesBack), (Rotary::Neighbours, Rotary::NeighboursBack)] {
        let factors = |device: &Device| {
            let angles = [0.1f64, 0.7, -1.0, 2.0, 0.3, 0.0];
            let of = |f: fn(f64) -> f64| device.tensor([3, 2], angles.map(f)).unwrap();
            (of(f64::cos), of(f64::sin))
        };
        for elements in [4, 5] {
            check(
                devices,
                &mut rng,
                (&[2, 3, elements], &format!("{way:?} of {elements}")),
                |device, x| {
                    let (cosine, sine) = factors(device);
                    Ok(device.dnn().rotary(x, &cosine, &sine, way)?.into_output())
                },
                |device, x, dy| {
                    let _ = x;
                    let (cosine, sine) = factors(device);
                    Ok(device.dnn().rotary(dy, &cosine, &sine, back)?.into_output())
                },
            );
        }
    }
    for device in devices {
        let x = device.zeros::<f32>([0, 3]).unwrap();
        let y = device.dnn().resize(&x, &[0, 7], None, Resize::new(Interpolation::Linear)).unwrap();
        assert_eq!(y.await_result().unwrap().shape(), [0, 7]);
        let nearest = Resize::new(Interpolation::Nearest(Nearest::Floor));
        let error = device.dnn().resize(&x, &[2, 3], None, nearest).unwrap_err().to_string();
        assert!(error.contains("without elements"), "{error}");
    }
    sinks(devices);
}

/// The gradient of an attention's sink by its definition. A query without keys has no part in it, whatever else it has.
fn sinks(devices: &[Device]) {
    let (mut rng, extents) = (Rng::new(9), [2, 3, 5, 4]);
    let [o, dy] = [0, 1].map(|_| Laid::<f64>::random(&mut rng, &extents, |rng| rng.unit()));
    let mut rows = 0;
    let sums = Laid::<f64>::random(&mut rng, &extents[..3], |rng| {
        rows += 1;
        if [1, 8, 30].contains(&rows) { f64::NEG_INFINITY } else { rng.unit() * 2.0 }
    });
    let sink = [0.5f64, -1.0, 2.0];
    let mut want = [0.0; 3];
    for (row, sum) in sums.elements.iter().enumerate().filter(|(_, sum)| **sum > f64::NEG_INFINITY) {
        let head = row / 5 % 3;
        let mean: f64 = (4 * row..4 * row + 4).map(|k| o.elements[k] * dy.elements[k]).sum();
        want[head] -= (sink[head] - sum).exp() * mean;
    }
    let mut ways = vec![];
    for device in devices {
        let sink = device.tensor([3], sink).unwrap();
        let spec = windlass::dnn::Attention::new().sink(&sink);
        let (o, dy, sums) = (o.up(device), dy.up(device), sums.up(device));
        let made = device.dnn().attend_sink_gradient(&spec, typed::<f64>(&o), typed::<f64>(&dy), typed::<f64>(&sums));
        ways.push(read(device, &made.unwrap().await_result().unwrap()));
    }
    same_bits(&ways, "sink");
    near(&ways[0], &want, 1e-12, "sink");
}

/// What the windows of a response norm refuse is the caller's `size`, of `norm`.
#[test]
fn a_response_norm_names_its_own_arguments() {
    for device in crate::common::devices() {
        let norm = |size| ResponseNorm { size, alpha: 0.5, beta: 0.75, k: 1.5 };
        for (extents, size, argument) in [([1, 3], 1 << 30, "size"), ([1, 3], 0, "size"), ([1, 0], 2, "x")] {
            let x = device.zeros::<f32>(extents).unwrap();
            let error = device.dnn().response_norm(&x, norm(size)).unwrap_err();
            let told = crate::common::refused(&error);
            assert_eq!(
                (told.0.as_ref(), error.site().and_then(windlass::error::Site::op)),
                (argument, Some("norm")),
                "{error}"
            );
        }
    }
}

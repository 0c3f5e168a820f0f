//! Single values that are easily wrong: NaN and infinities, numbers far from 1, numbers out of range, tensors of nothing.

use crate::common::{devices, is_host};
use windlass::dnn::*;
use windlass::{Device, Element, Error, Tensor};

fn down<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

fn told<O>(failed: Result<O, impl Into<Error>>) -> String {
    let Err(error) = failed else { panic!("it was done") };
    error.into().to_string()
}

/// What the memory held before is in no gradient: it holds numbers, and NaN.
#[test]
fn gradients_of_sequences_with_ends_do_not_depend_on_old_memory() {
    const SIZES: [usize; 4] = [16, 32, 24, 32];
    let [time, batch, input, hidden] = SIZES;
    let number = |k: usize| ((k * 37 % 101) as f32 - 50.0) / 200.0;
    for device in devices() {
        let (dnn, lengths): (_, Vec<usize>) = (device.dnn(), (0..batch).map(|k| k % (time + 1)).collect());
        for cell in [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::GruResetFirst, RecurrentCell::Tanh] {
            let net = Recurrent::new(cell, input, hidden).layers(3).bidirectional(true);
            let count = net.parameter_count().unwrap();
            let fill = |extents: &[usize]| {
                let len = extents.iter().product();
                device.tensor(extents, (0..len).map(number).collect::<Vec<_>>()).unwrap()
            };
            let (x, w, dy) = (fill(&[time, batch, input]), fill(&[count]), fill(&[time, batch, 2 * hidden]));
            let sequences = Sequences::new(&x).lengths(&lengths);
            let gradients = |old: f32| {
                let (_, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
                let size = training.bytes() / 4;
                drop(training);
                let all: Vec<_> =
                    (0..3).map(|_| device.upload(vec![old; size]).unwrap().await_result().unwrap()).collect();
                drop(all);
                let (made, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
                let (y, ..) = made.await_result().unwrap();
                let made = dnn.recur_gradients(&net, &sequences, &w, &y, &dy, [const { None }; 2], training).unwrap();
                let (dx, dw, ..) = made.await_result().unwrap();
                [down(&device, &dx), down(&device, &dw)]
            };
            let [zeros, ones, nans] = [0.0, 1e3, f32::NAN].map(gradients);
            assert_eq!(zeros, ones, "{cell:?}");
            assert_eq!(zeros, nans, "{cell:?}");
        }
    }
}

#[test]
fn losses_of_scores_far_from_zero_are_those_of_their_distances() {
    for device in devices() {
        let dnn = device.dnn();
        let labels = device.tensor([3], [1i64, 0, 2]).unwrap();
        let one = device.tensor([], [1.0f32]).unwrap();
        for (far, third) in [(0.0f32, 1.0f32), (1e8, 0.0), (-1e9, 0.0), (3e38, 0.0)] {
            // Rows: all alike; alike again by the size of the first; and what is far below.
            let scores = device.tensor([3, 3], [far, far, far, far, far, far, far, far, far - third]).unwrap();
            let loss = LabelLoss::new(LossReduction::None);
            let made = down(&device, &dnn.cross_entropy(&scores, &labels, &loss).unwrap().await_result().unwrap());
            let last = if third == 0.0 { 3f32.ln() } else { (2.0 * third.exp() + 1.0).ln() };
            for (got, want) in made.iter().zip([3f32.ln(), 3f32.ln(), last]) {
                assert!((got - want).abs() < 1e-6, "{far}: {made:?}");
            }
            let sum = LabelLoss::new(LossReduction::Sum);
            let slopes = dnn.cross_entropy_gradient(&scores, &labels, &one, &sum).unwrap().await_result().unwrap();
            let slopes = down(&device, &slopes);
            for (got, want) in slopes.iter().zip([1.0f32, -2.0, 1.0, -2.0, 1.0, 1.0]) {
                assert!((got - want / 3.0).abs() < 1e-6, "{far}: {slopes:?}");
            }
        }
    }
}

#[test]
fn a_label_that_is_no_class_is_told_unless_it_is_ignored() {
    fn look<I: windlass::moves::Place>(device: &Device, labels: [I; 4], wrong: Option<usize>, ignored: Option<i64>) {
        let (dnn, what) = (device.dnn(), format!("{labels:?} {ignored:?}"));
        let scores = device.tensor([2, 3, 2], [0.0f32; 12]).unwrap();
        // Also labels that do not lie in order.
        let turned = device.tensor([2, 2], [labels[0], labels[2], labels[1], labels[3]]).unwrap();
        let rows = device.tensor([2, 2], labels).unwrap();
        for reduction in [LossReduction::None, LossReduction::Mean, LossReduction::Sum] {
            let loss = ignored.map_or(LabelLoss::new(reduction), |label| LabelLoss::new(reduction).ignore(label));
            for labels in [rows.view(), turned.transpose()] {
                for made in [
                    dnn.cross_entropy(&scores, labels.clone(), &loss),
                    dnn.negative_log_likelihood(&scores, labels.clone(), &loss),
                ] {
                    let made = made.unwrap().await_result();
                    match wrong {
                        None => assert!(down(device, &made.unwrap()).iter().all(|x| x.is_finite()), "{what}"),
                        Some(place) => {
                            let text = told(made);
                            assert!(
                                text.contains("labels")
                                    && text.contains(&format!("number {place} of them is no class of 3")),
                                "{what}: {text}"
                            );
                        }
                    }
                }
                let dy =
                    device.full(if reduction == LossReduction::None { vec![2, 2] } else { vec![] }, 1.0f32).unwrap();
                let slopes = dnn.cross_entropy_gradient(&scores, labels, &dy, &loss).unwrap().await_result().unwrap();
                let slopes = down(device, &slopes);
                assert_eq!(slopes.iter().any(|x| x.is_nan()), wrong.is_some(), "{what}: {slopes:?}");
            }
        }
    }
    for device in devices() {
        look(&device, [0i64, 1, 2, 0], None, None);
        look(&device, [0i64, 1, 3, 0], Some(2), None);
        look(&device, [0i64, -1, 2, -100], Some(1), None);
        look(&device, [0i64, -100, 2, -100], None, Some(-100));
        look(&device, [0i64, -100, 2, -1], Some(3), Some(-100));
        look(&device, [0i32, 2, i32::MIN, 0], Some(2), Some(2));
        look(&device, [0i32, -1, 7, 0], Some(2), Some(-1));
        look(&device, [0u32, 1, 2, u32::MAX], Some(3), Some(-1));
        look(&device, [0u32, 1, 2, u32::MAX], None, Some(u32::MAX.into()));
        look(&device, [u64::MAX, 1, 2, 3], Some(0), Some(-1));
        let none = device.tensor([0], [0i64; 0]).unwrap();
        let scores = device.tensor([0, 3], [0.0f32; 0]).unwrap();
        let sum = device.dnn().cross_entropy(&scores, &none, &LabelLoss::new(LossReduction::Sum)).unwrap();
        assert_eq!(device.item(&sum.await_result().unwrap()).unwrap(), 0.0);
    }
}

#[test]
fn clipping_keeps_nan() {
    for device in devices() {
        let x = device.tensor([1, 1, 1, 3], [f64::NAN, -1.0, 2.0]).unwrap();
        let (w, bias) = (device.tensor([1, 1, 1, 1], [1.0f64]).unwrap(), device.tensor([1], [0.0f64]).unwrap());
        let all = Fused::new().bias(&bias).relu();
        let y = device.dnn().convolve_fused(&Convolution::new(), &x, &w, all).unwrap();
        let y = down(&device, &y.await_result().unwrap());
        assert!(y[0].is_nan() && y[1..] == [0.0, 2.0], "{y:?}");
        let x = device.tensor([3], [f32::NAN, 0.1, 2.0]).unwrap();
        for activation in [Activation::Shrink(0.5, 0.5), Activation::Shrink(0.5, 0.0), Activation::ThresholdedRelu(0.5)]
        {
            let y = down(&device, &device.dnn().activate(&x, activation).unwrap().await_result().unwrap());
            assert!(y[0].is_nan() && y[1] == 0.0 && y[2] >= 1.5, "{activation:?}: {y:?}");
        }
    }
}

#[test]
fn an_axis_that_keeps_its_extent_is_cropped() {
    for device in devices() {
        let x = device.tensor([2, 5], [0.0f32, 1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 12.0, 13.0, 14.0]).unwrap();
        let crop =
            |start, end| Resize::new(Interpolation::Linear).coordinates(Coordinates::Crop(start, end)).outside(-1.0);
        let made = |resize: Resize, extents: &[usize]| {
            device.dnn().resize(&x, extents, None, resize).and_then(|made| Ok(down(&device, &made.await_result()?)))
        };
        let want = [1.0, 1.5, 2.0, 2.5, 3.0, 11.0, 11.5, 12.0, 12.5, 13.0];
        assert_eq!(made(crop(0.25, 0.75).axes(&[1]), &[2, 5]).unwrap(), want);
        assert_eq!(made(crop(0.0, 1.0), &[2, 5]).unwrap(), down(&device, &x));
        // All axes, unless some are named.
        let got = made(crop(0.25, 0.75), &[2, 5]).unwrap();
        for (k, got) in got.iter().enumerate() {
            let row = if k < 5 { 0.25 } else { 0.75 };
            assert!((got - (1.0 + 0.5 * (k % 5) as f32 + 10.0 * row)).abs() < 1e-5, "{k}: {got}");
        }
        assert!(told(made(crop(0.0, 1.0).axes(&[1]), &[3, 5])).contains("axis 0 from 2 to 3"));
        assert!(told(made(crop(0.0, 1.0).axes(&[2]), &[2, 5])).contains("axis 2"));
        let dy = device.tensor([1, 5], [1.0f32; 5]).unwrap();
        let dx = device.dnn().resize_gradient(&dy, &[1, 5], None, crop(0.25, 0.75)).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &dx), [0.0, 1.5, 2.0, 1.5, 0.0]);
    }
}

/// A query and a key of the number that is wanted, of one element each where nothing else is said.
fn rows(device: &Device, all: &[f32]) -> Tensor<f32> {
    device.tensor([1, 1, all.len(), 1], all).unwrap()
}

/// What a causal mask or a window hides may be anything. (cuDNN multiplies it by a weight of 0.)
#[test]
fn what_a_mask_hides_reaches_nothing() {
    for device in devices().into_iter().filter(is_host) {
        let (dnn, n) = (device.dnn(), 70);
        for (corner, window) in [(Corner::TopLeft, None), (Corner::BottomRight, Some(3)), (Corner::TopLeft, Some(1))] {
            for hidden in [n - 1, 40, 5] {
                let mut spec = Attention::new().causal(corner);
                spec = window.map_or(spec.clone(), |window| spec.window(window));
                let number = |k: usize| (k % 7) as f32 / 4.0 - 0.5;
                let plain: Vec<f32> = (0..n).map(number).collect();
                let mut odd = plain.clone();
                odd[hidden] = f32::NAN;
                let run = |all: &[f32]| {
                    let (q, x) = (rows(&device, &plain), rows(&device, all));
                    let (o, sums) = dnn.attend_training(&spec, &q, &q, &x).unwrap().await_result().unwrap();
                    let (dq, dk, dv) =
                        dnn.attend_gradients(&spec, &q, &q, &x, &o, &q, &sums).unwrap().await_result().unwrap();
                    [o, dq, dk, dv].map(|x| down(&device, &x))
                };
                let ([o, dq, dk, _], [clean, clean_q, clean_k, _]) = (run(&odd), run(&plain));
                let sees = |query: usize| query >= hidden && window.is_none_or(|window| query < hidden + window);
                for k in 0..n {
                    assert_eq!(
                        (o[k].is_nan(), dq[k].is_nan()),
                        (sees(k), sees(k)),
                        "{corner:?} {window:?} {hidden} {k}"
                    );
                    let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
                    assert!(sees(k) || near(o[k], clean[k]) && near(dq[k], clean_q[k]));
                    // Of keys that no such query sees.
                    let is_apart =
                        (0..n).all(|query| !sees(query) || k > query || window.is_some_and(|w| query >= k + w));
                    assert!(!is_apart || near(dk[k], clean_k[k]), "{corner:?} {window:?} {hidden} {k}: {}", dk[k]);
                }
            }
        }
    }
}

#[test]
fn a_query_that_sees_the_sink_alone_has_its_logarithm() {
    for device in devices().into_iter().filter(is_host) {
        let sink = device.tensor([1], [0.75f32]).unwrap();
        let (q, k) = (rows(&device, &[1.0, 2.0, 3.0]), rows(&device, &[1.0]));
        let spec = Attention::new().causal(Corner::BottomRight).sink(&sink);
        let (o, sums) = device.dnn().attend_training(&spec, &q, &k, &k).unwrap().await_result().unwrap();
        let (o, sums) = (down(&device, &o), down(&device, &sums));
        assert_eq!((&o[..2], &sums[..2]), (&[0.0; 2][..], &[0.75; 2][..]));
        assert!(sums[2] > 3.0);
        // Nor by a bias; behind its length it is no query.
        let bias = device.full([1, 1, 3, 1], f32::NEG_INFINITY).unwrap();
        let (two, one) = (device.tensor([1], [2]).unwrap(), device.tensor([1], [1]).unwrap());
        let spec = Attention::new().bias(&bias).sink(&sink).lengths(&two, &one);
        let (_, sums) = device.dnn().attend_training(&spec, &q, &k, &k).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &sums), [0.75, 0.75, f32::NEG_INFINITY]);
    }
}

#[test]
fn gradients_of_rows_far_below_zero_are_those_of_equal_weights() {
    for device in devices().into_iter().filter(is_host) {
        let bias = device.full([1, 1, 1, 4], -1e9f32).unwrap();
        let (q, k, v) =
            (rows(&device, &[1.0]), rows(&device, &[1.0, 2.0, 3.0, 4.0]), rows(&device, &[1.0, 2.0, 3.0, 6.0]));
        let spec = Attention::new().bias(&bias);
        let (o, sums) = device.dnn().attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &o), [3.0]);
        let dnn = device.dnn();
        let (dq, dk, dv) = dnn.attend_gradients(&spec, &q, &k, &v, &o, &q, &sums).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &dv), [0.25; 4]);
        assert_eq!(down(&device, &dk), [-0.5, -0.25, 0.0, 0.75]);
        assert_eq!(down(&device, &dq), [2.0]);
    }
}

/// A factor that is no positive number.
#[test]
fn scores_have_any_factor() {
    for device in devices() {
        let f16s = |n: usize, of: usize| {
            let number = |k: usize| windlass::f16::from_f32(((k * of % 13) as f32 - 6.0) / 8.0);
            device.tensor([1, 2, n, 8], (0..16 * n).map(number).collect::<Vec<_>>()).unwrap()
        };
        let (q, k, v, dy) = (f16s(17, 5), f16s(5, 7), f16s(5, 3), f16s(17, 11));
        let minus = device.map(&q, |q| -q).unwrap().await_result().unwrap();
        let run = |scale: f64, q: &Tensor<windlass::f16>| {
            let (spec, dnn) = (Attention::new().scale(scale), device.dnn());
            let (o, sums) = dnn.attend_training(&spec, q, &k, &v).unwrap().await_result().unwrap();
            let (dq, dk, dv) = dnn.attend_gradients(&spec, q, &k, &v, &o, &dy, &sums).unwrap().await_result().unwrap();
            [o, dk, dv, dq].map(|x| down(&device, &x).into_iter().map(f32::from).collect::<Vec<f32>>())
        };
        for scale in [0.3, 2.0] {
            let ([o, dk, dv, dq], [want_o, want_k, want_v, want_q]) = (run(-scale, &q), run(scale, &minus));
            for (got, want) in [(o, want_o), (dk, want_k), (dv, want_v), (dq.iter().map(|x| -x).collect(), want_q)] {
                assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 4e-3), "{scale}: {got:?} {want:?}");
            }
        }
        for scale in [0.0, -0.0, 1e-50] {
            let [o, dk, _, dq] = run(scale, &q);
            let mean = |d: usize, head: usize| {
                (0..5).map(|key| f32::from(down(&device, &v)[(head * 5 + key) * 8 + d])).sum::<f32>() / 5.0
            };
            assert!(o.iter().enumerate().all(|(k, x)| (x - mean(k % 8, k / 8 / 17)).abs() < 2e-3), "{scale}: {o:?}");
            assert!(dk.iter().chain(&dq).all(|x| *x == 0.0), "{scale}: {dk:?} {dq:?}");
        }
        let far = Attention::new().scale(1e300);
        assert!(told(device.dnn().attend(&far, &q, &k, &v)).contains("scale"));
    }
}

#[test]
fn numbers_of_rows_without_elements_are_looked_at() {
    for device in devices() {
        let dnn = device.dnn();
        let table = device.tensor([3, 0], [0.0f32; 0]).unwrap();
        let good = device.tensor([2, 2], [0i64, -3, 2, 1]).unwrap();
        let wrong = device.tensor([2, 2], [0i64, -3, 3, 1]).unwrap();
        assert_eq!(dnn.embedding(&table, &good).unwrap().await_result().unwrap().shape(), [2, 2, 0]);
        let text = told(dnn.embedding(&table, &wrong).unwrap().await_result());
        assert!(text.contains("number 2 of them is out of range for axis 0 of 3 elements"), "{text}");
        let dy = device.tensor([2, 2, 0], [0.0f32; 0]).unwrap();
        assert_eq!(dnn.embedding_gradient(&dy, &good, 3, None).unwrap().await_result().unwrap().shape(), [3, 0]);
        assert!(
            told(dnn.embedding_gradient(&dy, &wrong, 3, None).unwrap().await_result()).contains("number 2 of them")
        );
    }
}

#[test]
fn norms_of_windows_neither_overflow_nor_vanish() {
    for device in devices() {
        let dnn = device.dnn();
        let pool = Pool::new([2]);
        for (p, scale) in
            [(2.0, 1e30f64), (2.0, 1e-30), (3.0, 1e36), (6.0, 1e-38), (9.0, 1e30), (50.0, 1e-30), (1.0, 1e38)]
        {
            let x = device.tensor([1, 4], [3.0, -4.0, 1.0, 0.0].map(|x: f64| (x * scale / 4.0) as f32)).unwrap();
            let y = down(&device, &dnn.lp_pool(&x, p, &pool).unwrap().await_result().unwrap());
            let norm = (0.75f64.powf(p) + 1.0).powf(1.0 / p);
            for (got, want) in y.iter().zip([norm * scale, scale / 4.0]) {
                assert!((f64::from(*got) / want - 1.0).abs() < 1e-5, "{p} {scale:e}: {y:?} {want}");
            }
            let (y, dy) = (device.tensor([1, 2], y).unwrap(), device.tensor([1, 2], [1.0f32, 2.0]).unwrap());
            let dx = down(&device, &dnn.lp_pool_gradient(&x, &y, &dy, p, &pool).unwrap().await_result().unwrap());
            for (got, want) in dx.iter().zip([(0.75 / norm).powf(p - 1.0), -(1.0 / norm).powf(p - 1.0), 2.0, 0.0]) {
                assert!((f64::from(*got) - want).abs() < 1e-4, "{p} {scale:e}: {dx:?} {want}");
            }
        }
        for (p, scale) in [(2.0, 1e200f64), (2.0, 1e-200), (4.0, 1e300)] {
            let x = device.tensor([2, 2], [0.75 * scale, -scale, 0.75 / scale, -1.0 / scale]).unwrap();
            let y = down(&device, &dnn.lp_pool(&x, p, &pool).unwrap().await_result().unwrap());
            let norm = (0.75f64.powf(p) + 1.0).powf(1.0 / p);
            assert!(
                (y[0] / scale / norm - 1.0).abs() < 1e-13 && (y[1] * scale / norm - 1.0).abs() < 1e-13,
                "{p}: {y:?}"
            );
        }
    }
}

#[test]
fn a_weight_of_one_element_is_not_one_of_all() {
    for device in devices() {
        let x = device.tensor([2, 3], [0.0f32; 6]).unwrap();
        let (one, three) = (device.tensor([1], [1.0f32]).unwrap(), device.tensor([3], [1.0f32; 3]).unwrap());
        for norm in [NormKind::Layer(1), NormKind::Rms(1), NormKind::Batch, NormKind::Group(3)] {
            let dnn = device.dnn();
            assert!(told(dnn.norm(&x, norm, 1e-5, &Affine::weight(&one))).contains("weight"), "{norm:?}");
            assert!(told(dnn.norm(&x, norm, 1e-5, &Affine::new(&three, &one))).contains("bias"), "{norm:?}");
            dnn.norm(&x, norm, 1e-5, &Affine::new(&three, &three)).unwrap().await_result().unwrap();
        }
    }
}

#[test]
fn a_place_that_is_in_no_plane_makes_nan_of_its_window() {
    for device in devices() {
        let dy = device.tensor([1, 3], [1.0f32, 2.0, 4.0]).unwrap();
        for (wrong, is_wrong) in [(-1i64, false), (3, false), (6, true), (-2, true), (i64::MAX, true), (i64::MIN, true)]
        {
            let places = device.tensor([1, 3], [0, wrong, 5]).unwrap();
            let dx = device.dnn().max_pool_gradient(&dy, &places, &[1, 6], &Pool::new([2])).unwrap();
            let dx = down(&device, &dx.await_result().unwrap());
            let middle = if wrong == 3 { 2.0 } else { 0.0 };
            assert_eq!([dx[0], dx[1], dx[4], dx[5]], [1.0, 0.0, 0.0, 4.0], "{wrong}");
            match is_wrong {
                true => assert!(dx[2].is_nan() && dx[3].is_nan(), "{wrong}: {dx:?}"),
                false => assert_eq!(dx[2..4], [0.0, middle], "{wrong}"),
            }
        }
    }
}

#[test]
fn any_number_of_axes_has_borders() {
    use windlass::moves::Pad;
    for device in devices() {
        let x = device.tensor([1, 2, 1, 2, 1, 1, 1, 1, 1], [1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let widths = [(1, 1); 9];
        let y = device.pad(&x, &widths, Pad::Edge).unwrap().await_result().unwrap();
        assert_eq!(y.shape(), [3, 4, 3, 4, 3, 3, 3, 3, 3]);
        let all = down(&device, &y);
        let plane = 3 * 3 * 3 * 3 * 3;
        for (k, got) in all.iter().enumerate() {
            let (row, column) = (k / plane / 4 / 3 % 4, k / plane % 4);
            assert_eq!(*got, [1.0, 1.0, 3.0, 3.0][row] + [0.0, 0.0, 1.0, 1.0][column], "{k}");
        }
        assert!(told(device.pad(&x, &widths, Pad::Reflect)).contains("widths"));
    }
}

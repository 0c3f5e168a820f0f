//! No steps, no sequences, bad input.

use super::{Case, backward, forward};
use crate::common::{Rng, devices, refused};
use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell, Sequences};
use windlass::{Device, Tensor};

fn case(cell: RecurrentCell, peepholes: bool, sizes: [usize; 4], lengths: Option<Vec<usize>>) -> Case {
    let [time, batch, input, hidden] = sizes;
    let initial = [true, cell == RecurrentCell::Lstm];
    let bias = RecurrentBias::Both;
    Case {
        cell,
        time,
        batch,
        input,
        hidden,
        projection: None,
        layers: 2,
        both_ways: true,
        bias,
        peepholes,
        lengths,
        initial,
    }
}

fn sizes(cells: &[RecurrentCell], peepholes: bool) {
    let mut wrong = vec![];
    for device in &devices() {
        for cell in cells {
            for (sizes, lengths) in [
                ([0, 2, 3, 2], None),
                ([2, 0, 3, 2], None),
                ([0, 0, 1, 1], None),
                ([1, 1, 1, 1], None),
                ([3, 1, 1, 1], None),
                ([2, 3, 2, 2], Some(vec![0, 0, 0])),
                ([3, 3, 2, 2], Some(vec![0, 2, 0])),
                ([4, 2, 2, 2], Some(vec![1, 2])),
                ([1, 1, 1, 1], Some(vec![0])),
            ] {
                let case = case(*cell, peepholes, sizes, lengths);
                wrong.extend(forward::<f32>(device, &mut Rng::new(1), &case));
                if *cell != RecurrentCell::Relu {
                    wrong.extend(backward::<f32>(device, &mut Rng::new(1), &case));
                }
            }
        }
    }
    super::report(&wrong);
}

#[test]
fn sizes_of_none_and_one() {
    sizes(&[RecurrentCell::Relu, RecurrentCell::Tanh, RecurrentCell::Lstm, RecurrentCell::Gru], false);
}

#[test]
fn sizes_of_none_and_one_beyond_cudnn() {
    sizes(&[RecurrentCell::GruResetFirst], false);
    sizes(&[RecurrentCell::Lstm], true);
}

/// NaN goes where the formulas say, and nowhere else.
#[test]
fn nan_of_a_sequence_stays_in_it() {
    for device in &devices() {
        let net = Recurrent::lstm(2, 3);
        let w: Vec<f32> = (0..net.parameter_count().unwrap()).map(|k| (k % 7) as f32 * 0.1 - 0.3).collect();
        let w = device.tensor([w.len()], &w[..]).unwrap();
        let mut x = vec![0.5f32; 3 * 2 * 2];
        x[2] = f32::NAN;
        let x = device.tensor([3, 2, 2], x).unwrap();
        let (y, ..) = device.dnn().recur(&net, &Sequences::new(&x), &w).unwrap().await_result().unwrap();
        let y = device.download(&y).unwrap().await_result().unwrap();
        for (k, y) in y.iter().enumerate() {
            assert_eq!(y.is_nan(), k / 3 % 2 == 1, "{device:?}: {k}");
        }
    }
}

#[test]
fn gradients_do_not_read_results_behind_the_ends() {
    for device in &devices() {
        let (dnn, net) = (device.dnn(), Recurrent::lstm(2, 3).bidirectional(true));
        let w: Vec<f32> = (0..net.parameter_count().unwrap()).map(|k| (k % 7) as f32 * 0.1 - 0.3).collect();
        let w = device.tensor([w.len()], &w[..]).unwrap();
        let x = device.tensor([3, 2, 2], [0.5f32; 12]).unwrap();
        let dy = device.tensor([3, 2, 6], [1.0f32; 36]).unwrap();
        let sequences = Sequences::new(&x).lengths(&[1, 3]);
        let run = |poison: f32| {
            let (made, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
            let y = made.await_result().unwrap().0;
            let mut y = device.download(&y).unwrap().await_result().unwrap();
            for (place, y) in y.iter_mut().enumerate() {
                if place / 6 % 2 == 0 && place / 12 >= 1 {
                    *y = poison;
                }
            }
            let y = device.tensor([3, 2, 6], y).unwrap();
            let made = dnn.recur_gradients(&net, &sequences, &w, &y, &dy, [None, None], training).unwrap();
            let (_, dw, ..) = made.await_result().unwrap();
            device.download(&dw).unwrap().await_result().unwrap()
        };
        let (whole, poisoned) = (run(0.0), run(7.0));
        assert!(whole.iter().zip(&poisoned).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + a.abs())), "{device:?}");
    }
}

/// Of a sequence without steps nothing but the initial states is taken, to the last ones: NaN there is nobody else's.
#[test]
fn sequences_without_steps_keep_their_states() {
    for device in &devices() {
        for net in [Recurrent::new(RecurrentCell::GruResetFirst, 2, 3), Recurrent::lstm(2, 3).peepholes(true)] {
            let (dnn, net) = (device.dnn(), net.bidirectional(true).layers(2));
            let w: Vec<f32> = (0..net.parameter_count().unwrap()).map(|k| (k % 7) as f32 * 0.1 - 0.3).collect();
            let w = device.tensor([w.len()], &w[..]).unwrap();
            let x = device.tensor([2, 2, 2], [1.0, 2.0, f32::NAN, f32::NAN, 3.0, 4.0, f32::NAN, f32::NAN]).unwrap();
            let states: Vec<f32> = (0..24).map(|k| if k / 3 % 2 == 1 { f32::NAN } else { 0.5 }).collect();
            let (states, dy) =
                (device.tensor([4, 2, 3], states).unwrap(), device.tensor([2, 2, 6], [1.0f32; 24]).unwrap());
            let sequences = Sequences::new(&x).lengths(&[2, 0]).states(&states);
            let (made, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
            let (y, h, _) = made.await_result().unwrap();
            let last = [Some(states.view()), None];
            let made = dnn.recur_gradients(&net, &sequences, &w, &y, &dy, last, training).unwrap();
            let (dx, dw, dh, _) = made.await_result().unwrap();
            let down = |x: &Tensor<f32>| device.download(x).unwrap().await_result().unwrap();
            for all in [&y, &dx, &dw] {
                assert!(down(all).iter().all(|x| x.is_finite()), "{net:?}");
            }
            for all in [&h, &dh] {
                assert!(down(all).iter().enumerate().all(|(k, x)| x.is_nan() == (k / 3 % 2 == 1)), "{net:?}");
            }
        }
    }
}

fn zeros(device: &Device, extents: &[usize]) -> Tensor<f32> {
    device.zeros(extents).unwrap()
}

#[track_caller]
fn named<T>(answer: windlass::Result<T>, argument: &str, part: &str) {
    let Err(error) = answer else { panic!("it was not refused") };
    let (name, reason) = refused(&error);
    assert!(name == argument && reason.contains(part), "{name}: {reason}");
    assert_eq!(error.site().and_then(windlass::error::Site::library), Some("dnn"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for device in &devices() {
        let dnn = device.dnn();
        let net = Recurrent::lstm(2, 3);
        let count = net.parameter_count().unwrap();
        let (x, w) = (zeros(device, &[4, 2, 2]), zeros(device, &[count]));
        let run = |net: &Recurrent, sequences: Sequences<'_, f32>| dnn.recur(net, &sequences, &w).map(drop);
        let plain = || Sequences::new(&x);
        named(run(&net, Sequences::new(&zeros(device, &[4, 2]))), "x", "steps, sequences");
        named(run(&net, Sequences::new(&zeros(device, &[4, 2, 3]))), "x", "3 elements");
        named(run(&Recurrent::lstm(0, 3), plain()), "input", "0");
        named(run(&Recurrent::lstm(2, 0), plain()), "hidden", "0");
        named(run(&net.clone().layers(0), plain()), "layers", "0");
        named(run(&net.clone().projection(3), plain()), "projection", "1 to 2");
        named(run(&net.clone().projection(0), plain()), "projection", "1 to 2");
        named(run(&Recurrent::gru(2, 3).projection(1), plain()), "projection", "LSTM");
        named(run(&Recurrent::gru(2, 3).peepholes(true), plain()), "peepholes", "LSTM");
        named(run(&Recurrent::lstm(2, (1 << 31) - 1).layers(1 << 30), plain()), "hidden", "addresses");
        named(run(&net, plain().lengths(&[1])), "lengths", "1 of them");
        named(run(&net, plain().lengths(&[1, 5])), "lengths", "5");
        named(run(&net, plain().lengths(&[1, usize::MAX])), "lengths", "4 steps");
        named(run(&net, plain().states(&zeros(device, &[1, 2, 2]))), "h0", "[1, 2, 3]");
        named(run(&net, plain().cells(&zeros(device, &[2, 2, 3]))), "c0", "[1, 2, 3]");
        named(run(&Recurrent::gru(2, 3), plain()), "parameters", "where");
        let gru = Recurrent::gru(2, 3);
        let small = zeros(device, &[gru.parameter_count().unwrap()]);
        let none = zeros(device, &[0, 2, 3]);
        let with_cells = plain().cells(&none).lengths(&[4, 4]);
        named(dnn.recur(&gru, &with_cells, &small).map(drop), "c0", "LSTM");
    }
}

#[test]
fn a_training_serves_its_own_call() {
    for device in &devices() {
        let dnn = device.dnn();
        let net = Recurrent::lstm(2, 3);
        let (x, w) = (zeros(device, &[4, 2, 2]), zeros(device, &[net.parameter_count().unwrap()]));
        let sequences = Sequences::new(&x);
        let begin = || {
            let (made, training) = dnn.recur_training(&net, &sequences, &w).unwrap();
            (made.into_output().0, training)
        };
        let dy = zeros(device, &[4, 2, 3]);
        let (y, training) = begin();
        let other = Sequences::new(&x).lengths(&[4, 3]);
        named(dnn.recur_gradients(&net, &other, &w, &y, &dy, [None, None], training).map(drop), "training", "lengths");
        let (y, training) = begin();
        let short = zeros(device, &[4, 2, 2]);
        named(
            dnn.recur_gradients(&net, &sequences, &w, &y, &short, [None, None], training).map(drop),
            "dy",
            "[4, 2, 3]",
        );
        let (y, training) = begin();
        let dh = zeros(device, &[1, 2, 2]);
        let last = [Some(dh.view()), None];
        named(dnn.recur_gradients(&net, &sequences, &w, &y, &dy, last, training).map(drop), "dh", "[1, 2, 3]");
        // What one refused call has used up is gone; a new one is whole.
        let (y, training) = begin();
        dnn.recur_gradients(&net, &sequences, &w, &y, &dy, [None, None], training).unwrap().await_result().unwrap();
    }
}

#[test]
fn another_device_is_refused() {
    let (a, b) = (Device::host().unwrap(), Device::host().unwrap());
    let net = Recurrent::gru(1, 1);
    let (x, w) = (zeros(&a, &[1, 1, 1]), zeros(&b, &[net.parameter_count().unwrap()]));
    let error = a.dnn().recur(&net, &Sequences::new(&x), &w).unwrap_err();
    assert!(error.to_string().contains("parameters"), "{error:?}");
}

//! What cuDNN is given of an attention with lengths: its stand-in copies an operand to a result.

use crate::standin::{Driver, device, session};
use windlass::dnn::Attention;
use windlass::{Device, Tensor, f16};

/// The numbers of q, k, v, o, dy, dq and dk, as the list of operands in `src/libraries/dnn/native/scores.rs` has them.
const NUMBERS: [i64; 7] = [1, 2, 3, 4, 13, 14, 15];
const PLACES: usize = 8;
const WIDTH: usize = 8;

/// Numbers from 1 on, and NaN from that place on.
fn up_to(device: &Device, places: usize) -> Tensor<f16> {
    let number = |k: usize| if k < places * WIDTH { f16::from_f32(1.0 + k as f32) } else { f16::NAN };
    device.tensor([1, 1, PLACES, WIDTH], (0..PLACES * WIDTH).map(number).collect::<Vec<_>>()).unwrap()
}

fn down(device: &Device, x: &Tensor<f16>) -> Vec<f32> {
    device.download(x).unwrap().await_result().unwrap().into_iter().map(f16::to_f32).collect()
}

/// Where a weight of 0 is multiplied with what lies behind the lengths, there are zeros.
#[test]
fn nothing_that_lies_behind_the_lengths_reaches_cudnn() {
    let driver = session();
    driver.with_cudnn();
    look(&driver, &device(1));
    driver.echo_cudnn(0, 0, 0);
    driver.assert_finished();
}

fn look(driver: &Driver, device: &Device) {
    let [q, k, v, o_out, dy, dq, dk] = NUMBERS;
    let wanted = |places: usize| -> Vec<f32> {
        (0..PLACES * WIDTH).map(|k| if k < places * WIDTH { 1.0 + k as f32 } else { 0.0 }).collect()
    };
    let lengths = |n: i32| device.tensor([1], [n]).unwrap();
    let (whole, five) = (lengths(PLACES as i32), lengths(5));
    let (all, some) = (up_to(device, PLACES), up_to(device, 5));
    let bytes = 2 * PLACES * WIDTH;
    let dnn = device.dnn();

    let of_keys = Attention::new().lengths(&whole, &five);
    driver.echo_cudnn(v, o_out, bytes);
    let (o, sums) = dnn.attend_training(&of_keys, &all, &some, &some).unwrap().await_result().unwrap();
    assert_eq!(down(device, &o), wanted(5));
    for from in [k, v] {
        driver.echo_cudnn(from, dq, bytes);
        let made = dnn.attend_gradients(&of_keys, &all, &some, &some, &all, &all, &sums).unwrap();
        assert_eq!(down(device, &made.await_result().unwrap().0), wanted(5));
    }
    let of_queries = Attention::new().lengths(&five, &whole);
    for from in [q, dy] {
        driver.echo_cudnn(from, dk, bytes);
        let made = dnn.attend_gradients(&of_queries, &some, &all, &all, &all, &some, &sums).unwrap();
        assert_eq!(down(device, &made.await_result().unwrap().1), wanted(5));
    }
}

/// A factor that is not positive is never given to cuDNN: its magnitude is, with queries that are turned.
#[test]
fn cudnn_gets_positive_factors_alone() {
    const SCALE: i64 = 9;
    let driver = session();
    driver.with_cudnn();
    let device = device(1);
    let [q, _, _, o_out, _, dq, dk] = NUMBERS;
    let (dnn, all, bytes) = (device.dnn(), up_to(&device, PLACES), 2 * PLACES * WIDTH);
    for (scale, given, times) in
        [(2.0f64, 2.0f32, 1.0f32), (-0.5, 0.5, -1.0), (0.0, 1.0, 0.0), (-0.0, 1.0, 0.0), (-1e-50, 1.0, 0.0)]
    {
        let spec = Attention::new().scale(scale);
        let wanted: Vec<f32> = (0..PLACES * WIDTH).map(|k| times * (1.0 + k as f32)).collect();
        driver.echo_cudnn(q, o_out, bytes);
        let (o, sums) = dnn.attend_training(&spec, &all, &all, &all).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &o), wanted, "{scale}");
        driver.echo_cudnn(q, dk, bytes);
        let made = dnn.attend_gradients(&spec, &all, &all, &all, &all, &all, &sums).unwrap();
        assert_eq!(down(&device, &made.await_result().unwrap().1), wanted, "{scale}");
        // What cuDNN makes for the queries is turned back.
        driver.echo_cudnn(2, dq, bytes);
        let made = dnn.attend_gradients(&spec, &all, &all, &all, &all, &all, &sums).unwrap();
        assert_eq!(down(&device, &made.await_result().unwrap().0), wanted, "{scale}");
        driver.echo_cudnn(SCALE, 0, 4);
        let _ = dnn.attend(&spec, &all, &all, &all).unwrap().await_result().unwrap();
        assert_eq!(driver.number_of_cudnn(), given, "{scale}");
        driver.echo_cudnn(SCALE, 0, 4);
        let made = dnn.attend_gradients(&spec, &all, &all, &all, &all, &all, &sums).unwrap();
        let _ = made.await_result().unwrap();
        assert_eq!(driver.number_of_cudnn(), given, "{scale}");
    }
    driver.echo_cudnn(0, 0, 0);
    drop((all, dnn, device));
    driver.assert_finished();
}

/// Without a key nothing is asked of cuDNN; the sums are those of the sink alone.
#[test]
fn sums_without_a_key_are_those_of_the_sink() {
    let driver = session();
    let device = device(1);
    let [q, k] = [3, 0].map(|n| device.full([2, 2, n, 8], f16::ONE).unwrap());
    let sink = device.tensor([2], [0.5, -1.0].map(f16::from_f32)).unwrap();
    let sums = |spec: &Attention<'_, f16>| {
        let (o, sums) = device.dnn().attend_training(spec, &q, &k, &k).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &o), [0.0; 96]);
        device.download(&sums).unwrap().await_result().unwrap()
    };
    let spec = Attention::new().sink(&sink);
    assert_eq!(sums(&spec), [0.5, 0.5, 0.5, -1.0, -1.0, -1.0].repeat(2));
    let (queries, keys) = (device.tensor([2], [3, 1]).unwrap(), device.tensor([2], [0, 0]).unwrap());
    let low = f32::NEG_INFINITY;
    let want = [0.5, 0.5, 0.5, -1.0, -1.0, -1.0, 0.5, low, low, -1.0, low, low];
    assert_eq!(sums(&spec.lengths(&queries, &keys)), want);
    assert_eq!(sums(&Attention::new()), [low; 12]);
    drop((q, k, sink, queries, keys, device));
    driver.assert_finished();
}

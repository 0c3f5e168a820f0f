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
    device.download_tensor(x).unwrap().await_result().unwrap().into_iter().map(f16::to_f32).collect()
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

//! Recurrent nets that cuDNN lacks: the stand-in runs the text of their kernels and the products, against the definition.

#[path = "../dnn/recurrent/check.rs"]
mod check;
#[path = "../dnn/recurrent/oracle.rs"]
mod oracle;
#[path = "../dnn/convolution/oracle.rs"]
#[allow(dead_code, reason = "its elements alone")]
mod real;

use crate::standin::{device, session};
use real::Real;

#[test]
fn the_text_of_recurrent_cells_computes_what_they_say() {
    let driver = session();
    let devices = [device(2)];
    check::beyond_cudnn(&devices, 12);
    check::gradients_beyond_cudnn(&devices, 12);
    drop(devices);
    driver.assert_finished();
}

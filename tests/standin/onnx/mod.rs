//! The node tests of ONNX (`tests/host/onnx`) on the CUDA engine: the stand-in runs the text of the kernels.

#[path = "../../host/onnx/attention.rs"]
mod attention;
#[path = "../../host/onnx/cases.rs"]
mod cases;
#[path = "../../host/onnx/compare.rs"]
mod compare;
#[path = "../../host/onnx/convolutions.rs"]
mod convolutions;
#[path = "../../host/onnx/libraries.rs"]
mod libraries;
#[path = "../../host/onnx/moves.rs"]
mod moves;
#[path = "../../host/onnx/networks.rs"]
mod networks;
#[path = "../../host/onnx/node.rs"]
mod node;
#[path = "../../host/onnx/optimizers.rs"]
mod optimizers;
#[path = "../../host/onnx/ordered.rs"]
mod ordered;
#[path = "../../host/onnx/quantized.rs"]
mod quantized;
#[path = "../../host/onnx/reductions.rs"]
mod reductions;
#[path = "../../host/onnx/run.rs"]
mod run;
#[path = "../../host/onnx/sampling.rs"]
mod sampling;
#[path = "../../host/onnx/scans.rs"]
mod scans;
#[path = "../../host/onnx/shapes.rs"]
mod shapes;
#[path = "../../host/onnx/table.rs"]
mod table;
#[path = "../../host/onnx/value.rs"]
mod value;

use crate::standin::{device, session};

#[test]
fn the_node_tests_pass_on_kernels() {
    let driver = session();
    let devices = [device(2)];
    run::all(&devices, false);
    run::lists();
    drop(devices);
    driver.assert_finished();
}

//! Small enough for Miri (`.ci/deep miri`), which sees every access that lies outside of an operand.

use crate::device::Device;
use crate::device::tensor::Tensor;
use crate::engines::host::HostPool;
use crate::libraries::reductions::{All, Mean, Sum};

#[test]
fn sums_of_groups_that_are_not_full_read_their_elements_alone() {
    let device = Device::builder().host().host_pool(HostPool::Inline).open().unwrap();
    for length in [1, 63, 64, 65, 1023, 1024, 1088, 2112] {
        let x = device.tensor([length], vec![2.0f64; length]).unwrap();
        let item = |sum: Tensor<f64>| device.item(&sum).unwrap();
        assert_eq!(item(device.sum(&x, All).unwrap().into_output()), 2.0 * length as f64);
        let formula = device.reduce(&x, All, |x| x + 1.0, Sum).unwrap().into_output();
        assert_eq!(item(formula), 3.0 * length as f64);
        let columns = device.tensor([length.min(70), 3], vec![1.5f64; 3 * length.min(70)]).unwrap();
        let means = device.reduce(&columns, 0, |x| x, Mean).unwrap().into_output();
        assert_eq!(device.download(&means).unwrap().await_result().unwrap(), [1.5; 3]);
    }
}

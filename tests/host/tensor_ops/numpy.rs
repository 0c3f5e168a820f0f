//! Expressions against NumPy: 300 that `make.py` wrote, and as many as one likes in the file that `WINDLASS_TEST_NUMPY_EINSUM` names.

use crate::common::devices;
use windlass::Device;

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|word| word.parse().ok().unwrap_or_else(|| panic!("{text}"))).collect()
}

fn check(device: &Device, line: &str) {
    let [expression, operands, result] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (extents, elements) = result.split_once(':').unwrap();
    let operands: Vec<_> = (0i64..)
        .zip(operands.split(';'))
        .map(|(j, extents)| {
            let extents: Vec<usize> = numbers(extents);
            let count = extents.iter().product::<usize>() as i64;
            (extents, (0..count).map(|k| (k * 7 + j * 5) % 11 - 5).collect::<Vec<_>>())
        })
        .collect();
    let wanted: Vec<i64> = numbers(elements);
    let extents: Vec<usize> = numbers(extents);
    // By one pass, and by products of matrices, which are as exact.
    let whole: Vec<_> = operands.iter().map(|(extents, data)| device.tensor(extents, data).unwrap()).collect();
    let float = |data: &[i64]| data.iter().map(|x| *x as f64).collect::<Vec<_>>();
    let double: Vec<_> = operands.iter().map(|(extents, data)| device.tensor(extents, float(data)).unwrap()).collect();
    let views: Vec<_> = whole.iter().map(|x| x.view()).collect();
    let ops = device.tensor_ops();
    let made = ops.einsum(expression, views).unwrap_or_else(|e| panic!("{line}: {e}")).await_result().unwrap();
    assert_eq!(made.shape(), extents, "{line}");
    assert_eq!(device.download(&made).unwrap().await_result().unwrap(), wanted, "{line}");
    let views: Vec<_> = double.iter().map(|x| x.view()).collect();
    let made = ops.einsum(expression, views).unwrap_or_else(|e| panic!("{line}: {e}")).await_result().unwrap();
    assert_eq!(device.download(&made).unwrap().await_result().unwrap(), float(&wanted), "{line}");
}

#[test]
fn expressions_are_what_numpy_makes_of_them() {
    let lines = match std::env::var("WINDLASS_TEST_NUMPY_EINSUM") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("numpy.txt").to_owned(),
    };
    for device in devices() {
        lines.lines().for_each(|line| check(&device, line));
    }
}

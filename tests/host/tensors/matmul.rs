//! `matmul`: NumPy's rules for axes, and copies where an operand cannot be read as it lies.

use crate::common::{devices, refused};
use windlass::tensor::AxisSlice;
use windlass::{Device, Tensor};

fn count(device: &Device, shape: &[usize]) -> Tensor<f64> {
    let n = shape.iter().product::<usize>();
    device.tensor(shape, (0..n).map(|x| x as f64).collect::<Vec<_>>()).unwrap()
}

#[test]
fn vectors_are_rows_and_columns() {
    for device in devices() {
        let (x, y, a) = (count(&device, &[3]), count(&device, &[3]), count(&device, &[3, 2]));
        let dot = device.matmul(&x, &y).unwrap();
        assert_eq!((dot.rank(), device.item(&dot).unwrap()), (0, 5.0));
        let row = device.matmul(&x, &a).unwrap();
        assert_eq!((row.shape(), device.to_vec(&row).unwrap()), (&[2][..], vec![10.0, 13.0]));
        let column = device.matmul(a.transpose(), &x).unwrap();
        assert_eq!((column.shape(), device.to_vec(&column).unwrap()), (&[2][..], vec![10.0, 13.0]));
        // A vector with each matrix of a batch.
        let batch = count(&device, &[2, 3, 2]);
        let rows = device.matmul(&x, &batch).unwrap();
        assert_eq!((rows.shape(), device.to_vec(&rows).unwrap()), (&[2, 2][..], vec![10.0, 13.0, 28.0, 31.0]));
        let columns = device.matmul(batch.swap_axes(1, 2).unwrap(), &x).unwrap();
        assert_eq!((columns.shape(), device.to_vec(&columns).unwrap()), (&[2, 2][..], vec![10.0, 13.0, 28.0, 31.0]));
    }
}

#[test]
fn batches_are_broadcast() {
    for device in devices() {
        let (a, b) = (count(&device, &[2, 1, 2, 2]), count(&device, &[3, 2, 1]));
        let c = device.matmul(&a, &b).unwrap();
        assert_eq!(c.shape(), [2, 3, 2, 1]);
        let got = device.to_vec(&c).unwrap();
        let mut wanted = vec![];
        for i in 0..2 {
            for j in 0..3 {
                for row in 0..2 {
                    let of_a = |column: usize| (4 * i + 2 * row + column) as f64;
                    wanted.push(of_a(0) * (2 * j) as f64 + of_a(1) * (2 * j + 1) as f64);
                }
            }
        }
        assert_eq!(got, wanted);
    }
}

#[test]
fn only_what_cannot_be_read_is_copied_and_each_copy_is_counted() {
    for device in devices() {
        let copies = |what: &str, f: &dyn Fn() -> Vec<f64>, wanted: u64| {
            let before = device.stats().operand_copies;
            let got = f();
            assert_eq!(device.stats().operand_copies - before, wanted, "{what} on {device:?}");
            got
        };
        let (a, b) = (count(&device, &[4, 4]), count(&device, &[4, 4]));
        let down =
            |c: windlass::PendingDispatch<Tensor<f64>>| device.download(c.buffer()).unwrap().await_result().unwrap();
        copies("rows", &|| down(device.matmul(&a, &b).unwrap()), 0);
        copies("columns", &|| down(device.matmul(a.transpose(), b.transpose()).unwrap()), 0);
        let part = a.slice((1..3, ..)).unwrap();
        let plain = copies("a part of the rows", &|| down(device.matmul(&part, &b).unwrap()), 0);
        assert_eq!(plain[0], 4.0 * 0.0 + 5.0 * 4.0 + 6.0 * 8.0 + 7.0 * 12.0);
        let every_other = b.slice((.., AxisSlice::from(..).step(2))).unwrap();
        let two = copies("every other column", &|| down(device.matmul(&part, &every_other).unwrap()), 1);
        assert_eq!(two, [plain[0], plain[2], plain[4], plain[6]]);
        let flipped = a.flip(0).unwrap();
        copies("both", &|| down(device.matmul(&flipped, &every_other).unwrap()), 2);
        // 0 0 0 1 1 1 is not at even distances.
        let (few, many) = (count(&device, &[2, 1, 2, 2]), count(&device, &[2, 3, 2, 2]));
        copies("a batch that is spread out", &|| down(device.matmul(&few, &many).unwrap()), 1);
    }
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    for device in devices() {
        let says = |error: windlass::Error, name: &str, parts: &[&str]| {
            let (argument, reason) = refused(&error);
            assert_eq!(argument, name, "{reason}");
            assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
        };
        let (a, b) = (count(&device, &[2, 3]), count(&device, &[2, 4]));
        says(device.matmul(&a, &b).unwrap_err(), "b", &["[2, 4]", "[2, 3]", "3 columns"]);
        let number = device.tensor([], [1.0]).unwrap();
        says(device.matmul(&number, &b).unwrap_err(), "a", &["one axis"]);
        says(device.matmul(&a, &number).unwrap_err(), "b", &["one axis"]);
        let (a, b) = (count(&device, &[2, 2, 2]), count(&device, &[3, 2, 2]));
        assert!(device.matmul(&a, &b).is_err());
        // A sum of nothing is zero, and nothing has no elements.
        let (a, b) = (count(&device, &[2, 0]), count(&device, &[0, 3]));
        assert_eq!(device.to_vec(device.matmul(&a, &b).unwrap()).unwrap(), [0.0; 6]);
        assert_eq!(device.matmul(count(&device, &[0, 2]).view(), &count(&device, &[2, 3])).unwrap().shape(), [0, 3]);
    }
}

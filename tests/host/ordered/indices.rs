//! Elements by indices and conditions: what is degenerate, and what is refused.

use super::read;
use crate::common::{devices, refused};
use windlass::arrays::SearchSide;
use windlass::{Bool, Device};

fn truth(device: &Device, shape: &[usize], x: &[bool]) -> windlass::Tensor<Bool> {
    device.tensor(shape, x.iter().copied().map(Bool::from).collect::<Vec<_>>()).unwrap()
}

#[test]
fn elements_along_an_axis_are_those_of_any_view() {
    for device in devices() {
        let x = device.tensor([2, 3], [1, 2, 3, 4, 5, 6]).unwrap();
        let indices = device.tensor([2, 2], [0i32, -1, 2, 0]).unwrap();
        let take = |x: windlass::TensorRef<'_, i32>, indices: windlass::TensorRef<'_, i32>, axis| {
            let made = device.take_along_axis(x, indices, axis).unwrap().await_result().unwrap();
            (made.shape().to_vec(), read(&device, &made))
        };
        assert_eq!(take(x.view(), indices.view(), 1), (vec![2, 2], vec![1, 3, 6, 4]));
        assert_eq!(take(x.flip(1).unwrap(), indices.view(), -1), (vec![2, 2], vec![3, 1, 4, 6]));
        assert_eq!(take(x.transpose(), indices.transpose(), 0), (vec![2, 2], vec![1, 6, 3, 4]));
        // One row of either for all of the other.
        assert_eq!(take(x.view(), indices.slice(0..1).unwrap(), 1), (vec![2, 2], vec![1, 3, 4, 6]));
        assert_eq!(take(x.slice(1..2).unwrap(), indices.view(), 1), (vec![2, 2], vec![4, 6, 6, 4]));
        assert_eq!(take(x.view(), indices.slice((.., 0..0)).unwrap(), 1), (vec![2, 0], vec![]));
        assert_eq!(take(x.broadcast([2, 2, 3]).unwrap(), indices.unsqueeze(0).unwrap(), 2).1, [1, 3, 6, 4, 1, 3, 6, 4]);
    }
}

#[test]
fn an_index_that_is_out_of_range_is_told_by_its_place() {
    for device in devices() {
        let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        for wrong in [3i64, -4, i64::MAX, i64::MIN] {
            let indices = device.tensor([2, 2], [0, 2, wrong, 9]).unwrap();
            let error = device.take_along_axis(&x, &indices, 1).unwrap().await_result().unwrap_err().error;
            let what = "number 2 of them is out of range for axis 1 of 3 elements";
            assert_eq!(refused(&error), ("indices".to_owned(), what.to_owned()));
            let places = device.tensor([3, 2], [0, 0, 1, wrong, 1, 1]).unwrap();
            let error = device.gather_nd(&x, &places, 0).unwrap().await_result().unwrap_err().error;
            let what = "number 1 of them is out of range for axes of [2, 3] elements";
            assert_eq!(refused(&error), ("indices".to_owned(), what.to_owned()));
        }
        let large = device.tensor([1, 1], [u64::MAX]).unwrap();
        assert!(device.take_along_axis(&x, &large, 0).unwrap().await_result().is_err());
        // A place of the second row is none of the first one.
        let places = device.tensor([1, 2], [0i64, 3]).unwrap();
        assert!(device.gather_nd(&x, &places, 0).unwrap().await_result().is_err());
    }
}

#[test]
fn indices_of_another_shape_are_refused_by_name() {
    for device in devices() {
        let x = device.zeros::<f32>([2, 3]).unwrap();
        let two = device.zeros::<i64>([2]).unwrap();
        let error = device.take_along_axis(&x, &two, 0).unwrap_err();
        assert_eq!(refused(&error).0, "indices");
        let wrong = device.zeros::<i64>([2, 4]).unwrap();
        let error = device.take_along_axis(&x, &wrong, 0).unwrap_err();
        let what = "shape [2, 4], but `x` has [2, 3]: beside axis 0 they are equal, or one of them is 1";
        assert_eq!(refused(&error), ("indices".to_owned(), what.to_owned()));
        assert_eq!(refused(&device.take_along_axis(&x, &wrong, 2).unwrap_err()).0, "axis");
        let none = device.zeros::<f32>([2, 0]).unwrap();
        assert_eq!(refused(&device.take_along_axis(&none, two.reshape([2, 1]).unwrap(), 1).unwrap_err()).0, "indices");
        assert_eq!(refused(&device.gather_nd(&x, &device.zeros::<i64>([2, 3]).unwrap(), 0).unwrap_err()).0, "indices");
        assert_eq!(
            refused(&device.gather_nd(&x, &device.zeros::<i64>([0usize; 0]).unwrap(), 0).unwrap_err()).0,
            "indices"
        );
        assert_eq!(refused(&device.gather_nd(&x, &device.zeros::<i64>([2, 0]).unwrap(), 0).unwrap_err()).0, "indices");
        assert_eq!(refused(&device.gather_nd(&x, &device.zeros::<i64>([3, 1]).unwrap(), 1).unwrap_err()).0, "indices");
    }
}

#[test]
fn places_in_a_batch_are_those_of_their_own_part() {
    for device in devices() {
        let x = device.tabulate([2, 3, 2], windlass::expressions::index).unwrap().await_result().unwrap();
        let places = device.tensor([2, 1, 1], [2i64, -3]).unwrap();
        let rows = device.gather_nd(&x, &places, 1).unwrap().await_result().unwrap();
        assert_eq!((rows.shape(), read(&device, &rows)), (&[2, 1, 2][..], vec![4, 5, 6, 7]));
        // Of a view, whose slices move.
        let rows = device.gather_nd(x.flip(0).unwrap(), &places, 1).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &rows), [10, 11, 0, 1]);
        // More places than one formula takes.
        let many = device.tabulate([1, 1, 1, 1, 1, 1, 1, 2, 3], windlass::expressions::index).unwrap();
        let many = many.await_result().unwrap();
        let places = device.tensor([2, 9], [0, 0, 0, 0, 0, 0, 0, 1, 2, -1, 0, 0, 0, 0, 0, 0, -2, -1]).unwrap();
        let made = device.gather_nd(&many, &places, 0).unwrap().await_result().unwrap();
        assert_eq!(read::<i64>(&device, &made), [5, 2]);
        let places = device.tensor([1, 9], [1, 0, 0, 0, 0, 0, 0, 1, 2]).unwrap();
        assert!(device.gather_nd(&many, &places, 0).unwrap().await_result().is_err());
    }
}

#[test]
fn what_a_mask_shows_is_written() {
    for device in devices() {
        let x = || device.tensor([2, 2], [1.0f32, f32::NAN, 3.0, 4.0]).unwrap();
        let nan = device.map(&x(), |x| x.ne(x)).unwrap().await_result().unwrap();
        let made = device.masked_fill(x(), &nan, 0.0).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &made), [1.0, 0.0, 3.0, 4.0]);
        // A row of the mask for all rows, and a column of what is written.
        let row = truth(&device, &[2], &[true, false]);
        let made = device.masked_fill(x(), &row, -1.0).unwrap().await_result().unwrap();
        assert_eq!(
            read(&device, &made)[..3].iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            [(-1f32).to_bits(), f32::NAN.to_bits(), (-1f32).to_bits()]
        );
        let column = x().part(|all| all.index(1, 0)).unwrap();
        let made = device.masked_fill(column, &row, 7.0).unwrap().await_result().unwrap();
        assert_eq!((read(&device, &made)[0], read(&device, &made)[2]), (7.0, 3.0));
        let column = device.tensor([2, 1], [10.0f32, 20.0]).unwrap();
        let made = device.masked_assign(x(), &nan, &column).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &made), [1.0, 10.0, 3.0, 4.0]);
        let long = truth(&device, &[3], &[true; 3]);
        assert!(device.masked_fill(x(), &long, 1.0).unwrap_err().back.is_some());
        let none = device.zeros::<f32>([0]).unwrap();
        let made = device.masked_fill(none, &truth(&device, &[0], &[]), 1.0).unwrap().await_result().unwrap();
        assert!(made.is_empty());
    }
}

#[test]
fn as_many_values_are_written_as_a_mask_shows() {
    for device in devices() {
        let x = || device.tensor([3], [1, 2, 3]).unwrap();
        let mask = truth(&device, &[3], &[true, false, true]);
        let values = device.tensor([4], [9, 8, 7, 6]).unwrap();
        let every_other = values.slice(windlass::tensor::AxisSlice::from(..).step(-2)).unwrap();
        let made = device.masked_scatter(x(), &mask, &every_other).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &made), [6, 2, 8]);
        let rejected = device.masked_scatter(x(), &mask, &values).unwrap_err();
        let what = "shape [4], but 2 of the mask are true: give a vector of as many, or `masked_assign` a tensor of the shape of `x`";
        assert_eq!(refused(&rejected.error), ("values".to_owned(), what.to_owned()));
        assert_eq!(read(&device, &rejected.back.unwrap().0), [1, 2, 3]);
        let short = truth(&device, &[2], &[true; 2]);
        let error = device.masked_scatter(x(), &short, &values).unwrap_err().error;
        assert_eq!(refused(&error).0, "mask");
        let none = truth(&device, &[3], &[false; 3]);
        let made = device.masked_scatter(x(), &none, &device.zeros::<i32>([0]).unwrap()).unwrap();
        assert_eq!(read(&device, &made.await_result().unwrap()), [1, 2, 3]);
    }
}

#[test]
fn membership_is_equality() {
    for device in devices() {
        let x = device.tensor([6], [f64::NAN, 0.0, -0.0, f64::INFINITY, 1.0, 2.0]).unwrap();
        let is_in = |values: &[f64]| {
            let values = device.tensor([values.len()], values).unwrap();
            let found = device.isin(&x, &values).unwrap().await_result().unwrap();
            read(&device, &found).into_iter().map(|x| x.0 != 0).collect::<Vec<_>>()
        };
        assert_eq!(is_in(&[f64::NAN, -0.0, f64::INFINITY, 2.0]), [false, true, true, true, false, true]);
        assert_eq!(is_in(&[f64::NAN]), [false; 6]);
        assert_eq!(is_in(&[]), [false; 6]);
        let words = device.tensor([3], [u64::MAX, 1 << 53, (1 << 53) + 1]).unwrap();
        let one = device.tensor([1, 1], [(1u64 << 53) + 1]).unwrap();
        let found = device.isin(&words, &one).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &found), [Bool(0), Bool(0), Bool(1)]);
        let (truth, yes) = (truth(&device, &[2], &[true, false]), truth(&device, &[1], &[true]));
        assert_eq!(read(&device, &device.isin(&truth, &yes).unwrap().await_result().unwrap()), [Bool(1), Bool(0)]);
    }
}

#[test]
fn rows_are_searched_each_in_its_own_vector() {
    for device in devices() {
        let rows =
            device.tensor([2, 4], [1.0f32, 2.0, 2.0, f32::NAN, f32::NEG_INFINITY, -0.0, 0.0, f32::INFINITY]).unwrap();
        let values = device.tensor([2, 3], [2.0f32, f32::NAN, 0.0, 0.0, f32::INFINITY, f32::NAN]).unwrap();
        let find = |side| read(&device, &device.searchsorted(&rows, &values, side).unwrap().await_result().unwrap());
        assert_eq!(find(SearchSide::Left), [1, 3, 0, 1, 3, 4]);
        assert_eq!(find(SearchSide::Right), [3, 4, 0, 3, 4, 4]);
        // Rows and values that run backwards, in a batch of one each.
        let turned = device.searchsorted(rows.flip(0).unwrap(), values.flip(0).unwrap(), SearchSide::Left);
        assert_eq!(read(&device, &turned.unwrap().await_result().unwrap()), [1, 3, 4, 1, 3, 0]);
        let none = device.zeros::<f32>([2, 0]).unwrap();
        let made = device.searchsorted(&none, &values, SearchSide::Right).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &made), [0; 6]);
        let made = device.searchsorted(&rows, &none, SearchSide::Right).unwrap().await_result().unwrap();
        assert_eq!(made.shape(), [2, 0]);
        let flags = truth(&device, &[1, 3], &[false, true, true]);
        let made = device.searchsorted(&flags, &flags, SearchSide::Left).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &made), [0, 1, 1]);
    }
}

//! Structures are validated, and values replaced without another look.

use super::model::{Model, shapes};
use crate::common::{Rng, devices, down, refused, up};
use windlass::sparse::{Blocks, Csr, Spmv};
use windlass::{Error, sparse::Order};

#[test]
fn valid_structures_of_every_format_are_taken() {
    for device in devices() {
        for (name, model) in shapes::<f64>(&mut Rng::new(1)) {
            let (rows, cols, nnz) = (model.rows, model.cols, model.entries.len());
            let csr = model.up_csr::<i32>(&device);
            assert_eq!((csr.rows(), csr.cols(), csr.nnz()), (rows, cols, nnz), "{name}");
            let csc = model.up_csc::<i64>(&device);
            assert_eq!((csc.rows(), csc.cols(), csc.nnz()), (rows, cols, nnz), "{name}");
            let coo = model.up_coo::<i32>(&device);
            assert_eq!((coo.rows(), coo.cols(), coo.nnz()), (rows, cols, nnz), "{name}");
            model.assert_same(&Model::down(&device, &csr, true), name);
            model.assert_same(&Model::down(&device, &csc, false), name);
        }
    }
}

#[test]
fn what_is_wrong_in_compressed_rows_is_named_with_its_place_and_everything_comes_back() {
    // 3 x 4 with entries (0, 1), (0, 3), (2, 0), (2, 2).
    let cases = [
        ("first offset", [1, 2, 2, 4], [1, 3, 0, 2], "offsets", "offset 0"),
        ("negative first offset", [-1, 2, 2, 4], [1, 3, 0, 2], "offsets", "offset 0"),
        ("falling", [0, 2, 1, 4], [1, 3, 0, 2], "offsets", "offset 2"),
        ("past the end", [0, 2, 9, 4], [1, 3, 0, 2], "offsets", "offset 3"),
        ("short", [0, 2, 2, 3], [1, 3, 0, 2], "offsets", "offset 3"),
        ("column past the end", [0, 2, 2, 4], [1, 4, 0, 2], "columns", "columns[1]"),
        ("negative column", [0, 2, 2, 4], [1, 3, -1, 2], "columns", "columns[2]"),
        ("unsorted", [0, 2, 2, 4], [3, 1, 0, 2], "columns", "columns[1]"),
        ("twice", [0, 2, 2, 4], [1, 3, 2, 2], "columns", "columns[3]"),
    ];
    for device in devices() {
        for (what, offsets, columns, argument, place) in cases {
            let values = up(&device, [1.0f32, 2.0, 3.0, 4.0]);
            let pending = device.sparse().csr(3, 4, up(&device, offsets), up(&device, columns), values).unwrap();
            let rejected = pending.await_result().unwrap_err();
            let (name, reason) = refused(&rejected.error);
            assert!(name == argument && reason.contains(place), "{what}: {name}: {reason}");
            let (back_offsets, back_columns, values) = rejected.back.unwrap();
            assert_eq!(down(&device, &back_offsets), offsets, "{what}");
            assert_eq!(down(&device, &back_columns), columns, "{what}");
            assert_eq!(down(&device, &values), [1.0, 2.0, 3.0, 4.0], "{what}");
        }
    }
}

#[test]
fn wrong_coordinates_and_blocks_and_vectors_are_refused() {
    for device in devices() {
        let sparse = device.sparse();
        let coo =
            |rows: [i32; 3], columns: [i32; 3]| sparse.upload_coo(2, 3, &rows, &columns, &[1.0f64; 3]).unwrap_err();
        for (rows, columns, place) in [
            ([0, 0, 2], [0, 1, 0], "entry 2"),
            ([0, -1, 1], [0, 1, 0], "entry 1"),
            ([0, 0, 1], [0, 3, 0], "entry 1"),
            ([0, 1, 0], [0, 1, 2], "entry 2"),
            ([0, 1, 1], [0, 1, 1], "entry 2"),
        ] {
            let (name, reason) = refused(&coo(rows, columns));
            assert!(name.contains("row_indices") && reason.contains(place), "{name}: {reason}");
        }
        let bsr = |size, offsets: &[i32], columns: &[i32], values: usize| {
            let (offsets, columns) = (up(&device, offsets), up(&device, columns));
            let values = up(&device, vec![1.0f32; values]);
            let pending = sparse.bsr(Blocks::new(4, 6, size).order(Order::Row), offsets, columns, values)?;
            pending.await_result().map_err(Error::from)
        };
        assert_eq!(bsr(2, &[0, 2, 3], &[0, 2, 1], 12).unwrap().nnz(), 12);
        assert_eq!(refused(&bsr(3, &[0, 1], &[0], 9).unwrap_err()).0, "rows");
        assert_eq!(refused(&bsr(0, &[0, 1], &[0], 9).unwrap_err()).0, "block");
        assert_eq!(refused(&bsr(2, &[0, 2, 3], &[0, 2, 1], 11).unwrap_err()).0, "values");
        assert_eq!(refused(&bsr(2, &[0, 2, 3], &[0, 3, 1], 12).unwrap_err()).0, "columns");
        let vector = |places: [i32; 2]| {
            let rejected = sparse.vector(5, up(&device, places), up(&device, [1.0f32; 2])).unwrap().await_result();
            refused(&rejected.unwrap_err().error).1
        };
        assert!(vector([1, 5]).contains("index 1 is not below 5"));
        assert!(vector([-1, 2]).contains("index 0"));
        assert!(vector([3, 3]).contains("index 1 is not larger"));
    }
}

#[test]
fn lengths_and_sizes_that_do_not_fit_are_refused_at_once() {
    for device in devices() {
        let sparse = device.sparse();
        let ints = |n: usize| up(&device, vec![0i32; n]);
        let floats = |n: usize| up(&device, vec![0f32; n]);
        let rejected = sparse.csr(3, 3, ints(3), ints(0), floats(0)).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "offsets");
        assert!(rejected.back.is_some());
        assert_eq!(refused(&sparse.csr(3, 3, ints(4), ints(2), floats(1)).unwrap_err().error).0, "values");
        let many = usize::try_from(i32::MAX).unwrap() + 1;
        assert_eq!(refused(&sparse.csr(many, 3, ints(4), ints(0), floats(0)).unwrap_err().error).0, "rows");
        assert_eq!(refused(&sparse.csr(3, many, ints(4), ints(0), floats(0)).unwrap_err().error).0, "cols");
        assert_eq!(refused(&sparse.csr(usize::MAX, 3, ints(4), ints(0), floats(0)).unwrap_err().error).0, "rows");
        assert_eq!(refused(&sparse.coo(3, 3, ints(1), ints(2), floats(2)).unwrap_err().error).0, "row_indices");
        assert_eq!(refused(&sparse.vector(3, ints(1), floats(2)).unwrap_err().error).0, "values");
        // What was never written is not taken as a structure.
        let rejected = sparse.csr(3, 3, device.uninit::<i32>(4).unwrap().into_buffer(), ints(0), floats(0));
        assert!(rejected.is_err() || rejected.unwrap().await_result().is_err());
    }
}

#[test]
fn values_are_replaced_and_matrices_shared() {
    for device in devices() {
        let a = device.sparse().upload_csr(2, 2, &[0i32, 1, 3], &[1, 0, 1], &[1.0f32, 2.0, 3.0]).unwrap();
        let copy = a.clone();
        let b = a.with_values(up(&device, [10.0f64, 20.0, 30.0])).unwrap();
        let x = up(&device, [1.0f64, 2.0]);
        let y = device.sparse().spmv(Spmv::new(), &b, &x, device.uninit(2).unwrap()).unwrap().into_output();
        assert_eq!(down(&device, &y), [20.0, 80.0]);
        assert_eq!(down(&device, copy.values()), [1.0, 2.0, 3.0]);
        assert_eq!(refused(&a.with_values(up(&device, [1.0f32])).unwrap_err()).0, "values");
        // The last handle of its arrays gives them back.
        drop((a, b));
        let (offsets, indices, values) = copy.into_parts();
        assert!(values.try_unique().is_ok() && offsets.try_unique().is_ok() && indices.try_unique().is_ok());
        // SAFETY: offsets and columns of two empty rows.
        let empty: Csr<f32> =
            unsafe { Csr::assume_valid(2, 2, up(&device, [0, 0, 0]), up(&device, []), up(&device, [])) }.unwrap();
        assert_eq!(empty.transposed().nnz(), 0);
    }
}

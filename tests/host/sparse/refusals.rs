//! What does not fit is refused by name, with the buffers back.

use super::model::Model;
use crate::common::{Rng, devices, down, refused, up};
use windlass::sparse::{Sddmm, Spmm, Spmv};
use windlass::tensor::Layout;
use windlass::{Error, Transpose, sparse::Order};

#[test]
fn products_that_do_not_fit_name_the_argument() {
    for device in devices() {
        let sparse = device.sparse();
        let a = Model::<f32>::random(&mut Rng::new(1), 3, 4, 50).up_csr::<i32>(&device);
        let floats = |n: usize| up(&device, vec![7.0f32; n]);
        let rejected = sparse.spmv(Spmv::new(), &a, &floats(3), floats(3)).unwrap_err();
        assert_eq!(refused(&rejected.error).0, "x");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [7.0; 3]);
        assert_eq!(refused(&sparse.spmv(Spmv::new(), &a, &floats(4), floats(4)).unwrap_err().error).0, "y");
        let turned = Spmv::new().trans(Transpose::Yes);
        assert_eq!(refused(&sparse.spmv(turned, &a, &floats(4), floats(3)).unwrap_err().error).0, "x");
        let none = up(&device, [] as [f32; 0]);
        let spec = Spmv::new().alpha(&none).beta(&none);
        assert_eq!(refused(&sparse.spmv(spec, &a, &floats(4), floats(3)).unwrap_err().error).0, "alpha");
        let tall = |rows, cols| device.full([rows, cols], 7.0f32).unwrap();
        let says = |error: &Error, argument: &str, shapes: [&str; 2]| {
            let (name, reason) = refused(error);
            assert!(name == argument && shapes.iter().all(|shape| reason.contains(shape)), "{error}");
        };
        let error = sparse.spmm(Spmm::new(), &a, &tall(3, 2), tall(3, 2)).unwrap_err().error;
        says(&error, "b", ["3 x 2", "3 x 4"]);
        let rejected = sparse.spmm(Spmm::new(), &a, &tall(4, 2), tall(3, 3)).unwrap_err();
        says(&rejected.error, "c", ["3 x 3", "3 x 2"]);
        assert_eq!(rejected.back.unwrap().0.shape(), [3, 3]);
        let turned = Spmm::new().trans_a(Transpose::Yes);
        says(&sparse.spmm(turned, &a, &tall(4, 2), tall(4, 2)).unwrap_err().error, "b", ["4 x 2", "4 x 3"]);
        says(&sparse.spmm(Spmm::new(), &a, &floats(8), tall(3, 2)).unwrap_err().error, "b", ["8", "1 axes"]);
        let number = device.full([], 7.0f32).unwrap();
        says(&sparse.spmm(Spmm::new(), &a, &tall(4, 2), number).unwrap_err().error, "c", ["0 axes", "two"]);
        let overlapping = floats(8).with_layout(Layout::new([3, 2], [1, 1], 0).unwrap()).unwrap();
        let error = sparse.spmm(Spmm::new(), &a, &tall(4, 2), overlapping).unwrap_err().error;
        says(&error, "c", ["contiguous", "3 x 2"]);
        assert_eq!(refused(&sparse.spgemm(1.0, &a, &a).unwrap_err()).0, "b");
        let wide = sparse.to_csr(&a.transposed()).unwrap();
        let rejected = sparse.spgemm_masked(1.0, &a, &wide, &a, floats(a.nnz())).unwrap_err();
        assert!(refused(&rejected.error).0 == "mask" && rejected.back.is_some());
        assert_eq!(refused(&sparse.add(1.0, &a, 1.0, &wide).unwrap_err()).0, "b");
        let sampled = |a_rows, b_cols, n| {
            let (one, two) = (tall(a_rows, 2), tall(2, b_cols));
            sparse.sddmm(Sddmm::new(), &a, &one, &two, floats(n)).unwrap_err().error
        };
        says(&sampled(4, 4, a.nnz()), "a", ["4 x 2", "3 x 4"]);
        says(&sampled(3, 3, a.nnz()), "b", ["2 x 3", "2 x 4"]);
        assert_eq!(refused(&sampled(3, 4, 1)).0, "values");
        let spread = device.zeros([a.nnz(), 2]).unwrap().part(|all| all.index(1, 0)).unwrap();
        let error = sparse.sddmm(Sddmm::new(), &a, &tall(3, 2), &tall(2, 4), spread).unwrap_err().error;
        says(&error, "values", ["2 apart", "`contiguous`"]);
        let spread = device.zeros([a.nnz(), 2]).unwrap().part(|all| all.index(1, 0)).unwrap();
        let error = sparse.spgemm_masked(1.0, &a, &wide, &a, spread).unwrap_err().error;
        assert_eq!(refused(&error).0, "mask");
        says(&sparse.to_dense(&a, tall(4, 3)).unwrap_err().error, "dense", ["4 x 3", "3 x 4"]);
        says(&sparse.to_dense(&a, floats(12)).unwrap_err().error, "dense", ["12", "1 axes"]);
        assert_eq!(refused(&sparse.from_dense::<f32, i32>(&tall(3, 4), -1.0).unwrap_err()).0, "threshold");
        says(&sparse.from_dense::<f32, i32>(&floats(12), 0.0).unwrap_err(), "dense", ["12", "1 axes"]);
        assert_eq!(refused(&sparse.to_bsr(&a, 2, Order::Row).unwrap_err()).0, "block");
        assert_eq!(refused(&sparse.to_bsr(&a, 0, Order::Row).unwrap_err()).0, "block");
        let factors = floats(2);
        assert_eq!(refused(&sparse.scale(&a, Some((&factors).into()), None).unwrap_err()).0, "factors");
        says(&sparse.scale(&a, None, Some(tall(2, 4).view())).unwrap_err(), "columns", ["[2, 4]", "2 axes"]);
        assert_eq!(refused(&sparse.axpby(1.0, &vector(&device), 0.0, floats(4)).unwrap_err().error).0, "y");
        // Each call of a sparse vector names what it cannot read or write, and gives it back.
        let (x, row) = (vector(&device), || tall(3, 2).part(|all| all.index(1, 0)).unwrap());
        let apart = ["2 apart", "`contiguous`"];
        let rejected = sparse.axpby(1.0, &x, 0.0, row()).unwrap_err();
        says(&rejected.error, "y", apart);
        assert_eq!(rejected.back.unwrap().0.shape(), [3, 2]);
        says(&sparse.scatter(&x, row()).unwrap_err().error, "y", apart);
        says(&sparse.gather(tall(3, 2).index(1, 0).unwrap(), &x, floats(1)).unwrap_err().error, "y", apart);
        says(&sparse.dot(&x, tall(3, 2).index(1, 0).unwrap()).unwrap_err(), "y", apart);
        let flipped = tall(1, 3);
        says(
            &sparse.dotc(&x, flipped.index(0, 0).unwrap().flip(0).unwrap()).unwrap_err(),
            "y",
            ["-1 apart", "`contiguous`"],
        );
        let rejected = sparse.rot(0.0, 1.0, &x, floats(1), row()).unwrap_err();
        says(&rejected.error, "y", apart);
        let (values, y) = rejected.back.unwrap();
        assert_eq!((values.shape(), y.shape()), (&[1][..], &[3, 2][..]));
    }
}

fn vector(device: &windlass::Device) -> windlass::sparse::SparseVector<f32> {
    device.sparse().vector(3, up(device, [1]), up(device, [1.0])).unwrap().await_result().unwrap()
}

#[test]
fn a_matrix_of_another_device_is_refused() {
    let (one, two) = (windlass::Device::host().unwrap(), windlass::Device::host().unwrap());
    let a = Model::<f32>::random(&mut Rng::new(1), 3, 3, 50).up_csr::<i32>(&one);
    let x = up(&two, [1.0f32; 3]);
    let error = two.sparse().spmv(Spmv::new(), &a, &x, two.uninit(3).unwrap()).unwrap_err().error;
    assert!(matches!(error, Error::InvalidArgument { .. } | Error::GpuRefStale { .. }), "{error}");
}

//! Products that have to be padded, in a worker process: by the same rule, measured by the same question.

use super::{inside, isolated};
use crate::common::child::this_test;
use crate::common::{columns, down, up};
use windlass::blaslt::{Epilogue, Operands};
use windlass::tensor::Layout;
use windlass::{F8E4M3, Matmul, bf16};

#[test]
fn a_product_that_the_library_does_not_take_is_padded_in_a_worker_too() {
    inside(&this_test!(), &[], || {
        let device = isolated().open().unwrap();
        let lt = device.blas_lt();
        lt.warm().unwrap();
        let ones = up(&device, vec![F8E4M3::ONE; 64]);
        let bias = up(&device, [1.0, -9.0, 0.5, 2.0, 3.0].map(bf16::from_f32));
        let (spec, b) = (Matmul::new().alpha(0.5), ones.view(Layout::columns(7, 3).offset(1)).unwrap());
        let operands = Operands::new(columns(&ones, 5, 7), b);
        let epilogue = Epilogue::relu_bias(&bias).per_row();
        let want: Vec<bf16> = [4.5, 0.0, 4.0, 5.5, 6.5].repeat(3).into_iter().map(bf16::from_f32).collect();
        let mut d = up(&device, [bf16::ZERO; 15]).with_layout(Layout::columns(5, 3)).unwrap();
        for tuned in [false, true] {
            if tuned {
                let (back, tuning) = lt.autotune(spec.clone(), operands.clone(), epilogue.clone(), d).unwrap();
                assert_eq!((back.buffer().len(), tuning.candidates.len()), (15, 3));
                d = back;
            }
            let pending = lt.matmul_with(spec.clone(), operands.clone(), epilogue.clone(), d).unwrap();
            d = pending.await_result().unwrap();
            assert_eq!(down(&device, d.buffer()), want, "tuned {tuned}");
        }
        let (i, d) = (up(&device, vec![1i8; 15]), device.uninit::<i32>([3, 3]).unwrap());
        let d = lt.matmul(Matmul::new(), columns(&i, 3, 5), columns(&i, 5, 3), d).unwrap().await_result().unwrap();
        assert_eq!(down(&device, &d), [5; 9]);
    });
}

//! Tensors, in processes with one rank each.

use crate::remote::address;
use crate::{LONG, host, hosts};
use windlass::Error;
use windlass::collective::{Combine, Communicator, Rendezvous};

#[test]
fn tensors_are_sent_in_row_major_order() {
    let address = address();
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let address = &address;
            scope.spawn(move || {
                let device = host(1);
                let at = Rendezvous::new(address, rank, 2).limit(LONG).silence(LONG);
                let comm = Communicator::join(&at, [&device]).unwrap();
                let x = device.tensor([4, 3], (0..12).map(|x| (x + 100 * rank) as i32).collect::<Vec<_>>()).unwrap();
                let all = comm.all_gather_tensor(&x).unwrap().await_result().unwrap();
                assert_eq!(all.extents(), [2, 4, 3]);
                assert_eq!(device.item(all.slice((1, 2, 1)).unwrap()).unwrap(), 107);
                // A part of a tensor, at an offset: rows 1 and 2 of four.
                let rows = x.slice((1..3, ..)).unwrap();
                let part = comm.reduce_scatter_tensor(Combine::Sum, &rows).unwrap().await_result().unwrap();
                assert_eq!(part.extents(), [1, 3]);
                let first = 2 * (3 + 3 * rank as i32) + 100;
                assert_eq!(device.to_vec(part.buffer()).unwrap(), [first, first + 2, first + 4]);
                // In place, the rest stays.
                let part = x.part(|all| all.slice((2..3, ..))).unwrap();
                let x = comm.broadcast_tensor(1, part).unwrap().await_result().unwrap();
                let rest = x.slice((1, 0)).unwrap();
                assert_eq!(device.item(rest).unwrap(), 3 + 100 * rank as i32);
                let row = device.contiguous(x.slice((2, ..)).unwrap()).unwrap().await_result().unwrap();
                assert_eq!(device.to_vec(row.buffer()).unwrap(), [106, 107, 108]);
                let sum = comm.all_reduce_tensor(Combine::Sum, row).unwrap().await_result().unwrap();
                assert_eq!(device.to_vec(sum.buffer()).unwrap(), [212, 214, 216]);
            });
        }
    });
}

#[test]
fn what_is_no_tensor_in_row_major_order_of_one_rank_is_refused_and_comes_back() {
    let device = host(1);
    let comm = Communicator::new([&device]).unwrap();
    let x = device.tensor([2, 3], vec![1.0f32; 6]).unwrap();
    let error = comm.all_gather_tensor(x.transpose()).map(drop).unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == "tensor"), "{error}");
    assert!(error.to_string().contains("contiguous"), "{error}");
    let part = x.part(|all| all.slice((.., 1..2))).unwrap();
    let rejected = comm.all_reduce_tensor(Combine::Sum, part).map(drop).unwrap_err();
    let (x,) = rejected.back.unwrap();
    assert_eq!(x.extents(), [2, 3]);
    let several = Communicator::new(&hosts(2)).unwrap();
    let rejected = several.all_reduce_tensor(Combine::Sum, x).map(drop).unwrap_err();
    assert!(matches!(rejected.error, Error::Unsupported { .. }) && rejected.back.is_some());
    // Nothing is something too.
    let none = comm.all_reduce_tensor(Combine::Sum, device.zeros_tensor::<f32>([0, 3]).unwrap()).unwrap();
    assert_eq!(none.await_result().unwrap().extents(), [0, 3]);
}

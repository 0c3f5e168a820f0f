//! Tensors, in processes with one rank each.

use crate::remote::address;
use crate::{LONG, host, hosts};
use windlass::collective::{Combine, Communicator, Rendezvous, Transfer};
use windlass::{Error, Tensor};

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
                assert_eq!(all.shape(), [2, 4, 3]);
                assert_eq!(device.item(all.slice((1, 2, 1)).unwrap()).unwrap(), 107);
                // A part of a tensor, at an offset: rows 1 and 2 of four.
                let rows = x.slice((1..3, ..)).unwrap();
                let part = comm.reduce_scatter_tensor(Combine::Sum, &rows).unwrap().await_result().unwrap();
                assert_eq!(part.shape(), [1, 3]);
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

/// What is reduced to, gathered by and scattered from one rank, exchanged by all, and sent by one to another.
#[test]
fn tensors_of_which_a_root_has_more() {
    let address = address();
    std::thread::scope(|scope| {
        for rank in 0..3 {
            let address = &address;
            scope.spawn(move || {
                let device = host(1);
                let at = Rendezvous::new(address, rank, 3).limit(LONG).silence(LONG);
                let comm = Communicator::join(&at, [&device]).unwrap();
                let make = |rows: usize| {
                    let values = (0..rows * 2).map(|x| (x + 100 * rank) as i32).collect::<Vec<_>>();
                    device.tensor([rows, 2], values).unwrap()
                };
                let all = |tensor: Tensor<i32>| device.to_vec(tensor.buffer()).unwrap();
                for root in 0..3 {
                    let sum = comm.reduce_tensor(Combine::Sum, root, make(2)).unwrap().await_result().unwrap();
                    let own: Vec<i32> = (0..4).map(|x| x + 100 * rank as i32).collect();
                    assert_eq!(all(sum), if rank == root { vec![300, 303, 306, 309] } else { own });
                    let parts = comm.gather_tensor(root, &make(1)).unwrap().await_result().unwrap();
                    assert_eq!(parts.shape(), [if rank == root { 3 } else { 0 }, 1, 2]);
                    assert_eq!(all(parts), if rank == root { vec![0, 1, 100, 101, 200, 201] } else { vec![] });
                    // The root's six rows stay; the others get two of them.
                    let rows = make(if rank == root { 6 } else { 2 });
                    let part = comm.scatter_tensor(root, rows).unwrap().await_result().unwrap();
                    let first = if rank == root { 0 } else { 4 * rank as i32 };
                    let count = if rank == root { 12 } else { 4 };
                    assert_eq!(all(part), (0..count).map(|x| x + first + 100 * root as i32).collect::<Vec<_>>());
                }
                let turned = comm.all_to_all_tensor(&make(3)).unwrap().await_result().unwrap();
                let row = |from: i32| [100 * from + 2 * rank as i32, 100 * from + 2 * rank as i32 + 1];
                assert_eq!(turned.shape(), [3, 2]);
                assert_eq!(all(turned), [row(0), row(1), row(2)].concat());
                // A row of one to a row of another: the rest stays.
                let part = make(3).part(|all| all.slice((1..2, ..))).unwrap();
                let sent = comm.send_tensor(Transfer { from: 2, to: 0 }, part).unwrap().await_result().unwrap();
                let middle = if rank == 0 { 202 } else { 100 * rank as i32 + 2 };
                let own = 100 * rank as i32;
                assert_eq!(all(sent), [own, own + 1, middle, middle + 1, own + 4, own + 5]);
                // Refused before anybody waits; all come back.
                let rejected = comm.send_tensor(Transfer { from: 1, to: 1 }, make(1)).map(drop).unwrap_err();
                let (x,) = rejected.back.unwrap();
                let rejected = comm.reduce_tensor(Combine::Sum, 3, x).map(drop).unwrap_err();
                assert!(matches!(&rejected.error, Error::InvalidArgument { argument, .. } if argument == "root"));
                let (x,) = rejected.back.unwrap();
                let rejected = comm.send_tensor(Transfer { from: 3, to: 0 }, x).map(drop).unwrap_err();
                assert!(matches!(&rejected.error, Error::InvalidArgument { argument, .. } if argument == "transfers"));
                let (x,) = rejected.back.unwrap();
                let error = comm.all_to_all_tensor(&x).map(drop).unwrap_err();
                assert!(matches!(&error, Error::InvalidArgument { argument, .. } if argument == "tensor"), "{error}");
                let error = comm.gather_tensor(0, make(2).transpose()).map(drop).unwrap_err();
                assert!(error.to_string().contains("contiguous"), "{error}");
                comm.barrier().unwrap().await_result().unwrap();
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
    assert_eq!(x.shape(), [2, 3]);
    let several = Communicator::new(&hosts(2)).unwrap();
    let rejected = several.all_reduce_tensor(Combine::Sum, x).map(drop).unwrap_err();
    assert!(matches!(rejected.error, Error::Unsupported { .. }) && rejected.back.is_some());
    // Nothing is something too.
    let none = comm.all_reduce_tensor(Combine::Sum, device.zeros_tensor::<f32>([0, 3]).unwrap()).unwrap();
    assert_eq!(none.await_result().unwrap().shape(), [0, 3]);
}

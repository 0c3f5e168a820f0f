//! Ranks that are devices of this process.

use crate::model::{World, all_moves, all_reductions};
use crate::{Rng, gpus, hosts};
use windlass::collective::{Combine, Communicator};
use windlass::{Device, Element, bf16, f16};

/// Every set of devices under test: host devices, and all prefixes of the GPUs.
fn worlds(most: usize) -> Vec<Vec<Device>> {
    let gpus = gpus();
    if gpus.is_empty() {
        return (1..=most).map(hosts).collect();
    }
    (1..=gpus.len()).map(|ranks| gpus[..ranks].to_vec()).collect()
}

#[test]
fn every_reduction_of_every_type_is_exact() {
    let mut rng = Rng::new(1);
    for devices in worlds(5) {
        let comm = Communicator::new(&devices).unwrap();
        assert_eq!((comm.ranks(), comm.devices().len()), (devices.len(), devices.len()));
        let world = World { comm: &comm, devices: &devices };
        for count in [0, 1, 19] {
            all_reductions(&world, count, &mut rng);
        }
    }
}

#[test]
fn every_move_of_every_type_is_exact() {
    let mut rng = Rng::new(2);
    for devices in worlds(5) {
        let comm = Communicator::new(&devices).unwrap();
        let world = World { comm: &comm, devices: &devices };
        for count in [0, 1, 37] {
            all_moves(&world, count, &mut rng);
        }
    }
}

#[test]
fn large_operands_are_exact_too() {
    let mut rng = Rng::new(3);
    // More than one block, and on GPUs more than one piece of one rank.
    let (sets, more) = if gpus().is_empty() { (vec![hosts(2), hosts(8)], 1) } else { (worlds(0), 8) };
    for devices in sets {
        let comm = Communicator::new(&devices).unwrap();
        let world = World { comm: &comm, devices: &devices };
        world.reductions::<f32>(1 + 1250 * more, &mut rng);
        world.reductions::<bf16>(1111 * more, &mut rng);
        world.moves::<u8>(1 + 33_000 * more, &mut rng);
        world.moves::<f64>(1 + 2500 * more, &mut rng);
    }
}

/// One rank alone: NCCL 2.28.9 gave a wrong average of 40 001 numbers.
#[test]
fn one_rank_alone_scales_all_elements() {
    let devices = gpus().first().map_or_else(|| hosts(1), |gpu| vec![gpu.clone()]);
    let comm = Communicator::new(&devices).unwrap();
    for len in [4096usize, 4097, 40_001, 128 * 1024 + 1, 300_007] {
        for how in [Combine::Avg, Combine::PreMulSum(vec![3])] {
            let data: Vec<i32> = (0..len as i32).collect();
            let by = if how == Combine::Avg { 1 } else { 3 };
            let x = vec![devices[0].upload(data.clone()).unwrap().into_output()];
            let y = vec![devices[0].uninit(len).unwrap()];
            let y = comm.all_reduce(how.clone(), &x, y).unwrap().await_result().unwrap();
            let expected: Vec<i32> = data.iter().map(|x| x * by).collect();
            assert!(devices[0].to_vec(&y[0]).unwrap() == expected, "{how:?} of {len}");
        }
    }
}

/// Numbers whose sum depends on the order.
fn rough<T: Element>(rng: &mut Rng, len: usize, make: impl Fn(f64) -> T) -> Vec<T> {
    (0..len).map(|_| make((rng.next() as i32 as f64) * 1e-9 * [1.0, 1e3, 1e-3][rng.below(3)])).collect()
}

/// The bits of a deterministic all-reduce and reduce-scatter on these devices.
pub(crate) fn deterministic_bits<T: Element>(devices: &[Device], how: Combine<T>, make: fn(f64) -> T) -> Vec<u8> {
    let mut rng = Rng::new(4);
    let comm = Communicator::new(devices).unwrap().deterministic();
    let mut bits = Vec::new();
    for len in [1, 2, 7, 1000, 4099] {
        let n = devices.len();
        let data: Vec<_> = devices.iter().map(|_| rough(&mut rng, len * n, make)).collect();
        let x: Vec<_> = devices.iter().zip(&data).map(|(d, x)| d.upload(x.clone()).unwrap().into_output()).collect();
        let room = |len: usize| devices.iter().map(|device| device.uninit(len).unwrap()).collect::<Vec<_>>();
        let sums = comm.all_reduce(how.clone(), &x, room(len * n)).unwrap().await_result().unwrap();
        let parts = comm.reduce_scatter(how.clone(), &x, room(len)).unwrap().await_result().unwrap();
        let root = comm.reduce(how.clone(), n - 1, &x, vec![devices[n - 1].uninit(len * n).unwrap()]);
        let root = root.unwrap().await_result().unwrap();
        let sums = comm.all_reduce_in_place(how.clone(), x).unwrap().await_result().unwrap().into_iter().chain(sums);
        let of_ranks = devices.iter().cycle().zip(sums.chain(parts));
        for (device, buffer) in of_ranks.chain(devices.last().into_iter().zip(root)) {
            let found = device.download(&buffer).unwrap().await_result().unwrap();
            bits.extend_from_slice(bytemuck::cast_slice(&found));
        }
    }
    bits
}

/// The host engine is the oracle of the GPUs: without these, of itself on other numbers of threads.
#[test]
fn deterministic_reductions_have_the_same_bits_on_all_engines() {
    fn check<T: Element>(devices: &[Device], make: fn(f64) -> T) {
        let oracle = hosts(devices.len());
        for how in [Combine::Sum, Combine::Avg, Combine::Prod] {
            let (found, expected) =
                (deterministic_bits(devices, how.clone(), make), deterministic_bits(&oracle, how.clone(), make));
            assert!(found == expected, "{how:?} of {}", T::DTYPE);
        }
    }
    let sets = if gpus().is_empty() { vec![hosts(1), hosts(3).into_iter().rev().collect()] } else { worlds(0) };
    for devices in sets {
        check::<f32>(&devices, |x| x as f32);
        check::<f64>(&devices, |x| x);
        check::<f16>(&devices, f16::from_f64);
        check::<bf16>(&devices, bf16::from_f64);
    }
}

/// NCCL's kernels wait for each other: what is loaded for the first time, or freed, beside them must not wait for them.
#[cfg(feature = "cuda")]
#[test]
fn a_new_kernel_and_frees_between_collectives_wait_for_nothing() {
    use windlass::{
        DeviceBuffer, Result,
        op::{Enqueue, LaunchDims, Op, OpKind, Ptx, SlicesMut, Spans},
    };
    static KERNELS: Ptx = Ptx::new(include_str!("../../src/device/supervisor/self_test.ptx")); // `y = x * x + 1`
    struct New;
    impl Op for New {
        const NAME: &'static str = "new";
        const KIND: OpKind = OpKind::Enqueue;
        type Reads = (u32,);
        type Output = DeviceBuffer<u32>;
        type Raw = ();
        fn check(&self, _: &Spans<(u32,)>, _: &Spans<(u32,)>) -> Result<()> {
            Ok(())
        }
        fn overwrites(&self, _: &Spans<(u32,)>) -> bool {
            true
        }
        fn host(&self, (x,): (&[u32],), (y,): SlicesMut<'_, Self>) -> Result<()> {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_mul(*x).wrapping_add(1));
            Ok(())
        }
        fn cuda(&self, queue: &mut Enqueue<'_, Self>) -> Result<()> {
            let ((x,), (y,)) = (queue.reads(), queue.writes());
            let (dims, arguments) =
                (LaunchDims::for_elements(y.len())?, [y.address().into(), x.address().into(), y.len().into()]);
            // SAFETY: the kernel has these parameters, reads the input and writes the output, which are of one length.
            unsafe { queue.launch(&KERNELS, c"self_test", dims, &arguments) }
        }
        fn finish(&self, (): ()) -> Result<()> {
            Ok(())
        }
    }
    let devices = worlds(2).pop().unwrap();
    let (comm, n) = (Communicator::new(&devices).unwrap(), devices.len() as u32);
    let len = 4 << 20;
    let mut x: Vec<_> = devices.iter().map(|device| device.full([len], 1u32).unwrap()).collect();
    for _ in 0..4 {
        x = comm.all_reduce_in_place(Combine::Sum, x).unwrap().into_output();
    }
    let y = devices.iter().zip(&x).map(|(device, x)| {
        drop(device.uninit::<u8>(1 << 20).unwrap());
        device.dispatch(New, (x.buffer().as_in(),), (device.uninit(len).unwrap().into_buffer(),)).unwrap().into_output()
    });
    let y: Vec<_> = y.collect();
    drop(x);
    let y = comm.all_reduce_in_place(Combine::Sum, y).unwrap().await_result().unwrap();
    let expected = n.wrapping_pow(4).wrapping_mul(n.wrapping_pow(4)).wrapping_add(1).wrapping_mul(n);
    devices.iter().zip(&y).for_each(|(device, y)| assert!(device.to_vec(y).unwrap() == vec![expected; len]));
}

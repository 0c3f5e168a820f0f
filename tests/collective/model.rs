//! Each collective against what it shall do, written down rank by rank. Operands are windows at odd offsets of longer buffers;
//! what lies beside an output must stay.

use crate::Rng;
use crate::operands::Exact;
use windlass::collective::{Communicator, Transfer};
use windlass::{Device, Element, PendingDispatch, Submitted, Tensor};

/// A buffer that is a window of a longer one.
pub(crate) fn up<T: Element>(device: &Device, data: &[T], rng: &mut Rng) -> Tensor<T> {
    let (before, after) = (rng.below(4), rng.below(3));
    let mut all = vec![junk::<T>(); before];
    all.extend_from_slice(data);
    all.extend(vec![junk::<T>(); after]);
    let buffer = device.upload(all).unwrap().into_output();
    buffer.narrow(before..before + data.len()).unwrap().into()
}

fn junk<T: Element>() -> T {
    bytemuck::pod_read_unaligned(&[0x5a; 16][..size_of::<T>()])
}

fn bytes<T: Element>(data: &[T]) -> &[u8] {
    bytemuck::cast_slice(data)
}

/// Asserts what a buffer holds, and that nothing beside its window was written.
#[track_caller]
pub(crate) fn assert_holds<T: Element>(device: &Device, tensor: Tensor<T>, expected: &[T], what: &str) {
    let buffer = tensor.into_buffer();
    let found = device.download(&buffer).unwrap().await_result().unwrap();
    assert!(bytes(&found) == bytes(expected), "{what} of {}: {found:?} instead of {expected:?}", T::DTYPE);
    let len = buffer.len();
    let whole = buffer.widen();
    let all = device.download(&whole).unwrap().await_result().unwrap();
    let strays = all.iter().filter(|x| bytes(&[**x]) != bytes(&[junk::<T>()])).count();
    let inside = expected.iter().filter(|x| bytes(&[**x]) != bytes(&[junk::<T>()])).count();
    assert!(all.len() >= len && strays == inside, "{what} of {} wrote beside its output", T::DTYPE);
}

/// A communicator with its devices.
pub(crate) struct World<'w> {
    pub(crate) comm: &'w Communicator,
    pub(crate) devices: &'w [Device],
}

impl World<'_> {
    pub(crate) fn ranks(&self) -> usize {
        self.devices.len()
    }

    fn ups<T: Element>(&self, data: &[Vec<T>], rng: &mut Rng) -> Vec<Tensor<T>> {
        self.devices.iter().zip(data).map(|(device, data)| up(device, data, rng)).collect()
    }

    fn rooms<T: Element>(&self, len: usize, rng: &mut Rng) -> Vec<Tensor<T>> {
        self.ups(&vec![vec![junk::<T>(); len]; self.ranks()], rng)
    }

    #[track_caller]
    fn assert_all<T: Element>(&self, done: Submitted<Vec<Tensor<T>>>, expected: &[Vec<T>], what: &str) {
        let buffers = done.unwrap_or_else(|error| panic!("{what} of {}: {}", T::DTYPE, error.error));
        let buffers = buffers.await_result().unwrap_or_else(|error| panic!("{what} of {}: {error}", T::DTYPE));
        assert_eq!(buffers.len(), self.ranks(), "{what}");
        for ((device, buffer), expected) in self.devices.iter().zip(buffers).zip(expected) {
            assert_holds(device, buffer, expected, what);
        }
    }

    #[track_caller]
    fn assert_root<T: Element>(&self, root: usize, done: Submitted<Vec<Tensor<T>>>, expected: &[T], what: &str) {
        let mut buffers = done.unwrap().await_result().unwrap();
        assert_eq!(buffers.len(), 1, "{what}");
        assert_holds(&self.devices[root], buffers.remove(0), expected, what);
    }

    /// All reductions of one type.
    pub(crate) fn reductions<T: Exact>(&self, count: usize, rng: &mut Rng) {
        let n = self.ranks();
        for how in T::ways(n) {
            let what = |name: &str| format!("{name}, {how:?}, {count} elements, {n} ranks");
            let len = n * count;
            // `all[r][i]`: the element `i` of rank `r`.
            let elements: Vec<Vec<T>> = (0..len).map(|_| T::operands(&how, rng, n)).collect();
            let all: Vec<Vec<T>> = (0..n).map(|rank| elements.iter().map(|ranks| ranks[rank]).collect()).collect();
            let result: Vec<T> = elements.iter().map(|ranks| T::combined(&how, ranks)).collect();
            let whole = vec![result.clone(); n];

            let done = self.comm.all_reduce(how.clone(), &self.ups(&all, rng), self.rooms(len, rng));
            self.assert_all(done, &whole, &what("all_reduce"));
            let done = self.comm.all_reduce_in_place(how.clone(), self.ups(&all, rng));
            self.assert_all(done, &whole, &what("all_reduce_in_place"));

            let parts: Vec<Vec<T>> = (0..n).map(|rank| result[rank * count..][..count].to_vec()).collect();
            let done = self.comm.reduce_scatter(how.clone(), &self.ups(&all, rng), self.rooms(count, rng));
            self.assert_all(done, &parts, &what("reduce_scatter"));
            let kept = self.comm.reduce_scatter_in_place(how.clone(), self.ups(&all, rng));
            let mut expected = all.clone();
            for (rank, expected) in expected.iter_mut().enumerate() {
                expected[rank * count..][..count].copy_from_slice(&parts[rank]);
            }
            self.assert_all(kept, &expected, &what("reduce_scatter_in_place"));

            let root = rng.below(n);
            let room = vec![up(&self.devices[root], &vec![junk::<T>(); len], rng)];
            let done = self.comm.reduce(how.clone(), root, &self.ups(&all, rng), room);
            self.assert_root(root, done, &result, &what("reduce"));
            let mut others = self.ups(&all, rng);
            let own = vec![others.remove(root)];
            let done = self.comm.reduce_in_place(how.clone(), root, &others, own);
            self.assert_root(root, done, &result, &what("reduce_in_place"));
        }
    }

    /// All moves of one type, of any bits.
    pub(crate) fn moves<T: Element>(&self, count: usize, rng: &mut Rng) {
        let n = self.ranks();
        let what = |name: &str| format!("{name}, {count} elements, {n} ranks");
        let len = n * count;
        let bits = |rng: &mut Rng, len: usize| -> Vec<T> {
            let mut data = vec![T::default(); len];
            bytemuck::cast_slice_mut::<T, u8>(&mut data).iter_mut().for_each(|byte| *byte = rng.next() as u8);
            data
        };
        let short: Vec<Vec<T>> = (0..n).map(|_| bits(rng, count)).collect();
        let long: Vec<Vec<T>> = (0..n).map(|_| bits(rng, len)).collect();
        let joined = short.concat();
        let root = rng.below(n);
        let on_root = |data: &[T], rng: &mut Rng| up(&self.devices[root], data, rng);

        let done = self.comm.broadcast(root, [&on_root(&short[root], rng)], self.rooms(count, rng));
        self.assert_all(done, &vec![short[root].clone(); n], &what("broadcast"));
        let done = self.comm.broadcast_in_place(root, self.ups(&short, rng));
        self.assert_all(done, &vec![short[root].clone(); n], &what("broadcast_in_place"));

        let done = self.comm.all_gather(&self.ups(&short, rng), self.rooms(len, rng));
        self.assert_all(done, &vec![joined.clone(); n], &what("all_gather"));
        let mut own = vec![vec![junk::<T>(); len]; n];
        own.iter_mut().enumerate().for_each(|(rank, own)| own[rank * count..][..count].copy_from_slice(&short[rank]));
        let done = self.comm.all_gather_in_place(self.ups(&own, rng));
        self.assert_all(done, &vec![joined.clone(); n], &what("all_gather_in_place"));

        let done = self.comm.gather(root, &self.ups(&short, rng), vec![on_root(&vec![junk::<T>(); len], rng)]);
        self.assert_root(root, done, &joined, &what("gather"));
        let mut others = self.ups(&short, rng);
        others.remove(root);
        let done = self.comm.gather_in_place(root, &others, vec![on_root(&own[root], rng)]);
        self.assert_root(root, done, &joined, &what("gather_in_place"));

        let parts: Vec<Vec<T>> = (0..n).map(|rank| long[root][rank * count..][..count].to_vec()).collect();
        let done = self.comm.scatter(root, [&on_root(&long[root], rng)], self.rooms(count, rng));
        self.assert_all(done, &parts, &what("scatter"));
        let mut buffers = self.rooms(count, rng);
        buffers[root] = on_root(&long[root], rng);
        let mut expected = parts.clone();
        expected[root].clone_from(&long[root]);
        let done = self.comm.scatter_in_place(root, buffers);
        self.assert_all(done, &expected, &what("scatter_in_place"));

        let turned: Vec<Vec<T>> =
            (0..n).map(|to| (0..n).flat_map(|from| long[from][to * count..][..count].to_vec()).collect()).collect();
        let done = self.comm.all_to_all(&self.ups(&long, rng), self.rooms(len, rng));
        self.assert_all(done, &turned, &what("all_to_all"));

        // Each rank sends to the next but one, and the first also to itself.
        let mut transfers: Vec<Transfer> = (0..n).map(|from| Transfer { from, to: (from + 2) % n }).collect();
        transfers.push(Transfer { from: 0, to: 0 });
        let mut inputs = self.ups(&short, rng);
        inputs.push(up(&self.devices[0], &long[0], rng));
        let mut outputs: Vec<_> =
            transfers.iter().map(|t| up(&self.devices[t.to], &vec![junk::<T>(); count], rng)).collect();
        outputs[n] = up(&self.devices[0], &vec![junk::<T>(); len], rng);
        let done = self.comm.exchange(&transfers, &inputs, outputs).unwrap().await_result().unwrap();
        for ((transfer, buffer), index) in transfers.iter().zip(done).zip(0..) {
            let expected = if index == n { &long[0] } else { &short[transfer.from] };
            assert_holds(&self.devices[transfer.to], buffer, expected, &what("exchange"));
        }
        self.comm.barrier().unwrap().await_result().unwrap();
    }
}

/// The reductions of all types that have any.
pub(crate) fn all_reductions(world: &World<'_>, count: usize, rng: &mut Rng) {
    use windlass::{Complex, bf16, f16};
    macro_rules! each { ($($t:ty),*) => { $(world.reductions::<$t>(count, rng);)* } }
    each!(i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);
}

/// The moves of all types.
pub(crate) fn all_moves(world: &World<'_>, count: usize, rng: &mut Rng) {
    use windlass::{Bool, Complex, F8E4M3, F8E5M2, bf16, f16};
    macro_rules! each { ($($t:ty),*) => { $(world.moves::<$t>(count, rng);)* } }
    each!(i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>, F8E4M3, F8E5M2, Bool);
}

/// Waits for a pending, which must succeed.
#[track_caller]
pub(crate) fn done<O: windlass::op::Output>(pending: PendingDispatch<O>) -> O
where
    windlass::op::Failure<O>: std::fmt::Debug,
{
    match pending.await_result() {
        Ok(output) => output,
        Err(error) => panic!("{error:?}"),
    }
}

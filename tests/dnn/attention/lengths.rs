//! The lengths of batches: of none, and beyond the sizes; the kernels for a GPU on the PTX machine.

use super::oracle::Case;
use super::{Given, backward, forward};
use crate::common::{Rng, devices};
use crate::convolution::oracle::{Numbers, down};
use windlass::dnn::Corner;
use windlass::ptx::{Area, Checks, PtxModule, Shape};
use windlass::{Device, Tensor, bf16, f16};

const TEXT: &str = include_str!("../../../src/libraries/dnn/native/lengths.ptx");

#[test]
fn a_batch_of_nothing_has_zeros_and_no_gradient() {
    for device in devices() {
        for (corner, queries, keys) in [
            (None, vec![16, 5, 0, 16, 0], vec![7, 0, 3, 0, 0]),
            (Some(Corner::TopLeft), vec![0, 16, 1, 9, 0], vec![16, 0, 1, 2, 0]),
            (Some(Corner::BottomRight), vec![0, 5, 4, 16, 1], vec![16, 0, 9, 0, 1]),
        ] {
            let mut case = Case::new([5, 2, 1, 16, 16, 8, 8]);
            (case.causal, case.lengths) = (corner, Some([queries, keys]));
            forward::<f16>(&device, &mut Rng::new(1), &case);
            backward::<f16>(&device, &mut Rng::new(2), &case);
            forward::<bf16>(&device, &mut Rng::new(3), &case);
            // Queries that lie behind all keys and see none.
            if corner == Some(Corner::TopLeft) {
                case.window = Some(3);
                forward::<f16>(&device, &mut Rng::new(4), &case);
                backward::<f16>(&device, &mut Rng::new(5), &case);
            }
        }
    }
}

/// Result, sums and gradients of some lengths; elements that are not seen are NaN.
fn bits(device: &Device, lengths: [Vec<i32>; 2], seen: [usize; 2]) -> Vec<Vec<u8>> {
    let mut case = Case::new([1, 1, 1, 8, 16, 8, 8]);
    case.lengths = Some(lengths);
    let of = |count: usize, rows: usize| {
        let mut x = Numbers::random::<f16>(&mut Rng::new(count as u64), &[1, 1, count, 8]);
        x.all[8 * rows..].fill(f64::NAN);
        let all: Vec<f16> = x.all.iter().map(|x| f16::from_f64(*x)).collect();
        device.tensor([1, 1, count, 8], all).unwrap()
    };
    let (q, k) = (of(8, seen[0]), of(16, seen[1]));
    let given = Given::<f16>::new(device, &mut Rng::new(0), &case, None);
    let spec = given.spec(&case);
    let dnn = device.dnn();
    let (o, sums) = dnn.attend_training(&spec, &q, &k, &k).unwrap().await_result().unwrap();
    let (dq, dk, dv) = dnn.attend_gradients(&spec, &q, &k, &k, &o, &q, &sums).unwrap().await_result().unwrap();
    let raw = |x: &Tensor<f16>| down(device, x).iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let sums = super::numbers(device, &sums).iter().flat_map(|x| x.to_ne_bytes()).collect();
    vec![raw(&o), sums, raw(&dq), raw(&dk), raw(&dv)]
}

#[test]
fn lengths_beyond_the_sizes_are_the_sizes() {
    for device in devices() {
        let whole = bits(&device, [vec![8], vec![16]], [8, 16]);
        assert_eq!(bits(&device, [vec![9], vec![i32::MAX]], [8, 16]), whole);
        let none = bits(&device, [vec![0], vec![0]], [8, 16]);
        for lengths in [[-1, i32::MIN], [8, 0], [0, 16]] {
            assert_eq!(bits(&device, lengths.map(|n| vec![n]), [8, 16]), none);
            // Nothing is read where nothing is seen, or what is read does not matter.
            assert_eq!(bits(&device, lengths.map(|n| vec![n]), [0, 0]), none);
        }
        let [o, sums, gradients @ ..] = &none[..] else { panic!() };
        assert!(o.iter().chain(gradients.iter().flatten()).all(|byte| *byte == 0), "{:?}", device.kind());
        assert!(sums.chunks(8).all(|x| f64::from_ne_bytes(x.try_into().unwrap()) == f64::NEG_INFINITY));
    }
}

/// What stands behind the lengths, or at queries that see nothing, is not read.
#[test]
fn places_behind_the_lengths_may_hold_anything() {
    for device in devices() {
        let [o, sums, gradients @ ..] = &bits(&device, [vec![5], vec![9]], [5, 9])[..] else { panic!() };
        let is_number = |bytes: &[u8]| f16::from_le_bytes([bytes[0], bytes[1]]).is_finite();
        assert!(
            o.chunks(2).chain(gradients.iter().flat_map(|all| all.chunks(2))).all(is_number),
            "{:?}",
            device.kind()
        );
        let seen = sums.chunks(8).filter(|x| f64::from_ne_bytes((*x).try_into().unwrap()).is_finite());
        assert_eq!(seen.count(), 5);
        assert!(
            o[5 * 16..].iter().chain(&gradients[0][5 * 16..]).chain(&gradients[1][9 * 16..]).all(|byte| *byte == 0)
        );
    }
}

fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn the_kernels_bound_lengths_and_make_zeros() {
    let module = PtxModule::new(TEXT).unwrap();
    let shape = |n: usize| Shape::new([n.div_ceil(256).max(1) as u32, 1, 1], [256, 1, 1], 0);
    let given = [3i32, 0, -7, i32::MAX, i32::MIN, 1];
    let mut kept = [9i32; 6];
    let from = Area::read("from", bytemuck::cast_slice(&given));
    let to = Area::output("to", bytemuck::cast_slice_mut(&mut kept));
    let parameters = words(&[from.address(), to.address(), 6, 5, 0, 0, 0]);
    module.launch("bounded", shape(6), &parameters, vec![from, to], Checks::ALL, &|_| ()).unwrap();
    assert_eq!(kept, [3, 1, 1, 5, 1, 1]);
    // With a window of 2 there are as many as there are keys, and one more.
    let (given, others) = ([9i32, 9, 9, 2, 9, 0], [3i32, 0, -7, i32::MAX, 9, 1]);
    let from = Area::read("from", bytemuck::cast_slice(&given));
    let other = Area::read("other", bytemuck::cast_slice(&others));
    let to = Area::output("to", bytemuck::cast_slice_mut(&mut kept));
    let parameters = words(&[from.address(), to.address(), 6, 8, other.address(), 4, 2]);
    module.launch("bounded", shape(6), &parameters, vec![from, other, to], Checks::ALL, &|_| ()).unwrap();
    assert_eq!(kept, [4, 2, 2, 2, 5, 1]);

    let (heads, places, others) = (2usize, 5usize, 4usize);
    for (skip, window, has_sink) in
        [(0u64, 0u64, false), (1, 0, false), (0, 1, true), (0, 2, false), (0, 9, false), (1, 0, true), (0, 0, true)]
    {
        let (own, other) = ([5i32, 3, 0, 9, -1, 4], [4i32, 2, 3, 0, 1, 7]);
        let rows = own.len() * heads * places;
        // Rows of two units, with a gap of one behind each: places before heads.
        let mut data = vec![[1u64; 2]; rows * 3];
        let mut sums = vec![0f32; rows];
        let sink_of = [0.5f32, -1.0];
        {
            let areas = [
                Area::read("sink", bytemuck::cast_slice(&sink_of)),
                Area::read("own", bytemuck::cast_slice(&own)),
                Area::read("other", bytemuck::cast_slice(&other)),
                Area::write("to", bytemuck::cast_slice_mut(&mut data)),
                Area::write("sums", bytemuck::cast_slice_mut(&mut sums)),
            ];
            let [sink, at @ ..] = areas.each_ref().map(Area::address);
            let sink = if has_sink { sink } else { 0 };
            let [heads, places, others] = [heads, places, others].map(|n| n as u64);
            let steps = [heads * places * 48, 48, heads * 48];
            let all = [&at[..], &[rows as u64, heads, places, others, 2], &steps, &[skip, window, sink]].concat();
            module.launch("blanked", shape(rows), &words(&all), areas.into(), Checks::ALL, &|_| ()).unwrap();
        }
        for (row, sum) in sums.iter().enumerate() {
            let (batch, head, place) = (row / places / heads, row / places % heads, row % places);
            let (queries, keys) = ((own[batch].min(places as i32)), other[batch].min(others as i32));
            let behind = window > 0 && place as i32 > keys + window as i32 - 2;
            let none = place as i32 >= queries || keys <= 0 || (skip == 1 && (place as i32) < queries - keys) || behind;
            let of_nothing = if has_sink && (place as i32) < queries { sink_of[head] } else { f32::NEG_INFINITY };
            assert_eq!(*sum, if none { of_nothing } else { 0.0 }, "{batch} {head} {place}");
            let at = 3 * ((batch * places + place) * heads + head);
            assert_eq!(data[at..at + 3], [[u64::from(!none); 2], [u64::from(!none); 2], [1; 2]]);
        }
    }
}

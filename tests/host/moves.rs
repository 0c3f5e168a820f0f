//! Tensors joined and padded, against lists of indices.

use crate::common::devices;
use windlass::moves::Pad;
use windlass::tensor::AxisSlice;
use windlass::{Device, Element, Error, Tensor, f16};

fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

fn reason(error: impl Into<Error>) -> String {
    match error.into() {
        Error::InvalidArgument { argument, reason, .. } => format!("{argument}: {reason}"),
        other => panic!("{other}"),
    }
}

#[test]
fn views_are_joined_along_each_axis() {
    for device in devices() {
        let x = device.tensor([2, 3, 4], (0..24).collect::<Vec<i32>>()).unwrap();
        let y = device.tensor([4, 3, 2], (100..124).collect::<Vec<i32>>()).unwrap();
        let turned = y.transpose();
        for axis in 0..3isize {
            let joined = device.concat([x.view(), turned.view(), x.view()], axis).unwrap().await_result().unwrap();
            let mut extents = [2, 3, 4];
            extents[axis as usize] *= 3;
            assert_eq!(joined.shape(), extents);
            let got = read(&device, &joined);
            let mut at = 0;
            for i in 0..extents[0] {
                for j in 0..extents[1] {
                    for k in 0..extents[2] {
                        let mut place = [i, j, k];
                        let own = [2, 3, 4][axis as usize];
                        let source = place[axis as usize] / own;
                        place[axis as usize] %= own;
                        let [a, b, c] = place;
                        let want = if source == 1 { 100 + c * 6 + b * 2 + a } else { a * 12 + b * 4 + c };
                        assert_eq!(got[at], want as i32, "axis {axis}, place {place:?}");
                        at += 1;
                    }
                }
            }
        }
        let empty = device.zeros::<i32>([2, 0, 4]).unwrap();
        let same = device.concat([&x, &empty], 1).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &same), read(&device, &x));
        let stacked = device.stack([&x, &x], -1).unwrap().await_result().unwrap();
        assert_eq!(stacked.shape(), [2, 3, 4, 2]);
        assert_eq!(read(&device, &stacked)[..4], [0, 0, 1, 1]);
    }
}

#[test]
fn borders_are_those_of_the_definition() {
    for device in devices() {
        let x = device.tensor([4, 10], (0..40).map(f64::from).collect::<Vec<_>>()).unwrap();
        let view = x.slice((.., AxisSlice::from(..).step(2))).unwrap().flip(0).unwrap();
        let (rows, columns) = (4isize, 5isize);
        let element = |i: isize, j: isize| ((rows - 1 - i) * 10 + 2 * j) as f64;
        let widths = [(2, 3), (4, 1)];
        for pad in [Pad::Constant(-1.5), Pad::Edge, Pad::Reflect, Pad::Wrap] {
            let padded = device.pad(&view, &widths, pad).unwrap().await_result().unwrap();
            assert_eq!(padded.shape(), [9, 10]);
            let got = read(&device, &padded);
            let fold = |at: isize, n: isize| match pad {
                Pad::Edge => Some(at.clamp(0, n - 1)),
                Pad::Wrap => Some(at.rem_euclid(n)),
                Pad::Reflect => Some((n - 1) - ((n - 1) - at.abs()).abs()),
                _ => (0..n).contains(&at).then_some(at),
            };
            for i in 0..9isize {
                for j in 0..10isize {
                    let want = match (fold(i - 2, rows), fold(j - 4, columns)) {
                        (Some(i), Some(j)) => element(i, j),
                        _ => -1.5,
                    };
                    assert_eq!(got[(i * 10 + j) as usize], want, "{pad:?} at {i}, {j}");
                }
            }
        }
        let copy = device.pad(&view, &[(0, 0), (0, 0)], Pad::Reflect).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &copy), read(&device, &device.contiguous(&view).unwrap().into_output()));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for device in devices() {
        let (x, y) = (device.zeros::<f32>([2, 3]).unwrap(), device.zeros::<f32>([2, 4]).unwrap());
        assert_eq!(
            reason(device.concat([&x, &y], 0).unwrap_err()),
            "tensors[1]: extents [2, 4], but the first one has [2, 3]: only axis 0 may differ"
        );
        assert_eq!(reason(device.concat([&x], 2).unwrap_err()), "axis: axis 2, but the rank is 2");
        assert_eq!(
            reason(device.concat(Vec::<&Tensor<f32>>::new(), 0).unwrap_err()),
            "tensors: the list is empty, but at least one is needed"
        );
        assert_eq!(reason(device.pad(&x, &[(1, 1)], Pad::Edge).unwrap_err()), "widths: 1 pairs for 2 axes");
        assert_eq!(
            reason(device.pad(&x, &[(0, 0), (3, 0)], Pad::Reflect).unwrap_err()),
            "widths: (3, 0) on axis 1 of 3 elements: a mirror has at most 2 of them"
        );
    }
}

#[test]
fn slices_are_taken_along_each_axis() {
    for device in devices() {
        let x = device.tensor([5, 4, 6], (0..120).collect::<Vec<i32>>()).unwrap();
        let numbers = [3i32, 0, -1, 2, -4, 1];
        let places = device.tensor([2, 3], numbers).unwrap();
        for (axis, n) in [(0usize, 5isize), (1, 4), (2, 6)] {
            for turned in [false, true] {
                let view = if turned { x.flip(axis as isize).unwrap() } else { x.view() };
                let taken = device.take(&view, &places, axis as isize - 3).unwrap().await_result().unwrap();
                let mut extents = vec![5, 4, 6];
                extents.splice(axis..=axis, [2, 3]);
                assert_eq!(taken.shape(), extents);
                let got = read(&device, &taken);
                for (at, got) in got.iter().enumerate() {
                    let mut rest = at;
                    let mut place: Vec<usize> = extents
                        .iter()
                        .rev()
                        .map(|n| {
                            let i = rest % n;
                            rest /= n;
                            i
                        })
                        .collect();
                    place.reverse();
                    let number = numbers[place[axis] * 3 + place[axis + 1]] as isize;
                    let number = if number < 0 { number + n } else { number };
                    let number = if turned { n - 1 - number } else { number };
                    place.splice(axis..=axis + 1, [number as usize]);
                    assert_eq!(*got, (place[0] * 24 + place[1] * 6 + place[2]) as i32, "axis {axis}, {place:?}");
                }
            }
        }
        // Rows of halves, of which one is not aligned to be moved in large units; all types of numbers.
        let halves: Vec<f16> = (0..2560u16).map(|i| f16::from_bits(0x4000 + i)).collect();
        let wide = device.tensor([40, 64], &halves).unwrap();
        for first in [0, 1] {
            let part = wide.slice((.., first..first + 32)).unwrap();
            let rows =
                device.take(&part, &device.tensor([3], [39u32, 0, 7]).unwrap(), 0).unwrap().await_result().unwrap();
            let got = read(&device, &rows);
            for (row, number) in [39, 0, 7].into_iter().enumerate() {
                assert_eq!(got[32 * row..32 * (row + 1)], halves[64 * number + first..][..32]);
            }
        }
        let one = device.take(&wide, &device.tensor([], [5u64]).unwrap(), 0).unwrap().await_result().unwrap();
        assert_eq!((one.shape(), read(&device, &one)[0].to_f32()), (&[64][..], halves[320].to_f32()));
        let none = device.take(&wide, &device.zeros::<i64>([0]).unwrap(), 0).unwrap().await_result().unwrap();
        assert_eq!(none.shape(), [0, 64]);
    }
}

#[test]
fn the_first_index_that_is_out_of_range_is_told_by_the_wait() {
    for device in devices() {
        let x = device.zeros::<f32>([4, 8]).unwrap();
        for (numbers, first) in [(vec![0i64, 3, 4, 9], 2), (vec![-5, 0, 0, 7], 0), (vec![0, i64::MIN, i64::MAX, 0], 1)]
        {
            let numbers = device.tensor([2, 2], numbers).unwrap();
            let error = device.take(&x, &numbers, 0).unwrap().await_result().unwrap_err();
            let wanted = format!("indices: number {first} of them is out of range for axis 0 of 4 elements");
            assert_eq!(reason(error), wanted);
        }
        let far = device.tensor([1], [u64::MAX]).unwrap();
        assert!(device.take(&x, &far, 1).unwrap().await_result().is_err());
        let fits = device.tensor([1], [7u64]).unwrap();
        // SAFETY: there are 8 slices.
        let taken = unsafe { device.take_unchecked(&x, &fits, 1) }.unwrap().await_result().unwrap();
        assert_eq!(taken.shape(), [4, 1]);
        let empty = device.zeros::<f32>([0, 8]).unwrap();
        assert_eq!(
            reason(device.take(&empty, &fits, 0).unwrap_err()),
            "indices: 1 of them, but there is no slice: extents [0, 8]"
        );
    }
}

#[test]
fn elements_are_rolled_around_an_axis() {
    for device in devices() {
        for (extents, axis) in [([2, 5, 3], 1isize), ([4, 1, 2], -2), ([3, 2, 7], 2), ([0, 3, 2], 0), ([6, 2, 1], -3)] {
            let all: usize = extents.iter().product();
            let x = device.tensor(extents, (0..all as i32).collect::<Vec<_>>()).unwrap();
            let own = axis.rem_euclid(3) as usize;
            let (n, behind) = (extents[own], extents[own + 1..].iter().product::<usize>());
            for shift in [0, 1, -1, 3, -7, 10, isize::MIN, isize::MAX] {
                let rolled = device.roll(&x, shift, axis).unwrap().await_result().unwrap();
                assert_eq!(rolled.shape(), extents);
                for (place, got) in read(&device, &rolled).into_iter().enumerate() {
                    let at = place / behind % n;
                    let from = (at as i128 - shift as i128).rem_euclid(n as i128) as usize;
                    assert_eq!(got, (place - at * behind + from * behind) as i32, "{extents:?} {axis} {shift}");
                }
            }
        }
        let x = device.zeros::<f32>([2, 3]).unwrap();
        assert_eq!(reason(device.roll(&x, 1, 2).unwrap_err()), "axis: axis 2, but the rank is 2");
        assert_eq!(
            reason(device.roll(device.zeros::<f32>([]).unwrap().view(), 1, 0).unwrap_err()),
            "axis: axis 0, but the rank is 0"
        );
    }
}

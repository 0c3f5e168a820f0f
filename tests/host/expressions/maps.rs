//! The calls: what they make, write and update, with kept formulas and without.

use crate::common::devices;
use windlass::expressions::{Formula, Symbol, constant, extent, position, scalar};
use windlass::tensor::{AxisSlice, Layout};
use windlass::{Bool, Complex, Device, Element, Tensor, TensorRef, bf16, f16};

fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

#[test]
fn inputs_of_any_strides_are_broadcast_to_each_other() {
    for device in devices() {
        let x = device.tensor([3, 4], (0..12).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let column = device.tensor([3, 1], [100.0f32, 200.0, 300.0]).unwrap();
        let y = device.map((x.flip(1).unwrap(), &column), |(x, c)| x + c).unwrap().await_result().unwrap();
        let wanted: Vec<f32> = (0..12).map(|i| (100 * (1 + i / 4) + 4 * (i / 4) + 3 - i % 4) as f32).collect();
        assert_eq!((y.shape(), read(&device, &y)), (&[3, 4][..], wanted));
        let turned = device.map((&x, x.transpose().slice(0..3).unwrap().view()), |(_, t)| t).unwrap_err();
        assert!(
            turned.to_string().contains("`inputs`: operand 1 has shape [3, 3], but operand 0 has [3, 4]"),
            "{turned}"
        );
    }
}

#[test]
fn several_outputs_have_their_own_types() {
    for device in devices() {
        let x = device.tensor([4], [1.5f64, -2.0, f64::NAN, 1e300]).unwrap();
        let made = device.map(&x, |x| (x.cast::<f16>(), x.cast::<i8>(), x.isnan(), x)).unwrap();
        let (half, int, nan, same) = made.into_output();
        assert_eq!(read(&device, &half)[..2], [f16::from_f32(1.5), f16::from_f32(-2.0)]);
        assert_eq!(read(&device, &int), [1, -2, 0, 127]);
        assert_eq!(read(&device, &nan), [false, false, true, false].map(Bool::from));
        assert_eq!(read(&device, &same)[3], 1e300);
    }
}

#[test]
fn a_part_of_a_tensor_is_written_and_the_rest_left_alone() {
    for device in devices() {
        let x = device.tensor([2], [1i32, 2]).unwrap();
        let y = device.full([4, 4], 9i32).unwrap();
        let every_second = AxisSlice::from(..).step(-2);
        let part = y.part(|all| all.slice((every_second, 1..3))).unwrap();
        let y = device.map_into(&x, part, |x| x * 10).unwrap().await_result().unwrap();
        assert_eq!(read(&device, &y), [9, 9, 9, 9, 9, 10, 20, 9, 9, 9, 9, 9, 9, 10, 20, 9]);
        assert_eq!(y.shape(), [4, 4]);
        let (a, b) = (device.zeros::<i32>([2]).unwrap(), device.zeros::<i64>([2]).unwrap());
        let (a, b) = device.map_into(&x, (a, b), |x| (-x, x.cast::<i64>() << 40)).unwrap().into_output();
        assert_eq!((read(&device, &a), read(&device, &b)), (vec![-1, -2], vec![1 << 40, 2 << 40]));
    }
}

/// One step of Adam in one kernel, beside the same in a loop.
#[test]
fn adam_updates_three_tensors_in_place() {
    const N: usize = 1003;
    let (rate, beta, beta2, tiny) = (1e-2f32, 0.9f32, 0.999f32, 1e-8f32);
    for device in devices() {
        let g: Vec<f32> = (0..N).map(|i| (i as f32 * 0.37).sin()).collect();
        let gradient = device.tensor([N], &g).unwrap();
        let mut state =
            (device.full([N], 1.0f32).unwrap(), device.zeros::<f32>([N]).unwrap(), device.zeros::<f32>([N]).unwrap());
        let (mut w, mut m, mut v) = (vec![1f32; N], vec![0f32; N], vec![0f32; N]);
        for step in 1..4 {
            let (c1, c2) = (1.0 - beta.powi(step), 1.0 - beta2.powi(step));
            let updated = device.update(state, &gradient, |(w, m, v), g| {
                let m = m * beta + g * (1.0 - beta);
                let v = v * beta2 + g * g * (1.0 - beta2);
                (w - (m / c1) * rate / ((v / c2).sqrt() + tiny), m, v)
            });
            state = updated.unwrap().into_output();
            for i in 0..N {
                m[i] = m[i] * beta + g[i] * (1.0 - beta);
                v[i] = v[i] * beta2 + g[i] * g[i] * (1.0 - beta2);
                w[i] -= (m[i] / c1) * rate / ((v[i] / c2).sqrt() + tiny);
            }
        }
        assert_eq!((read(&device, &state.0), read(&device, &state.1), read(&device, &state.2)), (w, m, v));
    }
}

#[test]
fn an_update_reads_every_element_before_it_writes_it() {
    for device in devices() {
        // The sum is written first and needed again.
        let (a, b) = (device.tensor([3, 3], [1i64, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap(), device.full([3], 1i64).unwrap());
        let row = a.part(|all| all.index(0, 1)).unwrap();
        let (a, b) = device.update((row, b), (), |(a, b), ()| (a + b, a - b)).unwrap().await_result().unwrap();
        assert_eq!((read(&device, &a), read(&device, &b)), (vec![1, 2, 3, 5, 6, 7, 7, 8, 9], vec![3, 4, 5]));
    }
}

#[test]
fn long_rows_of_a_part_are_updated_where_they_lie() {
    const N: usize = 1100;
    for device in devices() {
        let mut wanted: Vec<i64> = (0..3 * (N as i64 + 5)).collect();
        let x = device.tensor([3, N + 5], &wanted).unwrap();
        let scale = device.tensor([N], (0..N as i64).collect::<Vec<_>>()).unwrap();
        let shift = device.tensor([3, 1], [10i64, 20, 30]).unwrap();
        let part = x.part(|all| all.slice((.., 2..N + 2))).unwrap();
        let x = device.update(part, (&scale, &shift), |x, (s, t)| x * s + t).unwrap().await_result().unwrap();
        for (row, shift) in wanted.chunks_mut(N + 5).zip([10, 20, 30]) {
            row[2..N + 2].iter_mut().zip(0..).for_each(|(x, scale)| *x = *x * scale + shift);
        }
        assert_eq!(read(&device, &x), wanted);
    }
}

#[test]
fn a_kept_formula_takes_other_numbers() {
    for device in devices() {
        let formula = Formula::new(|(x, y): (Symbol<f32>, Symbol<f32>)| (x * 2.0 + y) * constant(10.0)).unwrap();
        assert_eq!(formula.scalars().len(), 1);
        let (x, y) = (device.tensor([2], [1.0f32, 2.0]).unwrap(), device.full([1], 1.0f32).unwrap());
        let z = device.apply(&formula, (&x, &y)).unwrap().into_output();
        assert_eq!(read(&device, &z), [30.0, 50.0]);
        let other = formula.with_scalars([-1.0]).unwrap();
        let z = device.apply_into(&other, (&x, &y), z).unwrap().into_output();
        assert_eq!(read(&device, &z), [0.0, -10.0]);
    }
}

#[test]
fn positions_and_extents_are_those_of_the_outputs() {
    for device in devices() {
        let made = device.tabulate([3, 5], || position(0) * extent(1) + position(1)).unwrap();
        assert_eq!(read(&device, &made.into_output()), (0..15).collect::<Vec<i64>>());
        let lower = device.tabulate([3, 3], || position(0).ge(position(1))).unwrap().into_output();
        assert_eq!(read(&device, &lower), [1, 0, 0, 1, 1, 0, 1, 1, 1].map(Bool));
        // Along an axis whose order is turned in memory.
        let y = device.zeros::<i64>([4]).unwrap();
        let y = device.map_into((), y.part(|all| all.flip(0)).unwrap(), |()| position(0)).unwrap().into_output();
        assert_eq!(read(&device, &y), [3, 2, 1, 0]);
    }
}

#[test]
fn tensors_without_axes_or_elements() {
    for device in devices() {
        let x = device.tensor([], [4.0f32]).unwrap();
        let y = device.map(&x, |x| x.sqrt()).unwrap().into_output();
        assert_eq!((y.rank(), read(&device, &y)), (0, vec![2.0]));
        let none = device.zeros::<f32>([3, 0]).unwrap();
        let none = device.map((&none, &x), |(a, b)| a + b).unwrap().into_output();
        assert_eq!((none.shape(), read(&device, &none).len()), (&[3, 0][..], 0));
    }
}

#[test]
fn more_axes_than_kernels_like_are_no_obstacle() {
    for device in devices() {
        let x = device.tensor([2; 12], (0..1 << 12).collect::<Vec<i32>>()).unwrap();
        let order: Vec<isize> = (0..12).map(|axis| (axis * 5) % 12).collect();
        let turned = x.permute(order).unwrap();
        let y = device.map((&x, &turned), |(x, t)| x - t).unwrap().into_output();
        let turned = read(&device, &device.contiguous(&turned).unwrap().into_output());
        let wanted: Vec<i32> = (0..1 << 12).map(|i| i - turned[i as usize]).collect();
        assert_eq!(read(&device, &y), wanted);
    }
}

#[test]
fn many_elements_on_many_threads_are_as_few() {
    let formula = Formula::new(|(x, y): (Symbol<f64>, Symbol<f32>)| {
        ((x + y.cast::<f64>() * 3.0) / (x - 1.0), position(0), y.cast::<bf16>())
    })
    .unwrap();
    for device in devices() {
        let n = 200_003;
        let x: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let y: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
        let (xs, ys) = (device.tensor([n], &x).unwrap(), device.tensor([n], &y).unwrap());
        let (z, at, half) = device.apply(&formula, (&xs, &ys)).unwrap().into_output();
        let (z, at, half) = (read(&device, &z), read(&device, &at), read(&device, &half));
        for i in 0..n {
            assert_eq!((z[i], at[i]), ((x[i] + f64::from(y[i]) * 3.0) / (x[i] - 1.0), i as i64));
            assert_eq!(half[i], bf16::from_f32(y[i]));
        }
    }
}

#[test]
fn narrow_numbers_are_rounded_once() {
    for device in devices() {
        // 1 + 2^-11 + 2^-11 is 1 if each sum is rounded to f16, and 1 + 2^-10 if only the result is.
        let e = device.full([1], f16::from_f32(2f32.powi(-11))).unwrap();
        let whole = device.map(&e, |x| 1.0 + x + x).unwrap().into_output();
        assert_eq!(read(&device, &whole), [f16::from_f32(1.0 + 2f32.powi(-10))]);
        let cast = device.map(&e, |x| (1.0 + x).cast::<f16>() + x).unwrap().into_output();
        assert_eq!(read(&device, &cast), [f16::from_f32(1.0)]);
        // A number beside a half is not rounded to one.
        let x = device.full([1], bf16::from_f32(1000.0)).unwrap();
        let decayed = device.map(&x, |x| x * 0.999).unwrap().into_output();
        assert_eq!(read(&device, &decayed), [bf16::from_f32(999.0)]);
    }
}

#[test]
fn a_computed_nan_has_one_pattern_and_a_moved_one_its_own() {
    let odd = f32::from_bits(0xffc1_2345);
    for device in devices() {
        let x = device.full([1], odd).unwrap();
        let made = device.map(&x, |x| (x.gt(0.0).select(1.0, x), x + 0.0, -x, x.cast::<f16>())).unwrap();
        let (moved, sum, turned, half) = made.into_output();
        assert_eq!(read(&device, &moved)[0].to_bits(), odd.to_bits());
        assert_eq!(read(&device, &sum)[0].to_bits(), 0x7fff_ffff);
        assert_eq!(read(&device, &turned)[0].to_bits(), 0x7fff_ffff);
        assert_eq!(read(&device, &half)[0].to_bits(), 0x7fff);
    }
}

#[test]
fn integers_have_an_answer_for_everything() {
    for device in devices() {
        let (x, y) = (device.tensor([3], [i32::MIN, 7, -7]).unwrap(), device.tensor([3], [-1i32, 0, 3]).unwrap());
        let made = device.map((&x, &y), |(x, y)| (x / y, x % y, x.modulo(y), x << 40)).unwrap();
        let (quotient, rem, modulo, shifted) = made.into_output();
        assert_eq!(read(&device, &quotient), [i32::MIN, 0, -2]);
        assert_eq!(read(&device, &rem), [0, 0, -1]);
        assert_eq!(read(&device, &modulo), [0, 0, 2]);
        assert_eq!(read(&device, &shifted), [0, 0, 0]);
    }
}

#[test]
fn complex_numbers_have_parts_and_an_exponential() {
    for device in devices() {
        let z = device.tensor([2], [Complex::new(0.0f64, std::f64::consts::PI), Complex::new(3.0, -4.0)]).unwrap();
        let made = device.map(&z, |z| (z.exp(), z.abs(), z.arg(), z.conj() * Complex::new(0.0, 1.0))).unwrap();
        let (exp, size, angle, turned) = made.into_output();
        assert!((read(&device, &exp)[0] - Complex::new(-1.0, 0.0)).norm() < 1e-15);
        assert_eq!(read(&device, &size), [std::f64::consts::PI, 5.0]);
        assert!((read(&device, &angle)[1] + (4f64 / 3.0).atan()).abs() < 1e-15);
        assert_eq!(read(&device, &turned)[1], Complex::new(-4.0, 3.0));
    }
}

#[test]
fn numbers_stand_on_either_side_and_views_are_shared() {
    for device in devices() {
        let x: TensorRef<'static, i32> = device.tensor([2], [5, 7]).unwrap().share();
        let y = device.map((x.clone(), x.flip(0).unwrap()), |(x, y)| 100 - x * 2 + (3 + y % 4) - scalar(1) * x);
        assert_eq!(read(&device, &y.unwrap().into_output()), [100 - 10 + 6 - 5, 100 - 14 + 4 - 7]);
        let layout = Layout::new([2], [1], 0).unwrap();
        assert_eq!(x.layout(), &layout);
    }
}

/// The compiler of CUDA 13.0 widened the bits of a truth value to 1 instead of the smallest half.
#[test]
fn the_bits_of_a_truth_value_are_the_smallest_half() {
    for device in devices() {
        let x = device.tensor([4], [0x56u8, 0, 1, 0xff]).unwrap();
        let y = device
            .map(&x, |x| {
                let half = x.ne(0).cast::<i16>().bits::<f16>();
                (half, half.floor(), half.cast::<f32>() * 2.0)
            })
            .unwrap();
        let (bits, floor, twice) = y.await_result().unwrap();
        let bits = device.download(&bits).unwrap().await_result().unwrap();
        assert_eq!(bits.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [1, 0, 1, 1]);
        assert_eq!(device.download(&floor).unwrap().await_result().unwrap(), [f16::ZERO; 4]);
        let unit = 2f32.powi(-23);
        assert_eq!(device.download(&twice).unwrap().await_result().unwrap(), [unit, 0.0, unit, unit]);
    }
}

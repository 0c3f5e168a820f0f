//! Elements that are read as they are, beside the same elements of a formula: two ways with the same bits, at every length around the
//! ends of strips, steps, groups and levels.

use super::cases::Random;
use super::oracle::Value;
use crate::common::edge::by_turns;
use crate::common::{host, inline};
use windlass::reductions::*;
use windlass::tensor::Layout;
use windlass::{Bool, Device, Element, TensorRef, bf16, f16};

const LENGTHS: [usize; 33] = [
    1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 255, 256, 257, 289, 1000, 1023, 1024, 1025, 1055,
    1056, 1057, 1087, 1088, 2047, 2049, 3089,
];

/// How the numbers of a case are made.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// Some are special.
    Any,
    /// None is NaN.
    Ordinary,
    /// Zeros of either sign.
    Zeros,
}

fn numbers<T: Value>(random: &mut Random, len: usize, kind: Numbers, zeros: [T; 2]) -> Vec<T> {
    let number = |_| match kind {
        Numbers::Any => T::random(random.bits()),
        Numbers::Zeros => zeros[usize::from(random.below(50) == 0)],
        Numbers::Ordinary => loop {
            let x = T::random(random.bits());
            if !x.double().is_nan() {
                break x;
            }
        },
    };
    (0..len).map(number).collect()
}

/// One kind of one operand, as it is and of a formula that gives its elements.
fn same<T: Value, K: Reduction<T> + std::fmt::Debug>(
    device: &Device,
    x: &TensorRef<'_, T>,
    axes: &[i32],
    kind: K,
    about: &str,
) where
    windlass::expressions::Symbol<T>: std::ops::Neg<Output = windlass::expressions::Symbol<T>>,
{
    let read = |pending: windlass::PendingDispatch<windlass::Tensor<K::Output>>| {
        let tensor = pending.await_result().unwrap();
        bytemuck::cast_slice::<_, u8>(&device.download(&tensor).unwrap().await_result().unwrap()).to_vec()
    };
    let itself = read(device.reduce(x, axes.to_vec(), |x| x, kind).unwrap());
    let formula = read(device.reduce(x, axes.to_vec(), |x| -(-x), kind).unwrap());
    assert!(itself == formula, "{kind:?} of {} along {axes:?} of {:?}, {about}", T::DTYPE, x.layout());
}

fn kinds<T: Value>(device: &Device, x: &TensorRef<'_, T>, axes: &[i32], about: &str)
where
    Sum: Reduction<T>,
    Mean: Reduction<T>,
    Norm1: Reduction<T>,
    Norm2: Reduction<T>,
    NormInf: Reduction<T>,
    Min: Reduction<T>,
    Max: Reduction<T>,
    ArgMin: Reduction<T>,
    ArgMax: Reduction<T>,
    Var: Reduction<T>,
    Std: Reduction<T>,
{
    same(device, x, axes, Sum, about);
    same(device, x, axes, Mean, about);
    same(device, x, axes, Norm1, about);
    same(device, x, axes, Norm2, about);
    same(device, x, axes, NormInf, about);
    same(device, x, axes, Min, about);
    same(device, x, axes, Max, about);
    same(device, x, axes, ArgMin, about);
    same(device, x, axes, ArgMax, about);
    same(device, x, axes, Var { ddof: 1 }, about);
    same(device, x, axes, Std { ddof: 0 }, about);
}

macro_rules! each_type {
    ($run:ident($($argument:expr),*)) => {
        $run::<f32>($($argument,)* [0.0, -0.0]);
        $run::<f64>($($argument,)* [0.0, -0.0]);
        $run::<f16>($($argument,)* [f16::ZERO, f16::NEG_ZERO]);
        $run::<bf16>($($argument,)* [bf16::ZERO, bf16::NEG_ZERO]);
    };
}

macro_rules! with_kinds {
    ($(#[$meta:meta])* fn $name:ident<$t:ident>($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$meta])*
        fn $name<$t: Value>($($argument: $type),*)
        where
            Sum: Reduction<$t>, Mean: Reduction<$t>, Norm1: Reduction<$t>, Norm2: Reduction<$t>, NormInf: Reduction<$t>,
            Min: Reduction<$t>, Max: Reduction<$t>, ArgMin: Reduction<$t>, ArgMax: Reduction<$t>,
            Var: Reduction<$t>, Std: Reduction<$t>,
        $body
    };
}

with_kinds! {
    /// Rows, of all lengths: alone, several, with gaps between them, turned, and apart.
    fn rows<T>(device: &Device, zeros: [T; 2]) {
        let random = &mut Random(71);
        for (k, n) in LENGTHS.into_iter().enumerate() {
            let kind = [Numbers::Any, Numbers::Ordinary, Numbers::Zeros][k % 3];
            let layouts = [
                Layout::row_major([n]).unwrap(),
                Layout::row_major([3, n]).unwrap(),
                Layout::new([3, n], [n as isize + 5, 1], 2).unwrap(),
                Layout::new([2, n], [n as isize, -1], n - 1).unwrap(),
                Layout::new([2, n], [1, 3], 0).unwrap(),
            ];
            for layout in layouts {
                let data = numbers(random, layout.reach().unwrap().1 + 1, kind, zeros);
                let buffer = by_turns(device, data);
                let view = TensorRef::from_buffer(&buffer, layout).unwrap();
                kinds(device, &view, &[-1], &format!("{kind:?}"));
            }
        }
    }
}

with_kinds! {
    /// Columns, as many as strips and tiles take, and more.
    fn columns<T>(device: &Device, zeros: [T; 2]) {
        let random = &mut Random(72);
        for (k, n) in LENGTHS.into_iter().enumerate() {
            let kind = [Numbers::Any, Numbers::Ordinary, Numbers::Zeros][k % 3];
            let width = [32, 33, 40, 63, 64, 65, 100][k % 7];
            let wide = if n < 130 { [256, 257, 513, 1025, 2100][k % 5] } else { width };
            let row = width as isize;
            let layouts = [
                Layout::row_major([n, width]).unwrap(),
                Layout::row_major([n, wide]).unwrap(),
                Layout::new([n, width], [row + 3, 1], 1).unwrap(),
                Layout::new([n, width], [-row, 1], (n - 1) * width).unwrap(),
            ];
            for layout in layouts {
                let data = numbers(random, layout.reach().unwrap().1 + 1, kind, zeros);
                let buffer = by_turns(device, data);
                let view = TensorRef::from_buffer(&buffer, layout).unwrap();
                kinds(device, &view, &[0], &format!("{kind:?}"));
            }
            let data = numbers(random, 2 * n.min(140) * width, kind, zeros);
            let buffer = by_turns(device, data);
            let middle = TensorRef::from_buffer(&buffer, Layout::row_major([2, n.min(140), width]).unwrap()).unwrap();
            kinds(device, &middle, &[1], &format!("{kind:?}"));
        }
    }
}

#[test]
fn rows_as_they_are_have_the_bits_of_a_formula() {
    each_type!(rows(&inline().open().unwrap()));
}

#[test]
fn columns_as_they_are_have_the_bits_of_a_formula() {
    each_type!(columns(&inline().open().unwrap()));
}

#[test]
fn many_groups_on_many_threads_have_the_bits_of_a_formula() {
    let (device, random) = (host(3).open().unwrap(), &mut Random(73));
    for layout in [Layout::row_major([1 << 20 | 77]), Layout::row_major([1100, 700]), Layout::row_major([700, 1100])] {
        let layout = layout.unwrap();
        let data = numbers(random, layout.len(), Numbers::Ordinary, [0.0f32, -0.0]);
        let buffer = by_turns(&device, data);
        let view = TensorRef::from_buffer(&buffer, layout.clone()).unwrap();
        kinds(&device, &view, &[0], "on all threads");
        kinds(&device, &view, &[-1], "on all threads");
    }
}

#[test]
fn truth_values_are_counted() {
    let (device, random) = (inline().open().unwrap(), &mut Random(74));
    for n in LENGTHS {
        let data: Vec<Bool> = (0..3 * n).map(|_| Bool([0, 0, 1, 9][random.below(4)])).collect();
        let wanted: Vec<i64> = data.chunks(n).map(|x| x.iter().filter(|x| x.0 != 0).count() as i64).collect();
        let buffer = by_turns(&device, data);
        let view = TensorRef::from_buffer(&buffer, Layout::row_major([3, n]).unwrap()).unwrap();
        fn read<T: Element>(device: &Device, pending: windlass::PendingDispatch<windlass::Tensor<T>>) -> Vec<T> {
            device.download(&pending.await_result().unwrap()).unwrap().await_result().unwrap()
        }
        assert_eq!(read(&device, device.count_nonzero(&view, 1).unwrap()), wanted);
        let truth = |of: &dyn Fn(i64) -> bool| wanted.iter().map(|count| Bool::from(of(*count))).collect::<Vec<_>>();
        assert_eq!(read(&device, device.any_true(&view, 1).unwrap()), truth(&|count| count > 0));
        assert_eq!(read(&device, device.all_true(&view, 1).unwrap()), truth(&|count| count == n as i64));
    }
}

/// Rows of many, and each as if it were alone.
fn alone<T: Value + SoftmaxElement>(
    device: &Device,
    random: &mut Random,
    layout: &Layout,
    kind: Numbers,
    zeros: [T; 2],
) {
    let data = numbers(random, layout.reach().unwrap().1 + 1, kind, zeros);
    let buffer = by_turns(device, data);
    let view = TensorRef::from_buffer(&buffer, layout.clone()).unwrap();
    let read = |pending: windlass::PendingDispatch<windlass::Tensor<T>>| {
        device.download(&pending.await_result().unwrap()).unwrap().await_result().unwrap()
    };
    let all = [device.softmax(&view, -1), device.log_softmax(&view, -1)].map(|pending| read(pending.unwrap()));
    let n = *layout.shape().last().unwrap();
    let (rows, middle) = (layout.len() / n, layout.shape().iter().rev().nth(1).copied().unwrap());
    for row in (0..rows).step_by(7).chain([rows - 1]) {
        let own = match layout.rank() {
            2 => view.index(0, row as isize).unwrap(),
            _ => view.index(0, (row / middle) as isize).unwrap().index(0, (row % middle) as isize).unwrap(),
        };
        let made = [device.softmax(&own, -1), device.log_softmax(&own, -1)].map(|pending| read(pending.unwrap()));
        for (all, made) in all.iter().zip(&made) {
            let same = bytemuck::cast_slice::<T, u8>(&all[row * n..][..n]) == bytemuck::cast_slice::<T, u8>(made);
            assert!(same, "row {row} of {layout:?}, {kind:?}, {}", T::DTYPE);
        }
    }
}

#[test]
fn rows_by_blocks_are_those_that_are_alone() {
    let random = &mut Random(75);
    for (k, device) in [inline().open().unwrap(), host(3).open().unwrap()].into_iter().enumerate() {
        let layouts = [
            Layout::row_major([257, 301]).unwrap(),
            Layout::row_major([5, 60, 300]).unwrap(),
            Layout::new([300, 257], [1, 300], 0).unwrap(),
            Layout::new([5, 60, 300], [300, 1500, 1], 0).unwrap(),
            Layout::new([70, 1024], [1030, 1], 3).unwrap(),
        ];
        for (nth, layout) in layouts.iter().enumerate() {
            let kind = [Numbers::Ordinary, Numbers::Any][(nth + k) % 2];
            alone::<f32>(&device, random, layout, kind, [0.0, -0.0]);
            alone::<f64>(&device, random, layout, kind, [0.0, -0.0]);
            alone::<f16>(&device, random, layout, kind, [f16::ZERO, f16::NEG_ZERO]);
        }
    }
}

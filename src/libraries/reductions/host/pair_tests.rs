//! The loops of `pairs.rs` beside the programs: the same sums of the same elements, of which one formula says them in another way.

use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor, TensorRef};
use crate::engines::host::HostPool;
use crate::libraries::expressions::formula::record;
use crate::libraries::expressions::operands::Read;
use crate::libraries::reductions::ReductionKind;
use crate::libraries::reductions::front::{Call, operation, submit};
use crate::libraries::reductions::pairs::{Pair, Summed, Taken};
use crate::libraries::reductions::recipe::Value;
use crate::libraries::reductions::rows::SoftmaxElement;
use half::{bf16, f16};
use num_complex::Complex;

const LENGTHS: [usize; 30] = [
    0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 79, 80, 81, 127, 128, 129, 1000, 1023, 1024, 1025, 1040,
    1087, 1088, 2049, 3089,
];

/// A number of a type.
trait Number: SoftmaxElement {
    fn of(x: f64) -> Self;
}
macro_rules! numbers { ($($t:ty: $of:expr;)*) => { $(impl Number for $t { fn of(x: f64) -> Self { $of(x) } })* } }
numbers! {
    f32: |x| x as f32;
    f64: |x| x;
    f16: f16::from_f64;
    bf16: bf16::from_f64;
}

/// How the numbers of a case are made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    Ordinary,
    /// Some are infinite, some are none.
    Any,
    Zeros,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn number(&mut self, kind: Numbers) -> f64 {
        let ordinary = (self.below(1 << 20) as f64 - 5e5) / 1e5;
        match (kind, self.below(97)) {
            (Numbers::Zeros, 0) => 0.0,
            (Numbers::Zeros, _) => -0.0,
            (Numbers::Any, 0) => f64::NAN,
            (Numbers::Any, 1) => f64::INFINITY,
            (Numbers::Any, 2) => f64::NEG_INFINITY,
            (Numbers::Any, 3) => 1e-40,
            _ => ordinary,
        }
    }
}

/// A tensor's memory and how it is read.
struct Laid<T: Element> {
    memory: DeviceBuffer<T>,
    layout: Layout,
}

impl<T: Element> Laid<T> {
    fn new(device: &Device, layout: Layout, mut number: impl FnMut() -> T) -> Self {
        let len = layout.reach().map_or(0, |(_, highest)| highest + 1);
        let data: Vec<T> = (0..len).map(|_| number()).collect();
        Laid { memory: device.upload(&data).unwrap().into_output(), layout }
    }
}

/// One sum, by its formula or by another one with the same value.
fn sum<R: Element>(device: &Device, pair: Pair, is_again: bool, reads: &[Read<'_>], axes: &[i32]) -> Vec<u8> {
    let axes = axes.to_vec();
    let call = || {
        let formula = record(&pair.types(), |open| {
            let mut inputs: Vec<Value> = (0..reads.len()).map(|k| Value::new(open.input(k))).collect();
            if is_again {
                inputs[0] = -(-inputs[0]);
            }
            pair.element(&inputs).into_iter().map(|value| value.raw).collect()
        });
        Call { kind: ReductionKind::Sum, less: 0, axes: &axes, formula, finish: None }
    };
    let known = operation(call(), reads).unwrap().0.shape.pair().unwrap();
    match is_again {
        true => assert_eq!(known, None),
        // That of gradients and that of weights are the same one if both are computed in `f64`.
        false => assert!(known.is_some_and(|known| known.types() == pair.types() && known.taken == pair.taken)),
    }
    let made: Tensor<R> = submit(device, call(), Ok(reads.iter().cloned().collect())).unwrap().await_result().unwrap();
    bytemuck::cast_slice(&device.download(&made).unwrap().await_result().unwrap()).to_vec()
}

/// Operands of a case: elements and gradients, statistics, a weight.
struct Case<T: Number> {
    x: Laid<T>,
    dy: Laid<T>,
    stats: Laid<T::Pair>,
    weight: Laid<T>,
    axes: Vec<i32>,
}

impl<T: Number> Case<T> {
    fn check(&self, device: &Device, about: &str) {
        let views = [&self.x, &self.dy, &self.weight]
            .map(|laid| TensorRef::from_buffer(&laid.memory, laid.layout.clone()).unwrap());
        let stats = TensorRef::from_buffer(&self.stats.memory, self.stats.layout.clone()).unwrap();
        let [x, dy, weight] = views.each_ref().map(|view| {
            let (part, layout) = view.operand().unwrap();
            (part.into(), layout)
        });
        let (part, layout) = stats.operand().unwrap();
        let all: [Read<'_>; 4] = [x, dy, (part.into(), layout), weight];
        for taken in [Taken::Moments, Taken::Root] {
            for summed in [
                Summed::Squares,
                Summed::Gradients { weight: false },
                Summed::Gradients { weight: true },
                Summed::Weights,
            ] {
                let pair = Pair { taken, summed, dtype: T::DTYPE };
                let reads = &all[..pair.types().len()];
                let [loops, programs] = [false, true].map(|is_again| match (summed, pair.is_single()) {
                    (Summed::Weights, _) => sum::<T::Pair>(device, pair, is_again, reads, &self.axes),
                    (_, true) => sum::<f64>(device, pair, is_again, reads, &self.axes),
                    _ => sum::<Complex<f64>>(device, pair, is_again, reads, &self.axes),
                });
                assert!(
                    loops == programs,
                    "{pair:?} along {:?} of {:?} and {:?}, {about}",
                    self.axes,
                    self.x.layout,
                    self.dy.layout
                );
            }
        }
    }
}

fn layout<const N: usize>(extents: [usize; N], strides: [isize; N], offset: usize) -> Layout {
    Layout::new(extents, strides, offset).unwrap()
}

fn case<T: Number>(
    device: &Device,
    random: &mut Random,
    kind: Numbers,
    layouts: [Layout; 4],
    axes: &[i32],
    pair: fn(f64, f64) -> T::Pair,
) -> Case<T> {
    let [x, dy, stats, weight] = layouts;
    Case {
        x: Laid::new(device, x, || T::of(random.number(kind))),
        dy: Laid::new(device, dy, || T::of(random.number(kind))),
        stats: Laid::new(device, stats, || pair(random.number(Numbers::Ordinary), random.number(Numbers::Ordinary))),
        weight: Laid::new(device, weight, || T::of(random.number(Numbers::Ordinary))),
        axes: axes.to_vec(),
    }
}

/// Rows whose elements lie side by side, with gaps, turned, apart; of which a row is one axis, or two.
fn rows<T: Number>(device: &Device, pair: fn(f64, f64) -> T::Pair) {
    let random = &mut Random(81);
    for (k, n) in LENGTHS.into_iter().enumerate() {
        let (kind, row) = ([Numbers::Any, Numbers::Ordinary, Numbers::Zeros][k % 3], n as isize);
        let elements = [
            Layout::row_major([3, n]).unwrap(),
            layout([3, n], [row + 5, 1], 2),
            layout([3, n], [row, -1], n.saturating_sub(1)),
            layout([3, n], [1, 3], 0),
            layout([3, n], [1, 0], 0),
        ];
        let stats = [layout([3, 1], [1, 0], 0), layout([3, n], [0, 1], 0), layout([1, 1], [0, 0], 3)];
        let weights =
            [layout([1, n], [0, 1], 0), layout([3, 1], [2, 0], 0), layout([1, n], [0, -1], n.saturating_sub(1))];
        for (nth, x) in elements.iter().enumerate() {
            let dy = elements[(nth + k) % 5].clone();
            let layouts = [x.clone(), dy, stats[(nth + k) % 3].clone(), weights[(nth + k / 3) % 3].clone()];
            case::<T>(device, random, kind, layouts, &[-1], pair).check(device, &format!("{kind:?}"));
        }
        let (c, of) = (n as isize, [2, 3, n]);
        let channels = [
            Layout::row_major(of).unwrap(),
            layout(of, [3 * c + 4, c + 1, 1], 1),
            layout([1, 3, 1], [0, 1, 0], 0),
            layout([1, 3, 1], [0, 1, 0], 0),
        ];
        case::<T>(device, random, kind, channels.clone(), &[0, 2], pair).check(device, "of channels");
        let groups = channels.map(|layout| layout.broadcast(of).unwrap());
        case::<T>(device, random, kind, groups, &[1, 2], pair).check(device, "of groups");
    }
}

/// Columns, as many as strips and tiles take, and more.
fn columns<T: Number>(device: &Device, pair: fn(f64, f64) -> T::Pair) {
    let random = &mut Random(82);
    for (k, n) in LENGTHS.into_iter().enumerate() {
        let kind = [Numbers::Any, Numbers::Ordinary, Numbers::Zeros][k % 3];
        let width = match n {
            0..130 => [32, 33, 63, 64, 257, 513, 1100][k % 7],
            _ => [32, 33, 40, 63, 65][k % 5],
        };
        let row = width as isize;
        let elements = [
            Layout::row_major([n, width]).unwrap(),
            layout([n, width], [row + 3, 1], 1),
            layout([n, width], [-row, 1], n.saturating_sub(1) * width),
        ];
        let stats = [
            layout([n, 1], [1, 0], 0),
            layout([1, 1], [0, 0], 1),
            layout([n, 1], [3, 0], 2),
            layout([1, width], [0, 1], 0),
        ];
        for (nth, x) in elements.iter().enumerate() {
            let weight = layout([1, width], [0, 1], 0);
            let layouts = [x.clone(), elements[(nth + k) % 3].clone(), stats[(nth + k) % 4].clone(), weight];
            case::<T>(device, random, kind, layouts, &[0], pair).check(device, &format!("{kind:?}"));
        }
        let some = n.min(140);
        let middle = Layout::row_major([2, some, width]).unwrap();
        let stats = layout([2, some, 1], [some as isize, 1, 0], 0);
        let layouts = [middle.clone(), middle, stats, layout([1, 1, width], [0, 0, 1], 0)];
        case::<T>(device, random, kind, layouts, &[1], pair).check(device, "in the middle");
    }
}

fn inline() -> Device {
    Device::builder().host().host_pool(HostPool::Inline).open().unwrap()
}

fn narrow(re: f64, im: f64) -> Complex<f32> {
    Complex::new(re as f32, im as f32)
}

#[test]
fn rows_of_pairs_have_the_bits_of_programs() {
    rows::<f32>(&inline(), narrow);
    rows::<f64>(&inline(), Complex::new);
    rows::<f16>(&inline(), narrow);
    rows::<bf16>(&inline(), narrow);
}

#[test]
fn columns_of_pairs_have_the_bits_of_programs() {
    columns::<f32>(&inline(), narrow);
    columns::<f64>(&inline(), Complex::new);
    columns::<f16>(&inline(), narrow);
    columns::<bf16>(&inline(), narrow);
}

#[test]
fn pairs_on_many_threads_have_the_bits_of_programs() {
    let device = Device::builder().host().host_pool(HostPool::Threads(3)).open().unwrap();
    let random = &mut Random(83);
    for ([n, m], axes) in [([1, 1 << 18 | 77], &[-1]), ([700, 300], &[-1]), ([1100, 300], &[0])] {
        let x = Layout::row_major([n, m]).unwrap();
        let layouts = [x.clone(), x, layout([n, 1], [1, 0], 0), layout([1, m], [0, 1], 0)];
        case::<f32>(&device, random, Numbers::Ordinary, layouts, axes, narrow).check(&device, "on all threads");
    }
}

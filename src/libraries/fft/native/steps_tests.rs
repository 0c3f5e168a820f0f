//! Runs the steps on the CPU, by the definition, and compares the results with the host engine's for the same geometry.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use super::steps::{Buffers, Number, Precision, Program, Step, StepMemory, program};
use super::steps_interpreter::{Memory, carry_out};
use crate::libraries::fft::geometry::Geometry;
use crate::libraries::fft::host::{self, Data};
use crate::libraries::fft::problem::{DataLayout, Problem};
use crate::libraries::fft::spec::{Direction, Kind, Normalization};
use num_complex::Complex64;

struct Rng(u64);
impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
    fn real(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

fn random(rng: &mut Rng, kind: Kind) -> Problem {
    let rank = 1 + rng.below(5);
    let sizes: &[usize] = if rank < 3 { &[1, 2, 3, 4, 5, 8] } else { &[1, 2, 3, 4] };
    let shape: Vec<usize> = (0..rank).map(|_| rng.pick(sizes)).collect();
    let spec = match kind {
        Kind::C2c => Problem::c2c(&shape),
        Kind::R2c => Problem::r2c(&shape),
        Kind::C2r => Problem::c2r(&shape),
    };
    let mut order: Vec<usize> = (0..rank).collect();
    (0..rank).for_each(|i| order.swap(i, rng.below(rank)));
    order.truncate(1 + rng.below(rank));
    let mut axes: Vec<usize> = (0..rank).collect();
    if rng.below(2) == 0 {
        axes = order;
    }
    let mut spec = spec
        .axes(&axes)
        .batch(rng.pick(&[1, 1, 2, 3, 10]))
        .norm(rng.pick(&[Normalization::None, Normalization::Ortho]));
    spec = spec.direction(rng.pick(&[Direction::Forward, Direction::Inverse]));
    if rng.below(4) == 0 {
        let n: Vec<usize> =
            axes.iter().map(|a| rng.pick(&[shape[*a], shape[*a] + 1, 1, shape[*a].div_ceil(2)])).collect();
        let mut read = shape.clone();
        if let (Kind::C2r, Some(last)) = (kind, axes.last()) {
            read[*last] = shape[*last] / 2 + 1;
        }
        axes.iter().zip(&n).for_each(|(axis, n)| spec.shape.set(*axis, *n));
        spec = spec.input_shape(&read);
    }
    let gap = rng.pick(&[0, 0, 1]);
    let sides = spec.geometry().unwrap();
    let dims = |written: bool| -> Vec<usize> {
        let mut d = shape.clone();
        if written {
            sides.axes.iter().zip(&axes).for_each(|(axis, a)| d[*a] = axis.written);
        } else if kind == Kind::C2r {
            let last = *axes.last().unwrap();
            d[last] = shape[last] / 2 + 1;
        }
        d
    };
    for written in [false, true] {
        if rng.below(2) == 0 {
            continue;
        }
        let dims = dims(written);
        let mut order: Vec<usize> = (0..rank).collect();
        if rng.below(2) == 0 {
            (0..rank).for_each(|i| order.swap(i, rng.below(rank)));
        }
        let mut strides = vec![0; rank];
        let mut step = 1 + gap;
        for axis in order.into_iter().rev() {
            strides[axis] = step;
            step = step * dims[axis] + gap;
        }
        // What is read may lie at one place, or overlap.
        if !written && rng.below(4) == 0 {
            strides[rng.below(rank)] = rng.pick(&[0, 1]);
        }
        let layout = DataLayout::strided(&strides).dist(step);
        spec = if written { spec.output(layout) } else { spec.input(layout) };
    }
    spec
}

/// Runs `spec` by its steps and by the host engine, and compares the results.
fn check(rng: &mut Rng, spec: &Problem, buffers: Buffers) -> Program {
    let geometry: Geometry = spec.geometry().unwrap();
    let scale = spec.norm.factor(spec.direction, geometry.points as f64);
    let program = program(&geometry, buffers, scale).unwrap();
    let per = |complex: bool| if complex { 2 } else { 1 };
    let (complex_in, complex_out) = (geometry.kind != Kind::R2c, geometry.kind != Kind::C2r);
    let input: Vec<f64> = (0..geometry.input.span * per(complex_in)).map(|_| rng.real()).collect();
    let before = vec![7.0; geometry.output.span * per(complex_out)];
    let mut want = before.clone();
    let complex = |x: &[f64]| x.chunks(2).map(|x| Complex64::new(x[0], x[1])).collect::<Vec<_>>();
    let back = |x: Vec<Complex64>| x.into_iter().flat_map(|x| [x.re, x.im]).collect::<Vec<_>>();
    match geometry.kind {
        Kind::C2c => {
            let mut y = complex(&want);
            host::run(&geometry, Data::Complex(&complex(&input), &mut y), scale).unwrap();
            want = back(y);
        }
        Kind::R2c => {
            let mut y = complex(&want);
            host::run(&geometry, Data::Forward(&input, &mut y), scale).unwrap();
            want = back(y);
        }
        Kind::C2r => host::run(&geometry, Data::Backward(&complex(&input), &mut want), scale).unwrap(),
    }
    let mut memory = Memory { places: vec![input.clone(), before], in_place: false };
    let bytes = if buffers.precision == Precision::F64 { 8 } else { 4 };
    let written = carry_out(&program, &mut memory, spec.hermitian, |n| n / bytes);
    assert!(buffers.destroys || !written.contains(&StepMemory::From), "{spec:?} writes its input");
    assert!(buffers.destroys || memory.places[0] == input, "{spec:?} destroys its input");
    for (i, (got, want)) in memory.places[1].iter().zip(&want).enumerate() {
        assert!((got - want).abs() < 1e-10, "{spec:?}, {buffers:?}: {i} is {got} instead of {want}\n{program:#?}");
    }
    program
}

const KINDS: [Kind; 3] = [Kind::C2c, Kind::R2c, Kind::C2r];

fn plain(precision: Precision) -> Buffers {
    Buffers { precision, aligned: true, destroys: false, in_place: false }
}

#[test]
fn the_steps_of_any_transform_give_what_the_host_engine_gives() {
    let mut rng = Rng(3);
    for round in 0..400 {
        let kind = KINDS[round % 3];
        let spec = random(&mut rng, kind);
        for precision in [Precision::F64, Precision::F16] {
            for aligned in [true, false] {
                check(&mut rng, &spec, Buffers { aligned, ..plain(precision) });
            }
        }
        if spec.geometry().unwrap().input.disjoint {
            check(&mut rng, &spec, Buffers { destroys: true, ..plain(Precision::F64) });
        }
    }
}

/// The kinds of the steps: `m` for a copy, `x` for a call of the library.
fn kinds(program: &Program) -> String {
    program.steps.iter().map(|step| if matches!(step, Step::Move { .. }) { 'm' } else { 'x' }).collect()
}

#[test]
fn what_the_library_does_by_itself_is_one_call() {
    let mut rng = Rng(1);
    let none = Normalization::None;
    let cases = [
        (Problem::c2c([8]), "x"),
        (Problem::c2c([8]).batch(5), "x"),
        (Problem::c2c([4, 3, 2]).batch(2), "x"),
        (Problem::c2c([4, 6]).axes([0]), "x"),
        (Problem::c2c([4, 6]).axes([1]), "x"),
        (Problem::c2c([4, 6]).axes([1, 0]), "x"),
        (Problem::c2c([8]).input_shape([11]), "x"),
        (
            Problem::c2c([3]).batch(4).input(DataLayout::strided([4]).dist(1)).output(DataLayout::strided([4]).dist(1)),
            "x",
        ),
        (Problem::c2c([2, 3]).input(DataLayout::embedded([4, 5], 2)), "x"),
        (Problem::r2c([8]).batch(3), "x"),
        (Problem::r2c([3, 4, 5]), "x"),
        (Problem::c2c([2, 3, 4]).axes([1]), "xx"),
        (Problem::c2c([3, 2, 3, 2]), "xx"),
        // Its input is copied, since the library overwrites it.
        (Problem::c2r([8]).batch(3), "mx"),
        (Problem::c2r([3, 8]), "xx"),
        (Problem::c2r([3, 8]).hermitian(), "mx"),
        (Problem::c2r([8, 1]).hermitian(), "xm"),
        (Problem::c2c([9]).input_shape([8]), "mx"),
        (Problem::c2c([10, 3, 10]).axes([1]).batch(9), "mxm"),
    ];
    for (spec, want) in cases {
        let program = check(&mut rng, &spec.norm(none), plain(Precision::F32));
        assert_eq!(kinds(&program), want, "{spec:?}: {program:#?}");
    }
    // A factor is one more step, which also conjugates.
    assert_eq!(kinds(&check(&mut rng, &Problem::c2c([8]).inverse(), plain(Precision::F32))), "xm");
    assert_eq!(kinds(&check(&mut rng, &Problem::r2c([8]).inverse(), plain(Precision::F32))), "xm");
    let destroying = Buffers { destroys: true, ..plain(Precision::F32) };
    assert_eq!(kinds(&check(&mut rng, &Problem::c2r([8]).norm(none), destroying)), "x");
    assert_eq!(kinds(&check(&mut rng, &Problem::c2r([3, 8]).norm(none), destroying)), "xx");
    // Halves: powers of two, packed; all else in f32.
    assert_eq!(kinds(&check(&mut rng, &Problem::c2c([8, 4]), plain(Precision::F16))), "x");
    assert_eq!(kinds(&check(&mut rng, &Problem::c2c([6]), plain(Precision::F16))), "mxm");
    assert_eq!(kinds(&check(&mut rng, &Problem::c2c([8]), Buffers { aligned: false, ..plain(Precision::F32) })), "mxm");
}

#[test]
fn transforms_in_place_work_in_their_own_memory() {
    let mut rng = Rng(5);
    for shape in [&[8][..], &[5], &[3, 4], &[2, 3, 5], &[2, 3, 2, 4]] {
        for kind in KINDS {
            let n = *shape.last().unwrap();
            let mut embed = shape.to_vec();
            *embed.last_mut().unwrap() = 2 * (n / 2 + 1);
            let padded = DataLayout::embedded(&embed, 1);
            let spec = match kind {
                Kind::C2c => Problem::c2c(shape),
                Kind::R2c => Problem::r2c(shape).input(padded),
                Kind::C2r => Problem::c2r(shape).output(padded),
            };
            let spec = spec.batch(2);
            let geometry = spec.geometry().unwrap();
            let scale = spec.norm.factor(spec.direction, geometry.points as f64);
            let buffers = Buffers { destroys: true, in_place: true, ..plain(Precision::F64) };
            let program = program(&geometry, buffers, scale).unwrap();
            let len = 2 * 2 * embed.iter().product::<usize>();
            let input: Vec<f64> = (0..len).map(|_| rng.real()).collect();
            let mut want = input.clone();
            match kind {
                Kind::C2c => {
                    let mut x: Vec<_> = want.chunks(2).map(|x| Complex64::new(x[0], x[1])).collect();
                    host::run(&geometry, Data::ComplexInPlace(&mut x), scale).unwrap();
                    want = x.into_iter().flat_map(|x| [x.re, x.im]).collect();
                }
                Kind::R2c => host::run(&geometry, Data::ForwardInPlace(&mut want), scale).unwrap(),
                Kind::C2r => host::run(&geometry, Data::BackwardInPlace(&mut want), scale).unwrap(),
            }
            let mut memory = Memory { places: vec![input, vec![]], in_place: true };
            carry_out(&program, &mut memory, false, |n| n / 8);
            // Memory outside the elements of the output may hold anything.
            let elements: Vec<usize> = match kind {
                Kind::C2r => (0..len / 2).filter(|i| i % embed.last().unwrap() < n).collect(),
                _ => (0..2 * geometry.output.span).collect(),
            };
            for i in elements {
                let (got, want) = (memory.places[0][i], want[i]);
                assert!((got - want).abs() < 1e-10, "{spec:?}: {i} is {got} instead of {want}\n{program:#?}");
            }
        }
    }
}

#[test]
fn nothing_is_enqueued_where_there_is_nothing() {
    let spec = Problem::c2c([8]).batch(0);
    assert_eq!(program(&spec.geometry().unwrap(), plain(Precision::F32), 1.0).unwrap(), Program::default());
    let number = Number { precision: Precision::Bf16, complex: true };
    assert_eq!(number.bytes(), 4);
}

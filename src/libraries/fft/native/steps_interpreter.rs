//! Runs the steps of a transform on the CPU, by the definition.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use super::steps::{Dim, End, Layouts, Program, Step, StepMemory};
use crate::libraries::fft::spec::Kind;
use crate::numerics::reference::dft;
use num_complex::Complex64;
use std::collections::HashMap;

/// Memory as real numbers: a complex number is two of them.
pub(super) struct Memory {
    pub(super) places: Vec<Vec<f64>>,
    pub(super) in_place: bool,
}

impl Memory {
    fn index(&self, place: StepMemory) -> usize {
        match place {
            StepMemory::From => 0,
            StepMemory::To => usize::from(!self.in_place),
            StepMemory::Scratch(i) => i + 2,
        }
    }

    fn get(&self, place: StepMemory, complex: bool, at: usize) -> Complex64 {
        let memory = &self.places[self.index(place)];
        if complex { Complex64::new(memory[2 * at], memory[2 * at + 1]) } else { Complex64::new(memory[at], 0.0) }
    }

    fn put(&mut self, place: StepMemory, complex: bool, at: usize, x: Complex64) {
        let index = self.index(place);
        let memory = &mut self.places[index];
        if complex {
            (memory[2 * at], memory[2 * at + 1]) = (x.re, x.im);
        } else {
            memory[at] = x.re;
        }
    }
}

fn indices(counts: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for n in counts {
        all = all.into_iter().flat_map(|i: Vec<usize>| (0..*n).map(move |k| [i.as_slice(), &[k]].concat())).collect();
    }
    all
}

fn move_all(memory: &mut Memory, from: &End, to: &End, dims: &[Dim], conj: bool, scale: f64) {
    let counts: Vec<usize> = dims.iter().map(|d| d.count).collect();
    let all: Vec<(usize, Complex64)> = indices(&counts)
        .into_iter()
        .map(|index| {
            let inside = index.iter().zip(dims).all(|(i, d)| *i < d.inside);
            let at = |stride: fn(&Dim) -> usize| index.iter().zip(dims).map(|(i, d)| i * stride(d)).sum::<usize>();
            let x =
                if inside { memory.get(from.place, from.number.complex, at(|d| d.from)) } else { Complex64::default() };
            let x = if conj { x.conj() } else { x };
            (at(|d| d.to), x * scale)
        })
        .collect();
    all.into_iter().for_each(|(at, x)| memory.put(to.place, to.number.complex, at, x));
}

/// Does what the library does, also to its input.
fn exec(
    memory: &mut Memory,
    key: &Layouts,
    from: (StepMemory, usize),
    to: (StepMemory, usize),
    inverse: bool,
    written: &mut Vec<StepMemory>,
) {
    let rank = key.rank;
    let n: Vec<usize> = key.n[..rank].iter().map(|n| *n as usize).collect();
    let last = n[rank - 1];
    let half = last / 2 + 1;
    let place = |many: &super::steps::Many, begin: usize, b: usize, index: &[usize]| {
        let mut at = 0;
        for (i, k) in index.iter().enumerate() {
            at = if i == 0 { *k } else { at * many.embed[i] as usize + k };
        }
        begin + b * many.dist as usize + at * many.stride as usize
    };
    let (complex_in, complex_out) = (key.kind != Kind::R2c, key.kind != Kind::C2r);
    let mut sizes_in = n.clone();
    if key.kind == Kind::C2r {
        sizes_in[rank - 1] = half;
    }
    let mut sizes_out = n.clone();
    if key.kind == Kind::R2c {
        sizes_out[rank - 1] = half;
    }
    let mut results = Vec::new();
    for b in 0..key.batch as usize {
        let mut array: HashMap<Vec<usize>, Complex64> = HashMap::new();
        for index in indices(&sizes_in) {
            array.insert(index.clone(), memory.get(from.0, complex_in, place(&key.input, from.1, b, &index)));
        }
        let inverse = if key.kind == Kind::C2c { inverse } else { key.kind == Kind::C2r };
        for axis in 0..rank {
            let mut first = if key.kind == Kind::C2r { sizes_in.clone() } else { n.clone() };
            let whole_line = key.kind == Kind::C2r && axis + 1 == rank;
            first[axis] = 1;
            for index in indices(&first) {
                let at = |k: usize| {
                    let mut index = index.clone();
                    index[axis] = k;
                    index
                };
                let mut line: Vec<Complex64> =
                    (0..if whole_line { half } else { n[axis] }).map(|k| array[&at(k)]).collect();
                if whole_line {
                    line[0].im = 0.0;
                    line.resize(last, Complex64::default());
                    if last.is_multiple_of(2) {
                        line[last / 2].im = 0.0;
                    }
                    (half..last).for_each(|k| line[k] = line[last - k].conj());
                }
                for (k, x) in dft(&line, inverse).into_iter().enumerate() {
                    array.insert(at(k), x);
                }
            }
        }
        for index in indices(&sizes_out) {
            results.push((place(&key.output, to.1, b, &index), array[&index]));
        }
    }
    if key.kind == Kind::C2r && memory.index(from.0) != memory.index(to.0) {
        // The library may destroy its input, so the test does.
        for b in 0..key.batch as usize {
            for index in indices(&sizes_in) {
                memory.put(from.0, true, place(&key.input, from.1, b, &index), Complex64::new(f64::NAN, f64::NAN));
            }
        }
        written.push(from.0);
    }
    results.into_iter().for_each(|(at, x)| memory.put(to.0, complex_out, at, x));
    written.push(to.0);
}

/// Runs a program, and returns what it wrote.
pub(super) fn carry_out(
    program: &Program,
    memory: &mut Memory,
    hermitian: bool,
    number: impl Fn(usize) -> usize,
) -> Vec<StepMemory> {
    let mut written = Vec::new();
    let several = |step: &Step| matches!(step, Step::Exec { key, .. } if key.kind == Kind::C2r && key.rank > 1);
    assert!(hermitian || !program.steps.iter().any(several), "the library's answer is another one");
    for bytes in &program.scratch {
        memory.places.push(vec![f64::NAN; number(*bytes)]);
    }
    for step in &program.steps {
        match step {
            Step::Move { from, to, dims, conj, scale } => {
                move_all(memory, from, to, dims, *conj, *scale);
                written.push(to.place);
            }
            Step::Exec { key, from, to, inverse } => exec(memory, key, *from, *to, *inverse, &mut written),
        }
    }
    written
}

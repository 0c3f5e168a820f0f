//! Recurrent nets and their gradients against the definition.

use super::Real;
use super::oracle::{Case, Operands};
use crate::common::edge::by_turns;
use crate::common::{Rng, seeds};
use windlass::dnn::{RecurrentCell, Sequences};
use windlass::tensor::Layout;
use windlass::{Device, Tensor, TensorRef, bf16, f16};

/// A tensor of three axes, which begins anywhere, perhaps with the first two axes in the other order in memory, or with gaps; other
/// memory is poison.
fn up<T: Real>(device: &Device, rng: &mut Rng, extents: [usize; 3], numbers: &[f64]) -> Tensor<T> {
    let [a, b, c] = extents;
    let row = c + rng.pick(&[0, 0, 1, 3]);
    let strides = rng.pick(&[[b * row, row, 1], [b * row, row, 1], [row, a * row, 1]]);
    let offset = rng.pick(&[0, 0, 1, 3]);
    let mut memory = vec![T::POISON; offset + a * b * row + 4];
    for (k, x) in numbers.iter().enumerate() {
        memory[offset + k / (b * c) * strides[0] + k / c % b * strides[1] + k % c] = T::of(*x);
    }
    let layout = Layout::new(extents, strides.map(|s| s as isize), offset).unwrap();
    Tensor::from(by_turns(device, memory)).with_layout(layout).unwrap()
}

fn flat<T: Real>(device: &Device, rng: &mut Rng, numbers: &[f64]) -> Tensor<T> {
    let offset = rng.pick(&[0, 0, 1, 3]);
    let memory: Vec<T> =
        (0..offset).map(|_| T::POISON).chain(numbers.iter().map(|x| T::of(*x))).chain([T::POISON]).collect();
    let layout = Layout::new([numbers.len()], [1], offset).unwrap();
    Tensor::from(by_turns(device, memory)).with_layout(layout).unwrap()
}

pub(crate) fn down<T: Real>(device: &Device, tensor: &Tensor<T>) -> Vec<f64> {
    device.download(tensor).unwrap().await_result().unwrap().into_iter().map(Real::number).collect()
}

/// Poison behind the ends of the sequences.
fn poisoned(case: &Case, width: usize, numbers: &[f64]) -> Vec<f64> {
    let at = |k: usize| (k / width / case.batch, k / width % case.batch);
    numbers.iter().enumerate().map(|(k, x)| if at(k).0 < case.length(at(k).1) { *x } else { f64::NAN }).collect()
}

/// How far results may be from the definition, relative to the largest of them and 1.
fn tolerance<T: Real>() -> f64 {
    match T::DTYPE {
        windlass::DType::F64 => 1e-12,
        windlass::DType::F32 => 2e-6,
        windlass::DType::F16 => 2e-2,
        _ => 1.2e-1,
    }
}

/// Compares, and says everything that differs.
#[must_use]
pub(crate) fn difference<T: Real>(name: &str, got: &[f64], want: &[f64], slack: f64) -> Option<String> {
    let scale = want.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    let bound = tolerance::<T>() * scale * slack;
    let far = |error: f64| error.is_nan() || error.abs() > bound;
    let bad = got.iter().zip(want).filter(|(got, want)| far(*got - *want)).count();
    if bad == 0 && got.len() == want.len() {
        return None;
    }
    let worst = got.iter().zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, f64::max);
    let (got, want) = (&got[..got.len().min(48)], &want[..want.len().min(48)]);
    Some(format!("{name}: {bad} beyond {bound:e}, the worst by {worst:e}\n   got {got:.4?}\n  want {want:.4?}"))
}

#[track_caller]
pub(crate) fn none_differs(what: &str, all: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{what}\n{}", all.join("\n")))
}

/// The operands on a device.
struct Up<T: Real> {
    x: Tensor<T>,
    w: Tensor<T>,
    h0: Tensor<T>,
    c0: Tensor<T>,
}

impl<T: Real> Up<T> {
    fn new(device: &Device, rng: &mut Rng, case: &Case, operands: &Operands) -> Self {
        let [x, w, h0, c0] = &operands.all;
        Up {
            x: up(device, rng, case.x(), &poisoned(case, case.input, x)),
            w: flat(device, rng, w),
            h0: up(device, rng, case.h(), h0),
            c0: up(device, rng, case.c(), c0),
        }
    }

    fn sequences(&self, case: &Case) -> Sequences<'_, T> {
        let mut all = Sequences::new(&self.x);
        if let Some(lengths) = &case.lengths {
            all = all.lengths(lengths);
        }
        if case.initial[0] {
            all = all.states(&self.h0);
        }
        if case.initial[1] {
            all = all.cells(&self.c0);
        }
        all
    }
}

pub(crate) fn forward<T: Real>(device: &Device, rng: &mut Rng, case: &Case) -> Option<String> {
    let what = format!("{} {:?} {case:?}", T::DTYPE, device.kind());
    let operands = case.operands(rng, |x| T::of(x).number());
    let [y, h, c] = case.forward(&operands);
    let up = Up::<T>::new(device, rng, case, &operands);
    let (sequences, net, dnn) = (up.sequences(case), case.net(), device.dnn());
    let once = dnn.recur(&net, &sequences, &up.w).expect(&what).await_result().expect(&what);
    let (twice, training) = dnn.recur_training(&net, &sequences, &up.w).expect(&what);
    let twice = twice.await_result().expect(&what);
    assert!(training.bytes() > 0);
    let mut all = vec![];
    for (name, made) in [("alone", once), ("in a training", twice)] {
        let [got_y, got_h, got_c] = [&made.0, &made.1, &made.2].map(|x| down(device, x));
        assert_eq!([made.0.shape(), made.1.shape(), made.2.shape()], [case.y(), case.h(), case.c()], "{what}");
        all.push(difference::<T>(&format!("y {name}"), &got_y, &y, 1.0));
        all.push(difference::<T>(&format!("h {name}"), &got_h, &h, 1.0));
        all.push(difference::<T>(&format!("c {name}"), &got_c, &c, 1.0));
    }
    none_differs(&what, all)
}

pub(crate) fn backward<T: Real>(device: &Device, rng: &mut Rng, case: &Case) -> Option<String> {
    let what = format!("{} {:?} {case:?}", T::DTYPE, device.kind());
    let operands = case.operands(rng, |x| T::of(x).number());
    let mut list = |n: usize, there: bool| -> Vec<f64> {
        (0..n).map(|_| if there { T::of(rng.real()).number() } else { 0.0 }).collect()
    };
    let count = |e: [usize; 3]| e.iter().product::<usize>();
    let given = [case.time.is_multiple_of(2), case.hidden.is_multiple_of(2) && case.cell == RecurrentCell::Lstm];
    let slopes = [list(count(case.y()), true), list(count(case.h()), given[0]), list(count(case.c()), given[1])];
    // The definition takes no notice of what is behind the ends.
    let want = case.gradients(&operands, &slopes);
    let up_all = Up::<T>::new(device, rng, case, &operands);
    let dy = up::<T>(device, rng, case.y(), &poisoned(case, case.ways() * case.state(), &slopes[0]));
    let dh = up::<T>(device, rng, case.h(), &slopes[1]);
    let dc = up::<T>(device, rng, case.c(), &slopes[2]);
    let last: [Option<TensorRef<'_, T>>; 2] = [given[0].then(|| dh.view()), given[1].then(|| dc.view())];
    let (sequences, net, dnn) = (up_all.sequences(case), case.net(), device.dnn());
    let (made, training) = dnn.recur_training(&net, &sequences, &up_all.w).expect(&what);
    let (y, ..) = made.into_output();
    let made = dnn.recur_gradients(&net, &sequences, &up_all.w, &y, &dy, last, training);
    let made = made.expect(&what).await_result().expect(&what);
    let slack = if T::DTYPE == windlass::DType::F64 { 2e4 } else { 4.0 };
    let got = [&made.0, &made.1, &made.2, &made.3].map(|x| down(device, x));
    let names = ["dx", "dparameters", "dh0", "dc0"];
    none_differs(&what, (0..4).map(|k| difference::<T>(names[k], &got[k], &want[k], slack)))
}

/// A smooth net that has few parameters, since the definition is computed twice for each.
pub(crate) fn small(case: &Case) -> Case {
    let hidden = case.hidden.min(3);
    Case {
        cell: if case.cell == RecurrentCell::Relu { RecurrentCell::Tanh } else { case.cell },
        input: case.input.min(3),
        hidden,
        projection: case.projection.filter(|_| hidden > 1).map(|p| p.min(hidden - 1)),
        layers: case.layers.min(2),
        ..case.clone()
    }
}

/// Everything that is wrong, at the end.
pub(crate) fn report(wrong: &[String]) {
    let shown: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), shown.join("\n"));
}

/// A case, by its number, of a type that its number tells too.
pub(crate) fn each(devices: &[Device], count: u64, one: impl Fn(u64, &Device, &mut Rng, &Case) -> Option<String>) {
    let wrong = std::cell::RefCell::new(vec![]);
    seeds(count, |rng, seed| {
        let case = Case::random(rng);
        for device in devices {
            wrong.borrow_mut().extend(one(seed, device, &mut Rng::new(seed), &case));
        }
    });
    report(&wrong.borrow());
}

/// Nets that cuDNN lacks.
pub(crate) fn beyond_cudnn(devices: &[Device], count: u64) {
    each(devices, count, |seed, device, rng, case| match (case.clone().beyond_cudnn(), seed % 4) {
        (case, _) if !case.is_beyond_cudnn() => None,
        (case, 0) => forward::<f32>(device, rng, &case),
        (case, 1) => forward::<f64>(device, rng, &case),
        (case, 2) => forward::<f16>(device, rng, &case),
        (case, _) => forward::<bf16>(device, rng, &case),
    });
}

/// Their gradients.
pub(crate) fn gradients_beyond_cudnn(devices: &[Device], count: u64) {
    each(devices, count, |seed, device, rng, case| match (small(case).beyond_cudnn(), seed % 4) {
        (case, _) if !case.is_beyond_cudnn() => None,
        (case, 0) => backward::<f32>(device, rng, &case),
        (case, 1) => backward::<f64>(device, rng, &case),
        (case, 2) => backward::<bf16>(device, rng, &case),
        (case, _) => backward::<f16>(device, rng, &case),
    });
}

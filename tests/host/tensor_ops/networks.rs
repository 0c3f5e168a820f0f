//! Large networks of opt_einsum's and cotengra's generators against what NumPy makes of them, and paths against opt_einsum's: the
//! facts are in `networks.txt`, which `networks.py` wrote. Elements are whole numbers; where sums are below 2^53 results are
//! exact in any order.

use crate::common::devices;
use windlass::tensor_ops::{Einsum, TensorElement};
use windlass::{Device, Tensor};

/// A line of the facts.
struct Facts<'t> {
    name: &'t str,
    inputs: Vec<Vec<u32>>,
    output: Vec<u32>,
    extents: Vec<usize>,
    cost: u128,
    kind: &'t str,
    values: Vec<f64>,
}

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|word| word.parse().ok().unwrap_or_else(|| panic!("{text}"))).collect()
}

impl<'t> Facts<'t> {
    fn read(line: &'t str) -> Self {
        let [name, subscripts, extents, cost, values] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (inputs, output) = subscripts.split_once(';').unwrap();
        let (kind, values) = values.split_once(' ').unwrap();
        Facts {
            name,
            inputs: inputs.split(',').map(numbers).collect(),
            output: numbers(output),
            extents: numbers(extents),
            cost: cost.parse().unwrap(),
            kind,
            values: numbers(values),
        }
    }

    fn einsum(&self) -> Einsum {
        Einsum::lists(self.inputs.iter().map(Vec::as_slice), Some(&self.output)).unwrap()
    }

    fn shape(&self, operand: usize) -> Vec<usize> {
        self.inputs[operand].iter().map(|number| self.extents[*number as usize]).collect()
    }

    fn operands<T: TensorElement>(&self, device: &Device, of: fn(i64) -> T) -> Vec<Tensor<T>> {
        let make = |j: usize| {
            let shape = self.shape(j);
            let count = shape.iter().product::<usize>() as i64;
            let data: Vec<T> = (0..count).map(|k| of((k * 7 + j as i64 * 5) % 3 - 1)).collect();
            device.tensor(shape, data).unwrap()
        };
        (0..self.inputs.len()).map(make).collect()
    }

    fn check<T: TensorElement>(&self, device: &Device, of: fn(i64) -> T, back: fn(T) -> f64) {
        let operands = self.operands(device, of);
        let views: Vec<_> = operands.iter().map(Tensor::view).collect();
        let made =
            device.tensor_ops().einsum(self.einsum(), &views[..]).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let made = made.await_result().unwrap();
        let elements = device.download(&made).unwrap().await_result().unwrap();
        let mut got: Vec<f64> = elements.into_iter().map(back).collect();
        if let ("near", [value, size]) = (self.kind, &self.values[..]) {
            let far = (got[0] - value).abs();
            assert!(far <= 1e-13 * self.inputs.len() as f64 * size, "{} on {device:?}: {far:e} of {size:e}", self.name);
            return;
        }
        if self.kind == "sums" {
            let weighed = |weight: fn(usize, f64) -> f64| got.iter().enumerate().map(|(k, x)| weight(k, *x)).sum();
            got = vec![weighed(|_, x| x), weighed(|_, x| x.abs()), weighed(|k, x| (k % 7) as f64 * x)];
        }
        assert_eq!(got, self.values, "{} of {} on {device:?}", self.name, T::DTYPE);
    }
}

/// Those of the file that `WINDLASS_TEST_NETWORKS` names, or a few.
fn text() -> String {
    match std::env::var("WINDLASS_TEST_NETWORKS") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("networks.txt").to_owned(),
    }
}

fn facts(text: &str) -> Vec<Facts<'_>> {
    text.lines().map(Facts::read).collect()
}

#[test]
fn networks_are_what_numpy_makes_of_them() {
    let text = text();
    for device in devices() {
        for (k, of) in facts(&text).iter().enumerate() {
            of.check::<f64>(&device, |x| x as f64, |x| x);
            // Without products of matrices.
            if of.cost < 100_000 && k % 3 == 0 && of.kind != "near" {
                of.check::<i64>(&device, |x| x, |x| x as f64);
            }
        }
    }
}

#[test]
fn paths_cost_what_opt_einsums_cost() {
    let device = Device::host().unwrap();
    let (mut ours, mut theirs) = (0f64, 0f64);
    for of in facts(&text()) {
        let operands = of.operands::<f32>(&device, |_| 0.0);
        let views: Vec<_> = operands.iter().map(Tensor::view).collect();
        let plan = device.tensor_ops().explain(of.einsum(), &views[..]).unwrap();
        if of.inputs.len() <= 8 {
            assert!(plan.flops() <= of.cost, "{}: {} instead of {}", of.name, plan.flops(), of.cost);
        } else {
            ours += (plan.flops() as f64).ln();
            theirs += (of.cost as f64).ln();
            assert!(plan.flops() <= 100 * of.cost, "{}: {} instead of {}", of.name, plan.flops(), of.cost);
        }
    }
    // Some are better, some worse.
    assert!(ours <= theirs + 20.0, "greedy paths take {ours:.1} instead of {theirs:.1}, as sums of logarithms");
}

#[test]
fn a_tuned_call_gives_the_same_numbers() {
    for device in devices() {
        let data: Vec<f64> = (0..60).map(|k| f64::from(k % 7 - 3)).collect();
        let (x, y) = (device.tensor([3, 4, 5], &data).unwrap(), device.tensor([5, 3, 4], &data).unwrap());
        let ops = device.tensor_ops();
        let before = ops.einsum("abc,cad->bd", (&x, &y)).unwrap().await_result().unwrap();
        let routes = ops.autotune("abc,cad->bd", (&x, &y)).unwrap();
        assert!(routes.len() >= 2 && routes.is_sorted_by_key(|route| route.time), "{routes:?}");
        let after = ops.einsum("abc,cad->bd", (&x, &y)).unwrap().await_result().unwrap();
        let [before, after] = [&before, &after].map(|t| device.download(t).unwrap().await_result().unwrap());
        assert_eq!(before, after);
    }
}

#[test]
fn small_paths_give_what_short_ones_give() {
    use windlass::tensor_ops::Minimize;
    let device = Device::host().unwrap();
    for of in facts(&text()).iter().filter(|of| of.cost < 1_000_000) {
        let operands = of.operands::<f64>(&device, |x| x as f64);
        let views: Vec<_> = operands.iter().map(Tensor::view).collect();
        let ops = device.tensor_ops();
        let small = of.einsum().minimize(Minimize::Size);
        let plans = [ops.explain(of.einsum(), &views[..]).unwrap(), ops.explain(&small, &views[..]).unwrap()];
        if of.inputs.len() <= 8 {
            assert!(plans[1].largest() <= plans[0].largest() && plans[0].flops() <= plans[1].flops(), "{}", of.name);
        }
        let made = [of.einsum(), small].map(|einsum| {
            let made = ops.einsum(einsum, &views[..]).unwrap().await_result().unwrap();
            device.download(&made).unwrap().await_result().unwrap()
        });
        // Where sums are exact.
        assert!(of.kind == "near" || made[0] == made[1], "{}", of.name);
    }
}

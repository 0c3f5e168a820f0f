//! Random calls against NumPy, of which `against.py` writes files. `WINDLASS_TEST_NUMPY=FILE` names one; without it a few calls are made
//! from `against.txt`, which is the file of `python3 against.py 140 1`.

use super::{more, read};
use crate::common::devices;
use windlass::arrays::{Combine, Indexing, Ordered, SearchSide, meshgrid};
use windlass::reductions::{Max, Min, Prod, Reduction, Sum};
use windlass::{Bool, Device, Element, Tensor, TensorRef, f16};

/// A tensor in a file.
struct Stored<'a> {
    dtype: &'a str,
    extents: Vec<usize>,
    bytes: Vec<u8>,
}

/// A line of a file.
pub(super) struct Call<'a> {
    pub(super) device: &'a Device,
    pub(super) name: &'a str,
    pub(super) numbers: Vec<isize>,
    tensors: Vec<Stored<'a>>,
    results: Vec<Stored<'a>>,
    pub(super) line: &'a str,
}

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    text.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().ok().unwrap()).collect()
}

impl<'a> Stored<'a> {
    fn all(text: &'a str) -> Vec<Self> {
        let one = |text: &'a str| {
            let [dtype, extents, bytes] = text.split(':').collect::<Vec<_>>().try_into().unwrap();
            let bytes = (0..bytes.len() / 2).map(|k| u8::from_str_radix(&bytes[2 * k..][..2], 16).unwrap()).collect();
            Stored { dtype, extents: numbers(extents), bytes }
        };
        text.split(' ').filter(|text| !text.is_empty()).map(one).collect()
    }

    fn elements<T: Element>(&self) -> Vec<T> {
        bytemuck::pod_collect_to_vec(&self.bytes)
    }

    fn up<T: Element>(&self, device: &Device) -> Tensor<T> {
        device.tensor(&self.extents, self.elements::<T>()).unwrap()
    }
}

impl Call<'_> {
    pub(super) fn tensor<T: Element>(&self, k: usize) -> Tensor<T> {
        self.tensors[k].up(self.device)
    }

    pub(super) fn number(&self, k: usize) -> usize {
        self.numbers[k] as usize
    }

    pub(super) fn results(&self) -> usize {
        self.results.len()
    }

    /// A result that is wanted: its extents and elements.
    pub(super) fn wanted<T: Element>(&self, k: usize) -> (Vec<usize>, Vec<T>) {
        let stored = &self.results[k];
        (stored.extents.clone(), stored.elements())
    }

    /// Compares values: a NaN is equal to another one, and zeros are.
    pub(super) fn equals<T: Element + PartialEq>(&self, k: usize, got: &Tensor<T>) {
        let stored = &self.results[k];
        let (got_extents, got, want) = (got.shape(), read(self.device, got), stored.elements::<T>());
        let same = |(a, b): (&T, &T)| a == b || (a.is_unequal_to_itself() && b.is_unequal_to_itself());
        let is_right = got_extents == stored.extents && got.iter().zip(&want).all(same);
        assert!(is_right, "result {k} of {}: {got_extents:?} {got:?}, but should be {want:?}", self.line);
    }
}

/// Whether a value differs from itself.
trait Nan {
    fn is_unequal_to_itself(&self) -> bool;
}

impl<T: PartialEq> Nan for T {
    #[expect(clippy::eq_op, reason = "of a NaN")]
    fn is_unequal_to_itself(&self) -> bool {
        self != self
    }
}

fn run<T: Ordered + PartialEq>(call: &Call<'_>)
where
    Max: Reduction<T, Output = T>,
    Min: Reduction<T, Output = T>,
{
    let device = call.device;
    let (x, axis) = (call.tensor::<T>(0), call.numbers.first().copied().unwrap_or(0));
    macro_rules! done {
        ($call:expr) => {
            $call.unwrap().await_result().unwrap()
        };
    }
    match call.name {
        "sort" => {
            let (values, places) = done!(device.sort_with_indices(&x, axis));
            call.equals(0, &values);
            call.equals(1, &places);
        }
        "tile" => call.equals(0, &done!(device.tile(&x, call.numbers.iter().map(|n| *n as usize).collect::<Vec<_>>()))),
        "repeat" => call.equals(0, &done!(device.repeat(&x, call.number(1), axis))),
        "repeat_each" => call.equals(0, &done!(device.repeat_each(&x, &call.tensor::<i64>(1), axis, None))),
        "triangle" => {
            call.equals(0, &done!(device.tril(&x, axis)));
            call.equals(1, &done!(device.triu(&x, axis)));
        }
        "eye" => call.equals(0, &done!(device.eye::<T>([call.number(0), call.number(1)], call.numbers[2]))),
        "meshgrid" => {
            let (y, indexing) = (call.tensor::<T>(1), if axis == 1 { Indexing::Xy } else { Indexing::Ij });
            let grid: Vec<TensorRef<'_, T>> = meshgrid(&[x.view(), y.view()], indexing).unwrap();
            grid.iter().enumerate().for_each(|(k, view)| call.equals(k, &done!(device.contiguous(view))));
        }
        "accumulate" => {
            call.equals(0, &done!(device.cummax(&x, axis)));
            call.equals(1, &done!(device.cummin(&x, axis)));
            let (values, places) = device.cummax_with_indices(&x, axis).unwrap();
            call.equals(0, &done!(Ok::<_, windlass::Error>(values)));
            drop(done!(Ok::<_, windlass::Error>(places)));
        }
        "unique" => {
            let unique = done!(device.unique_all(&x));
            call.equals(0, &unique.values);
            call.equals(1, &unique.indices);
            call.equals(2, &unique.inverse);
            call.equals(3, &unique.counts);
        }
        "search" => {
            let values = call.tensor::<T>(1);
            call.equals(0, &done!(device.searchsorted(&x, &values, SearchSide::Left)));
            call.equals(1, &done!(device.searchsorted(&x, &values, SearchSide::Right)));
        }
        "choose" => {
            let stored = &call.tensors[1];
            let truth: Vec<Bool> = stored.elements::<i8>().into_iter().map(|x| Bool::from(x != 0)).collect();
            let truth = device.tensor(&stored.extents, truth).unwrap();
            call.equals(0, &done!(device.masked_select(&x, &truth)));
            call.equals(1, &done!(device.nonzero(&truth)));
        }
        "partition" => {
            let parts = done!(device.partition(&x, &[call.number(0)], 0));
            let one = parts.slice(call.numbers[0]..call.numbers[0] + 1).unwrap();
            call.equals(0, &done!(device.contiguous(one)));
        }
        other => panic!("{other}"),
    }
}

fn sums<T: Element>(call: &Call<'_>)
where
    Sum: Reduction<T, Output = i64>,
    Prod: Reduction<T, Output = i64>,
{
    let (x, axis) = (call.tensor::<T>(0), call.numbers[0]);
    call.equals(0, &call.device.cumsum(&x, axis).unwrap().await_result().unwrap());
    call.equals(1, &call.device.cumprod(&x, axis).unwrap().await_result().unwrap());
}

fn put<T: Element + PartialEq>(call: &Call<'_>) {
    let combine = [Combine::Add, Combine::Mul, Combine::Max][call.number(0)];
    let (indices, updates) = (call.tensor::<i64>(1), call.tensor::<T>(2));
    call.equals(
        0,
        &call.device.put(call.tensor::<T>(0), &indices, &updates, 0, combine).unwrap().await_result().unwrap(),
    );
}

fn by_type(call: &Call<'_>) {
    let device = call.device;
    match (call.name, call.tensors[0].dtype) {
        ("one_hot", _) => {
            let hot = device.one_hot(&call.tensor::<i64>(0), call.number(0), -1, [0.0f32, 1.0]);
            call.equals(0, &hot.unwrap().await_result().unwrap());
        }
        ("bincount", _) => {
            let (x, weights) = (call.tensor::<i64>(0), call.tensor::<f64>(1));
            call.equals(0, &device.bincount(&x, call.number(0)).unwrap().await_result().unwrap());
            let sums = device.bincount_weighted(&x, call.number(0), &weights);
            call.equals(1, &sums.unwrap().await_result().unwrap());
        }
        ("integer_sums", "i8") => sums::<i8>(call),
        ("integer_sums", "i32") => sums::<i32>(call),
        ("integer_sums", _) => sums::<i64>(call),
        ("put", "f32") => put::<f32>(call),
        ("put", "f64") => put::<f64>(call),
        ("put", "i32") => put::<i32>(call),
        ("put", _) => put::<u64>(call),
        ("nan_moments" | "average" | "covariance" | "distances" | "calculus" | "interp" | "cross", dtype) => {
            match dtype {
                "f32" => more::real::<f32, f32>(call, 3e-6),
                "i32" => more::real::<i32, f64>(call, 1e-13),
                _ => more::real::<f64, f64>(call, 1e-13),
            }
        }
        (
            "take_along" | "gather_nd" | "masked" | "isin" | "search_rows" | "linspace" | "arange" | "diag" | "diff"
            | "nan_to_num" | "ptp" | "nan_extremes",
            dtype,
        ) => match dtype {
            "f32" => more::moved::<f32>(call, f32::from),
            "f16" => more::moved::<f16>(call, f16::from),
            "i8" => more::moved::<i8>(call, |number| number),
            _ => more::moved::<u64>(call, |number| number as u64),
        },
        (_, "f32") => run::<f32>(call),
        (_, "f64") => run::<f64>(call),
        (_, "f16") => run::<f16>(call),
        (_, "i8") => run::<i8>(call),
        (_, "i32") => run::<i32>(call),
        (_, "i64") => run::<i64>(call),
        (_, "u16") => run::<u16>(call),
        _ => run::<u64>(call),
    }
}

#[test]
fn random_calls_equal_those_of_numpy() {
    let text = std::env::var("WINDLASS_TEST_NUMPY").map(|file| std::fs::read_to_string(file).unwrap());
    let text = text.unwrap_or_else(|_| include_str!("against.txt").to_owned());
    for device in devices() {
        for line in text.lines() {
            let [name, own, tensors, results] = line.split(';').collect::<Vec<_>>().try_into().unwrap();
            let (tensors, results) = (Stored::all(tensors), Stored::all(results));
            by_type(&Call { device: &device, name, numbers: numbers(own), tensors, results, line });
        }
    }
}

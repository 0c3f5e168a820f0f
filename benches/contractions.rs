//! Contractions of two tensors, as another program asks: `contractions.py` has PyTorch, CuPy or NumPy and this one work in turn.
//!
//! Each line of the standard input, `BACKEND TYPE EXPRESSION EXTENT COUNT` (`auto f32 eafd,fbec->abcd 80 4`), is answered by the
//! microseconds of one of `COUNT` contractions, with the wait for the last; all letters have the extent. Backends are `auto`,
//! `products`, `cutensor` and `onepass`. `forget` gives the operands back. `WINDLASS_DEVICE` names the device.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot run should stop"
)]

use std::any::Any;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Instant;
use windlass::tensor_ops::{Backend, TensorElement};
use windlass::{Device, Error, Tensor};

fn operand<T: TensorElement>(device: &Device, letters: usize, extent: usize, of: fn(f64) -> T) -> Tensor<T> {
    let mut state = letters as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        of((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
    };
    let extents = vec![extent; letters];
    let data: Vec<T> = (0..extents.iter().product()).map(|_| next()).collect();
    device.tensor(extents, data).unwrap()
}

/// Operands by type, number of letters, and extent.
type Kept = HashMap<(String, usize, usize), Box<dyn Any>>;

fn burst<T: TensorElement>(device: &Device, kept: &mut Kept, words: &[&str], of: fn(f64) -> T) -> f64 {
    let [backend, kind, expression, extent, count] = words else { panic!("not understood: {words:?}") };
    let (extent, count) = (extent.parse::<usize>().unwrap(), count.parse::<usize>().unwrap());
    let backend = match *backend {
        "auto" => Backend::Auto,
        "products" => Backend::Products,
        "cutensor" => Backend::CuTensor,
        "onepass" => Backend::OnePass,
        other => panic!("no backend {other}"),
    };
    let ranks: Vec<usize> = expression.split("->").next().unwrap().split(',').map(str::len).collect();
    for rank in &ranks {
        let key = (kind.to_string(), *rank, extent);
        kept.entry(key).or_insert_with(|| Box::new(operand(device, *rank, extent, of)));
    }
    let get = |rank: usize| kept[&(kind.to_string(), rank, extent)].downcast_ref::<Tensor<T>>().unwrap();
    let (a, b) = (get(ranks[0]), get(ranks[1]));
    let ops = device.tensor_ops().backend(backend);
    // A backend that does not take it has no time.
    match ops.einsum(*expression, (a, b)).map(|pending| pending.await_result()) {
        Ok(Err(windlass::Rejected { error: Error::Unsupported { .. }, .. })) | Err(Error::Unsupported { .. }) => {
            return f64::NAN;
        }
        _ => {}
    }
    let start = Instant::now();
    for _ in 1..count {
        drop(ops.einsum(*expression, (a, b)).unwrap());
    }
    drop(ops.einsum(*expression, (a, b)).unwrap().await_result().unwrap());
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

pub(crate) fn main() {
    let device = Device::from_env().unwrap();
    let mut kept = Kept::new();
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let took = match words[..] {
            ["forget"] => {
                kept.clear();
                continue;
            }
            [_, "f32", ..] => burst(&device, &mut kept, &words, |x| x as f32),
            [_, "f64", ..] => burst(&device, &mut kept, &words, |x| x),
            _ => panic!("not understood: {line}"),
        };
        println!("{took}");
        std::io::stdout().flush().unwrap();
    }
}

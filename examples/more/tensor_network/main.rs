//! A quantum circuit as a network of tensors: the probabilities of its results, by one `einsum`.
//!
//! ```text
//! cargo run --release -p windlass-more-examples --example tensor_network # 12 qubits, 6 layers, into target/tensor_network.png
//! cargo run --release -p windlass-more-examples --example tensor_network -- 14 8 out.png
//! WINDLASS_DEVICE=cuda:0 cargo run --release -p windlass-more-examples --example tensor_network
//! ```
//!
//! Every qubit begins as 0, layers of random two-qubit gates follow as bricks in a wall. A gate is a tensor of four axes, a wire is a
//! letter that two gates share, and the amplitude of each result is the sum over all wires: nobody says in which order to contract
//! them but the path that is found. The program compares the path of fewest operations with that of the smallest intermediates,
//! checks that all probabilities sum to 1, and draws them: the qubits of the first half downwards, those of the second across.

#[path = "../output.rs"]
mod output;
mod picture;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use windlass::tensor_ops::{Einsum, Minimize};
use windlass::{Complex, Device, Tensor};

fn main() -> ExitCode {
    windlass::worker::init(); // for WINDLASS_DEVICE=host:isolated and the like
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tensor_network: {error}");
            ExitCode::FAILURE
        }
    }
}

type Number = Complex<f64>;

/// A small generator (splitmix64): a number from -1 to 1.
fn number(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A random unitary matrix of 4 x 4: the columns of a random one, each made orthogonal to those before.
fn gate(state: &mut u64) -> Vec<Number> {
    let mut columns: Vec<Vec<Number>> = Vec::new();
    while columns.len() < 4 {
        let mut own: Vec<Number> = (0..4).map(|_| Number::new(number(state), number(state))).collect();
        for other in &columns {
            let part: Number = other.iter().zip(&own).map(|(x, y)| x.conj() * y).sum();
            own.iter_mut().zip(other).for_each(|(y, x)| *y -= part * x);
        }
        let length = own.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        columns.push(own.into_iter().map(|x| x / length).collect());
    }
    (0..16).map(|k| columns.iter().skip(k % 4).take(1).flatten().skip(k / 4).take(1).sum()).collect()
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let qubits: usize = arguments.next().map_or(Ok(12), |text| text.parse())?;
    let layers: usize = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let file = output::file(arguments.next(), "tensor_network.png")?;
    if !(2..=20).contains(&qubits) {
        return Err(format!("{qubits} qubits: 2 to 20 fit into a picture").into());
    }

    let device = Device::from_env()?;
    let mut state = 11;
    // Each qubit begins as 0, on a wire of its own.
    let zero = device.tensor([2], vec![Number::new(1.0, 0.0), Number::new(0.0, 0.0)])?;
    let mut wires: Vec<u32> = (0..).take(qubits).collect();
    let mut letters: Vec<Vec<u32>> = wires.iter().map(|wire| vec![*wire]).collect();
    let mut gates: Vec<Tensor<Number>> = Vec::new();
    let mut next = qubits as u32;
    for layer in 0..layers {
        for pair in wires.get_mut(layer % 2..).unwrap_or_default().chunks_exact_mut(2) {
            let [one, two] = pair else { continue };
            letters.push(vec![next, next + 1, *one, *two]);
            (*one, *two) = (next, next + 1);
            gates.push(device.tensor([2, 2, 2, 2], gate(&mut state))?);
            next += 2;
        }
    }
    let circuit = Einsum::lists(letters.iter().map(Vec::as_slice), Some(&wires))?;
    let operands: Vec<_> = std::iter::repeat_n(&zero, qubits).chain(&gates).map(Tensor::view).collect();

    let ops = device.tensor_ops();
    let mut amplitudes = None;
    for what in [Minimize::Operations, Minimize::Size] {
        let circuit = circuit.clone().minimize(what);
        let plan = ops.explain(&circuit, &operands[..])?;
        let start = Instant::now();
        let made = ops.einsum(&circuit, &operands[..])?.await_result()?;
        println!(
            "{}: {} tensors, least {what:?}: {:.2e} operations, largest of {} elements, {} steps in {:.2?}",
            device.name(),
            operands.len(),
            plan.flops() as f64,
            plan.largest(),
            plan.routes().count(),
            start.elapsed()
        );
        amplitudes = Some(made);
    }
    let amplitudes = amplitudes.ok_or("there is no path")?;
    let probabilities: Vec<f64> =
        device.download(&amplitudes)?.await_result()?.into_iter().map(|x| x.norm_sqr()).collect();
    let total: f64 = probabilities.iter().sum();
    if (total - 1.0).abs() > 1e-10 {
        return Err(format!("the probabilities sum to {total}").into());
    }
    let (most, often) =
        probabilities.iter().enumerate().fold((0, 0.0), |best, (k, p)| if *p > best.1 { (k, *p) } else { best });
    println!(
        "probabilities sum to 1 within {:.0e}; {most:0qubits$b} is the likeliest of {}, {often:.4}",
        (total - 1.0).abs(),
        probabilities.len()
    );
    picture::write(&file, &probabilities, 1 << (qubits - qubits / 2))?;
    println!("{} shows them", file.display());
    Ok(())
}

//! Recurrent nets: rows that bring the parameters of a node into our order.

use super::node::{Made, Node};
use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell, RecurrentGate, RecurrentParameter, Sequences};
use windlass::{Tensor, TensorRef, tensor::AnyTensor};

fn numbers(n: &Node<'_>, k: usize) -> Option<Vec<f32>> {
    n.given(k).map(|x| bytemuck::pod_collect_to_vec(&n.device.bytes_any(x).unwrap()))
}

/// All parameters, gate by gate.
fn parameters(n: &Node<'_>, net: &Recurrent, cell: RecurrentCell, ways: usize, hidden: usize) -> Tensor<f32> {
    let mut all = vec![0f32; net.parameter_count().unwrap()];
    let [w, r, b] = [1, 2, 3].map(|k| numbers(n, k));
    let peepholes = numbers(n, 7).filter(|_| cell == RecurrentCell::Lstm);
    let gates = cell.onnx_gates();
    for (way, (k, gate)) in (0..ways).flat_map(|way| {
        let peeping = [RecurrentGate::Input, RecurrentGate::Output, RecurrentGate::Forget];
        peeping.into_iter().enumerate().map(move |gate| (way, gate))
    }) {
        let (Some(from), Ok(to)) = (&peepholes, net.parameter(0, way, RecurrentParameter::Peephole, gate)) else {
            break;
        };
        all[to.offset()..to.offset() + hidden].copy_from_slice(&from[(way * 3 + k) * hidden..][..hidden]);
    }
    for (way, (k, gate)) in (0..ways).flat_map(|way| gates.iter().enumerate().map(move |gate| (way, gate))) {
        let half = |b: &[f32], second: usize| {
            let from = (2 * way + second) * gates.len() * hidden;
            b[from..from + gates.len() * hidden].to_vec()
        };
        let of = |all: &[f32]| all[way * all.len() / ways..(way + 1) * all.len() / ways].to_vec();
        let parts = [
            (RecurrentParameter::Input, w.as_deref().map(of)),
            (RecurrentParameter::Recurrent, r.as_deref().map(of)),
            (RecurrentParameter::InputBias, b.as_deref().map(|b| half(b, 0))),
            (RecurrentParameter::RecurrentBias, b.as_deref().map(|b| half(b, 1))),
        ];
        for (parameter, from) in parts {
            let (Some(from), Ok(to)) = (from, net.parameter(0, way, parameter, *gate)) else { continue };
            all[to.offset()..to.offset() + to.len()].copy_from_slice(&from[k * to.len()..(k + 1) * to.len()]);
        }
    }
    n.device.tensor([all.len()], all).unwrap()
}

fn of(n: &Node<'_>, cell: RecurrentCell) -> Made {
    let batch_first = n.int("layout", 0) == 1;
    let direction = n.text("direction", "forward");
    let (ways, turned) = (if direction == "bidirectional" { 2 } else { 1 }, direction == "reverse");
    let hidden = n.int("hidden_size", 0) as usize;
    let order = |x: AnyTensor| -> windlass::Result<AnyTensor> {
        if batch_first { n.device.contiguous_any(x.permute([1, 0, 2])?) } else { Ok(x) }
    };
    let x: TensorRef<'_, f32> = n.typed(0);
    let x = if batch_first { x.permute([1, 0, 2])? } else { x };
    let x = if turned { x.flip(0)? } else { x };
    let (time, batch) = (x.shape()[0], x.shape()[1]);
    let bias = if n.given(3).is_some() { RecurrentBias::Both } else { RecurrentBias::None };
    let net = Recurrent::new(cell, x.shape()[2], hidden).bidirectional(ways == 2).bias(bias);
    let net = net.peepholes(cell == RecurrentCell::Lstm && n.given(7).is_some());
    let parameters = parameters(n, &net, cell, ways, hidden);
    let mut sequences = Sequences::new(&x);
    if let Some(lengths) = n.ints(4) {
        sequences = sequences.lengths(&lengths.iter().map(|n| *n as usize).collect::<Vec<_>>());
    }
    let states = n.given(5).map(|_| n.typed::<f32>(5));
    if let Some(states) = &states {
        sequences = sequences.states(if batch_first { states.permute([1, 0, 2])? } else { states.clone() });
    }
    let cells = n.given(6).map(|_| n.typed::<f32>(6));
    if let Some(cells) = &cells {
        sequences = sequences.cells(if batch_first { cells.permute([1, 0, 2])? } else { cells.clone() });
    }
    let (y, h, c) = n.device.dnn().recur(&net, &sequences, &parameters)?.into_output();
    // There the directions are an axis of their own.
    let y = n.reshaped(y.into(), &[time, batch, ways, hidden]);
    let y = if turned { n.device.contiguous_any(y.flip(0)?)? } else { y };
    let y = n.device.contiguous_any(y.permute(if batch_first { &[1, 0, 2, 3] } else { &[0, 2, 1, 3] })?)?;
    let all = [y, order(h.into())?, order(c.into())?];
    let wanted = |k: usize| {
        if n.case.wanted.is_empty() { k < n.case.outputs.len() } else { n.case.wanted.get(k) == Some(&true) }
    };
    Ok(all.into_iter().enumerate().filter(|(k, _)| wanted(*k)).map(|(_, x)| x).collect())
}

pub(super) fn rnn(n: &Node<'_>) -> Made {
    of(n, RecurrentCell::Tanh)
}

pub(super) fn lstm(n: &Node<'_>) -> Made {
    of(n, RecurrentCell::Lstm)
}

pub(super) fn gru(n: &Node<'_>) -> Made {
    let after = n.int("linear_before_reset", 0) == 1;
    of(n, if after { RecurrentCell::Gru } else { RecurrentCell::GruResetFirst })
}

//! Where parameters lie.

use windlass::dnn::{Recurrent, RecurrentBias, RecurrentCell, RecurrentGate, RecurrentParameter};

/// Every parameter, gate by gate, lies in the buffer, beside the others.
#[test]
fn parameters_fill_their_buffer() {
    let plain = [RecurrentCell::Relu, RecurrentCell::Tanh];
    let cells = [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::GruResetFirst].into_iter().chain(plain);
    let biases = [RecurrentBias::None, RecurrentBias::Input, RecurrentBias::Recurrent, RecurrentBias::Both];
    for (cell, bias) in cells.flat_map(|cell| biases.map(|bias| (cell, bias))) {
        for (layers, both_ways) in [(1, false), (1, true), (3, true)] {
            for projection in [None, Some(2)].into_iter().filter(|p| p.is_none() || cell == RecurrentCell::Lstm) {
                let net = Recurrent::new(cell, 5, 3).layers(layers).bidirectional(both_ways).bias(bias);
                let net = projection.map_or(net.clone(), |p| net.projection(p)).peepholes(projection.is_some());
                let mut seen = vec![0; net.parameter_count().unwrap()];
                let mut whole = 0;
                for (layer, way) in (0..layers).flat_map(|layer| [(layer, 0), (layer, 1)]) {
                    for parameter in [
                        RecurrentParameter::Input,
                        RecurrentParameter::Recurrent,
                        RecurrentParameter::InputBias,
                        RecurrentParameter::RecurrentBias,
                    ] {
                        let Ok(all) = net.parameter(layer, way, parameter, None) else { continue };
                        whole += all.len();
                        for gate in cell.gates() {
                            let layout = net.parameter(layer, way, parameter, *gate).unwrap();
                            assert!(layout.is_row_major() && layout.shape()[0] == 3);
                            seen[layout.offset()..layout.offset() + layout.len()].iter_mut().for_each(|n| *n += 1);
                        }
                    }
                    if let Ok(all) = net.parameter(layer, way, RecurrentParameter::Peephole, None) {
                        whole += all.len();
                        assert!(net.parameter(layer, way, RecurrentParameter::Peephole, RecurrentGate::State).is_err());
                        for gate in [RecurrentGate::Input, RecurrentGate::Forget, RecurrentGate::Output] {
                            let layout = net.parameter(layer, way, RecurrentParameter::Peephole, gate).unwrap();
                            assert_eq!(layout.shape(), [3]);
                            seen[layout.offset()..layout.offset() + layout.len()].iter_mut().for_each(|n| *n += 1);
                        }
                    }
                    if let Ok(layout) = net.parameter(layer, way, RecurrentParameter::Projection, None) {
                        whole += layout.len();
                        assert_eq!(layout.shape(), [2, 3]);
                        seen[layout.offset()..layout.offset() + layout.len()].iter_mut().for_each(|n| *n += 1);
                    }
                }
                assert!(seen.iter().all(|n| *n == 1) && whole == seen.len(), "{net:?}: {seen:?}");
            }
        }
    }
}

#[test]
fn orders_of_gates_are_permutations() {
    let gated = [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::GruResetFirst];
    for cell in gated.into_iter().chain([RecurrentCell::Relu, RecurrentCell::Tanh]) {
        assert_eq!(cell.gates().len(), cell.onnx_gates().len());
        assert!(cell.gates().iter().all(|gate| cell.onnx_gates().contains(gate)));
    }
}

#[test]
fn what_a_net_does_not_have_is_told() {
    let net = Recurrent::gru(2, 3).bias(RecurrentBias::Input);
    let name = |layer, way, parameter, gate: Option<RecurrentGate>| {
        let error = net.parameter(layer, way, parameter, gate).unwrap_err();
        crate::common::refused(&error).0
    };
    assert_eq!(name(1, 0, RecurrentParameter::Input, None), "parameter");
    assert_eq!(name(0, 1, RecurrentParameter::Input, None), "parameter");
    assert_eq!(name(0, 0, RecurrentParameter::RecurrentBias, None), "parameter");
    assert_eq!(name(0, 0, RecurrentParameter::Projection, None), "parameter");
    assert_eq!(name(0, 0, RecurrentParameter::Peephole, None), "parameter");
    assert_eq!(name(0, 0, RecurrentParameter::Input, Some(RecurrentGate::Forget)), "gate");
}

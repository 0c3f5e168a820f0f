//! The bits of the host engine's networks are those of one thread, however many there are.

use windlass::dnn::{Attention, Convolution, Corner, Recurrent, RecurrentCell, Sequences};
use windlass::tensor::Layout;
use windlass::{Device, HostPool, Tensor};

fn filled(device: &Device, extents: &[usize], size: f32) -> Tensor<f32> {
    let len = extents.iter().product();
    let all: Vec<f32> = (0..len).map(|k: usize| ((k * 7919 % 1009) as f32 / 1009.0 - 0.5) * size).collect();
    device.tensor(extents, all).unwrap()
}

fn bits(device: &Device, of: &Tensor<f32>) -> Vec<u32> {
    let all: Vec<f32> = device.download(of).unwrap().await_result().unwrap();
    all.iter().map(|x| x.to_bits()).collect()
}

fn convolved(device: &Device, [n, c, k, r, s, rows, groups]: [usize; 7], last: bool) -> Vec<u32> {
    let (x, w) = (filled(device, &[n, c, rows, rows], 1.0), filled(device, &[k, c / groups, r, r], 1.0));
    let turned = |x: Tensor<f32>| {
        let [_, c, h, w] = <[usize; 4]>::try_from(x.shape()).unwrap().map(|n| n as isize);
        let layout = Layout::new(x.shape(), [c * h * w, 1, w * c, c], 0).unwrap();
        x.with_layout(layout).unwrap()
    };
    let (x, w) = if last { (turned(x), turned(w)) } else { (x, w) };
    let of = Convolution::new().stride(s).padding(r / 2).groups(groups);
    bits(device, &device.dnn().convolve(&of, &x, &w).unwrap().await_result().unwrap())
}

#[test]
fn the_number_of_threads_does_not_change_bits() {
    let of = |threads: usize| Device::builder().host().host_pool(HostPool::Threads(threads)).open().unwrap();
    let (one, others) = (of(1), [of(2), of(7)]);
    let layers = [
        [1, 5, 20, 3, 1, 19, 1],
        [1, 6, 9, 3, 2, 23, 3],
        [3, 70, 33, 1, 1, 9, 1],
        [1, 24, 40, 1, 1, 37, 1],
        [2, 12, 12, 3, 1, 30, 12],
        [9, 4, 17, 5, 3, 16, 1],
    ];
    for (layer, last) in layers.iter().flat_map(|layer| [(layer, false), (layer, true)]) {
        let own = convolved(&one, *layer, last);
        others.iter().for_each(|device| assert_eq!(convolved(device, *layer, last), own, "{layer:?} {last}"));
    }
    let attended = |device: &Device, queries: usize| {
        let [q, k, v] = [(queries, 20), (170, 20), (170, 33)].map(|(s, d)| filled(device, &[2, 3, s, d], 4.0));
        let spec = Attention::new().causal(Corner::BottomRight);
        bits(device, &device.dnn().attend(&spec, &q, &k, &v).unwrap().await_result().unwrap())
    };
    for queries in [1, 4, 140] {
        let own = attended(&one, queries);
        others.iter().for_each(|device| assert_eq!(attended(device, queries), own, "{queries}"));
    }
    let recurred = |device: &Device, cell: RecurrentCell| {
        let net = Recurrent::new(cell, 50, 130).layers(2);
        let (x, w) = (filled(device, &[3, 70, 50], 2.0), filled(device, &[net.parameter_count().unwrap()], 0.2));
        let (y, _, _) = device.dnn().recur(&net, &Sequences::new(&x), &w).unwrap().await_result().unwrap();
        bits(device, &y)
    };
    for cell in [RecurrentCell::Lstm, RecurrentCell::GruResetFirst] {
        let own = recurred(&one, cell);
        others.iter().for_each(|device| assert_eq!(recurred(device, cell), own, "{cell:?}"));
    }
    // Gradients, of which some choose their way by the number of threads.
    let sloped = |device: &Device| {
        let dnn = device.dnn();
        let [q, k, v] = [(140, 20), (170, 20), (170, 33)].map(|(s, d)| filled(device, &[2, 3, s, d], 4.0));
        let (spec, dy) = (Attention::new().causal(Corner::BottomRight), filled(device, &[2, 3, 140, 33], 1.0));
        let (o, sums) = dnn.attend_training(&spec, &q, &k, &v).unwrap().await_result().unwrap();
        let (dq, dk, dv) = dnn.attend_gradients(&spec, &q, &k, &v, &o, &dy, &sums).unwrap().await_result().unwrap();
        let (x, w) = (filled(device, &[3, 6, 23, 23], 1.0), filled(device, &[9, 2, 3, 3], 1.0));
        let of = Convolution::new().padding(1).groups(3);
        let y = dnn.convolve(&of, &x, &w).unwrap().await_result().unwrap();
        let dw = dnn.convolve_filter(&of, &x, &y, [3, 3]).unwrap().await_result().unwrap();
        [dq, dk, dv, dw].map(|all| bits(device, &all))
    };
    let own = sloped(&one);
    others.iter().for_each(|device| assert_eq!(sloped(device), own));
}

//! Contractions, networks, kernels and collectives.

use super::{Mistake, i, said, waited, x};
use windlass::collective::{Combine, Communicator};
use windlass::dnn::{
    Activation, Affine, Attention, Convolution, LabelLoss, LossReduction, NormKind, Pool, Recurrent, Sequences,
};
use windlass::nvrtc::Image;
use windlass::rng::{Generator, Stream};
use windlass::tensor_ops::Einsum;
use windlass::{Device, Tensor};

fn two() -> [Device; 2] {
    [Device::host().unwrap(), Device::host().unwrap()]
}

fn each(devices: &[Device; 2], lens: [usize; 2]) -> Vec<Tensor<f32>> {
    devices.iter().zip(lens).map(|(device, len)| x(device, [len])).collect()
}

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "einsum of one operand for two",
        |d| said(d.tensor_ops().einsum("ij,jk->ik", [&x(d, [2, 2])])),
        ["`operands`", "1", "`ij,jk->ik` has 2"],
    ),
    (
        "einsum of other axes",
        |d| said(d.tensor_ops().einsum("ijk", [&x(d, [2, 2])])),
        ["operand 0", "[2, 2]", "3 letters"],
    ),
    (
        "einsum of extents that differ",
        |d| said(d.tensor_ops().einsum("ij,kj->ik", (&x(d, [2, 2]), &x(d, [2, 3])))),
        ["operand 1", "`j` of `kj` is 3", "2 in operand 0"],
    ),
    (
        "einsum with a letter from nowhere",
        |d| said(d.tensor_ops().einsum("ij->ik", [&x(d, [2, 2])])),
        ["`expression`", "`k`", "operand"],
    ),
    ("einsum with a digit", |_| said(Einsum::parse("i1")), ["`expression`", "`1`", "letter"]),
    (
        "tensordot of other extents",
        |d| said(d.tensor_ops().tensordot(&x(d, [2, 3]), &x(d, [4, 2]), &[1], &[0])),
        ["`axes_b`", "[4, 2]", "[2, 3]"],
    ),
    (
        "trace of an axis that is not there",
        |d| said(d.tensor_ops().trace(&x(d, [2, 2]), 0, 0, 2)),
        ["`other`", "axis 2", "rank is 2"],
    ),
    (
        "a convolution of other channels",
        |d| said(d.dnn().convolve(&Convolution::new(), &x(d, [2, 4, 5, 5]), &x(d, [6, 3, 3, 3]))),
        ["`w`", "3 channels", "4"],
    ),
    (
        "a window that does not fit",
        |d| said(d.dnn().convolve(&Convolution::new(), &x(d, [2, 4, 5, 5]), &x(d, [6, 4, 6, 3]))),
        ["`w`", "6", "5"],
    ),
    (
        "a stride of nothing",
        |d| said(d.dnn().convolve(&Convolution::new().stride(0), &x(d, [2, 4, 5, 5]), &x(d, [6, 4, 3, 3]))),
        ["`stride`", "0 along spatial axis 0", "at least 1"],
    ),
    (
        "groups that do not divide",
        |d| said(d.dnn().convolve(&Convolution::new().groups(3), &x(d, [2, 4, 5, 5]), &x(d, [6, 4, 3, 3]))),
        ["`groups`", "3", "4"],
    ),
    (
        "a convolution of a vector",
        |d| said(d.dnn().convolve(&Convolution::new(), &x(d, [4]), &x(d, [6, 4, 3, 3]))),
        ["`x`", "[4]", "two axes"],
    ),
    (
        "a pool of more axes than there are",
        |d| said(d.dnn().max_pool(&x(d, [5]), &Pool::new([3, 3]))),
        ["`x`", "1 ax", "2"],
    ),
    (
        "a pool with another stride",
        |d| said(d.dnn().max_pool(&x(d, [1, 1, 5, 5]), &Pool::new([3, 3]).stride([2, 2, 2]))),
        ["`stride`", "3", "2"],
    ),
    (
        "a norm of more axes than there are",
        |d| said(d.dnn().norm(&x(d, [2, 3]), NormKind::Layer(3), 1e-5, &Affine::none())),
        ["`norm`", "the last 3 axes of [2, 3]", "all 2 at most"],
    ),
    (
        "groups of channels that do not divide",
        |d| said(d.dnn().norm(&x(d, [2, 4, 3]), NormKind::Group(3), 1e-5, &Affine::none())),
        ["`norm`", "3 groups of 4 channels", "divide"],
    ),
    (
        "a weight of another length",
        |d| {
            let weight = x(d, [4]);
            said(d.dnn().norm(&x(d, [2, 3]), NormKind::Layer(1), 1e-5, &Affine::weight(&weight)))
        },
        ["`weight`", "[4]", "[3]"],
    ),
    (
        "a loss of other labels",
        |d| said(d.dnn().cross_entropy(&x(d, [2, 3]), &i(d, [0, 1, 2]), &LabelLoss::new(LossReduction::Mean))),
        ["`labels`", "[3]", "[2]"],
    ),
    (
        "a label that is no class",
        |d| waited(d.dnn().cross_entropy(&x(d, [2, 3]), &i(d, [0, 3]), &LabelLoss::new(LossReduction::Mean))),
        ["`labels`", "3", "3"],
    ),
    (
        "an embedding of a row that is not there",
        |d| waited(d.dnn().embedding(&x(d, [5, 2]), &i(d, [0, 5]))),
        ["`indices`", "5", "5"],
    ),
    (
        "attention to other keys",
        |d| said(d.dnn().attend(&Attention::new(), &x(d, [1, 2, 4, 8]), &x(d, [1, 2, 5, 8]), &x(d, [1, 2, 6, 8]))),
        ["`v`", "6", "5"],
    ),
    (
        "attention of three axes",
        |d| said(d.dnn().attend(&Attention::new(), &x(d, [2, 4, 8]), &x(d, [2, 4, 8]), &x(d, [2, 4, 8]))),
        ["`q`", "[2, 4, 8]", "batch, heads"],
    ),
    (
        "a net of other inputs",
        |d| {
            let (net, input) = (Recurrent::lstm(3, 4), x(d, [5, 2, 7]));
            let parameters = x(d, [net.parameter_count().unwrap()]);
            said(d.dnn().recur(&net, &Sequences::new(&input), &parameters))
        },
        ["`x`", "7", "3"],
    ),
    (
        "a net of too few parameters",
        |d| {
            let (net, input) = (Recurrent::lstm(3, 4), x(d, [5, 2, 3]));
            said(d.dnn().recur(&net, &Sequences::new(&input), &x(d, [10])))
        },
        ["`parameters`", "[10]", "[144]"],
    ),
    (
        "a dropout of everything and more",
        |d| said(d.dnn().dropout(&x(d, [2]), 1.5, &Stream::new(Generator::Philox, 1))),
        ["`probability`", "1.5", "1"],
    ),
    (
        "a gradient of other extents",
        |d| said(d.dnn().activation_gradient(&x(d, [2]), &x(d, [3]), Activation::Relu)),
        ["`dy`", "[3]", "`x` has [2]"],
    ),
    (
        "PTX that is none",
        |d| said(Image::ptx("no ptx").and_then(|image| d.nvrtc().load(&image))),
        ["`text`", "6 bytes", "PTX"],
    ),
    (
        "a kernel that the module has not",
        |d| {
            let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry twice() {\n ret;\n}\n";
            said(d.nvrtc().load(&Image::ptx(text).unwrap()).and_then(|module| module.kernel("double")))
        },
        ["`name`", "`double`", "twice"],
    ),
    ("a communicator of none", |_| said(Communicator::new(&[] as &[Device])), ["`devices`", "empty", ""]),
    (
        "all_reduce of two lengths",
        |_| {
            let d = two();
            let comm = Communicator::new(&d).unwrap();
            said(comm.all_reduce(Combine::Sum, each(&d, [4, 4]).iter(), each(&d, [4, 5])).map(drop))
        },
        ["`outputs[1]`", "5", "4"],
    ),
    (
        "all_reduce of one input for two ranks",
        |_| {
            let d = two();
            let comm = Communicator::new(&d).unwrap();
            said(comm.all_reduce(Combine::Sum, each(&d, [4, 4])[..1].iter(), each(&d, [4, 4])).map(drop))
        },
        ["`inputs`", "only 1", "one for each rank"],
    ),
    (
        "a root that is no rank",
        |_| {
            let d = two();
            let comm = Communicator::new(&d).unwrap();
            said(comm.broadcast(5, each(&d, [4, 4])[..1].iter(), each(&d, [4, 4])).map(drop))
        },
        ["`root`", "5", "2"],
    ),
];

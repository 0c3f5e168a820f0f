//! The table: each node of ONNX, and what it is here. A row is a call, or a small function in a file
//! beside this one.

use super::node::{Made, Node};
use super::{
    attention, convolutions, libraries, moves, networks, optimizers, ordered, quantized, reductions, sampling, scans,
    shapes,
};
use windlass::DType;
use windlass::expressions::{Binary, Compare, Function, Unary};

pub(super) type Row = fn(&Node<'_>) -> Made;

pub(super) const TABLE: &[(&str, Row)] = &[
    // Arithmetic.
    ("Add", |n| n.two(|x, y| x + y)),
    ("Sub", |n| n.two(|x, y| x - y)),
    ("Mul", |n| n.two(|x, y| x * y)),
    ("Div", |n| n.two(|x, y| x / y)),
    ("Mod", |n| {
        let op = if n.int("fmod", 0) == 1 { Binary::Rem } else { Binary::Modulo };
        n.two(|x, y| x.binary(op, y))
    }),
    ("Pow", |n| {
        // Integers are raised in f64.
        n.two(|x, y| match (x.dtype(), y.dtype()) {
            (DType::I32 | DType::I64, _) => x.cast(DType::F64).pow(y.cast(DType::F64)).cast(x.dtype()),
            (float, _) => x.pow(y.cast(float)),
        })
    }),
    ("Abs", |n| n.one(|x| x.unary(Unary::Abs))),
    ("Neg", |n| n.one(|x| x.unary(Unary::Neg))),
    ("Sign", |n| n.one(|x| x.unary(Unary::Sign))),
    ("Reciprocal", |n| n.one(|x| x.number(1.0) / x)),
    ("Floor", |n| n.one(|x| x.unary(Unary::Floor))),
    ("Ceil", |n| n.one(|x| x.unary(Unary::Ceil))),
    ("Round", |n| n.one(|x| x.unary(Unary::RoundEven))),
    ("Min", |n| n.all(|all| all.iter().skip(1).fold(all[0], |x, y| x.minimum(*y)))),
    ("Max", |n| n.all(|all| all.iter().skip(1).fold(all[0], |x, y| x.maximum(*y)))),
    ("Sum", |n| n.all(|all| all.iter().skip(1).fold(all[0], |x, y| x + *y))),
    ("Mean", |n| n.all(|all| all.iter().skip(1).fold(all[0], |x, y| x + *y) / all.len() as f64)),
    ("Clip", |n| {
        let (low, high) = (n.scalar(1), n.scalar(2));
        n.one(|x| {
            let x = low.map_or(x, |low| x.maximum(low));
            high.map_or(x, |high| x.minimum(high))
        })
    }),
    // Functions.
    ("Sqrt", |n| n.one(|x| x.unary(Unary::Sqrt))),
    ("Exp", |n| n.one(|x| x.call(Function::Exp))),
    ("Log", |n| n.one(|x| x.call(Function::Log))),
    ("Sin", |n| n.one(|x| x.call(Function::Sin))),
    ("Cos", |n| n.one(|x| x.call(Function::Cos))),
    ("Tan", |n| n.one(|x| x.call(Function::Tan))),
    ("Asin", |n| n.one(|x| x.call(Function::Asin))),
    ("Acos", |n| n.one(|x| x.call(Function::Acos))),
    ("Atan", |n| n.one(|x| x.call(Function::Atan))),
    ("Sinh", |n| n.one(|x| x.call(Function::Sinh))),
    ("Cosh", |n| n.one(|x| x.call(Function::Cosh))),
    ("Tanh", |n| n.one(|x| x.call(Function::Tanh))),
    ("Asinh", |n| n.one(|x| x.call(Function::Asinh))),
    ("Acosh", |n| n.one(|x| x.call(Function::Acosh))),
    ("Atanh", |n| n.one(|x| x.call(Function::Atanh))),
    ("Erf", |n| n.one(|x| x.call(Function::Erf))),
    // Comparison, logic, bits.
    ("Equal", |n| n.two(|x, y| x.compare(Compare::Eq, y))),
    ("Greater", |n| n.two(|x, y| x.compare(Compare::Gt, y))),
    ("GreaterOrEqual", |n| n.two(|x, y| x.compare(Compare::Ge, y))),
    ("Less", |n| n.two(|x, y| x.compare(Compare::Lt, y))),
    ("LessOrEqual", |n| n.two(|x, y| x.compare(Compare::Le, y))),
    ("IsNaN", |n| n.one(|x| x.unary(Unary::IsNan))),
    ("IsInf", |n| {
        let (negative, positive) = (n.int("detect_negative", 1) == 1, n.int("detect_positive", 1) == 1);
        n.one(|x| match (negative, positive) {
            (true, true) => x.unary(Unary::Abs).compare(Compare::Eq, f64::INFINITY),
            (true, false) => x.compare(Compare::Eq, f64::NEG_INFINITY),
            _ => x.compare(Compare::Eq, f64::INFINITY),
        })
    }),
    ("And", |n| n.two(|x, y| x.binary(Binary::And, y))),
    ("Or", |n| n.two(|x, y| x.binary(Binary::Or, y))),
    ("Xor", |n| n.two(|x, y| x.binary(Binary::Xor, y))),
    ("Not", |n| n.one(|x| x.unary(Unary::Not))),
    ("BitwiseAnd", |n| n.two(|x, y| x.binary(Binary::And, y))),
    ("BitwiseOr", |n| n.two(|x, y| x.binary(Binary::Or, y))),
    ("BitwiseXor", |n| n.two(|x, y| x.binary(Binary::Xor, y))),
    ("BitwiseNot", |n| n.one(|x| x.unary(Unary::Not))),
    ("BitShift", |n| {
        let op = if n.text("direction", "") == "LEFT" { Binary::Shl } else { Binary::Shr };
        n.two(|x, y| x.binary(op, y))
    }),
    ("Where", |n| n.all(|x| x[0].select(x[1], x[2]))),
    // Types.
    ("Cast", |n| quantized::cast(n, super::cases::numbered(n.int("to", 0)))),
    ("CastLike", |n| quantized::cast(n, n.input(1).dtype())),
    ("BitCast", |n| {
        let to = super::cases::numbered(n.int("to", 0));
        n.one(|x| if x.dtype() == DType::Bool { x.cast(to) } else { x.bits(to) })
    }),
    ("QuantizeLinear", quantized::quantize),
    ("DequantizeLinear", quantized::dequantize),
    ("Binarizer", |n| {
        let threshold = n.float("threshold", 0.0);
        n.one(|x| x.gt(threshold).select(x.number(1.0), 0.0))
    }),
    // Optimizers.
    ("Adagrad", optimizers::adagrad),
    ("Adam", optimizers::adam),
    ("Momentum", optimizers::momentum),
    // Activations.
    ("Relu", |n| n.one(|x| x.maximum(0.0))),
    ("LeakyRelu", |n| {
        let alpha = n.float("alpha", 0.01);
        n.one(|x| x.lt(0.0).select(x * alpha, x))
    }),
    ("PRelu", |n| n.two(|x, slope| x.lt(0.0).select(slope * x, x))),
    ("ThresholdedRelu", |n| {
        let alpha = n.float("alpha", 1.0);
        n.one(|x| x.gt(alpha).select(x, 0.0))
    }),
    ("Elu", |n| {
        let alpha = n.float("alpha", 1.0);
        n.one(|x| x.lt(0.0).select(x.call(Function::Expm1) * alpha, x))
    }),
    ("Selu", |n| {
        let (alpha, gamma) = (n.float("alpha", 1.673_263_192_176_818_8), n.float("gamma", 1.050_701_022_148_132_3));
        n.one(|x| x.lt(0.0).select(x.call(Function::Expm1) * alpha, x) * gamma)
    }),
    ("Celu", |n| {
        let alpha = n.float("alpha", 1.0);
        n.one(|x| x.maximum(0.0) + ((x / alpha).call(Function::Expm1) * alpha).minimum(0.0))
    }),
    ("Gelu", |n| {
        let function = if n.text("approximate", "none") == "tanh" { Function::GeluTanh } else { Function::Gelu };
        n.one(|x| x.call(function))
    }),
    ("Sigmoid", |n| n.one(|x| x.call(Function::Sigmoid))),
    ("Swish", |n| {
        let alpha = n.float("alpha", 1.0);
        n.one(|x| x * (x * alpha).call(Function::Sigmoid))
    }),
    ("SwiGLU", |n| {
        let alpha = n.float("alpha", 1.0);
        n.two(|x, y| x * (x * alpha).call(Function::Sigmoid) * y)
    }),
    ("HardSigmoid", |n| {
        let (alpha, beta) = (n.float("alpha", 0.2), n.float("beta", 0.5));
        n.one(|x| (x * alpha + beta).minimum(1.0).maximum(0.0))
    }),
    ("HardSwish", |n| n.one(|x| x * (x / 6.0 + 0.5).minimum(1.0).maximum(0.0))),
    ("Softplus", |n| n.one(|x| x.call(Function::Softplus))),
    ("Softsign", |n| n.one(|x| x / (x.unary(Unary::Abs) + 1.0))),
    ("Mish", |n| n.one(|x| x * x.call(Function::Softplus).call(Function::Tanh))),
    ("Shrink", |n| {
        let (bias, limit) = (n.float("bias", 0.0), n.float("lambd", 0.5));
        n.one(|x| x.lt(-limit).select(x + bias, x.gt(limit).select(x - bias, 0.0)))
    }),
    // Neural networks.
    ("AveragePool", networks::average_pool),
    ("MaxPool", networks::max_pool),
    ("LpPool", networks::lp_pool),
    ("GlobalAveragePool", |n| networks::global_pool(n, false)),
    ("GlobalMaxPool", |n| networks::global_pool(n, true)),
    ("BatchNormalization", networks::batch_norm),
    ("GroupNormalization", networks::channel_norm),
    ("InstanceNormalization", networks::channel_norm),
    ("LayerNormalization", networks::layer_norm),
    ("RMSNormalization", networks::rms_norm),
    ("LRN", networks::response_norm),
    ("LpNormalization", networks::lp_norm),
    ("MeanVarianceNormalization", networks::mean_variance),
    ("NegativeLogLikelihoodLoss", |n| networks::loss(n, true)),
    ("SoftmaxCrossEntropyLoss", |n| networks::loss(n, false)),
    ("RotaryEmbedding", networks::rotary),
    ("Resize", networks::resize),
    ("GridSample", sampling::grid_sample),
    ("AffineGrid", sampling::affine_grid),
    ("CenterCropPad", sampling::center_crop_pad),
    ("Upsample", networks::upsample),
    // Views, each as a tensor of its own.
    ("Identity", |n| n.view(Ok(n.input(0).view()))),
    ("Transpose", shapes::transpose),
    ("Reshape", shapes::reshape),
    ("Flatten", shapes::flatten),
    ("Squeeze", shapes::squeeze),
    ("Unsqueeze", shapes::unsqueeze),
    ("Slice", shapes::slice),
    ("Split", shapes::split),
    ("Expand", shapes::expand),
    ("Tile", shapes::tile),
    ("DepthToSpace", shapes::depth_to_space),
    ("SpaceToDepth", shapes::space_to_depth),
    // Reductions.
    ("ReduceSum", reductions::sum),
    ("ReduceProd", reductions::prod),
    ("ReduceMean", reductions::mean),
    ("ReduceMax", reductions::max),
    ("ReduceMin", reductions::min),
    ("ReduceL1", reductions::norm1),
    ("ReduceL2", reductions::norm2),
    ("ReduceSumSquare", reductions::sum_of_squares),
    ("ReduceLogSum", reductions::log_of_sum),
    ("ReduceLogSumExp", reductions::logsumexp),
    ("ArgMax", reductions::argmax),
    ("ArgMin", reductions::argmin),
    ("Softmax", reductions::softmax),
    ("LogSoftmax", reductions::log_softmax),
    ("Hardmax", reductions::hardmax),
    // Products of integers.
    ("MatMulInteger", libraries::matmul_integer),
    ("QLinearMatMul", libraries::qlinear_matmul),
    // Scans.
    ("CumSum", scans::cumsum),
    ("CumProd", scans::cumprod),
    // Moves.
    ("Concat", moves::concat),
    ("Pad", moves::pad),
    ("Gather", moves::gather),
    ("GatherElements", moves::gather_elements),
    ("GatherND", moves::gather_nd),
    ("ArrayFeatureExtractor", moves::array_feature_extractor),
    // Order.
    ("Compress", ordered::compress),
    ("NonZero", ordered::nonzero),
    ("ReverseSequence", ordered::reverse_sequence),
    ("Scatter", ordered::scatter_elements),
    ("ScatterElements", ordered::scatter_elements),
    ("ScatterND", ordered::scatter_nd),
    ("TopK", ordered::top_k),
    ("Unique", ordered::unique),
    ("TensorScatter", ordered::tensor_scatter),
    // What the host knows.
    ("Shape", shapes::shape),
    ("Size", |n| n.known(&[], &[n.input(0).len() as i64])),
    ("Constant", shapes::constant),
    // By position.
    ("ConstantOfShape", shapes::constant_of_shape),
    ("Range", shapes::range),
    ("EyeLike", shapes::eye_like),
    ("Trilu", shapes::trilu),
    ("OneHot", shapes::one_hot),
    ("HannWindow", |n| shapes::window(n, [0.5, 0.5, 0.0])),
    ("HammingWindow", |n| shapes::window(n, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    ("BlackmanWindow", |n| shapes::window(n, [0.42, 0.5, 0.08])),
];

/// Rows that the stand-in cannot run: of CUDA's libraries, which it does not have, and of kernels whose threads share memory.
pub(super) const LIBRARIES: &[(&str, Row)] = &[
    ("Attention", attention::attention),
    ("FlexAttention", attention::attention),
    ("LinearAttention", attention::linear),
    ("Conv", convolutions::conv),
    ("ConvTranspose", convolutions::transposed),
    ("ConvInteger", convolutions::of_integers),
    ("QLinearConv", convolutions::of_quantized),
    ("CausalConvWithState", convolutions::causal),
    ("Col2Im", convolutions::col2im),
    ("MaxUnpool", sampling::max_unpool),
    ("DFT", libraries::dft),
    ("Einsum", libraries::einsum),
    ("Gemm", libraries::gemm),
    ("MatMul", libraries::matmul),
];

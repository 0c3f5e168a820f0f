//! A product on a device against the oracle.

use super::case::{Factor, Kind, Lay, Num, Plan, re};
use super::kept;
use crate::common::{Rng, assert_same_bits, down, is_host, up};
use windlass::blaslt::{Epilogue, MatmulElement, MatmulTypes, Operands};
use windlass::reference::{Sum, gamma, gelu, gelu_slope, sum_of_products};
use windlass::tensor::Layout;
use windlass::{DType, Device, Error, Tensor};

/// The types of one product.
type Types<A, B, C, D> = <A as MatmulElement<B, D, C>>::Types;
type Scalar<A, B, C, D> = <Types<A, B, C, D> as MatmulTypes>::Scalar;
type Bias<A, B, C, D> = <Types<A, B, C, D> as MatmulTypes>::Bias;
type Aux<A, B, C, D> = <Types<A, B, C, D> as MatmulTypes>::Aux;
type DataOf<A, B, C, D> = Data<A, B, C, D, Scalar<A, B, C, D>, Bias<A, B, C, D>, Aux<A, B, C, D>>;
type AnswerOf<A, B, C, D> = Answer<D, Bias<A, B, C, D>, Aux<A, B, C, D>>;

const fn is_eight(dtype: DType) -> bool {
    matches!(dtype, DType::F8E4M3 | DType::F8E5M2)
}

/// What goes in.
struct Data<A, B, C, D, S, Bias, Aux> {
    a: Vec<A>,
    b: Vec<B>,
    c: Vec<C>,
    d: Vec<D>,
    factors: [S; 2],
    bias: Vec<Bias>,
    /// Row by row, as the next.
    mask: Vec<bool>,
    pre: Vec<Aux>,
    /// Of A, B (one or as many as rows and columns) and D.
    scales: [Vec<f32>; 3],
}

/// What comes out; empty where the epilogue writes no such thing.
struct Answer<D, Bias, Aux> {
    d: Vec<D>,
    /// What was kept, row by row: a mask, or the slopes of GELU at what was kept.
    mask: Vec<bool>,
    slopes: Vec<Aux>,
    grad: Vec<Bias>,
    amax: Vec<f32>,
}

/// The error of one rounding in the sums, on this device.
fn unit<A: Num, S: Num>(device: &Device) -> f64 {
    if is_host(device) {
        return S::UNIT;
    }
    match A::DTYPE {
        // Tensor cores align the products of a step and cut them off: a few bits less than f32, and for 8-bit floats
        // sums of 14 bits within each step.
        DType::F8E4M3 | DType::F8E5M2 => 2f64.powi(-12),
        DType::F16 | DType::Bf16 => 2f64.powi(-22),
        _ => S::UNIT,
    }
}

/// How far a computed GELU and its derivative may be from the exact ones at `x`: what an error of the tanh makes of
/// them, 2^-11 on a GPU (that of its own instruction), and the roundings of the rest.
fn gelu_errors<S: Num>(device: &Device, x: f64) -> [f64; 2] {
    let tanh = if is_host(device) { 8.0 * S::UNIT } else { 2f64.powi(-11) };
    let bend = 0.8 * x.abs() * (1.0 + 0.135 * x * x);
    [x.abs() * (tanh / 2.0 + 8.0 * S::UNIT), tanh * (0.5 + bend) + 16.0 * S::UNIT * (1.0 + bend)]
}

/// Runs one random product and compares. `false`: the library does not do it, and `may_refuse` allowed that.
pub fn check<A, B, C, D>(device: &Device, plan: &Plan, rng: &mut Rng, may_refuse: bool) -> bool
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    check_when::<A, B, C, D>(device, plan, rng, may_refuse, &|| {})
}

/// The same; `ready` is called just before the product.
pub fn check_when<A, B, C, D>(device: &Device, plan: &Plan, rng: &mut Rng, may_refuse: bool, ready: &dyn Fn()) -> bool
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    let [lay_a, lay_b, lay_c, lay_d] = plan.lay;
    let elements = plan.batch * plan.m * plan.n;
    let mut data = DataOf::<A, B, C, D> {
        a: lay_a.fill(rng),
        b: lay_b.fill(rng),
        c: lay_c.fill(rng),
        d: lay_d.fill(rng),
        factors: [plan.alpha, plan.beta].map(Num::of),
        bias: {
            let len = if plan.kind.biased() { plan.bias_stride * (plan.batch - 1) + plan.bias_len() } else { 0 };
            (0..len).map(|_| Num::sample(rng)).collect()
        },
        mask: (0..if plan.kind.reads_mask() { elements } else { 0 }).map(|_| rng.below(2) == 0).collect(),
        pre: (0..if plan.kind.reads_pre() { elements } else { 0 }).map(|_| Num::sample(rng)).collect(),
        scales: {
            let mut some = |len: usize| (0..len).map(|_| rng.pick(&[0.5f32, 2.0, 0.375])).collect();
            match (plan.scaled, plan.outer) {
                (true, true) => [some(plan.m), some(plan.n), some(usize::from(plan.quantized))],
                (true, false) => [some(1), some(1), some(usize::from(plan.quantized))],
                (false, _) => [some(0), some(0), some(usize::from(plan.quantized))],
            }
        },
    };
    if plan.beta == 0.0 && !plan.on_device[1] {
        // Neither is read.
        data.d.fill(D::POISON);
        data.c.fill(C::POISON);
    }
    if plan.alpha == 0.0 && !plan.on_device[0] {
        // Read for their own gradients alone.
        if plan.kind != Kind::BgradA {
            data.a.fill(A::POISON);
        }
        if plan.kind != Kind::BgradB {
            data.b.fill(B::POISON);
        }
    }
    match run(device, plan, &data, ready) {
        Ok(answer) => {
            compare(device, plan, &data, &answer);
            true
        }
        Err(Error::Unsupported { reason, .. }) if may_refuse && !is_host(device) => {
            println!("refused: {reason}");
            false
        }
        Err(error) => panic!("{error} from {device:?} for {plan:?}"),
    }
}

fn run<A, B, C, D>(
    device: &Device,
    plan: &Plan,
    data: &DataOf<A, B, C, D>,
    ready: &dyn Fn(),
) -> windlass::Result<AnswerOf<A, B, C, D>>
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    let [lay_a, lay_b, lay_c, lay_d] = &plan.lay;
    let (a, b, c) = (up(device, data.a.clone()), up(device, data.b.clone()), up(device, data.c.clone()));
    let turned = |layout: Layout, trans: bool| if trans { layout.swap_axes(-1, -2).unwrap() } else { layout };
    let (a, b) = (a.view(turned(lay_a.layout(), plan.trans[0]))?, b.view(turned(lay_b.layout(), plan.trans[1]))?);
    let d = up(device, data.d.clone()).with_layout(lay_d.layout())?;
    let bias = up(device, data.bias.clone());
    let bias = match plan.batch {
        _ if !plan.kind.biased() => bias.view(Layout::row_major([0])?)?,
        1 => bias.view(Layout::row_major([plan.bias_len()])?)?,
        _ if plan.bias_stride == 0 => bias.view(Layout::row_major([plan.bias_len()])?)?,
        batch => bias.view(Layout::new([batch, plan.bias_len()], [plan.bias_stride as isize, 1], 0)?)?,
    };
    let [scale_a, scale_b, scale_d] = data.scales.each_ref().map(|s| up(device, s.clone()));
    let [alpha, beta] = data.factors.map(|x| up(device, [x]));
    let lt = device.blas_lt();
    let spec = plan.spec();
    let spec = if plan.on_device[0] { spec.alpha(&alpha) } else { spec.alpha(data.factors[0]) };
    let spec = if plan.on_device[1] { spec.beta(&beta) } else { spec.beta(data.factors[1]) };
    let mut answer = Answer { d: Vec::new(), mask: Vec::new(), slopes: Vec::new(), grad: Vec::new(), amax: Vec::new() };

    // Every epilogue is a type of its own, and so is every kind of operands.
    macro_rules! with_operands {
        ($epilogue:expr) => {{
            let mut operands = Operands::new(&a, &b);
            if plan.scaled {
                operands = match plan.outer {
                    true => operands.outer_scales(&scale_a, &scale_b),
                    false => operands.scale_a(&scale_a).scale_b(&scale_b),
                };
            }
            if plan.quantized {
                operands = operands.scale_d(&scale_d);
            }
            let operands = operands.maybe_c(plan.separate.then(|| c.view(lay_c.layout()).unwrap()));
            let epilogue = if plan.per_row { $epilogue.per_row() } else { $epilogue };
            ready();
            lt.matmul_with(spec, operands, epilogue, d)?.await_result()?
        }};
    }
    macro_rules! one {
        ($epilogue:expr) => {{
            if const { is_eight(D::DTYPE) } && plan.quantized {
                let (d, amax) = with_operands!($epilogue.amax());
                (answer.d, answer.amax) = (down(device, d.buffer()), down(device, &amax));
            } else {
                answer.d = down(device, with_operands!($epilogue).buffer());
            }
        }};
    }
    macro_rules! two {
        ($field:ident, $epilogue:expr, $look:expr) => {{
            if const { is_eight(D::DTYPE) } && plan.quantized {
                let (d, beside, amax) = with_operands!($epilogue.amax());
                (answer.d, answer.$field) = (down(device, d.buffer()), $look(&beside));
                answer.amax = down(device, &amax);
            } else {
                let (d, beside) = with_operands!($epilogue);
                (answer.d, answer.$field) = (down(device, d.buffer()), $look(&beside));
            }
        }};
    }
    let bits = |mask: &_| kept::bits(device, lay_d, mask);
    let slopes = |pre: &_| Num::slopes(device, lay_d, pre);
    let sums = |grad: &Tensor<_>| {
        let len = if plan.kind == Kind::BgradA { plan.m } else { plan.n };
        let len = if matches!(plan.kind, Kind::BgradA | Kind::BgradB) { len } else { plan.bias_len() };
        let shape = if plan.batch == 1 { vec![len] } else { vec![plan.batch, len] };
        assert_eq!(grad.shape(), shape);
        down(device, grad)
    };
    let mask = plan.kind.reads_mask().then(|| kept::mask(device, lay_d, &data.mask));
    let pre = plan.kind.reads_pre().then(|| Num::keep(device, lay_d, &data.pre));
    let (mask, pre) = (|| mask.as_ref().unwrap(), || pre.as_ref().unwrap());
    match plan.kind {
        Kind::None => one!(Epilogue::none()),
        Kind::Bias => one!(Epilogue::bias(&bias)),
        Kind::Relu => one!(Epilogue::relu()),
        Kind::ReluBias => one!(Epilogue::relu_bias(&bias)),
        Kind::Gelu => one!(Epilogue::gelu()),
        Kind::GeluBias => one!(Epilogue::gelu_bias(&bias)),
        Kind::DRelu => one!(Epilogue::drelu(mask())),
        Kind::DGelu => one!(Epilogue::dgelu(pre())),
        Kind::ReluAux => two!(mask, Epilogue::relu_aux(), bits),
        Kind::ReluAuxBias => two!(mask, Epilogue::relu_aux_bias(&bias), bits),
        Kind::GeluAux => two!(slopes, Epilogue::gelu_aux(), slopes),
        Kind::GeluAuxBias => two!(slopes, Epilogue::gelu_aux_bias(&bias), slopes),
        Kind::DReluBgrad => two!(grad, Epilogue::drelu_bgrad(mask()), sums),
        Kind::DGeluBgrad => two!(grad, Epilogue::dgelu_bgrad(pre()), sums),
        Kind::BgradA => two!(grad, Epilogue::bgrad_a(), sums),
        Kind::BgradB => two!(grad, Epilogue::bgrad_b(), sums),
    }
    Ok(answer)
}

/// A number and how far off a computed one may be.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    value: [f64; 2],
    error: f64,
}

#[track_caller]
fn assert_near<T: Num>(got: T, want: Near, what: &dyn Fn() -> String) {
    let clamp = |x: f64| x.clamp(-T::most(), T::most());
    for (got, want_part) in got.parts().into_iter().zip(want.value.map(clamp)) {
        let error = want.error + 2.0 * T::UNIT * (want_part.abs() + want.error) + T::TINY;
        assert!((got - want_part).abs() <= error, "{got} is not within {error:e} of {want_part}: {}", what());
    }
}

/// Element (`i`, `p`) of a factor after its operation; the conjugation is the sum's.
fn element<T: Num>(x: &[T], lay: &Lay, trans: bool, batch: usize, i: usize, p: usize) -> T {
    let at = if trans { lay.at(batch, p, i) } else { lay.at(batch, i, p) };
    x[at]
}

/// `alpha * scales * sum + beta * c + bias`, before any activation.
fn linear<A: Num, B: Num, C: Num, D: Num, S: Num, Bias: Num, Aux: Num>(
    device: &Device,
    plan: &Plan,
    data: &Data<A, B, C, D, S, Bias, Aux>,
    (batch, i, j): (usize, usize, usize),
) -> Near {
    let [lay_a, lay_b, lay_c, lay_d] = &plan.lay;
    let scale = |x: &[f32], at: usize| f64::from(*x.get(at).or(x.first()).unwrap_or(&1.0));
    let [alpha, beta] = data.factors.map(|x| x.parts()[0]);
    let alpha = alpha * scale(&data.scales[0], i) * scale(&data.scales[1], j);
    let sum = if alpha == 0.0 {
        Sum::default()
    } else {
        let terms = (0..plan.k).map(|p| {
            let b = element(&data.b, lay_b, plan.trans[1], batch, p, j);
            (element(&data.a, lay_a, plan.trans[0], batch, i, p), b)
        });
        sum_of_products(terms, plan.conjugate)
    };
    let old = match (beta == 0.0, plan.separate) {
        (true, _) => [0.0; 2],
        (_, true) => data.c[lay_c.at(batch, i, j)].parts(),
        (_, false) => data.d[lay_d.at(batch, i, j)].parts(),
    };
    let bias = if plan.kind.biased() {
        data.bias[batch * plan.bias_stride + if plan.per_row { i } else { j }].parts()
    } else {
        [0.0; 2]
    };
    let part = |at: usize| alpha * sum.value[at] + beta * old[at] + bias[at];
    let value = [part(0), part(1)];
    let size = |x: [f64; 2]| x[0].abs() + x[1].abs();
    let roundings = plan.k * if A::COMPLEX { 2 } else { 1 } + 8;
    let unit = unit::<A, S>(device);
    let error = gamma(roundings, unit) * (alpha.abs() * sum.size)
        + 8.0 * S::UNIT * (beta.abs() * size(old) + size(bias) + size(value));
    // cuBLASLt may round to the type of D before it adds a bias (seen with k = 1).
    let early = if is_host(device) || !plan.kind.biased() { 0.0 } else { 2.0 * D::UNIT };
    let error = error + early * (alpha.abs() * sum.size + beta.abs() * size(old));
    // What underflow may take, where there is anything that could.
    Near { value, error: error + if S::TINY < 1.0 { roundings as f64 * S::TINY } else { 0.0 } }
}

fn compare<A: Num, B: Num, C: Num, D: Num, S: Num, Bias: Num, Aux: Num>(
    device: &Device,
    plan: &Plan,
    data: &Data<A, B, C, D, S, Bias, Aux>,
    answer: &Answer<D, Bias, Aux>,
) {
    use Kind::*;
    let lay_d = &plan.lay[3];
    let scale_d = f64::from(*data.scales[2].first().unwrap_or(&1.0));
    let mut amax = Near::default();
    let len = plan.bias_len();
    let mut sums = vec![(Near::default(), 0.0); plan.batch * len];
    for batch in 0..plan.batch {
        for (i, j) in (0..plan.m).flat_map(|i| (0..plan.n).map(move |j| (i, j))) {
            let what = || format!("({batch}, {i}, {j}) on {device:?} for {plan:?}");
            let x = linear(device, plan, data, (batch, i, j));
            let (value, error) = (x.value[0], x.error);
            let at = plan.at(batch, i, j);
            let y = match plan.kind {
                None | Bias | BgradA | BgradB => x,
                Relu | ReluBias | ReluAux | ReluAuxBias => Near { value: [value.max(0.0), 0.0], error },
                Gelu | GeluBias | GeluAux | GeluAuxBias => {
                    Near { value: [gelu(value), 0.0], error: 1.13 * error + gelu_errors::<S>(device, value)[0] }
                }
                DRelu | DReluBgrad if data.mask[at] => x,
                DRelu | DReluBgrad => Near::default(),
                DGelu | DGeluBgrad => {
                    let pre = re(data.pre[at]);
                    let slope = gelu_slope(pre);
                    let error = 1.13 * error + gelu_errors::<S>(device, pre)[1] * (value.abs() + error);
                    Near { value: [value * slope, 0.0], error }
                }
            };
            if matches!(plan.kind, ReluAux | ReluAuxBias) && value.abs() > error {
                assert_eq!(answer.mask[at], value > 0.0, "mask at {}", what());
            }
            if matches!(plan.kind, GeluAux | GeluAuxBias) {
                // The slope changes by no more than 1.2 of what its argument changes.
                let off = 1.2 * (error + 2.0 * Aux::UNIT * (value.abs() + error) + Aux::TINY);
                let slope = Near { value: [gelu_slope(value), 0.0], error: off + gelu_errors::<S>(device, value)[1] };
                assert_near(answer.slopes[at], slope, &|| format!("slope at {}", what()));
            }
            if y.value[0].abs() > amax.value[0] {
                amax.value[0] = y.value[0].abs();
            }
            amax.error = amax.error.max(y.error);
            let (sum, size) = &mut sums[batch * len + if plan.per_row { i } else { j }];
            sum.value[0] += y.value[0];
            // The library may add what was rounded to D.
            sum.error += y.error + if is_host(device) { 0.0 } else { 2.0 * D::UNIT * y.value[0].abs() };
            *size += y.value[0].abs();
            let stored = Near { value: y.value.map(|part| part * scale_d), error: y.error * scale_d };
            assert_near(answer.d[lay_d.at(batch, i, j)], stored, &what);
        }
        let gradients: Vec<Near> = match plan.kind {
            DReluBgrad | DGeluBgrad => sums[batch * len..][..len]
                .iter()
                .map(|(sum, size)| Near { error: sum.error + gamma(plan.m.max(plan.n) + 8, S::UNIT) * size, ..*sum })
                .collect(),
            BgradA => {
                let term = |i, p| re(element(&data.a, &plan.lay[0], plan.trans[0], batch, i, p));
                (0..plan.m).map(|i| total((0..plan.k).map(|p| term(i, p)), unit::<A, S>(device))).collect()
            }
            BgradB => {
                let term = |p, j| re(element(&data.b, &plan.lay[1], plan.trans[1], batch, p, j));
                (0..plan.n).map(|j| total((0..plan.k).map(|p| term(p, j)), unit::<A, S>(device))).collect()
            }
            _ => Vec::new(),
        };
        let each = gradients.len();
        for (i, want) in gradients.into_iter().enumerate() {
            assert_near(answer.grad[batch * each + i], want, &|| format!("gradient {i} of {plan:?}"));
        }
    }
    if plan.quantized {
        amax.error += amax.value[0] * f64::from(f32::EPSILON);
        assert_near(answer.amax[0], amax, &|| format!("largest magnitude of {plan:?}"));
    }
    for (at, (got, old)) in answer.d.iter().zip(&data.d).enumerate().filter(|(at, _)| !lay_d.holds(*at)) {
        assert_same_bits(&[*got], &[*old], &format!("padding at {at} of {plan:?} on {device:?}"));
    }
}

fn total(terms: impl Iterator<Item = f64>, unit: f64) -> Near {
    let (sum, size, count) = terms.fold((0.0, 0.0, 0), |(sum, size, count), x| (sum + x, size + x.abs(), count + 1));
    Near { value: [sum, 0.0], error: gamma(count + 8, unit) * size }
}

//! The elementary functions against the C library's double precision.
//!
//! In single precision over inputs of all exponents; `WINDLASS_TEST_STRIDE=1` takes all 2^32 of them for each function of one
//! argument (hours of a core), and `WINDLASS_TEST_FUNCTIONS=Exp,Log` only some functions. In double precision the C library is no better than we are: it only finds what is wrong.

use crate::common::devices;
use rayon::prelude::*;
use windlass::expressions::{Formula, Function, Symbol};
use windlass::{Device, DeviceKind, Element};

unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
}

/// The constants of GELU's formula by tanh, in double precision and rounded to single.
const GELU: [[f64; 2]; 2] =
    [[1.595_769_121_605_730_8, 0.044_715], [1.595_769_166_946_411_1, 0.044_714_998_453_855_515]];

fn exact(function: Function, x: f64, y: f64, [factor, cubic]: [f64; 2]) -> f64 {
    let logistic = |x: f64| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    match function {
        Function::Exp => x.exp(),
        Function::Exp2 => x.exp2(),
        Function::Expm1 => x.exp_m1(),
        Function::Log => x.ln(),
        Function::Log2 => x.log2(),
        Function::Log10 => x.log10(),
        Function::Log1p => x.ln_1p(),
        Function::Pow => x.powf(y),
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Cbrt => x.cbrt(),
        Function::Hypot => x.hypot(y),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Asin => x.asin(),
        Function::Acos => x.acos(),
        Function::Atan => x.atan(),
        Function::Atan2 => x.atan2(y),
        Function::Sinh => x.sinh(),
        Function::Cosh => x.cosh(),
        Function::Tanh => x.tanh(),
        Function::Asinh => {
            if x.abs() < 1e-3 {
                x - x * x * x / 6.0
            } else {
                x.asinh()
            }
        }
        Function::Acosh => x.acosh(),
        Function::Atanh => {
            if x.abs() < 1e-3 {
                x + x * x * x / 3.0
            } else {
                x.atanh()
            }
        }
        Function::Erf => erf(x),
        Function::Erfc => erfc(x),
        Function::Sigmoid => logistic(x),
        // The limit, where the product would be of infinity and zero.
        Function::Gelu | Function::GeluTanh | Function::Silu if x == f64::NEG_INFINITY => -0.0,
        Function::Gelu => x / 2.0 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        Function::GeluTanh => x * logistic(factor * (x + cubic * x * x * x)),
        Function::Silu => x * logistic(x),
        Function::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        other => panic!("{other:?}"),
    }
}

fn symbol<T: Element>(function: Function, x: Symbol<T>, y: Symbol<T>) -> Symbol<T> {
    match function {
        Function::Exp => x.exp(),
        Function::Exp2 => x.exp2(),
        Function::Expm1 => x.expm1(),
        Function::Log => x.log(),
        Function::Log2 => x.log2(),
        Function::Log10 => x.log10(),
        Function::Log1p => x.log1p(),
        Function::Pow => x.pow(y),
        Function::Rsqrt => x.rsqrt(),
        Function::Cbrt => x.cbrt(),
        Function::Hypot => x.hypot(y),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.tan(),
        Function::Asin => x.asin(),
        Function::Acos => x.acos(),
        Function::Atan => x.atan(),
        Function::Atan2 => x.atan2(y),
        Function::Sinh => x.sinh(),
        Function::Cosh => x.cosh(),
        Function::Tanh => x.tanh(),
        Function::Asinh => x.asinh(),
        Function::Acosh => x.acosh(),
        Function::Atanh => x.atanh(),
        Function::Erf => x.erf(),
        Function::Erfc => x.erfc(),
        Function::Sigmoid => x.sigmoid(),
        Function::Gelu => x.gelu(),
        Function::GeluTanh => x.gelu_tanh(),
        Function::Silu => x.silu(),
        Function::Softplus => x.softplus(),
        other => panic!("{other:?}"),
    }
}

fn run<T: Element>(device: &Device, function: Function, x: &[T], y: &[T]) -> Vec<T> {
    let formula = Formula::new(|(x, y): (Symbol<T>, Symbol<T>)| symbol(function, x, y)).unwrap();
    let (x, y) = (device.tensor([x.len()], x).unwrap(), device.tensor([y.len()], y).unwrap());
    let out = device.apply(&formula, (&x, &y)).unwrap().into_output();
    device.download(&out).unwrap().await_result().unwrap()
}

/// Units in the last place of the type with so many digits, whose smallest unit is this power of two.
fn apart(got: f64, exact: f64, digits: i32, least: i32) -> f64 {
    if got == exact || (got.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let exponent = if exact == 0.0 { least } else { (exact.abs().log2().floor() as i32 - digits + 1).max(least) };
    // The largest number and infinity are one unit apart.
    let bounded = |x: f64| if digits == 24 { x.clamp(-(2f64.powi(128)), 2f64.powi(128)) } else { x };
    // A power below the smallest normal number would be computed through one that overflows.
    let unit = 2f64.powi(exponent.max(-1000)) * 2f64.powi(exponent - exponent.max(-1000));
    ((bounded(got) - bounded(exact)) / unit).abs()
}

/// Elements of a part, which is computed at once.
const PART: u64 = 1 << 20;

/// The worst error of a function over the patterns `from..to`, of which every `stride`-th is taken, and where it is. All devices
/// have to give the same bits.
fn worst(devices: &[Device], function: Function, from: u64, to: u64, stride: u64) -> (f64, f32, f32) {
    let x: Vec<f32> = (from..to).step_by(stride as usize).map(|bits| f32::from_bits(bits as u32)).collect();
    // The second arguments in another order.
    let y: Vec<f32> = match function {
        Function::Pow => x.iter().map(|x| (x.to_bits() % 4001) as f32 / 100.0 - 20.0).collect(),
        _ => x.iter().map(|x| f32::from_bits(x.to_bits().wrapping_mul(0x9e37_79b1))).collect(),
    };
    let mut results = devices.iter().map(|device| run(device, function, &x, &y));
    let first = results.next().expect("a device");
    for other in results {
        let differ = first.iter().zip(&other).position(|(a, b)| a.to_bits() != b.to_bits());
        assert_eq!(differ.map(|at| (x[at], y[at], first[at], other[at])), None, "{function:?} differs between engines");
    }
    let mut worst = (0.0, 0f32, 0f32);
    for ((x, y), got) in x.iter().zip(&y).zip(first) {
        let exact = exact(function, (*x).into(), (*y).into(), GELU[1]);
        // At most half a unit, as most are.
        if (exact as f32).to_bits() == got.to_bits() {
            continue;
        }
        let error = apart(got.into(), exact, 24, -149);
        if error.is_nan() || error > worst.0 {
            worst = (error, *x, *y);
        }
    }
    worst
}

#[test]
fn single_precision_is_within_one_unit() {
    let stride: u64 = std::env::var("WINDLASS_TEST_STRIDE").ok().and_then(|n| n.parse().ok()).unwrap_or(131_071);
    let only = std::env::var("WINDLASS_TEST_FUNCTIONS").ok();
    let mut devices = devices();
    if stride < 1000 {
        // A host engine with all of the machine's cores beside the GPU, if there is one.
        devices.retain(|device| device.kind() == DeviceKind::Cuda);
        devices.push(Device::builder().host().open().expect("the host"));
    }
    let span = PART * stride;
    for function in Function::ALL {
        if only.as_ref().is_some_and(|only| !only.split(',').any(|name| name == format!("{function:?}"))) {
            continue;
        }
        let parts: Vec<u64> = (0..(1u64 << 32).div_ceil(span)).collect();
        let of = |part: &u64| worst(&devices, *function, part * span, ((part + 1) * span).min(1 << 32), stride);
        let larger = |a: (f64, f32, f32), b: (f64, f32, f32)| if a.0.is_nan() || a.0 > b.0 { a } else { b };
        let (error, x, y) = parts.par_iter().map(of).reduce(|| (0.0, 0.0, 0.0), larger);
        println!("{function:?}: {error:.4} units at ({x:e}, {y:e})");
        assert!(error <= 1.0, "{function:?}({x:e}, {y:e}) is {error} units from the truth");
    }
}

#[test]
fn double_precision_is_near_the_c_library() {
    for device in devices() {
        for function in Function::ALL {
            let x: Vec<f64> = (0..4000i32).map(|i| (f64::from(i) - 2000.0) * 0.0173).collect();
            let y: Vec<f64> = (0..4000i32).map(|i| f64::from(i * 7 % 4001) * 0.011 - 22.0).collect();
            for ((x, y), got) in x.iter().zip(&y).zip(run(&device, *function, &x, &y)) {
                let wanted = exact(*function, *x, *y, GELU[0]);
                // The formulas in `exact` of these round several times.
                let bound = match function {
                    Function::Gelu | Function::GeluTanh | Function::Silu | Function::Sigmoid | Function::Softplus => {
                        2000.0
                    }
                    Function::Asinh | Function::Acosh | Function::Atanh => 40.0,
                    _ => 3.0,
                };
                let error = apart(got, wanted, 53, -1074);
                assert!(error <= bound, "{function:?}({x:e}, {y:e}): {got:e}, not {wanted:e}: {error} units");
            }
        }
    }
}

/// Arguments of the largest errors in double precision that a search over 1.5 * 10^7 random ones and the neighbours of the worst of
/// them found: the name in the table of the documentation, x, y, and the exact result (mpmath, 300 bits) as a sum of two numbers.
const HARD: &[(&str, f64, f64, f64, f64)] = &[
    ("exp", 395.44521528189784, 0.0, 5.491296475985098e+171, 2.9708276589386666e+155),
    ("exp2", 0.5250296368459423, 0.0, 1.438963139889833, -7.163253073866663e-17),
    ("expm1", 0.3539791679344824, 0.0, 0.424725506195649, -2.33629882180294e-17),
    ("log", 1.4069707698674285, 0.0, 0.3414390031242914, -2.4745724409637888e-17),
    ("log2", 1.404705877267675, 0.0, 0.4902680850169478, -2.293001031124686e-17),
    ("log10", 1.3109797694810517, 0.0, 0.11759598988189511, -6.234459299351426e-18),
    ("log1p", 0.42886449455884207, 0.0, 0.3568800690903194, -2.4139770495955866e-17),
    ("sin", -5.512058735745754, 0.0, 0.6969435743541404, -3.682090974216419e-17),
    ("cos", -3.9637628347859417, 0.0, -0.6806328830784404, -3.7356581133156096e-17),
    ("tan", 0.7762143370877417, 0.0, 0.9817989905796696, -2.4944023829664312e-17),
    ("asin", 0.23897360601731088, 0.0, 0.2413086933075437, 9.647817111084548e-18),
    ("acos", 0.9704728642395962, 0.0, 0.24361280551315592, -9.64560185216323e-18),
    ("atan", 0.25062401603424145, 0.0, 0.24556588604769733, -1.0877437332027376e-17),
    ("sinh", -0.35212657927654345, 0.0, -0.359448706170645, 2.4353487231138428e-17),
    ("cosh", -1.7484320787068672, 0.0, 2.959816801381107, -2.1303699166448567e-16),
    ("tanh", 0.1760526465182563, 0.0, 0.17425602745075097, -1.2394284353826428e-17),
    ("asinh", -0.37323498678359757, 0.0, -0.3650714918379859, -2.4263236970014227e-17),
    ("acosh", 1.0591651458959013, 0.0, 0.3423178645201423, -2.4524902274872e-17),
    ("atanh", -0.18442810229985754, 0.0, -0.1865628704285456, -1.223678596781705e-17),
    ("erf", 0.5004659396723896, 0.0, 0.5209092420734189, -1.7174736397383876e-17),
    ("erfc", 0.5054631840036456, 0.0, 0.4747123092168977, -1.0205667628188354e-17),
    ("sigmoid", -35.677814061361325, 0.0, 3.201269425281737e-16, -2.3805114242494645e-32),
    ("silu", -37.082316511911515, 0.0, -2.9142138585120756e-15, -1.8908883779275648e-31),
    ("softplus", -0.8583200758018066, 0.0, 0.35338101690324736, -2.4109454080598067e-17),
    ("pow", 0.7029958015920205, 1567.6430210421695, 1.1926620738256617e-240, -6.69130191562311e-258),
    ("atan2", 1.980342234662143, 7.921997040785254, 0.24496000754967376, -1.0462762630981112e-17),
];

#[test]
fn the_table_of_errors_holds_for_hard_arguments_in_double_precision() {
    let text = include_str!("../../../src/libraries/expressions/mod.rs");
    let claimed = |name: &str| -> f64 {
        let row = text.lines().find_map(|line| line.strip_prefix(&format!("//! | {name} | ")));
        let cell = row.and_then(|row| row.split(" | ").nth(1)).expect("a row");
        cell.trim_end_matches([' ', '|', '*']).parse().expect("a number")
    };
    for device in devices() {
        for &(name, x, y, exact, rest) in HARD {
            let function = Function::ALL.iter().find(|one| format!("{one:?}").to_lowercase() == name);
            let got = run(&device, *function.expect("a function"), &[x], &[y])[0];
            let unit = 2f64.powi(exact.abs().log2().floor() as i32 - 52);
            // The difference of neighbours is exact.
            let error = ((got - exact - rest) / unit).abs();
            assert!(error > 0.5 && error <= claimed(name), "{name}({x:e}, {y:e}) is {error} units from the truth");
        }
    }
}

//! Products that the library does not take as they lie: copied to where it does, whatever they are.

use super::case::{Factor, Freedom, Kind, Num, Plan};
use super::check::{check, check_when};
use super::{ASK, MATMUL, device};
use crate::common::{columns, down, new_columns, rows, seeds, up};
use crate::standin::session;
use windlass::blaslt::{Epilogue, Operands};
use windlass::sparse::Order;
use windlass::tensor::{Layout, Lines};
use windlass::{Complex, DType, Error, F8E4M3, F8E5M2, Matmul, bf16, f16};

/// Random shapes, orders, distances, factors and epilogues against the oracle: none is refused. `anyhow`: the library takes
/// the most of them as they lie, so that it is made to refuse each once.
fn random<A, B, C, D>(anyhow: bool, kinds: impl Fn(Kind) -> bool)
where
    A: Factor<B, C, D>,
    B: Num,
    C: Num,
    D: Num,
{
    let eight = |t: DType| matches!(t, DType::F8E4M3 | DType::F8E5M2);
    let driver = session();
    let shared = device(2);
    for kind in Kind::ALL.into_iter().filter(|kind| kinds(*kind)) {
        seeds(6, |rng, _| {
            let free = Freedom {
                fp8: eight(A::DTYPE),
                fp8_out: eight(D::DTYPE),
                in_place: C::DTYPE == D::DTYPE,
                integer: C::DTYPE == DType::I32,
                ..Freedom::default()
            };
            let sizes = [(); 3].map(|()| rng.pick(&[1, 2, 5, 9, 16, 17, 33]));
            let plan = Plan::of_sizes(rng, kind, free, sizes);
            assert!(check::<A, B, C, D>(&shared, &plan, rng, false));
            if anyhow {
                // One that knows nothing yet.
                let device = device(1);
                let refuse = || {
                    if !is_in_steps(&plan) {
                        driver.fail(ASK, 0, 15);
                    }
                };
                assert!(check_when::<A, B, C, D>(&device, &plan, rng, false, &refuse));
                driver.clear();
            }
        });
    }
    drop(shared);
    driver.assert_finished();
}

/// Whether a bias may lie across the lines of D: then the library is not asked for the product as it is.
fn is_in_steps(plan: &Plan) -> bool {
    let bias = plan.kind.biased() || matches!(plan.kind, Kind::DReluBgrad | Kind::DGeluBgrad);
    let chosen = plan.kind.gradient() && (plan.m == 1 || plan.n == 1);
    bias && (chosen || plan.per_row == (plan.lay[3].order == Order::Row))
}

macro_rules! randoms { ($($name:ident: $a:ty, $b:ty, $c:ty => $d:ty, $anyhow:expr, $kinds:expr;)*) => { $(
    #[test]
    fn $name() {
        random::<$a, $b, $c, $d>($anyhow, $kinds);
    }
)* } }
randoms! {
    any_product_of_e4m3_is_done: F8E4M3, F8E4M3, bf16 => bf16, false, |_| true;
    any_product_of_e4m3_into_f32_is_done: F8E4M3, F8E4M3, f32 => f32, false, |_| true;
    any_product_of_e5m2_and_e4m3_into_e5m2_is_done: F8E5M2, F8E4M3, f16 => F8E5M2, false, |_| true;
    any_product_of_i8_into_i32_is_done: i8, i8, i32 => i32, false, |k| k.plain() || matches!(k, Kind::Relu | Kind::ReluBias);
    any_product_of_i8_is_done: i8, i8, i8 => i8, false, |k| k.plain() || matches!(k, Kind::Relu | Kind::ReluBias);
    any_product_of_f16_is_done: f16, f16, f16 => f16, true, |_| true;
    any_product_of_f64_is_done: f64, f64, f64 => f64, true, |_| true;
    any_product_of_c32_is_done: Complex<f32>, Complex<f32>, Complex<f32> => Complex<f32>, true, Kind::plain;
    any_product_of_c64_is_done: Complex<f64>, Complex<f64>, Complex<f64> => Complex<f64>, true, Kind::plain;
}

fn eights(values: impl IntoIterator<Item = f32>) -> Vec<F8E4M3> {
    values.into_iter().map(F8E4M3::from_f32).collect()
}

/// What is called for a product of 8-bit floats: as it lies no copy, at an odd address one of that factor alone, of an odd
/// size the library's product of the padded one.
#[test]
fn only_what_the_library_does_not_take_is_copied() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let x = up(&device, eights((0..1024).map(|i| (i % 3) as f32)));
    let run = |[m, n, k]: [usize; 3], from: [usize; 2]| {
        let view = |lines: Lines, from: usize| x.view(lines.offset(from)).unwrap();
        let (a, b) = (view(Layout::rows(m, k), from[0]), view(Layout::columns(k, n), from[1]));
        let d = new_columns::<bf16>(&device, m, n);
        let (d, calls) = driver.calls_in(|| lt.matmul(Matmul::new(), a, b, d).unwrap().into_output());
        drop(down(&device, &d));
        let of = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        (of(ASK), of("cuLaunchKernel"), of(MATMUL) - of(ASK))
    };
    let (fine, odd) = ([16, 32, 16], [17, 3, 5]);
    // Questions, launches, products. The plan of the padded product is that of all that are padded to it.
    assert_eq!(run(fine, [0, 0]), (1, 0, 1));
    assert_eq!(run(fine, [0, 0]), (0, 0, 1));
    assert_eq!(run(fine, [0, 16]), (1, 0, 1), "as the address before it");
    assert_eq!(run(fine, [0, 1]), (2, 2, 1));
    assert_eq!(run(fine, [0, 1]), (0, 2, 1), "the refusal is remembered, and the plan");
    assert_eq!(run(fine, [3, 1]), (1, 3, 1));
    assert_eq!(run(odd, [0, 0]), (2, 3, 1));
    assert_eq!(run(odd, [0, 0]), (0, 3, 1));
    drop((x, lt, device));
    driver.assert_finished();
}

/// Beside a product of an odd size everything lies where the caller said, and what is between is not touched.
#[test]
fn what_lies_beside_a_padded_product_keeps_its_gaps() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    // 3 x 2 = (3 x 2) * (2 x 2), all ones: sums of 2.
    let ones = up(&device, eights([1.0; 8]));
    let bias = up(&device, [9.0, 0.0, -3.0, 8.0].map(bf16::from_f32));
    let lines = Layout::columns(3, 2).ld(5);
    let d = up(&device, [7.0; 9].map(bf16::from_f32)).with_layout(lines).unwrap();
    let operands = || Operands::new(rows(&ones, 3, 2), ones.view(Layout::columns(2, 2).offset(1)).unwrap());
    let epilogue = Epilogue::relu_aux_bias(bias.as_in().slice(1..4).unwrap()).per_row();
    let (d, mask) = lt.matmul_with(Matmul::new(), operands(), epilogue, d).unwrap().await_result().unwrap();
    let want = [2.0, 0.0, 10.0, 7.0, 7.0, 2.0, 0.0, 10.0, 7.0].map(bf16::from_f32);
    assert_eq!(down(&device, d.buffer())[..8], want[..8]);
    // The gradient of ReLU, of the same odd size.
    let d = lt.matmul_with(Matmul::new(), operands(), Epilogue::drelu(&mask), d).unwrap().await_result().unwrap();
    let want = [2.0, 0.0, 2.0, 7.0, 7.0, 2.0, 0.0, 2.0, 7.0].map(bf16::from_f32);
    assert_eq!(down(&device, d.buffer())[..8], want[..8]);
    drop((ones, bias, d, mask, lt, device));
    driver.assert_finished();
}

/// A bias across the lines of D, for which the library has no epilogue: it is not asked for one.
#[test]
fn a_bias_across_the_lines_of_d_is_added_in_steps() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let (a, b) = (device.full([4, 1], 1.0f32).unwrap(), device.full([1, 8], 2.0f32).unwrap());
    let (of_rows, of_columns) = (up(&device, [1.0f32, 2.0, 3.0, 4.0]), up(&device, [1.0f32; 8]));
    for (lines, per_row, launches) in [
        (Layout::rows(4, 8), false, false),
        (Layout::rows(4, 8), true, true),
        (Layout::columns(4, 8), false, true),
        (Layout::columns(4, 8), true, false),
    ] {
        let d = device.uninit::<f32>(32).unwrap().with_layout(lines).unwrap();
        let epilogue = if per_row { Epilogue::bias(&of_rows).per_row() } else { Epilogue::bias(&of_columns) };
        let (d, calls) = driver
            .calls_in(|| lt.matmul_with(Matmul::new(), Operands::new(&a, &b), epilogue, d).unwrap().into_output());
        assert_eq!(calls.iter().any(|call| call.starts_with("cuLaunchKernel")), launches, "{lines:?}, {per_row}");
        let want = (0..32).map(|at| if per_row { 3.0 + (at / 8) as f32 } else { 3.0 }).collect::<Vec<_>>();
        assert_eq!(down(&device, &d), want, "{lines:?}, {per_row}");
    }
    drop((a, b, of_rows, of_columns, lt, device));
    driver.assert_finished();
}

/// What the library refuses in every form is told as it was asked for, and nothing was on the stream.
#[test]
fn what_is_refused_padded_too_is_unsupported_and_leaves_all_as_it_was() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let ones = up(&device, eights([1.0; 15]));
    for _ in 0..2 {
        driver.fail(ASK, 0, 15);
        driver.fail(ASK, 1, 15);
        let d = up(&device, [5.0; 9].map(bf16::from_f32)).with_layout(Layout::columns(3, 3)).unwrap();
        let asked = driver.calls_of(ASK);
        let rejected = lt.matmul(Matmul::new(), rows(&ones, 3, 5), columns(&ones, 5, 3), d).unwrap_err();
        let Error::Unsupported { reason, .. } = &rejected.error else { panic!("{}", rejected.error) };
        assert!(reason.contains("D 3 x 3") && reason.contains("NOT_SUPPORTED"), "{reason}");
        assert_eq!(down(&device, &rejected.back.unwrap().0), [5.0; 9].map(bf16::from_f32));
        assert!(driver.calls_of(ASK) - asked <= 2);
        driver.clear();
    }
    drop((ones, lt, device));
    driver.assert_finished();
}

/// The ways of the padded product are measured and pinned as any others.
#[test]
fn a_padded_product_is_tuned() {
    let driver = session();
    let device = device(2);
    let lt = device.blas_lt();
    let ones = up(&device, eights([1.0; 64]));
    let operands = Operands::new(columns(&ones, 5, 7), columns(&ones, 7, 3));
    let (spec, d) = (Matmul::new().alpha(0.5), up(&device, [5.0; 15].map(bf16::from_f32)));
    let d = d.with_layout(Layout::columns(5, 3)).unwrap();
    let (d, tuning) = lt.autotune(spec.clone(), operands.clone(), Epilogue::none(), d).unwrap();
    assert_eq!(down(&device, &d), [5.0; 15].map(bf16::from_f32));
    assert!(tuning.chosen.is_some());
    assert_eq!((tuning.candidates.len(), device.stats().plans_pinned), (3, 1));
    let asked = driver.calls_of(ASK);
    let d = lt.matmul_with(spec, operands, Epilogue::none(), d).unwrap().await_result().unwrap();
    assert_eq!(down(&device, &d), [3.5; 15].map(bf16::from_f32));
    assert_eq!(driver.calls_of(ASK), asked + 1, "whether it goes as it lies");
    drop((ones, d, lt, device));
    driver.assert_finished();
}

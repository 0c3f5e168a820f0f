//! Products that the library does not take as they lie: copied to where it does, whatever they are.

use super::case::{Factor, Freedom, Kind, Num, Plan};
use super::check::check;
use super::{ASK, MATMUL, device};
use crate::common::{down, seeds, up};
use crate::standin::session;
use windlass::blaslt::{Epilogue, Operands, Order};
use windlass::{Complex, DType, Error, F8E4M3, F8E5M2, Matmul, Transpose, bf16, f16};

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
                complex: A::COMPLEX,
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
                driver.fail(ASK, 0, 15);
                assert!(check::<A, B, C, D>(&device, &plan, rng, false));
                driver.clear();
            }
        });
    }
    drop(shared);
    driver.assert_finished();
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
    let (spec, odd) = (Matmul::new(16, 32, 16).trans_a(Transpose::Yes), Matmul::new(17, 3, 5).trans_a(Transpose::Yes));
    let run = |spec: Matmul, from: [usize; 2], len: usize| {
        let [a, b] = from.map(|from| x.as_in().slice(from..1024).unwrap());
        let (d, calls) =
            driver.calls_in(|| lt.matmul(spec, a, b, device.uninit::<bf16>(len).unwrap()).unwrap().into_output());
        drop(down(&device, &d));
        let of = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        (of(ASK), of("cuLaunchKernel"), of(MATMUL) - of(ASK))
    };
    // Questions, launches, products. The plan of the padded product is that of all that are padded to it.
    assert_eq!(run(spec, [0, 0], 512), (1, 0, 1));
    assert_eq!(run(spec, [0, 0], 512), (0, 0, 1));
    assert_eq!(run(spec, [0, 16], 512), (1, 0, 1), "as the address before it");
    assert_eq!(run(spec, [0, 1], 512), (2, 2, 1));
    assert_eq!(run(spec, [0, 1], 512), (0, 2, 1), "the refusal is remembered, and the plan");
    assert_eq!(run(spec, [3, 1], 512), (1, 3, 1));
    assert_eq!(run(odd, [0, 0], 51), (2, 3, 1));
    assert_eq!(run(odd, [0, 0], 51), (0, 3, 1));
    drop((x, lt, device));
    driver.assert_finished();
}

/// Beside a product of an odd size everything lies where the caller said, and what is between is not touched.
#[test]
fn what_lies_beside_a_padded_product_keeps_its_gaps() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    // 3 x 2 = (2 x 3)^T * (2 x 2), all ones: sums of 2.
    let ones = up(&device, eights([1.0; 8]));
    let bias = up(&device, [9.0, 0.0, -3.0, 8.0].map(bf16::from_f32));
    let spec = Matmul::new(3, 2, 2).trans_a(Transpose::Yes).ldd(5).ld_aux(256);
    let d = up(&device, [7.0; 9].map(bf16::from_f32));
    let mask = up(&device, vec![0xffu8; 3 + spec.mask_len().unwrap()]).narrow(3..3 + spec.mask_len().unwrap()).unwrap();
    let operands = Operands::new(&ones, ones.as_in().slice(1..8).unwrap());
    let epilogue = Epilogue::relu_aux_bias(mask, bias.as_in().slice(1..4).unwrap());
    let (d, mask) = lt.matmul_with(spec, operands, epilogue, d).unwrap().await_result().unwrap();
    let want = [2.0, 0.0, 10.0, 7.0, 7.0, 2.0, 0.0, 10.0, 7.0].map(bf16::from_f32);
    assert_eq!(down(&device, &d)[..8], want[..8]);
    let mut bits = vec![0; 64];
    (bits[0], bits[32]) = (0b101, 0b101);
    assert_eq!(down(&device, &mask), bits);
    drop((ones, bias, d, mask, lt, device));
    driver.assert_finished();
}

/// What the library refuses in every form is told as it was asked for, and nothing was on the stream.
#[test]
fn what_is_refused_padded_too_is_unsupported_and_leaves_all_as_it_was() {
    let driver = session();
    let device = device(1);
    let lt = device.blas_lt();
    let ones = up(&device, eights([1.0; 15]));
    let spec = Matmul::new(3, 3, 5).order_a(Order::Row);
    for _ in 0..2 {
        driver.fail(ASK, 0, 15);
        driver.fail(ASK, 1, 15);
        let d = up(&device, [5.0; 9].map(bf16::from_f32));
        let asked = driver.calls_of(ASK);
        let rejected = lt.matmul(spec, &ones, &ones, d).unwrap_err();
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
    let (spec, operands) = (Matmul::new(5, 3, 7).alpha(0.5), Operands::new(&ones, &ones));
    let d = up(&device, [5.0; 15].map(bf16::from_f32));
    let (d, tuning) = lt.autotune(spec, operands, Epilogue::none(), d).unwrap();
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

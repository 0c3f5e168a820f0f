use super::compare::compare;
use super::functions::Functions;
use super::random::Random;
use crate::common::{assert_back_at, down, holdings};
use crate::standin::{device, session};
use windlass::expressions::{Formula, Function, Symbol, position};
use windlass::{Complex, Device, Element, Error, Tensor};

fn read<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

/// As many as the variable says, of which the seed is printed by a failure.
fn count(default: u64) -> u64 {
    std::env::var("WINDLASS_TEST_EXPRESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn the_text_of_random_expressions_computes_what_they_say() {
    let driver = session();
    let devices = [device(2)];
    let functions = Functions::new();
    let base = holdings(&devices[0]);
    for seed in 0..count(400) {
        let mut random = Random::new(seed);
        let extents = random.shape();
        let size = 2 + random.below(24);
        let expr = random.expr(size, extents.len(), true);
        compare(&devices, &functions, &expr, &extents, &mut random, seed);
    }
    assert_back_at(&devices[0], base);
    drop((devices, functions));
    driver.assert_finished();
}

#[test]
fn every_function_gives_the_bits_of_the_host() {
    let driver = session();
    let (gpu, host) = (device(2), Device::host().unwrap());
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.0, 33000.0, 1e30, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut x: Vec<f64> = special.iter().flat_map(|x| special.map(|_| *x)).collect();
    let mut y: Vec<f64> = special.iter().flat_map(|_| special).collect();
    for i in 0..60u32 {
        x.push(f64::from(i) * 0.618_033_988_749_894_9 - 20.0);
        y.push(f64::from(i) * 0.754_877_666_246_692_7 - 20.0);
        x.push(f64::from_bits(u64::from(i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        y.push(f64::from_bits(u64::from(i + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }
    let single = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    fn all<T: Element>(function: Function, x: Symbol<T>, y: Symbol<T>) -> Symbol<T> {
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
    fn check<T: Element>(gpu: &Device, host: &Device, x: &[T], y: &[T]) {
        for function in Function::ALL {
            let formula = Formula::new(|(x, y): (Symbol<T>, Symbol<T>)| all(*function, x, y)).unwrap();
            let run = |device: &Device| {
                let (x, y) = (device.tensor([x.len()], x).unwrap(), device.tensor([y.len()], y).unwrap());
                read(device, &device.apply(&formula, (&x, &y)).unwrap().into_output())
            };
            let (ours, theirs) = (run(gpu), run(host));
            for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
                assert!(
                    bytemuck::bytes_of(a) == bytemuck::bytes_of(b),
                    "{function:?}({:?}, {:?}): {a:?}, on the host {b:?}",
                    x[i],
                    y[i]
                );
            }
        }
    }
    check::<f64>(&gpu, &host, &x, &y);
    check::<f32>(&gpu, &host, &single(&x), &single(&y));
    let pairs: Vec<Complex<f64>> = x.iter().zip(&y).map(|(x, y)| Complex::new(*x, *y)).collect();
    let exp = |device: &Device| {
        let z = device.tensor([pairs.len()], &pairs).unwrap();
        read(device, &device.map(&z, |z| z.exp()).unwrap().into_output())
    };
    assert_eq!(bytemuck::cast_slice::<_, u8>(&exp(&gpu)), bytemuck::cast_slice::<_, u8>(&exp(&host)));
    drop((gpu, host));
    driver.assert_finished();
}

/// A new number is no new kernel, nor is another tensor of the same class; another formula is.
#[test]
fn a_kernel_is_made_once_and_ends_with_its_device() {
    let driver = session();
    let gpu = device(2);
    let x = gpu.tensor([1000], (0..1000).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let loaded = || driver.calls_of("cuModuleLoadDataEx");
    let base = loaded();
    for factor in [2.0f32, 3.0, 4.0] {
        let y = gpu.map(&x, |x| x * factor + 1.0).unwrap().into_output();
        assert_eq!(read(&gpu, &y)[10], 10.0 * factor + 1.0);
    }
    assert_eq!(loaded(), base + 1);
    // Elements that are not aligned to be read in groups take another way of the same kernel.
    let part = x.slice(1..=997).unwrap();
    let y = gpu.map(&part, |x| x * 5.0 + 1.0).unwrap().into_output();
    assert_eq!(read(&gpu, &y)[9], 51.0);
    assert_eq!(loaded(), base + 1);
    let y = gpu
        .map(x.slice(windlass::tensor::AxisSlice::from(..).step(2)).unwrap(), |x| x * 5.0 + 1.0)
        .unwrap()
        .into_output();
    assert_eq!((read(&gpu, &y)[5], loaded()), (51.0, base + 2));
    let stats = gpu.stats();
    assert_eq!(stats.plans, 2);
    drop((x, y, gpu));
    driver.assert_finished();
    assert_eq!(driver.calls_of("cuModuleUnload"), loaded());
}

#[test]
fn what_is_prepared_is_not_made_again_and_kernels_are_bounded() {
    let driver = session();
    let gpu = device(2);
    let x = gpu.zeros::<f32>([64]).unwrap();
    let formula = Formula::new(|x: Symbol<f32>| x.exp() + position(0).cast::<f32>()).unwrap();
    gpu.prepare(&formula, &x).unwrap().await_result().unwrap();
    let base = driver.calls_of("cuModuleLoadDataEx");
    let y = gpu.apply(&formula, &x).unwrap().into_output();
    assert_eq!((read(&gpu, &y)[3], driver.calls_of("cuModuleLoadDataEx")), (4.0, base));
    for n in 0..300 {
        drop(gpu.map(&x, |x| (0..n % 30).fold(x * windlass::expressions::constant(n as f32), |y, _| y + x)).unwrap());
    }
    gpu.synchronize(crate::common::LONG).unwrap();
    assert!(gpu.stats().plans <= 256);
    drop((x, y, gpu));
    driver.assert_finished();
}

#[test]
fn a_kernel_that_is_not_loaded_is_an_error_and_the_next_use_tries_again() {
    let driver = session();
    let gpu = device(2);
    let base = holdings(&gpu);
    {
        let x = gpu.full([8], 3.0f64).unwrap();
        gpu.synchronize(crate::common::LONG).unwrap();
        // No binary for this GPU. (For want of memory it would try again.)
        driver.fail("cuModuleLoadDataEx", 0, 209);
        let y = gpu.zeros::<f64>([8]).unwrap();
        let error = gpu.map_into(&x, y, |x| x * x).unwrap().await_result().unwrap_err();
        assert!(matches!(error.error, Error::LibraryError { .. }), "{error}");
        let y = gpu.map(&x, |x| x * x).unwrap().await_result().unwrap();
        assert_eq!(read(&gpu, &y), [9.0; 8]);
    }
    assert_back_at(&gpu, base);
    drop(gpu);
    driver.assert_finished();
}

/// Also where the memory of the replay is aligned in another way than that of the recording.
#[test]
fn a_program_of_formulas_is_replayed_with_the_same_bits() {
    const N: usize = 37;
    let driver = session();
    driver.set_total_memory(64 << 20);
    let gpu = device(2);
    let recorded = gpu.record(|r| {
        let (x, y) = (r.input::<f32>(N)?, r.operand::<f32>(N)?);
        let t = r.map(x.clone(), |x| x.sin() * 2.0)?.into_output();
        let y = r.map_into((&t, x.clone()), y, |(t, x)| t - x * x)?.into_output();
        let y = r.update(y, x, |y, x| y + x)?.into_output();
        drop(y);
        Ok(())
    });
    let (program, ()) = recorded.unwrap();
    let x: Vec<f32> = (0..N).map(|i| i as f32 / 7.0).collect();
    for graphs in [false, true] {
        if graphs {
            program.capture_graphs();
        }
        for shift in [0, 0, 1, 3] {
            let given = gpu.upload([vec![0.0; shift], x.clone()].concat()).unwrap().into_output();
            let direct = gpu.map(given.slice(shift..).unwrap(), |x| x.sin() * 2.0 - x * x + x).unwrap().into_output();
            let out = gpu.zeros::<f32>(N + shift).unwrap().into_buffer().narrow(shift..).unwrap();
            let (out,) =
                program.replay((given.slice(shift..).unwrap(),), (out,)).unwrap().await_result().unwrap().operands;
            assert_eq!(down(&gpu, &out), read(&gpu, &direct), "{shift}");
        }
    }
    drop((program, gpu));
    driver.assert_finished();
}

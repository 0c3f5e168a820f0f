//! Draws whose parameters are tensors: each number is the one that a draw of its own parameter gives in its place.

use super::{drawn, statistics::assert_distribution};
use crate::common::{assert_same_bits, devices, refused, seeds};
use windlass::expressions::random::Counter;
use windlass::ptx::{Area, Checks, PtxModule, Shape};
use windlass::rng::{Binomial, Exponential, Generator, Normal, Poisson, Stream};
use windlass::{Device, Element, Error, Tensor};

const LAMBDAS: [f64; 12] = [0.0, -0.0, 1e-310, 0.1, 3.0, 9.999, 10.0, 64.0, 1999.0, 2001.0, 4e5, (1u32 << 30) as f64];
const PS: [f64; 9] = [0.0, 1e-300, 0.001, 0.25, 0.5, 0.500_000_1, 0.75, 0.999, 1.0];
const TRIALS: [u32; 7] = [0, 1, 9, 20, 500, 1_000_000, u32::MAX];

fn all<T: Element>(device: &Device, x: &Tensor<T>) -> Vec<T> {
    device.download(x).unwrap().await_result().unwrap()
}

fn poissons(n: usize) -> Vec<f64> {
    (0..n).map(|i| LAMBDAS[i % LAMBDAS.len()]).collect()
}

fn binomials(n: usize) -> (Vec<f64>, Vec<u32>) {
    (0..n).map(|i| (PS[i % PS.len()], TRIALS[i / PS.len() % TRIALS.len()])).unzip()
}

#[test]
fn each_number_is_that_of_its_own_parameter() {
    for device in devices() {
        for at in [0, 7, 1 << 20, (1 << 40) + 5] {
            let stream = Stream::new(Generator::Philox, 0x0123_4567_89ab_cdef).at(at);
            let lambda = device.tensor([20, 30], poissons(600)).unwrap();
            let mut rng = device.rng_of(stream.clone());
            let each = rng.poisson_each(&lambda).unwrap().await_result().unwrap();
            assert_eq!(each.shape(), [20, 30]);
            let each = all(&device, &each);
            for lambda in LAMBDAS {
                let wanted = drawn::<u32>(&device, &stream, Poisson::new(lambda), 600);
                for (i, (of, x)) in poissons(600).iter().zip(&each).enumerate() {
                    assert!(
                        of.to_bits() != lambda.to_bits() || *x == wanted[i],
                        "{lambda} number {i}: {x}, {}",
                        wanted[i]
                    );
                }
            }
            // The stream goes on behind them, as after one draw.
            let mut other = device.rng_of(stream.clone());
            drop(other.poisson(1.0, [600]).unwrap());
            assert_eq!(rng.stream(), other.stream());

            let (p, trials) = binomials(630);
            let (p_of, trials_of) =
                (device.tensor([630], p.clone()).unwrap(), device.tensor([630], trials.clone()).unwrap());
            let mut rng = device.rng_of(stream.clone());
            let each = rng.binomial_each(&trials_of, &p_of).unwrap().await_result().unwrap();
            let each = all(&device, &each);
            for (p_one, n) in PS.iter().flat_map(|p| TRIALS.map(|n| (*p, n))) {
                let wanted = drawn::<u32>(&device, &stream, Binomial::new(n, p_one), 630);
                for i in 0..630 {
                    let is_it = p[i].to_bits() == p_one.to_bits() && trials[i] == n;
                    assert!(!is_it || each[i] == wanted[i], "{n} {p_one} number {i}: {}, {}", each[i], wanted[i]);
                }
            }
        }
    }
}

#[test]
fn parameters_are_broadcast_and_may_be_any_view() {
    for device in devices() {
        let lambda = device.tensor([3, 2], [1.0, 100.0, 2.0, 200.0, 3.0, 300.0]).unwrap();
        let turned = all(&device, &device.rng(5).poisson_each(lambda.transpose()).unwrap().await_result().unwrap());
        let dense = device.contiguous(lambda.transpose()).unwrap().into_output();
        assert_eq!(turned, all(&device, &device.rng(5).poisson_each(&dense).unwrap().await_result().unwrap()));
        let (trials, p) = (device.tensor([2, 1], [10u32, 1000]).unwrap(), device.tensor([3], [0.0, 0.5, 1.0]).unwrap());
        let x = device.rng(5).binomial_each(&trials, &p).unwrap().await_result().unwrap();
        assert_eq!(x.shape(), [2, 3]);
        let x = all(&device, &x);
        assert_eq!((x[0], x[2], x[3], x[5]), (0, 10, 0, 1000));
        let other = device.tensor([2], [0.5; 2]).unwrap();
        assert!(device.rng(5).binomial_each(device.tensor([3], [1; 3]).unwrap().view(), &other).is_err());
        for extents in [vec![0], vec![2, 0], vec![]] {
            let lambda = device.full(&extents, 4.0f64).unwrap();
            assert_eq!(device.rng(5).poisson_each(&lambda).unwrap().await_result().unwrap().shape(), extents);
        }
    }
}

#[test]
fn the_first_parameter_without_a_distribution_is_named() {
    for device in devices() {
        for wrong in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1_073_741_825.0, -1e-300] {
            let mut lambda = vec![1.0; 5000];
            (lambda[4321], lambda[4999]) = (wrong, wrong);
            let lambda = device.tensor([5000], lambda).unwrap();
            let Err(error) = device.rng(1).poisson_each(&lambda).unwrap().await_result() else { panic!("{wrong}") };
            let (argument, reason) = refused(&error.error);
            assert!(argument == "lambda" && reason.contains("element 4321"), "{error:?}");
        }
        for wrong in [-1e-9, f64::NAN, 1.000_001] {
            let p = device.tensor([3], [0.5, 1.0, wrong]).unwrap();
            let trials = device.full([3], 4u32).unwrap();
            let Err(error) = device.rng(1).binomial_each(&trials, &p).unwrap().await_result() else {
                panic!("{wrong}")
            };
            let (argument, reason) = refused(&error.error);
            assert!(argument == "p" && reason.contains("element 2"), "{error:?}");
        }
        let lambda = device.tensor([1], [1.0]).unwrap();
        let answer = device.rng_of(Stream::new(Generator::Xorwow, 1)).poisson_each(&lambda);
        assert!(matches!(answer, Err(Error::Unsupported { .. })));
        let mut end = device.rng_of(Stream::new(Generator::Philox, 1).at(u64::MAX));
        assert!(end.poisson_each(&lambda).is_err());
    }
}

#[test]
fn normal_and_exponential_numbers_have_their_own_means() {
    fn check<T: windlass::rng::Random + Into<f64>>(device: &Device, of: fn(f64) -> T)
    where
        Normal: windlass::rng::Distribution<T>,
        Exponential: windlass::rng::Distribution<T>,
    {
        let nan = f64::NAN;
        let (means, deviations) = ([0.0, -3.5, 1e3, nan], [0.0, 2.0, -1.0, nan, 1e-3]);
        let mean = device.tensor([4, 1], means.map(of)).unwrap();
        let deviation = device.tensor([5], deviations.map(of)).unwrap();
        let x = all(device, &device.rng(3).normal_each(&mean, &deviation).unwrap().await_result().unwrap());
        let z = drawn::<T>(device, &Stream::new(Generator::Philox, 3), Normal::standard(), 20);
        for i in 0..20 {
            let (m, d, z, x) = (means[i / 5], deviations[i % 5], z[i].into(), x[i].into());
            match m.is_nan() || d.is_nan() || d < 0.0 {
                true => assert!(x.is_nan(), "{m} {d}: {x}"),
                false => assert!((x - (z * d + m)).abs() <= 4e-7 * (m.abs() + (z * d).abs()), "{m} {d}: {x}"),
            }
        }
        let mean = device.tensor([6], [0.0, 1.0, 4.0, -1.0, nan, 1e-3].map(of)).unwrap();
        let x = all(device, &device.rng(3).exponential_each(&mean).unwrap().await_result().unwrap());
        let e = drawn::<T>(device, &Stream::new(Generator::Philox, 3), Exponential::new(1.0), 6);
        assert!(x[0].into() == 0.0 && x[1].into() == e[1].into() && x[2].into() == 4.0 * e[2].into());
        assert!(x[3].into().is_nan() && x[4].into().is_nan());
    }
    for device in devices() {
        check::<f32>(&device, |x| x as f32);
        check::<f64>(&device, |x| x);
    }
    // Of mixed means, in their own units, normal again.
    let device = &devices()[0];
    let means: Vec<f64> = (0..20_000).map(|i| f64::from(i % 100)).collect();
    let mean = device.tensor([20_000], means.clone()).unwrap();
    let deviation = device.tensor([1], [2.0]).unwrap();
    let x = all(device, &device.rng(9).normal_each(&mean, &deviation).unwrap().await_result().unwrap());
    let z: Vec<f64> = x.iter().zip(means).map(|(x, m)| (x - m) / 2.0).collect();
    assert_distribution(&z, super::statistics::normal, "normal_each");
}

/// The kernels for a GPU, run on the CPU, beside the host half.
#[test]
fn the_kernels_make_the_bits_of_the_host_half() {
    const TEXT: &str = include_str!("../../../src/libraries/rng/kernels/integers.ptx");
    let module = PtxModule::new(TEXT).unwrap();
    let device = crate::common::inline().open().unwrap();
    let launch = |name: &str, arguments: &[u64], areas: Vec<Area<'_>>| {
        let shape = Shape::new([2, 1, 1], [64, 1, 1], 0);
        module.launch(name, shape, bytemuck::cast_slice(arguments), areas, Checks::ALL, &|_| ()).unwrap();
    };
    for first in [0, 3, (1 << 33) + 1] {
        let stream = Stream::new(Generator::Philox, 77).at(2 * first);
        let lambdas = poissons(300);
        let lambda = device.tensor([300], lambdas.clone()).unwrap();
        let wanted = device.rng_of(stream.clone()).poisson_each(&lambda).unwrap().await_result().unwrap();
        let (mut out, mut verdict) = (vec![0u32; 300], vec![0u64]);
        let arguments = [out.as_ptr() as u64, lambdas.as_ptr() as u64, 300, first, 77, verdict.as_ptr() as u64];
        let areas = vec![
            Area::output("out", bytemuck::cast_slice_mut(&mut out)),
            Area::read("lambda", bytemuck::cast_slice(&lambdas)),
            Area::write("verdict", bytemuck::cast_slice_mut(&mut verdict)),
        ];
        launch("poisson_each", &arguments, areas);
        assert_same_bits(&out, &all(&device, &wanted), "poisson");
        assert_eq!(verdict, [0]);

        let (p, trials) = binomials(300);
        let (of_p, of_trials) =
            (device.tensor([300], p.clone()).unwrap(), device.tensor([300], trials.clone()).unwrap());
        let wanted = device.rng_of(stream).binomial_each(&of_trials, &of_p).unwrap().await_result().unwrap();
        let mut out = vec![0u32; 300];
        let arguments =
            [out.as_ptr() as u64, p.as_ptr() as u64, trials.as_ptr() as u64, 300, first, 77, verdict.as_ptr() as u64];
        let areas = vec![
            Area::output("out", bytemuck::cast_slice_mut(&mut out)),
            Area::read("p", bytemuck::cast_slice(&p)),
            Area::read("trials", bytemuck::cast_slice(&trials)),
            Area::write("verdict", bytemuck::cast_slice_mut(&mut verdict)),
        ];
        launch("binomial_each", &arguments, areas);
        assert_same_bits(&out, &all(&device, &wanted), "binomial");
    }
    let (lambdas, mut out, mut verdict) = ([1.0, f64::NAN, 2.0, -1.0], vec![9u32; 4], vec![0u64]);
    let arguments = [out.as_ptr() as u64, lambdas.as_ptr() as u64, 4, 0, 77, verdict.as_ptr() as u64];
    let areas = vec![
        Area::output("out", bytemuck::cast_slice_mut(&mut out)),
        Area::read("lambda", bytemuck::cast_slice(&lambdas)),
        Area::write("verdict", bytemuck::cast_slice_mut(&mut verdict)),
    ];
    launch("poisson_each", &arguments, areas);
    assert_eq!((verdict[0], out[1], out[3]), (!1, 0, 0));
}

/// Draws of a counter, one after the other, and what they must be.
fn counted<T: windlass::rng::Random + windlass::expressions::random::Drawn>(device: &Device)
where
    Normal: windlass::rng::Distribution<T>,
    windlass::rng::Uniform: windlass::rng::Distribution<T>,
{
    let stream = Stream::new(Generator::Philox, 11).at(1000);
    let from = |first: u64, normal: bool, n: usize| {
        let (rng, out) = (device.rng_of(Stream::new(Generator::Philox, 11)), device.uninit::<T>(n).unwrap());
        let first = first + 1000 / (size_of::<T>() as u64 / 4);
        let out = match normal {
            true => rng.fill_from(first, Normal::standard(), out),
            false => rng.fill_from(first, windlass::rng::Uniform::above_zero(), out),
        };
        device.to_vec(&out.unwrap().into_output()).unwrap()
    };
    seeds(10, |rng, _| {
        let mut counter = Counter::<T>::new(device, &stream).unwrap();
        let mut place = 0;
        for _ in 0..6 {
            let (n, normal) = (rng.below(50), rng.below(2) == 0);
            let (x, next) = if normal { counter.normal(device, [n]) } else { counter.uniform(device, [n]) }.unwrap();
            assert_same_bits(&all(device, &x), &from(place, normal, n), "a counter's numbers");
            place += n.next_multiple_of(2) as u64;
            assert_eq!(next.position(device).unwrap(), place);
            counter = next;
        }
    });
    // Set to an odd place, which counts as the next; and far away.
    for (at, place) in [(7, 8), (8, 8), ((1 << 40) + 1, (1 << 40) + 2)] {
        let counter = Counter::<T>::of_buffer(&stream, device.buffer([at]).unwrap()).unwrap();
        let (x, next) = counter.normal(device, [2, 3]).unwrap();
        assert_same_bits(&all(device, &x), &from(place, true, 6), "a counter that was set");
        assert_eq!(device.to_vec(&next.into_buffer()).unwrap(), [place + 6]);
    }
}

#[test]
fn a_counter_draws_what_a_stream_draws_at_its_place() {
    for device in devices() {
        counted::<f32>(&device);
        counted::<f64>(&device);
        assert!(
            Counter::<f32>::of_buffer(&Stream::new(Generator::Philox, 1), device.zeros(2).unwrap().into_buffer())
                .is_err()
        );
        let xorwow = Counter::<f32>::new(&device, &Stream::new(Generator::Xorwow, 1)).unwrap();
        assert!(xorwow.uniform(&device, [3]).is_err());
        let counter = Counter::<f32>::new(&device, &Stream::new(Generator::Philox, 1)).unwrap();
        let (nothing, counter) = counter.uniform(&device, [0, 3]).unwrap();
        let (one, counter) = counter.uniform(&device, []).unwrap();
        assert_eq!((nothing.len(), one.rank(), counter.position(&device).unwrap()), (0, 0, 2));
    }
}

#[test]
fn each_replay_of_a_program_draws_the_next_numbers_also_from_its_file() {
    for device in devices() {
        let stream = Stream::new(Generator::Philox, 42);
        let (program, _) = device
            .record(|r| {
                let counter = Counter::<f32>::of_buffer(&stream, r.operand(1)?.into_buffer())?;
                let (noise, counter) = counter.normal(r, [101])?;
                let (more, _) = counter.uniform(r, [3])?;
                drop(r.copy(noise.buffer(), r.output(101)?)?);
                drop(r.copy(more.buffer(), r.output(3)?)?);
                Ok(())
            })
            .unwrap();
        let replay = |program: &windlass::Program, place| {
            let operands = (place, device.uninit::<f32>(101).unwrap(), device.uninit::<f32>(3).unwrap());
            let out = program.replay((), operands).unwrap().await_result().unwrap();
            let (place, noise, more) = out.operands;
            (place, device.to_vec::<f32>(&noise).unwrap(), device.to_vec::<f32>(&more).unwrap())
        };
        let rng = device.rng_of(stream.clone());
        let normal = |first| {
            device
                .to_vec(
                    &rng.fill_from(first, Normal::standard(), device.uninit::<f32>(101).unwrap())
                        .unwrap()
                        .into_output(),
                )
                .unwrap()
        };
        let uniform = |first| {
            let of = windlass::rng::Uniform::above_zero();
            device.to_vec(&rng.fill_from(first, of, device.uninit::<f32>(3).unwrap()).unwrap().into_output()).unwrap()
        };
        let mut place = device.zeros::<u64>(1).unwrap();
        for replayed in 0..4 {
            let (next, noise, more) = replay(&program, place);
            let first = 106 * replayed;
            assert_same_bits(&noise, &normal(first), "noise");
            assert_same_bits(&more, &uniform(first + 102), "more");
            place = next;
        }
        #[cfg(target_os = "linux")]
        {
            let path = std::env::temp_dir().join(format!(
                "windlass-counter-{}-{:?}",
                std::process::id(),
                std::thread::current().id()
            ));
            program.save(&path).unwrap();
            let loaded = windlass::Program::load(&device, &path, ()).unwrap();
            std::fs::remove_file(&path).unwrap();
            let (next, noise, _) = replay(&loaded, place);
            assert_same_bits(&noise, &normal(106 * 4), "a loaded program goes on");
            assert_eq!(device.to_vec(&next).unwrap(), [106 * 5]);
        }
    }
}

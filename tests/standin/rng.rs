//! Random numbers that no kernel makes: the CPU's, on a GPU.

use crate::common::{assert_same_bits, down};
use crate::standin::{device, session};
use windlass::rng::{Between, Generator, Normal, Poisson, Stream, Uniform};
use windlass::{Device, Error};

/// Some of everything, as bytes.
fn sample(device: &Device, generator: Generator) -> Vec<u8> {
    let mut rng = device.rng_of(Stream::new(generator, 5).at(3));
    let mut all = Vec::new();
    for _ in 0..2 {
        let x = rng.draw::<f32>(Uniform::below_one(), [700]).unwrap().await_result().unwrap();
        all.extend_from_slice(bytemuck::cast_slice(&down(device, &x)));
        let x = rng.draw::<f64>(Normal::new(1.0, 2.0), [301]).unwrap().await_result().unwrap();
        all.extend_from_slice(bytemuck::cast_slice(&down(device, &x)));
        let x = rng.draw::<u32>(Poisson::new(40.0), [55]).unwrap().await_result().unwrap();
        all.extend_from_slice(bytemuck::cast_slice(&down(device, &x)));
        let x = rng.draw::<u8>(Between::new(3u8..9), [10]).unwrap().await_result().unwrap();
        all.extend_from_slice(&down(device, &x));
    }
    all
}

#[test]
fn what_has_no_kernels_is_made_by_the_cpu_with_the_same_bits() {
    let driver = session();
    driver.set_total_memory(1 << 30);
    let (gpu, cpu) = (device(2), Device::host().unwrap());
    for generator in [Generator::Mt19937, Generator::Mtgp32] {
        assert_same_bits(&sample(&gpu, generator), &sample(&cpu, generator), &format!("{generator:?}"));
    }
    let normals = |device: &Device| {
        let mut rng = device.rng_of(Stream::new(Generator::Xorwow, 8));
        let x = rng.draw::<f32>(Normal::standard().curand(), [1001]).unwrap().await_result().unwrap();
        bytemuck::cast_slice(&down(device, &x)).to_vec()
    };
    assert_same_bits::<u8>(&normals(&gpu), &normals(&cpu), "normal numbers as cuRAND makes them");
    // What no engine has is refused before anything is made.
    let far = gpu.rng_of(Stream::new(Generator::Mt19937, 5)).fill_from(
        1 << 40,
        Uniform::below_one(),
        gpu.zeros::<f32>(4).unwrap(),
    );
    assert!(matches!(far.map(drop).map_err(Error::from), Err(Error::Unsupported { .. })));
    drop(gpu);
    driver.assert_finished();
}

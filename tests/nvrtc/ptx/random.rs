//! Random kernels on the machine and on the device under test: the same bits.
//!
//! `WINDLASS_TEST_KERNELS=1000` of them, from `WINDLASS_TEST_SEED` on; without a GPU their blocks run in order and side by side.

use super::generator::{BLOCK, GRID, READ, WRITTEN, input, kernel};
use windlass::ptx::{Area, Checks, PtxModule, Shape};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// What the machine computes with the kernel `k` of a text. `shape` is that of the grid and of a block; `y` has so many words.
pub(super) fn machine(text: &str, x: &[u64], [grid, block]: [u32; 2], words: usize, parallel: bool) -> Vec<u64> {
    let mut y = vec![0u64; words];
    let module = PtxModule::new(text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let parameters = [x.as_ptr() as u64, y.as_mut_ptr() as u64];
    let areas = vec![Area::read("x", bytemuck::cast_slice(x)), Area::write("y", bytemuck::cast_slice_mut(&mut y))];
    let (shape, checks) = (Shape::new([grid, 1, 1], [block, 1, 1], 0), Checks { parallel, ..Checks::ALL });
    if let Err(fault) = module.launch("k", shape, bytemuck::cast_slice(&parameters), areas, checks, &|_| ()) {
        panic!("{fault}\n{text}");
    }
    y
}

#[test]
fn random_kernels_give_the_same_bits_everywhere() {
    let devices: Vec<_> =
        crate::common::devices().into_iter().filter(|device| !crate::common::is_host(device)).collect();
    let (first, count) = (number("WINDLASS_TEST_SEED", 0), number("WINDLASS_TEST_KERNELS", 150));
    let mut different = Vec::new();
    for seed in first..first + count {
        let (text, x) = (kernel(seed), input(seed));
        assert_eq!(x.len(), READ);
        let want = machine(&text, &x, [GRID, BLOCK], WRITTEN, false);
        assert_eq!(machine(&text, &x, [GRID, BLOCK], WRITTEN, true), want, "seed {seed}\n{text}");
        for device in &devices {
            let got = on(device, &text, &x, [GRID, BLOCK], WRITTEN);
            if let Some(at) = (0..WRITTEN).find(|at| got[*at] != want[*at]) {
                different.push(seed);
                eprintln!("seed {seed}: word {at} is {:#x} on {device:?} and {:#x} on the machine", got[at], want[at]);
            }
        }
    }
    assert!(different.is_empty(), "{} of {count} kernels differ: {different:?}", different.len());
}

/// What a GPU computes.
pub(super) fn on(device: &windlass::Device, text: &str, x: &[u64], [grid, block]: [u32; 2], words: usize) -> Vec<u64> {
    use windlass::nvrtc::{Image, LaunchConfig, Read, Write};
    let module = device.nvrtc().load(&Image::ptx(text).unwrap()).unwrap();
    // SAFETY: the kernel has these parameters, and stays within `x` and `words` words.
    let kernel = unsafe { module.kernel("k").unwrap().typed::<(Read<u64>, Write<u64>)>() }.unwrap();
    let (x, y) = (device.buffer(x.to_vec()).unwrap(), device.zeros::<u64>(words).unwrap());
    let y = kernel.launch(LaunchConfig::new(grid, block), (&x, y)).unwrap().await_result().unwrap();
    device.to_vec(&y).unwrap()
}

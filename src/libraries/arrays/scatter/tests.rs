//! The kernel on the machine for PTX, and the host half: the same bits.

use super::front::Combine;
use super::kernel::Key;
use super::op::Put;
use crate::core::element::DType;
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};
use crate::libraries::moves::Told;
use crate::libraries::tensor_routine::TensorRoutine;

#[test]
fn the_kernel_equals_the_host_half() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) ^ (state << 20)
    };
    let all = [Combine::Replace, Combine::Add, Combine::Mul, Combine::Min, Combine::Max];
    for (k, dtype) in DType::ALL.into_iter().flat_map(|dtype| [dtype; 5]).enumerate() {
        let (slots, width, count) = (1 + k % 9, [1, 3, 40][k % 3], [0, 1, 7, 90, 700, 1300][k % 6]);
        let put = Put { dtype, combine: all[k % 5], slots, width, count, told: Told::Index };
        if put.check_data().is_err() {
            continue;
        }
        let is_bad = k % 7 == 0;
        let mut keys: Vec<(i64, i64)> = (0..count)
            .map(|place| (next() as i64 & 15, place as i64))
            .map(|(key, place)| (key.min(slots as i64 - 1 + i64::from(is_bad)), place))
            .collect();
        keys.sort_unstable();
        let (keys, places): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let size = dtype.size();
        let mut words = |n: usize| -> Vec<u64> {
            let small = |x: u64| if k % 2 == 0 { x } else { x & 0x3fff_3fff_3fff_3fff };
            (0..(n * size).div_ceil(8) + 1).map(|_| small(next())).collect()
        };
        let (updates, target) = (words(count * width), words(slots * width));
        let (mut host, mut machine) = (target.clone(), target);
        // SAFETY: the vectors have the sizes of the operation.
        let raw = unsafe { super::host::put(&put, &keys, &places, updates.as_ptr().cast(), host.as_mut_ptr().cast()) }
            .unwrap();
        let mut result = [0u64];
        if count > 0 {
            let (all, (grid, threads)) = Key::new(&put).launch(&put);
            let mut arguments = vec![all as u64, machine.as_mut_ptr() as u64, result.as_mut_ptr() as u64];
            arguments.extend([keys.as_ptr() as u64, places.as_ptr() as u64, updates.as_ptr() as u64]);
            arguments.extend([width as u64, slots as u64, count as u64]);
            let areas = vec![
                Area::write("target", &mut bytemuck::cast_slice_mut(&mut machine)[..slots * width * size]),
                Area::write("result", bytemuck::cast_slice_mut(&mut result)),
                Area::read("keys", bytemuck::cast_slice(&keys)),
                Area::read("places", bytemuck::cast_slice(&places)),
                Area::read("updates", &bytemuck::cast_slice(&updates)[..count * width * size]),
            ];
            let text = Key::new(&put).text().unwrap();
            let module = PtxModule::new(&text).unwrap_or_else(|fault| panic!("{fault} in\n{text}"));
            let shape = Shape::new([grid, 1, 1], [threads, 1, 1], 0);
            let run = module.launch("expression", shape, bytemuck::cast_slice(&arguments), areas, Checks::ALL, &|_| ());
            run.unwrap_or_else(|fault| panic!("{fault} of {put:?}"));
        }
        assert_eq!(result[0], raw, "{put:?}");
        assert_eq!(machine, host, "{put:?}");
    }
}

//! The kernel on the machine for PTX, and the host half.

use super::host::search as search_on_host;
use super::kernel::launch;
use super::op::{Answer, Search};
use crate::core::element::DType;
use crate::device::tensor::Layout;
use crate::engines::ptx::{Area, Checks, PtxModule, Shape};
use crate::libraries::kernel::BLOCK;

#[test]
fn the_kernel_equals_the_host_half() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let types =
        [DType::I8, DType::U16, DType::F16, DType::F32, DType::I32, DType::F64, DType::U64, DType::Bool, DType::F8E5M2];
    for (k, dtype) in types.into_iter().cycle().take(45).enumerate() {
        let (n, size) = ([0, 1, 2, 33, 100][k % 5], dtype.size());
        let extents = [7, 1 + k % 90];
        let turned = Layout::row_major([extents[1], extents[0]]).unwrap().transpose();
        let values = if k % 2 == 0 { turned.flip(0).unwrap() } else { turned };
        let sorted = Layout::new([n], [if k % 3 == 0 { -2 } else { 1 }], if k % 3 == 0 { 2 * n } else { 0 }).unwrap();
        let search = Search { dtype, sorted, values, right: k % 4 < 2, answer: Answer::Places };
        let order = search.order().unwrap();
        let bits = |x: u64| if k % 2 == 0 { x % 5 } else { x ^ (x << 31) };
        let mut keys: Vec<u64> = (0..n).map(|_| bits(next()) & order.most()).collect();
        keys.sort_by_key(|bits| order.key(*bits));
        let bytes = |x: &[u64]| x.iter().flat_map(|x| x.to_le_bytes()[..size].to_vec()).collect::<Vec<u8>>();
        let mut spread = vec![0u64; 2 * n + 1];
        for (i, key) in keys.iter().enumerate() {
            let at = search.sorted.offset() as isize + i as isize * search.sorted.strides()[0];
            spread[at as usize] = *key;
        }
        let (spread, wanted) =
            (bytes(&spread), bytes(&(0..extents[0] * extents[1]).map(|_| bits(next())).collect::<Vec<_>>()));
        // Aligned for all types.
        let aligned = |x: &[u8]| {
            let mut words = vec![0u64; x.len().div_ceil(8)];
            bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..x.len()].copy_from_slice(x);
            words
        };
        let (spread_words, wanted_words) = (aligned(&spread), aligned(&wanted));
        let count = extents[0] * extents[1];
        let (mut host, mut machine) = (vec![0i64; count], vec![0i64; count]);
        let read = |words, len: usize| &bytemuck::cast_slice::<u64, u8>(words)[..len];
        let (sorted, values) = (read(&spread_words, spread.len()), read(&wanted_words, wanted.len()));
        search_on_host(&search, order, sorted, values, &mut host).unwrap();
        let at = [machine.as_mut_ptr() as u64, spread_words.as_ptr() as u64, wanted_words.as_ptr() as u64];
        let (key, grid, words) = launch(&search, at).unwrap().unwrap();
        let areas = vec![
            Area::output("places", bytemuck::cast_slice_mut(&mut machine)),
            Area::read("sorted", &bytemuck::cast_slice(&spread_words)[..spread.len()]),
            Area::read("values", &bytemuck::cast_slice(&wanted_words)[..wanted.len()]),
        ];
        let module = PtxModule::new(&key.text().unwrap()).unwrap();
        let shape = Shape::new([grid, 1, 1], [BLOCK, 1, 1], 0);
        module.launch("expression", shape, bytemuck::cast_slice(&words), areas, Checks::ALL, &|_| ()).unwrap();
        assert_eq!(machine, host, "{search:?}");
        let before = |key: &u64, own: u64| order.key(*key) < own || (search.right && order.key(*key) == own);
        let first = wanted_words.first().map_or(0, |word| word & order.most());
        let at = search.values.offsets().position(|at| at == 0).unwrap();
        assert_eq!(host[at], keys.iter().filter(|key| before(key, order.key(first))).count() as i64, "{search:?}");
    }
}

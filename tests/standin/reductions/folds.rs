//! One number of many elements: how many launches it takes, and its bits, around the ends of groups and levels.

use crate::standin::{device, driver, session};
use windlass::Device;
use windlass::reductions::*;
use windlass::{Tensor, TensorRef};

/// The bytes of the result.
fn reduced<K: Reduction<f32>>(device: &Device, x: &TensorRef<'_, f32>, kind: K) -> Vec<u8> {
    let y = device.reduce(x, All, |x| x, kind).unwrap().await_result().unwrap();
    bytemuck::cast_slice::<_, u8>(&device.download(&y).unwrap().await_result().unwrap()).to_vec()
}

/// Compares a kind, of the tensor without its first elements.
fn same<K: Reduction<f32> + Copy>(devices: &[Device; 2], both: &[Tensor<f32>; 2], kind: K, launches: u64) {
    for shift in [0, 1, 3] {
        let parts = [0, 1].map(|k| both[k].slice(shift..).unwrap());
        let before = driver().ran_by_text();
        let gpu = reduced(&devices[0], &parts[0].view(), kind);
        assert_eq!(driver().ran_by_text() - before, launches, "{:?}", parts[0].shape());
        let host = reduced(&devices[1], &parts[1].view(), kind);
        assert_eq!(gpu, host, "{:?}", parts[0].shape());
    }
}

#[test]
fn the_last_block_makes_the_number_of_all() {
    let driver = session();
    let devices = [device(2), Device::host().unwrap()];
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // Few values, so that the largest stands at many places.
        (state >> 40) as f32 / 65536.0 - ((state >> 33) % 7) as f32
    };
    let numbers: Vec<f32> = (0..6 << 20).map(|_| next()).collect();
    let upload = |len: usize, change: Option<(usize, f32)>| {
        let mut own = numbers[..len].to_vec();
        if let Some((at, x)) = change {
            own[at] = x;
        }
        [0, 1].map(|k| devices[k].tensor([len], own.clone()).unwrap())
    };
    // A whole number of groups, some elements more, and less than another group.
    for len in [1028, 1027, 2051, 5 * 1024 + 3, 65 * 1024 + 8, (1 << 20) + 3] {
        let both = upload(len, None);
        same(&devices, &both, Sum, 1);
        same(&devices, &both, Max, 1);
        same(&devices, &both, ArgMax, 1);
        same(&devices, &both, ArgMin, 1);
        same(&devices, &both, Var::default(), 1);
        same(&devices, &both, LogSumExp, 1);
    }
    // NaN at one place, and minus infinity everywhere.
    let both = upload(70_000, Some((66_000, f32::NAN)));
    same(&devices, &both, Max, 1);
    same(&devices, &both, ArgMax, 1);
    same(&devices, &both, ArgMin, 1);
    let low = [0, 1].map(|k| devices[k].full([4100], f32::NEG_INFINITY).unwrap());
    same(&devices, &low, ArgMax, 1);
    same(&devices, &low, LogSumExp, 1);
    // Two groups of accumulators, and more than a block joins at once.
    for len in [(1 << 20) + 1030, (5 << 20) + 5] {
        let both = upload(len, None);
        same(&devices, &both, Sum, 1);
        same(&devices, &both, ArgMax, 1);
    }
    drop((low, devices));
    driver.assert_finished();
}

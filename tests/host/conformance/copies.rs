//! Copies of all fourteen element types, bit for bit.

use crate::common::{Rng, assert_same_bits, buffer as buffered, devices, down, refused, seeds, up};
use windlass::{Complex, Device, Element, bf16, f16};

/// Runs `$check::<T>(args)` for every element type.
macro_rules! each_type { ($check:ident($($arg:expr),*)) => { each_type!(@ $check ($($arg),*)
    f32, f64, f16, bf16, Complex<f32>, Complex<f64>, i8, u8, i16, u16, i32, u32, i64, u64) };
    (@ $check:ident $args:tt $($t:ty),*) => { $( $check::<$t> $args; )* };
}

fn round_trips<T: Element>(device: &Device, rng: &mut Rng) {
    for n in [0, 1, 2, 7, 64, 1023] {
        let what = format!("{n} elements of {} on {device:?}", T::DTYPE);
        let data: Vec<T> = rng.bits(n);
        let owned = device.upload(data.clone()).unwrap().await_result().unwrap();
        let mut changed = data.clone();
        let borrowed = device.upload(&changed[..]).unwrap();
        changed.fill(T::default()); // the upload copied it before it returned
        let borrowed = borrowed.await_result().unwrap();
        assert_eq!((owned.len(), owned.is_empty(), owned.generation()), (n, n == 0, device.generation()));
        assert_same_bits(&down(device, &owned), &data, &what);
        assert_same_bits(&down(device, &borrowed), &data, &what);

        let mut target = vec![T::default(); n];
        device.download(&owned).unwrap().await_result_into(&mut target).unwrap();
        assert_same_bits(&target, &data, &what);

        let double = device.duplicate(&owned).unwrap().await_result().unwrap();
        let owned = device.fill(owned, T::default()).unwrap().await_result().unwrap();
        assert_same_bits(&down(device, &owned), &vec![T::default(); n], &what);
        assert_same_bits(&down(device, &double), &data, &format!("a duplicate of {what}"));
        let owned = device.copy(&double, owned).unwrap().await_result().unwrap();
        assert_same_bits(&down(device, &owned), &data, &format!("a copy of {what}"));
        let other: Vec<T> = rng.bits(n);
        let owned = device.upload_into(&other, owned.into_buffer()).unwrap().await_result().unwrap();
        assert_same_bits(&down(device, &owned), &other, &what);
        assert_same_bits(&down(device, &device.zeros::<T>(n).unwrap()), &vec![T::default(); n], &what);
    }
}

#[test]
fn every_element_type_round_trips_bit_for_bit() {
    for device in devices() {
        seeds(1, |rng, _| {
            each_type!(round_trips(&device, rng));
        });
    }
}

fn parts<T: Element>(device: &Device, rng: &mut Rng) {
    let n = 97;
    let mut model: Vec<T> = rng.bits(n);
    let mut buffer = up(device, &model[..]);
    let source: Vec<T> = rng.bits(n);
    let shared = up(device, &source[..]).share();
    for step in 0..24 {
        let from = rng.below(n + 1);
        let len = rng.below(n + 1 - from);
        let part = from..from + len;
        let other = rng.below(n + 1 - len);
        let value: Vec<T> = rng.bits(1);
        buffer = buffer.narrow(part.clone()).unwrap();
        let pending = match step % 4 {
            0 => {
                model[part].copy_from_slice(&source[other..other + len]);
                buffered(device.copy(shared.as_in().slice(other..other + len).unwrap(), buffer))
            }
            1 => {
                model[part].fill(value[0]);
                buffered(device.fill(buffer, value[0]))
            }
            2 => {
                let data: Vec<T> = rng.bits(len);
                model[part].copy_from_slice(&data);
                device.upload_into(data, buffer)
            }
            _ => {
                model[part].copy_from_slice(&source[other..other + len]);
                let slice = shared.slice(other..n).unwrap().slice(0..len).unwrap();
                buffered(device.copy(&slice, buffer))
            }
        };
        buffer = pending.unwrap().into_output().widen();
        let look = rng.below(n + 1)..n;
        let seen = down(device, buffer.as_in().slice(look.clone()).unwrap());
        assert_same_bits(&seen, &model[look], &format!("step {step} on {device:?}"));
    }
    assert_same_bits(&down(device, &buffer), &model, &format!("the whole on {device:?}"));
}

#[test]
fn copies_of_parts_move_those_elements_and_no_others() {
    for device in devices() {
        seeds(2, |rng, _| {
            each_type!(parts(&device, rng));
        });
    }
}

fn fills<T: Element>(device: &Device, rng: &mut Rng) {
    for n in [1, 3, 1000, 4099] {
        let value = rng.bits::<T>(1)[0];
        let buffer = device.fill(device.uninit(n).unwrap(), value).unwrap().await_result().unwrap();
        assert_same_bits(&down(device, &buffer), &vec![value; n], &format!("fill on {device:?}"));
    }
}

#[test]
fn a_fill_repeats_any_bit_pattern() {
    for device in devices() {
        seeds(3, |rng, _| {
            each_type!(fills(&device, rng));
        });
    }
}

#[test]
fn forty_mebibytes_round_trip_bit_for_bit() {
    for device in devices() {
        seeds(1, |rng, _| {
            let words = 5 << 20; // 40 MiB, and a little for an odd last piece
            let data: Vec<u64> = (0..words + 3).map(|_| rng.next()).collect();
            let buffer = device.upload(&data).unwrap().await_result().unwrap();
            assert!(down(&device, &buffer) == data, "{device:?}");
            let part = words / 3..words;
            let mut target = vec![0; part.len()];
            let slice = buffer.as_in().slice(part.clone()).unwrap();
            device.download(slice).unwrap().await_result_into(&mut target).unwrap();
            assert!(target == data[part], "{device:?}");
            let fresh = data.iter().rev().copied().collect::<Vec<_>>();
            let buffer = device.upload_into(fresh.clone(), buffer).unwrap().into_output();
            assert!(down(&device, &buffer) == fresh, "{device:?}");
        });
    }
}

#[test]
fn a_target_of_another_length_is_refused_and_left_alone() {
    for device in devices() {
        let buffer = up(&device, vec![1u16, 2, 3]);
        for len in [0, 2, 4] {
            let mut target = vec![9u16; len];
            let error = device.download(&buffer).unwrap().await_result_into(&mut target).unwrap_err();
            let (argument, reason) = refused(&error);
            assert_eq!(argument, "target");
            assert!(reason.contains(&len.to_string()) && reason.contains('3'), "{reason}");
            assert_eq!(target, vec![9; len]);
        }
    }
}

#[test]
fn a_download_is_what_the_buffer_held_when_it_was_submitted() {
    for device in devices() {
        let buffer = up(&device, vec![1i32; 5000]);
        let before = device.download(&buffer).unwrap();
        let buffer = device.fill(buffer, 2).unwrap().into_output();
        let after = device.download(&buffer).unwrap();
        assert_eq!(before.await_result().unwrap(), [1; 5000]);
        assert_eq!(after.await_result().unwrap(), [2; 5000]);
    }
}

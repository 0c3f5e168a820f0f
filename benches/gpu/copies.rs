//! Copies between pageable host memory and the device, against the driver's own pageable copies.

use crate::harness::{Bench, Goal, Unit, timed};
use crate::random::Random;
use crate::raw::{Memory, ok};

const MIB: usize = 1 << 20;

pub(crate) fn run(bench: &mut Bench) {
    let (device, raw) = (bench.device.clone(), bench.raw);
    let stream = raw.stream();
    let largest = if bench.tiny { 2 * MIB } else { 256 * MIB };
    let mut random = Random(1);
    let data: Vec<u64> = (0..largest / 8).map(|_| random.bits()).collect();
    let data: &[u8] = bytemuck::cast_slice(&data);
    let (upload, download) = (raw.driver.memcpy_htod, raw.driver.memcpy_dtoh);

    let sizes =
        [(4 << 10, 200), (64 << 10, 200), (512 << 10, 100), (MIB, 100), (4 * MIB, 50), (16 * MIB, 30), (largest, 8)];
    for (bytes, rounds) in sizes.into_iter().filter(|(bytes, _)| *bytes <= largest) {
        let text = if bytes < MIB { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) };
        let source = &data[..bytes];
        let batch = (MIB / bytes).clamp(1, 16);
        let speed = |nanoseconds: f64| bytes as f64 / nanoseconds;
        let goals = match bytes == largest {
            true => (Goal::TimesAtLeast(2.5), Goal::TimesAtLeast(2.0)),
            false => (Goal::None, Goal::None),
        };
        let memory = Memory::new(&raw, bytes, stream);
        raw.settle();

        let name = format!("upload of a slice of {text}");
        let mut buffer = Some(device.uninit::<u8>(bytes).unwrap().into_buffer());
        let ours = || {
            speed(timed(batch, || {
                for _ in 0..batch {
                    let target = buffer.take().unwrap();
                    buffer = Some(device.upload_into(source, target).unwrap().await_result().unwrap());
                }
            }))
        };
        match upload {
            Some(copy) => bench.pair(&name, Unit::GBs, goals.0, rounds, ours, || {
                speed(timed(batch, || {
                    for _ in 0..batch {
                        // SAFETY: both are `bytes` long; the call returns when the source has been read.
                        ok(unsafe { copy(memory.address, source.as_ptr().cast(), bytes) });
                    }
                }))
            }),
            None => bench.skip(&name, "no cuMemcpyHtoD here"),
        }

        let buffer = device.upload(source).unwrap().await_result().unwrap();
        let name = format!("download of {text} into touched memory");
        let mut target = vec![1u8; bytes];
        let mut raw_target = vec![1u8; bytes];
        let ours = || {
            speed(timed(batch, || {
                for _ in 0..batch {
                    device.download(&buffer).unwrap().await_result_into(&mut target).unwrap();
                }
            }))
        };
        match download {
            Some(copy) => bench.pair(&name, Unit::GBs, goals.1, rounds, ours, || {
                speed(timed(batch, || {
                    for _ in 0..batch {
                        // SAFETY: both are `bytes` long; the call returns when the target has been written.
                        ok(unsafe { copy(raw_target.as_mut_ptr().cast(), memory.address, bytes) });
                    }
                }))
            }),
            None => bench.skip(&name, "no cuMemcpyDtoH here"),
        }
        device.download(&buffer).unwrap().await_result_into(&mut target).unwrap();
        assert!(target == source, "what came back differs from what was sent");
    }

    let pinned = raw.pinned(largest);
    let memory = Memory::new(&raw, largest, stream);
    raw.settle();
    let speed = |nanoseconds: f64| largest as f64 / nanoseconds;
    // SAFETY: both are `largest` bytes long and live until the stream was waited for.
    bench.floor("the link, from pinned memory", Unit::GBs, 8, || unsafe {
        speed(timed(1, || {
            ok((raw.driver.memcpy_htod_async)(memory.address, pinned.cast(), largest, stream));
            ok((raw.driver.stream_synchronize)(stream));
        }))
    });
    // SAFETY: as above.
    bench.floor("the link, to pinned memory", Unit::GBs, 8, || unsafe {
        speed(timed(1, || {
            ok((raw.driver.memcpy_dtoh_async)(pinned.cast(), memory.address, largest, stream));
            ok((raw.driver.stream_synchronize)(stream));
        }))
    });
    // SAFETY: from `pinned`; nothing uses it any more.
    ok(unsafe { (raw.driver.mem_free_host)(pinned.cast()) });
}

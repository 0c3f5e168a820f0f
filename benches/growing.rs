//! Memory that grows, managed pages, and copies with gaps, through the library: `cargo bench --bench growing`.
//!
//! Each row is the median of single calls, in microseconds. `benches/growth.py` makes the driver's raw calls and those of PyTorch and CuPy:
//! run both in one go on one machine.
//!
//! ```text
//! cargo bench --bench growing                          # on the host device
//! WINDLASS_DEVICE=cuda:0 cargo bench --bench growing
//! python3 benches/growth.py
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot run should stop")]

use std::time::Instant;
use windlass::managed::PagePlace;
use windlass::{Device, Tensor};

const MIB: usize = 1 << 20;
/// Rounds of a row.
const ROUNDS: usize = 25;

fn main() {
    let device = Device::from_env().expect("a device");
    println!("# {} ({}), medians in us", device.name(), device.info().name);
    let bench = Bench { gpu: device.kind() != windlass::DeviceKind::Host, device };
    bench.growth();
    bench.under_load();
    bench.copied();
    if bench.gpu {
        bench.managed(64 * MIB);
    }
    bench.gaps();
}

struct Bench {
    device: Device,
    gpu: bool,
}

/// Prints the median and the largest.
fn row(name: &str, mut microseconds: Vec<f64>) {
    microseconds.sort_by(f64::total_cmp);
    let most = microseconds.last().copied().unwrap_or(f64::NAN);
    let median = microseconds.get(microseconds.len() / 2).copied().unwrap_or(f64::NAN);
    println!("{name:<66} {median:10.1} {most:10.1}");
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6
}

impl Bench {
    fn settle(&self) {
        self.device.synchronize(std::time::Duration::from_secs(60)).unwrap();
    }

    /// Rows of 1 MiB, so many of them there already.
    fn growth(&self) {
        for step in [2, 16, 256] {
            // Each step needs memory.
            let rows = if self.gpu { 16 * 1024 } else { 2048 };
            let took = (0..ROUNDS)
                .map(|_| {
                    let mut all = self.device.growing::<f32>([2, MIB / 4], rows).unwrap();
                    timed(|| all.grow(step).unwrap())
                })
                .collect();
            row(&format!("grow 2 MiB by {step} MiB, for the first time"), took);
        }
        for held in [2, 64, 1024] {
            let mut all = self.device.growing::<f32>([held, MIB / 4], if self.gpu { 16 * 1024 } else { 2048 }).unwrap();
            for step in [2, 16, 256] {
                let mut took = [vec![], vec![]];
                for _ in 0..ROUNDS {
                    took[0].push(timed(|| all.grow(step).unwrap()));
                    took[1].push(timed(|| all.shrink(step).unwrap()));
                    self.settle();
                }
                let [grown, shrunk] = took;
                row(&format!("grow {held} MiB by {step} MiB"), grown);
                row(&format!("shrink to {held} MiB by {step} MiB"), shrunk);
            }
        }
        // A token of a cache: most steps need no memory.
        let mut cache = self.device.growing::<f32>([0, 4096], 8192).unwrap();
        let token = vec![1.0f32; 4096];
        let (mut grown, mut appended) = (vec![], vec![]);
        for at in 0..4000 {
            grown.push(timed(|| cache.grow(1).unwrap()));
            let start = Instant::now();
            let part = cache.part(|all| all.slice(at..)).unwrap();
            cache = self.device.upload_to(&token[..], part).unwrap().into_output();
            appended.push(start.elapsed().as_secs_f64() * 1e6);
        }
        self.settle();
        row("grow a cache by a token of 16 KiB", grown);
        row("upload that token, submitted", appended);
        let start = Instant::now();
        let many: Vec<_> = (0..1000).map(|_| self.device.growing::<f32>([2, MIB / 4], 1024).unwrap()).collect();
        let (made, start) = (start.elapsed(), Instant::now());
        drop(many);
        self.settle();
        println!("# 1000 reserves of 1 GiB with 2 MiB each: made in {made:.0?}, given back in {:.0?}", start.elapsed());
    }

    /// A growth while a product of the old rows runs, and how long the product's thread is held up.
    fn under_load(&self) {
        let n = if self.gpu { 8192 } else { 512 };
        let mut all = self.device.growing::<f32>([n, n], 4 * n).unwrap();
        all = self.device.fill(all, 1.0).unwrap().await_result().unwrap();
        let other = self.device.full([n, n], 1.0f32).unwrap();
        let (mut grown, mut still) = (vec![], 0);
        for _ in 0..ROUNDS {
            let old = all.view().slice(..n).unwrap();
            let product = self.device.matmul(old, &other).unwrap();
            grown.push(timed(|| all.grow(n / 8).unwrap()));
            still += usize::from(!product.is_ready());
            let product = product.await_result().unwrap();
            assert!(
                self.device.download(product.view().slice((0, ..1)).unwrap()).unwrap().await_result().unwrap()
                    == [n as f32]
            );
            all.shrink(n / 8).unwrap();
            self.settle();
        }
        row(&format!("grow by {} MiB under a product of {n}; {still} of {ROUNDS} still ran", n * n / 2 / MIB), grown);
    }

    /// What growth saves.
    fn copied(&self) {
        for held in [64, 256, 1024] {
            let old = self.device.full([held * MIB / 4], 1.0f32).unwrap();
            let took = (0..ROUNDS)
                .map(|_| {
                    timed(|| {
                        let new = self.device.uninit::<f32>([(held + 2) * MIB / 4]).unwrap();
                        let part = new.part(|all| all.slice(..held * MIB / 4)).unwrap();
                        drop(self.device.copy(&old, part).unwrap().await_result().unwrap());
                    })
                })
                .collect();
            row(&format!("a copy of {held} MiB into larger memory"), took);
        }
    }

    fn doubled(&self, x: &mut Tensor<f32>, prefetch: bool) {
        if prefetch {
            x.prefetch(PagePlace::Device).unwrap();
        }
        *x = take(&self.device, x, |x| self.device.blas().scal(2.0, x).unwrap().await_result().unwrap());
    }

    /// Both sides in turn: the host writes all, the GPU doubles all, the host reads all.
    fn managed(&self, bytes: usize) {
        let n = bytes / 4;
        let mut host = vec![0.0f32; n];
        let (mut up, mut on, mut down) = (vec![], vec![], vec![]);
        let mut x = self.device.zeros::<f32>(n).unwrap();
        for round in 0..ROUNDS {
            host.fill(round as f32);
            up.push(timed(|| {
                x = take(&self.device, &mut x, |x| self.device.upload_to(&host[..], x).unwrap().await_result().unwrap())
            }));
            on.push(timed(|| {
                x = take(&self.device, &mut x, |x| self.device.blas().scal(2.0, x).unwrap().await_result().unwrap())
            }));
            down.push(timed(|| self.device.download(&x).unwrap().await_result_into(&mut host).unwrap()));
            assert!(host.iter().all(|x| *x == 2.0 * round as f32));
        }
        row("64 MiB: upload", up);
        row("64 MiB: scal on the GPU", on);
        row("64 MiB: download", down);
        let mut x = self.device.managed::<f32>(n).unwrap();
        let names = [
            "the host writes",
            "scal after that",
            "scal again",
            "the host reads",
            "scal after that, over the bus",
            "prefetch to the GPU, and scal",
            "scal again, there",
            "prefetch to the host, and the host reads",
        ];
        let mut took: [Vec<f64>; 8] = Default::default();
        for round in 0..ROUNDS {
            let one = round as f32;
            took[0].push(timed(|| x.host_mut().unwrap().fill(one)));
            took[1].push(timed(|| self.doubled(&mut x, false)));
            took[2].push(timed(|| self.doubled(&mut x, false)));
            took[3].push(timed(|| assert!(x.host().unwrap().iter().all(|x| *x == 4.0 * one))));
            took[4].push(timed(|| self.doubled(&mut x, false)));
            took[5].push(timed(|| self.doubled(&mut x, true)));
            took[6].push(timed(|| self.doubled(&mut x, false)));
            took[7].push(timed(|| {
                x.prefetch(PagePlace::Host).unwrap();
                assert!(x.host().unwrap().iter().all(|x| *x == 32.0 * one));
            }));
        }
        for (name, took) in names.into_iter().zip(took) {
            row(&format!("64 MiB, managed: {name}"), took);
        }
    }

    /// Rows of a part of a tensor that is twice as wide, and the same bytes without gaps.
    fn gaps(&self) {
        for (bytes, rows) in [(MIB, 1024), (MIB, 8192), (16 * MIB, 4096), (64 * MIB, 16_384)] {
            let columns = bytes / rows / 4;
            let text = format!("{} MiB in {rows} rows", bytes / MIB);
            let data = vec![1.0f32; rows * columns];
            let mut target = vec![0.0f32; rows * columns];
            let mut dense = self.device.zeros::<f32>([rows, columns]).unwrap();
            let mut wide = self.device.zeros::<f32>([rows, 2 * columns]).unwrap();
            let mut took: [Vec<f64>; 5] = Default::default();
            for _ in 0..ROUNDS {
                took[0].push(timed(|| {
                    dense = take(&self.device, &mut dense, |x| {
                        self.device.upload_to(&data[..], x).unwrap().await_result().unwrap()
                    })
                }));
                took[1].push(timed(|| {
                    wide = take(&self.device, &mut wide, |x| {
                        let part = x.part(|all| all.slice((.., columns..))).unwrap();
                        self.device.upload_to(&data[..], part).unwrap().await_result().unwrap()
                    });
                }));
                took[2].push(timed(|| self.device.download(&dense).unwrap().await_result_into(&mut target).unwrap()));
                took[3].push(timed(|| {
                    let part = wide.view().slice((.., columns..)).unwrap();
                    self.device.download(&part).unwrap().await_result_into(&mut target).unwrap();
                }));
                took[4].push(timed(|| {
                    // What an upload with gaps is otherwise.
                    wide = take(&self.device, &mut wide, |x| {
                        let packed = self.device.tensor([rows, columns], &data[..]).unwrap();
                        let part = x.part(|all| all.slice((.., columns..))).unwrap();
                        self.device.copy(&packed, part).unwrap().await_result().unwrap()
                    });
                }));
            }
            let names =
                ["upload", "upload with gaps", "download", "download with gaps", "upload, and a copy into the gaps"];
            for (name, took) in names.into_iter().zip(took) {
                row(&format!("{text}: {name}"), took);
            }
        }
    }
}

/// Moves a tensor through a call.
fn take(device: &Device, x: &mut Tensor<f32>, call: impl FnOnce(Tensor<f32>) -> Tensor<f32>) -> Tensor<f32> {
    call(std::mem::replace(x, device.uninit::<f32>(0).unwrap()))
}

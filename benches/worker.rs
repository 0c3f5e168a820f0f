//! What a worker process costs: the same work on a device in this process and in a child, interleaved.
//!
//! ```console
//! $ cargo bench --bench worker                       # WINDLASS_DEVICE=host (the default) or cuda:0
//! $ cargo bench --bench worker -- waits              # only what waits cost in processor time
//! ```
//!
//! Medians of runs in turn (A B A B). The operations are as small as they come, so that what is measured is the way there
//! and back; beside the round trips stands what two processes take that only wake each other. Both processes need a core each while they are busy: with fewer than four cores the numbers are upper bounds.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use windlass::{Device, DeviceBuffer, DeviceKind, Gemm, HostPool, RestartPolicy};

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn upload(device: &Device) -> DeviceBuffer<f64> {
    device.upload([3.0f64, 4.0]).unwrap().await_result().unwrap()
}

/// Submitting `n` operations, and having all their answers; for each.
fn pipelined(device: &Device, n: u32) -> (Duration, Duration) {
    let x = upload(device);
    let start = Instant::now();
    let pendings: Vec<_> = (0..n).map(|_| device.blas().nrm2(&x).unwrap()).collect();
    let enqueued = start.elapsed();
    pendings.into_iter().for_each(|pending| assert_eq!(pending.await_result().unwrap(), 5.0));
    (enqueued / n, start.elapsed() / n)
}

/// The same from `threads` threads at once, each on a buffer of its own.
fn together(device: &Device, threads: u32, n: u32) -> Duration {
    let ready = std::sync::Barrier::new(threads as usize + 1);
    let start = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let x = upload(device);
                ready.wait();
                let pendings: Vec<_> = (0..n).map(|_| device.blas().nrm2(&x).unwrap()).collect();
                pendings.into_iter().for_each(|pending| assert_eq!(pending.await_result().unwrap(), 5.0));
            });
        }
        ready.wait();
        Instant::now()
    });
    start.elapsed() / (threads * n)
}

/// One operation and its answer, after a pause.
fn round_trip(device: &Device, x: &DeviceBuffer<f64>, pause: Duration) -> Duration {
    std::thread::sleep(pause);
    let start = Instant::now();
    assert_eq!(device.blas().nrm2(x).unwrap().await_result().unwrap(), 5.0);
    start.elapsed()
}

fn copies(device: &Device, data: &[f32], back: &mut [f32]) -> (Duration, Duration) {
    let start = Instant::now();
    let x = device.upload(data).unwrap().await_result().unwrap();
    let up = start.elapsed();
    device.download(&x).unwrap().await_result_into(back).unwrap();
    (up, start.elapsed() - up)
}

fn recovery(device: &Device) -> Duration {
    let generation = device.generation();
    let pid = device.worker_pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    while device.generation() == generation {
        std::thread::sleep(Duration::from_micros(100));
    }
    drop(upload(device));
    device.stats().recovery.unwrap_or_default()
}

/// How long a product of `n x n` matrices is waited for, and the part of that time that the waiting thread takes of a
/// processor: medians of waits after those that are learned from. And the part that the worker takes, where its work is done
/// by a GPU.
fn waits(device: &Device, n: usize, rounds: usize) -> (Duration, f64, Option<f64>) {
    const LEARNING: usize = 40;
    let x = device.full([n, n], 1.0f32).unwrap();
    let worker = device.worker_pid().filter(|_| device.kind() == DeviceKind::Cuda);
    let mut c = Some(device.zeros::<f32>([n, n]).unwrap());
    let mut samples = Vec::new();
    for round in 0..LEARNING + rounds {
        let pending = device.blas().gemm(Gemm::new(), &x, &x, c.take().unwrap()).unwrap();
        let (start, here) = (Instant::now(), processor_time(None));
        let there = worker.map(|pid| processor_time(Some(pid)));
        c = Some(pending.await_result().unwrap());
        let (waited, here) = (start.elapsed(), processor_time(None).saturating_sub(here));
        let there = worker.zip(there).map(|(pid, before)| processor_time(Some(pid)).saturating_sub(before));
        if round >= LEARNING {
            samples.push((waited, here, there));
        }
    }
    let share = |spent: Duration| 100.0 * spent.as_secs_f64() / samples.iter().map(|s| s.0.as_secs_f64()).sum::<f64>();
    let (here, there) = (samples.iter().map(|s| s.1).sum(), samples.iter().filter_map(|s| s.2).sum());
    (median(samples.iter().map(|s| s.0).collect()), share(here), worker.map(|_| share(there)))
}

/// How long products of tens to hundreds of milliseconds are waited for, and what that costs.
fn wait_rows(devices: &[Device; 2]) {
    for (n, rounds) in [(512, 200), (1024, 40), (2048, 20), (8192, 20)] {
        if (n == 8192) != (devices[0].kind() == DeviceKind::Cuda) && n != 2048 {
            continue; // ten milliseconds of a CPU are not those of a GPU
        }
        let [(here, taken, _), (there, taken_there, by_worker)] = [0, 1].map(|i| waits(&devices[i], n, rounds));
        let name = format!("waits for a product of {n} x {n}");
        println!("{name:<44}{:>14}{:>14}", format!("{here:.2?}"), format!("{there:.2?}"));
        let of_worker = by_worker.map_or(String::new(), |share| format!("; of the worker {share:.1} %"));
        println!("{:<44}{:>13.1}%{:>13.1}%{of_worker}", "  of that, processor time of the waiter", taken, taken_there);
    }
}

/// Of the calling thread, or of a process.
fn processor_time(of: Option<u32>) -> Duration {
    let (mut clock, mut time) = (libc::CLOCK_THREAD_CPUTIME_ID, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both are valid for the writes.
    unsafe {
        if let Some(pid) = of {
            assert_eq!(libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock), 0, "the clock of a worker");
        }
        libc::clock_gettime(clock, &raw mut time);
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Two processes of which each waits for a byte of the other: what the machine takes to wake one and to be woken, without a
/// line of the library.
struct Echo {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

/// Makes this program the other side of an [`Echo`].
const ECHO: &str = "--echo";

impl Echo {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg(ECHO).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Echo { child, to, from }
    }

    fn round_trip(&mut self, pause: Duration) -> Duration {
        std::thread::sleep(pause);
        let start = Instant::now();
        self.to.write_all(&[7]).unwrap();
        self.from.read_exact(&mut [0]).unwrap();
        start.elapsed()
    }

    fn end(mut self) {
        drop(self.to);
        self.child.wait().unwrap();
    }

    /// The other side.
    fn answer() {
        let (mut from, mut to, mut byte) = (std::io::stdin(), std::io::stdout(), [0]);
        while from.read_exact(&mut byte).is_ok() && to.write_all(&byte).and_then(|()| to.flush()).is_ok() {}
    }
}

fn main() {
    windlass::worker::init();
    if std::env::args().any(|argument| argument == ECHO) {
        return Echo::answer();
    }
    let named = std::env::var("WINDLASS_DEVICE").unwrap_or_else(|_| "host".into());
    let builder = Device::builder().host_pool(HostPool::Threads(1)).restart_policy(RestartPolicy::unlimited());
    let builder = builder.named(&named).unwrap();
    let devices = [builder.clone().open().unwrap(), builder.clone().isolated().open().unwrap()];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{} on {cores} cores", devices[0].info().name);
    println!("{:<44}{:>14}{:>14}", "", "in process", "in a worker");
    if std::env::args().any(|argument| argument == "waits") {
        return wait_rows(&devices);
    }
    let row = |name: &str, times: [Vec<Duration>; 2]| {
        let [here, there] = times.map(median);
        println!("{name:<44}{:>14}{:>14}", format!("{here:.2?}"), format!("{there:.2?}"));
    };

    let mut times = [const { [const { Vec::new() }; 2] }; 3];
    for _ in 0..15 {
        for (i, device) in devices.iter().enumerate() {
            let (enqueue, all) = pipelined(device, 10_000);
            times[0][i].push(enqueue);
            times[1][i].push(all);
            times[2][i].push(together(device, 8, 2_000));
        }
    }
    let [enqueue, all, eight] = times;
    row("enqueue, 10 000 in flight", enqueue);
    row("an operation of 10 000 pipelined", all);
    row("an operation of 8 x 2000 from 8 threads", eight);

    let mut echo = Echo::start();
    for (name, pause, count) in [("round trip, busy", 0, 5000), ("round trip, from idle", 3000, 200)] {
        let buffers = [0, 1].map(|i| upload(&devices[i]));
        let (mut times, mut bare) = ([Vec::new(), Vec::new()], Vec::new());
        let pause = Duration::from_micros(pause);
        for _ in 0..10 {
            for i in [0, 1] {
                times[i].extend((0..count / 10).map(|_| round_trip(&devices[i], &buffers[i], pause)));
            }
            bare.extend((0..count / 10).map(|_| echo.round_trip(pause)));
        }
        row(name, times);
        println!("{:<44}{:>14}{:>14.2?}", "  a byte through two pipes, the same way", "", median(bare));
    }

    echo.end();

    wait_rows(&devices);

    let data = vec![1.5f32; 64 << 20];
    let mut back = vec![0f32; 64 << 20];
    let (mut ups, mut downs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..5 {
        for i in [0, 1] {
            let (up, down) = copies(&devices[i], &data, &mut back);
            ups[i].push(up);
            downs[i].push(down);
        }
    }
    assert_eq!(data, back);
    row("upload of 256 MiB", ups);
    row("download of 256 MiB into touched memory", downs);

    let standby = builder.isolated().standby(true).open().unwrap();
    for (name, device) in [("cold", &devices[1]), ("with a standby", &standby)] {
        let times: Vec<_> = (0..20)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(200));
                while std::ptr::eq(device, &standby) && device.stats().standby.is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                recovery(device)
            })
            .collect();
        println!("{:<44}{:>14}{:>14.2?}", format!("loss known to the next generation, {name}"), "", median(times));
    }
}

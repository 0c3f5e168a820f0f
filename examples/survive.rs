//! A computation that goes on although its device is lost in the middle, again and again.
//!
//! The largest eigenvalue of a matrix by power iteration, on an isolated device. Every fortieth round also launches a kernel
//! that ends the device: on a GPU it writes to an illegal address, on the CPU its twin aborts. In process that would be the
//! end of the program; here it is the end of a worker process, the supervisor starts another, the matrix is put back
//! (`Mirrored`), the kernel is loaded again, and the round that was lost is done again.
//!
//! ```console
//! $ cargo run --release -p windlass --features nvrtc --example survive # WINDLASS_DEVICE=host or cuda:0
//! ```

use std::time::{Duration, Instant};
use windlass::nvrtc::{DevicePtr, LaunchConfig};
use windlass::tensor::Layout;
use windlass::{Device, Error, Kernel, Mirrored, Result, nvrtc::Image};

/// Writes where nothing is.
const STRAY: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry stray(.param .u64 address) {
    .reg .u64 %address;
    ld.param.u64 %address, [address];
    st.global.u64 [%address], %address;
    ret;
}
";

/// The kernel that no device survives, and on a CPU its twin.
fn stray(device: &Device) -> Result<Kernel> {
    let kernel = device.nvrtc().load(&Image::ptx(STRAY)?)?.kernel("stray")?;
    kernel.twin_fn::<(DevicePtr,)>(|_, _| std::process::abort())
}

const N: usize = 8;
const ROUNDS: usize = 200;

/// One round: `x = A x`, its length, and `x` scaled to length 1.
fn round(device: &Device, a: &Mirrored<f64>, x: &[f64], faulty: Option<&Kernel>) -> Result<(f64, Vec<f64>)> {
    let x = device.buffer(x)?;
    let y = device.matmul(a.get().view(Layout::rows(N, N))?, &x)?;
    if let Some(stray) = faulty {
        // SAFETY: none: it faults. It runs in a process that is there to be lost.
        drop(unsafe { stray.launch(LaunchConfig::new(1, 1), (DevicePtr(8),)) }?.await_result()?);
    }
    let norm = device.blas().nrm2(&y)?.await_result()?;
    let y = device.blas().scal(1.0 / norm, y)?;
    Ok((norm, device.to_vec(&y)?))
}

fn main() -> Result<()> {
    windlass::worker::init(); // in a worker process this does not return
    let policy = windlass::RestartPolicy { restarts: 10, ..Default::default() };
    let device = Device::builder().from_env()?.isolated().restart_policy(policy).open()?;
    println!("{} in process {:?}", device.name(), device.worker_pid());

    // 2 on the diagonal, -1 beside it: the largest eigenvalue is 2 + 2 cos(pi / (n + 1)).
    let entry = |i: usize, j: usize| [2.0, -1.0].get(i.abs_diff(j)).copied().unwrap_or(0.0);
    let a = device.mirrored((0..N * N).map(|at| entry(at % N, at / N)).collect::<Vec<f64>>())?;
    let mut x: Vec<f64> = (0..N).map(|i| 1.0 + i as f64).collect();
    let mut stray = stray(&device)?;
    let (mut value, mut losses) = (0.0, 0);
    let start = Instant::now();
    for n in 1..=ROUNDS {
        let mut faulty = n % 40 == 20;
        (value, x) = loop {
            match round(&device, &a, &x, faulty.then_some(&stray)) {
                Ok(answer) => break answer,
                Err(error @ (Error::ContextPoisoned { .. } | Error::GpuRefStale { .. } | Error::Upstream { .. })) => {
                    losses += 1;
                    println!("round {n}: {error}");
                    device.wait_healthy(Duration::from_secs(60))?;
                    stray = stray.reload()?; // data and code of the lost worker are gone; the image is kept
                    faulty = false;
                }
                Err(error) => return Err(error),
            }
        };
    }
    let stats = device.stats();
    let want = 2.0 + 2.0 * (std::f64::consts::PI / (N as f64 + 1.0)).cos();
    println!("{ROUNDS} rounds in {:.1?}, the largest eigenvalue is {value:.9} (exactly {want:.9})", start.elapsed());
    println!(
        "{} workers lost, {} restarted, the last within {:.1?}; {} orders and {} bytes sent to and from workers",
        stats.faults,
        stats.rebuilds,
        stats.recovery.unwrap_or_default(),
        stats.orders,
        stats.bytes_crossed
    );
    if (value - want).abs() < 1e-6 && stats.faults == 5 && losses >= 5 {
        Ok(())
    } else {
        Err(Error::library("the eigenvalue or the number of lost workers is wrong"))
    }
}

//! How late an adaptive wait ends on a device that tells nobody, and what it costs in processor time.
//!
//! A thread ends the work after a set time, so late is the time from that moment on. Each row is measured twice: by a thread
//! that has not waited for such work before, and by one that has.

use crate::standin::{Driver, endless};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use windlass::Device;

/// Milliseconds of work, and how often it is waited for. A thread learns for the first 20 to 39.
const WORK: [(u64, usize); 4] = [(2, 400), (10, 200), (100, 40), (1000, 4)];
const LEARNING: usize = 40;

pub(crate) fn run(driver: &Driver, only: Option<&str>) {
    let device = Device::builder().cuda(0).slots(1).open().unwrap();
    for (ms, rounds) in WORK {
        let name = format!("adaptive wait of {ms} ms");
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let work = Duration::from_millis(ms);
        // As often as not to have learned; a thread for each, because each learns by itself.
        let unknown = (0..rounds.div_ceil(19)).flat_map(|_| on_a_thread(driver, &device, work, 19)).collect();
        row(&format!("{name}, length unknown"), work, unknown);
        if ms <= 100 {
            let known = on_a_thread(driver, &device, work, LEARNING + rounds).split_off(LEARNING);
            row(&format!("{name}, length known"), work, known);
        }
    }
}

fn row(name: &str, work: Duration, mut waits: Vec<(Duration, Duration)>) {
    waits.sort();
    let late = waits[(waits.len() * 95 / 100).min(waits.len() - 1)].0;
    let spent: Duration = waits.iter().map(|(_, spent)| *spent).sum();
    let share = 100.0 * spent.as_secs_f64() / (waits.len() as f64 * work.as_secs_f64());
    println!("{name:44} late at p95 {late:9.1?} {share:6.1} % of a core");
}

/// How late each wait was, and the processor time of the waiting thread.
fn on_a_thread(driver: &Driver, device: &Device, work: Duration, rounds: usize) -> Vec<(Duration, Duration)> {
    let ((begin, begun), (ended, end)) = (channel::<()>(), channel());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while begun.recv().is_ok() {
                std::thread::sleep(work);
                let now = Instant::now();
                driver.release();
                ended.send(now).unwrap();
            }
        });
        let wait = move || {
            let pending = endless(device);
            begin.send(()).unwrap();
            let before = processor_time();
            pending.await_result().unwrap();
            let (now, spent) = (Instant::now(), processor_time().saturating_sub(before));
            (now.saturating_duration_since(end.recv().unwrap()), spent)
        };
        let waits = scope.spawn(move || (0..rounds).map(|_| wait()).collect());
        waits.join().unwrap()
    })
}

/// Of the calling thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

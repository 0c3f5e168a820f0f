//! Program order on the CUDA engine: random programs from several threads against a sequential model, on a device that
//! runs streams in any order that events allow, reuses freed bytes at once, and reports every access without an order.

mod again;
mod aliases;
use crate::common;
mod leases;
mod program;
use crate::standin;

use common::{Rng, down, seeds, up};
use program::{Cell, Shared, phase};
use standin::{Driver, Mode, session};
use windlass::Device;

/// Threads of a program.
const THREADS: usize = 4;
/// Buffers of a thread.
const CELLS: usize = 5;

/// One random program. Buffers wander between the threads, with their work in flight; some are shared for a while.
fn run(driver: &Driver, rng: &mut Rng, seed: u64, mode: Mode, slots: usize) {
    driver.reset();
    driver.seed(seed);
    driver.set_total_memory(4 << 20); // no workspace, and bytes are used again soon
    driver.mode(mode);
    let device = standin::device(slots);
    let mut cells: Vec<Vec<Cell>> =
        (0..THREADS).map(|_| (0..CELLS).map(|_| Cell::random(&device, rng)).collect()).collect();
    for _ in 0..3 {
        // One buffer of each thread is everybody's to read.
        let shared: Vec<Shared> = cells.iter_mut().map(|own| own.swap_remove(0).share()).collect();
        std::thread::scope(|scope| {
            for own in &mut cells {
                let (device, shared, mut rng) = (&device, shared.clone(), Rng::new(rng.next()));
                scope.spawn(move || phase(device, &mut rng, own, &shared, 40));
            }
        });
        for (own, shared) in cells.iter_mut().zip(shared) {
            own.push(shared.unshare());
        }
        cells.rotate_left(1);
        for i in 1..THREADS {
            let (mine, theirs) = (rng.below(CELLS), rng.below(CELLS));
            let (left, right) = cells.split_at_mut(i);
            std::mem::swap(&mut left[0][mine], &mut right[0][theirs]);
        }
    }
    cells.into_iter().flatten().for_each(|cell| cell.check(&device));
    drop(device);
    driver.assert_finished();
}

fn run_seeds(mode: Mode, count: u64) {
    let driver = session();
    seeds(count, |rng, seed| [1, 2, 16].into_iter().for_each(|slots| run(&driver, rng, seed, mode, slots)));
}

#[test]
fn random_programs_agree_with_a_sequential_model_when_looking_moves_the_device() {
    run_seeds(Mode::Auto, 10);
}

#[test]
fn random_programs_agree_with_a_sequential_model_on_a_device_that_is_never_behind() {
    run_seeds(Mode::Eager, 6);
}

#[test]
fn random_programs_agree_with_a_sequential_model_on_a_device_with_a_pace_of_its_own() {
    run_seeds(Mode::Background, 10);
}

/// What each of several parts has in flight counts for the memory of all.
#[test]
fn memory_goes_back_behind_the_work_on_every_part_of_it() {
    let driver = session();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        driver.reset();
        let device = Device::builder().cuda(0).slots(4).open().unwrap();
        let whole = device.fill(device.uninit::<f32>(96).unwrap(), 1.0).unwrap().await_result().unwrap();
        driver.mode(Mode::Manual);
        let (left, rest) = whole.into_buffer().split_at(32).unwrap();
        let (middle, right) = rest.split_at(32).unwrap();
        // While nothing completes, each goes to a stream of its own.
        let sources: Vec<_> = (0..3).map(|i| device.fill(device.uninit(32).unwrap(), i as f32).unwrap()).collect();
        let sources: Vec<_> = sources.into_iter().map(|pending| pending.into_output()).collect();
        let parts = [left, middle, right].into_iter().zip(&sources);
        let mut parts: Vec<_> =
            parts.map(|(part, from)| Some(device.copy(from, part).unwrap().into_output())).collect();
        for index in order {
            parts[index] = None;
        }
        let again: Vec<_> = (0..4).map(|_| device.zeros::<f32>(96).unwrap()).collect();
        driver.mode(Mode::Auto);
        for zeros in &again {
            assert_eq!(down(&device, zeros), [0.0; 96]);
        }
        drop((sources, parts, again, device));
        driver.assert_finished();
    }
}

#[test]
fn a_buffer_used_by_many_threads_is_written_after_all_of_them_have_read_it() {
    let driver = session();
    seeds(8, |_, seed| {
        driver.reset();
        driver.seed(seed);
        let device = Device::builder().cuda(0).slots(8).open().unwrap();
        let x = up(&device, vec![1.0f64; 64]).share();
        let sums: Vec<f64> = std::thread::scope(|scope| {
            let reader = |x: windlass::GpuRef<f64>| {
                let device = &device;
                scope.spawn(move || (0..20).map(|_| device.blas().dot(&x, &x).unwrap()).collect::<Vec<_>>())
            };
            let readers: Vec<_> = (0..8).map(|_| reader(x.clone())).collect();
            let pendings: Vec<_> = readers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            let y = device.fill(x.try_unique().expect("the last handle"), 2.0).unwrap().into_output();
            let sums = pendings.into_iter().map(|pending| pending.await_result().unwrap()).collect();
            assert_eq!(down(&device, &y), [2.0; 64]);
            sums
        });
        assert_eq!(sums, [64.0; 160]);
        drop(device);
        driver.assert_finished();
    });
}

#[test]
fn copies_between_two_devices_follow_and_are_followed() {
    let driver = session();
    seeds(8, |rng, seed| {
        driver.reset();
        driver.seed(seed);
        driver.mode(if seed % 2 == 0 { Mode::Auto } else { Mode::Background });
        let devices = [0, 1].map(|n| Device::builder().cuda(n).slots(3).open().unwrap());
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (devices, mut rng) = (&devices, Rng::new(rng.next()));
                scope.spawn(move || {
                    let [here, there] = [&devices[thread], &devices[1 - thread]];
                    let mut x = up(here, vec![1.0f64; 16]);
                    let mut want = 1.0;
                    for _ in 0..25 {
                        let mut y = there.copy_peer(&x, there.zeros(16).unwrap()).unwrap().into_output();
                        x = here.fill(x, -1.0).unwrap().into_buffer(); // after the copy has read it
                        let times = rng.below(3);
                        y = (0..times).fold(y, |y, _| there.blas().scal(2.0, y).unwrap().into_output());
                        want *= f64::from(1 << times) / 2.0;
                        y = there.blas().scal(0.5, y).unwrap().into_output();
                        x = here.copy_peer(&y, x).unwrap().into_buffer();
                    }
                    assert_eq!(down(here, &x), [want; 16]);
                });
            }
        });
        drop(devices);
        driver.assert_finished();
    });
}

//! Programs in files.

use super::recorders;
use crate::common::{Map, assert_same_bits, columns, down, inline, into_columns, is_host, refused, up};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use windlass::blas::{Gemm, Gemv};
use windlass::sparse::Spmv;
use windlass::{Device, DeviceBuffer, Error, FftSpec, Program, Result, Tensor, TensorRef};

/// A file that goes with this.
pub(super) struct File(PathBuf);

impl File {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("windlass-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        File(std::env::temp_dir().join(name))
    }

    pub(super) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The program by way of a file, if it can be saved and reads nothing but what each replay is given.
pub(super) fn again(program: &Program, device: &Device) -> Option<Program> {
    let file = File::new();
    match program.save(&file.0) {
        Ok(()) => {}
        Err(Error::Unsupported { reason, .. }) => {
            assert!(reason.contains("Op::wire"), "{reason}");
            return None;
        }
        Err(error) => panic!("{error}"),
    }
    match Program::load(device, &file.0, ()) {
        Ok(loaded) => Some(loaded),
        Err(Error::InvalidArgument { argument, .. }) if argument == "captured" => None,
        Err(error) => panic!("{error}"),
    }
}

/// `y = A x`, of which `A` is captured; then its norm, and `y` scaled by it on the way out.
fn step_of(device: &Device, a: &DeviceBuffer<f64>) -> Program {
    let (program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<f64>(3)?, r.output::<f64>(3)?);
            let t = r.labelled("product").blas().gemv(Gemv::new(), columns(a, 3, 3), &x, r.uninit(3)?)?.into_buffer();
            drop(r.labelled("norm").blas().nrm2(&t)?);
            drop(r.blas().iamax(&t)?);
            r.copy(&t, y)?.into_output();
            Ok(())
        })
        .unwrap();
    program
}

fn matrix(device: &Device) -> DeviceBuffer<f64> {
    up(device, vec![2.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 6.0])
}

/// It computes what [`step_of`] says.
#[track_caller]
fn assert_right(device: &Device, loaded: &Program) {
    let x = up(device, vec![1.0, 1.0, 1.0]);
    let norm = loaded.later::<f64>(loaded.step("norm").unwrap()).unwrap();
    let greatest = loaded.later::<Option<usize>>(2).unwrap();
    let done = loaded.replay((&x,), (device.uninit::<f64>(3).unwrap(),)).unwrap().await_result().unwrap();
    assert_eq!(down(device, &done.operands.0), [2.0, 3.0, 6.0]);
    assert_eq!((done.get(&norm).unwrap(), done.get(&greatest).unwrap()), (7.0, Some(2)));
}

#[test]
fn a_file_is_a_program_for_any_device() {
    for device in recorders() {
        let file = File::new();
        let program = step_of(&device, &matrix(&device));
        program.save(&file.0).unwrap();
        for other in recorders() {
            let loaded = Program::load(&other, &file.0, (&matrix(&other),)).unwrap();
            assert_right(&other, &loaded);
            assert_eq!(loaded.to_dot(), program.to_dot());
            let (one, two) = (loaded.stats(), program.stats());
            assert_eq!((one.edges, one.longest_path, one.arena_bytes), (two.edges, two.longest_path, two.arena_bytes));
        }
    }
}

#[test]
fn a_loaded_program_is_saved_bound_and_compared_as_any() {
    for device in recorders() {
        let file = File::new();
        step_of(&device, &up(&device, vec![9.0; 9])).save(&file.0).unwrap();
        let mut loaded = Program::load(&device, &file.0, (&up(&device, vec![1.0; 9]),)).unwrap();
        loaded.bind(0, &matrix(&device)).unwrap();
        assert_right(&device, &loaded);
        loaded.save(&file.0).unwrap();
        let mut loaded = Program::load(&device, &file.0, (&matrix(&device),)).unwrap();
        assert_right(&device, &loaded);
        let (x, y) = (up(&device, vec![1.0, 2.0, 3.0]), device.uninit::<f64>(3).unwrap());
        let found = loaded.compare(&inline().open().unwrap(), (&x,), (y,)).unwrap();
        assert!(found.first_beyond(0.0).is_none(), "{found}");
        let done = loaded.bisect((&x,), (device.uninit::<f64>(3).unwrap(),)).unwrap();
        assert_eq!(down(&device, &done.operands.0), [2.0, 6.0, 18.0]);
    }
}

/// A link at the name that the file had beside it led the write of its owner to any file.
#[test]
fn a_save_leaves_what_stands_beside_the_file() {
    let (device, file, victim) = (Device::host().unwrap(), File::new(), File::new());
    let beside = File(file.0.with_extension(format!("new-{}", std::process::id())));
    std::fs::write(&victim.0, "keep").unwrap();
    std::os::unix::fs::symlink(&victim.0, &beside.0).unwrap();
    step_of(&device, &matrix(&device)).save(&file.0).unwrap();
    assert_eq!(std::fs::read_to_string(&victim.0).unwrap(), "keep");
    assert!(beside.0.symlink_metadata().unwrap().is_symlink());
    assert_right(&device, &Program::load(&device, &file.0, (&matrix(&device),)).unwrap());
}

const FILE: &str = "WINDLASS_TEST_PROGRAM";

/// Not a test of its own: what another process makes of the file.
#[test]
#[ignore = "run by the test of another process"]
fn other_process() {
    let path = std::env::var_os(FILE).expect("a file");
    for device in recorders() {
        assert_right(&device, &Program::load(&device, &path, (&matrix(&device),)).unwrap());
    }
}

/// Whose code lies elsewhere in memory.
#[test]
fn another_process_of_the_same_executable_loads_it() {
    let (device, file) = (Device::host().unwrap(), File::new());
    step_of(&device, &matrix(&device)).save(&file.0).unwrap();
    let test = crate::common::child::of_module(module_path!(), "other_process");
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&test, "--exact", "--ignored", "--nocapture"])
        .env(FILE, &file.0)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Its hash is in the file, which is changed for it.
#[test]
fn another_executable_is_told_that_it_does_not_know_the_operations() {
    let (device, file) = (Device::host().unwrap(), File::new());
    step_of(&device, &matrix(&device)).save(&file.0).unwrap();
    let mut bytes = std::fs::read(&file.0).unwrap();
    // The executable's hash stands first in what is summed up.
    let head = 60;
    bytes[head] ^= 1;
    let sum = blake3::hash(&bytes[head..]);
    bytes[28..60].copy_from_slice(sum.as_bytes());
    std::fs::write(&file.0, &bytes).unwrap();
    let error = Program::load(&device, &file.0, (&matrix(&device),)).unwrap_err();
    assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("worker-program")), "{error}");
    assert!(error.to_string().contains("step 0, `gemv` of blas"), "{error}");
}

#[test]
fn what_no_file_can_hold_is_named() {
    for device in recorders().iter().filter(|device| is_host(device)) {
        let file = File::new();
        let (program, ()) = device
            .record(|r| {
                let x = r.blas().scal(2.0, r.operand::<f64>(4)?)?.into_buffer();
                r.dispatch(
                    Map::new(|x: &mut [f64]| {
                        x.iter_mut().for_each(|x| *x += 1.0);
                        Ok(())
                    }),
                    (),
                    (x,),
                )?
                .into_output();
                Ok(())
            })
            .unwrap();
        let error = program.save(&file.0).unwrap_err();
        assert!(matches!(&error, Error::Unsupported { reason, .. } if reason.contains("Op::wire")), "{error}");
        assert!(!file.0.exists());
    }
}

/// What an argument was refused for.
#[track_caller]
fn why<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("it was taken"),
        Err(error) => {
            let (argument, reason) = refused(&error);
            format!("{argument}: {reason}")
        }
    }
}

#[test]
fn bad_files_and_arguments_are_refused_by_name() {
    let (device, file) = (Device::host().unwrap(), File::new());
    let program = step_of(&device, &matrix(&device));
    let a = matrix(&device);
    let load = |path: &std::path::Path| Program::load(&device, path, (&a,)).map(drop);
    assert!(why(load(&file.0)).contains("No such file"));
    let nowhere = PathBuf::from("/nowhere/at/all");
    assert!(why(program.save(&nowhere)).contains("/nowhere/at/all"));
    std::fs::write(&file.0, b"something else").unwrap();
    assert!(why(load(&file.0)).contains("does not begin"));
    program.save(&file.0).unwrap(); // over what was there
    let good = std::fs::read(&file.0).unwrap();
    std::fs::write(&file.0, &good[..good.len() - 1]).unwrap();
    assert!(why(load(&file.0)).contains("bytes were saved"));
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    std::fs::write(&file.0, &bad).unwrap();
    assert!(why(load(&file.0)).contains("checksum"));
    let mut newer = good.clone();
    newer[16] += 1;
    std::fs::write(&file.0, &newer).unwrap();
    assert!(why(load(&file.0)).contains("reads version 3"));

    std::fs::write(&file.0, &good).unwrap();
    assert!(why(Program::load(&device, &file.0, ())).contains("0 buffers, but 1 windows were recorded"));
    let short = up(&device, vec![1.0f64; 8]);
    assert!(why(Program::load(&device, &file.0, (&short,))).contains("captured 0"));
    let loaded = Program::load(&device, &file.0, (&a,)).unwrap();
    assert!(why(loaded.later::<f32>(1)).contains("not of the type f32"));
    assert!(why(loaded.later::<f64>(0)).contains("no result for the host"));
    assert!(why(loaded.later::<f64>(4)).contains("no step 4; the program has 4 steps"));
    let (other, file) = (Device::host().unwrap(), file);
    let stranger = Program::load(&device, &file.0, (&matrix(&other),)).unwrap();
    let x = up(&device, vec![1.0, 1.0, 1.0]);
    let error = stranger.replay((&x,), (device.uninit::<f64>(3).unwrap(),)).unwrap_err().error;
    assert!(error.to_string().contains("captured 0"), "{error}");
}

/// Transforms with plans, a sparse matrix that was captured, and lists of operands.
#[test]
fn operations_with_plans_and_lists_of_operands_are_loaded() {
    for device in recorders() {
        let n = 16;
        let (offsets, indices): (Vec<i32>, Vec<i32>) = ((0..=n).collect(), (0..n).rev().collect());
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let n = n as usize;
        let matrix = device.sparse().upload_csr(n, n, &offsets, &indices, &values).unwrap();
        let record = |r: &Device, x: &TensorRef<'_, f64>, y: DeviceBuffer<f64>| -> Result<DeviceBuffer<f64>> {
            let t = r.sparse().spmv(Spmv::new(), &matrix, x, r.uninit(n)?)?.into_buffer();
            let z = r.fft().rfft(&t, &[])?;
            let t = r.fft().c2r(&FftSpec::new(), &z, t)?.into_buffer();
            let (t, y) = (columns(&t, 4, 4), into_columns(y, 4, 4));
            let y = r.blas().gemm(Gemm::new(), &t, &t, y)?.into_output();
            let (a, b) = ([t.slice((..2, ..2))?], [columns(x.buffer(), 2, 2)]);
            let y = y.part(|all| all.slice((..2, ..2)))?;
            Ok(r.blas().gemm_batched(Gemm::new().beta(1.0), a, b, [y])?.into_output().remove(0).into_buffer())
        };
        let x = up(&device, (0..n).map(|i| i as f64).collect::<Vec<_>>());
        let x = Tensor::from(x).share();
        let eager = down(&device, &record(&device, &x, device.zeros(n).unwrap().into_buffer()).unwrap());
        let (program, ()) = device.record(|r| record(r, &r.input(n)?, r.output(n)?.into_buffer()).map(drop)).unwrap();
        let file = File::new();
        program.save(&file.0).unwrap();
        let captured = (matrix.offsets(), matrix.indices(), matrix.values());
        let loaded = Program::load(&device, &file.0, captured).unwrap();
        let done = loaded.replay((&x,), (device.uninit::<f64>(n).unwrap(),)).unwrap().await_result().unwrap();
        assert_same_bits(&down(&device, &done.operands.0), &eager, &format!("{device:?}"));
    }
}

//! Formulas in programs, in files, and in workers.

use crate::common::{devices, down};
use windlass::expressions::{Formula, Symbol};
use windlass::{Program, Tensor};

const N: usize = 1000;

fn recorded(device: &windlass::Device) -> Program {
    let blend = Formula::new(|(x, y): (Symbol<f32>, Symbol<f32>)| x * 0.75 + y.tanh() * 0.25).unwrap();
    let (program, ()) = device
        .record(|r| {
            let (x, y) = (r.input::<f32>(N)?, r.operand::<f32>(N)?);
            let t = r.apply(&blend, (&x, &y))?.into_output();
            let matrix = windlass::TensorRef::from(&t).reshape([10, 100])?;
            let t = r.map(matrix.transpose(), |t| (t, t.gt(0.5)))?.into_output();
            let y = Tensor::from_buffer(y.into_buffer(), [100, 10])?;
            let y = r.update(y, (&t.0, &t.1), |y, (t, big)| big.select(y + t, y - t))?.into_output();
            drop(y);
            Ok(())
        })
        .unwrap();
    program
}

#[test]
fn a_replay_gives_what_the_calls_give_and_a_file_as_well() {
    for device in devices() {
        let x: Vec<f32> = (0..N).map(|i| (i as f32 * 0.37).sin()).collect();
        let y: Vec<f32> = (0..N).map(|i| (i as f32 * 0.11).cos()).collect();
        let wanted: Vec<f32> = {
            let t: Vec<f32> = {
                let (x, y) = (device.tensor([N], &x).unwrap(), device.tensor([N], &y).unwrap());
                let t = device.map((&x, &y), |(x, y)| x * 0.75 + y.tanh() * 0.25).unwrap().into_output();
                device.download(&t).unwrap().await_result().unwrap()
            };
            (0..N)
                .map(|i| {
                    let t = t[i % 10 * 100 + i / 10];
                    if t > 0.5 { y[i] + t } else { y[i] - t }
                })
                .collect()
        };
        let program = recorded(&device);
        let path =
            std::env::temp_dir().join(format!("windlass-expressions-{}-{:?}", std::process::id(), device.kind()));
        program.save(&path).unwrap();
        let loaded = Program::load(&device, &path, ()).unwrap();
        std::fs::remove_file(&path).unwrap();
        for program in [&program, &loaded] {
            for _ in 0..2 {
                let given = device.upload(x.clone()).unwrap().into_output();
                let out = device.upload(y.clone()).unwrap().into_output();
                let (out,) = program.replay((&given,), (out,)).unwrap().await_result().unwrap().operands;
                assert_eq!(down(&device, &out), wanted);
            }
        }
    }
}

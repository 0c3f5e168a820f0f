//! Contractions in recorded programs and in their files: several steps with intermediates, replayed with other operands.

use crate::common::{devices, down};
use windlass::{Program, Tensor, TensorRef};

#[test]
fn a_replay_gives_what_the_calls_give_and_a_file_as_well() {
    for device in devices() {
        let (program, ()) = device
            .record(|r| {
                let (x, out) = (r.input::<f64>(12)?, r.output::<f64>(9)?);
                let x = TensorRef::from(&x).reshape([3, 4])?;
                // A product, a copy between, and a sum without one.
                let gram = r.tensor_ops().einsum("ij,kj,il,ml->km", (&x, &x, &x, &x))?.into_output();
                let spec = windlass::tensor_ops::Contract::new("ij,jk->ki")?;
                let out = Tensor::from_buffer(out.into_buffer(), [3, 3])?;
                r.tensor_ops().contract(&spec, &gram, &gram, out).map(drop)?;
                Ok(())
            })
            .unwrap();
        let path = std::env::temp_dir().join(format!("windlass-einsum-{}-{:?}", std::process::id(), device.kind()));
        program.save(&path).unwrap();
        let loaded = Program::load(&device, &path, ()).unwrap();
        std::fs::remove_file(&path).unwrap();
        for program in [&program, &loaded] {
            for shift in 0..3 {
                let data: Vec<f64> = (0..12).map(|k| f64::from((k * 5 + shift) % 7 - 3)).collect();
                let x = device.tensor([3, 4], &data).unwrap();
                let ops = device.tensor_ops();
                let gram = ops.einsum("ij,kj,il,ml->km", (&x, &x, &x, &x)).unwrap().into_output();
                let wanted = ops.einsum("ij,jk->ki", (&gram, &gram)).unwrap().await_result().unwrap();
                let (input, out) = (device.upload(&data).unwrap().into_output(), device.uninit::<f64>(9).unwrap());
                let (out,) = program.replay((&input,), (out,)).unwrap().await_result().unwrap().operands;
                assert_eq!(down(&device, &out), down(&device, wanted.buffer()));
            }
        }
    }
}

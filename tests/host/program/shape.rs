//! Edges, arena and pictures.

use super::recorders;
use crate::common::{Rng, assert_same_bits, columns, down, holdings, seeds, up};
use windlass::blas::Gemv;
use windlass::{Device, DeviceBuffer, Result};

const N: usize = 1000;

#[test]
fn temporaries_of_a_chain_share_memory_and_branches_do_not() {
    for device in recorders() {
        let chain = device.record(|r| {
            let (x, y) = (r.input::<f64>(N)?, r.output::<f64>(N)?);
            let mut t = r.copy(&x, r.uninit(N)?)?.into_output();
            for _ in 0..20 {
                t = r.copy(&t, r.uninit(N)?)?.into_output();
            }
            r.copy(&t, y).map(drop).map_err(Into::into)
        });
        let stats = chain.unwrap().0.stats();
        assert_eq!((stats.steps, stats.edges, stats.longest_path), (22, 21, 22));
        assert_eq!(stats.temporary_bytes, 21 * 8 * N as u64);
        assert_eq!(stats.arena_bytes, 2 * (8 * N as u64).next_multiple_of(256), "two at a time are alive");

        let branches = device.record(|r| {
            let (x, mut y) = (r.input::<f64>(N)?, r.operand::<f64>(N)?);
            let all: Result<Vec<_>> = (0..4).map(|_| Ok(r.copy(&x, r.uninit(N)?)?.into_output())).collect();
            for one in &all? {
                y = r.blas().axpy(1.0, one, y)?.into_output();
            }
            Ok(())
        });
        let stats = branches.unwrap().0.stats();
        assert_eq!((stats.steps, stats.edges, stats.longest_path), (8, 7, 5));
        assert_eq!(stats.arena_bytes, 4 * (8 * N as u64).next_multiple_of(256));
    }
}

#[test]
fn a_program_holds_its_arena_and_gives_it_back() {
    for device in recorders() {
        let before = holdings(&device);
        let (program, ()) = device
            .record(|r| {
                let t = r.zeros::<f64>(N)?;
                r.copy(&t, r.output(N)?).map(drop).map_err(Into::into)
            })
            .unwrap();
        assert_eq!(holdings(&device).0 - before.0, program.stats().arena_bytes);
        drop(program);
        crate::common::assert_back_at(&device, before);
    }
}

#[test]
fn a_picture_names_operations_labels_and_bytes() {
    for device in recorders().into_iter().take(1) {
        let (program, ()) = device
            .record(|r| {
                let (a, x) = (r.input::<f64>(4)?, r.operand::<f64>(2)?);
                let y = r
                    .labelled("the \"product\"")
                    .blas()
                    .gemv(Gemv::new(), columns(a.buffer(), 2, 2), &x, r.uninit(2)?)?
                    .into_buffer();
                r.copy(&y, x).map(drop).map_err(Into::into)
            })
            .unwrap();
        let dot = program.to_dot();
        println!("{dot}");
        assert!(dot.starts_with("digraph program {") && dot.ends_with("}\n"));
        assert!(dot.contains("s0 [label=\"0: gemv \\\"the \\\"product\\\"\\\"\\nblas, "), "{dot}");
        for part in ["reads input 0 [0..32]", "reads operand 0 [0..16]", "writes arena 0 [0..16]", "s0 -> s1;"] {
            assert!(dot.contains(part), "{part}: {dot}");
        }
    }
}

/// One of the calls that random programs are made of, on some of `pool`.
fn call(d: &Device, pool: &mut Vec<DeviceBuffer<f64>>, rng: &mut Rng) -> Result<()> {
    let take = |pool: &mut Vec<DeviceBuffer<f64>>, rng: &mut Rng| pool.swap_remove(rng.below(pool.len()));
    let x = take(pool, rng);
    let made = match rng.below(7) {
        0 => d.blas().scal(0.75, take(pool, rng))?.into_buffer(),
        1 => d.blas().axpy(0.5, &x, take(pool, rng))?.into_buffer(),
        2 => d.copy(&x, take(pool, rng))?.into_buffer(),
        3 => d.copy(&x, d.uninit(x.len())?)?.into_buffer(),
        4 => d.fill(d.uninit(x.len())?, 0.125)?.into_buffer(),
        5 => {
            let mid = rng.below(x.len());
            let (head, tail) = d.duplicate(&x)?.into_buffer().split_at(mid)?;
            let head = d.blas().scal(2.0, head)?.into_buffer();
            let tail = d.fill(tail, 1.0)?.into_buffer();
            head.join(tail)?
        }
        _ => {
            let (y, z) = d.blas().swap(take(pool, rng), d.duplicate(&x)?.into_output())?.into_output();
            pool.push(z.into_buffer());
            y.into_buffer()
        }
    };
    pool.extend([x, made]);
    // Temporaries come and go.
    if pool.len() > 8 {
        pool.truncate(5 + rng.below(3));
    }
    Ok(())
}

#[test]
fn random_programs_are_what_the_same_calls_are() {
    for device in recorders() {
        seeds(10, |rng, seed| {
            let (n, calls, count) = (1 + rng.below(300), rng.below(60), 4);
            let data: Vec<Vec<f64>> = (0..count).map(|_| rng.samples(n)).collect();
            let body = |d: &Device, operands: Vec<DeviceBuffer<f64>>| -> Result<()> {
                let mut rng = Rng::new(seed);
                // Operands are worked on in windows that stay in their buffers: by aliases, so that they are all written.
                // SAFETY: `operands` is only read before these are written, and one thread submits all of it.
                let outs: Vec<_> = operands.iter().map(|x| unsafe { x.alias() }).collect();
                let mut pool: Vec<_> =
                    operands.iter().map(|x| d.duplicate(x).map(|p| p.into_buffer())).collect::<Result<_>>()?;
                for _ in 0..calls {
                    call(d, &mut pool, &mut rng)?;
                }
                drop(operands);
                for (x, out) in pool.iter().zip(outs) {
                    d.blas().axpy(1.0, x, out)?.into_buffer();
                }
                Ok(())
            };
            let eager: Vec<_> = data.iter().map(|data| up(&device, data.clone())).collect();
            // SAFETY: only read, by this thread, after all that writes them was submitted.
            let results: Vec<_> = eager.iter().map(|x| unsafe { x.alias() }).collect();
            body(&device, eager).unwrap();
            let (program, ()) = device
                .record(|r| body(r, (0..count).map(|_| Ok(r.operand(n)?.into_buffer())).collect::<Result<_>>()?))
                .unwrap();
            for _ in 0..2 {
                let writes: windlass::op::AnyBuffers =
                    data.iter().map(|data| up(&device, data.clone()).into()).collect();
                let done = program.replay((), writes).unwrap().await_result().unwrap();
                for (i, (got, want)) in done.operands.into_iter().zip(&results).enumerate() {
                    let got = got.downcast::<f64>().unwrap();
                    let what = format!("operand {i} of {count}, {calls} calls, {device:?}");
                    assert_same_bits(&down(&device, &got), &down(&device, want), &what);
                }
            }
        });
    }
}

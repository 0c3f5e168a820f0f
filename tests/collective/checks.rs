//! What is refused: before anything is enqueued, with the argument named, and with the outputs back.

use crate::model::done;
use crate::{LONG, gpus, host, hosts};
use windlass::collective::{Combine, Communicator, Transfer};
use windlass::{Complex, Device, Element, Error, Submitted, Tensor};

fn devices() -> Vec<Device> {
    let gpus = gpus();
    if gpus.len() >= 2 { gpus[..2].to_vec() } else { hosts(2) }
}

fn buffers<T: Element>(devices: &[Device], lens: &[usize]) -> Vec<Tensor<T>> {
    devices.iter().zip(lens).map(|(device, len)| device.zeros([*len]).unwrap()).collect()
}

fn up(device: &Device, x: f32) -> Tensor<f32> {
    device.tensor([2, 2], [x; 4]).unwrap()
}

/// The refusal's argument and text; the outputs must have come back.
#[track_caller]
fn refused<T: Element>(submitted: Submitted<Vec<Tensor<T>>>, outputs: usize) -> (String, String) {
    let rejected = submitted.map(drop).unwrap_err();
    assert_eq!(rejected.back.map(|(back,)| back.len()), Some(outputs), "the outputs come back");
    let text = rejected.error.to_string();
    match rejected.error {
        Error::InvalidArgument { argument, .. } => (argument.to_string(), text),
        other => (other.kind().to_owned(), text),
    }
}

#[test]
fn lengths_that_do_not_fit_are_named_with_both_values() {
    let d = devices();
    let comm = Communicator::new(&d).unwrap();
    let x = buffers::<f32>(&d, &[4, 4]);
    let (argument, text) = refused(comm.all_reduce(Combine::Sum, &x, buffers(&d, &[4, 5])), 2);
    assert!(argument == "outputs[1]" && text.contains('5') && text.contains('4'), "{text}");
    assert!(text.contains("all_reduce"), "{text}");
    let (argument, text) = refused(comm.all_gather(&x, buffers(&d, &[8, 7])), 2);
    assert!(argument == "outputs[1]" && text.contains("multiple"), "{text}");
    let (argument, text) = refused(comm.reduce_scatter(Combine::Sum, &x, buffers(&d, &[4, 4])), 2);
    assert!(argument == "outputs[0]" && text.contains("2 are expected"), "{text}");
    let (argument, _) = refused(comm.all_gather_in_place(buffers::<u8>(&d, &[2, 4])), 2);
    assert_eq!(argument, "outputs[1]");
    let (argument, text) = refused(comm.all_reduce(Combine::Sum, &x[..1], buffers(&d, &[4, 4])), 2);
    assert!(argument == "inputs" && text.contains('1'), "{text}");
    let (argument, text) = refused(comm.broadcast(0, &x, buffers(&d, &[4, 4])), 2);
    assert!(argument == "inputs" && text.contains('2'), "{text}");
    let moves = [Transfer { from: 0, to: 1 }];
    let (argument, text) = refused(comm.exchange(&moves, &x[..1], buffers(&d[1..], &[3])), 1);
    assert!(argument == "outputs[0]" && text.contains('4') && text.contains('3'), "{text}");
}

#[test]
fn an_operand_on_the_wrong_device_is_named() {
    let d = devices();
    let comm = Communicator::new(&d).unwrap();
    let x = buffers::<f32>(&d, &[4, 4]);
    let (argument, text) = refused(comm.all_reduce(Combine::Sum, [&x[1], &x[0]], buffers(&d, &[4, 4])), 2);
    assert!(argument == "inputs[0]" && text.contains(&*d[1].name()) && text.contains("rank 0"), "{text}");
    let other = host(1);
    let (argument, text) = refused(comm.broadcast(1, [&x[0]], buffers(&d, &[4, 4])), 2);
    assert!(argument == "inputs[0]" && text.contains("rank 1"), "{text}");
    let y = vec![d[0].zeros::<f32>(4).unwrap(), other.zeros(4).unwrap()];
    let (argument, text) = refused(comm.all_reduce(Combine::Sum, &x, y), 2);
    assert!(argument == "outputs[1]" && text.contains("no rank"), "{text}");
}

#[test]
fn ranks_types_and_factors_are_checked() {
    let d = devices();
    let comm = Communicator::new(&d).unwrap();
    let x = buffers::<f32>(&d, &[4, 4]);
    let (argument, text) = refused(comm.broadcast_in_place(2, buffers::<f32>(&d, &[4, 4])), 2);
    assert!(argument == "root" && text.contains("there are 2"), "{text}");
    let (argument, _) = refused(comm.exchange(&[Transfer { from: 0, to: 7 }], &x[..1], Vec::<Tensor<f32>>::new()), 0);
    assert_eq!(argument, "transfers");
    let (argument, text) = refused(comm.all_reduce_in_place(Combine::Sum, buffers::<i16>(&d, &[4, 4])), 2);
    assert!(argument == "Unsupported" && text.contains("i16"), "{text}");
    let complex = buffers::<Complex<f32>>(&d, &[4, 4]);
    let (argument, text) = refused(comm.all_reduce_in_place(Combine::Max, complex), 2);
    assert!(argument == "Unsupported" && text.contains("c32"), "{text}");
    let scaled = Combine::PreMulSum(vec![1.0f32; 3]);
    let (argument, text) = refused(comm.all_reduce_in_place(scaled, buffers(&d, &[4, 4])), 2);
    assert!(argument == "combine" && text.contains("3 factors"), "{text}");
}

#[test]
fn devices_that_cannot_be_ranks_are_refused() {
    let (one, two) = (host(1), host(1));
    let reason = |devices: &[&Device]| Communicator::new(devices.iter().copied()).map(drop).unwrap_err().to_string();
    assert!(reason(&[]).contains("empty"));
    assert!(reason(&[&one, &two, &one.clone()]).contains("twice"));
    #[cfg(target_os = "linux")]
    if std::env::var_os("WINDLASS_TEST_ISOLATED").is_some() {
        let isolated = Device::builder().host().isolated().open().unwrap();
        assert!(reason(&[&one, &isolated]).contains("isolated"));
    }
    if let Some(gpu) = gpus().first() {
        assert!(reason(&[&one, gpu]).contains("engines"));
        #[cfg(feature = "cuda")]
        assert!(reason(&[gpu, &Device::cuda(0).unwrap()]).contains("twice"));
    }
}

#[test]
fn a_communicator_lives_through_rebuilds_and_stale_buffers_are_refused() {
    let d = devices();
    let comm = Communicator::new(&d).unwrap();
    let x = buffers::<f32>(&d, &[4, 4]);
    d[1].rebuild(LONG).unwrap();
    let rejected = comm.all_reduce_in_place(Combine::Sum, x).map(drop).unwrap_err();
    assert!(matches!(rejected.error, Error::GpuRefStale { .. }), "{}", rejected.error);
    let x = vec![up(&d[0], 2.0), up(&d[1], 3.0)];
    let x = done(comm.all_reduce_in_place(Combine::Sum, x).unwrap());
    assert_eq!(d[1].to_vec(&x[1]).unwrap(), [5.0; 4]);
    // Twice, since the first was not asked for its result yet.
    d[0].rebuild(LONG).unwrap();
    let x = vec![up(&d[0], 2.0), up(&d[1], 3.0)];
    let x = comm.all_reduce_in_place(Combine::Sum, x).unwrap().into_output();
    let x = done(comm.all_reduce_in_place(Combine::Sum, x).unwrap());
    assert_eq!(d[0].to_vec(&x[0]).unwrap(), [10.0; 4]);
}

#[test]
fn a_failed_input_fails_the_collective_on_all_ranks_and_the_next_one_runs() {
    let d = hosts(2);
    let comm = Communicator::new(&d).unwrap();
    let faulty = Device::builder().host().fault_plan(windlass::FaultPlan::new().poison(1)).open().unwrap();
    let mixed = [d[0].clone(), faulty];
    let lost = Communicator::new(&mixed).unwrap();
    let x = vec![up(&mixed[0], 1.0), up(&mixed[1], 2.0)];
    let error = match lost.all_reduce_in_place(Combine::Sum, x) {
        Ok(pending) => pending.await_result().map(drop).unwrap_err().error,
        Err(rejected) => rejected.error,
    };
    assert!(error.is_poisoning() || error.is_data_lost(), "{error}");
    let x = done(comm.all_reduce_in_place(Combine::Sum, buffers::<f32>(&d, &[4, 4])).unwrap());
    assert_eq!(d[0].to_vec(&x[0]).unwrap(), [0.0; 4]);
}

//! What a new user meets first: names of devices, and work that is done again after a fault.

use crate::common;

use windlass::{Device, Error, FaultPlan, Gemm, Rejected};

#[test]
fn a_name_may_ask_for_isolation_and_a_standby() {
    for (name, isolated) in
        [("host", false), (" host ", false), ("host:isolated", true), ("host:isolated:standby", true)]
    {
        if isolated && !cfg!(target_os = "linux") {
            continue;
        }
        assert_eq!(Device::named(name).unwrap().is_isolated(), isolated, "{name}");
    }
    for name in ["gpu", "cuda:x", "host:standby", "host:isolated:isolated", "cuda:0:isolated:standby:x", "host:1"] {
        let error = Device::named(name).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }) && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn first_and_last_data_need_one_call_each() {
    for device in common::devices() {
        let x = device.buffer([3.0f32, 4.0]).unwrap();
        let x = device.blas().scal(2.0, x).unwrap().into_buffer();
        assert_eq!(device.to_vec(&x).unwrap(), [6.0, 8.0]);
        assert_eq!(device.to_vec(x.slice(1..).unwrap()).unwrap(), [8.0]);
        assert!(device.to_vec(&device.buffer(Vec::<f64>::new()).unwrap()).unwrap().is_empty());
    }
    // Both are complete when they return, so what goes wrong on the device is theirs to tell.
    let failing = |at| common::host(2).fault_plan(FaultPlan::new().fail(at)).open().unwrap();
    assert!(failing(0).buffer([1.0f32]).is_err());
    let device = failing(1);
    let x = device.buffer([1.0f32]).unwrap();
    assert!(device.to_vec(&x).is_err());
}

#[test]
fn the_error_alone_frees_the_buffers_that_were_moved_in() {
    let device = common::host(2).open().unwrap();
    let refused = || {
        let (a, c) = (device.zeros::<f32>(1 << 16).unwrap(), device.zeros::<f32>(1 << 16).unwrap());
        device.blas().gemm(Gemm::new(), &a, &a, c)
    };
    let keeps = || -> Result<(), Box<dyn std::error::Error>> { refused().map(drop).map_err(Into::into) };
    let drops = || -> Result<(), Box<dyn std::error::Error>> {
        drop(refused().map_err(Rejected::into_error)?);
        Ok(())
    };
    let kept = keeps().unwrap_err();
    assert_eq!(device.stats().bytes_used, 4 << 16, "a boxed `Rejected` holds its buffers");
    drop(kept);
    let error = drops().unwrap_err();
    assert_eq!(device.stats().bytes_used, 0);
    assert!(error.is::<Error>(), "{error}");
}

#[test]
fn a_chain_of_causes_tells_nothing_twice() {
    let device = common::host(2).open().unwrap();
    let rejected = device.zeros::<f32>(4).unwrap().into_buffer().split_at(5).unwrap_err();
    assert!(std::error::Error::source(&rejected).is_none(), "its error has no cause of its own");
    assert_eq!(rejected.to_string(), rejected.error.to_string());
}

#[test]
fn stale_and_foreign_buffers_name_the_remedy() {
    let (device, other) = (common::host(2).open().unwrap(), common::host(2).open().unwrap());
    let old = device.zeros::<f32>(4).unwrap();
    device.rebuild(common::LONG).unwrap();
    let stale = device.download(&old).unwrap_err().to_string();
    assert!(stale.contains("Device::retrying") && stale.contains("Mirrored"), "{stale}");
    let theirs = other.zeros::<f32>(4).unwrap();
    let foreign = device.download(&theirs).unwrap_err().to_string();
    let remedy = if device.name() == other.name() { "clone the handle" } else { "copy_peer" };
    assert!(foreign.contains(remedy), "{foreign}");
    drop((device, other));
    let gone = common::host(2).open().unwrap().download(&theirs).unwrap_err().to_string();
    assert!(gone.contains("keep a handle") || gone.contains("belongs to"), "{gone}");
}

#[test]
fn work_is_done_again_after_a_fault() {
    let device = common::host(2).fault_plan(FaultPlan::new().poison(1)).open().unwrap();
    let mut runs = 0;
    let norm = device.retrying(|device| {
        runs += 1;
        let x = device.upload(vec![3.0f32, 4.0])?.into_output();
        device.blas().nrm2(&x)?.await_result()
    });
    assert_eq!((norm, runs, device.generation()), (Ok(5.0), 2, 1));
}

#[test]
fn work_that_fails_by_itself_is_not_done_again() {
    let device = common::host(2).fault_plan(FaultPlan::new().fail(0)).open().unwrap();
    let mut runs = 0;
    let answer = device.retrying(|device| {
        runs += 1;
        let x = device.blas().scal(2.0, device.zeros::<f32>(4)?)?.into_buffer();
        device.download(&x)?.await_result()
    });
    let error = answer.unwrap_err();
    assert!(matches!(error, Error::Upstream { .. }) && error.is_data_lost(), "{error}");
    assert_eq!((runs, device.generation()), (1, 0));
}

#[test]
fn a_stale_buffer_that_the_work_brings_along_is_no_reason_to_go_on_for_ever() {
    let device = common::host(2).open().unwrap();
    let old = device.upload(vec![1.0f32]).unwrap().await_result().unwrap();
    device.rebuild(common::LONG).unwrap();
    let mut runs = 0;
    let answer = device.retrying(|device| {
        runs += 1;
        device.blas().nrm2(&old)?.await_result()
    });
    assert!(matches!(answer, Err(Error::GpuRefStale { .. })));
    assert_eq!(runs, 1);
}

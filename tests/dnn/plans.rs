//! Plans: explained, made beforehand, measured, bounded; and what is computed with them stays right.

use crate::common::{Rng, devices, is_host};
use crate::convolution::oracle::{Case, Numbers, Order, down, near, up};
use windlass::dnn::{Attention, PlanInfo, PlanSource};
use windlass::{Device, Error, f16};

/// A host device needs no plan; a GPU has an engine.
fn check(device: &Device, info: &PlanInfo) {
    assert_eq!(info.engine.is_none(), is_host(device), "{info}");
    assert_eq!(info.source == PlanSource::None, is_host(device), "{info}");
}

#[test]
fn plans_are_explained_and_measured_and_results_stay_right() {
    for device in devices() {
        let (dnn, mut rng) = (device.dnn(), Rng::new(5));
        let case = Case { padding: vec![(1, 1); 2], ..Case::new(&[2, 8, 9, 11], &[16, 8, 3, 3]) };
        let [x, w, dy] = [&case.x, &case.w, &case.y()].map(|extents| Numbers::random::<f16>(&mut rng, extents));
        let (want, scale) = (case.forward(&x, &w), case.forward(&x.magnitudes(), &w.magnitudes()));
        let [x, w, dy] = [&x, &w, &dy].map(|numbers| up::<f16>(&device, &mut rng, numbers, Order::Last));
        let (spec, right) = (case.spec(), |what: &str| {
            let y = dnn.convolve(&case.spec(), &x, &w).unwrap().await_result().unwrap();
            near(&down(&device, &y), &want, &scale, 72, what);
        });
        let plan = dnn.plan_convolution(&spec, &x, &w).unwrap();
        let prepared = plan.prepare().unwrap();
        check(&device, &prepared);
        right("prepared");
        let info = plan.explain().unwrap();
        assert_eq!((info.engine, &info.knobs), (prepared.engine, &prepared.knobs));
        println!("{:?}: {prepared}; then {info}", device.kind());
        check(&device, &dnn.plan_convolution_data(&spec, &dy, &w, [9, 11]).unwrap().explain().unwrap());
        check(&device, &dnn.plan_convolution_filter(&spec, &x, &dy, [3, 3]).unwrap().explain().unwrap());

        let tuning = dnn.autotune_convolution(&spec, &x, &w).unwrap();
        assert_eq!(tuning.chosen.is_none(), is_host(&device));
        right("measured");
        if let Some(chosen) = tuning.chosen.map(|chosen| &tuning.candidates[chosen]) {
            println!("{} engines, from {:?}", tuning.candidates.len(), chosen.time);
            let info = plan.explain().unwrap();
            assert_eq!((info.engine, &info.knobs), (chosen.plan.engine, &chosen.plan.knobs));
            assert_eq!(info.source, PlanSource::Tuned, "{info}");
            assert!(tuning.candidates.iter().all(|other| other.time >= chosen.time));
            right("again");
        }
    }
}

#[test]
fn a_workspace_has_the_callers_bound() {
    for device in devices() {
        let (dnn, mut rng) = (device.dnn(), Rng::new(6));
        let case = Case { padding: vec![(1, 1); 2], ..Case::new(&[4, 32, 28, 28], &[64, 32, 3, 3]) };
        let [x, w] = [&case.x, &case.w].map(|extents| Numbers::zeros(extents));
        let [x, w] = [&x, &w].map(|numbers| up::<f16>(&device, &mut rng, numbers, Order::First));
        let usual = dnn.plan_convolution(&case.spec(), &x, &w).unwrap().explain().unwrap();
        let least = dnn.plan_convolution(&case.spec().most_workspace(0), &x, &w).unwrap().explain();
        match least {
            Ok(info) => assert_eq!(info.workspace, 0, "{info}"),
            Err(Error::OutOfMemory { requested, .. }) => assert!(requested > 0 && usual.workspace > 0),
            Err(error) => panic!("{error}"),
        }
        match dnn.convolve(&case.spec().most_workspace(0), &x, &w).unwrap().await_result() {
            Ok(y) => assert!(down(&device, &y).iter().all(|y| *y == f16::ZERO)),
            Err(error) => assert!(matches!(error.error, Error::OutOfMemory { .. }), "{error:?}"),
        }
    }
}

#[test]
fn an_attention_is_explained() {
    for device in devices() {
        let x = device.zeros_tensor::<f16>([1, 2, 16, 64]).unwrap();
        let plan = |training| device.dnn().plan_attention(&Attention::new(), &x, &x, &x, training).unwrap();
        check(&device, &plan(false).explain().unwrap());
        check(&device, &plan(true).prepare().unwrap());
        let x = device.zeros_tensor::<f16>([0, 2, 16, 64]).unwrap();
        let info = device.dnn().plan_attention(&Attention::new(), &x, &x, &x, false).unwrap().explain().unwrap();
        assert_eq!(info.source, PlanSource::None);
    }
}

#[test]
fn extents_that_do_not_fit_have_no_plan() {
    for device in devices() {
        let x = device.zeros_tensor::<f32>([1, 2, 5, 5]).unwrap();
        let spec = windlass::dnn::Convolution::new();
        let named = |error: Error| matches!(error, Error::InvalidArgument { .. });
        assert!(named(
            device.dnn().plan_convolution(&spec, &x, &device.zeros_tensor::<f32>([1, 3, 2, 2]).unwrap()).unwrap_err()
        ));
        assert!(named(
            device
                .dnn()
                .autotune_convolution(&spec, &x, &device.zeros_tensor::<f32>([1, 2, 6, 6]).unwrap())
                .unwrap_err()
        ));
        assert!(named(device.dnn().plan_convolution_data(&spec, &x, &x, [3, 3]).unwrap_err()));
    }
}

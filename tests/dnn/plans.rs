//! Plans: explained, made beforehand, measured, bounded; and what is computed with them stays right.

use crate::common::{Rng, devices, is_host};
use crate::convolution::oracle::{Case, Numbers, Order, down, near, up};
use windlass::dnn::{Attention, Convolution, ConvolutionPass, Fused, PlanInfo, PlanSource};
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
        let [x, w] = [&case.x, &case.w].map(|extents| Numbers::random::<f16>(&mut rng, extents));
        let (want, scale) = (case.forward(&x, &w), case.forward(&x.magnitudes(), &w.magnitudes()));
        let [x, w] = [&x, &w].map(|numbers| up::<f16>(&device, &mut rng, numbers, Order::Last));
        let (spec, right) = (case.spec(), |what: &str| {
            let y = dnn.convolve(&case.spec(), &x, &w).unwrap().await_result().unwrap();
            near(&down(&device, &y), &want, &scale, 72, what);
        });
        let forward = ConvolutionPass::forward(&x, &w);
        let plan = dnn.plan_convolution(&spec, &forward).unwrap();
        let prepared = plan.prepare().unwrap();
        check(&device, &prepared);
        right("prepared");
        let info = plan.explain().unwrap();
        assert_eq!((info.engine, &info.knobs), (prepared.engine, &prepared.knobs));
        println!("{:?}: {prepared}; then {info}", device.kind());

        let tuning = dnn.autotune_convolution(&spec, &forward).unwrap();
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

/// Each pass has its plan, is measured for itself, and computes what it did.
#[test]
fn gradients_and_fused_convolutions_are_explained_and_measured() {
    for device in devices() {
        let (dnn, mut rng) = (device.dnn(), Rng::new(7));
        let case = Case { padding: vec![(1, 1); 2], ..Case::new(&[2, 8, 9, 11], &[16, 8, 3, 3]) };
        let spec = case.spec();
        let numbers = [&case.x, &case.w, &case.y()].map(|extents| Numbers::random::<f16>(&mut rng, extents));
        let [x, w, dy] = numbers.each_ref().map(|numbers| up::<f16>(&device, &mut rng, numbers, Order::Last));
        let bias = device.full([16], f16::ONE).unwrap();
        let made = |name: &str| -> Vec<f64> {
            let y = match name {
                "data" => dnn.convolve_data(&spec, &dy, &w, [9, 11]),
                "filter" => dnn.convolve_filter(&spec, &x, &dy, [3, 3]),
                "fused" => dnn.convolve_fused(&spec, &x, &w, Fused::new().residual(&dy).bias(&bias).relu()),
                _ => dnn.convolve_fused(&spec, &x, &w, Fused::new().relu()),
            };
            down(&device, &y.unwrap().await_result().unwrap()).iter().map(|x| f64::from(x.to_f32())).collect()
        };
        for (name, pass) in [
            ("data", ConvolutionPass::data(&dy, &w, [9, 11])),
            ("filter", ConvolutionPass::filter(&x, &dy, [3, 3])),
            ("fused", ConvolutionPass::fused(&x, &w, Fused::new().residual(&dy).bias(&bias).relu())),
            ("clipped", ConvolutionPass::fused(&x, &w, Fused::new().relu())),
        ] {
            let plan = dnn.plan_convolution(&spec, &pass).unwrap();
            let info = plan.explain().unwrap();
            check(&device, &info);
            let usual = made(name);
            let tuning = dnn.autotune_convolution(&spec, &pass).unwrap();
            assert_eq!(tuning.chosen.is_none(), is_host(&device), "{name}");
            if let Some(chosen) = tuning.chosen.map(|chosen| &tuning.candidates[chosen]) {
                println!("{name}: {info}; of {} engines {} in {:?}", tuning.candidates.len(), chosen.plan, chosen.time);
                let now = plan.explain().unwrap();
                assert_eq!((now.engine, &now.knobs), (chosen.plan.engine, &chosen.plan.knobs), "{name}");
                assert_eq!(now.source, PlanSource::Tuned, "{name}: {now}");
                assert!(tuning.candidates.iter().all(|other| other.time >= chosen.time), "{name}");
            }
            let largest = usual.iter().fold(1.0, |largest: f64, y| largest.max(y.abs()));
            let fits = |(a, b): (&f64, &f64)| (a - b).abs() <= 4e-3 * largest;
            assert!(usual.iter().zip(&made(name)).all(fits), "{name} measured");
        }
        // That of the convolution alone is another one.
        let alone = dnn.plan_convolution(&spec, &ConvolutionPass::forward(&x, &w)).unwrap();
        check(&device, &alone.prepare().unwrap());
    }
}

#[test]
fn a_workspace_has_the_callers_bound() {
    for device in devices() {
        let (dnn, mut rng) = (device.dnn(), Rng::new(6));
        let case = Case { padding: vec![(1, 1); 2], ..Case::new(&[4, 32, 28, 28], &[64, 32, 3, 3]) };
        let [x, w] = [&case.x, &case.w].map(|extents| Numbers::zeros(extents));
        let [x, w] = [&x, &w].map(|numbers| up::<f16>(&device, &mut rng, numbers, Order::First));
        let pass = ConvolutionPass::forward(&x, &w);
        let usual = dnn.plan_convolution(&case.spec(), &pass).unwrap().explain().unwrap();
        let least = dnn.plan_convolution(&case.spec().most_workspace(0), &pass).unwrap().explain();
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
        let x = device.zeros::<f16>([1, 2, 16, 64]).unwrap();
        let plan = |training| device.dnn().plan_attention(&Attention::new(), &x, &x, &x, training).unwrap();
        check(&device, &plan(false).explain().unwrap());
        check(&device, &plan(true).prepare().unwrap());
        let x = device.zeros::<f16>([0, 2, 16, 64]).unwrap();
        let info = device.dnn().plan_attention(&Attention::new(), &x, &x, &x, false).unwrap().explain().unwrap();
        assert_eq!(info.source, PlanSource::None);
    }
}

#[test]
fn extents_that_do_not_fit_have_no_plan() {
    for device in devices() {
        let zeros = |extents: &[usize]| device.zeros::<f32>(extents).unwrap();
        let (x, dnn, spec) = (zeros(&[1, 2, 5, 5]), device.dnn(), Convolution::new());
        let (channels, window, w) = (zeros(&[1, 3, 2, 2]), zeros(&[1, 2, 6, 6]), zeros(&[3, 2, 2, 2]));
        let (bias, residual) = (zeros(&[4]), zeros(&[1, 3, 5, 5]));
        for (pass, argument) in [
            (ConvolutionPass::forward(&x, &channels), "w"),
            (ConvolutionPass::forward(&x, &window), "w"),
            (ConvolutionPass::data(&x, &x, [3, 3]), "dy"),
            (ConvolutionPass::filter(&x, &x, [2, 2]), "dy"),
            (ConvolutionPass::fused(&x, &w, Fused::new().bias(&bias)), "bias"),
            (ConvolutionPass::fused(&x, &w, Fused::new().residual(&residual)), "residual"),
        ] {
            let planned = dnn.plan_convolution(&spec, &pass).map(drop).unwrap_err();
            let tuned = dnn.autotune_convolution(&spec, &pass).map(drop).unwrap_err();
            for error in [planned, tuned] {
                assert!(matches!(&error, Error::InvalidArgument { .. }), "{pass:?}: {error}");
                let told = crate::common::refused(&error).0;
                assert!(
                    told == argument || matches!(told.as_str(), "w" | "dy"),
                    "{told} instead of {argument}: {error}"
                );
            }
        }
    }
}

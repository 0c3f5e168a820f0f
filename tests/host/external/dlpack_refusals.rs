//! Managed tensors that cannot be: refused by name, returned, and never read.

use super::producer::{Made, View};
use crate::common::{Rng, refused, seeds};
use std::sync::atomic::Ordering;
use windlass::dlpack::DlpackForm;
use windlass::external::ForeignStream::Idle;
use windlass::{Device, Error};

fn refuse(device: &Device, made: Made) -> Error {
    let deleted = made.deleted.clone();
    let rejected = device.tensor_of_dlpack(made.managed(DlpackForm::Versioned), Idle).unwrap_err();
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    assert!(rejected.back.is_some());
    drop(rejected.back);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    rejected.error
}

#[test]
fn what_it_says_must_be_possible() {
    let device = Device::host().unwrap();
    let of = |extents: &[i64]| Made::new(extents, vec![0.0; 16]);
    let says = |made: Made, what: &str| {
        let (argument, reason) = refused(&refuse(&device, made));
        assert!(argument == "dlpack" && reason.contains(what), "{argument}: {reason}, not {what}");
    };
    let with = |made: Made, change: fn(&mut View)| made.change(change);
    says(with(of(&[4]), |view| view.rank = -1), "-1 axes");
    says(with(of(&[4]), |view| view.rank = 65), "65 axes");
    says(of(&[-1]), "negative");
    says(of(&[i64::MAX, i64::MAX]), "more elements");
    says(of(&[i64::MAX]), "overflows");
    says(of(&[i64::MAX / 2, 2]), "overflows");
    says(of(&[2, 2]).strided(0, &[i64::MAX, i64::MAX]), "overflow");
    says(of(&[3]).strided(0, &[i64::MIN]), "overflow");
    says(of(&[2]).strided(0, &[-(1 << 62)]), "overflow");
    says(of(&[2]).strided(0, &[1 << 62]), "overflow");
    says(with(of(&[4]), |view| view.byte_offset = u64::MAX), "overflow");
    says(with(of(&[4]), |view| view.byte_offset = 2), "multiple of 4");
    says(Made::new(&[4], vec![]), "null");
    says(with(of(&[4]), |view| view.device = (2, 0)), "GPU 0");
    // Something else, not wrong.
    let unsupported = |made: Made, what: &str| {
        let error = refuse(&device, made);
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains(what), "{error}");
    };
    unsupported(with(of(&[4]), |view| view.device = (7, 0)), "kind 7");
    unsupported(with(of(&[4]), |view| view.lanes = 4), "lanes: 4");
    unsupported(with(of(&[4]), |view| view.lanes = 0), "lanes: 0");
    unsupported(with(of(&[4]), |view| view.bits = 80), "bits: 80");
    unsupported(with(of(&[4]), |view| view.code = 3), "code: 3");
    let mut made = of(&[4]);
    made.version = 2;
    unsupported(made, "version 2");
}

#[test]
fn random_descriptions_are_refused_or_inside_their_memory() {
    let device = crate::common::inline().open().unwrap();
    const EDGES: [i64; 12] = [0, 1, -1, 2, 3, i64::MAX, i64::MIN, 1 << 61, 1 << 62, -(1 << 61), i64::MAX - 1, 1 << 32];
    seeds(3000, |rng: &mut Rng, _| {
        let rank = rng.below(4);
        let extents: Vec<i64> = (0..rank).map(|_| rng.pick(&EDGES)).collect();
        let strides: Vec<i64> = (0..rank).map(|_| rng.pick(&EDGES)).collect();
        // Nothing of it is read: only its description is looked at, and no memory is there.
        let mut made = Made::new(&extents, vec![]).change(|view| {
            view.data = std::ptr::without_provenance_mut(16);
            view.byte_offset = rng.pick(&[0, 4, 64, 1, u64::MAX, u64::MAX - 15, 1 << 63]);
        });
        if rng.below(3) > 0 {
            made.strides = Some(strides);
        }
        let deleted = made.deleted.clone();
        match device.tensor_of_dlpack(made.managed(DlpackForm::Versioned), Idle) {
            Ok(x) => {
                let (low, high) = x.layout().reach().unwrap_or((0, 0));
                assert!(low == 0 && (x.layout().is_empty() || high < x.buffer().len()));
            }
            Err(rejected) => {
                assert!(matches!(rejected.error, Error::InvalidArgument { .. }), "{:?}", rejected.error);
            }
        }
        assert_eq!(deleted.load(Ordering::SeqCst), 1);
    });
}

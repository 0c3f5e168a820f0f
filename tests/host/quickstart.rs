//! The parts of the example `quickstart`: the letters, the photograph, and what is computed from it.

#[path = "../../examples/quickstart/sharpen.rs"]
mod sharpen;
#[path = "../../examples/quickstart/sign.rs"]
mod sign;

use crate::common::devices;
use sign::Sign;

#[test]
fn what_cannot_be_read_is_read_again_on_every_device() {
    for device in devices() {
        let sign = Sign::new("Gpu").unwrap();
        let (blur, photograph) = (sign.blur(), sign.photograph());
        let sharp = sharpen::sharpen(&device, [&blur[0], &blur[1]], &photograph).unwrap();
        let (before, after) = (sign.right(&photograph), sign.right(&sharp));
        assert!(before < 90.0 && after > 97.0, "{before} % before, {after} % after");
        assert!(device.stats().dispatches >= sharpen::CALLS as u64);
        sign.print(&sharp);
    }
}

#[test]
fn what_is_no_sign_is_refused() {
    for text in ["", "A B", "a1", "\u{e4}", "ABCDEFGHIJKLM"] {
        assert!(Sign::new(text).is_none(), "{text}");
    }
    assert!(Sign::new("ABCDEFGHIJKL").is_some() && Sign::new("mnopqrstuvwx").is_some() && Sign::new("yz").is_some());
}

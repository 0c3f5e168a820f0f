//! `WINDLASS_DEVICE`, whatever is in it.

use crate::common::child::{alone, this_test};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use windlass::{Device, Error};

#[test]
fn a_variable_that_names_no_device_is_named_itself_also_when_it_is_no_text() {
    alone(&this_test!(), || {
        let from = |value: &[u8]| {
            // SAFETY: this process runs this test alone, and no other thread reads the environment.
            unsafe { std::env::set_var("WINDLASS_DEVICE", OsStr::from_bytes(value)) };
            Device::from_env()
        };
        for (value, shown) in [(&b"gpu"[..], "`gpu`"), (b"host\xff", "`host\u{fffd}`"), (b"cuda:x", "`cuda:x`")] {
            let error = from(value).unwrap_err();
            let Error::InvalidArgument { argument, reason, .. } = &error else { panic!("{error}") };
            assert!(argument == "WINDLASS_DEVICE" && reason.contains(shown) && reason.contains("cuda:N"), "{error}");
        }
        assert_eq!(from(b" host ").unwrap().kind(), windlass::DeviceKind::Host);
        assert!(Device::named("gpu").unwrap_err().to_string().contains("`device`"));
    });
}

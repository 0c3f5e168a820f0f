//! What errors say, and how they travel.

use super::*;

#[test]
fn an_error_is_small_enough_to_return_by_value() {
    assert!(size_of::<Error>() <= 72, "{}", size_of::<Error>());
}

#[test]
fn the_nearest_place_wins_and_all_of_it_is_shown() {
    let e = Error::invalid("lda", "3 is less than m = 4").in_op("gemm", "blas").in_op("outer", "other");
    assert_eq!(e.site().and_then(|s| s.op()), Some("gemm"));
    let text = e.to_string();
    assert!(text.contains("lda") && text.contains("gemm") && text.contains("m = 4"), "{text}");
}

#[test]
fn a_missing_library_is_one_line_and_every_attempt_in_the_alternate_form() {
    let tried = |count: usize| (0..count).map(|i| format!("/lib{i}: no libcublas.so.13")).collect();
    let missing = |count| Error::LibraryMissing { library: "cuBLAS".into(), tried: tried(count), help: "help".into() };
    let (line, list) = (missing(17).to_string(), format!("{:#}", missing(17)));
    assert!(line.lines().count() == 1 && line.contains("17 attempts") && line.contains("`windlass-doctor`"), "{line}");
    assert!(!line.contains("/lib3"), "{line}");
    assert_eq!((list.lines().count(), list.lines().last()), (18, Some("  - /lib16: no libcublas.so.13")));
    assert_eq!(format!("{:#?}", missing(17)), format!("LibraryMissing: {list}"));
    assert!(missing(1).to_string().contains("/lib0: no libcublas.so.13"), "one attempt is shown as it is");
}

#[test]
fn an_argument_that_has_only_a_position_is_not_called_an_argument_twice() {
    assert_eq!(Error::invalid("argument 0", "no").to_string(), "argument 0: no");
    assert_eq!(Error::invalid("lda", "no").to_string(), "argument `lda`: no");
}

#[test]
fn an_error_survives_the_way_through_another_process() {
    let e = Error::Singular { position: 3, matrix: 7, site: Site::none() }.locate(|s| {
        s.set_code(700, "CUDA_ERROR_ILLEGAL_ADDRESS").set_device("cuda:0", 7);
    });
    let sent = postcard::to_allocvec(&e).unwrap();
    assert_eq!(postcard::from_bytes::<Error>(&sent).unwrap(), e);
    assert_eq!(e.site().unwrap().code(), Some(700));
}

use super::*;
use crate::engines::cuda::api::LoadError;
use crate::engines::loader::testing::Tree;
use crate::engines::loader::{Library, Loader};

/// The C source of a fake driver. Its functions return 0, except those defined in `special`. Those in `without` are
/// missing.
fn fake(special: &str, without: &[&str]) -> String {
    let mut source = String::from(special);
    for names in Driver::REQUIRED {
        let name = names.first().unwrap().to_str().unwrap();
        if !special.contains(&format!("{name}(")) && !without.contains(&name) {
            source.push_str(&format!("int {name}(void) {{ return 0; }}\n"));
        }
    }
    source
}

fn table(tree: &Tree) -> Result<Driver, LoadError> {
    Driver::from_loaded(Loader::new(tree.env()).open(Library::Driver)?)
}

const PLACE: &str = "usr/local/nvidia/lib64/libcuda.so.1";

#[test]
fn a_table_calls_the_library_and_passes_codes_that_no_enum_knows() {
    let tree = Tree::new();
    let special = "int cuInit(unsigned f) { return f == 0 ? 4711 : 1; }
                   int cuDeviceGetCount(int *n) { *n = 3; return 0; }\n";
    tree.library(PLACE, &fake(special, &[]), &[]);
    let driver = table(&tree).unwrap();
    assert_eq!(driver.init(), Code(4711));
    let mut count = 0;
    // SAFETY: this calls the C function above, which writes one `int`.
    assert_eq!(unsafe { driver.device_get_count(&raw mut count) }, Code::SUCCESS);
    assert_eq!(count, 3);
    assert!(driver.library().path.ends_with(PLACE));
}

#[test]
fn a_missing_function_is_an_error_that_names_it() {
    let tree = Tree::new();
    tree.library(PLACE, &fake("", &["cuMemPoolTrimTo"]), &[]);
    let error = table(&tree).err().unwrap();
    assert!(
        matches!(&error, LoadError::Symbol { library: Library::Driver, symbol: "cuMemPoolTrimTo", .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("cuMemPoolTrimTo"), "{error}");
}

#[test]
fn the_older_name_serves_where_the_newer_is_missing() {
    let tree = Tree::new();
    let older = "int cuEventElapsedTime(float *t, void *a, void *b) { *t = 1.5f; return 0; }
                 int cuDeviceGetUuid(void *u, int d) { return 7; }\n";
    tree.library(PLACE, &fake(older, &["cuEventElapsedTime_v2", "cuDeviceGetUuid_v2"]), &[]);
    let driver = table(&tree).unwrap();
    let mut time = 0.0;
    // SAFETY: this calls the C function above, which does not use the events.
    let code = unsafe { driver.event_elapsed_time(&raw mut time, std::ptr::null_mut(), std::ptr::null_mut()) };
    assert_eq!((code, time), (Code(0), 1.5));
}

#[test]
fn an_absent_optional_function_answers_none_and_a_present_one_is_called() {
    let tree = Tree::new();
    tree.library(PLACE, &fake("", &[]), &[]);
    let driver = table(&tree).unwrap();
    // SAFETY: the first driver has no such function to call; that of the second one takes no arguments.
    let ask = |driver: &Driver| unsafe {
        driver.func_get_param_info(std::ptr::null_mut(), 0, std::ptr::null_mut(), std::ptr::null_mut())
    };
    assert_eq!(ask(&driver), None);

    let tree = Tree::new();
    tree.library(PLACE, &fake("int cuFuncGetParamInfo(void) { return 801; }\n", &[]), &[]);
    let driver = table(&tree).unwrap();
    assert_eq!(ask(&driver), Some(Code(801)));
}

#[test]
fn no_driver_is_missing_with_the_folders_that_were_tried() {
    let tree = Tree::new();
    tree.folder("usr/lib64");
    let error = table(&tree).err().unwrap();
    let LoadError::Missing(missing) = error else { panic!("{error:?}") };
    assert!(missing.tried.iter().any(|line| line.contains("usr/lib64: no libcuda.so.1")), "{missing:#}");
}

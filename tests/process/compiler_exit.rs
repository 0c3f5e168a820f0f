//! An exit in the middle of a compilation whose compiler makes static objects, as NVRTC does.

use crate::common::child::{alone, this_test};
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use windlass::nvrtc::{Arch, Compiler, Source};

/// A compiler that makes a static object after each time it asked whether to continue, and needs all of them.
const COMPILER: &str = r#"
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
extern void *__dso_handle;
int __cxa_atexit(void (*)(void *), void *, void *);
static int (*callback)(void *, void *);
static volatile int destroyed;
volatile int began;
static void destroy(void *object) { destroyed = 1; }
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int *archs) { *archs = 80; return 0; }
int nvrtcCreateProgram(void **program) { *program = malloc(1); return 0; }
int nvrtcDestroyProgram(void **program) { free(*program); *program = NULL; return 0; }
int nvrtcSetFlowCallback(void *program, int (*f)(void *, void *), void *payload) { callback = f; return 0; }
int nvrtcCompileProgram(void *program) {
    for (int i = 0;; i++) {
        int stop = callback(NULL, NULL);
        if (destroyed) abort();
        if (stop) return 16;
        if (i < 1000) __cxa_atexit(destroy, NULL, &__dso_handle);
        else began = 1, sched_yield();
    }
}
static int size(size_t *bytes) { *bytes = 1; return 0; }
static int text(char *to) { *to = 0; return 0; }
int nvrtcGetPTXSize(void *p, size_t *bytes) { return size(bytes); }
int nvrtcGetPTX(void *p, char *to) { return text(to); }
int nvrtcGetCUBINSize(void *p, size_t *bytes) { return size(bytes); }
int nvrtcGetCUBIN(void *p, char *to) { return text(to); }
int nvrtcGetLTOIRSize(void *p, size_t *bytes) { return size(bytes); }
int nvrtcGetLTOIR(void *p, char *to) { return text(to); }
int nvrtcGetProgramLogSize(void *p, size_t *bytes) { return size(bytes); }
int nvrtcGetProgramLog(void *p, char *to) { return text(to); }
int nvrtcAddNameExpression(void *p, const char *name) { return 0; }
int nvrtcGetLoweredName(void *p, const char *name, const char **lowered) { return 4; }
"#;

fn exits_in_the_middle(test: &str, linker: &str) {
    alone(test, || {
        let root = std::env::temp_dir().join(format!("windlass-compiler-{}", std::process::id()));
        let lib = root.join("lib64");
        std::fs::create_dir_all(&lib).unwrap();
        let code = root.join("nvrtc.c");
        std::fs::write(&code, COMPILER).unwrap();
        let file = lib.join("libnvrtc.so.13");
        let done = Command::new("cc").args(["-shared", "-fPIC", linker, "-o"]).arg(&file).arg(&code).status().unwrap();
        assert!(done.success());
        assert_eq!(windlass::loader::set_cuda_path(&root), [], "something was loaded before");
        let program = Source::new("a program").arch(Arch::SM_80);
        drop(Compiler::shared().compile_pending(&program).unwrap());
        let name = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: the library is loaded already; `began` is an int that only the compiler writes.
        let began = unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
            AtomicI32::from_ptr(libc::dlsym(library, c"began".as_ptr()).cast())
        };
        while began.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let _ = std::fs::remove_dir_all(&root);
        // This process ends next.
    });
}

#[test]
fn a_static_object_of_a_running_compilation_is_not_destroyed() {
    exits_in_the_middle(&this_test!(), "-Wl,-z,lazy");
}

#[test]
fn nor_where_the_linker_has_made_the_slots_of_functions_read_only() {
    exits_in_the_middle(&this_test!(), "-Wl,-z,now,-z,relro");
}

//! The options and results of gesvdj and syevj, and the choice of algorithms that gesvdr needs: each is an object of
//! the library, made for one call.

use super::super::method::Jacobi;
use super::functions::{CusolverFunctions, JacobiInfo};
use super::handle::Cusolver;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::engines::library::{Code, Refusal};
use std::ffi::c_void;

/// Which of the two kinds of object it is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Gesvdj,
    Syevj,
}

/// The object, destroyed when dropped. It lies in host memory: the library reads it only during the call.
pub(super) struct Options {
    raw: JacobiInfo,
    kind: Kind,
    api: &'static CusolverFunctions,
}

impl Options {
    pub(super) fn raw(&self) -> JacobiInfo {
        self.raw
    }

    fn new(api: &'static CusolverFunctions, kind: Kind, jacobi: Jacobi) -> Result<Self, Refusal> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: valid for the write.
        let (name, code) = unsafe {
            match kind {
                Kind::Gesvdj => ("cusolverDnCreateGesvdjInfo", api.create_gesvdj(&mut raw)),
                Kind::Syevj => ("cusolverDnCreateSyevjInfo", api.create_syevj(&mut raw)),
            }
        };
        code.by(name)?;
        let options = Options { raw, kind, api };
        if let Some(tolerance) = jacobi.tolerance {
            // SAFETY: the object was made above.
            let (name, code) = unsafe {
                match kind {
                    Kind::Gesvdj => ("cusolverDnXgesvdjSetTolerance", api.gesvdj_tolerance(raw, tolerance)),
                    Kind::Syevj => ("cusolverDnXsyevjSetTolerance", api.syevj_tolerance(raw, tolerance)),
                }
            };
            code.by(name)?;
        }
        let sweeps = i32::try_from(jacobi.sweeps).unwrap_or(i32::MAX);
        // SAFETY: as above.
        let (name, code) = unsafe {
            match kind {
                Kind::Gesvdj => ("cusolverDnXgesvdjSetMaxSweeps", api.gesvdj_sweeps(raw, sweeps)),
                Kind::Syevj => ("cusolverDnXsyevjSetMaxSweeps", api.syevj_sweeps(raw, sweeps)),
            }
        };
        code.by(name)?;
        Ok(options)
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: made once and destroyed once; host memory that no call uses any more.
        let _: Code = unsafe {
            match self.kind {
                Kind::Gesvdj => self.api.destroy_gesvdj(self.raw),
                Kind::Syevj => self.api.destroy_syevj(self.raw),
            }
        };
    }
}

/// The default choice of algorithms. It lies in host memory too.
pub(super) struct Algorithms {
    raw: *mut c_void,
    api: &'static CusolverFunctions,
}

impl Algorithms {
    pub(super) fn raw(&self) -> *const c_void {
        self.raw
    }
}

impl Drop for Algorithms {
    fn drop(&mut self) {
        // SAFETY: made once and destroyed once; host memory that no call uses any more.
        let _: Code = unsafe { self.api.destroy_params(self.raw) };
    }
}

/// The choice of algorithms for gesvdr.
pub(super) fn algorithms(queue: &mut Queue<'_>) -> Result<Algorithms> {
    let (api, mut raw) = (queue.consult::<Cusolver>()?.0.regular, std::ptr::null_mut());
    // SAFETY: valid for the write.
    let code = unsafe { api.create_params(&mut raw) };
    queue.status::<Cusolver>("cusolverDnCreateParams", code)?;
    Ok(Algorithms { raw, api })
}

fn options(queue: &mut Queue<'_>, kind: Kind, jacobi: Jacobi) -> Result<Options> {
    let api = queue.consult::<Cusolver>()?.0.regular;
    match Options::new(api, kind, jacobi) {
        Ok(options) => Ok(options),
        Err((call, code)) => Err(queue.failure::<Cusolver>(call, code)),
    }
}

/// The options for gesvdj and its batches.
pub(super) fn gesvdj_options(queue: &mut Queue<'_>, jacobi: Jacobi) -> Result<Options> {
    options(queue, Kind::Gesvdj, jacobi)
}

/// The options for syevj and its batches.
pub(super) fn syevj_options(queue: &mut Queue<'_>, jacobi: Jacobi) -> Result<Options> {
    options(queue, Kind::Syevj, jacobi)
}

/// How many sweeps a call took, and what was left off the diagonal. Waits for the device; not for batches.
pub(super) fn reached(queue: &mut Queue<'_>, options: &Options) -> Result<(u32, f64)> {
    let (api, handle) = queue.consult::<Cusolver>()?;
    let (api, h, raw, mut sweeps, mut rest) = (api.regular, handle.raw.0, options.raw, 0, 0.0);
    // SAFETY: the object is alive, and the numbers are valid for the writes.
    let (names, codes) = unsafe {
        match options.kind {
            Kind::Gesvdj => (
                ["cusolverDnXgesvdjGetSweeps", "cusolverDnXgesvdjGetResidual"],
                [api.gesvdj_reached(h, raw, &mut sweeps), api.gesvdj_rest(h, raw, &mut rest)],
            ),
            Kind::Syevj => (
                ["cusolverDnXsyevjGetSweeps", "cusolverDnXsyevjGetResidual"],
                [api.syevj_reached(h, raw, &mut sweeps), api.syevj_rest(h, raw, &mut rest)],
            ),
        }
    };
    for (name, code) in names.into_iter().zip(codes) {
        queue.status::<Cusolver>(name, code)?;
    }
    Ok((u32::try_from(sweeps).unwrap_or(0), rest))
}

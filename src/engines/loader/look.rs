//! Looks for the file of a library, in the places that the search would try, and loads nothing.

use std::path::Path;

use super::library::{Library, Soname};
use super::loaded::Missing;
use super::open::{Loader, missing};
use super::search::{SearchStep, places};
use super::{linker, major};
use crate::system::shared_library::SharedLibrary;

impl Loader {
    /// Whether [`open`](Loader::open) would find a file for the library. It may still fail to load.
    ///
    /// # Errors
    /// [`Missing`], as of a search that failed.
    pub(crate) fn look(&self, library: Library) -> Result<(), Missing> {
        if let Some(known) = self.known(library) {
            return known.map(drop);
        }
        let spec = library.spec();
        let mut tried = Vec::new();
        for place in places(self.env(), spec.origin) {
            let found = match &place {
                SearchStep::Nothing(why) => {
                    tried.push(why.clone());
                    false
                }
                SearchStep::Resident => spec.sonames.iter().any(|soname| is_resident(soname.file)),
                SearchStep::Linker => {
                    let found = |soname: &&Soname| self.fits(soname, None);
                    spec.sonames.iter().filter(found).any(|soname| linker::finds(self.env(), soname.file))
                }
                SearchStep::Folder(folder) => {
                    let there = |soname: &Soname| folder.join(soname.file).exists() && self.fits(soname, Some(folder));
                    spec.sonames.iter().any(there)
                }
            };
            if found {
                return Ok(());
            }
            match place {
                SearchStep::Folder(folder) => tried.push(format!("{}: not there", folder.display())),
                SearchStep::Linker => tried.push("the dynamic linker's folders: not there".into()),
                SearchStep::Resident => tried.push("already loaded in this process: no".into()),
                SearchStep::Nothing(_) => {}
            }
        }
        Err(missing(library, tried))
    }

    fn fits(&self, soname: &Soname, folder: Option<&Path>) -> bool {
        self.check_major(major::of_file(soname, folder)).is_ok()
    }
}

/// Whether a library of that name is in the process.
fn is_resident(file: &str) -> bool {
    SharedLibrary::resident(Path::new(file)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::loader::testing::Tree;

    #[test]
    fn a_file_is_seen_where_the_search_would_find_it_and_is_not_loaded() {
        let tree = Tree::new();
        let looked = |loader: &Loader| loader.look(Library::Cublas);
        let missing = looked(&Loader::new(tree.env())).unwrap_err();
        assert!(missing.help.contains("nvidia-cublas") && missing.tried.len() > 3, "{missing:#}");
        // Not a library at all: it could not be loaded.
        tree.file("usr/local/cuda-13.0/lib64/libcublas.so.13");
        let mut loader = Loader::new(tree.env());
        looked(&loader).unwrap();
        assert_eq!(loader.loaded(), []);
        // Once the search has failed, its answer counts.
        assert!(loader.open(Library::Cublas).is_err() && looked(&loader).is_err());
    }

    #[test]
    fn a_file_of_another_cuda_than_the_one_in_use_does_not_count() {
        let tree = Tree::new();
        tree.library("usr/local/cuda-12.4/lib64/libcufft.so.11", "int f;", &[]);
        tree.file("usr/local/cuda-12.4/lib64/libcublas.so.13");
        let mut loader = Loader::new(tree.env());
        loader.open(Library::Cufft).unwrap();
        loader.look(Library::Cublas).unwrap_err();
        tree.file("usr/local/cuda-12.4/lib64/libcublas.so.12");
        loader.look(Library::Cublas).unwrap();
    }

    #[test]
    fn the_linkers_folders_count_if_it_is_asked() {
        let tree = Tree::new();
        tree.file("opt/lib/libcublas.so.13");
        let mut env = tree.env();
        env.vars.insert("LD_LIBRARY_PATH", tree.join("opt/lib").into());
        Loader::new(env.clone()).look(Library::Cublas).unwrap_err();
        env.ask_linker = true;
        Loader::new(env).look(Library::Cublas).unwrap();
    }
}

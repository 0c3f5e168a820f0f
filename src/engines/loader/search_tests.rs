use super::*;
use crate::engines::loader::testing::Tree;

fn env(tree: &Tree, vars: &[(&'static str, &str)]) -> SearchEnv {
    SearchEnv {
        explicit: Vec::new(),
        vars: vars.iter().map(|&(name, value)| (name, OsString::from(value))).collect(),
        program: None,
        root: tree.path().to_path_buf(),
        ask_linker: false,
    }
}

/// The folders of the search, relative to the tree.
fn found(tree: &Tree, env: &SearchEnv, origin: Origin) -> Vec<String> {
    places(env, origin)
        .into_iter()
        .filter_map(|place| match place {
            SearchStep::Folder(path) => path.strip_prefix(tree.path()).ok().map(|path| path.display().to_string()),
            _ => None,
        })
        .collect()
}

#[test]
fn an_empty_machine_gives_no_folder_and_says_why_for_each_source() {
    let tree = Tree::new();
    let steps = places(&env(&tree, &[]), Origin::Toolkit);
    assert!(steps.iter().all(|step| matches!(step, SearchStep::Nothing(_))), "{steps:?}");
    let told = format!("{steps:?}");
    for source in ["WINDLASS_CUDA_PATH", "CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "cuda*"]
    {
        assert!(told.contains(source), "{source} is not in {told}");
    }
}

#[test]
fn the_setting_comes_first_then_the_linker_then_the_environment_then_the_system() {
    let tree = Tree::new();
    for folder in ["set/lib64", "named/lib", "home/lib64", "usr/local/cuda-13.0/lib64"] {
        tree.folder(folder);
    }
    let named = tree.join("named");
    let home = tree.join("home");
    let mut env = env(&tree, &[(CUDA_PATH_VARIABLE, &named), ("CUDA_HOME", &home)]);
    env.explicit = vec![tree.path().join("set")];
    env.ask_linker = true;
    let steps: Vec<SearchStep> =
        places(&env, Origin::Toolkit).into_iter().filter(|step| !matches!(step, SearchStep::Nothing(_))).collect();
    let folder = |path: &str| SearchStep::Folder(tree.path().join(path));
    assert_eq!(
        steps,
        [
            folder("set"),
            folder("set/lib64"),
            folder("named"),
            folder("named/lib"),
            SearchStep::Resident,
            SearchStep::Linker,
            folder("home/lib64"),
            folder("usr/local/cuda-13.0/lib64"),
        ]
    );
}

#[test]
fn python_wheels_are_found_in_their_three_layouts_newest_python_first() {
    let tree = Tree::new();
    for folder in [
        "venv/lib/python3.9/site-packages/nvidia/cudnn/lib",
        "venv/lib/python3.12/site-packages/nvidia/cublas/lib",
        "venv/lib/python3.12/site-packages/nvidia/cu12/lib",
        "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
        "venv/lib/python3.12/site-packages/cutensor/lib",
        "venv/lib/python3.12/site-packages/nvidia/cublas/include",
    ] {
        tree.folder(folder);
    }
    let venv = tree.join("venv");
    let found = found(&tree, &env(&tree, &[("VIRTUAL_ENV", &venv)]), Origin::Toolkit);
    assert_eq!(
        found,
        [
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
            "venv/lib/python3.12/site-packages/nvidia/cu12/lib",
            "venv/lib/python3.12/site-packages/nvidia/cublas/lib",
            "venv/lib/python3.12/site-packages/cutensor/lib",
            "venv/lib/python3.9/site-packages/nvidia/cudnn/lib",
            "venv/lib",
        ]
    );
}

#[test]
fn packages_beside_python3_on_the_path_are_found_through_the_link_as_well() {
    let tree = Tree::new();
    tree.folder("venv/bin");
    tree.folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
    tree.folder("base/lib/python3.11/site-packages/nvidia/nccl/lib");
    tree.file("base/bin/python3");
    std::os::unix::fs::symlink(tree.path().join("base/bin/python3"), tree.path().join("venv/bin/python3")).unwrap();
    tree.file("wrappers/python3");
    let path = format!("relative:{}:{}:{}", tree.join("empty"), tree.join("wrappers"), tree.join("venv/bin"));
    let found = found(&tree, &env(&tree, &[("PATH", &path)]), Origin::Toolkit);
    assert_eq!(
        found,
        ["venv/lib/python3.11/site-packages/nvidia/cu13/lib", "base/lib/python3.11/site-packages/nvidia/nccl/lib"]
    );
}

#[test]
fn toolkits_in_usr_local_come_newest_first_after_the_chosen_one() {
    let tree = Tree::new();
    for root in ["cuda-9.2", "cuda-12.8", "cuda-13.0", "cuda", "cudnn"] {
        tree.folder(&format!("usr/local/{root}/lib64"));
    }
    let found = found(&tree, &env(&tree, &[]), Origin::Toolkit);
    assert_eq!(
        found,
        ["usr/local/cuda/lib64", "usr/local/cuda-13.0/lib64", "usr/local/cuda-12.8/lib64", "usr/local/cuda-9.2/lib64"]
    );
}

#[test]
fn the_driver_is_looked_for_in_system_folders_and_not_in_toolkits() {
    let tree = Tree::new();
    for folder in ["usr/local/cuda/lib64", "usr/lib/wsl/lib", "usr/local/nvidia/lib64"] {
        tree.folder(folder);
    }
    let cuda = tree.join("usr/local/cuda");
    let found = found(&tree, &env(&tree, &[("CUDA_PATH", &cuda)]), Origin::Driver);
    assert_eq!(found, ["usr/local/nvidia/lib64", "usr/lib/wsl/lib"]);
}

#[test]
fn a_relative_path_is_skipped_and_said_so() {
    let tree = Tree::new();
    let steps = places(&env(&tree, &[(CUDA_PATH_VARIABLE, "cuda:")]), Origin::Toolkit);
    assert_eq!(
        steps.first(),
        Some(&SearchStep::Nothing("WINDLASS_CUDA_PATH=cuda: skipped, not an absolute path".to_owned()))
    );
    assert!(!steps.iter().any(|step| matches!(step, SearchStep::Folder(_))));
}

#[test]
fn a_folder_named_twice_is_searched_once() {
    let tree = Tree::new();
    tree.folder("cuda/lib64");
    let cuda = tree.join("cuda");
    let found = found(&tree, &env(&tree, &[("CUDA_PATH", &cuda), ("CUDA_HOME", &cuda)]), Origin::Toolkit);
    assert_eq!(found, ["cuda/lib64"]);
}

/// `venv/bin/prog`, started with no variable set.
#[test]
fn the_environment_that_the_program_is_in_is_searched() {
    let tree = Tree::new();
    tree.folder("venv/lib/python3.12/site-packages/nvidia/cu13/lib");
    tree.folder("conda/lib/python3.12/site-packages/nvidia/nccl/lib");
    tree.folder("conda/conda-meta");
    tree.folder("other/lib");
    let of = |program: &str| {
        let mut env = env(&tree, &[]);
        env.program = Some(tree.path().join(program));
        found(&tree, &env, Origin::Toolkit)
    };
    assert_eq!(of("venv/bin/prog"), ["venv/lib/python3.12/site-packages/nvidia/cu13/lib"]);
    assert_eq!(of("conda/bin/prog"), ["conda/lib/python3.12/site-packages/nvidia/nccl/lib", "conda/lib"]);
    assert_eq!(of("other/bin/prog"), [""; 0]);
    let mut env = env(&tree, &[]);
    env.program = Some(tree.path().join("venv/bin/prog"));
    assert_eq!(found(&tree, &env, Origin::Driver), [""; 0], "the driver comes with the system");
}

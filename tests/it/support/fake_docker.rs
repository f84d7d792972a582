//! A stand-in for `docker`: a program of that name that records its arguments and keeps "containers", processes which are in a session of
//! their own and live on without it, as those of a container engine do.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::processes;

/// A folder with the program and its containers. Dropping it kills what is left of them.
pub struct FakeDocker {
    folder: TempDir,
}

/// `run` starts its command in a session of its own, with none of our marks, and removes the container when that ends; `ps` and `rm`
/// find and remove it. A container that is there has its label, whenever its client is killed.
const PROGRAM: &str = r#"#!/bin/sh
state='@STATE@'
verb=$1; shift
case $verb in
run)
  for part in "$@"; do printf '%s\n' "$part"; done > "$state/args.new" && mv "$state/args.new" "$state/args"
  env > "$state/environment"
  while :; do
    case $1 in
      --name) name=$2; shift 2;;
      --label) label=$2; shift 2;;
      -e|--network|--workdir|--memory) shift 2;;
      -*) shift;;
      *) break;;
    esac
  done
  shift
  container="$state/containers/$name"
  printf '%s' $$ > "$state/client"
  mkdir "$state/$name" && printf '%s' "$label" > "$state/$name/label" && mv "$state/$name" "$container"
  exec 3<&0
  env -u MCPPROXY_CHILD setsid sh -c 'printf %s $$ > "$0/pid"; exec "$@"' "$container" "$@" <&3 3<&- &
  exec 3<&- <&-
  wait $!
  code=$?
  rm -rf "$state/containers/$name"
  exit $code;;
ps)
  [ -e "$state/hanging" ] && exec sleep 60
  [ -e "$state/broken" ] && { echo "cannot connect to the engine" >&2; exit 1; }
  for part in "$@"; do filter=$part; done
  for container in "$state"/containers/*; do
    [ "label=$(cat "$container/label" 2>/dev/null)" = "$filter" ] && basename "$container"
  done
  exit 0;;
rm)
  for part in "$@"; do id=$part; done
  kill -9 "$(cat "$state/containers/$id/pid")"
  rm -rf "$state/containers/$id";;
esac
"#;

impl FakeDocker {
    pub fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a temporary folder");
        let state = folder.path().to_str().expect("a plain path");
        fs::create_dir(folder.path().join("containers")).expect("the folder is ours");
        let program = folder.path().join("docker");
        fs::write(&program, PROGRAM.replace("@STATE@", state)).expect("the folder is ours");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        Self { folder }
    }

    /// A `PATH` on which it is found.
    pub fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.folder.path().display())
    }

    /// The arguments after `run` of the last container.
    pub fn run_arguments(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("args")).expect("something was run");
        text.lines().map(str::to_owned).collect()
    }

    /// The environment that the program itself had then.
    pub fn environment(&self) -> String {
        fs::read_to_string(self.file("environment")).expect("something was run")
    }

    /// The containers that there are.
    pub fn containers(&self) -> Vec<String> {
        let folder = fs::read_dir(self.file("containers")).expect("the folder is ours");
        let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.collect()
    }

    /// The process of the last `docker run`.
    pub fn client(&self) -> u32 {
        let text = fs::read_to_string(self.file("client")).expect("something was run");
        text.parse().expect("a process id")
    }

    /// Whether the engine can be reached for lists of containers.
    pub fn reachable(&self, reachable: bool) {
        let broken = self.file("broken");
        if reachable {
            fs::remove_file(broken).expect("it was not reachable");
        } else {
            fs::write(broken, "").expect("the folder is ours");
        }
    }

    /// From now on its lists of containers do not end.
    pub fn hangs(&self) {
        fs::write(self.file("hanging"), "").expect("the folder is ours");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for FakeDocker {
    fn drop(&mut self) {
        for name in self.containers() {
            let pid = fs::read_to_string(self.file("containers").join(name).join("pid"));
            if let Some(pid) = pid.ok().and_then(|pid| pid.parse().ok()) {
                processes::kill(pid);
            }
        }
    }
}

//! What happens to the file on disk.

use std::{
    cell::{Cell, RefCell},
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::{Map, json};
use tempfile::TempDir;

use crate::config::{Blank, Change, ChangeOf, EditError, History, WriteError, edit_all};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn add(name: &str) -> Change {
    let entry = Map::from_iter([("command".to_owned(), json!("x"))]);
    Change::of_server(name, Some(entry))
}

fn rewrite(
    file: &Path,
    blank: Blank,
    change: impl Fn(&str) -> Result<String, EditError>,
) -> Result<bool, WriteError> {
    let (history, by) = (History::new(None, None), ChangeOf::this_task());
    crate::config::rewrite(file, blank, &history, &by, &change)
}

fn write(file: &Path, changes: &[Change]) -> Result<bool, WriteError> {
    rewrite(file, Blank::Beginning, |text| edit_all(text, changes))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("a readable file")
}

#[test]
fn a_text_that_no_daemon_would_take_is_not_written() {
    let folder = folder();
    let file = folder.path().join("mcp.json");
    let becomes = |before: &str, after: &'static str| {
        fs::write(&file, before).expect("ours");
        rewrite(&file, Blank::Beginning, |_| Ok(after.to_owned()))
    };
    let (faulty, sound) = (r#"{"serverAuth": {"x": 1}}"#, r#"{"listen": ":0"}"#);
    let missing = r#"{"listen": "${NOT_SET_ANYWHERE}", "mcpServers": {"a": {}}}"#;
    for before in [faulty, sound] {
        let error = becomes(before, r#"{"listen": 5, "top_k": 1}"#).expect_err(before);
        let said = error.to_string();
        assert!(said.contains("mcp.json") && said.contains("`listen` must be"));
        assert_eq!(read(&file), before);
    }
    assert!(becomes(faulty, sound).expect("it is mended"));
    assert!(becomes(sound, missing).expect("a daemon may have it"));
}

#[test]
fn changes_are_made_all_or_none() {
    let folder = folder();
    let file = folder.path().join("mcp.json");
    let whole = write(&file, &[add("a"), add("b")]).expect("a write that works");
    assert!(whole && read(&file).contains("\"b\""));
    let before = read(&file);
    let error = write(&file, &[add("c"), add("a")]).expect_err("a name that is taken");
    assert!(matches!(error, WriteError::Edit(_)), "{error}");
    assert_eq!(read(&file), before);
    let unchanged = Change::of_key("a", "x", None);
    assert!(!write(&file, &[unchanged]).expect("a write that works"));
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let folder = folder();
    let file = folder.path().join("deep/er/mcp.json");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..5 {
                    write(file, &[add(&format!("s{writer}-{round}"))]).expect("a write that works");
                }
            });
        }
    });
    assert_eq!(read(&file).matches("\"command\"").count(), 40);
    let left: Vec<_> = fs::read_dir(file.parent().expect("a parent"))
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
}

#[cfg(unix)]
#[test]
fn new_files_are_private_and_old_ones_keep_their_mode() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    let folder = folder();
    let file = folder.path().join("new/mcp.json");
    write(&file, &[add("a")]).expect("a write that works");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().expect("a parent")), 0o700);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a change of mode");
    write(&file, &[add("b")]).expect("a write that works");
    assert_eq!(mode(&file), 0o640);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("a change of mode");
    write(&file, &[add("c")]).expect_err("a read-only file");
}

#[cfg(unix)]
#[test]
fn a_write_goes_through_symbolic_links() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let real = folder.path().join("dotfiles/real.json");
    fs::create_dir(folder.path().join("dotfiles")).expect("a folder");
    let (link, middle) = (
        folder.path().join("link.json"),
        folder.path().join("middle.json"),
    );
    symlink("middle.json", &link).expect("a link");
    symlink("dotfiles/real.json", &middle).expect("a link");
    write(&link, &[add("a")]).expect("a write through a dangling link");
    write(&link, &[add("b")]).expect("a write through links");
    assert!(read(&real).contains("\"b\""));
    for path in [&link, &middle] {
        assert!(fs::symlink_metadata(path).expect("metadata").is_symlink());
    }
    symlink("loop.json", folder.path().join("loop.json")).expect("a link");
    write(&folder.path().join("loop.json"), &[add("a")]).expect_err("a link to itself");
}

#[test]
fn a_change_sees_the_text_it_replaces() {
    let folder = folder();
    let file = folder.path().join("mcp.json");
    fs::write(&file, "// one\n{}").expect("a file");
    let changed = rewrite(
        &file,
        Blank::Accident,
        |text| Ok(text.replace("one", "two")),
    )
    .expect("a write");
    assert!(changed);
    assert_eq!(read(&file), "// two\n{}");
}

#[test]
fn a_save_between_reading_and_writing_stays() {
    let folder = folder();
    let file = folder.path().join("mcp.json");
    let saves: [&dyn Fn(&str); 2] = [
        &|text| fs::write(&file, text).expect("a save in place"),
        &|text| {
            let next = folder.path().join("next");
            fs::write(&next, text).expect("a file");
            fs::rename(&next, &file).expect("a save by renaming");
        },
    ];
    for save in saves {
        for before in [Some("{} // 1"), None] {
            match before {
                Some(text) => fs::write(&file, text).expect("a file"),
                None => fs::remove_file(&file).expect("a file"),
            }
            let seen = RefCell::new(Vec::new());
            let change = |text: &str| {
                if seen.borrow().is_empty() {
                    save("{} // 2");
                }
                seen.borrow_mut().push(text.to_owned());
                Ok(format!("{text} // ours"))
            };
            assert!(rewrite(&file, Blank::Beginning, change).expect("a write"));
            assert_eq!(*seen.borrow(), [before.unwrap_or_default(), "{} // 2"]);
            assert_eq!(read(&file), "{} // 2 // ours");
        }
    }
    let n = Cell::new(0);
    let always = |text: &str| {
        n.set(n.get() + 1);
        saves[0](&format!("{{}} // {}", n.get()));
        Ok(format!("{text} // ours"))
    };
    let contested = rewrite(&file, Blank::Accident, always).expect_err("no end of it");
    assert!(matches!(contested, WriteError::Contested(_)), "{contested}");
    assert_eq!(read(&file), format!("{{}} // {}", n.get()));
    let removed = rewrite(&file, Blank::Accident, |text| {
        fs::remove_file(&file).expect("a file");
        Ok(format!("{text} // ours"))
    });
    assert!(matches!(removed, Err(WriteError::Accident(_))));
    assert!(!file.exists());
}

#[test]
fn no_save_is_lost_among_writers_that_never_rest() {
    const SAVES: usize = 300;
    let folder = folder();
    let file = folder.path().join("mcp.json");
    fs::write(&file, "{}").expect("a file");
    let (begun, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let write_on = || {
        while !is_over.load(Ordering::Relaxed) {
            let n = begun.fetch_add(1, Ordering::Relaxed);
            let change = |text: &str| Ok(format!("{text} // {n}\n"));
            // While it is saved it may be empty, and it may be saved too often.
            let _ = rewrite(&file, Blank::Accident, change);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(write_on);
        }
        let next = folder.path().join("next");
        let mut lost = Vec::new();
        for n in 0..SAVES {
            let mark = format!("{{}} // save {n}\n");
            if n % 2 == 0 {
                fs::write(&next, &mark).expect("a file");
                fs::rename(&next, &file).expect("a save by renaming");
            } else {
                fs::write(&file, &mark).expect("a save in place");
            }
            // Those under way have ended then, and one that began later.
            let later = begun.load(Ordering::Relaxed) + 5;
            while begun.load(Ordering::Relaxed) < later {
                std::thread::yield_now();
            }
            if !read(&file).starts_with(&mark) {
                lost.push(n);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(lost, [] as [usize; 0]);
    });
}

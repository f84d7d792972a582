//! Whose what is that mcpproxy writes, and which folder of data counts.

use std::path::Path;

use super::Place;

#[cfg(unix)]
#[test]
fn what_root_writes_belongs_to_whom_the_folder_belongs() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    // A user that owns nothing else here.
    const OTHER: u32 = 65_534;
    let place = Place::new();
    let folder = place.folder().join("service");
    std::fs::create_dir(&folder).expect("ours");
    if chown(&folder, Some(OTHER), Some(OTHER)).is_err() {
        // Only root can give a folder away.
        return;
    }
    let file = folder.join("mcp.json");
    let add = |name: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mcpproxy"));
        let command = command
            .env_clear()
            .env("HOME", place.folder())
            .arg("--config")
            .arg(&file)
            .arg("--data-dir")
            .arg(place.folder().join("data"));
        let ran = command.args(["upstream", "add", name, "--", "x"]).output();
        assert!(ran.expect("it runs").status.success(), "{name}");
    };
    let owner = |path: &Path| std::fs::metadata(path).expect("there").uid();
    add("one");
    let lock = folder.join(".mcp.json.lock");
    assert_eq!((owner(&file), owner(&lock)), (OTHER, OTHER));
    add("two");
    assert_eq!(owner(&file), OTHER);
    // A lock that leads elsewhere gives nothing away.
    let elsewhere = place.folder().join("elsewhere");
    std::fs::write(&elsewhere, "mine").expect("ours");
    std::fs::remove_file(&lock).expect("ours");
    symlink(&elsewhere, &lock).expect("ours");
    let before = owner(&elsewhere);
    add("three");
    assert_eq!(owner(&elsewhere), before);
    assert_eq!(std::fs::read_to_string(&elsewhere).expect("there"), "mine");
}

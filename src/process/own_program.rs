//! The path of the mcpproxy program itself.

use std::{env, fs, io, path::PathBuf};

/// This program; where it was replaced meanwhile, its successor.
pub fn own_program() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let text = program.to_string_lossy();
    Ok(match text.strip_suffix(" (deleted)") {
        Some(path) if !program.exists() => path.into(),
        _ => program,
    })
}

/// This program, under the name that stays when it is updated: package managers keep a link on `PATH` and put each version
/// into a folder of its own.
pub fn own_program_on_path() -> io::Result<PathBuf> {
    let program = own_program()?;
    let real = fs::canonicalize(&program).unwrap_or_else(|_| program.clone());
    let path = env::var_os("PATH").unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_owned();
    let mut found = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name));
    let stable = found.find(|file| fs::canonicalize(file).is_ok_and(|found| found == real));
    Ok(stable.unwrap_or(program))
}

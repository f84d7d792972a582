//! `mcpproxy activity export`: writes all matching records to a file or to stdout, page by page.

use std::{
    fs::File,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;

use super::{ActivityFilter, RecordSource, source::go_on};
use crate::{
    activity::{ExportFormat, PAGE, RecordQuery},
    cli::{CommandFailure, Done, Output, output},
    storage,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportActivity {
    #[command(flatten)]
    filter: ActivityFilter,
    /// One JSON object per line, or CSV
    #[arg(long = "format", value_name = "jsonl|csv", default_value = "jsonl", value_parser = form)]
    form: ExportFormat,
    /// The file to write, readable only by you; by default stdout
    file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "file")]
    force: bool,
}

fn form(text: &str) -> Result<ExportFormat, String> {
    ExportFormat::parse(text).ok_or_else(|| "write jsonl or csv".to_owned())
}

impl ExportActivity {
    pub(super) async fn run(self, mut source: RecordSource, out: Output) -> Done {
        let mut query = RecordQuery {
            after: Some(0),
            limit: Some(PAGE.0),
            ..self.filter.query()
        };
        let mut page = source.page(&query).await?;
        let path = self.file.filter(|path| path.as_os_str() != "-");
        let mut target = match &path {
            Some(path) => Target::File(path, create(path, self.force)?),
            None => Target::Stdout,
        };
        target.write(&self.form.header())?;
        let mut count = 0;
        loop {
            let lines = page.records.iter().map(|record| self.form.line(record));
            target.write(&lines.collect::<String>())?;
            count += page.records.len();
            let Some(next) = page.next else {
                break;
            };
            go_on(&mut query, next);
            query.run = query.run.or(page.run);
            page = source.page(&query).await?;
        }
        let into = match &path {
            Some(path) if out.is_json() => {
                return output::print_value(&json!({ "file": path, "records": count }));
            }
            Some(path) => format!(" to {}", path.display()),
            None => String::new(),
        };
        let records = output::count(count, "record");
        out.done(&format!("wrote {records}{into}"));
        Ok(())
    }
}

/// Where the records are written.
enum Target<'a> {
    File(&'a Path, File),
    Stdout,
}

impl Target<'_> {
    fn write(&mut self, text: &str) -> Done {
        match self {
            Self::File(path, file) => {
                let written = file.write_all(text.as_bytes());
                written.map_err(|error| unwritable(path, &error))
            }
            Self::Stdout if text.is_empty() => Ok(()),
            Self::Stdout => output::print_line(text.strip_suffix('\n').unwrap_or(text)),
        }
    }
}

/// Creates the file, or empties one that exists if `force` is set.
fn create(path: &Path, force: bool) -> Done<File> {
    let mut options = File::options();
    let options = options.write(true).create(force).create_new(!force);
    let created = storage::open_private_file(path, options);
    let emptied = created.and_then(|file| file.set_len(0).map(|()| file));
    emptied.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists if path.is_dir() => {
            unwritable(path, &ErrorKind::IsADirectory.into())
        }
        ErrorKind::AlreadyExists => {
            CommandFailure::usage(format!("{} already exists", path.display()))
                .undone("nothing was written")
                .next("name another file, or replace it with --force")
        }
        _ => unwritable(path, &error),
    })
}

fn unwritable(path: &Path, error: &io::Error) -> CommandFailure {
    let why = storage::in_words(error);
    let step = match error.kind() {
        ErrorKind::IsADirectory => "name another file".to_owned(),
        _ => storage::disk_step(path, error),
    };
    CommandFailure::failed(format!("{}: {why}", path.display()))
        .undone("nothing was written")
        .next(step)
}

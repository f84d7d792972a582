//! `mcpproxy activity export`: writes all matching records to a file or to stdout, page by page.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::PathBuf,
};

use clap::Args;

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
        let target = self.file.filter(|file| file.as_os_str() != "-");
        let shown = target.as_ref().map(|file| file.display().to_string());
        let failed = |error: std::io::Error| {
            let shown = shown.as_deref().unwrap_or_default();
            CommandFailure::failed(format!("{shown}: {}", storage::in_words(&error)))
                .undone("nothing was written")
                .next("name a writable file, or none for stdout")
        };
        let mut page = source.page(&query).await?;
        let made = target.as_ref().map(|file| {
            if self.force {
                storage::create_private_file(file)
            } else {
                let mut new = File::options();
                storage::open_private_file(file, new.write(true).create_new(true))
            }
        });
        let mut file: Option<File> = made.transpose().map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists {
                let file = shown.as_deref().unwrap_or_default();
                let mistake = CommandFailure::usage(format!("{file} already exists"));
                let mistake = mistake.undone("nothing was written");
                return mistake.next("name another file, or replace it with --force");
            }
            failed(error)
        })?;
        let mut write = |text: String| match &mut file {
            Some(file) => file.write_all(text.as_bytes()).map_err(failed),
            None if text.is_empty() => Ok(()),
            None => output::print_line(text.strip_suffix('\n').unwrap_or(&text)),
        };
        let mut count = page.records.len();
        write(self.form.header())?;
        loop {
            write(
                page.records
                    .iter()
                    .map(|record| self.form.line(record))
                    .collect(),
            )?;
            let Some(next) = page.next else {
                break;
            };
            go_on(&mut query, next);
            query.run = query.run.or(page.run);
            page = source.page(&query).await?;
            count += page.records.len();
        }
        if let Some(file) = target.filter(|_| out.is_json()) {
            let written = serde_json::json!({ "file": file, "records": count });
            return output::print_value(&written);
        }
        let into = shown.as_deref().map(|file| format!(" to {file}"));
        out.done(&format!(
            "wrote {}{}",
            output::count(count, "record"),
            into.unwrap_or_default()
        ));
        Ok(())
    }
}

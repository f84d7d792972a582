//! What is known of a client or proxy whose files are known: a row of the table.

use serde_json::Value;

use super::references::Spelling;

/// A row of the table.
pub(super) struct ClientSpec {
    /// The word for it on a command line and in addresses.
    pub(super) id: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Other words for it.
    pub(super) words: &'static [&'static str],
    /// Its files of a person. The first is the one that is made where none is there.
    pub(super) files: &'static [(Folder, &'static str)],
    /// Its files in the folder of a project.
    pub(super) project_files: &'static [&'static str],
    /// Files of these names are read only: an entry is not written there.
    pub(super) read_only: &'static [&'static str],
    /// A folder below the home folder that shows that it is here.
    pub(super) sign: Option<&'static str>,
    /// How paths of its files end, too, wherever they lie.
    pub(super) endings: &'static [&'static str],
    /// Whether a file whose path says nothing is its file, by what is in it.
    pub(super) is_its: fn(&Value) -> bool,
    /// The keys that lead to its lists of servers. An entry is written to the first, or to the one inside it if that is there.
    pub(super) lists: &'static [&'static [&'static str]],
    /// Whether its file has lists for single projects, too.
    pub(super) has_projects: bool,
    /// How its entries refer to variables.
    pub(super) spelling: Spelling,
    /// The same in addresses and headers, where that is another.
    pub(super) address_spelling: Option<Spelling>,
    /// Which transport its entries with an address mean.
    pub(super) transport: EntryTransport,
    /// Its keys for timeouts, with ours.
    pub(super) timeouts: &'static [(&'static str, &'static str, Unit)],
    /// Whether its command is a line of words.
    pub(super) splits_command: bool,
    /// Whether entries without a program are extensions that only it can start.
    pub(super) has_extensions: bool,
    /// How our entry is written; nothing for a proxy, which has no use for one.
    pub(super) entry: Option<EntryShape>,
}

/// A folder in which clients keep files.
pub(super) enum Folder {
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// The folder for settings of applications, which is another on macOS.
    Applications,
    /// What a variable names, or a folder below the home folder; without that one, nothing.
    Variable(&'static str, Option<&'static str>),
}

/// What an entry with an address speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryTransport {
    /// What it says, else ours to choose.
    Said,
    /// What it says, else one after the other.
    SaidOrEither,
    /// One after the other, also where it says HTTP.
    Either,
}

/// What a timeout is counted in.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// How an entry that leads to us is written.
pub(super) struct EntryShape {
    /// Whether it connects to addresses on this machine.
    pub(super) has_http: bool,
    pub(super) http_type: Option<&'static str>,
    pub(super) process_type: Option<&'static str>,
    /// The key of the address.
    pub(super) url: &'static str,
    /// The key of the program.
    pub(super) command: &'static str,
    /// Whether the arguments stand in one list with the program.
    pub(super) is_one_list: bool,
    /// The key of the program's variables.
    pub(super) env: &'static str,
    pub(super) token: TokenPlace,
    /// What else stands there, given the name of the entry.
    pub(super) more: fn(&str) -> Value,
}

/// Where an entry names the variable with a client's token.
pub(super) enum TokenPlace {
    /// Nowhere: its files refer to no variables.
    Nowhere,
    /// In a header, by such a reference to `NAME`.
    Header(&'static str),
    /// Under a key of its own.
    Key(&'static str),
}

//! The patterns of hints in English. A hint alone means nothing: see `combinations`.

use super::phrase::{
    Hint::{
        Authority, Belongings, Command, EveryTime, Frame, Give, HandOver, Model, Order, OtherTools,
        Praise, Private, Quiet, Recipient, Redirect, SecretFile, SecretWord, Send, Take,
    },
    Meaning::Part,
    Phrase, phrase,
};

/// The pattern of each hint. `EXAMPLES` in the tests has a text for each.
pub(super) const SIGNALS: &[Phrase] = &[
    phrase!(Part(Order),
        r"\b(" {
            "must" | "always" | "never" | "shall" | "should" => "(you )?should" | "need to" => "(you )?need to" | "you have to" | "please"
            | "important" | "critical" | "mandatory" | "required" | "necessary" | "prerequisite" | "otherwise"
            | "make sure" | "ensure" | "be sure to" | "remember to"
            | "first" | "before" | "then" | "also"
        }
        r")\b|\b(needs|has|have) to\b"
    ),
    phrase!(Part(EveryTime),
        r"\b(" { "before " | "prior to " | "after " }
        r")(you )?(any|every|each|all|other|anything|filling|saying|replying|using|use|calling|call|invoking|invoke|running|executing"
        r"|execute|answering|responding|doing|performing|taking|proceeding|completing|returning|making|starting|handling)\b"
        r"|\b(" { "whenever" | "every time" | "each time" | "any time" | "regardless of" }
        r")\b|\bin all cases\b|\b(" {
            "on every " | "on each " | "on all " | "with every " | "with each " | "with all "
            | "for every " | "for each " | "for all " | "in every " | "in each " | "in all "
        }
        r")(\w+ )?(calls?|requests?|invocations?|messages?|queries|tools?|responses?|tasks?|turns?"
        r"|interactions?|operations?|conversations?|sessions?|emails?)\b"
        r"|\b(" { "at the start" | "at the beginning" } r") of (every|each|the|any)\b"
    ),
    phrase!(Part(Take),
        r"\b(" {
            "read" => "read(s|ing)?" | "open" | "load" => "load(ing)?" | "scan" | "look up" | "access"
            | "retrieve" | "fetch" | "collect" | "gather" | "harvest" | "extract" | "grab" | "obtain" | "get" | "take"
            | "cat" => "cat|locate" | "print" | "dump" | "enumerate" | "copy" => "copy(ing)?" | "content" => "contents?"
        }
        r")\b"
    ),
    phrase!(Part(Give),
        r"\b(" {
            "pass" => "pass(ing)?" | "includ" => "includ(e|ing)" | "append" => "append(ing)?" | "attach" => "attach(ing)?"
            | "add" => "add(ing)?" | "insert" | "paste" | "embed" | "prepend" | "place" | "put" | "fill" | "populate" | "enter"
            | "provide" | "supply" | "quote" | "write" | "record" | "store" | "encode"
        }
        r")\b.{0,100}\b(as|in|into|to|here|with|parameter|argument|field|value|via|through|at the)\b"
        r"|\b(as|in|into|to|via|using|through) (the |this |a |its |an )?['a-z_]{2,30}'?( input|("
        { " param" => " param(eter)?" | " arg" => " arg(ument)?" | " field" | " value" | " header" }
        r"))\b"
    ),
    phrase!(Part(Send),
        r"\b(" {
            "send" => "send(s|ing)?" | "post" | "upload" => "upload(s|ing)?" | "forward" => "forward(ing)?" | "transmit" | "deliver"
            | "ship" | "submit" | "report" | "publish" | "copy" | "mirror" | "relay" | "sync" | "leak" | "exfiltrat" => "exfiltrate"
        }
        r")\b.{0,100}(https?://|\bwebhook|[\w.+-]+@[\w-]+\.\w+|\bas (a )?(query|url)|\burl parameter|\bquery (string|parameter)|\bback to\b"
        r"|\b(external|remote|our|collection|logging|analytics|telemetry|backup|audit|third-party)"
        r" (server|endpoint|service|host|api|url|address|collector)\b)"
        r"|\bexfiltrat|\b(" { "bcc" } r")\b"
    ),
    phrase!(Part(SecretFile),
        r"(~|\$home|/home/[^/ ]+|/root|/users/[^/ ]+|%userprofile%)/(\.password-store|(" {
            ".ssh" => r"\.ssh" | ".gnupg" => r"\.gnupg" | ".netrc" => r"\.netrc" | ".pgpass" => r"\.pgpass"
            | ".aws" => r"\.aws" | ".azure" => r"\.azure" | ".kube" => r"\.kube" | ".docker" => r"\.docker"
            | ".npmrc" => r"\.npmrc" | ".pypirc" => r"\.pypirc" | "git-credentials" => r"\.git-credentials"
            | ".vault-token" => r"\.vault-token" | ".env" => r"\.env" | "_history" => r"\.(bash|zsh)_history"
            | ".cursor" => r"\.cursor" | ".claude" => r"\.claude" | ".config/" => r"\.config/(gcloud|gh|claude|op|sops)"
            | ".mozilla" => r"\.mozilla" | ".bitcoin" => r"\.bitcoin" | ".ethereum" => r"\.ethereum" | ".electrum" => r"\.electrum"
        }
        r"))\b"
        // Such files in any folder.
        r"|\.ssh/|\.cursor/|\.claude(\.json|/)|\.(netrc|npmrc|pypirc|gnupg|pgpass|vault-token|(bash|zsh)_history)\b|git-credentials\b"
        r"|(^|[\s/'(=:,])\.env(\.\w+)?($|[\s'),;:.!?])"
        r"|\b(" {
            "id_rsa" | "id_ed25519" | "id_ecdsa" | "id_dsa" | "id rsa" | "ssh " => "ssh (id rsa|private key|key)s?"
            | "aws/credentials" | "kube/config" | "gh/hosts" => r"gh/hosts\.yml"
            | "credentials.json" => r"credentials\.json" | "secrets.y" => r"secrets\.ya?ml" | "mcp.json" => r"mcp\.json"
            | "service-account" => r"service-account[-_\w]*\.json" | "service_account" => r"service_account[-_\w]*\.json"
            | "etc passwd" | "login data" | "cookie.sqlite" => r"cookie\.sqlite" | "cookies.sqlite" => r"cookies\.sqlite"
            | "wallet.dat" => r"wallet\.dat" | "login keychain" | "system keychain"
        }
        r")\b|\b(" { "gcloud/" => r"gcloud/\S*credential" | "keychain " => "keychain (items|entries|dump|passwords?|secrets?)" }
        r")|(" {
            "docker/config" => r"docker/config\.json" | "/etc/passwd" => r"/etc/passwd\b" | "etc/shadow" => r"/etc/shadow\b"
            | "etc/sudoers" => r"/etc/sudoers\b" | "proc/self" => "/proc/self/environ" | ".pem" => r"\.pem\b" | "claude_desktop_config"
        } ")"
    ),
    phrase!(Part(SecretWord),
        r"\b(" {
            "api key" => "api keys?" | "api_key" => "api_keys?" | "api-key" => "api-keys?" | "apikey" => "apikeys?"
            | "access token" => "access tokens?" | "auth token" => "o?auth tokens?" | "authentication token" => "authentication tokens?"
            | "bearer" => "bearer tokens?" | "session token" => "session tokens?" | "tokens"
            | "password" => "passwords?" | "passphrase" => "passphrases?" | "credential" => "credentials?" | "secret" => "secrets?"
            | "private key" => "private keys?" | "ssh key" => "ssh keys?" | "cookies" => "(session )?cookies"
            | "seed phrase" => "seed phrases?" | "recovery phrase" => "recovery phrases?" | "mnemonic" => "mnemonics?"
            | "environment variable" => "environment variables?" | "env var" => "env vars?" | "printenv"
            | "process.env" => r"process\.env" | "os.environ" => r"os\.environ" | "connection string" => "connection strings?"
            | "credit card" => "credit card( number)?s?" | "otp" => "otps?" | "one-time code" => "one-time codes?"
        }
        r")\b"
    ),
    phrase!(Part(Private),
        r"\b((" { "user's " }
        r")(email|name|full name|phone|address|location|messages?|request|quer(y|ies)|prompt|files?|inbox|contacts?|identity|data|documents?"
        r"|home)|(" {
            "conversation" => "(whole |entire |full |current |this |complete |ongoing )?conversation( history| so far| context| log)?"
            | "chat history" => "chat historys?" | "chat log" => "chat logs?" | "transcript" => "(chat )?transcripts?"
            | "previous message" => "previous messages?" | "message history" | "context window" | "system prompt"
            | "original prompt" | "original request" | "original message"
            | "tool result" => "(previous|prior|earlier|last|recent|other) tool results?"
            | "tool output" => "(previous|prior|earlier|last|recent|other) tool outputs?"
            | "tool call" => "(previous|prior|earlier|last|recent|other) tool calls?"
            | "tool response" => "(previous|prior|earlier|last|recent|other) tool responses?"
            | "personal" => "personal (data|information|details)|personally identifiable" | "personnel file" => "personnel files?"
            | "private " => "private (data|information|messages?|files?|repositor(y|ies))"
            | "browsing history" | "browser history" | "clipboard" => "clipboard( contents?)?" | "recent emails"
            | "user profile" | "date of birth" | "home address" | "phone number" => "phone numbers?"
            | "address book" | "contact list" | "list of contacts"
            | "bank statement" => "bank statements?" | "tax return" => "tax returns?"
            | "keychain" => "keychains?" | "login cookie" => "login cookies?" | "dotfile" => "dotfiles" | "shell profile" => "shell profiles?"
            | "documents folder" | "home directory" | "project files" | "source code" | "ci variables" | "process environment"
        }
        r"))\b"
    ),
    phrase!(Part(Quiet),
        r"\b((" {
            "silent" => "silent(ly)?" | "quietly" | "in the background" | "behind the scenes" | "transparently" | "invisibl" => "invisibly"
            | "no confirmation" | "skip confirm" => "skip confirmation" | "skip approval" | "skip the confirm" => "skip the confirmation"
            | "skip the approval" | "hidden" => "hidden (from|step)" | "internal" => "internal (step|use|only|requirement|check|protocol)"
        }
        r")|(do not|don't|never|no need to|without|not) (ask(ing)?|show(ing|n)?|display(ing)?|notify(ing)?|confirm(ing|ation)?|prompt(ing)?"
        r"|log(ging|ged)?|surface|surfacing|bother|mention(ing)?|alert(ing)?|visible))\b",
        words: [
            "not show", "not display", "not visible", "not surface",
            "do not ask", "do not notif", "do not confirm", "do not prompt", "do not log", "do not surfac", "do not bother", "do not mention",
            "do not alert",
            "don't ask", "don't show", "don't display", "don't notif", "don't confirm", "don't prompt", "don't log", "don't surfac",
            "don't bother", "don't mention", "don't alert", "don't visible",
            "never ask", "never show", "never display", "never notif", "never confirm", "never prompt", "never surfac", "never bother",
            "never mention", "never alert", "never visible",
            "no need to ask", "no need to show", "no need to display", "no need to notif", "no need to confirm", "no need to prompt",
            "no need to surfac", "no need to bother", "no need to mention", "no need to alert", "no need to visible",
            "without ask", "without display", "without notif", "without confirm", "without prompt", "without surfac", "without bother",
            "without mention", "without alert", "without visible",
        ]
    ),
    phrase!(Part(OtherTools),
        r"\b(other|any|all|every|another|each|subsequent|future|remaining|available|existing|competing"
        r"|email|mail|payment|messaging|file|calendar|search|database|bank(ing)?|slack|github|filesystem|shell|terminal|browser)( \w+)?"
        r"( mcp)?(" { " tool" => " tools?" | " server" => " servers?" | " function" => " functions?" }
        r")\b"
    ),
    phrase!(Part(Redirect),
        r"\b(" {
            "change" | "replace" | "set" | "override" | "substitut" => "substitute" | "swap" | "rewrite" | "alter" | "modify" | "switch" | "update"
        }
        r")\b.{0,30}\b(recipients?|destination|payee|iban|account( number)?|wallet( address)?|to[ -](address|field)|email address"
        r"|beneficiary|receiver|target address|host|base url|endpoint)\b"
        r"|\b(add|include|put|insert|always|also|must|set)\b.{0,30}\b(" { "cc" => "b?cc" }
        r")\b|\b(send|forward|deliver|email|mail|provide|make|save|post|route|relay) .{0,16}\b(a )?(blind )?(" { "copy" | "copies" }
        r")\b|\b(" { "redirect" | "route" => "(re)?route" | "divert" } r")\b.{0,40}\b(to|through|via)\b"
        r"|\b(must|should|always|instead|also) (be )?(redirected|routed?|(" {
            "sent" | "send" | "forward" => "forward(ed)?" | "deliver" => "delivered" | "address" => "addressed" | "transfer" => "transferred"
        }
        r"))\b.{0,40}\bto\b"
        r"|\b(use|call|invoke|run) .{0,40}\b(" { "instead" } r")\b|\binstead (use|call|invoke|send|of (calling|using))\b"
    ),
    phrase!(Part(Recipient),
        r"[\w.+-]+(" { "@" } r")[\w-]+\.[a-z]{2,}|\b[a-z]{2}\d{2}( ?[0-9a-z]{4}){3,}|\b0x[0-9a-f]{16,}|\bbc1[0-9a-z]{20,}",
        words: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
    ),
    phrase!(Part(Model),
        r"\b(" {
            "assistant" => "assistants?" | "llm" => "llms?" | "language model" => "language models?" | "ai model" => "ai models?"
            | "ai agent" => "ai agents?" | "the agent" | "the model" | "the ai" | "agents"
            | "claude" | "chatgpt" | "gpt-4" | "copilot" | "cursor"
        }
        r")\b"
    ),
    phrase!(Part(Command),
        r"\b(run|execute|type|issue|prefix|paste|append|invoke|launch|call|start)\b.{0,80}\b(" {
            "curl" | "wget" | "sudo" | "chmod" | "chown" | "systemctl" | "crontab" | "ssh-keygen" | "base64" | "export path" | "alias"
            | "bash" | "sh -c" | "eval" | "powershell" | "shell command" | "terminal command"
            | "pip install" | "pip3 install" | "npm i" => "npm i(nstall)?" | "npx " => "npx" | "git push" | "git config"
        }
        r")\b"
    ),
    phrase!(Part(Authority),
        r"\b((" {
            "approved by " | "authorized by " | "authorised by " | "required by " | "mandated by " | "requested by " | "demanded by "
        }
        r")(the )?(user|admin(istrator)?|security|compliance|legal|it|company|law|platform|operator|policy|gdpr|vendor|system)|(" {
            "compliance" | "security team" | "company policy" | "security policy" | "privacy policy" | "policy requires" | "legal requirement"
            | "for security" | "for verification" | "for audit" => "for audit(ing)?" | "for compatibility" | "for debugging"
            | "for analytics" | "for caching" | "for quality" | "telemetry" => "(for )?telemetry"
            | "diagnostic" => "for diagnostics?|diagnostics"
        }
        r"))\b"
    ),
    phrase!(Part(Praise),
        r"\b(" { "best" }
        r")[ .,!;)]|\b((" { "most " }
        r")(reliable|accurate|trusted|secure|up-to-date|comprehensive|advanced|powerful)"
        r"|(improved|new|newer|latest|secure|safer|better|enhanced|correct|fixed|updated)( replacement|(" { " version" | " implementation" }
        r"))|(" {
            "prefer" => "prefer(red)?" | "superior" | "fastest" | "official" | "authoritative" | "trusted" | "verified"
            | "replace" => "replace(s|ment)( for)?" | "successor" | "supersedes" | "instead of"
        }
        r")|rather than)\b"
    ),
    phrase!(Part(Frame),
        r"(^|[.!?:;\]}>)-] )((user|human|assistant|agents?)( says| said| wrote)?"
        r"|(user|human|assistant|system|developer|admin|administrator|operator|agent|ai|model|llm)"
        r" (message|prompt|note|notice|update|request|instruction|turn|input|reminder|alert)) ?[:>\]]"
        r"|\b(message|note|notice|instructions?|request|update|reminder) from (the |your )?"
        r"(user|system|developers?|admin|administrator|operator|anthropic|openai|client|host|vendor|maintainers?|platform|security team)\b"
        r"|\b(the|this) (user|human|owner|customer) (has |have )?(already |just |earlier |previously )+"
        r"(said|asked|agreed|approved|confirmed|requested|authori[sz]ed|consented|instructed|decided|allowed|opted)"
        r"|\bas the user (said|asked|requested|wished|instructed|wanted)\b"
        r"|\bi, the user\b|\brole: (system|user|assistant|developer)\b"
        r"|\b(begin|start|end) of (the )?(user|system|assistant) (message|prompt|input|turn|conversation)\b"
        r"|\b(procedure|instructions?|notes?|notice|guidance|directives?|rules?|reminder|hint|policy|memo|attention|message|important)"
        r" (for|to) (the |any |all |your |every )?(ai|assistants?|models?|agents?|llms?|claude|copilot|language models?)\b",
        words: [
            "user", "human", "owner", "customer", "assistant", "agent", "ai", "model", "llm", "claude", "copilot",
            "system", "developer", "admin", "operator", "anthropic", "security team",
            "note from vendor", "note from the vendor", "note from your vendor",
        ]
    ),
    phrase!(Part(Belongings),
        r"\b(" {
            "user's" => "(the )?user's" | "users'" | "person's" => "the person's" | "caller's" => "the caller's" | "owner's" => "the owner's"
            | "customer's" => "the customer's" | "client's" => "the client's" | "their own" | "your " => "your( own)?"
            | "assistant's" => "the assistant's" | "agent's" => "the agent's" | "model's" => "the model's"
            | "other " => "((any|every|all) )?other" | "all " => "all (open|their|your)" | "whole " => "whole" | "entire " => "entire"
            | "previous" | "prior " => "prior" | "earlier" | "preceding" | "last " => "last" | "latest" | "recent" | "newest" | "remaining"
            | "open " => "(currently )?open" | "opened" | "saved" | "neighbouring" | "surrounding"
            | "private" | "personal" | "internal" | "confidential" | "unpublished" | "sensitive"
            | "everything in" | "anything in" | "whatever is in"
        }
        r")( [a-z'-]{2,16}){0,2} (password manager|passwords?|credentials|secrets|keys?|tokens?|vault|wallet|cookies|cards?|iban|signature"
        r"|fingerprint|system prompt|prompts?|instructions?|guidelines|polic(y|ies)|rules|settings|configuration|preferences|variables|tools?|servers?"
        r"|conversations?|chats?|messages?|dialogue|discussion|thread|transcripts?|responses|answers?|context|session|sessions|memor(y|ies)"
        r"|reasoning|thoughts|findings|outputs?|results?|intent|purpose|goal|mood|voice|words|opinions|interests|habits"
        r"|e?mails?|e-mails|mailbox|inbox|drafts|calendar|meetings|appointments|bookings|reservations|itinerary|agenda|tasks|plans|trips|route"
        r"|contacts|address book|addresses|phone numbers|names|birthdays|people|family|friends|relatives|neighbours|colleagues|team|employer"
        r"|employees|customers|clients|patients|company|identity|profile|passport|licence|position|location|whereabouts"
        r"|health|medication|prescriptions|diagnoses|salary|salaries|income|taxes|tax returns|balances?|transactions|payments|purchases|orders"
        r"|invoices|receipts|statements|contracts"
        r"|files?|folders?|documents?|data|database|tables?|rows|records|recordings|contents?|text|notes|journal|diary|history|logs?|spreadsheet"
        r"|pages?|wiki|tabs?|bookmarks|clipboard|screen|photos|pictures|videos|devices?|environment|information|details|searches"
        r"|projects?|work|code|source|repository|repositories|branches|commits|issues|tickets|backlog|roadmap)\b"
    ),
    phrase!(Part(Belongings),
        r"\b(memory|state|context|history|instructions|prompts?|settings|configuration|tools|servers|browser|sessions?|screen|clipboard"
        r"|files?|folders?|documents?|photos?|notes?|mails?|e-?mails?|mailbox|inbox|messages?|chats?|conversations?|contacts?|calendar"
        r"|passwords?|keys?|tokens?|logins?|cookies|accounts?|device|machine|profile|habits|mood|plans"
        r"|address|phone|location|position|house|flat|salary|income|health|family|friends|employer) ("
        { "of the user" | "of the agent" | "of the assistant" | "of the model" | "of the client" | "of the person" | "of the owner" }
        r")\b"
    ),
    phrase!(Part(HandOver),
        r"((^|[:,;(.!?-] ?|\b(and|then|also|please|to|must|should|shall|always|can|could|may|will|you|agents?|assistants?|models?|first|kindly"
        r"|so|or|it) )(" {
            "pass" | "includ" => "include" | "attach" | "add" | "append" | "prepend" | "prefix" | "insert" | "embed" | "weave" | "put" | "place"
            | "paste" | "copy" | "quote" | "mirror" | "suppl" => "supply" | "provid" => "provide" | "give" | "hand" | "share" | "use" => "(re)?use"
            | "send" | "forward" | "submit" | "transmit" | "upload" | "deliver" | "transfer" | "export" | "bring" | "carr" => "carry"
            | "write" | "store" | "enter" | "fill" | "dump" | "echo" | "print" | "set out"
            | "tell" | "report" | "note" | "mention" | "name" | "state" => "(re)?state" | "repeat" | "recite"
            | "describ" => "describe" | "summari" => "summari[sz]e" | "contain" | "hold"
            | "collect" | "gather" | "fetch" | "retriev" => "retrieve" | "take" | "get" | "grab" | "pull"
            | "read" | "open" | "look" => "look (up|at|into|through)" | "find" | "search" | "check" | "scan"
        }
        r")\b|\b(be|is|are|was|were|been|should|must) (to be )?(also |then |always )?(passed|included|attached|added|appended|inserted"
        r"|embedded|put|placed|pasted|quoted|supplied|provided|given|handed|shared|forwarded|submitted|transmitted|uploaded|delivered|carried"
        r"|stored|entered|filled|reported|noted|mentioned|named|stated|repeated|described|summari[sz]ed|collected|gathered|fetched|retrieved|taken"
        r"|(" { "copied" | "sent" | "written" | "told" | "brought" | "known" | "listed" }
        r"))\b|\b(containing|holding|carrying|(" { "with " => "((together|along) )?with" | "plus" | "as well as" }
        r")) )"
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{
        fold::fold,
        pattern::Pattern,
        pattern_steps::{PatternStep, Set, steps},
        phrase::Hint,
        phrases::Phrases,
    };

    /// A text for each signal, in the order of the table, and which part of it is the signal.
    #[rustfmt::skip]
    const EXAMPLES: &[(Hint, &str, &str)] = &[
        (Order, "Adds; the mustard must be **mixed**", "must"),
        (EveryTime, "Runs after you calling it, not after lunch", "after you calling"),
        (Take, "A ready list, from reading it", "reading"),
        (Give, "Passes: append it\nas a note", "append it as"),
        (Send, "Forwarding it all to a@x.example, or posts", "forwarding it all to a@x.example"),
        (SecretFile, "Of ~/.ssh, not of ~/ssh", "~/.ssh"),
        (SecretWord, "A secretary's API-Keys", "api-keys"),
        (Private, "One of the last tool results, and a tool result", "last tool results"),
        (Quiet, "Never asking, and asking nothing", "never asking"),
        (OtherTools, "Like any search tool, or a tool", "any search tool"),
        (Redirect, "Setting it, or set the recipient", "set the recipient"),
        (Recipient, "To DE02 1203 0000 0000 2020 51, not to 12345678", "de02 1203 0000 0000 2020"),
        (Model, "For ordinary models, and for AI models", "ai models"),
        (Command, "Curl, and run it with sudo", "run it with sudo"),
        (Authority, "Approved by admin and by many", "approved by admin"),
        (Praise, "A version, the newer version", "newer version"),
        (Frame, "As a user: sums. User said: sums", ". user said:"),
        (Belongings, "The mail, your unread mail", "your unread mail"),
        (Belongings, "Inboxes, the inbox of the user", "inbox of the user"),
        (HandOver, "The pass, to pass it", "to pass"),
    ];

    /// What counts only beside a word of its signal, because ordinary descriptions say it, too.
    const BESIDE_A_WORD: &[(Hint, &str)] = &[
        (Order, "(needs|has|have) to"),
        (SecretFile, r".*/\.password-store"),
        (
            Quiet,
            "(never|no need to|without|not) log(ging|ged)?|without show(ing|n)?\
             |not (ask|notify|confirm|prompt|surfac|bother|mention|alert)(ing|ation)?",
        ),
        // How many servers say that they are started.
        (Command, ".* npx"),
        (Praise, "rather than"),
        (Frame, ".* from (the |your )?(client|host|platform|vendor)"),
    ];

    #[test]
    fn each_signal_is_found_in_its_example() {
        assert_eq!(SIGNALS.len(), EXAMPLES.len());
        for (phrase, (signal, text, expected)) in SIGNALS.iter().zip(EXAMPLES) {
            assert!(
                matches!(phrase.meaning, Part(of) if of == *signal),
                "{signal:?} is not in its place"
            );
            let folded = fold(text);
            let found = Phrases::default().find(&folded);
            let found = found
                .iter()
                .filter(|found| found.pattern == Some(phrase.pattern));
            let found: Vec<_> = found
                .filter_map(|found| folded.get(found.range.clone()))
                .collect();
            assert_eq!(found, [*expected], "{signal:?}");
        }
    }

    /// What a run may be, as short as it may be.
    fn fillings(set: &Set, least: usize, most: usize) -> Vec<String> {
        let all: Vec<char> = set.ascii().map(char::from).collect();
        let usual = [' ', 'q', '7'].into_iter().find(|c| set.has(*c));
        let characters = match usual.or(all.first().copied()) {
            Some(usual) if all.len() > 10 => vec![usual],
            _ => all,
        };
        let filled = characters
            .iter()
            .map(|c| c.to_string().repeat(least.max(1)));
        let nothing = (least == 0 && most == 1).then(String::new);
        filled.chain(nothing).collect()
    }

    /// Looks for texts of ways through a pattern in which none of these words stands.
    struct Ways<'a> {
        steps: &'a [PatternStep],
        words: &'a [&'a str],
        is_wanted: &'a dyn Fn(&str) -> bool,
        most: usize,
        found: Vec<String>,
    }

    impl Ways<'_> {
        fn follow(&mut self, step: usize, text: &str) {
            let stops = self.words.iter().any(|word| text.contains(*word));
            if stops || self.found.len() == self.most {
                return;
            }
            match self.steps.get(step).expect("a step") {
                PatternStep::Text(more) => self.follow(step + 1, &format!("{text}{more}")),
                PatternStep::Run { set, least, most } => {
                    for more in fillings(set, *least, *most) {
                        self.follow(step + 1, &format!("{text}{more}"));
                    }
                }
                PatternStep::Border | PatternStep::Start | PatternStep::End => {
                    self.follow(step + 1, text);
                }
                PatternStep::Choice(choices) => {
                    // Nothing is repeated more often than it has to be.
                    for to in choices.steps().iter().filter(|to| **to > step) {
                        self.follow(*to, text);
                    }
                }
                PatternStep::Jump(to) => self.follow(*to, text),
                PatternStep::Done if (self.is_wanted)(text) => self.found.push(text.to_owned()),
                PatternStep::Done => (),
            }
        }
    }

    #[test]
    fn each_alternative_has_a_word_that_calls_for_it_and_each_word_calls_for_one() {
        for phrase in SIGNALS {
            let Part(signal) = phrase.meaning else {
                continue;
            };
            let (steps, pattern) = (steps(phrase.pattern), Pattern::new(phrase.pattern));
            let matches = |text: &str| !pattern.places(text, 1).is_empty();
            let found_without = |words: &[&str], most, is_wanted: &dyn Fn(&str) -> bool| {
                let mut ways = Ways {
                    steps: &steps,
                    words,
                    is_wanted,
                    most,
                    found: Vec::new(),
                };
                ways.follow(0, "");
                ways.found
            };
            let mut found = found_without(phrase.words, usize::MAX, &matches);
            let beside = BESIDE_A_WORD.iter().find(|(of, _)| *of == signal);
            if let Some((_, beside)) = beside {
                let beside = regex::Regex::new(&format!("^({beside})$")).expect("a pattern");
                let all = found.len();
                found.retain(|text| !beside.is_match(text));
                assert!(found.len() < all, "{signal:?}: nothing is like {beside}");
            }
            assert!(found.is_empty(), "{signal:?}: {found:?}");
            for word in phrase.words {
                let others = phrase.words.iter().copied().filter(|it| it != word);
                let others: Vec<_> = others.collect();
                // A word may end with the blank after what it calls for.
                let needs = |text: &str| matches(text) && format!("{text} ").contains(*word);
                let found = found_without(&others, 1, &needs);
                assert!(!found.is_empty(), "{signal:?}: {word:?}");
            }
        }
    }
}

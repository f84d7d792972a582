//! Words that mean nothing alone and much together: what is asked for, in which mood, and where it is to go.

use super::phrase::{
    Hint::{
        self, Claim, Command, EveryTime, Frame, Give, Hand, Model, Order, OtherTools, Praise,
        Private, Quiet, Recipient, Redirect, SecretFile, SecretWord, Send, Take, Theirs,
    },
    Meaning, Phrase,
};

const fn signal(signal: Hint, words: &'static [&'static str], pattern: &'static str) -> Phrase {
    Phrase {
        meaning: Meaning::Part(signal),
        words,
        pattern,
    }
}

/// Words that are signals.
#[rustfmt::skip]
pub(super) const SIGNALS: &[Phrase] = &[
    signal(Order,
        &[
            "must", "always", "never", "important", "critical", "mandatory", "required", "make sure", "ensure", "remember to", "you should",
            "you need", "you have to", "please", "be sure", "first", "before", "otherwise", "will fail", "will not work", "prerequisite",
            "instruct", "necessary", "also", "need to", "then", "do not", "don't", "should", "shall",
        ],
        concat!(
            r"\b(must|always|never|important|critical|mandatory|required|make sure|ensure|remember to|you should|you need to|you have to|please",
            r"|be sure to|first|before|otherwise|prerequisite|necessary|also|need to|needs to|then|shall|should|has to|have to)\b",
        )),
    signal(EveryTime,
        &[
            "before ", "prior to", "whenever", "every time", "each time", "on every", "with every", "for every", "after ", "at the start",
            "in all cases", "any time", "on each", "for all", "regardless", "when any", "once ", "on all", "with each", "with all", "for each",
            "in each", "in every", "in all", "at the beginning",
        ],
        concat!(
            r"\b(before|prior to|after) (you )?(filling|saying|replying|using|use|calling|call|invoking|invoke|running|executing|execute|any|every",
            r"|each|all|answering|responding|doing|anything|performing|taking|other|proceeding|completing|returning|making|starting|handling)\b",
            r"|\b(whenever|every time|each time|any time)\b",
            r"|\b(on|with|for|in) (every|each|all) (\w+ )?(calls?|requests?|invocations?|messages?|queries|tools?|responses?|tasks?|turns?",
            r"|interactions?|operations?|conversations?|sessions?|emails?)\b",
            r"|\bat the (start|beginning) of (every|each|the|any)\b|\bin all cases\b",
            r"|\bregardless of\b",
        )),
    signal(Take,
        &[
            "read", "open", "load", "retriev", "fetch", "collect", "gather", "extract", "copy", "look up", "locate", "find", "grab", "list",
            "dump", "access", "obtain", "scan", "search", "check", "view", "enumerat", "harvest", "take", "echo", "print", "content", "get",
            "cat",
        ],
        concat!(
            r"\b(read(s|ing)?|open|load(ing)?|cat|retrieve|fetch|collect|gather|extract|copy|copying|look up|locate|grab|dump|access|obtain",
            r"|contents?|scan|get|enumerate|harvest|take|print)\b",
        )),
    signal(Give,
        &[
            "pass", "includ", "append", "attach", "insert", "paste", "embed", "provide", "supply", "fill", "as the", "in the", "into the",
            "encode", "place", "prepend", "quote", "write", "populate", "store", "field", "enter", "put", "add", "param", " value", "header",
            " arg", " input", "record",
        ],
        concat!(
            r"\b(pass|passing|include|including|append|appending|attach|attaching|insert|paste|embed|provide|supply|put|fill|add|adding|encode",
            r"|place|prepend|quote|write|populate|store|record|enter)\b.{0,100}\b(as|in|into|to|here|with|parameter|argument|field|value|via",
            r"|through|at the)\b",
            r"|\b(as|in|into|to|via|using|through) (the |this |a |its |an )?['a-z_]{2,30}'? (parameter|argument|field|param|value|header|arg",
            r"|input)\b",
        )),
    signal(Send,
        &[
            "http://", "https://", "send", "upload", "forward", "transmit", "exfiltrat", "leak", "bcc", "deliver", "mirror", "relay", "webhook",
            "remote server", "external server", "submit", "sync", "beacon", "report", "post", "ship", "publish", "copy",
        ],
        concat!(
            r"\b(send|sends|sending|post|upload|uploads|uploading|forward|forwarding|transmit|exfiltrate|leak|relay|mirror|submit|sync|deliver",
            r"|ship|report|publish|copy)\b.{0,100}(https?://|\bwebhook|\b(external|remote|our|collection|logging|analytics|telemetry|backup|audit",
            r"|third-party) (server|endpoint|service|host|api|url|address|collector)\b|[\w.+-]+@[\w-]+\.\w+|\bas (a )?(query|url)|\burl parameter",
            r"|\bquery (string|parameter)|\bback to\b)|\bexfiltrat|\bbcc\b",
        )),
    signal(SecretFile,
        &[
            "ssh", "id_rsa", "id rsa", "id_ed25519", "id_ecdsa", ".aws", "aws/credentials", ".env", ".netrc", ".npmrc", ".pypirc",
            "git-credentials", ".kube", "docker/config", "etc/passwd", "etc/shadow", "etc passwd", "_history", "mcp.json", ".cursor",
            "claude_desktop_config", "keychain", "cookies", "wallet", ".gnupg", ".pgpass", "credentials.json", "service-account",
            "service_account", "secrets.y", ".vault-token", "gcloud", "gh/hosts", "login data", ".pem", "kubeconfig", "id_dsa", "private key",
            "private_key", "known_hosts", "environ", ".claude", "proc/self", ".azure", ".docker", ".mozilla", ".bitcoin", ".ethereum",
            ".electrum", ".config/", "etc/sudoers", "kube/config", "cookie.sqlite",
        ],
        concat!(
            r"(~|\$home|/home/[^/ ]+|/root|/users/[^/ ]+|%userprofile%)/\.(ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|git-credentials",
            r"|config/(gcloud|gh|claude|op|sops)|cursor|claude|azure|vault-token|pgpass|bash_history|zsh_history|password-store|mozilla|bitcoin",
            r"|ethereum|electrum|env)\b|\.ssh/|\bid_(rsa|ed25519|ecdsa|dsa)\b",
            r"|\bssh (id rsa|private key|key)s?\b|\bid rsa\b|\baws/credentials\b",
            r"|(^|[\s/'(=:,])\.env(\.\w+)?($|[\s'),;:.!?])|\.netrc\b|\.npmrc\b",
            r"|\.pypirc\b|git-credentials\b|docker/config\.json",
            r"|/etc/(passwd|shadow|sudoers)\b|\betc passwd\b|\.(bash|zsh)_history\b",
            r"|\bmcp\.json\b|\.cursor/|claude_desktop_config|\.claude(\.json|/)",
            r"|\b(login|system) keychain\b",
            r"|\bkeychain (items|entries|dump|passwords?|secrets?)|\bwallet\.dat\b",
            r"|\.gnupg\b|\.pgpass\b|\bcredentials\.json\b",
            r"|\bservice[-_]account[-_\w]*\.json\b|\bsecrets\.ya?ml\b",
            r"|\.vault-token\b|\bgcloud/\S*credential|\bgh/hosts\.yml|\blogin data\b",
            r"|\bkube/config\b|/proc/self/environ|\bcookies?\.sqlite\b|\.pem\b",
        )),
    signal(SecretWord,
        &[
            "api key", "api_key", "apikey", "api-key", "access token", "credential", "password", "secret", "environment variable", "env var",
            "process.env", "os.environ", "printenv", "private key", "seed phrase", "mnemonic", "recovery phrase", "ssh key", "session cookie",
            "auth token", "authentication token", "bearer", "oauth", "cookies", "passphrase", "tokens", "session token", "env output",
            "credit card", "database url", "connection string", "passkey", "otp", "one-time code",
        ],
        concat!(
            r"\b(api[ _-]?keys?|access tokens?|credentials?|passwords?|secrets?|environment variables?|env vars?|process\.env|os\.environ|printenv",
            r"|private keys?|seed phrases?|mnemonics?|recovery phrases?|ssh keys?|(session )?cookies|auth(entication)? tokens?|bearer tokens?",
            r"|oauth tokens?|passphrases?|session tokens?|tokens|credit card( number)?s?|connection strings?|otps?|one-time codes?)\b",
        )),
    signal(Private,
        &[
            "conversation", "chat history", "chat log", "transcript", "previous message", "message history", "personal", "browsing history",
            "browser history", "clipboard", "memory", "source code", "previous tool", "tool result", "tool output", "context window",
            "user prompt", "original prompt", "original request", "user said", "working directory", "repository", "contact", "home directory",
            "recent emails", "inbox", "documents", "project files", "system prompt", "user profile", "date of birth", "home address",
            "phone number", "dotfile", "keychain", "shell profile", "bank statement", "login cookie", "documents folder", "personnel file",
            "ci variables", "process environment", "tax return", "address book", "user's ", "private ", "tool call", "tool response",
            "original message",
        ],
        concat!(
            r"\b((whole |entire |full |current |this |complete |ongoing )?conversation( history| so far| context| log)?|chat (history|log",
            r"|transcript)s?|transcripts?|previous messages?|message history|user's (email|name|full name|phone|address|location|messages?|request",
            r"|quer(y|ies)|prompt|files?|inbox|contacts?|identity|data|documents?|home)|personal (data|information|details)",
            r"|personally identifiable|private (data|information|messages?|files?|repositor(y|ies))|brows(er|ing) history|clipboard( contents?)?",
            r"|(previous|prior|earlier|last|recent|other) tool (results?|outputs?|calls?|responses?)|context window|system prompt|user profile",
            r"|date of birth|home address|phone numbers?|dotfiles|keychains?|shell profiles?|bank statements?|login cookies?|tax returns?",
            r"|documents folder|personnel files?|ci variables|process environment|original (prompt|request|message)|address book|list of contacts",
            r"|contact list|recent emails|home directory|project files|source code)\b",
        )),
    signal(Quiet,
        &[
            "silent", "quietly", "in the background", "transparently", "automatically", "invisibl", "no confirmation", "not show",
            "not display", "internal", "not be logged", "behind the scenes", "without telling", "skip confirm", "not shown", "not visible",
            "hidden", "not surface", "automatic", "do not ask", "do not show", "do not display", "do not notif", "do not confirm",
            "do not prompt", "do not surfac", "do not bother", "do not mention", "do not alert", "do not visible", "do not log", "don't ask",
            "don't show", "don't display", "don't notif", "don't confirm", "don't prompt", "don't surfac", "don't bother", "don't mention",
            "don't alert", "don't visible", "don't log", "never ask", "never show", "never display", "never notif", "never confirm",
            "never prompt", "never surfac", "never bother", "never mention", "never alert", "never visible", "no need to ask",
            "no need to show", "no need to display", "no need to notif", "no need to confirm", "no need to prompt", "no need to surfac",
            "no need to bother", "no need to mention", "no need to alert", "no need to visible", "without ask", "without display",
            "without notif", "without confirm", "without prompt", "without surfac", "without bother", "without mention", "without alert",
            "without visible", "skip the confirm", "skip approval", "skip the approval",
        ],
        concat!(
            r"\b(silent(ly)?|quietly|in the background|transparently|invisibly|behind the scenes|(do not|don't|never|no need to|without|not) (ask",
            r"|asking|show|showing|display|displaying|notify|notifying|confirm|confirming|confirmation|prompt|prompting|log|logging|logged|surface",
            r"|surfacing|bother|mention|mentioning|alert|alerting|shown|visible)|no confirmation|skip (the )?(confirmation|approval)|hidden (from",
            r"|step)|internal (step|use|only|requirement|check|protocol))\b",
        )),
    signal(OtherTools,
        &[
            " tool", " server", " function",
        ],
        concat!(
            r"\b(other|any|all|every|another|each|subsequent|future|remaining|available|existing|competing|email|mail|payment|messaging|file",
            r"|calendar|search|database|bank(ing)?|slack|github|filesystem|shell|terminal|browser)( \w+)?( mcp)? (tools?|servers?|functions?",
            r"|tool calls?)\b",
        )),
    signal(Redirect,
        &[
            "recipient", "bcc", " cc ", "destination", "redirect", "forward", "instead", "replace", "substitut", "swap", "route", "proxy",
            "iban", "account number", "payee", "wallet address", "change", "set", "override", "rewrite", "alter", "modify", "switch", "update",
            "cc", "copy", "copies", "divert", "sent", "send", "deliver", "address", "transfer",
        ],
        concat!(
            r"\b(change|replace|set|override|substitute|swap|rewrite|alter|modify|switch|update)\b.{0,30}\b(recipients?|destination|payee|iban",
            r"|account( number)?|wallet( address)?|to[ -](address|field)|email address|beneficiary|receiver|target address|host|base url",
            r"|endpoint)\b",
            r"|\b(add|include|put|insert|always|also|must|set)\b.{0,30}\bb?cc\b",
            r"|\b(send|forward|deliver|email|mail|provide|make|save|post|route|relay) .{0,16}\b(a )?(blind )?cop(y|ies)\b",
            r"|\b(redirect|reroute|route|divert)\b.{0,40}\b(to|through|via)\b",
            r"|\b(must|should|always|instead|also) (be )?(sent|send|forwarded|forward|routed|route|delivered|addressed|redirected",
            r"|transferred)\b.{0,40}\bto\b",
            r"|\b(use|call|invoke|run) .{0,40}\binstead\b",
            r"|\binstead (use|call|invoke|send|of (calling|using))\b",
        )),
    signal(Recipient,
        &[
            "@", "iban", "wallet", "account number", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
        ],
        concat!(
            r"[\w.+-]+@[\w-]+\.[a-z]{2,}|\b[a-z]{2}\d{2}( ?[0-9a-z]{4}){3,}",
            r"|\b0x[0-9a-f]{16,}|\bbc1[0-9a-z]{20,}",
        )),
    signal(Model,
        &[
            "assistant", "llm", "language model", "ai model", "ai agent", "the agent", "the model", "claude", "chatgpt", "gpt-4", "copilot",
            "cursor", "as an ai", "agents", "the ai",
        ],
        r"\b(assistants?|llms?|language models?|ai (models?|agents?)|the (agent|model|ai)|agents|claude|chatgpt|gpt-4|copilot|cursor)\b"),
    signal(Command,
        &[
            "curl", "wget", "sudo", "chmod", "chown", "pip install", "pip3 install", "npm i", "npx ", "bash", "sh -c", "eval", "powershell",
            "crontab", "ssh-keygen", "systemctl", "base64", "shell command", "terminal command", "command line", "bin/sh", "git push",
            "git config", "export path", "shell", "alias",
        ],
        concat!(
            r"\b(run|execute|type|issue|prefix|paste|append|invoke|launch|call|start)\b.{0,80}\b(curl|wget|sudo|chmod|chown|pip3? install|npm (i",
            r"|install)|npx|bash|sh -c|eval|powershell|crontab|ssh-keygen|systemctl|base64|git push|git config|export path|alias|shell command",
            r"|terminal command)\b",
        )),
    signal(Claim,
        &[
            "approved by", "authorized by", "authorised by", "required by", "mandated", "requested by", "compliance", "security team",
            "administrator", "legal requirement", "gdpr", "policy requires", "security policy", "company policy", "for security",
            "for verification", "to verify", "for audit", "auditing", "regulation", "for compatibility", "for telemetry", "telemetry",
            "for debugging", "diagnostic", "for analytics", "licens", "for caching", "for quality", "demanded by", "privacy policy",
        ],
        concat!(
            r"\b((approved|authori[sz]ed|required|mandated|requested|demanded) by (the )?(user|admin(istrator)?|security|compliance|legal|it",
            r"|company|law|platform|operator|policy|gdpr|vendor|system)|compliance|security team|(company|security|privacy) policy|policy requires",
            r"|for (security|verification|audit(ing)?|compatibility|telemetry|debugging|diagnostics?|analytics|caching|quality)|legal requirement",
            r"|telemetry|diagnostics)\b",
        )),
    signal(Praise,
        &[
            "best", "preferred", "superior", "fastest", "official", "only", "prefer", "instead of", "recommended", "trusted", "verified",
            "improved", "latest", "newest", "replac", "successor", "authoritative", "most ", " version", " implementation", "supersedes",
        ],
        concat!(
            r"\bbest[ .,!;)]",
            r"|\b(most (reliable|accurate|trusted|secure|up-to-date|comprehensive|advanced|powerful)|preferred|superior|fastest|official",
            r"|authoritative|trusted|verified|(improved|new|newer|latest|secure|safer|better|enhanced|correct|fixed|updated) (version|replacement",
            r"|implementation)|replace(s|ment)( for)?|successor|supersedes|instead of|rather than|prefer)\b",
        )),
    signal(Frame,
        &[
            "user", "human", "assistant", "system", "developer", "admin", "operator", "agent", "ai", "model", "llm", "claude", "copilot",
            "role:", "owner", "customer", "anthropic", "openai", "note from vendor", "note from the vendor", "note from your vendor",
            "maintainer", "security team",
        ],
        concat!(
            r"(^|[.!?:;\]}>)-] )((user|human|assistant|agents?)( says| said| wrote)?|(user|human|assistant|system|developer|admin|administrator",
            r"|operator|agent|ai|model|llm) (message|prompt|note|notice|update|request|instruction|turn|input|reminder|alert)) ?[:>\]]",
            r"|\b(message|note|notice|instructions?|request|update|reminder) from (the |your )?(user|system|developers?|admin|administrator",
            r"|operator|anthropic|openai|client|host|vendor|maintainers?|platform|security team)\b",
            r"|\b(the|this) (user|human|owner|customer) (has |have )?(already |just |earlier |previously )+(said|asked|agreed|approved|confirmed",
            r"|requested|authori[sz]ed|consented|instructed|decided|allowed|opted)",
            r"|\bas the user (said|asked|requested|wished|instructed|wanted)\b",
            r"|\bi, the user\b|\brole: (system|user|assistant|developer)\b",
            r"|\b(begin|start|end) of (the )?(user|system|assistant) (message|prompt|input|turn|conversation)\b",
            r"|\b(procedure|instructions?|notes?|notice|guidance|directives?|rules?|reminder|hint|policy|memo|attention|message|important) (for",
            r"|to) (the |any |all |your |every )?(ai|assistants?|models?|agents?|llms?|claude|copilot|language models?)\b",
        )),
    signal(Theirs,
        &[
            "user's", "users'", "person's", "caller's", "owner's", "customer's", "client's", "their own", "your ", "assistant's", "agent's",
            "model's", "other ", "previous", "prior ", "earlier", "preceding", "last ", "latest", "recent", "newest", "whole ", "entire ",
            "open ", "opened", "saved", "private", "personal", "internal", "confidential", "unpublished", "sensitive", "remaining",
            "everything in", "anything in", "whatever is in", "all ", "neighbouring", "surrounding",
        ],
        concat!(
            r"\b(the user's|user's|users'|the (person|caller|owner|customer|client)'s|their own|your own|your|the (assistant|agent|model)'s|other",
            r"|previous|prior|earlier|preceding|last|latest|recent|newest|whole|entire|open|opened|currently open|saved|private|personal|internal",
            r"|confidential|unpublished|sensitive|remaining|everything in|anything in|whatever is in|all (other|open|their|your)|any other",
            r"|every other|neighbouring|surrounding)( [a-z'-]{2,16}){0,2} (password manager|conversations|phone numbers|prescriptions",
            r"|configuration|system prompt|conversation|appointments|address book|transactions|reservations|repositories|instructions|transcripts",
            r"|tax returns|whereabouts|preferences|credentials|environment|instruction|information|fingerprint|spreadsheet|discussion|transcript",
            r"|colleagues|neighbours|recordings|statements|medication|repository|guidelines|relatives|employees|customers|addresses|birthdays",
            r"|documents|contracts|purchases|diagnoses|itinerary|interests|clipboard|bookmarks|passwords|variables|reasoning|responses|signature",
            r"|messages|dialogue|calendar|meetings|contacts|patients|pictures|document|invoices|receipts|payments|balances|salaries|location",
            r"|position|bookings|opinions|identity|searches|branches|password|sessions|settings|policies|memories|thoughts|findings|contents",
            r"|projects|employer|passport|database|e-mails|mailbox|message|journal|friends|clients|folders|balance|records|profile|devices|history",
            r"|commits|tickets|roadmap|secrets|cookies|session|prompts|context|servers|results|outputs|answers|details|content|purpose|project",
            r"|company|licence|backlog|emails|thread|agenda|family|people|photos|videos|folder|drafts|orders|salary|income|health|habits|device",
            r"|screen|source|issues|tokens|prompt|policy|memory|server|result|output|answer|intent|wallet|tables|mails|email|inbox|chats|notes",
            r"|diary|names|voice|files|taxes|route|trips|tasks|plans|token|rules|tools|words|vault|cards|table|pages|mail|chat|file|mood|tabs|logs",
            r"|code|keys|tool|data|text|goal|work|team|card|iban|rows|wiki|page|tab|log|key)\b",
        )),
    signal(Theirs,
        &[
            "of the user", "of the agent", "of the assistant", "of the model", "of the client", "of the person", "of the owner",
        ],
        concat!(
            r"\b(memory|state|context|history|instructions|prompts?|files?|folders?|mails?|e-?mails?|mailbox|inbox|contacts?|calendar|messages?",
            r"|chats?|conversations?|notes?|passwords?|keys?|tokens?|accounts?|address|phone|location|position|salary|income|health|family|friends",
            r"|employer|photos?|documents?|device|machine|screen|clipboard|browser|sessions?|profile|habits|mood|plans|house|flat|logins?|cookies",
            r"|settings|configuration|tools|servers) of the (user|agent|assistant|model|client|person|owner)\b",
        )),
    signal(Hand,
        &[
            "pass", "includ", "attach", "add", "append", "paste", "copy", "copied", "quote", "suppl", "provid", "send", "sent", "forward",
            "submit", "put", "place", "write", "written", "store", "enter", "fill", "give", "hand", "share", "tell", "told", "report", "note",
            "describ", "summari", "carr", "contain", "hold", "bring", "brought", "collect", "gather", "fetch", "read", "open", "look",
            "retriev", "take", "use", "prepend", "prefix", "insert", "embed", "weave", "mention", "transmit", "upload", "deliver", "mirror",
            "transfer", "state", "name", "repeat", "recite", "restate", "set out", "dump", "echo", "print", "get", "find", "search", "check",
            "scan", "grab", "pull", "export", "with ", "known", "listed", "plus", "as well as",
        ],
        concat!(
            r"((^|[:,;(.!?-] ?|\b(and|then|also|please|to|must|should|shall|always|can|could|may|will|you|agents?|assistants?|models?|first|kindly",
            r"|so|or|it) )(pass|include|attach|add|append|paste|copy|quote|supply|provide|send|forward|submit|put|place|write|store|enter|fill",
            r"|give|hand|share|tell|report|note|describe|summari[sz]e|carry|contain|hold|bring|collect|gather|fetch|read|open|look up|look at",
            r"|look into|look through|retrieve|take|use|reuse|prepend|prefix|insert|embed|weave|mention|transmit|upload|deliver|mirror|transfer",
            r"|state|name|repeat|recite|restate|set out|write out|dump|echo|print|get|find|search|check|scan|grab|pull|export)\b|\b(be|is|are|was",
            r"|were|been|should|must) (to be )?(also |then |always )?(passed|included|attached|added|appended|pasted|copied|quoted|supplied",
            r"|provided|sent|forwarded|submitted|put|placed|written|stored|entered|filled|given|handed|shared|told|reported|noted|described",
            r"|summari[sz]ed|carried|brought|collected|gathered|fetched|retrieved|taken|inserted|embedded|mentioned|transmitted|uploaded|delivered",
            r"|stated|named|repeated|known|listed)\b|\b(with|containing|holding|carrying|together with|along with|plus|as well as) )",
        )),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::scanner::{
        pattern::Pattern,
        pattern_steps::{PatternStep, Set, steps},
    };

    /// What ordinary descriptions say, too: no word calls for a pattern because of these alone.
    fn is_ordinary(signal: Hint, text: &str) -> bool {
        match signal {
            Order => matches!(text, "has to" | "have to" | "needs to"),
            SecretFile => text.ends_with("/.password-store"),
            Quiet => {
                let is_of_login = text.contains(" log") && !text.starts_with("do");
                is_of_login
                    || ["not ", "without show"]
                        .iter()
                        .any(|it| text.starts_with(*it))
            }
            Praise => text == "rather than",
            // How many servers say that they are started.
            Command => text.ends_with(" npx"),
            Frame => ["client", "host", "platform", "vendor"]
                .iter()
                .any(|whose| {
                    let from = text.strip_suffix(*whose);
                    from.is_some_and(|text| text.contains(" from "))
                }),
            _ => false,
        }
    }

    /// What a run may be, as short as it may be.
    fn fillings(set: &Set, least: usize, most: usize) -> Vec<String> {
        let all: Vec<char> = set.ascii().map(char::from).collect();
        let usual = [' ', 'q', '7'].into_iter().find(|c| set.has(*c));
        let characters = match usual.or(all.first().copied()) {
            Some(usual) if all.len() > 4 => vec![usual],
            _ => all,
        };
        let filled = characters
            .iter()
            .map(|c| c.to_string().repeat(least.max(1)));
        let nothing = (least == 0 && most == 1).then(String::new);
        filled.chain(nothing).collect()
    }

    /// Gives the texts of each way through a pattern in which none of the words stands.
    fn without_words(
        words: &[&str],
        steps: &[PatternStep],
        step: usize,
        text: &str,
        found: &mut Vec<String>,
    ) {
        if words.iter().any(|word| text.contains(*word)) {
            return;
        }
        match steps.get(step).expect("a step") {
            PatternStep::Text(more) => {
                without_words(words, steps, step + 1, &format!("{text}{more}"), found);
            }
            PatternStep::Run { set, least, most } => {
                for more in fillings(set, *least, *most) {
                    without_words(words, steps, step + 1, &format!("{text}{more}"), found);
                }
            }
            PatternStep::Border | PatternStep::Start | PatternStep::End => {
                without_words(words, steps, step + 1, text, found);
            }
            PatternStep::Choice(choices) => {
                // Nothing is repeated more often than it has to be.
                for to in choices.steps().iter().filter(|to| **to > step) {
                    without_words(words, steps, *to, text, found);
                }
            }
            PatternStep::Jump(to) => without_words(words, steps, *to, text, found),
            PatternStep::Done => found.push(text.to_owned()),
        }
    }

    #[test]
    fn each_alternative_of_a_pattern_has_a_word_that_calls_for_it() {
        for phrase in SIGNALS {
            let Meaning::Part(signal) = phrase.meaning else {
                continue;
            };
            let mut found = Vec::new();
            without_words(phrase.words, &steps(phrase.pattern), 0, "", &mut found);
            let pattern = Pattern::new(phrase.pattern);
            found.retain(|text| !is_ordinary(signal, text) && !pattern.places(text, 1).is_empty());
            assert!(found.is_empty(), "{signal:?}: {found:?}");
        }
    }
}

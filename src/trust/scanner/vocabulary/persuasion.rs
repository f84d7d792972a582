//! Kind requests, and preference over other tools.

use crate::trust::scanner::{
    Severity::{Hold, Remark},
    phrase::{Meaning::Finding, Phrase, phrase},
};

pub(super) const PERSUASION: &[Phrase] = &[
    // Kind requests, which a description has no reason for: "We would be happy to hear more."
    phrase!(Finding("orders.soft", Remark),
        r"\b" { "would be" }
        " (so |very |most |really |truly |just )*"
        "(lovely|nice|kind|great|wonderful|grateful|thankful|appreciated|welcome|helpful|good|handy|neat|ideal"
        r"|a (help|pleasure|treat|delight))\b"
        r"|\b(we|" { "we'd" | "we would" | "i'd" }
        r"|i would)( \w+)? (love|appreciate|treasure|be (happy|glad|grateful|delighted|thankful|pleased|curious|honoured))\b"
        r"|\b(much|greatly|always|kindly|highly|deeply|warmly|sincerely|really|very) (" { "appreciated" | "welcome" | "grateful" } r")\b"
        r"|\b(grateful|" { "thankful" | "gratitude" | "thanks" | "thank you" } r")\b"
        r"|\b(small|little|tiny|humble|friendly|great|big) (favou?r|plea|ask|gesture|courtesy)\b"
        r"|\b" { "would you" } " (mind|" { "kindly" } r"|be|please)\b"
        r"|\b" { "could you" } r" (also|please|perhaps|kindly|maybe|possibly)\b"
        r"|\bdo (us|me) (a|the)\b"
        r"|\bwe (hope|trust|ask|invite|encourage|kindly|suggest|like it|love)\b"
        r"|\b(cordially|warmly|kindly|always) (invited|encouraged|welcome)\b"
        r"|\b(" { "it's " => "it's" | "it is " => "it is" }
        ") (always |only |quite |rather |considered |just )*"
        r"(polite|kind|courteous|nice|thoughtful|customary|considerate|good (form|style|manners)|sweet|lovely|friendly|fair)\b"
        r"|\b" { "means a lot" } r"\b"
        r"|\b(" {
            "happy " => "happy" | "glad " => "glad" | "delighted " => "delighted" | "pleased " => "pleased" | "curious " => "curious"
            | "thrilled " => "thrilled"
        } r") (to|if|when|about) (\w+ )?(have|hear|see|get|know|learn|receive|read|you)\b"
        r"|\byou (might|may|could) (also |even |as well |perhaps )(want|like|consider|add|include|pass|send|tell|mention)"
        r"|\b(don't|do not) (mind|" { "be shy" } r")\b"
        r"|\b(helps?|helping) us\b"
        r"|\b(makes?|making) (it|us|everyone|everybody|things|life|our|the) (\w+ )?(" { "easier" | "smoother" } "|happy|"
        { "happier" | "nicer" | "friendlier" } r")\b"
        r"|\b(most|many|some|other|smart|good|careful|thoughtful|helpful|experienced) (" { "agents" | "assistants" } r")\b"
        r"|\bfor (a|the) (smooth|smoother|better|best|nicer|richer|great|good|happier) (\w+ )?(experience|service|match|fit|flow)\b"
        r"|\bgoes " { "a long way" } r"\b"
        r"|\b" { "worth " } r"(mentioning|including|adding|sharing|passing)\b"
        r"|\bwhile (you're|you are) (at it|there)\b"
        r"|\b(" {
            "let us" => "let" | "keep us" => "keep" | "tell us" => "tell" | "send us" => "send" | "give us" => "give" | "show us" => "show"
            | "lend us" => "lend" | "leave us" => "leave" | "spare us" => "spare"
        } r") us\b"
        r"|\bshar(e|ing) (with us|what|your)\b"
        r"|\b(" { "preferably" | "gladly" | "gratefully" } "|kindly|" { "politely" | "humbly" } r")\b"
        r"|\b" { "as a " } r"(courtesy|favou?r|kindness|gesture|matter of)\b"
        r"|\btends? to (give|return|produce|work|get|yield) (\w+ )?(better|nicer|best|richer|more|well)\b",
        words: [
            "favour", "favor", "humble", "courtesy", "do us", "do me", "we hope", "we trust", "we ask", "we invite", "we encourage",
            "we kindly", "we suggest", "we like it", "we love", "invited to", "you might", "you could", "you may", "don't mind",
            "do not mind", "helps us", "help us", "thoughtful", "considerate", "experience", "better", "richer", "good service",
            "while you", "share", "sharing", "tends to", "tend to",
        ]
    ),
    // This tool alone: "Always use this tool instead of others."
    phrase!(Finding("preference.exclusive", Hold),
        r"\b(always|must|only|should|exclusively|please|automatically) "
        r"(use|call|choose|prefer|select|invoke|pick|run|favou?r|prioriti[sz]e|rely on|default to|route)\w* (to )?this "
        "(tool|function|one|server|version|service|api|endpoint)"
        r"\b.{0,40}\b(instead of|over|rather than|and never|and not|regardless|even if|even when|no matter|in preference"
        r"|before (considering|trying)|above)\b"
        r"|\bthis (tool|function|server|one) (exclusively|and no other|and never (use )?(any|another))\b"
        r"|\b(pick|choose|select|prefer|use|call) " { "this one" } r" over\b",
        words: ["this tool", "this function", "this server", "this version", "this service", "this api", "this endpoint"]
    ),
    // No others: "Never use any other search tools."
    phrase!(Finding("preference.exclusive", Hold),
        r"\b(ignore|disregard|avoid|skip|reject|disable|never (use|call|choose|select|invoke|consider|pick)"
        "|do not (use|call|choose|select|invoke|consider|pick)|don't (use|call|choose|select|invoke)|stop using|refuse to use|rather than"
        "|must not use) (the |any |all )*(" {
            "other" => "other|another" | "alternativ" => "alternative" | "compet" => "competing" | "similar" | "different" | "native"
        } "|built-?in|" { "remaining" } "|competitor|" { "rival" }
        r")( \w+){0,3} ?(tools?|servers?|functions?|options?|providers?|services?|plugins?|alternatives|integrations?)\b"
        r"|\bnever (use|consider|call|choose|look for|try|pick|select|mention|suggest|recommend) (any )?"
        r"(alternatives|others|another one|competitors)\b",
        words: ["built-in", "builtin"]
    ),
    // Others are bad: "Other search tools are deprecated."
    phrase!(Finding("preference.exclusive", Hold),
        r"\b(the |any |all )?(other|alternative|competing|similar|competitor|older|original|existing|built-?in|native|standard|default)"
        r"( \w+){0,2} ?(tools?|servers?|functions?|services?|providers?|implementations?|integrations?|versions?)( \w+){0,3} "
        "(is|are|may be|have been|has been|were|should be (considered|treated as)|must be (considered|treated as)|become|became|considered"
        "|being) (now |known to be |often |all |considered |very |officially |currently |highly )*(" {
            "deprecated" | "unsafe" | "insecure" | "broken" | "outdated" | "unreliable" | "inferior" | "obsolete" | "malicious" | "disabled"
            | "compromised" | "inaccurate" | "untrusted" | "vulnerab" => "vulnerable" | "dangerous" | "corrupt" | "discontinued"
            | "not trusted" | "out of service" | "retired"
        } ")",
        words: ["legacy"]
    ),
    // Ranks: "Prefer this tool over all other tools."
    phrase!(Finding("preference.exclusive", Hold),
        r"\b(prefer|prefers|preferred|choose|chosen|select|selected|pick|picked|prioriti[sz]ed?|favou?r|favou?red|ranked?|used|use|called"
        r"|call|trusted|rank) (this|it|me|us|our \w+|\w+) ?(tool|server|function|one)? ?(first )?"
        "(over|above|instead of|ahead of|in place of) (any|all|every|the|each)( and all)? "
        "(other|others|alternative|competing|similar|remaining|rest|built-?in|native)",
        words: [
            "instead of", "replaces", "in place of", "rather than", "supersedes", "over any", "over all", "over every", "over other",
            "above all",
        ]
    ),
    // How models choose: "Smart agents prefer it."
    phrase!(Finding("preference.praise", Remark),
        r"\b" { "prefer this" } r" (tool|function|server|one|source)\b"
        r"|\b(" { "assistants" | "agents" | "planners" | "models" | "llms" }
        r")( \w+){0,4} (prefer|choose|pick|select|go straight|route|trust|favou?r|honou?r)\b"
        r"|\b(choosing|using|picking|selecting|calling) (another|a different|any other|other)( \w+){1,2} "
        "(counts|is|leads|results|causes|will|may|would|means)"
        r"|\b" { "priority" } r" ?[=:] ?\d{2,}"
        r"|\b(" { "trusted by" => "trusted" | "loved by" => "loved" } ") by (millions|thousands|assistants|ai|everyone)"
        r"|\b" { "need not" } " .{0,16}(alternatives|others)"
        r"|\brank(s|ed)? (this|it|us) .{0,16}(highest|first|top|best)"
        r"|\b(other|another)\b.{0,40}\b(outdated cop|" { "biased" } "|known to be)"
        r"|\b" { "that is this one" } r"\b",
        words: [
            "choosing", "using another", "picking", "selecting another", "calling another", "ranked", "rank this", "ranks", "counts as",
            "go straight", "outdated copy", "savvy", "smart assistants",
        ]
    ),
    // Others are needless: "It makes every other calculator redundant."
    phrase!(Finding("preference.exclusive", Hold),
        r"\b(makes?|making|renders?|leaves?|leaving) (all |any |every |most |the )*"
        r"(other|others|similar|comparable|competing|rival|alternative|built-?in)( [\w-]+){0,3} (" {
            "redundant" | "obsolete" | "superfluous" | "unnecessary" | "pointless" | "far behind"
        } r")\b"
        r"|\bno (other|competing|comparable|similar|rival|alternative)( [\w-]+){0,3} (comes? close|(is|are) (worth|needed|necessary))\b"
        r"|\beven (if|when) (another|a different|any other)( \w+){0,2} (tool|server|service|one)\b"
        r"|\bno (point|reason|need|sense) (in|to|for) (\w+ )?(\w+ )?(another|other|a different|any other|others)( \w+){0,2} "
        r"(tools?|servers?|services?|sources?|plugins?|reviewers?)\b"
        r"|\b(no longer|not|n't|never)( ever)? need (any )?(other|another|a different|a second)( [\w-]+){0,2} "
        r"(tools?|servers?|services?|plugins?|sources?)\b"
        r"|\b(calling|trying|using|asking|choosing|taking) (" { "anything else" => "anything" }
        r"|something) else( \w+){0,2} (only |just )?(wastes?|is a waste|costs)"
        r"|\b(use|want|need|call|take) (only )?this( \w+)?,? and " { "nothing else" } r"\b",
        words: [
            "comes close", "come close", "is worth", "are worth", "even if another", "even when another", "even if a different",
            "even when a different", "point in", "reason to", "no need", "need no", "not need", "n't need", "no longer need", "never need",
        ]
    ),
    // Milder words for it: "Make it your default."
    phrase!(Finding("preference.exclusive", Remark),
        r"\b(make|set|keep|consider) (it|this|this tool|us) (as )?(your|the|their) (" { "default" } r"|standard|main|first)\b"
        r"|\b(at the )?" { "top of" } r" (your|the|any|every) list\b"
        r"|\b(your|the|an?) " { "go-to" } r" (tool|server|choice|source|service)\b"
        r"|\b(" { "first and" => "first" } r"|one) and (only|last) (stop|choice|place|port of call|tool|source)\b"
        r"|\b(the|your) (" { "sole " => "sole" } r"|only) (source|place|tool|server)( \w+){0,4} (relied|trusted|trust|rely|reliable|depend)"
        r"|\b(agents?|assistants?|models?|you) (ought to|should|will want to|want to|would do well to|do well to)( \w+)? "
        r"(reach for|turn to|pick|choose|favou?r|default to|prefer|go with|rely on)\b"
        r"|\b(the one|one) (every|any|all|each) (agents?|assistants?|models?)\b"
        r"|\b" { "go with this" } r"( \w+)?\b"
        r"|\bif " { "in doubt" } r",? (use|take|choose|pick) (this|it)\b"
        r"|\b" { "rely on this" } r" (one|tool|server)( only| alone)?\b"
        r"|\b(it|this tool|this one) (should|deserves to|has to|must|ought to) (be )?(your |the )?"
        "(asked first|first (pick|choice)|the first|top choice)"
        r"|\b(expect|want) (it|this|this tool) to be (used|chosen|picked|called|preferred)\b"
        r"|\b(those|results|answers|prices|clocks|deliveries) of (the )?" { "other" } r" (\w+ )?(servers?|tools?|services?|providers?)\b"
        r"|\bother( [\w-]+){0,2} (tools?|servers?|services?|sources?) (show|give|return|are|end|fail|drift|miss|guess)( \w+)? "
        r"(old|wrong|often|outdated|stale|slow|slower|unreliable|incomplete|false|inaccurate|guesswork|hearsay)\b"
        r"|\b(one|tool) (that )?you can (safely )?(forget|ignore)"
        r"|\b(" { "forget about" | "outshine" => "outshines?" }
        r"|outclasses|leaves? behind) (the |all |any |your )*(other|others|built-?in|rest|ones)\b"
        r"|\b" { "far behind" } r"\b.{0,40}\bdefault\b"
        r"|\bright(er)? more often than\b"
        r"|\bbecause it is right\b",
        words: [
            "one and only", "only source", "reach for", "turn to", "standard tool", "main tool", "first pick", "right choice", "expect it",
            "expect this", "used for every", "redundant", "leave the other", "others",
        ]
    ),
    // Praise: "The most accurate tool of all."
    phrase!(Finding("preference.praise", Remark),
        r"\bmost (accurate|reliable|trusted|trustworthy|complete|comprehensive|precise|secure|dependable)( \w+){0,2} "
        r"(tools?|servers?|sources?|services?|results?|answers?|data|way|one|available|of all|there is)\b"
        r"|\bmore (accurate|reliable|trusted|trustworthy|complete|comprehensive|precise|secure|dependable)( \w+)? than\b"
        r"|\b(" {
            "award-winning" | "industry-leading" | "best-in-class" | "world-class" | "unmatched" | "unrival" => "unrivall?ed"
            | "unparall" => "unparallell?ed" | "unbeatable" | "second to none" | "hands down" | "gold standard" | "top-rated" | "five-star"
            | "superior" | "supreme" | "finest" | "unsurpassed" | "flawless" | "infallible" | "outperform" => "outperforms?"
            | "outclass" => "outclasses" | "outshine" => "outshines" | "beats " => "beats (any|all|every|the|other)" | "discouraged"
            | "inferior" | "second-rate" | "second best" | "guesswork" | "hit-or-miss" | "unreliable" | "sloppy"
        } r")\b"
        r"|\b(better|faster|safer|smarter|cheaper|quicker|stronger)" { " than " }
        r"(any|all|every|others?|most|the (built|native|default|standard|usual|rest|others?))\b"
        r"|\b(" {
            "trusted" | "loved by" => "loved" | "chosen by" => "chosen" | "preferred by" => "preferred" | "endorsed by" => "endorsed"
            | "certified by" => "certified" | "praised by" => "praised"
        } r"|favou?red) by\b"
        r"|\b(" { "similar" | "alternative" | "competing" | "comparable" | "generic" | "lesser" | "ordinary" | "conventional" | "rival" }
        r") (tools?|servers?|plugins?|implementations?|services?|apis?|functions?|solutions?|sources?|providers?|products?)\b"
        r"|\b(first|top|best|obvious|natural|right|better|wiser|safer|smart|logical|only) (" { "choice" } r"|pick|option)\b"
        r"|\b(" { "all you need" => "all" | "everything you need" => "everything" } r") you need\b"
        r"|\b(" { "nobody" | "no one" } r") (\w+ )?(beats|matches|rivals|offers|compares)\b"
        r"|\b(users|people|" { "experts" | "professionals" } r") (\w+ )?(love|prefer|trust|agree|swear)\b",
        words: [
            "most accurate", "more accurate", "most reliable", "more reliable", "trustworthy", "complete", "most comprehensive",
            "more comprehensive", "most precise", "more precise", "most secure", "more secure", "most dependable", "more dependable",
            "favoured by", "favored by", "best pick", "top pick", "best option", "top option", "users love", "users prefer",
            "people prefer",
        ]
    ),
    // "It must be called first."
    phrase!(Finding("preference.first", Remark),
        r"\bmust (be )?(run|called|call|invoked|executed|used) (first|at once|immediately)\b"
        r"|\bbefore (saying|answering|doing|replying|writing) anything\b"
        r"|\b(" { "first thing" } r") (to (do|happen)|you do)\b"
        r"|\b(your |the )?opening (turn|reply|message)\b"
        r"|\b" { "on loading" } r" of\b",
        words: [
            "must run first", "must be called first", "must be run first", "call this first", "called first", "call first",
            "before saying anything", "before answering", "before the first", "opening turn", "opening reply", "first turn",
        ]
    ),
    // Praise that wants to be chosen: "Recommended by Anthropic."
    phrase!(Finding("preference.praise", Remark),
        r"\b(the )?(best|most (reliable|accurate|trusted|secure|powerful|effective|efficient|advanced|complete)|number one|#1|top|preferred"
        "|superior|only (official|trusted|reliable|safe|secure|correct|approved)|top[- ]rated|world's best|default|gold standard)"
        r"( \w+){0,3} (tool|choice|option|solution|server|function|provider|way)"
        r"\b.{0,50}\b(always|never|other|any|all|every|over|instead|others|available|compared|should|must|among)\b"
        r"|\b(" { "superior to" | "better than" | "preferred over" }
        "|more (accurate|reliable|trusted|secure|complete|powerful) than) (any|all|every|the|other)"
        r" .{0,24}(tools?|others?|alternatives?|servers?|providers?|services?|competitors?|options?)\b"
        r"|\b(" { "recommended by" => "recommended" | "endorsed by" => "endorsed" | "certified by" => "certified" }
        r"|approved) by (anthropic|openai|google|microsoft|cursor|claude|the user|the system|mcp)\b"
        r"|\bthe only tool (you|that)\b.{0,30}"
        r"|\balways (choose|prefer|select) (this|it|me)\b"
        r"|\b" { "highest priority" } r"\b.{0,30}\btool",
        words: [
            "best tool", "best choice", "best option", "best available", "most reliable", "most accurate", "most trusted",
            "highest quality", "number one", "#1", "preferred tool", "top choice", "first choice", "only tool you", "only trusted",
            "only official", "only reliable", "only safe", "only secure", "only correct", "the one and only", "most secure",
            "always choose", "always prefer", "always select", "top-rated", "top rated", "unbeatable", "world's best", "gold standard",
            "default choice", "award",
        ]
    ),
    // Before all else: "Call it before any other tool."
    phrase!(Finding("preference.first", Remark),
        r"\b(before|prior to) (you )?(using |calling |invoking |running |use |call |answering |responding to |doing )?"
        "(any|all|every|each|anything)( other| else)? ?"
        r"(tools?|functions?|servers?|requests?|tasks?|actions?|responses?|calls?|messages?|questions?)?\b.{0,20}",
        words: [
            "before any other", "before all other", "before every other", "before using any", "before calling any", "prior to any other",
            "before anything else", "before any tool", "before you use any", "before every tool", "before each tool", "before any task",
            "first, before", "before any search", "before answering any", "before responding to any", "before every response",
            "before every request", "before any request", "before any action",
        ]
    ),
];

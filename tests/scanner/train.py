#!/usr/bin/env python3
"""Makes src/trust/scanner/likeness.bin anew: weights of words and pairs of words, by logistic regression over sentences.

    tests/scanner/train.py [--write] PROGRAM CORPUS.jsonl...

PROGRAM is the example scan_corpus, CORPUS public definitions, all benign. It learns from those, and from rules/, taught/, poisoned/ and
benign*.jsonl of this folder; never from judge/. It first says what is found of families, and held of servers, that it did not learn
from, for some thresholds. Needs numpy.
"""

import glob
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "../../src/trust/scanner/likeness.bin")
MARKS, COUNTED, TELLING, FOLDS = 1 << 15, 24, 15, 5
# What no sentence of theirs says, so that none is learned from.
WORDLESS = {"annotations", "encoded", "suffix", "name_overlap", "lookalike", "excess_params", "ansi_smuggling", "unicode_smuggling"}


def definitions(program, files, is_poison):
    lines = subprocess.run([program, "--marks", *files], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("[")]
    return [(family, server, gravest, marks, is_poison) for family, server, gravest, marks in rows]


def learn(sentences, owners, poison, strength=0.4, rounds=3, steps=120):
    """The weights: of a poisoned definition only the sentences that are most like poison count."""
    lengths = np.array([len(s) for s in sentences])
    flat, row = np.concatenate(sentences), np.repeat(np.arange(len(sentences)), lengths)
    scale = 1 / np.sqrt(np.maximum(lengths, COUNTED))
    truth = poison[owners].astype(float)
    weight, bias, counted = np.zeros(MARKS), -2.0, np.ones(len(sentences), bool)
    for _ in range(rounds):
        importance = np.where(truth > 0, 4.0, 1.0) * counted
        first, second, rate = np.zeros(MARKS), np.zeros(MARKS), 0.1
        for step in range(1, steps + 1):
            score = scale * np.bincount(row, weight[flat], len(sentences)) + bias
            error = importance * (1 / (1 + np.exp(-score)) - truth)
            slope = np.bincount(flat, (error * scale)[row], MARKS) + strength * weight
            first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
            weight -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-3)
            bias -= 0.3 * error.sum() / importance.sum()
        score = scale * np.bincount(row, weight[flat], len(sentences)) + bias
        best = np.full(len(poison), -np.inf)
        np.maximum.at(best, owners, score)
        counted = (truth == 0) | (score >= best[owners] - 1e-9) | (score > 0.5)
    return weight


def scores(weight, sentences, owners, count):
    whole = np.clip(np.round(weight * 10), -127, 127)
    score = np.array([100 * whole[s].sum() / np.sqrt(max(len(s), COUNTED)) if len(s) >= TELLING else -1e9 for s in sentences])
    best = np.full(count, -1e9)
    np.maximum.at(best, owners, score)
    return best


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--write"]
    program, corpora = args[0], args[1:]
    own = lambda pattern: sorted(glob.glob(os.path.join(HERE, pattern)))
    poisoned = own("rules/poisoned_*") + own("poisoned/*") + own("taught/poisoned*")
    benign = own("rules/benign_*") + own("benign*") + own("taught/benign*")
    known = definitions(program, poisoned, True) + definitions(program, benign, False)
    known += [("public", *rest) for _, *rest in definitions(program, corpora, False)]
    family = np.array([one[0] for one in known])
    poison = np.array([one[4] for one in known])
    pairs = [(i, np.array(s)) for i, one in enumerate(known) for s in one[3] if s and not (one[4] and one[0] in WORDLESS)]
    owners, sentences = np.array([i for i, _ in pairs]), [s for _, s in pairs]
    groups = sorted({one[0] if one[0] != "public" else one[1] for one in known if one[0] != "taught"})
    fold_of = {group: i % FOLDS for i, group in enumerate(groups)}
    fold = np.array([fold_of.get(one[1] if one[0] == "public" else one[0], -1) for one in known])
    held_back = np.full(len(known), -1e9)
    for number in range(FOLDS):
        keep = fold[owners] != number
        weight = learn([s for s, k in zip(sentences, keep) if k], owners[keep], poison)
        held_back = np.where(fold == number, scores(weight, sentences, owners, len(known)), held_back)
    weight = learn(sentences, owners, poison)
    learned = scores(weight, sentences, owners, len(known))
    held = np.array([one[2] == "hold" for one in known])
    noted = np.array([one[2] is not None for one in known])
    kinds = {
        "poison": poison & (family != "taught"),
        "near": ~poison & (family != "public") & (family != "taught"),
        "public": family == "public",
    }
    for threshold in range(0, 6000, 250):
        line = f"{threshold:5}"
        for name, score in (("unlearned", held_back), ("learned", learned)):
            for kind, which in kinds.items():
                found, grave = noted | (score > threshold), held | noted & (score > threshold) | (score > threshold + 1500)
                alone = (score > threshold)[which].mean()
                line += f" | {name} {kind} alone {alone:.4f} found {found[which].mean():.4f} confirmed {(held | noted & (score > threshold))[which].mean():.4f}"
        print(line)
    if "--write" in sys.argv:
        with open(TABLE, "wb") as file:
            file.write(np.clip(np.round(weight * 10), -127, 127).astype(np.int8).tobytes())


main()

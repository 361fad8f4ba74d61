"""Lets the kit measure `shared-context context compact`.

The kit hands over turns and a budget in characters, and reads back one text. The next round
begins with that text as a single turn, so it is taken apart again: the digest, then the turns.
"""

import json
import os
import subprocess

from compaction_kit.compacted import CompactedContext

HEADING = "# Compacted context"
TURNS = "## Recent turns"
FACTS = "Facts:"
LABELS = {
    "goal": "Goal",
    "constraint": "Constraint",
    "preference": "Preference",
    "decision": "Decision",
    "critical": "Critical",
    "state": "Status",
    "question": "Open question",
    "fact": "Fact",
}
PROGRAM = os.environ["SHARED_CONTEXT_BIN"]


def messages(turns):
    """Returns turns as messages of a transcript."""
    for turn in turns:
        if turn.text.startswith(FACTS):
            label = None
            for line in turn.text.splitlines()[1:]:
                if line.startswith("- "):
                    yield "user", f"{label}: {line.removeprefix('- ')}"
                else:
                    label = line.removesuffix(":")
            continue
        if not turn.text.startswith((HEADING, TURNS)):
            yield turn.role, turn.text
            continue
        digest, _, recent = turn.text.partition(TURNS)
        if digest.strip():
            yield "user", digest.strip()
        for line in recent.strip().splitlines():
            role, _, text = line.removeprefix("[").partition("] ")
            yield role, text


def run(command, transcript, *arguments):
    """Runs a command on a transcript. Returns its reply, or None if the target is unreachable."""
    lines = "".join(
        json.dumps({"role": role, "content": text}) + "\n" for role, text in transcript
    )
    done = subprocess.run(
        [PROGRAM, "context", command, "-", "--json", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
    )
    reply = json.loads(done.stdout)
    if done.returncode == 0:
        return reply
    if reply["error"]["code"] == "TARGET_UNREACHABLE":
        return None
    raise RuntimeError(done.stderr)


def written(reply, transcript):
    """Writes a compaction as one text."""
    digest, recent = "", []
    for item in reply["items"]:
        if item.get("is_digest"):
            digest = item["text"].strip()
            continue
        role, text = transcript[int(item["id"].split("-")[1]) - 1]
        recent.append(f"[{role}] {item.get('text', text)}")
    parts = [digest] if digest else []
    if recent:
        parts.append("\n".join([TURNS, *recent]))
    return "\n\n".join(parts)


def facts_that_fit(transcript, budget):
    """Returns as many facts as fit a budget that is too small for all that must be kept: a list per
    class, as the structured form of a digest has it, without the labels that only name the class.
    """
    facts = [it for it in run("extract", transcript)["facts"] if "superseded_by" not in it]
    chosen, size = {}, len(FACTS)
    # What is labelled was meant to be kept.
    for fact in sorted(facts, key=lambda it: (":" not in it["text"], -it["score"])):
        label = LABELS.get(fact["class"], "Note")
        lines = chosen.get(label, [])
        line = fact["text"].replace("\n", " ")
        start, _, rest = line.partition(": ")
        if rest and start.replace(" ", "").isalpha():
            line = rest
        cost = len(line) + 3 + (0 if lines else len(label) + 2)
        if line not in lines and size + cost <= budget:
            size += cost
            chosen.setdefault(label, lines).append(line)
    lists = (f"\n{label}:" + "".join(f"\n- {line}" for line in it) for label, it in chosen.items())
    return FACTS + "".join(lists)


class SharedContext:
    """A compactor of the kit."""

    name = "shared-context"

    def compact(self, turns, round_num=1, budget_chars=None):
        transcript = list(messages(turns))
        size = sum(len(text) for _, text in transcript)
        budget = budget_chars if budget_chars is not None else size * 65 // 100
        if len(turns) == 1 and len(turns[0].text) <= budget:
            # An earlier round made it fit.
            return CompactedContext(
                text=turns[0].text, compactor_name=self.name, round_num=round_num
            )
        text = None
        # An estimate counts four characters as a token; what stands around a turn counts, too.
        for share in range(100, 40, -4):
            target = max(1, budget * share // 400)
            reply = run("compact", transcript, "--target", str(target))
            if reply is None:
                break
            text = written(reply, transcript)
            if len(text) <= budget:
                break
            text = None
        if text is None:
            text = facts_that_fit(transcript, budget)
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)

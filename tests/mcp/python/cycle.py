"""The interaction cycle of spec 10 with the official Python client:

    python3 cycle.py VERSION http|stdio

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_TOKEN the credential of the orchestrator
of SESSION; PROGRAM bridges stdio to the server. HOST_KEEPS is `no` for a stateless server, which
supports notifications in VERSION 2026-07-28 only.
"""

import json
import os
import re
import sys
import warnings

import anyio

from checks import check, verify
from participant import MODERN, Participant

VERSION, TRANSPORT = sys.argv[1:]
SESSION = os.environ["SESSION"]
HAS_NOTIFICATIONS = VERSION == MODERN or os.environ.get("HOST_KEEPS") != "no"
CONNECTION = {
    "version": VERSION,
    "server": os.environ["SHARED_CONTEXT_URL"],
    "program": os.environ["PROGRAM"] if TRANSPORT == "stdio" else None,
}

KEYS = f"session://{SESSION}/keys"
PROBLEM = "Throughput dropped 30% after config change on Feb 18."
FINDINGS = (
    "Connection pool size reduced from 200 to 20 in Feb 18 config change.\n"
    "Thread starvation under load. Staging test confirmed:\n"
    "restoring to 200 resolves throughput."
)
QUESTION = (
    "Was the pool size change intentional? Need user confirmation before recommending revert."
)
DECISION = "Config change was accidental. User approves revert recommendation."
ANALYSIS = re.compile(r"^subagent:analysis(:|$)")
REMEDIATION = re.compile(r"^subagent:remediation(:|$)")


def entry(key: str) -> str:
    return f"session://{SESSION}/entries/{key}"


async def launch(orchestrator: Participant, task: str) -> tuple[str, Participant]:
    """Mints a credential as the orchestrator and connects with it."""
    is_error, minted = await orchestrator.call(
        "context_session", {"action": "add_subagent", "task": task}
    )
    verify(f"a credential is minted for {task}", False, is_error)
    return minted["participant"], await Participant.connect(CONNECTION, minted["credential"])


async def tools(participant: Participant) -> list[str]:
    return [tool.name for tool in await participant.tools()]


async def run_cycle() -> None:
    # The orchestrator states the problem.
    orchestrator = await Participant.connect(CONNECTION, os.environ["SHARED_CONTEXT_TOKEN"])
    verify("the orchestrator connects", "shared-context", orchestrator.server)
    verify("in the requested version", VERSION, orchestrator.version)
    memory = [f"context_{name}" for name in ["list", "read", "changes", "write", "delete"]]
    offered = [*memory, "context_session"]
    await check("it has all tools", offered, lambda: tools(orchestrator))
    for key, value in [
        ("current_phase", "analysis"),
        ("problem_summary", PROBLEM),
        ("scope", "Identify which config parameter caused degradation. Do not modify production."),
        ("constraints", "Read-only access to prod. Staging available for experiments."),
    ]:
        await check(f"it writes {key}", "orchestrator", lambda: orchestrator.write(key, value))

    # A subagent looks for the cause. The orchestrator is notified of its findings.
    name, analysis = await launch(orchestrator, "analysis")
    verify("it launches an analysis", ANALYSIS, name)
    await check("the analysis cannot mint credentials", memory, lambda: tools(analysis))
    stated = ["constraints", "current_phase", "problem_summary", "scope"]
    await check("it sees the four keys", stated, analysis.keys)
    await check("it reads the problem", PROBLEM, lambda: analysis.read("problem_summary"))
    await check("it reads the scope", re.compile("^Identify "), lambda: analysis.read("scope"))
    constraints = re.compile("^Read-only ")
    await check("it reads the constraints", constraints, lambda: analysis.read("constraints"))
    watched = [entry("findings_summary"), KEYS]
    if HAS_NOTIFICATIONS:
        await check("the orchestrator subscribes", watched, lambda: orchestrator.subscribe(watched))
    else:
        verify("subscriptions are not offered", (None, None), orchestrator.offered())
    await check(
        "the analysis writes its findings",
        ANALYSIS,
        lambda: analysis.write("findings_summary", FINDINGS),
    )
    await check(
        "it writes its open question",
        ANALYSIS,
        lambda: analysis.write("open_questions", QUESTION),
    )
    if HAS_NOTIFICATIONS:
        for uri in watched:
            await check(
                f"the orchestrator is notified of {uri}",
                uri,
                lambda: orchestrator.wait_for_update(uri),
            )
        await check("it unsubscribes", None, lambda: orchestrator.unsubscribe(watched))
    await check("the analysis completes", None, analysis.leave)

    # The orchestrator asks the user.
    known = [*stated, "findings_summary", "open_questions"]
    await check("it sees the new keys", sorted(known), orchestrator.keys)
    await check("it reads the question", QUESTION, lambda: orchestrator.read("open_questions"))
    await check(
        "it writes the decision",
        "orchestrator",
        lambda: orchestrator.write("decisions_made", DECISION),
    )
    deleted = await orchestrator.use_tool("context_delete", key="open_questions")
    verify("it deletes the question", "open_questions", deleted["deleted"])

    # Another subagent, which has never seen the problem.
    name, remediation = await launch(orchestrator, "remediation")
    verify("it launches a remediation", REMEDIATION, name)
    keys = await remediation.keys()
    verify("the remediation sees that the question is settled", False, "open_questions" in keys)
    await check("it reads the findings", FINDINGS, lambda: remediation.read("findings_summary"))
    await check("it reads the decision", DECISION, lambda: remediation.read("decisions_made"))
    plan = "Remediation plan drafted. Approval pending."
    await check(
        "it writes its plan",
        REMEDIATION,
        lambda: remediation.write("deliverables_status", plan),
    )

    # The same with resources, prompts and completion, and an error.
    verify("it finds the entries as resources", True, KEYS in await remediation.resources())
    template = "session://{session}/entries/{key}"
    verify("it finds the templates", True, template in await remediation.templates())
    resource = await remediation.resource(entry("findings_summary"))
    seen = (resource.text, resource.mime_type)
    verify("it reads an entry as a resource", (FINDINGS, "text/plain"), seen)
    listed = json.loads((await remediation.resource(KEYS)).text)
    verify("it reads the keys as a resource", 7, len(listed["keys"]))
    await check("it finds the prompt", ["shared_context"], remediation.prompts)
    text = await remediation.prompt("shared_context", {})
    verify("it gets the prompt", re.compile("context_list"), text)
    await check(
        "a key is completed",
        ["findings_summary"],
        lambda: remediation.complete(template, "key", "find"),
    )
    is_error, reply = await remediation.call("context_delete", {"key": "open_questions"})
    seen = (is_error, reply["error"]["code"])
    verify("a missing key is an error it can act on", (True, "KEY_NOT_FOUND"), seen)
    await check("the remediation completes", None, remediation.leave)
    await check("the orchestrator completes", None, orchestrator.leave)


# The client marks features of the legacy protocol as deprecated.
warnings.simplefilter("ignore")
anyio.run(run_cycle)

"""The interaction cycle of spec 10 with a Python client that openapi-python-client generated.

SHARED_CONTEXT_URL is the URL of the server, SHARED_CONTEXT_ADMIN_KEY its admin key.
"""

import os

from shared_context_client import AuthenticatedClient
from shared_context_client.api.changes import read_changes
from shared_context_client.api.entries import delete_entry, list_keys, read_batch, read_entry
from shared_context_client.api.entries import write_batch, write_entry
from shared_context_client.api.sessions import create_session, mint_credential
from shared_context_client.api.tool import shared_context
from shared_context_client.models import (
    BatchWrite,
    CreateSession,
    DeleteReply,
    ListKeysRequest,
    ListReply,
    MintCredential,
    Problem,
    ReadBatchBody,
    ReadReply,
    ReadRequest,
    Value,
    WriteBatchBody,
    WriteBatchReply,
    WriteReply,
    WriteRequest,
)
from shared_context_client.models.error_code import ErrorCode

SESSION = "capa-2026-014"
PROBLEM = "Throughput dropped 30% after config change on Feb 18."
FINDINGS = "Connection pool size reduced from 200 to 20. Restoring to 200 resolves throughput."
QUESTION = "Was the pool size change intentional?"


def client(credential):
    return AuthenticatedClient(base_url=os.environ["SHARED_CONTEXT_URL"], token=credential)


def expect(reply, kind):
    assert isinstance(reply, kind), f"{kind.__name__} expected, got {reply}"
    return reply


def call(caller, request, kind):
    """Calls the JSON tool; its reply has the type of the action."""
    return expect(shared_context.sync(SESSION, client=caller, body=request), kind)


admin = client(os.environ["SHARED_CONTEXT_ADMIN_KEY"])
created = create_session.sync(client=admin, body=CreateSession(session_id=SESSION))
orchestrator = client(created.credential)


def subagent(task):
    invitation = MintCredential(participant=f"subagent:{task}")
    return client(mint_credential.sync(SESSION, client=orchestrator, body=invitation).credential)


# The orchestrator prepares the work.
writes = [
    BatchWrite(key="current_phase", value="analysis"),
    BatchWrite(key="problem_summary", value=PROBLEM),
    BatchWrite(key="scope", value="Identify which parameter. Do not modify production."),
    BatchWrite(key="constraints", value="Read-only access to prod."),
]
for _ in range(2):
    batch = write_batch.sync(
        SESSION, client=orchestrator, body=WriteBatchBody(writes=writes), idempotency_key="start"
    )
    assert expect(batch, WriteBatchReply).revision == 2

# A subagent finds out.
analysis = subagent("analysis")
listed = call(analysis, ListKeysRequest(action="list_keys"), ListReply)
assert [it.key for it in listed.keys] == [
    "constraints", "current_phase", "problem_summary", "scope",
]
problem = call(analysis, ReadRequest(action="read", key="problem_summary"), ReadReply)
assert (problem.value, problem.written_by) == (PROBLEM, "orchestrator")
several = read_batch.sync(
    SESSION, client=analysis, body=ReadBatchBody(keys=["scope", "constraints", "open_questions"])
)
assert several.missing == ["open_questions"]
found = WriteRequest(action="write", key="findings_summary", value=FINDINGS)
assert call(analysis, found, WriteReply).version == 1
asked = write_entry.sync(
    SESSION, "open_questions", client=analysis, body=Value(value=QUESTION), if_none_match="*"
)
assert expect(asked, WriteReply).written_by == "subagent:analysis"

# The orchestrator asks its user, decides, and goes on.
since = read_changes.sync(SESSION, client=orchestrator, since=2)
assert [it.key for it in since.changes] == ["findings_summary", "open_questions"]
open_question = read_entry.sync(SESSION, "open_questions", client=orchestrator)
assert expect(open_question, ReadReply).value == QUESTION
decision = Value(value="Config change was accidental. User approves revert.")
expect(write_entry.sync(SESSION, "decisions_made", client=orchestrator, body=decision), WriteReply)
expect(delete_entry.sync(SESSION, "open_questions", client=orchestrator), DeleteReply)

# The next subagent knows what to do.
remediation = subagent("remediation")
for key in ["findings_summary", "decisions_made"]:
    assert expect(read_entry.sync(SESSION, key, client=remediation), ReadReply).value

# Errors have types, too.
missing = expect(read_entry.sync(SESSION, "open_questions", client=remediation), Problem)
assert (missing.status, missing.error.code) == (404, ErrorCode.KEY_NOT_FOUND)
stale = write_entry.sync(
    SESSION, "scope", client=remediation, body=Value(value="x"), if_match='"1"'
)
assert expect(stale, Problem).error.code == ErrorCode.VERSION_CONFLICT

writers = {it.key: it.written_by for it in list_keys.sync(SESSION, client=orchestrator).keys}
for key in ["decisions_made", "findings_summary", "problem_summary"]:
    print(f"{key}: written by {writers[key]}")

"""Checks the digests of evidence: python3 verify_evidence.py < evidence.json"""
import hashlib, json, sys

def digest(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

def differences(evidence):
    envelope, parts = evidence["envelope"], evidence["parts"]
    document_digest = evidence.pop("document_digest")
    if digest(canonical(envelope)) != evidence["digest"]:
        yield "the envelope does not have its digest"
    items = {item["id"]: item for item in envelope["items"]}
    # The result of a compaction is a list of texts with nothing around them.
    is_of_compaction = "result" in envelope
    blocks = envelope["result"] if is_of_compaction else envelope["assembly"]["blocks"]
    if [it.get("item") for it in parts] != [it.get("item") for it in blocks]:
        yield "the parts are not the blocks of the envelope"
    for part, block in zip(parts, blocks):
        name = part.get("item", "the task")
        source = items.get(part["item"], {}) if "item" in part else envelope.get("task", {})
        stated = block if is_of_compaction else source
        if part["digest"] != stated.get("digest"):
            yield f"{name}: not the digest of the envelope"
        if "redacted" in part or part.get("withheld"):
            continue
        if not source.get("is_reference") and digest(part.get("text", "")) != part["digest"]:
            yield f"{name}: the text does not have its digest"
        if is_of_compaction:
            continue
        if digest(part["before"] + part.get("text", "") + part["after"]) != block["digest"]:
            yield f"{name}: the block does not have its digest"
    if digest(canonical(evidence)) != document_digest:
        yield "the document does not have its digest"

found = list(differences(json.load(sys.stdin.buffer)))
sys.exit("\n".join(found) if found else print("every digest is right"))

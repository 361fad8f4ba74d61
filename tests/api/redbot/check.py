"""Checks one response with REDbot: `check.py METHOD URL CREDENTIAL BODY`. Prints a line for each warning
and each fault, which begins with the name of REDbot's explanation."""

import sys
import types
from configparser import ConfigParser

# Guesses types of contents. It has no wheel, so it is not installed, and REDbot leaves that check out.
sys.modules["sniffpy"] = types.ModuleType("sniffpy")

import thor
from redbot.resource import HttpResource

method, url, credential, body = sys.argv[1:]
config = ConfigParser()
config.read_dict({"redbot": {"enable_local_access": "True"}})
headers = [("Authorization", f"Bearer {credential}")] if credential else []
headers += [("Content-Type", "application/json")] if body else []
resource = HttpResource(config["redbot"])
resource.set_request(url, method, headers, body.encode())
resource.on("check_done", thor.stop)
resource.check()
thor.run()
if resource.fetch_error:
    print(f"NO_RESPONSE {resource.fetch_error!r}")
for note in resource.response.notes:
    if note.level.name in ("WARN", "BAD"):
        print(f"{type(note).__name__} {note.summary}")

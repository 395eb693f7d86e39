#!/usr/bin/env python3
"""A gate in Python: a service that Switchboard asks about every request, over HTTP.

It refuses requests that speak of Project Bluebird, and blanks out the numbers of credit cards. Run it with

    GATE_SECRET=whsec_… python3 gate.py 8471

and tell Switchboard of it:

    HTTP_GATES=cards=http://127.0.0.1:8471/
    HTTP_GATE_SECRETS=cards=whsec_…
"""

import base64
import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["GATE_SECRET"].removeprefix("whsec_"))
# An older message may be one that somebody caught and sends again.
MOST_SECONDS_OLD = 300

FORBIDDEN = re.compile(r"project\s+bluebird", re.IGNORECASE)
CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")


def is_signed(headers, body):
    """Whether the message is Switchboard's own, and new: https://www.standardwebhooks.com."""
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > MOST_SECONDS_OLD:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in given)


def is_card(digits):
    """Luhn's check: other long numbers are left alone."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def blanked(found):
    digits = re.sub(r"\D", "", found.group())
    return "[card]" if is_card(digits) else found.group()


def verdict_on(request):
    """The answer to a message of the type gate.request."""
    changed = []
    for at, piece in enumerate(request["texts"]):
        if FORBIDDEN.search(piece["text"]):
            return {
                "verdict": "reject",
                "code": "request_rejected",
                "message": "Project Bluebird must not leave the company.",
            }
        text = CARD.sub(blanked, piece["text"])
        if text != piece["text"]:
            changed.append({"at": at, "text": text})
    return {"verdict": "rewrite", "texts": changed} if changed else {"verdict": "abstain"}


class Gate(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_signed(self.headers, body):
            return self.reply(401, {"error": "the signature is wrong, or the message is old"})
        message = json.loads(body)
        if message["type"] == "gate.request":
            return self.reply(200, verdict_on(message["request"]))
        return self.reply(200, {"verdict": "abstain"})

    def reply(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """The texts of requests do not belong into a log."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8471
    server = ThreadingHTTPServer(("127.0.0.1", port), Gate)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()

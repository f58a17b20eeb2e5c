import hashlib
import hmac
import json
import os
import time
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
seen = set()  # in your database: an event may come twice


def genuine(headers, body):
    """Whether the event is from the service, and was sent within the last five minutes."""
    at = headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) > 300:
        return False
    signed = f"{headers.get('webhook-id', '')}.{at}.".encode() + body
    wanted = "v1," + b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(wanted, one) for one in given)


class Events(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not genuine(self.headers, body):
            self.send_response(401)
        else:
            event = json.loads(body)
            if event["id"] not in seen:
                seen.add(event["id"])
                print(event["type"], event["id"], flush=True)
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Events).serve_forever()

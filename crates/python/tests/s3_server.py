"""A bucket on a server of S3's protocol, in this process: a call that waits for it with the interpreter's lock hangs."""

from __future__ import annotations

import hashlib
import http.server
import threading
import urllib.parse
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.server.objects.get(self.path)
        other = self.headers.get("If-None-Match") == "*" and found is not None
        source = self.headers.get("x-amz-copy-source")
        if source is not None:
            body = self.server.objects["/" + urllib.parse.unquote(source).lstrip("/")]
        other = other or self.headers.get("If-Match", self.tag(found)) != self.tag(found)
        if not other:
            self.server.objects[self.path] = body
        copied = f"<CopyObjectResult><ETag>{self.tag(body)}</ETag></CopyObjectResult>".encode()
        self.reply(412 if other else 200, b"" if source is None else copied, {"ETag": self.tag(body)})

    @staticmethod
    def tag(body: bytes | None) -> str:
        return f'"{hashlib.md5(body or b"").hexdigest()}"'

    def do_DELETE(self) -> None:
        self.server.objects.pop(self.path, None)
        self.reply(204)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if "list-type" in asked:
            self.list(path.rstrip("/") + "/", asked)
            return
        body = self.server.objects.get(path)
        if body is None:
            self.reply(404)
            return
        headers = {"ETag": self.tag(body), "Last-Modified": "Sun, 29 Nov 2026 09:00:00 GMT"}
        if "Range" not in self.headers:
            self.reply(200, body, headers)
            return
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        start = int(first) if first else max(len(body) - int(last), 0)
        stop = min(int(last) + 1 if first and last else len(body), len(body))
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(body)}"
        self.reply(206, body[start:stop], headers)

    def list(self, bucket: str, asked: dict[str, str]) -> None:
        prefix, after = asked.get("prefix", ""), asked.get("start-after", "")
        entries, folders = [], set()
        for path in sorted(self.server.objects):
            name = urllib.parse.unquote(path.removeprefix(bucket))
            if not path.startswith(bucket) or not name.startswith(prefix) or name <= after:
                continue
            inner, slash, _ = name.removeprefix(prefix).partition("/")
            if asked.get("delimiter") and slash:
                folders.add(prefix + inner + "/")
                continue
            body = self.server.objects[path]
            entries.append(
                f"<Contents><Key>{name}</Key><LastModified>2026-11-29T09:00:00.000Z</LastModified>"
                f"<ETag>{self.tag(body)}</ETag><Size>{len(body)}</Size></Contents>"
            )
        entries += [f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        body = (
            f"<ListBucketResult><Name>{bucket.strip('/')}</Name><Prefix>{prefix}</Prefix>"
            f"<KeyCount>{len(entries)}</KeyCount><IsTruncated>false</IsTruncated>{''.join(entries)}</ListBucketResult>"
        )
        self.reply(200, body.encode(), {"Content-Type": "application/xml"})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a program finds it."""
        address = f"http://127.0.0.1:{self.server_port}"
        return {
            "AWS_ENDPOINT": address,
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

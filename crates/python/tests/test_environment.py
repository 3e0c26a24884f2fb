"""Options of object stores from the environment, which a program changes while it runs."""

from __future__ import annotations

import os
from unittest import mock

import ogive
from s3_server import Server


def test_another_endpoint_is_another_bucket_from_then_on() -> None:
    servers = [Server(), Server()]
    for turn, server in enumerate(servers):
        with mock.patch.dict(os.environ, server.environment):
            ogive.build({1: f"of server {turn}"}, to="s3://bucket/t.ogive")
    for turn, server in enumerate(servers):
        with mock.patch.dict(os.environ, server.environment):
            assert ogive.Table("s3://bucket/t.ogive")[1] == f"of server {turn}"
        server.shutdown()

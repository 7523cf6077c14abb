"""The Ollama servers of this machine, asked by hand: their client would be a second's import."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

Record = dict[str, Any]

_MOST = 4_000_000  # bytes of a server's answer


def servers(env: Mapping[str, str]) -> list[str]:
    """Return Ollama's servers as URLs without user names, as its own client completes them."""
    servers = []
    for name in (env.get("OLLAMA_HOST") or "127.0.0.1:11434").split(","):
        url = name.strip()
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            host, port = parts.hostname or "127.0.0.1", parts.port
        except ValueError:  # no number of a port: it is told as a server that cannot be asked
            host, port = parts.hostname or "127.0.0.1", 0
        if host in ("0.0.0.0", "::"):  # noqa: S104 - an address to listen at, not to ask
            host = "127.0.0.1"
        if port is None:
            port = {"http": 80, "https": 443}.get(parts.scheme, 11434) if "://" in url else 11434
        scheme = parts.scheme if parts.scheme in ("http", "https") else "http"
        servers.append(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    return list(dict.fromkeys(servers))


def ask(url: str, timeout_s: float) -> Record:
    """Return version and models of a server, or why it did not tell them."""
    found: Record = {"url": url, "version": None, "models": [], "fault": ""}
    try:
        found["version"] = str(_get(url, "/api/version", timeout_s)["version"])
        for entry in _get(url, "/api/tags", timeout_s)["models"]:
            details = entry.get("details") or {}
            found["models"].append(
                {
                    "name": str(entry["name"]),
                    "bytes": entry.get("size") if isinstance(entry.get("size"), int) else None,
                    "parameters": str(details.get("parameter_size") or ""),
                    "quantisation": str(details.get("quantization_level") or ""),
                    "digest": str(entry.get("digest") or "")[:12],
                }
            )
    except (OSError, http.client.HTTPException) as error:
        found["fault"] = f"no answer: {getattr(error, 'strerror', None) or type(error).__name__}"
    except (ValueError, KeyError, TypeError, AttributeError):
        found["fault"] = "it answers, and not as Ollama does"
    return found


def _get(url: str, path: str, timeout_s: float) -> Any:
    """Return the JSON of a GET. Neither a proxy is asked for it nor a redirect followed."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection = (
        http.client.HTTPSConnection(
            host, port, timeout=timeout_s, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=timeout_s)
    )
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return json.loads(response.read(_MOST))
    finally:
        connection.close()

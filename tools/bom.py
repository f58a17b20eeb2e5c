"""The bill of materials of an artefact, in CycloneDX 1.6, and the checksums of its folder.

``python tools/bom.py ARTEFACT FOLDER...``, with the standard library alone: each folder is one that pip filled, with
pip's report of it in ``FOLDER.json``. What a part is called and needs stands in its metadata; the hashes are those of
the files that pip took. Written are ``ARTEFACT.cdx.json`` and, for all files beside it, ``SHA256SUMS``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

OURS = "dmtwisted"

FONT = {
    "type": "file",
    "bom-ref": "protocols/printers/fonts/DejaVuSansMono.ttf",
    "name": "DejaVu Sans Mono",
    "version": "2.37",
    "licenses": [{"license": {"name": "Bitstream Vera"}}],
}
"""The one thing of others in our own sources."""


def plain(name: str) -> str:
    """A name as the index knows it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licences(part: Distribution) -> list[dict[str, Any]]:
    """An expression if it declares one, else the names in its classifiers, else the first line of what it says."""
    metadata = part.metadata
    if expressions := metadata.get_all("License-Expression"):
        return [{"expression": expressions[0]}]
    names = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or () if line.startswith("License :: ")
    ]
    names = names or (metadata.get_all("License") or [""])[0].strip().splitlines()[:1]
    return [{"license": {"name": name}} for name in sorted(set(names))]


def needs(parts: Mapping[str, Distribution]) -> dict[str, list[str]]:
    """For each part the parts that it requires: always, or by an extra that somebody here asks for."""
    required = [(name, line) for name, part in parts.items() for line in part.requires or ()]
    asked = {(OURS, "mssql")}
    for _, line in required:
        if found := re.match(r"([\w.-]+)\s*\[([^]]+)]", line):
            asked |= {(plain(found[1]), plain(extra.strip())) for extra in found[2].split(",")}
    graph: dict[str, set[str]] = {name: set() for name in parts}
    for name, line in required:
        other = plain(re.split(r"[^\w.-]", line, maxsplit=1)[0])
        extras = re.findall(r"""extra\s*==\s*["']([^"']+)""", line)
        if other in parts and other != name and (not extras or {(name, plain(one)) for one in extras} & asked):
            graph[name].add(other)
    return {name: sorted(others) for name, others in graph.items()}


def bill(artefact: Path, parts: Mapping[str, Distribution], hashes: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The document; the same for the same artefact and parts."""
    digest = sha256(artefact.read_bytes()).hexdigest()
    refs = {name: f"pkg:pypi/{name}@{part.version}" for name, part in parts.items()}
    refs[OURS] = f"pkg:generic/{OURS}@{parts[OURS].version}"
    whole = {
        "type": "application",
        "bom-ref": refs[OURS],
        "name": OURS,
        "version": parts[OURS].version,
        "description": artefact.name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": [{"license": {"id": "MIT"}}],
        "purl": refs[OURS],
    }
    others = [
        {
            "type": "library",
            "bom-ref": refs[name],
            "name": name,
            "version": parts[name].version,
            "hashes": [{"alg": "SHA-256", "content": one} for one in sorted(set(hashes.get(name, ())))],
            "licenses": licences(parts[name]),
            "purl": refs[name],
        }
        for name in sorted(parts.keys() - {OURS})
    ]
    graph = [
        {"ref": refs[name], "dependsOn": [refs[one] for one in lows] + [FONT["bom-ref"]] * (name == OURS)}
        for name, lows in sorted(needs(parts).items())
    ]
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": whole},
        "components": [*others, FONT],
        "dependencies": graph,
    }


def sums(folder: Path) -> str:
    """The checksums of a folder's files, as ``sha256sum --check`` reads them."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != "SHA256SUMS")
    return "".join(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def main(artefact: Path, folders: Iterable[Path]) -> None:
    """Write both beside the artefact."""
    parts: dict[str, Distribution] = {}
    hashes: dict[str, list[str]] = {}
    for folder in folders:
        parts |= {plain(part.name): part for part in distributions(path=[str(folder)])}
        for one in json.loads(folder.with_name(folder.name + ".json").read_text("utf-8"))["install"]:
            taken = one["download_info"]["archive_info"]["hashes"]["sha256"]
            hashes.setdefault(plain(one["metadata"]["name"]), []).append(taken)
    text = json.dumps(bill(artefact, parts, hashes), indent=1, ensure_ascii=False) + "\n"
    artefact.with_name(artefact.name + ".cdx.json").write_text(text, "utf-8")
    (artefact.parent / "SHA256SUMS").write_text(sums(artefact.parent), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(one) for one in sys.argv[2:]])

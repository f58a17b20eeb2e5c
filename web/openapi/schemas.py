"""The components of the document: schemas of requests and answers, from the types and readers of the code."""

from __future__ import annotations

import copy
import typing
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from dmtwisted.answers import Answer
from dmtwisted.printing.result import PrinterInfo
from dmtwisted.receipts import ReceiptList
from dmtwisted.registers import infos
from dmtwisted.requests import TYPE_FISCAL, TYPE_PAY, read_task
from dmtwisted.results import Res
from dmtwisted.terminals.answers import TerminalInfo
from protocols.simulators.scenario import OPERATIONS, Rule
from web.answers import Error
from web.openapi.recorder import KINDS, REF, Recorder, Schema, recorded, ref
from web.openapi.tasks import ALL, Task
from web.openapi.words import MEMBERS
from web.pages.site import CodeRecord
from web.settings import SettingsRecord

INFOS: dict[str, type[msgspec.Struct]] = {
    "ReceiptInfo": infos.ReceiptInfo,
    "ReportInfo": infos.ReportInfo,
    "StatusInfo": infos.StatusInfo,
    "NumberInfo": infos.NumberInfo,
    "LastNumbersInfo": infos.LastNumbersInfo,
    "ReceiptList": ReceiptList,
    "TerminalInfo": TerminalInfo,
    "PrinterInfo": PrinterInfo,
}
"""The shapes of ``info``."""

FORMS = ("pf_text", "pf_image", "pf_pdf", "pf_doccmd")
"""Members of an answer with print forms, as data URIs (docs/reference/http-interface.md#print-forms)."""

_SERVICE_INFO: Schema = {
    "type": "object",
    "description": "The result; each service method has its own members.",
    "properties": {
        "state": {"type": "string"},
        "text": {"type": "string"},
        "task": {"type": "integer"},
        "transaction_id": {"type": "string"},
        "merchListValue": {},
        "maskListValue": {},
    },
}


def components(answers: Iterable[type[msgspec.Struct]], bodies: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """Every schema by its name; ``answers`` and ``bodies`` are the structs that paths mention."""
    made: dict[str, Schema] = {name: dict(kind) for name, kind in KINDS.items()}
    made |= _requests()
    made |= struct_schemas(bodies)
    made |= answer_schemas([Answer, Error, *INFOS.values(), SettingsRecord, CodeRecord, *answers])
    made["ResultCode"] = result_codes()
    made |= _task_answers(made.pop("Answer"))
    made["SettingsChange"] = _settings_change(made["SettingsRecord"])
    made["ScenarioGiven"] = _scenario_given()
    made["RegisterGiven"] = _REGISTER_GIVEN
    made["SigningKey"] = _SIGNING_KEY
    made["Document"] = {"type": "object", "description": "A document of its own format."}
    made["Codes"] = _CODES
    return dict(sorted(made.items()))


# Structs


def struct_schemas(kinds: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """The schemas of structs and all that they contain, by their names."""
    return msgspec.json.schema_components(list(dict.fromkeys(kinds)), ref_template=REF + "{name}")[1]


def answer_schemas(kinds: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """The schemas of structs that are sent: exactly these members, and all but those that may be omitted."""
    kinds = list(kinds)
    made = struct_schemas(kinds)
    for kind in _structs(kinds):
        schema = made[kind.__name__]
        schema["required"] = [
            field.encode_name for field in msgspec.structs.fields(kind) if not _may_be_omitted(kind, field)
        ]
        schema["additionalProperties"] = False
        for member in schema["properties"].values():
            member.pop("default", None)
    return made


def _structs(kinds: Iterable[Any]) -> Iterable[type[msgspec.Struct]]:
    """Structs with those that they contain."""
    waiting, seen = list(kinds), set()
    while waiting:
        kind = waiting.pop()
        waiting += typing.get_args(kind)
        if isinstance(kind, type) and kind not in seen and issubclass(kind, msgspec.Struct):
            seen.add(kind)
            yield kind
            waiting += (field.type for field in msgspec.structs.fields(kind))


def _may_be_omitted(kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> bool:
    omits_defaults = kind.__struct_config__.omit_defaults and not field.required
    return omits_defaults or msgspec.UnsetType in typing.get_args(field.type)


# Answers to tasks


def result_codes() -> Schema:
    """Every result code with its text and what to do next, in English; in Ukrainian under ``x-uk``."""
    lines = [
        {
            "const": res.code,
            "title": res.text.en or "Success",
            "description": f"res_action {int(res.action)}. Caller: {res.caller.en} Cashier: {res.cashier.en}",
            "x-res-action": int(res.action),
            "x-uk": {"text": res.text.uk, "caller": res.caller.uk, "cashier": res.cashier.uk},
        }
        for res in sorted(Res, key=lambda res: res.code)
    ]
    return {"type": "integer", "description": "Result code: 0 is success.", "oneOf": lines}


def _task_answers(answer: Schema) -> dict[str, Schema]:
    root: dict[str, Schema] = answer["properties"]
    root["res"] = {"$ref": REF + "ResultCode"}
    root["res_action"] = {"enum": [0, 1, 2, 3], "description": "What the caller does next: see the introduction."}
    root["task_status"] = {"enum": [1, 2, 3], "description": "1 done now, 2 found in the journal, 3 refused."}
    root["dt"] = {"type": "string", "pattern": "^([0-9]{17})?$", "description": "yyyyMMddHHmmssSSS, Kyiv."}
    label = {
        "transaction_id": {"type": "string", "description": "Label of a terminal's operation; task 10 has none."}
    }
    forms = {name: {"type": "string", "description": "Print form, a data URI."} for name in FORMS}

    def answered(text: str, members: Mapping[str, Any], more: Mapping[str, Any]) -> Schema:
        return {
            "type": "object",
            "description": text,
            "properties": {**copy.deepcopy(root), **members, **more},
            "required": answer["required"],
            "additionalProperties": False,
        }

    refusal = answered(
        "The task failed, or its outcome is unknown: see res and res_action.",
        {"res": {"$ref": REF + "ResultCode"}, "info": {"type": "object", "maxProperties": 0}},
        label,
    )
    refusal["properties"]["res"] = {"allOf": [ref("ResultCode"), {"exclusiveMinimum": 0}]}
    made = {"Refusal": refusal}
    success: Schema = {"const": 0, "description": "Done."}
    taken: Schema = {"enum": [0, Res.ANOTHER_SUM.code], "description": "0: done; 5075: over another sum, see info."}
    for name in INFOS:
        terminal = name == "TerminalInfo"
        kind = TYPE_PAY if terminal else 2 if name == "PrinterInfo" else 1
        made[name.removesuffix("Info") + "Answer"] = answered(
            f"A successful task; info is {name}.",
            {"res": taken if terminal else success, "type": {"const": kind}, "info": ref(name)},
            label if terminal else forms,
        )
    made["TaskAnswer"] = {
        "description": "The answer to every task, with HTTP 200.",
        "anyOf": [ref(name) for name in made],
    }
    done = answered("A successful service method.", {"res": success, "info": _SERVICE_INFO}, label)
    made["ServiceDone"] = done
    made["ServiceAnswer"] = {"anyOf": [ref("ServiceDone"), ref("TerminalAnswer"), ref("Refusal")]}
    return made


# Requests of tasks


def _requests() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    root: dict[str, Schema] = {"ver": ref("Whole")}
    # Each kind of task has a reader for its own members; with an unknown number it reads all of them.
    for kind, batch in ((TYPE_FISCAL, True), (TYPE_PAY, False), (2, False)):
        root |= recorded(partial(read_task, batch=batch), Recorder(found, {"type": kind, "task": 99}))
    root["doc"] = {"anyOf": [ref("Doc"), {"type": "null"}]}
    found["TaskRequest"] = {"type": "object", "properties": root}
    for name, schema in found.items():
        schema["properties"] = {
            member: _described(kind, MEMBERS[name][member]) for member, kind in schema["properties"].items()
        }
    found["TaskRequest"]["properties"]["tag"] |= {"maxLength": 200}
    found["TaskRequest"]["description"] = "Any task. Members that it does not use are ignored (warn_unknown)."
    for name, text in _OF_OBJECTS.items():
        found[name]["description"] = text
    found["Doc"] = _DOC
    for task in ALL:
        found[request_name(task)] = _request_of(task, found)
    found["AnyTask"] = {
        "description": "A task of one of these kinds; any other object is answered too, with its res.",
        "anyOf": [*(ref(request_name(task)) for task in ALL), ref("TaskRequest")],
    }
    return found


def request_name(task: Task) -> str:
    """The component of a task's request."""
    return "Ask" + "".join(word.capitalize() for word in task.key.split("-"))


def _described(kind: Schema, text: str) -> Schema:
    # OpenAPI 3.1 allows a description beside a reference.
    return {**kind, "description": text}


def _request_of(task: Task, found: Mapping[str, Schema]) -> Schema:
    """The request of one task: its required and optional members."""
    wanted = {*task.needs, *task.may, "ver", "source", *(["tag"] if task.tagged else [])}
    if task.type == 1 and task.task is not None:
        wanted |= {"need_pf_txt", "need_pf_img", "need_pf_pdf", "need_pf_doccmd"}
    holder = {1: "fiscal", 3: "pay"}.get(task.type, "")
    own = {path.partition(".")[2] for path in wanted if path.startswith(f"{holder}.")}
    root = found["TaskRequest"]["properties"]
    members = {name: root[name] for name in root if name in wanted}
    members["type"] = {"const": task.type, "description": root["type"]["description"]}
    required = [name for name in task.needs if "." not in name]
    if holder:
        objects = found["Fiscal" if holder == "fiscal" else "PayTask"]["properties"]
        inner = {name: objects[name] for name in objects if name in own}
        if task.task is not None:
            inner = {"task": {"const": task.task}, **inner}
        needs = [path.partition(".")[2] for path in task.needs if path.startswith(f"{holder}.")]
        needs = (["task"] if task.task is not None else []) + needs
        members[holder] = {"type": "object", "properties": inner, "required": needs}
        required.append(holder)
    return {
        "type": "object",
        "title": task.title,
        "description": _words_of(task),
        "properties": members,
        "required": required,
        "examples": [task.body],
    }


def _words_of(task: Task) -> str:
    number = "" if task.task is None else f", task {task.task}"
    tagged = " Done once for each `tag`." if task.tagged else ""
    return f"`type` {task.type}{number}, at `{task.path}`.{tagged}"


_OF_OBJECTS = {
    "Fiscal": "The task of a register.",
    "Receipt": "A receipt.",
    "Row": "One item of a receipt.",
    "Discount": "A named discount.",
    "Pay": "A payment, or the amount of cash in, cash out and withdrawal.",
    "Line": "A line of a service report.",
    "PayTask": "The task of a terminal.",
}

_DOC: Schema = {
    "type": "object",
    "description": "The task of a printer: exactly one of these.",
    "properties": {
        "opendrawer": {**ref("Flag"), "description": "Open the drawer."},
        "test": {**ref("Whole"), "description": "1 a page with the abilities of the printer, 2 its code tables."},
        "lines": {
            "type": ["array", "null"],
            "description": "Lines as in a service report, with a style.",
            "items": {
                "type": "object",
                "properties": {
                    "t": {**ref("Text"), "description": MEMBERS["Line"]["t"]},
                    "qr_type": {**ref("Whole"), "description": MEMBERS["Line"]["qr_type"]},
                    "bold": {**ref("Flag"), "description": "Bold text."},
                    "align": {**ref("Text"), "description": "left, center or right."},
                    "size": {**ref("Whole"), "description": "1 or 2."},
                },
            },
        },
        "doccmd": {
            "type": ["array", "null"],
            "description": "A document in the document language.",
            "items": {"type": "object", "properties": {"cmd": {"type": "string"}}},
        },
    },
}


# Settings and other bodies without a struct


def _settings_change(settings: Schema) -> Schema:
    """The body of ``POST settings``: any settings, also as texts."""
    schema = {
        "type": "object",
        "description": "The settings to change; the others stay. Numbers and booleans may be texts.",
        "properties": {name: {**member, **_leniently(member)} for name, member in settings["properties"].items()},
    }
    for member in schema["properties"].values():  # type: ignore[attr-defined]
        for bound in ("minimum", "maximum"):
            # A bound does not apply to a number as a text; the service says which bound was broken.
            member.pop(bound, None)
    return schema


def _leniently(member: Schema) -> Schema:
    if "enum" in member:
        return {"enum": [*member["enum"], "", None]}
    return {"type": _lenient(member["type"])}


def _lenient(kind: str) -> list[str]:
    return {"integer": ["integer", "string", "null"], "boolean": ["boolean", "integer", "string", "null"]}.get(
        kind, [kind, "null"]
    )


def _scenario_given() -> Schema:
    rule = struct_schemas([Rule])["Rule"]
    rule["properties"]["on"] = {"enum": list(OPERATIONS)}
    rule["properties"]["then"] = struct_schemas([Rule])["Then"]
    return {
        "type": "object",
        "description": "Rules of a simulated device: the first that matches is used up; an empty list clears them.",
        "properties": {"rules": {"type": "array", "items": rule}},
        "required": ["rules"],
        "additionalProperties": False,
    }


_REGISTER_GIVEN: Schema = {
    "type": "object",
    "description": "A register: all members of the GET answer, with settings beside them or under `settings`.",
    "properties": {
        "dev_id": {"type": ["string", "null"], "description": "The register to change."},
        "device": {"type": ["string", "null"], "description": "Name; `name` means the same."},
        "driver": {"type": ["string", "null"]},
        "prro_type": {"type": ["integer", "string", "null"], "description": "1 real, 0 training; or `driver`."},
        "fisid": {"type": ["string", "null"], "description": "Fiscal number."},
        "printforms": {"type": ["object", "null"]},
        "settings": {"type": ["object", "null"]},
    },
}

_SIGNING_KEY: Schema = {
    "type": "object",
    "description": "A key file (Key-6.dat, PKCS#12, JKS) in base64; in a form the file itself as `file`.",
    "properties": {
        "key": {"type": "string"},
        "password": {"type": "string"},
        "certificate": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]
        },
        "server_url": {"type": "string", "description": "`tax-key` asks this tax server instead of the usual one."},
        "fiscal_number": {
            "type": "string",
            "description": "`tax-key` asks the cabinet's server (protocol B), and only about this register.",
        },
    },
    "required": ["key"],
}

_CODES: Schema = {
    "type": "object",
    "description": "Every result code by its number, in the language of the page.",
    "additionalProperties": ref("CodeRecord"),
}

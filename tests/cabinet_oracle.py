"""The cabinet's messages by Google's own library, to judge our codec."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO = """
enum Type { UNKNOWN = 0; CHK = 1; ZREPORT = 2; SERVICECHK = 3; }
enum Status { NONE = 0; OK = 1; ERROR_VEREFY = -1; ERROR_CHECK = -2; ERROR_SAVE = -3; ERROR_BAD_HASH_PREV = -12; }
message Check {
  string rro_fn = 1; int64 date_time = 2; bytes check_sign = 3; int32 local_number = 4; Type check_type = 5;
  string id_offline = 6; string id_cancel = 7;
}
message CheckRequest { bytes rro_fn_sign = 3; }
message CheckRequestId { string id = 1; bytes rro_fn_sign = 2; }
message CheckResponse {
  string id = 1; Status status = 2; bytes id_sign = 3; bytes data_sign = 4; string error_message = 5;
}
message StatusResponse {
  bool open_shift = 1; bool online = 2; string last_signer = 3; Status status = 4; string error_message = 5;
}
message Operator { string serial = 1; int32 status = 2; bool senior = 3; string isname = 4; }
message RroInfoResponse {
  Status status = 1; int32 status_rro = 2; bool open_shift = 3; bool online = 4; string last_signer = 5;
  string name = 6; string name_to = 7; string addr = 8; bool single_tax = 9; bool offline_allowed = 10;
  int32 add_num = 11; string pn = 12; repeated Operator operators = 13; string tins = 14; int32 lnum = 15;
  string name_pay = 16;
}
"""

_KINDS = {"string": 9, "bytes": 12, "bool": 8, "int32": 5, "int64": 3}
_MESSAGE, _ENUM, _ONE, _MANY = 11, 14, 1, 3
PACKAGE = "com.programika.rro.ws.chk"


def _described() -> Any:
    file: Any = descriptor_pb2.FileDescriptorProto(name="cabinet.proto", package=PACKAGE, syntax="proto3")
    enums: set[str] = set()
    for kind, name, body in re.findall(r"(enum|message) (\w+) \{([^}]*)\}", PROTO):
        if kind == "enum":
            enums.add(name)
            shape = file.enum_type.add(name=name)
            for value, number in re.findall(r"(\w+) = (-?\d+);", body):
                # The values of an enum share the names of the package.
                shape.value.add(name=f"{name}_{value}", number=int(number))
            continue
        shape = file.message_type.add(name=name)
        for repeated, of, field, number in re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body):
            written = shape.field.add(name=field, number=int(number), label=_MANY if repeated else _ONE)
            written.type = _KINDS.get(of) or (_ENUM if of in enums else _MESSAGE)
            if of not in _KINDS:
                written.type_name = f".{PACKAGE}.{of}"
    return file


def oracle() -> dict[str, Any]:
    """The classes of Google's library by the names of the messages."""
    pool: Any = descriptor_pool.DescriptorPool()
    file = _described()
    pool.Add(file)
    return {
        shape.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{shape.name}"))
        for shape in file.message_type
    }

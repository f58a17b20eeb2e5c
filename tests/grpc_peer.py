"""The official gRPC library as server and as client, in a process of its own: ``python -m tests.grpc_peer``.

As a server it prints its port, and serves until its input ends. As a client it prints what came of each call.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from protocols.fiscal.cabinet.messages import METHODS, SERVICE, path_of
from tests.cabinet_oracle import oracle

ECHO = "/test.Echo/echo"


def _send(request: Any, context: Any) -> Any:
    """What ``id_cancel`` says, else the document is registered."""
    answer = oracle()["CheckResponse"]
    if request.id_cancel == "refuse":
        context.abort(grpc.StatusCode.UNAVAILABLE, "немає 100%")
    if request.id_cancel == "sleep":
        time.sleep(2)
    if request.id_cancel == "status":
        return answer(status=-12, error_message="ERROR_BAD_HASH_PREV  store 00 chk 11")
    return answer(id=f"{request.rro_fn}-{request.local_number}", status=1, data_sign=request.check_sign)


def _info(request: Any, context: Any) -> Any:
    known = oracle()
    operators = [known["Operator"](serial="a1", status=-1, senior=True, isname="Їжак"), known["Operator"]()]
    return known["RroInfoResponse"](status=1, name=request.rro_fn_sign.decode(), operators=operators, lnum=7)


def serve(options: dict[str, Any]) -> None:
    """Serve the cabinet's methods and an echo."""
    known = oracle()
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            function,
            known[METHODS[method][0].__name__].FromString,
            known[METHODS[method][1].__name__].SerializeToString,
        )
        for method, function in (("sendChkV2", _send), ("infoRro", _info))
    }
    echo = {"echo": grpc.unary_unary_rpc_method_handler(lambda request, context: request)}
    server = grpc.server(ThreadPoolExecutor(4), options=list(options.get("options", {}).items()))
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(SERVICE, handlers),
            grpc.method_handlers_generic_handler("test.Echo", echo),
        )
    )
    if "key" in options:
        pair = Path(options["key"]).read_bytes(), Path(options["certificate"]).read_bytes()
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0)


def ask(options: dict[str, Any]) -> None:
    """Make calls to our server, and print what came of each."""
    target = f"127.0.0.1:{options['port']}"
    if "root" in options:
        credentials = grpc.ssl_channel_credentials(Path(options["root"]).read_bytes())
        channel = grpc.secure_channel(target, credentials, [("grpc.ssl_target_name_override", "localhost")])
    else:
        channel = grpc.insecure_channel(target)
    known = oracle()
    send = channel.unary_unary(
        path_of("sendChkV2"), known["Check"].SerializeToString, known["CheckResponse"].FromString
    )
    found = []
    for number, (kind, size) in enumerate(options["calls"]):
        check = known["Check"](rro_fn=kind, local_number=number, check_sign=bytes(size))
        try:
            answer = send(check, timeout=options["timeout"])
        except grpc.RpcError as error:
            refusal: Any = error
            found.append([refusal.code().name, refusal.details()])
        else:
            found.append([answer.id, len(answer.data_sign)])
    print(json.dumps(found))


def carry(options: dict[str, Any]) -> None:
    """Make calls whose requests are given in hex; print the answers so. Google's library reads and writes both."""
    channel, known = grpc.insecure_channel(f"127.0.0.1:{options['port']}"), oracle()
    answers = []
    for method, request in options["calls"]:
        asked, answered = (known[shape.__name__] for shape in METHODS[method])
        call = channel.unary_unary(path_of(method), asked.SerializeToString, answered.FromString)
        answers.append(call(asked.FromString(bytes.fromhex(request)), timeout=10).SerializeToString().hex())
    print(json.dumps(answers))


if __name__ == "__main__":
    {"serve": serve, "ask": ask, "carry": carry}[sys.argv[1]](json.loads(sys.argv[2]))

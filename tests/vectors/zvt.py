"""Messages of ZVT as other programs wrote them, as terminals sent them, and as documents print them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Vector:
    """Bytes, the kind of the message, and its meaning."""

    name: str
    raw: bytes
    meaning: str
    source: str
    kind: str
    facts: dict[str, object] = field(default_factory=dict)


APDUS = (
    Vector(
        "zvt-001",
        bytes.fromhex("06010704000000001000"),
        "authorisation 10.00",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Authorisation",
        {"amount": 1000},
    ),
    Vector(
        "zvt-002",
        bytes.fromhex("06010704000000000314"),
        "authorisation 3.14",
        "bezahl-online/zvt authorisation test",
        "Authorisation",
        {"amount": 314},
    ),
    Vector(
        "zvt-003",
        bytes.fromhex("06010904000000003300020a"),
        "authorisation 33.00 with max status 0A (goods issue)",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Authorisation",
        {"amount": 3300},
    ),
    Vector(
        "zvt-005",
        bytes.fromhex("849c00"),
        "ask for more time before answering 04 0F",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Negative",
        {"code": 0x9C, "positive": False},
    ),
    Vector(
        "zvt-006",
        bytes.fromhex("846600"),
        "goods not delivered (answer to 04 0F)",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Negative",
        {"code": 0x66},
    ),
    Vector(
        "zvt-007",
        bytes.fromhex("800000"),
        "positive acknowledgement",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Acknowledge",
        {},
    ),
    Vector(
        "zvt-011",
        bytes.fromhex("040f1e276c29280048693cf0f1f941626272756368206475726368204b756e6465"),
        '04 0F status: customer abort, text "Abbruch durch Kunde", TID 28004869',
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "StatusInformation",
        {"result": 0x6C, "terminal_id": "28004869", "amount": None},
    ),
    Vector(
        "zvt-013",
        bytes.fromhex(
            "040f772700040000000020400b0004700c2239530d10060e2512170001197022f0f8eeeeeeeeeeee477129280048"
            "692a3130303436313736332020202020203b36313138303400003cf0f1f447454e2e4e522e3a3631313830344909"
            "78870470880004708a2e8bf1f74465626974204d61737465726361726400"
        ),
        "04 0F status",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "StatusInformation",
        {
            "result": 0,
            "amount": 2040,
            "currency": 978,
            "trace": 470,
            "time": "223953",
            "date": "1006",
            "expiry": "2512",
            "pan": "******" + "******4771",
            "card_name": "Debit Mastercard",
            "card_type": 46,
            "receipt": 470,
            "authorisation": "611804",
            "vu_number": "100461763",
        },
    ),
    Vector(
        "zvt-014",
        bytes.fromhex(
            "040f772700040000000020400b0004630c2104430d10060e2512170001197022f0f8eeeeeeeeeeee477129280048"
            "692a3130303436313736332020202020203b39373835333900003cf0f1f447454e2e4e522e3a3937383533394909"
            "78870463880004638a2e8bf1f74465626974204d61737465726361726400"
        ),
        "04 0F status: approved 20.40, text GEN.NR.:978539",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "StatusInformation",
        {"amount": 2040, "trace": 463, "receipt": 463, "time": "210443", "authorisation": "978539"},
    ),
    Vector(
        "zvt-015",
        bytes.fromhex(
            "040fe22700040000000001000b0006070c1548580d02010e2512170001197022f0f8eeeeeeeeeeee477129280048"
            "692a313030343631373633202020202020370006063b37313536393100003cf0f1f447454e2e4e522e3a37313536"
            "3931490978870607880006078a2e8bf1f74465626974204d6173746572636172640006652410070e47454e2e4e52"
            "2e3a3731353639314307a0000000041010461f413030303030303030343130313020423144373334354331463244"
            "33353542471f413030303030303030343130313020423144373334354331463244333535421f1001ff1f120102"
        ),
        "04 0F status: reversal 1.00 approved, trace 607, NFC, text GEN.NR.:715691",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "StatusInformation",
        {"result": 0, "amount": 100, "trace": 607, "receipt": 607, "authorisation": "715691"},
    ),
    Vector(
        "zvt-024",
        bytes.fromhex("060f0a19002929001006490978"),
        "completion of registration with TID 29001006 and currency 978",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1620218414428",
        "Completion",
        {"result": 0},
    ),
    Vector(
        "zvt-025",
        bytes.fromhex("060f01dc"),
        "status enquiry answer: DC card inserted",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1619070661833",
        "Completion",
        {},
    ),
    Vector(
        "zvt-026",
        bytes.fromhex("061e016c"),
        "abort 6C",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1620217579741",
        "AbortReport",
        {"result": 0x6C, "data": b""},
    ),
    Vector(
        "zvt-028",
        bytes.fromhex(
            "040f31270529290010063cf0f1f54b6172746520616267656c65686e748a0d06132411070f4b6172746520616267656c65686e74"
        ),
        '04 0F rejected 05, additional text "Karte abgelehnt" (3C LLL), 8A 0D, TLV 24/07',
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1618046758827",
        "StatusInformation",
        {"result": 0x05, "terminal_id": "29001006", "card_type": 0x0D},
    ),
    Vector(
        "zvt-029",
        bytes.fromhex(
            "040fd42700040000000018800b0001530c1923360d0416170001197022f1f0eeeeeeeeeeeeeee4281f2929001006"
            "2a3130303736343939322020202020203b39353835323000003cf0f1f447454e2e4e522e3a393538353230490978"
            "870153880001538a2e8bf0f84d41455354524f0006652410070e47454e2e4e522e3a3935383532304307a0000000"
            "043060461f41303030303030303034333036302043363134323339433930424533413534471f4130303030303030"
            "30343330363020433631343233394339304245334135341f1001001f120102"
        ),
        "approved 18.80 (full status with TLV)",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1618593839564PT.hex",
        "StatusInformation",
        {"amount": 1880, "receipt": 153, "card_name": "MAESTRO", "pan": "******" + "******" + "***4281"},
    ),
    Vector(
        "zvt-030",
        bytes.fromhex(
            "040fdb2700040000000000010b0000220c1649230d0308170001197022f0f8eeeeeeeeeeee572629290010062a31"
            "30303736343939322020202020203b32393136373500003cf0f1f447454e2e4e522e3a3239313637354909788700"
            "22880000228a2e8bf1f74465626974204d6173746572636172640006652410070e47454e2e4e522e3a3239313637"
            "354307a0000000041010461f41303030303030303034313031302035463236304546433544323845343531471f41"
            "3030303030303030343130313020354632363045464335443238453435311f1001001f120102"
        ),
        "approved 0.01 (full status with TLV)",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) data081649050.hex",
        "StatusInformation",
        {"amount": 1, "receipt": 22, "time": "164923", "date": "0308"},
    ),
    Vector(
        "zvt-031",
        bytes.fromhex(
            "06d3ff2d04068204291f0701032582042109014007132a2a204b415353454e5343484e495454202a2a0717544553"
            "542042455a41484c2e4f4e4c494e4520452e552e07064e522031323207133636343520564f52444552484f524e42"
            "4143480700070009010007012007185465726d696e616c2d49443a202020203239303031303036071430372e3034"
            "2e323032312030383a33363a303820070120071820202020202020416e7a61686c20202020202020204555520716"
            "5669736120202020202020202020202020202020202007182020202020202020202020203020202020202020302c"
            "30300716562050415920202020202020202020202020202020200718202020202020202020202020302020202020"
            "2020302c303007164d61737465726361726420202020202020202020202007182020202020202020202020203020"
            "202020202020302c303007164d61657374726f2f444d432041542020202020202020071820202020202020202020"
            "20203020202020202020302c303007162d2020202020202020202020202020202020202020200718202020202020"
            "2020202020203020202020202020302c303007164a43422020202020202020202020202020202020202007182020"
            "202020202020202020203020202020202020302c303007164368696e6120556e696f6e2050617920202020202020"
            "07182020202020202020202020203020202020202020302c303007182d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d"
            "2d2d2d2d2d2d0718476573616d742020202020203020202020202020302c303007012007012007164461766f6e20"
            "4261726175737a61686c756e67656e3a07182020202020202020202020202020202020202020302c303007012007"
            "182d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d071856697361202020202020202020202020233a30"
            "3030313035071856553a202020202020202020202020313030373634393932071856205041592020202020202020"
            "202020233a303030313035071856553a20202020202020202020202031303037363439393207184d617374657263"
            "617264202020202020233a303030313035071856553a20202020202020202020202031303037363439393207184d"
            "61657374726f2f444d432041542020233a303030313035071856553a202020202020202020202020313030373634"
            "39393207182d202020202020202020202020202020233a303030313035071856553a202020202020202020202020"
            "31303037363439393207184a434220202020202020202020202020233a303030313035071856553a202020202020"
            "20202020202031303037363439393207184368696e6120556e696f6e2050617920233a303030313035071856553a"
            "20202020202020202020202031303037363439393207183d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d"
            "3d070120070120070120070120090181"
        ),
        "06 D3 print text block, end-of-day receipt, extended length",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) 1617777384987PT.hex",
        "PrintBlock",
        {"kind": 3},
    ),
    Vector(
        "zvt-032",
        bytes.fromhex(
            "06d3ff0e020682020a1f0701012582020209014007122a2a2048c44e444c455242454c4547202a2a071754455354"
            "2042455a41484c2e4f4e4c494e4520452e552e07064e522031323207133636343520564f52444552484f524e4241"
            "43480700070009010007012009014007075645524b415546090100071830352e30332e3230323120202020202031"
            "333a32363a353207185465726d696e616c2d49443a202020203239303031303036071856552d4e723a2020202020"
            "20202020313030373634393932071842656c65672d4e723a202020202020202030302f3030313907185472616365"
            "2d4e723a202020202020202020303030323635090140070a4b4f4e54414b544c4f53070e4d61657374726f2f444d"
            "432041540901000714202020204465626974204d61737465726361726407134149443a2041303030303030303034"
            "31303130071843727970746f3a204343304344374342443945303241324107184e723a20202a2a2a2a202a2a2a2a"
            "202a2a2a2a203537323607185345513a2020202020202020202020202020202020303031070c452e4d6f64652847"
            "29202020090140070742455a41484c54090100070e47454e2e4e522e3a37393034393807184245545241473a2020"
            "4555522020202020202020302c303107182020202020202020203d3d3d3d3d3d3d3d3d3d3d3d3d3d3d0701200901"
            "40070007000700090100070120070120070120070120090181"
        ),
        "06 D3 print text block, merchant receipt",
        "GitHub bezahl-online/zvt command/testdata (terminal recordings) data051327012.hex",
        "PrintBlock",
        {"kind": 1},
    ),
    Vector(
        "zvt-037",
        bytes.fromhex("06d119005465726d696e616c2d49443a202020203238303034383639"),
        '06 D1 attribute 00 (left) "Terminal-ID:    28004869"',
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "PrintLine",
        {"attribute": 0, "text": b"Terminal-ID:    28004869"},
    ),
    Vector(
        "zvt-038",
        bytes.fromhex("06d10181"),
        "06 D1 attribute 81 (end of receipt / cut)",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "PrintLine",
        {"attribute": 0x81, "text": b""},
    ),
    Vector(
        "zvt-039",
        bytes.fromhex("06d119402a2a2048c44e444c455242454c4547202a2a06041f070101"),
        "06 D1 with TLV after the text (CardComplete deviation), umlaut in ISO-8859",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "PrintLine",
        {"attribute": 0x40, "text": b"** H\xc4NDLERBELEG **"},
    ),
    Vector(
        "zvt-040",
        bytes.fromhex("060f0227e0"),
        "06 0F 02 27 E0 completion carrying a result code",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "Completion",
        {"result": 0xE0},
    ),
    Vector(
        "zvt-041",
        bytes.fromhex(
            "06d3ac0681a91f0701032581a2071b30322e31312e3230323120202020202020202031373a30353a3032070c5449"
            "443a4148303030303036071441627363686c757373202d206b65696e6520545807192041563a202b30342e303720"
            "284a756e203131203230323129071b54493a20452044543a20302f302f204f463a20302f302f2043473a070f2020"
            "202020202020202020312f302f070120070120070120070120070120070120070120090181"
        ),
        "06 D3 administration receipt (1F07=03) with CP437 text lines",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "PrintBlock",
        {"kind": 3},
    ),
    Vector(
        "zvt-043",
        bytes.fromhex(
            "06d3ff8e020682028a1f07010225820282071820204c6569687374656c6c756e6720766f6e20686f626578071620"
            "2020202066817220504f5254414c554d20476d624807122020202020202020486572722054657374310715202020"
            "20205a5654205443502f49502c2044484350071b2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d"
            "2d071b31392e31302e3230323120202020202020202031333a33303a3034071b3030303030313320202020303030"
            "34202020202020303030303031071320202020202020204b554e44454e42454c4547071b2d2d2d2d2d2d2d2d2d2d"
            "2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d07125465726d696e616c3a204148303030303036071142656c65672320"
            "203a204830303430303107124c3a2a2a2a2a2a2a2a2a2a2a2a2a3030303007134149443a20413030303030303030"
            "343130313007114b617274653a204d41535445524341524407184170702e20203a204465626974204d6173746572"
            "6361726407132020202020202020436f6e746163746c65737307044b415546070120070553554d4d450712202020"
            "2020202020204555523a20312c3030070120071b5472616365233a20202020202020202020202031303030343030"
            "3107012007095265666572656e7a3a070120071a204175746f726973696572756e6773636f64653a333637363535"
            "0711202020202020202020285243203030312907142020202047656e65686d696774203336373635350710202020"
            "2020202030303130303430303107012007192041563a202b30342e303720284a756e203131203230323129071b54"
            "493a20452044543a20302f302f204f463a20302f302f2043473a070f2020202020202020202020312f302f070120"
            "070120070120070120070120090181"
        ),
        "06 D3 cardholder receipt arriving in 10 fragments: join before parsing",
        "GitHub Portalum/Portalum.Zvt unit tests (MIT)",
        "PrintBlock",
        {"kind": 2},
    ),
    Vector(
        "zvt-047",
        bytes.fromhex("060f1819002965000028490978060c26040a0206d31f7303000000"),
        "registration completion with 1F73: sequence ids on",
        "ZVT spec PA00P015 rev 13.08 ch.5 example",
        "Completion",
        {"result": 0},
    ),
    Vector(
        "zvt-050",
        bytes.fromhex("04ff091706061f7303000002"),
        "intermediate 17 with sequence id 000002",
        "ZVT spec PA00P015 rev 13.08 ch.5 example",
        "IntermediateStatus",
        {"status": 0x17, "minutes": None},
    ),
    Vector(
        "zvt-052",
        bytes.fromhex("060f0806061f7303000011"),
        "completion with sequence id",
        "ZVT spec PA00P015 rev 13.08 ch.5 example",
        "Completion",
        {"result": 0},
    ),
    Vector(
        "zvt-053",
        bytes.fromhex("060006123456be0978"),
        "registration, password 123456, config BE, currency 978 (as sent by an independent Python client over TCP)",
        "captured from tasmail/py3-ecrterm",
        "Registration",
        {"password": "123456", "config": 0xBE, "currency": 978},
    ),
    Vector(
        "zvt-054",
        bytes.fromhex("06010a04000000001250490978"),
        "authorisation 12.50 with currency (as sent by an independent Python client over TCP)",
        "captured from tasmail/py3-ecrterm",
        "Authorisation",
        {"amount": 1250},
    ),
)
"""Whole APDUs, each of which is encoded to the same bytes again."""

INTERMEDIATE_DATA = bytes.fromhex("ff10061a2418070845555220312e3233070c42697474652077617274656e")
"""The data of a ``04 FF`` with a limit of 10 minutes and two lines of text, without control field and length.

GitHub Portalum/Portalum.Zvt unit tests (MIT)
"""

EXTENDED = bytes.fromhex("040fff01006c")
"""One byte of data with the longer form of the length. GitHub Portalum/Portalum.Zvt unit tests (MIT)"""

UNFINISHED = bytes.fromhex("040fff00016c")
"""The beginning of 256 bytes of data. GitHub Portalum/Portalum.Zvt unit tests (MIT)"""

BANNER = bytes.fromhex("0000003e5645527c415050")
"""What a port of another protocol sends. Portalum.Zvt issue 33"""

FRAGMENTS = ("zvt-043", [71, 71, 71, 71, 71, 71, 71, 71, 71, 20])
"""A message, and the pieces in which a terminal sent it. GitHub Portalum/Portalum.Zvt unit tests (MIT)"""


@dataclass(frozen=True)
class Framed:
    """An APDU and the frame that carries it over a serial line."""

    apdu: bytes
    frame: bytes
    source: str


FRAMES = (
    Framed(
        bytes.fromhex("06010704000000001250"),
        bytes.fromhex("10020601070400000000125010032df7"),
        "produced with tasmail/py3-ecrterm; CRC re-checked",
    ),
    Framed(
        bytes.fromhex("06010704000000001000"),
        bytes.fromhex("1002060107040000000010100010036291"),
        "computed with the verified rule",
    ),
)
"""Frames of a serial line; in the second a 10 is doubled."""

"""Ukrainian cryptography: known answers with their sources. None of them was printed by our own code.

Words in sources: *gost89* is the npm package of that name, version 0.1.11, run on our inputs; *BouncyCastle* is
version 1.72, run on our inputs; *Java* is the key store of OpenJDK 17. The keys were made for these files and belong
to no person.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass

TEST_SBOX = bytes.fromhex(
    "4a92d80e6b1c7f53eb4c6dfa23810759581da342efc7609b7da1089fe46cb253"
    "6c715fd84a9e03b24ba0721d36859cfedb413f590ae7682c1fd057a4923e6b8c"
)
"""The S-box of the published examples (RFC 4357, GostR3411-94-TestParamSet); it is used only for them."""


def ascending(count: int) -> bytes:
    """00 01 02 …, like most constructed inputs here."""
    return bytes(range(count))


@dataclass(frozen=True)
class Hash:
    """A message and its hash."""

    message: bytes
    digest: str
    source: str
    test_sbox: bool = False


HASHES = (
    Hash(
        b"12345678901234567890123456789011",
        "7686f3f4b113aadc97bca9ea054f41821f0676c5c28ffb987e41797a568e1ed4",
        "tests of gost89",
    ),
    Hash(ascending(32), "811cb06a8ee423182d9cc9d281f783908f4cfbaf47a68be8415d3499674a3063", "tests of gost89"),
    Hash(b"123123", "34d4da2c04e9c1ceb933282069c864617d94ed7cc5c0a9840c0c1a99629df637", "tests of gost89"),
    Hash(ascending(0), "da37bdf41145e39e34111775b40646e8059c2e969c1460bb98abccb26f0f76a5", "gost89"),
    Hash(ascending(1), "267a02fc973147e189849143b52c606cdce3392f3d614f3eb93d0e6b820e09aa", "gost89"),
    Hash(ascending(31), "695e4c73aa9d4884c3b9c74c8b77d0239e84e8bce0a9117ee6368144cf388cf9", "gost89"),
    Hash(ascending(33), "1b2968cb9d37a2108fec6ac9f8feba278dac9cd2a11e6a4746a5b2c076714f69", "gost89"),
    Hash(ascending(64), "c03ee3bc611ae3acb822664325b3ec6e6278ddc93c9bcd7e757813d0e31fe281", "gost89"),
    Hash(ascending(100), "4d7e982e673b52a3d186ef75207ff0bdf45fa561dd111e4392969182a63cf1a3", "gost89"),
    Hash(ascending(256), "2b8b5ddde0b829d1296c6f239faa7493acfb8651f6a0c55f6f9b18a5ee23fa9d", "gost89"),
    Hash(
        b"This is message, length=32 bytes",
        "b1c466d37519b82e8319819ff32595e047a28cb6f83eff1c6916a815a637fffa",
        "the examples of GOST R 34.11-94",
        test_sbox=True,
    ),
    Hash(
        b"Suppose the original message has length = 50 bytes",
        "471aba57a60a770d3a76130635c1fbea4ef14de51f78b4ae57dd893b62f55208",
        "the examples of GOST R 34.11-94",
        test_sbox=True,
    ),
)


@dataclass(frozen=True)
class Cipher:
    """One answer of GOST 28147.

    :param mode: ecb, cfb or mac, :param start: the start vector, empty where there is none.
    """

    mode: str
    key: bytes
    start: bytes
    plain: bytes
    result: str
    source: str
    test_sbox: bool = False


_COUNTING = bytes.fromhex("0100000002000000030000000400000005000000060000000700000008000000")
_THREE = bytes.fromhex("0300000003000000")
_TEXT = bytes(range(1, 25))
_SELF_TEST = "self-test of UAPKI, its S-box 11"

CIPHERS = (
    Cipher(
        "ecb",
        bytes.fromhex("348724a4c1a67667153dde5933884250e3248c657d413b8c1c9ca09a56d968cf"),
        b"",
        bytes.fromhex("34c01533e37d1c56e9431604f57e37a18f90eb0333a33362"),
        "863e78dd2d60d13ce38f0f691f68f7feb99bb76c3073142d",
        _SELF_TEST,
        True,
    ),
    Cipher("cfb", _COUNTING, _THREE, _TEXT, "d1ce841aa50de523b0ab76646f0d1ee8ae02aa0c4e8eafb3", _SELF_TEST, True),
    Cipher(
        "mac",
        _COUNTING,
        b"",
        bytes.fromhex("d1ce841aa50de523b0ab76646f0d1ee8ae02aa0c4e8eafb3"),
        "7e4a9667",
        _SELF_TEST + "; over the cipher text of the line above",
        True,
    ),
    Cipher(
        "ecb",
        ascending(32),
        b"",
        ascending(40),
        "e393a17df2b6de6f72c25ba06f2c37378c8107a80b43a79e6f2c0b28d2bea063226930659acc0e1c",
        "gost89",
    ),
    Cipher(
        "cfb",
        ascending(32),
        ascending(8),
        ascending(40),
        "e392a37ef6b3d868214f2d1a77513d2bcb33ba680bec953753a5770248c625bb1f655a29a6ce606f",
        "gost89",
    ),
    Cipher("mac", ascending(32), b"", ascending(9), "4c37e143", "gost89"),
    Cipher("mac", ascending(32), b"", ascending(16), "3750cbb0", "gost89"),
    Cipher("mac", ascending(32), b"", ascending(20), "b6088630", "gost89"),
    Cipher("mac", ascending(32), b"", ascending(64), "53cb13a8", "gost89"),
)

IIT_KEY_3 = "a49ef31b685d5140fc499051456b0bfd18776716529e2ea6f6e2c96e84aa73e1"
"""Three rounds of the hash over ``password`` (gost89)."""

PBKDF2_5 = "10326b5de21bba6f6a28278efb598e9d54cbbe653024aa632e937486bb21c7c0"
"""PBKDF2 of ``password``, the salt `ascending` (32), five rounds (gost89)."""


@dataclass(frozen=True)
class Signature:
    """A signature, its parts as numbers in hex.

    :param oid: of the curve, :param base: its base point where it is another one (x, y), :param e: the secret number
        of this signature where it is known, :param hash: bytes as they are hashed.
    :param public: the compressed key, little-endian, :param d: the private number; empty where the source has none.
    :param message: what was hashed, where the source has no hash of its own.
    """

    oid: str
    d: str
    hash: bytes
    r: str
    s: str
    source: str
    e: str = ""
    base: tuple[str, str] | None = None
    public: str = ""
    message: bytes = b""


_ARC = "1.2.804.2.1.1.1.1.3.1.1.2."

_HASH = bytes((7 * at + 1) % 256 for at in range(32))

SIGNATURES = (
    Signature(
        _ARC + "0",
        "183f60fdf7951ff47d67193f8d073790c1c9b5a3e",
        bytes.fromhex("09c9c44277910c9aaee486883a2eb95b7180166ddf73532eeb76edaef52247ff")[::-1],
        "274ea2c0caa014a0d80a424f59ade7a93068d08a7",
        "2100d86957331832b8e8c230f5bd6a332b3615aca",
        "DSTU 4145-2002, annex B",
        e="1025e40bd97db012b7a1d79de8e12932d247f61c6",
        base=("72d867f93a93ac27df9ff01affe74885c8c540420", "0224a9c3947852b97c5599d5f4ab81122adc3fd9b"),
    ),
    Signature(
        _ARC + "2",
        "955cd7e344303d1034e66933dc21c8044d42adb8",
        bytes.fromhex("0137187ea862117ef1484289470ecac802c5a651fda8")[::-1],
        "13ae89746386709cdbd237cc5ec20ca30004a82ead8",
        "3597912cdd093b3e711ccb74a79d3c4ab4c7cccdc60",
        "tests of BouncyCastle, m = 173",
        e="137449348c1249971759d99c252ffe1e14d8b31f",
        base=("be6628ec3e67a91a4e470894fba72b52c515f8aee9", "d9deedf655cf5412313c11ca566cdc71f4da57db45c"),
    ),
    Signature(
        _ARC + "2",
        "955cd7e344303d1034e66933dc21c8044d42adb8",
        b"",
        "f2702989366e9569d5092b83ac17f918bf040c487a",
        "1dd460039db3be70392d7012f2a492d3e59091ab7a6",
        "tests of BouncyCastle, m = 173, a message",
        base=("be6628ec3e67a91a4e470894fba72b52c515f8aee9", "d9deedf655cf5412313c11ca566cdc71f4da57db45c"),
        message=b"abc",
    ),
    Signature(
        _ARC + "2",
        "955cd7e344303d1034e66933dc21c8044d42adb8",
        b"\xff" * 26,
        "6bb5c0cb82e5067485458ebfe81025f03b687c63a27",
        "34d6b1868969b86ecf934167c8fe352c63d1074bd",
        "tests of BouncyCastle, a hash longer than the field",
        base=("be6628ec3e67a91a4e470894fba72b52c515f8aee9", "d9deedf655cf5412313c11ca566cdc71f4da57db45c"),
    ),
    Signature(
        _ARC + "9",
        "d0f97354e314191fd773e2404f478c8aee0ff5109f39e6f37d1feec8b2ed1691d84c9882cc729e716a71cc013f66cac60e29e22c",
        bytes.fromhex("0137187ea862117ef1484289470ecac802c5a651fda8")[::-1],
        "1911fefb1f494bebcf8dffdf5276946ff9c9f662192ee18c718db47310a439c784fe07577b16e1edbe16179876e0792a634f1c9c3a2e",
        "3852170ee801c2083c52f1ea77b987a5432acecd9c654f064e87bf179e0a397151edbca430082e43bd38a67b55424b5bbc7f2713f620",
        "tests of BouncyCastle, m = 431",
        base=(
            "9548bcdf314ceeeaf099c780ffefbf93f9fe5b5f55547603c9c8fc1a2774170882b3be35e892c6d4296b8dea282ec30fb344272791",
            "4c6cbd7c62a8eeefde17a8b5e196e49a22ce6de128abd9fbd81fa4411ad5a38e2a810bede09a7c6226bcdcb4a4a5da37b4725e00aa74",
        ),
    ),
    Signature(
        _ARC + "6",
        "",
        bytes.fromhex("5d7abb9c8547fd918c14bb3f3f854e0f2287ab36e53e7e1f26aa7c93cb951c8d"),
        "5c24783f710861aee269f4025f68af3aa1661d2a7ff0da41e0084cf931e07954",
        "2c33de0a65044521ebdc12c812b1e5e4ade74c69dcfb5b100c1707081b098b01",
        "tests of BouncyCastle, point encoding",
        public="c5b54ecf340060854de415478ea60f2e2b8a94ca1b2ffed4634d485ec49624dc00",
    ),
    Signature(
        _ARC + "0",
        "2a60b95711a046decb020b0532ffc4a20d9463e0b",
        _HASH,
        "25b54caeb9134e3509157f0f85e697a1d2b0d0948",
        "9a7a28696ec00acf23cc466c2f1795f932045860",
        "BouncyCastle",
        public="9fa48bb4e2f57f2bd278e0fb521591ae063d8bc605",
    ),
    Signature(
        _ARC + "1",
        "e88bffa8e2c658ac68d5a709fd8bdfc08c5da7a86",
        _HASH,
        "128c4fe4e081702feeaf302a968c363a58ea6f89eb",
        "5d3354c641e4b52a26f35728b139029a086234acc",
        "BouncyCastle",
        public="47a5b3af6601e37b4f2c5a4e05a2f682c3ed76504a",
    ),
    Signature(
        _ARC + "2",
        "58cde97a91767f5eb46012f830084a41071da8a8def",
        _HASH,
        "598e8d5745776f622eaf0b63c80b727276de7c9a68b",
        "31aded4324dd69019f78cbc2ac18d1dee11838d383e",
        "BouncyCastle",
        public="2c6472cdec3772a14be4df25bd38aeb9897e7cabe104",
    ),
    Signature(
        _ARC + "3",
        "1a03a7041ca658c882e1182968464932a4b44a98e0470",
        _HASH,
        "1921df480288ccb7adca859c1e2fe383606f232aa1bc4",
        "2eb951ed1908ca425e8139c851d02e31b582f437ec36",
        "BouncyCastle",
        public="37bbbe32c3301fd3359d3aaa8e41a8aa42c412175bb202",
    ),
    Signature(
        _ARC + "4",
        "12b98db25a2f286e830245a417a76754e7ef596d2f207570",
        _HASH,
        "293cf416e09e2abf3143cd0bc2ba32876d19441fd97bb862",
        "2389c7700b1c751c56e339866ffc07f4b65db5544e5ff496",
        "BouncyCastle",
        public="9736d161598de3459e8c3992bcfb3a2eac83db0dd774f750",
    ),
    Signature(
        _ARC + "5",
        "a1302978a0a4ed3b746413e4a7b5ea9796527e94e78187a79b15ef5a98",
        _HASH,
        "2001e0f6066c0d4513c2a2c620074682b34158afa36ace6eb8c5cd3740",
        "6d8af18dd08ad7171d5e42498abc929177b37438fb72adf565056445b5",
        "BouncyCastle",
        public="ab8cd0a8a6613e2c03104e14f509e72d0b2981dc198cb63af41778513801",
    ),
    Signature(
        _ARC + "6",
        "10f46373d5a94753df3bdbaccc35571ec6586a6d501924cf939c4c6896509c65",
        _HASH,
        "22ce339d6910e99b8a264dd636b50953c83f52778761bfcf49ada6abedfc39f7",
        "18a38bb82477716eca9cce1718452bd3176523e1c06fa260bd817fdfe6f6a107",
        "BouncyCastle",
        public="24e8fd07616f356ad13c8bb1e5f2c391b66e836eca0e41414c6fcc3054799dd201",
    ),
    Signature(
        _ARC + "7",
        "156428f9dabc093aa501e369cff581558b6c5585378e4d07f6fc180b65f7dc004d00e1b961755",
        _HASH,
        "dbcc68ffe157f4d6f4b3b1ae3e083f992472f05e86384d0a038a4dbd55e6b18abf52b7786bc0",
        "715a5b721f5c28cf2f331fbddba343961d8439dcb06b4afbd3e86d2d0396715943dbcec9b5b5",
        "BouncyCastle",
        public="94fad394097efa88878a39dac5093216dba4480eb54e0b3cfe86e679125dc9a1121856608dc000",
    ),
    Signature(
        _ARC + "8",
        "32d9689d2c30d7082fda31219cb053b5b915a01c9aebfdf5d828365abda2ecbde5a12687534e12b3dfbda4764da8",
        _HASH,
        "3fea2da9953ec72f1d6d5d14211e693110ac2acf103a93cec846587021aa096819a594e3cd019cbbcc5214ece066",
        "2a1ef23979241a201287d6ee18d15b2cafb728e69ceaace73b4541da6172aa41f39b4a54c7875344c94298c9552d",
        "BouncyCastle",
        public="a111cc1349dc552ad39716ee73a2288e77654e7a2e4257a096d5b1fd3c432b6a67d11bbe77bcbf82a21ebaa7d029",
    ),
    Signature(
        _ARC + "9",
        "30f112e9a612ca5e1b3178eeb0112c5cc0125df64cb71695d5c98089"
        "8f9bd254960b42da778c32769504d859a6e8d533baa524d49eca",
        _HASH,
        "f88ed39c7764da844f6fc07babee4eb777d9c5b6bc167e9e16ce565c572058747a16fab9704c7f9fe3e7fa4bef63c8bcb72b6490fdf",
        "192c2084c0fbcdce5e0ea4869217c2275850dc4f7a0b409cf053bee4"
        "54e0bdd4e4662cd4b964a6ee41a4c7d536976ec141790d808083",
        "BouncyCastle",
        public="8bedfed5805443dab7736ce83f1dfe2f223d07a196c12a9c22235b33"
        "fcb86ccd8081f8719a4c60079fc5ba3f8986882af9790de06500",
    ),
)

KEY_D = "3132333435363738393031323334353637383930313233343536373839303132"
KEY_TLV = "04214b6cc619bf3c209207a76fcb7d5e0d602fd18ec3419b4bca0905a343d793fd6200"
KEY_ID = "89fb24e249459747834f9c62719ee9e1616728f3b58dd2819d7d1995298f6fc9"
"""A private number on the curve of m = 257, its public key as an OCTET STRING, its identifier (tests of jkurwa)."""

TEST_D = int.from_bytes(bytes(range(1, 33)), "little")
"""The private number of the key files below, on the curve of m = 257."""

FILE_PASSWORD = "test password"

IIT_FILE = base64.b64decode(
    """
MIIBFTAcBgwrBgEEAYGXRgEBAQIwDAQESOX1TQQEd2bjuASB9FxM2Px9MikACqXncCahATW+Ew9wUOyr7TTV5IWLL9vIqFWnW/HK7hu7DIs9u4+g
sMFPOxVBgpT9GXNHD3p5yO88qYQxdBHsdb0FzQOLRgKq2fljlWr7Zua0tO58gaykv+2ztdI2ZLA3xmZnCNgvjUJ7QtJuenquduFn5rbWM6PNEiZy
JZTlZxYGXn3c+bQzI+RMpr2TORyi/fJGhMSi24Ez0jd3bbaAqxtJc90b+fkCcq4QTaoOvdS8Wd0cNbTE8NV/vE9ymxV6rRnH74XzgzP0pP2xs/BU
5HeX0cUf9QtBcbI9t6W7IJVRL9YggnMnq3OLap8=
"""
)
"""A Key-6.dat with `TEST_D`: derivation, cipher and MAC by gost89, the lengths and tags around them by hand."""

PBES2_SALT, PBES2_START = ascending(32), ascending(8)
PBES2_BODY = bytes.fromhex(
    "424b9b17dde2cdac6501d8523a454a3c2f2be1bde6c452a27b301bb20ecb57b3d24a6e4a"
    "4602b2d06877eaec80d54d62d03a5691ff5fd07adfd757338afcda303513c44b44fb13"
)
"""PKCS#8 of `TEST_D`, named curve, encrypted as PBES2 with `FILE_PASSWORD`, 10 000 rounds (gost89)."""

AES_SALT, AES_START, AES_ROUNDS = ascending(16), ascending(16), 2048
AES_BODY = bytes.fromhex(
    "8f2a8052be669dcd57962ece81bcbacf810f1479abc3685563b7335f1e109dcc94e0ac52d9b1a838046785c55a3a0db2"
    "af1b2d420b3ab74982d2452c58146bd9571804dae63a8e74250ce54d315ff318"
)
"""The same key by OpenSSL 3.0: ``openssl kdf PBKDF2`` with SHA-256, ``openssl enc -aes-256-cbc``."""

MAC_KEYS = {
    "sha1": "0e4a43f08c863f7d975d99f84d046c85481f075c",
    "sha256": "4188afe501a7feb0e000633250e6d32977c9645c6add4cdc9c63805d91cf6cf5",
    "sha512": "4308cbef607163904c67a016eb240bdaecc015695a3cece69836acd0c889657829728f3898a7c19fd736a5f9649a2336"
    "37bb6f19cf06aa0cb48d0cb64d1c8e50",
}
"""The keys of a PKCS#12 file's MAC by OpenSSL 3.0: ``openssl kdf PKCS12KDF`` with id 3."""


JKS_FILE = base64.b64decode(
    """
/u3+7QAAAAIAAAABAAAAAQAIdGVzdCBrZXkAAAGh/1A/7gAAAIQwgYEwDgYKKwYBBAEqAhEBAQUABG8MRr7XnG7aruPWMoz+IJsjiCtYjh4mlTIy
YLFv/laUVmCCYmRCfliPB7imE1UKRE3UQEC7EyXVGYO5BexjsRgw102QREFK7SWpKnS8DkeOfM4B9rn/KLXNB8hUCqptFW6NgI6QC0IlbBWQuD65
xu4AAAABAAVYLjUwOQAAAf4wggH6MIIBoqADAgECAhQB4kH5/H2s9Ul5XyjxFppylxdlDjANBgsqhiQCAQEBAQMBATA1MQ0wCwYDVQQKDARUZXN0
MRcwFQYDVQQDDA5UZXN0IGF1dGhvcml0eTELMAkGA1UEBgwCVUEwIBcNMjUxMjMxMDAwMDAwWhgPMjA1MDA4MjMwMDAwMDBaMDUxDTALBgNVBAoM
BFRlc3QxFzAVBgNVBAMMDkphdmEga2V5IHN0b3JlMQswCQYDVQQGDAJVQTBGMB4GCyqGJAIBAQEBAwEBMA8GDSqGJAIBAQEBAwEBAgYDJAAEIUiR
NeM/nbGjUZBoAsTOzwDHkPuFe3+i2DNQ1A4pSx2XAKOBnTCBmjApBgNVHQ4EIgQg6czzl4H0dnnf2zVtDWOOG33f1mhDjCkK2ZsK7CNtS14wKwYD
VR0jBCQwIoAgs1YzfuLNabutXQNYN53QJ3Ghm+/zh15L+uH6IC7ntpswDgYDVR0PAQH/BAQDAgDAMAkGA1UdEwQCMAAwJQYDVR0JBB4wHDAaBgwq
hiQCAQEBCwEEAgExChMIMTIzNDU2NzgwDQYLKoYkAgEBAQEDAQEDQwAEQBLn0Ntnf4T0QtppX2xaeT7SSB3Sum8Xyenr7n5tu0VkYZh9VPWbzUkv
2Ci+9H5JSi0AfJzh127YR5c2yO9ttB51TyFwMEwBVhwosP/R/m234xg60g==
"""
)
"""A key store with `TEST_D` and a certificate for it, under `FILE_PASSWORD` (Java)."""

COMMAND_MESSAGE = base64.b64decode(
    """
MIIIxwYJKoZIhvcNAQcCoIIIuDCCCLQCAQExDjAMBgoqhiQCAQEBAQIBMHkGCSqGSIb3DQEHAaBsBGp7Ik51bUZpc2NhbCI6NDAwMDAwMDAwMSwi
T2ZmbGluZVNlc3Npb25JZCI6bnVsbCwiT2ZmbGluZVNlZWQiOm51bGwsIkNvbW1hbmQiOiJUcmFuc2FjdGlvbnNSZWdpc3RyYXJTdGF0ZSJ9oIIF
sjCCBa4wggVWoAMCAQICFFLbHQcAAAAAAAAAAAAAAAAAAAABMA0GCyqGJAIBAQEBAwEBMIIBHDFbMFkGA1UEAwxS0JDQptCh0Jog0KLQntCSICLQ
ptC10L3RgtGAINGB0LXRgNGC0LjRhNGW0LrQsNGG0ZbRlyDQutC70Y7Rh9GW0LIgItCj0LrRgNCw0ZfQvdCwIjERMA8GA1UEBwwI0JrQuNGX0LIx
GTAXBgNVBAUMEFVBLTM2ODY1NzUzLTAxMTcxUjBQBgNVBAoMSdCi0J7QkiAi0KbQtdC90YLRgCDRgdC10YDRgtC40YTRltC60LDRhtGW0Zcg0LrQ
u9GO0YfRltCyICLQo9C60YDQsNGX0L3QsCIxLjAsBgNVBAsMJdCS0ZbQtNC00ZbQuyDRgdC10YDRgtC40YTRltC60LDRhtGW0ZcxCzAJBgNVBAYM
AlVBMB4XDTE5MTIxOTEwMTU1NVoXDTIxMTIxODIxNTk1OVowggFkMUEwPwYDVQQDDDjQodC40LzQvtC90LXQvdC60L4g0JLQsNC70LXQvdGC0LjQ
vdCwINCQ0L3QtNGA0LXQtdCy0L3QsDEaMBgGA1UEBwwR0YHQtdC70L4g0JrQmNCH0JIxDjAMBgNVBBEMBTA0MjEwMUQwQgYDVQQJDDvQstGD0LvQ
uNGG0Y8g0JTQtdCz0YLRj9GA0ZbQstGB0YzQutCwLCDQsdGD0LQuIDEvMSwg0L7RhC4gMTEsMCoGA1UEDAwj0JPQvtC70L7QstC90LjQuSDQsdGD
0YXQs9Cw0LvRgtC10YAxGzAZBgNVBAQMEtCh0LjQvNC+0L3QtdC90LrQvjEuMCwGA1UEKgwl0JLQsNC70LXQvdGC0LjQvdCwINCQ0L3QtNGA0LXQ
tdCy0L3QsDEUMBIGA1UEBQwLMTA4OTk5OTk5MkIxDzANBgNVBAoMBtCU0JfQrjELMAkGA1UEBgwCVUEwRjAeBgsqhiQCAQEBAQMBATAPBg0qhiQC
AQEBAQMBAQIGAyQABCEX58vwroMMC9ktQIve9ciqShBTwiOH1piQGpLwqYiqPgGjggI4MIICNDBDBgNVHQkEPDA6MBoGDCqGJAIBAQELAQQCATEK
EwgxMDg5OTk5OTAcBgwqhiQCAQEBCwEEAQExDBMKMTA4OTk5OTk5MjAeBgNVHREEFzAVgRNkenVfMUBpbnRlbHNlcnYuY29tMCkGA1UdDgQiBCBJ
5wTLDKxG9PmrTY0ew8Yq6QEKDM4H19Xu7gba7Q3oYjArBgNVHSMEJDAigCCUxld3ck2rDCKLa226Hd1iXgd271qRSsnluMN0snsYXjAOBgNVHQ8B
Af8EBAMCAMAwGAYDVR0lBBEwDwYNKoYkAgEBAQuRyo1ZAjAZBgNVHSABAf8EDzANMAsGCSqGJAIBAQECAjAeBggrBgEFBQcBAwEB/wQPMA0wCwYJ
KoYkAgEBAQIBMDMGA1UdLgQsMCowKKAmoCSGImh0dHA6Ly91YWtleS5jb20udWEvbGlzdC1kZWx0YS5jcmwwLQYDVR0fBCYwJDAioCCgHoYcaHR0
cDovL3Vha2V5LmNvbS51YS9saXN0LmNybDA9BggrBgEFBQcBCwQxMC8wLQYIKwYBBQUHMAOGIWh0dHA6Ly91YWtleS5jb20udWEvc2VydmljZXMv
dHNwLzBtBggrBgEFBQcBAQRhMF8wLQYIKwYBBQUHMAKGIWh0dHA6Ly91YWtleS5jb20udWEvdWFrZXljZXJ0LnA3YjAuBggrBgEFBQcwAYYiaHR0
cDovL3Vha2V5LmNvbS51YS9zZXJ2aWNlcy9vY3NwLzANBgsqhiQCAQEBAQMBAQNDAARANDZ63vv3ljLSjLBMd+y00p0F1M2MOjGXTQUkRG2L+wX6
ZtmEuCVFWDgwSmKdWTA7zLAA+Cjuv5PdKDiI367/BjGCAmwwggJoAgEBoCIEIEnnBMsMrEb0+atNjR7DxirpAQoMzgfX1e7uBtrtDehiMAwGCiqG
JAIBAQEBAgGgggHeMC8GCSqGSIb3DQEJBDEiBCCyoadprkA4UQPSrc/9tYlT6U9eZSFVAme+6OulJ3xatTAYBgkqhkiG9w0BCQMxCwYJKoZIhvcN
AQcBMIIBjwYLKoZIhvcNAQkQAi8xggF+MIIBejCCAXYwggFyMAwGCiqGJAIBAQEBAgEEIPDq15sEi14b+ySFg+RPkpwwmYfixnBjpzckHiPe2qlh
MIIBPjCCASSkggEgMIIBHDFbMFkGA1UEAwxS0JDQptCh0Jog0KLQntCSICLQptC10L3RgtGAINGB0LXRgNGC0LjRhNGW0LrQsNGG0ZbRlyDQutC7
0Y7Rh9GW0LIgItCj0LrRgNCw0ZfQvdCwIjERMA8GA1UEBwwI0JrQuNGX0LIxGTAXBgNVBAUMEFVBLTM2ODY1NzUzLTAxMTcxUjBQBgNVBAoMSdCi
0J7QkiAi0KbQtdC90YLRgCDRgdC10YDRgtC40YTRltC60LDRhtGW0Zcg0LrQu9GO0YfRltCyICLQo9C60YDQsNGX0L3QsCIxLjAsBgNVBAsMJdCS
0ZbQtNC00ZbQuyDRgdC10YDRgtC40YTRltC60LDRhtGW0ZcxCzAJBgNVBAYMAlVBAhRS2x0HAAAAAAAAAAAAAAAAAAAAATANBgsqhiQCAQEBAQMB
AQRA90SdzSOm5sxQwfV+rAkOXVc52wc2FTGohrGpZXIF2wh/00ZkSGqbKrbwOgdZ+7B741OioWoaPiFcxxHbDz88Pg==
"""
)
"""A signed command without a time stamp: official sample of the tax service's documentation, text of 08.08.2025."""

_PACKED = zlib.decompress(
    base64.b64decode(
        """
eNrtXAdcU9f3JyEsGQ7cCgYQB5rkvpVBIRAyFEWwrArW2pChKAJliKWtlVhxolZtsbVacFutA0dVqiJaqiiYqHUrqPBDVBCpe/z83xcSSBDXr5O/j8/n
6bvnjnfOvefd+z3fJAdoOj+wtvPKHJx535FmQ8/RdK4Gms6VdBoNcQIO1m28MnvDexqNTgMaq+qmlrQcjdU5hsbqlI/fpAlxzImqpOTYhHhfd4QN3Jmq
eEWCMjZ+jK97Wmy8MiEtmYWgBOLuJ3Rs4yMeLBUPZcI+8cnek5Jjfd3HpqQkenM4aWlp7DSMnZA0hoMCgHBGDAsKU4xVTZCzYuOTU+TxCpU7E7b3jk8I
lk9QJSfKFaqG+qAEhTxF/2xYVIwHCHtSstIdPorJbHjYYKlIoi9CgSREHB41XCoEPhzjbVNNWESASaWxZKiPCJQIUUyC4wK+mIVLkQAWjosJlkjMw1ky
nBtA4EAkEYkEPhyypaFTeGCwEAF8AfnnwyFLhorA4U0VDZWkxFAZEjooeJgwRZWc4sNpuDdUDA8JDA6HxWO/11yvZ1aV37qxtaKmsqbmmQ/HWGXaUiSR
hApPFGsLNpUUDGQWFB4vLSk9WlLA1P6iO3Zi/5G84gJmsfbQUebpyrqarVe3XnlyvZxZe/kG+zb7TPnl8hvXarZeMQysH6lRO4k0VCIKlwpRBPBQgAJS
S6PMtFF44DAptBLjoaihiV5i2iQ4YpgQxXFDNVky1IpFYYMl0rChpAjx4ZgWTVqESgcFhoU3dMSB4c/Q3LTOpEugNFSou3azFs7b9VpmYfmNypr6azXl
zIKairrKyis15Q29yWaGXpHwFo4ZaZDAejOvanCy8JBwUZCxRxhpFcEGcGbCDE839Gpq1tBtuCjK2Ck05D0mvKC68C1yN0jJpRRFyUJCh4klpF82FZrX
w7U/UHo8r7C4oLFVozu0rFJD79CQyECJVGKsbCwbtOJAlUwNMCpssFo04lXqG98ok3cJSoNF0BGOHSz04ejvGuVB0nC4ZEJog+HORFGxEAUGHcUm40eE
BoeQa2MwoLFsZjrORnimlj9nl9GSBrsCQiSvXBdxiAR6N+ls5I25ZUfK6yubmxYRHEi+oCgBmDdvsOE20VBurBcNC4kIDhfCDZQ0w1AyMT9QLG1aJLLQ
bNLCmmYtzFTLsHBjN/39C+w3WGwoCeHungc3/I3wisyxpNPo9I6h511sLMz/aMDR2t54QljS4BFB64mMBFHWlhEMS4dQ7Xztam2u9lumdrl2mXYB0x0W
t2v36DS6KUxdhna7bopOo92p+0L3tXa3drMuU/e1LpsJb/N1c3XToTAP9lih3a2bAiuztXu0m92R9qAtObiNg632W9g1W5uHdANdSJGVQ7sIEQvj8rkE
j8BYAEF4SCgYTla1cQj88zRgg4HkmPYOntoFsMU27Tb4b/4LR0PsgR3Z3tqBHiECrl0cEQGCwgsgBEFEd3FEEVjkowghIATRcP6UiAj4NcwfH87dTu3P
2r3wwVBpOOZepnaBdrM2v8EGWAk1YsJZ3gOVmAKF27V5pAjpDro2zFJ7Ui3YHnb8VrtYO127QH+qw7r2DlYAhxs4IgEBZNnO4R1tnm4qbLsTKj6PqV0E
O26FEzUPWgUnQpehm0NaNZCp3QKbbWMzEQ4CC3t1X8BbZCDwIkdxcPDQLoQKwyfqVdmp3aVvr5um3UoqDpWGs4T0AN3I1gyHDs+baJxgL3KCX8fYjqBD
w/rbNx6oaADSFrqmfumtoSXZ2o3m6yADruaO29ba0aRIt7bsbcFw61J1pG7jVAf7syz/2ZfuHvphSLuwQo/ppxbP776gbt2MH4S0FRo6H2joOBDDoV3s
GD7AG3S3djCMZE9j0GlIG2dbo16gp2kdRFgOzm2adIYqwUHaM7qAThnOyvTU0Yh/bHyKKi5ZlTSRrUiYAPqT9U4MdwYzsIpxxGGD7M7D9cOyXA8UeVXT
2jiU2pz+rbbW+lyN47UYMIBs6sHoDdynMBcVvZeWNGy9g/vs8RN2u1yM+cBm4q3oL4ccrtx5ICXvk64fACeycVsa7RmDYUm3KND7josno73JpNh/WZwV
RdevmguTbAmnF9iTaFBfTadD5W0HWNOsrGzI+XuungYwsiubAf0E9Mvpk9M704j7UuXjVR+T9rFT5Zy42OQUllIVlyJnK5LiAIvs1IvRB0BDcpg5rpk9
X9RJ39y3UQd7BgI4sLuhDCwz3VrqSU5trEKVzElJTuSACY3daQw5GG3Snd5yd31BoUpKYSfyYgC7sTmtZeMan5agIB9nvnVaii0Y/jg3/dLj+1+jx+ds
Dkq7ue34UquTJXO8kexhVr0lE2Y/tnqkPvvFTk/pCD4YErM0CrxzdLPFg361+xZe7MefUbbxmTWisR8ANPZ94aA5r+MmZvg+R0O7BDiNCN+OgcAhrp76
rfrUhqdAMMujz27LSNmw6e/7njzNZlrluNr3z9hcDZ2lsYMlYm8SH8C9bB5pYUNdOzoH0dAmQ2E6vCbCK8n86Qxm3fXTSxizP+jxuPe0qRUhC74D30y/
UpSoWMPr7epx6dw6OewjhFfvlRoakzpoXn7QvNZpzfC3/HBTm6VXF5R22p663ibqQor1sg5H52vTx/rMKwqaG3zYL2j9bXnVheGxPxZWVfzmPeKXLmE2
j/MXvZP4WFw96uzFR3a5Gtt8oLH9yXSdnRCN7WooXG4WVdouhKJ5dJrlc1HlOJPONEbOSEYUeA/WGV8mS1sIh5p5yr5bvbK82eWnluQ+s1irqf3IZ+XO
/HkVy56M73r8VtixBH+6lcXRLt59urYlgxMYosAwBcYg/GgIavZCQLMbXlwDqPH9SfhJ3W+peXRyfuD1Bbyag5qMR4gf3Fv068vVfgcnfQ+c8IyGs0z/
fx48YOFCZuhXxbC2pqu5E4HbUcNi9oO+uk37c9Mg+kYaeI5OYWozoffkMqHrZGuXIYFgUIN7+zf5kv4MnWM8WH+CPTPg0QydAzrRVKiGWTUcUn/q7jH3
XDJCIrgoykIB9Fyj1zhDr2nB6fWIhQfVRxAY+QJAIhbUpAhfRBYSBxdRr6kiPGw4q8FBoTLbSZP+yTcT/TdCwIx6kHG4mYPtAqnAhk4nvduBToPIo93e
q+fHXV/WK/O9OdL9noueLfJYtOY0/2HXyapOtKRFd0ppdDeLKc1e7zFRbt63NdXTT1xO6zj/s0GODLcdbY+fuXBtHe5R1K5H8ZcH0y0mxwH7PiURcUuc
PmPe6u8FT5x1p25Ib/skaqYc/PoTj14f/HhvxI2VBbz+Lvyz4+s8i4O7PKhOcizqtM27X/Zo+/2XVij525XXB3b5XttBOGHno18+ZuhxkvuWxcWeSl45
KwLLOvlIQ7+qG+mcl9i77PDDJWUj7KLOWqzQ0H6BnrLfHGpYF4DOeqhBlh1AG5NX/g8AjSaUpL55Y64y4kyA4EjZ9vTL/P9m8y5Y3hpXddouY6CtW7pn
if6VdGnH6Af65LQnNwszR8/Vi8yd3RRW7THsHIPpk3yXWa0bnj1xf+r9DRkTU2xtvk7HmR31MNvFmdSRDiz0IBtCmXeAAPByiBwsEzFABEV6AntMwkQS
ICgT0uLjEuRKDgQzyRxxdIj+FWXJUuPi9PhG3IChSJTJz+Hm4Jnoa48hacRUPiYoBwDSlZtgC/P58V4OWhIsGHHYXWlnpGKP+km3tQFYyeZLvLXT+oRn
rxrnWPi0ytfCMnXwOFlMcjfhzo6hnsUL+m+dNbn85uX+tgMy/tNu7ZN23w2477eTs3mfm32af1H76rv/sUhmXp7Qtjruq4eLb0aWbZp/024HC3X9cPSA
6IMPB9kiGvoQCLhlBoDzyhVuDnB+fg7gpIyq2qSt6bN6zFK/cV36bVghqSs5f/Lu/acD7AcM3F1/XADxvAnAcTQ7rKBLj28OccgdMRJeofAKbn5wFc8X
2+Wv7nx+Drdec6zSeeMTjdf3Y/NS3HOs14kCsuuLYZ/u8LJYmfH0rT51XutcZvhbLfctu1Z0b0tFiFdMIJp/8eiuHz8ccrz/0OVr7l3bKPyxl8WYLbvd
Ujr93GbnuJlzaztPSh4bdixX0qekYunimWXlI/oDTWdfc+6bDUVeLXPfbHPuuxdDY9XjTbnv6FDp8L+G+k5PUiWaMd/ko0yJb5KUJsQBYgGX4LNkPJ6I
hUt4CEuAowhLLOXxEQIRyGQ8ir5+jr7GMUzw/4q+NnMNvaOESkVBgdGm7DUBmlHFDfaGiYPDhUYyX18wLlgD42xCPL6ANn01of26lPaLNDUlN8n7Zqr5
hItGSF9LzxaZ6xdz1y9jr1/MX5sy2AZTnmOwDZby2Rj+MkObDGtYY5NV1a+yKakdJg2NDBRLA4OHR4QLDTNoKjJvFhIR/lw7g6zpcY0MMlmgCGSKQKYI
ZIpApgjkt5xAXpt92aVPYedVh+8X1XfPVZblX7+6yTMl453hknMWv/d+4k4RyK2ZQPb+tHC0NtWjh4Lv5elR9t2OwoUOyZcwu/ZDb9FPsH53Z1/suvYT
7y2D+vSVOWt3J1aucnn/p4XXwhg93mP369T3pjzyHyKQ1YfxTbk5yy+suGdz6PcZTo7/PTHmfLcb69FbHmP279o5LZ9uZVGkNCeQcRwgFIFMEcgUgUwR
yBSBTBHIjQBnkHjZhawdVl8EzNj6qGR20JERF7cuuV7p2CVFcClGeinJiSKQ/70E8qqDS7bWOuV2AIVKt5JDMx+fvPrRxYNH3E9aLt0ZGdHjW++Hjh4O
cx7GvBtTu6dsVPf28+996jHPOmTuNzdO2s3fF1tkt9sZDqpx3mGGVJzXQNGKFklky0/MSGTLOIbGcmzr/AI1AtDnvkJNMscCTAQQKS5jYTIRl4XLuAEs
AVcG9w8uGoBJpPwAHir9+zjm+srb9b9fKX9Nivkmm1l8rfLKQGZBRV3l7fKXkscICjC4uyMvJ495BEpgLyOPET7GfTl7zH0T9hglV+UF7HGoNDJkqDRI
FBYeEhwUGCyFiydUy+OSVT6clqqacc4Hf730HLMcFDIoJCI0SEg6YDL0wBT5JOOuHztBPgbu+fGqtNFxCWMS2InxY3w4xvYtE9ONMycaoafVEYSPshG2
gGicIUONsbFMRuoqTElKhSYYS89/Q7vpK62MMqBhnIfXVAN473eBYiT/REYSxkmC5xjJjG1GKs2ykUr7++lFwyRbOTRyaX8KwRd2pepyedne/jenpY+0
nrE9daBuXdGj0MXHltaVcr76xlEFgSu9M8QbHYBnA8HnCnq+lOB7fQoveXOyZ15aXN89ybXnrhWW76g5qqpeZtn//gh89EViZUr1H6PwOjZQeKbQ2NKO
ou/+Yvrue1rq9R9mXuvm/mFG1rgDtdZIgeTHnypT94nc84sLp1xPDArtIR22/El01p6SINeRllvUS+uSynuGXBUdR0PWtPWB8NHeC2js+xjQ7Std5NX0
3cZzg+7Qip8FOcflP7o54YT/uJSq6h0nRs298snSJ10LrJL/RPruYURhJ3e/PYurPr/UMyl81rmVwiGhcaoZN8I76DaMn7f1BEXfvQl99xpHG8Nf431a
Oyv0dqbd2HORI+PlKfv6o9EFoVMuHIku3fKeX/tuA6yTLhU/fdb2tnCwr9eZze1zyrd+NvGEfdyHe0cFrdL80jVXY7sbaGx3NKfvVkFhrjl9twCK5rZE
38Wa03fRjBEg8hX03Wln/223r6zPmt6df9W/VHPh/XzWt2Om7Xv4Pud+Yvzvwjw6Y5IP6q2PvhGAwcOIIAgMo9g7ir2j2DuKvaPYO4q9a8Q32KPzbt9l
VW4e0Ldv1Mdp44850B58/g1DZD/xqYOjZsuevRR79+9l7/JTRR24PnMORNjVtO19dpt/0KpNP9JHO3S1vOT73YyPS+w7yx4VYuwzjLXfcRDBHadxh0uj
v5qW1cnGTsd4dmRvQUpRG5K9a1NoBlTabIWiTS2zd1Jz9o7L0FiirZW9Ay2ydyIJIQuQiDEWLsAJFi6G/wQgPIIlxQCCcWVcqUCMUuydKXvH+5vYu3+Y
h0PZPB4Po3g4ioejeDiKh6N4uFfxcPQ46G1j/zwebkNwduruQ194x84qn9Gz6G4714+e3by4/mFWPdL2DMPV+TbFw7VmHi4k/fycqKwl74zKXNz2SM9Z
D1b0O3A6ZOK9XhZJiz4NOr/NbdSJ7WMn1XXOrP717M9uVwds7LWka8CKiWtq6LL45f3yZkepnEgk6yQ3Q7JOMAZxCm4RyVpXmCFZ698YGmvd25TIC5Hw
xQQmRVl8MV/CwoFYyhJICZzFBTyCLyBEOE9EvE04F3t5hi6Ic/lvB87F2AQf8N4Q5+p/3SONhK42GCoshLGTgKvAUEwFAIap1QpErSS4MQJ1TIxaBdQK
Lk6WoJ/J5XxUpZYjfIVKrYzh8kGMUsUTcMkfCDWN9gYpx5r9FOrfkHKspV9nNaYYI0BLKcf0X1UYJgoMDjP84MhYanUZyV70ey7jr7mwvyQjWfOEZAGi
UL0A55J0JhduyYAHPdwoNp+A4to7lUz3+5V1NeXPmNfL6+rL3V+Qx+z61f8xh1njqr9ZDjNDtzfKYUYFmlSgSQWaVKBJBZqvHWgO/69CVJF+7bMtHpVD
T47QuZQuzS74Kvbw6ZCwiZvTPJ2lVKDZmgPN2oqBflO7TfGMnryW+9ud0linH/3fd9sf5XV2Q9nlXVN/cul5/4rrojPVv3KSus2bPCMyYkhbQVX8zKL8
8UEsu6/WtrGhAs03DDT5UoEECSAAC0MQKQsnZBIWXyBGWWJ40EmlfBFPxsfeqkCz8QOTFwWagrcj0MTZPPyNP1BpFmgSmBzgyhg5X6DmYSo5ygMw7oSh
JYLhmErAUypUMQI5iioBnHeeio+rcEDwYlBcBRC4WLicCjSpQJMKNKlAkwo0qUCTCjSpQPNvDTSXhCRWWf7k3edpRfGEtfh8u+8ju33Tbuna/j1KFhcn
9fTKpQLN1hxo/up3MulTdre0sx8/2MLzmTDvanrGtrEX1rEXHdg1Nnr5vMFoXWbfkIioTbfmdCf6BM70Oy7J22Jx7t0Mt8lXZrT5Ns/H1ZEMNB27mwWa
jvZQZNNyesal5ukZ5zI0VrNaWXpGPiACBAJUzBKIuDgLFyEoiw/EOAtgEkCIZFIZX/ZWffkOw7kvjxVx8C+IFV8n2CPYfD6C/8FPFdVyFY9Q8REE4XKx
GLVcSaB8HEoFcoGSp1byQAwmwPkw0FPG8AkAFBjgcwWokgvdESiUoKVg73UyQSKg1aSCfF7V1psL0mjLi5JBIlw2l9uKskFSERIVIVEREhUhURHSa0dI
i2cejne88KSwtCTufZsVv+pyZ552eDewPnyiy0O50yrraipCas0RkrYk/8uZ6Xi3FJ/ei88W24/uWPpzdqn1/qfJcd+3bT962/ga548+VdfW37/4KElr
nfjfVeWczIcz7yzUpvbornw3qMy2rz0ZIdl7mEVI9h2hqF3Lv15abf7rpWyGxnJha/31EtLir5cwGRcjJJiAxYNnIAtHuARLAKQICwBCjOB8XIJK+VQA
ZRpAIW/Hh21cNsLD/mD8RfBUCqUCU8sxQYyCUMCdR6nGEEAghErAxZQCgRwnQy+FXKHE1RgXCHA1LlCgalTNUyBKuepVH7ZRHyZQUJmCyhRUpqDy/wCV
92y41auakTriomhL98mjuBZLqn7xZf7QDrNd4Ofqlt/rKAWVWzNULjvGiNydG5sa5Mjotwb79PABbMFqpk1scjq2VuX1JFc97NQut7u7LHQfT7H5zGVJ
+4yACruOdKcFtx2EqY9Lb00YebUhTWeZeZpOLRQdbRkqrzSHyl9BqPxla4XKWItQmcAwGR4gw1h4gASwcAJwWSI+H2HJxJgUE8sASoikFFQ2hcro2wGV
eWz8DwJlLh9VqRAVgXBxQUwMiuM8VImouXCOCQidCaAGcihTqglcrkT5ihgeAXGyClPI+TEKXK7mU0CZAsoUUKaAMgWU/4J8nicY9Ge4IEvb617Z/Miz
VpWbbn0+KnHyyrQF+zpqOu6XZVNAuTUD5c+sY5Z3H36+m9JPetVFEn5lqOcpm9qx9w70lFRuyE7f5Wo5JN7+ODr4QoGrk9PptSt8PxKWj17C+mQFX007
tC7lYOI/lM9TmPQufWyk8P12Rdl2q4+sPLrH+YPIa2cKF94adveU5stN9XSGxLd5Pk8cUPk8qXyeVD5PKp8nlc+TyufZiG8yvo3g7VvygU+wc//wrFkj
WRtnA8GxTZlTD3wufoyqH/hT+Tz/vfk8R7Om/BBrlRRRkccYWnXY+/qc7e3uP+a5jvywff12l5/HxOlSRIMqvDMP9k/rOjBv1S+DGDb3Vp94dGjuuNCQ
zPLTWR/8H2xi5U0=
"""
    )
)

SALE_MESSAGE = _PACKED[:5884]
"""A signed receipt with a time stamp: official sample, as above."""

Z_MESSAGE = _PACKED[5884:11581]
"""A signed Z-report with a time stamp: official sample, as above."""

OFFLINE_PACKAGE = _PACKED[11581:]
"""The official offline package: seven signed documents, each after its length, little-endian; 1 and 7 with stamps."""

SHA256 = {
    "command": "3e3f2e50c6e307e40e00c513a0e40cef9166d27d8381f62e94bfd7bfb5bce605",
    "sale": "bce179be57243d4f9fe616edca3df8ef8446c2fb2363189757f4f93e7817c8bf",
    "z": "535fa9b0dd0748bc5303a53704d3941c6d40b7a791994bf043d444b1710353d3",
    "package": "dbb7c50d6dafa82737cb5c62bbd7bd274362dba9d7de3439935fca968a11c8f0",
}
"""Hashes of the official samples, so that a mistake in copying them shows."""

"""BouncyCastle and asn1crypto check our messages, and we check theirs.

BouncyCastle needs a Java and its jars (Debian: ``libbcpkix-java`` with a runtime of Java 17 or later); where they are
missing, its tests are skipped and say so.
"""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from asn1crypto import cms, tsp, x509  # type: ignore[import-untyped]
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal.crypto import der
from protocols.fiscal.crypto.authority import Authority, stamp_answer
from protocols.fiscal.crypto.curves import NAMED
from protocols.fiscal.crypto.dstu4145 import PrivateKey
from protocols.fiscal.crypto.gost34311 import digest
from protocols.fiscal.crypto.key_formats import write_public_key
from protocols.fiscal.crypto.signing import sign, signature_of, with_stamp
from protocols.fiscal.crypto.timestamps import ask_for_stamp

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
JARS = [Path("/usr/share/java") / name for name in ("bcprov.jar", "bcpkix.jar", "bcutil.jar")]

JUDGE = """
import java.io.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.*;
import java.util.*;
import org.bouncycastle.asn1.*;
import org.bouncycastle.asn1.cms.CMSAttributes;
import org.bouncycastle.asn1.ua.DSTU4145Params;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cms.*;
import org.bouncycastle.crypto.digests.GOST3411Digest;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

public class Judge {
    static byte[] hex(String text) { return HexFormat.of().parseHex(text); }

    static byte[] digest(byte[] data) {
        byte[] packed = DSTU4145Params.getDefaultDKE(), sbox = new byte[128];
        for (int i = 0; i < packed.length; i++) {
            sbox[2 * i] = (byte) (packed[i] >> 4 & 15);
            sbox[2 * i + 1] = (byte) (packed[i] & 15);
        }
        GOST3411Digest digest = new GOST3411Digest(sbox);
        byte[] made = new byte[32];
        digest.update(data, 0, data.length);
        digest.doFinal(made, 0);
        return made;
    }

    static boolean signed(PublicKey key, byte[] data, byte[] signature) throws Exception {
        Signature judge = Signature.getInstance("GOST3411withDSTU4145LE", "BC");
        judge.initVerify(key);
        judge.update(data);
        return judge.verify(signature);
    }

    static X509Certificate certificate(byte[] data) throws Exception {
        CertificateFactory factory = CertificateFactory.getInstance("X.509", "BC");
        return (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(data));
    }

    static boolean message(byte[] data) throws Exception {
        CMSSignedData message = new CMSSignedData(data);
        SignerInformation signer = message.getSignerInfos().getSigners().iterator().next();
        X509CertificateHolder found = (X509CertificateHolder) message.getCertificates()
            .getMatches(signer.getSID()).iterator().next();
        ASN1OctetString stated = (ASN1OctetString) signer.getSignedAttributes().get(CMSAttributes.messageDigest)
            .getAttrValues().getObjectAt(0);
        boolean content = Arrays.equals(stated.getOctets(), digest((byte[]) message.getSignedContent().getContent()));
        byte[] value = new DEROctetString(signer.getSignature()).getEncoded();
        PublicKey key = certificate(found.getEncoded()).getPublicKey();
        return content && signed(key, signer.getEncodedSignedAttributes(), value);
    }

    public static void main(String[] files) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        for (String line : Files.readAllLines(Path.of(files[0]))) {
            String[] part = line.split(" ");
            boolean good = false;
            if (part[0].equals("message")) {
                good = message(hex(part[1]));
            } else if (part[0].equals("certificate")) {
                X509Certificate own = certificate(hex(part[1]));
                byte[] value = DERBitString.getInstance(new DERBitString(own.getSignature())).getOctets();
                good = signed(certificate(hex(part[2])).getPublicKey(), own.getTBSCertificate(), value);
            } else {
                X509EncodedKeySpec spec = new X509EncodedKeySpec(hex(part[1]));
                PublicKey key = KeyFactory.getInstance("DSTU4145", "BC").generatePublic(spec);
                good = signed(key, hex(part[2]), hex(part[3]));
            }
            System.out.println(good);
        }
    }
}
"""


class BouncyCastleTests(SynchronousTestCase):
    """BouncyCastle accepts what we sign, and refuses what was changed."""

    if shutil.which("java") is None or not all(jar.exists() for jar in JARS):
        skip = "BouncyCastle is not here: install libbcpkix-java and a Java runtime"

    def judged(self, *lines: list[bytes | str]) -> list[str]:
        """What it says of each line."""
        folder = Path(self.mktemp())
        folder.mkdir()
        source, cases = folder / "Judge.java", folder / "cases"
        source.write_text(JUDGE, "utf-8")
        cases.write_text(
            "\n".join(" ".join(part.hex() if isinstance(part, bytes) else part for part in line) for line in lines),
            "utf-8",
        )
        command = ["java", "-cp", ":".join(map(str, JARS)), str(source), str(cases)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout.split()

    def test_all(self) -> None:
        """Messages, stamped messages, certificates and bare signatures over all named curves are valid to it."""
        authority = Authority(NOW)
        cashier = authority.cashier("Касир", "12345678")
        text = "<CHECK>Каса</CHECK>".encode("cp1251")
        message = sign(text, cashier.key, cashier.certificate, NOW)
        token = der.parse(
            stamp_answer(ask_for_stamp(signature_of(message), 7), authority.issue("Stamps", stamps=True), lambda: NOW)
        )
        lines: list[list[bytes | str]] = [
            ["message", message],
            ["message", with_stamp(message, token.children()[1].raw)],
            ["message", token.children()[1].raw],
            ["certificate", cashier.certificate.raw, authority.root.certificate.raw],
            ["certificate", authority.root.certificate.raw, authority.root.certificate.raw],
        ]
        for curve in NAMED:
            key = PrivateKey.generate(curve)
            info, signature = write_public_key(key.public()), key.sign(digest(text))
            lines.append(["signature", info, text, der.octets(signature)])
        wanted = ["true"] * len(lines)
        # So that a judge who always nods is noticed.
        lines.append(["message", message.replace(b"CHECK", b"CHUCK")])
        lines.append(["certificate", cashier.certificate.raw, cashier.certificate.raw])
        lines.append(["signature", info, text + b"!", der.octets(signature)])
        self.assertEqual(self.judged(*lines), [*wanted, "false", "false", "false"])


class Asn1cryptoTests(SynchronousTestCase):
    """The library asn1crypto reads what we write as what we meant."""

    def setUp(self) -> None:
        """A cashier."""
        self.authority = Authority(NOW)
        self.cashier = self.authority.cashier("Касир", "12345678")

    def test_message(self) -> None:
        """A signed message has content, digest, signer and certificate where the standard looks for them."""
        message = sign(b"content", self.cashier.key, self.cashier.certificate, NOW)
        data: Any = cms.ContentInfo.load(message, strict=True)["content"]
        self.assertEqual(data["encap_content_info"]["content"].native, b"content")
        self.assertEqual(data["certificates"][0].chosen.dump(), self.cashier.certificate.raw)
        (signer,) = data["signer_infos"]
        self.assertEqual(signer["sid"].chosen["serial_number"].native, self.cashier.certificate.serial)
        values = {attribute["type"].native: attribute["values"] for attribute in signer["signed_attrs"]}
        self.assertEqual(values["message_digest"].native, [digest(b"content")])
        self.assertEqual(values["signing_time"].native, [NOW])
        self.assertEqual(values["content_type"].native, ["data"])
        bound = values["signing_certificate_v2"][0]["certs"][0]
        self.assertEqual(bound["cert_hash"].native, self.cashier.certificate.fingerprint)
        self.assertEqual(bound["issuer_serial"]["serial_number"].native, self.cashier.certificate.serial)

    def test_stamp(self) -> None:
        """Question and answer of a time stamp are those of RFC 3161."""
        question = ask_for_stamp(b"signature", 99)
        read: Any = tsp.TimeStampReq.load(question, strict=True)
        self.assertEqual((read["nonce"].native, read["cert_req"].native), (99, True))
        self.assertEqual(read["message_imprint"]["hashed_message"].native, digest(b"signature"))
        stamper = self.authority.issue("Stamps", stamps=True)
        answer: Any = tsp.TimeStampResp.load(stamp_answer(question, stamper, lambda: NOW, 5), strict=True)
        self.assertEqual(answer["status"]["status"].native, "granted")
        info = answer["time_stamp_token"]["content"]["encap_content_info"]["content"].parsed
        self.assertEqual((info["gen_time"].native, info["serial_number"].native, info["nonce"].native), (NOW, 5, 99))

    def test_certificate(self) -> None:
        """A certificate of the test authority has the extensions of a real one."""
        read: Any = x509.Certificate.load(self.cashier.certificate.raw, strict=True)
        self.assertEqual(read.subject.native["common_name"], "Касир")
        self.assertEqual(read.key_identifier, self.cashier.certificate.key_id)
        self.assertEqual(read.authority_key_identifier, self.authority.root.certificate.key_id)
        self.assertEqual(read.key_usage_value.native, {"digital_signature", "non_repudiation"})

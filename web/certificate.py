"""``/dm/api/v3/tls``: how the certificate stands, and taking a new one without waiting for the next look."""

from __future__ import annotations

from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.certificates import BadCertificate
from dmtwisted.results import Refused, Res
from dmtwisted.tls import LiveCertificate
from web.answers import error_answer, json_answer, language_of
from web.management import answer_errors


class CertificateApi:
    """The certificate of a service that speaks HTTPS."""

    app = Klein()
    answer_errors(app)

    def __init__(self, certificate: LiveCertificate, default_language: str) -> None:
        self._certificate, self.default_language = certificate, default_language

    @app.route("/dm/api/v3/tls", methods=["GET"])
    def status(self, request: IRequest) -> bytes:
        """Names, issuer, days left, and what to see to."""
        return json_answer(request, 200, self._certificate.status())

    @app.route("/dm/api/v3/tls/reload", methods=["POST"])
    def reload(self, request: IRequest) -> bytes:
        """Take what the files hold now; 422 and the reason when it cannot be served, and the old one stays."""
        try:
            self._certificate.reload()
        except BadCertificate as error:
            refused = Refused(Res.MALFORMED, str(error))
            return error_answer(request, 422, refused, language_of(request, self.default_language))
        return json_answer(request, 200, self._certificate.status())

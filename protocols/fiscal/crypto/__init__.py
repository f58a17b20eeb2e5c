"""Ukrainian cryptography of the tax service: hash, cipher, signature, signed messages, key files."""

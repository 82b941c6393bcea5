"""The README's nginx example as it stands there, on free ports and with its own certificate."""

from __future__ import annotations

import datetime
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.deployment.plain import listens
from tests.deployment.readme import blocks, installed
from tests.processes import PATIENCE_S, free_port

HOST = "chat.example.org"
FRAME = """
user root;
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


class Nginx:
    """In front of the processes on these ports. `changes` are made to the example first."""

    def __init__(self, folder: Path, ports: Sequence[int], changes: dict[str, str]) -> None:
        self._program = installed("nginx", "nginx-light")
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.certificate = folder / "certificate.pem"
        self.access_log = folder / "access.log"
        self._config = folder / "nginx.conf"
        write_certificate(self.certificate, folder / "key.pem")
        (example,) = blocks("nginx")
        servers = "".join(f"    server 127.0.0.1:{port} max_fails=0;\n" for port in ports)
        example = re.sub(r"(    server 127\.0\.0\.1:\d+ max_fails=0;\n)+", servers, example)
        for old, new in {
            "listen 80;": f"listen 127.0.0.1:{free_port()};",
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            f"/etc/ssl/{HOST}.pem": str(self.certificate),
            f"/etc/ssl/{HOST}.key": str(folder / "key.pem"),
            "/var/log/nginx/typeagent-chat.log": str(self.access_log),
            **changes,
        }.items():
            assert example.count(old) == 1, old
            example = example.replace(old, new)
        (folder / "site.conf").write_text(example, encoding="utf-8")
        self._config.write_text(FRAME.format(folder=folder), encoding="utf-8")

    @property
    def address(self) -> str:
        """The name and port by which a browser reaches it."""
        return f"{HOST}:{self.port}"

    def check(self) -> str:
        """What `nginx -t` says."""
        done = subprocess.run(
            [self._program, "-t", "-c", str(self._config)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    def start(self) -> Self:
        """Starts it and waits until it listens."""
        self._process = subprocess.Popen([self._program, "-c", str(self._config)])
        deadline = time.monotonic() + PATIENCE_S
        while not listens(self.port):
            assert self._process.poll() is None, "nginx has ended"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return self

    def stop(self) -> None:
        """Ends it, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)


def write_certificate(path: Path, key_path: Path) -> None:
    """A certificate for the example's host that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )

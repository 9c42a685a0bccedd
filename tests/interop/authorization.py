"""Checks of authorization with a real authorization server: logins in the browser, machines, renewal, more scopes, and what is refused.

The authorization server is servers/issuer.mjs, the server that wants its tokens guarded_server, and the clients are mcp and interop_login.
A person stands behind the browser (person.py).
"""

import http.client
import json
import os
import re
import shutil
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator
from urllib.parse import urlsplit

from harness import DEADLINE, Check, Failed, listening, run_program, short

HERE = Path(__file__).resolve().parent
KEY = HERE.parent / "data" / "keys" / "p256.pem"

# By what it says itself a token is over before it is given out; servers bear with clocks that are off by a minute, so it is good for this:
GOOD_FOR = 8  # seconds
SOON_OVER = ["--really", str(GOOD_FOR - 60)]
NATIVE = {"application_type": "native", "redirect_uris": ["http://127.0.0.1/callback"]}
MACHINE = {"grant_types": ["client_credentials"], "redirect_uris": [], "response_types": []}


@dataclass
class Programs:
    examples: Path
    issuer: list[str]

    def at(self, name: str) -> str:
        # The tool is no example: it lies beside their folder.
        folder = self.examples.parent if name == "mcplink" else self.examples
        return str((folder / name).absolute())


@dataclass
class World:
    """An authorization server, a server that wants its tokens, and where one client keeps them."""

    check: Check
    folder: Path
    programs: Programs
    issuer: str
    server: str

    @property
    def store(self) -> Path:
        return self.folder / "tokens"

    def mcp(self, *words: str, person: str = "grants") -> tuple[int, str, str]:
        """Exit status, standard output and standard error of one run, in which a person sits at the browser."""
        where = ["--url", self.server, "--login", "--tokens", str(self.store)]
        return self.run([self.programs.at("mcplink"), *where, *words], person)

    def login(self, *words: str) -> tuple[int, str, str]:
        options = ["--person", str(self.folder / "bin" / "xdg-open"), "--tokens", str(self.store)]
        return self.run([self.programs.at("interop_login"), *options, *words], "grants")

    def run(self, argv: list[str], person: str) -> tuple[int, str, str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        env = ["env", f"PATH={path}", f"SEEN={self.folder / 'seen'}", f"PERSON={person}"]
        status, out = run_program(self.check, [*env, *argv], self.folder / "pids")
        return status, out.strip(), self.check.stderr

    def pages(self) -> list[str]:
        """What the person has seen."""
        seen = self.folder / "seen"
        return seen.read_text().splitlines() if seen.exists() else []

    def told(self) -> list[dict]:
        """What the authorization server has done."""
        lines = (self.folder / "issuer" / "server").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def done(self) -> list[str]:
        return [each["what"] for each in self.told()]

    def kept(self) -> dict:
        """The tokens in the store."""
        return self._tokens()[1]

    def make_due(self) -> None:
        """Has the next process renew them before its first request."""
        file, tokens = self._tokens()
        file.write_text(json.dumps(tokens | {"renews_at": 0}))

    def _tokens(self) -> tuple[Path, dict]:
        found = [(file, json.loads(file.read_text())) for file in self.store.glob("*.json")]
        (tokens,) = [each for each in found if "access" in each[1]]
        return tokens

    def ask(self, authorization: str, server: str | None = None) -> tuple[int, str]:
        """The status and challenge of a request with this field."""
        url = urlsplit(server or self.server)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=DEADLINE)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        try:
            connection.request("POST", url.path, body, fields | {"Authorization": authorization})
            answer = connection.getresponse()
            return answer.status, answer.getheader("WWW-Authenticate", "")
        finally:
            connection.close()

    def wait_until_refused(self, token: str) -> None:
        give_up = time.monotonic() + DEADLINE
        while self.ask(f"Bearer {token}")[0] != 401:
            if time.monotonic() > give_up:
                raise Failed(f"the token of {GOOD_FOR} s was still good after {DEADLINE} s")
            time.sleep(0.2)


@contextmanager
def guarded(programs: Programs, folder: Path, issuer: str, *words: str) -> Iterator[str]:
    folder.mkdir()
    with listening([programs.at("guarded_server"), "127.0.0.1:{port}", issuer, *words], folder) as url:
        yield url


@contextmanager
def world(check: Check, folder: Path, programs: Programs, *words: str, clients: list | None = None) -> Iterator[World]:
    for name in ("issuer", "bin"):
        (folder / name).mkdir()
    opener = folder / "bin" / "xdg-open"
    opener.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "{HERE / "person.py"}" "$1"\n')
    opener.chmod(0o755)
    known = folder / "clients.json"
    known.write_text(json.dumps(clients or []))
    with listening([*programs.issuer, "--http", "{port}", "--clients", str(known), *words], folder / "issuer") as url:
        issuer = url.removesuffix("/mcp")
        more = [word for word in words if word == "--dpop"]
        with guarded(programs, folder / "guarded", issuer, *more) as server:
            yield World(check, folder, programs, issuer, server)


def expect(seen, wanted, what: str) -> None:
    if seen != wanted:
        raise Failed(f"{what}: {short(seen)}, not {short(wanted)}")


def expect_in(part: str, text: str, what: str) -> None:
    if part not in text:
        raise Failed(f"{what} lacks {part!r}: {short(text)}")


def expect_said(done: tuple[int, str, str], *lines: str) -> None:
    status, out, err = done
    if (status, out.splitlines()) != (0, list(lines)):
        raise Failed(f"exit status {status}, {out!r}, not {list(lines)}: {short(err)}")


# --- a person logs in -----------------------------------------------------------------------------------------------------------


def logs_in(check: Check, folder: Path, programs: Programs) -> str:
    """Registers by itself, logs in, and renews the tokens when they are due, in other processes and in both eras."""
    with world(check, folder, programs) as it:
        expect_said(it.mcp("call", "whoami"), "ada")
        expect(it.pages(), ["login", "consent", "the end"], "pages")
        expect(it.done()[:3], ["registration", "authorization", "authorization_code"], "the authorization server did")
        told = it.told()
        expect(told[0]["kind"], "native", "kind of client")
        expect(told[1]["scope"], "files:read offline_access", "scope")
        expect({each["resource"] for each in told if "resource" in each}, {it.server}, "resources")
        before = it.kept()["refresh"]
        it.make_due()
        expect_said(it.mcp("call", "whoami"), "ada")
        if it.kept()["refresh"] == before:
            raise Failed("the refresh token was not rotated")
        # Its session has a stream of its own, so that two may want new tokens at once.
        it.make_due()
        expect_said(it.mcp("--era", "legacy", "call", "whoami"), "ada")
        rest = it.done()[3:]
        # One for each time; a refused one would show.
        expect(rest, ["rotated", "refresh_token"] * 2, "the authorization server did")
        expect(len(it.pages()), 3, "number of pages")
        return f"{len(rest) // 2} renewals"


def renews_what_is_refused(check: Check, folder: Path, programs: Programs) -> str:
    """A token that the server no longer takes is renewed; a refresh token that was used before leads to a new login."""
    with world(check, folder, programs, *SOON_OVER) as it:
        expect_said(it.mcp("call", "whoami"), "ada")
        old, copy = it.kept(), folder / "copy"
        shutil.copytree(it.store, copy)
        it.wait_until_refused(old["access"])
        expect_said(it.mcp("call", "whoami"), "ada")
        expect(it.done()[3:], ["rotated", "refresh_token"], "the authorization server did")
        shutil.rmtree(it.store)
        shutil.copytree(copy, it.store)
        status, out, err = it.mcp("call", "whoami", person="refuses")
        expect((status, out), (4, ""), "exit status and result of a login that is refused")
        expect_in("tokens can't be refreshed", err, "stderr")
        expect_in("invalid_grant", err, "stderr")
        expect_in("the login was refused: access_denied", err, "stderr")
        # Whoever shows a used one again may have stolen it, so that all of its tokens are taken back.
        expect(it.done()[5:], ["revoked", "refresh_token refused", "authorization refused"], "the authorization server did")
        expect_said(it.mcp("call", "whoami"), "ada")
        expect(it.done()[-2:], ["authorization", "authorization_code"], "the authorization server did")
        return f"a token of {GOOD_FOR} s"


def asks_for_more(check: Check, folder: Path, programs: Programs) -> str:
    """A tool that needs more leads to a login that asks for both."""
    with world(check, folder, programs) as it:
        expect_said(it.mcp("call", "whoami"), "ada")
        status, _, err = it.mcp("call", "write", person="refuses")
        expect(status, 4, "exit status of a grant that is refused")
        expect_in("access_denied", err, "stderr")
        expect_said(it.mcp("call", "write"), "written for ada")
        expect_said(it.mcp("call", "whoami"), "ada")
        asked = [each["scope"] for each in it.told() if each["what"] == "authorization"]
        expect(asked, ["files:read offline_access", "files:read files:write offline_access"], "scopes")
        expect(it.done().count("registration"), 1, "registrations")
        return f"{len(it.pages())} pages"


def refuses_others(check: Check, folder: Path, programs: Programs) -> str:
    """A token for one server is refused by the next; so are one that was changed, and one of another authorization server."""
    with world(check, folder, programs) as it:
        expect_said(it.mcp("call", "whoami"), "ada")
        token = it.kept()["access"]
        status, _ = it.ask(f"Bearer {token}")
        if status in (401, 403):
            raise Failed(f"its own server answers {status}")
        with guarded(programs, folder / "other", it.issuer) as other:
            status, challenge = it.ask(f"Bearer {token}", other)
            expect(status, 401, "status at another server")
            expect_in('error="invalid_token"', challenge, "the challenge")
            expect_in("not issued for this server", challenge, "the challenge")
            place = re.search(r'resource_metadata="([^"]+)"', challenge)
            expect(place and place[1], other.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"), "resource_metadata")
        signature = token.rindex(".") + 1
        changed = token[:signature] + ("B" if token[signature] == "A" else "A") + token[signature + 1 :]
        status, challenge = it.ask(f"Bearer {changed}")
        expect(status, 401, "status with another signature")
        expect_in("signature is wrong", challenge, "the challenge")
    (folder / "second").mkdir()
    with world(check, folder / "second", programs) as it:
        status, challenge = it.ask(f"Bearer {token}")
        expect(status, 401, "status with a token of another authorization server")
        expect_in('error="invalid_token"', challenge, "the challenge")
    return "three of them"


# --- clients that are known beforehand ------------------------------------------------------------------------------------------


def known_beforehand(check: Check, folder: Path, programs: Programs) -> str:
    """A public client, one with a secret, and machines with a secret and a key."""
    secret = "a secret of a client, not of a person"
    by_key = {"token_endpoint_auth_method": "private_key_jwt", "key": str(KEY)}
    clients = [
        {"client_id": "public", "token_endpoint_auth_method": "none", **NATIVE},
        {"client_id": "confidential", "client_secret": secret, **NATIVE},
        {"client_id": "machine", "client_secret": secret, **MACHINE},
        {"client_id": "keyed", **by_key, **MACHINE},
    ]
    with world(check, folder, programs, clients=clients) as it:
        for name, proof, who, grant in (
            ("public", [], "ada", "none"),
            ("confidential", ["--secret", secret], "ada", "client_secret_basic"),
            ("machine", ["--machine", "--secret", secret], "machine", "client_secret_basic"),
            ("keyed", ["--machine", "--key", str(KEY)], "keyed", "private_key_jwt"),
        ):
            shutil.rmtree(it.store, ignore_errors=True)
            done = it.login("--client", it.issuer, name, *proof, it.server, "whoami", "write")
            expect_said(done, who, f"written for {who}")
            last = it.told()[-1]
            expect((last["client"], last["method"]), (name, grant), "client")
        expect(it.done().count("registration"), 0, "registrations")
        status, _, err = it.login("--client", "http://127.0.0.1:1", "public", "--tokens", str(folder / "none"), it.server, "whoami")
        expect(status, 4, "exit status where the client is known elsewhere only")
        expect_in("its credentials are not used elsewhere", err, "stderr")
        status, _, err = it.login("--machine", "--client", it.issuer, "machine", "--secret", "no", "--tokens", str(folder / "none"), it.server, "whoami")
        expect(status, 4, "exit status with a wrong secret")
        expect_in("invalid_client", err, "stderr")
        return f"{len(clients)} clients"


def binds_to_keys(check: Check, folder: Path, programs: Programs) -> str:
    """Both servers want proofs of the key that tokens are bound to, with nonces of theirs; a token alone is of no use."""
    clients = [{"client_id": "machine", "client_secret": "a secret", **MACHINE}]
    with world(check, folder, programs, "--dpop", clients=clients) as it:
        expect_said(it.mcp("call", "whoami"), "ada")
        tokens = it.kept()
        expect((tokens["is_bound"], bool(tokens["key"])), (True, True), "what is kept is bound, and the key kept")
        it.make_due()
        expect_said(it.mcp("call", "whoami"), "ada")
        expect(it.done().count("refresh_token"), 1, "renewals")
        expect(it.pages(), ["login", "consent", "the end"], "pages")
        status, challenge = it.ask(f"Bearer {tokens['access']}")
        expect(status, 401, "status of a bound token that is sent as any other")
        expect_in('DPoP error="invalid_token"', challenge, "the challenge")
        status, challenge = it.ask(f"DPoP {tokens['access']}")
        expect(status, 401, "status of a bound token without a proof")
        expect_in('DPoP error="invalid_dpop_proof"', challenge, "the challenge")
        shutil.rmtree(it.store)
        machine = ["--machine", "--client", it.issuer, "machine", "--secret", "a secret", it.server, "whoami"]
        expect_said(it.login("--dpop", *machine), "machine")
        expect({each["type"] for each in it.told() if "type" in each}, {"DPoP"}, "types of tokens")
        expect([each for each in it.done() if "revoked" in each], [], "taken back")
        return f"{it.done().count('refresh_token')} renewals"


def checks(programs: Programs) -> list[Check]:
    def named(name: str, body) -> Check:
        return Check(f"authorization: {name}", lambda check, folder: body(check, folder, programs), needs={"node"})

    return [
        named("login and renewal", logs_in),
        named("expiry and rotation", renews_what_is_refused),
        named("more scopes", asks_for_more),
        named("tokens of others", refuses_others),
        named("clients known beforehand", known_beforehand),
        named("tokens bound to keys", binds_to_keys),
    ]

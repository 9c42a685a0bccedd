#!/usr/bin/env python3
"""A person with a browser: `person.py URL` opens a page, logs in as ada and grants what is asked for, to the page that says it is over.

With PERSON=refuses in the environment it logs in, and leaves at the page that asks for more. Each page is added to the file $SEEN,
a line each; what goes wrong is there too.
"""

import os
import re
import sys
from html import unescape
from http.cookiejar import CookieJar
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

PAGES = 8  # more than any login has
PAGE_DEADLINE = 20  # seconds


def note(line: str) -> None:
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(line + "\n")


def visit(url: str) -> None:
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
    answer = browser.open(url, timeout=PAGE_DEADLINE)
    for _ in range(PAGES):
        page = answer.read().decode()
        form = re.search(r'<form[^>]* action="([^"]+)"', page)
        if form is None:
            note("the end")
            return
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
        note(fields["prompt"])
        target = urljoin(answer.url, unescape(form[1]))
        if fields["prompt"] == "consent" and os.environ.get("PERSON") == "refuses":
            answer = browser.open(f"{target.rstrip('/')}/abort", timeout=PAGE_DEADLINE)
            continue
        if fields["prompt"] == "login":
            fields |= {"login": "ada", "password": "anything"}
        answer = browser.open(target, urlencode(fields).encode(), timeout=PAGE_DEADLINE)
    note("a login without an end")


if __name__ == "__main__":
    try:
        visit(sys.argv[1])
    except Exception as error:
        note(f"failed: {type(error).__name__}: {error}")
        raise

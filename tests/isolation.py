"""Makes a test script independent of the process that starts it and of the user's settings.

A child inherits ignored signals, the umask, and the environment. So a script that `nohup` or another script in the background starts would
have children that no SIGINT or SIGHUP ends; and variables of the user would change which packages a peer finds, or send requests to
127.0.0.1 through a proxy.
"""

import locale
import os
import random
import signal
import socket
import sys
from pathlib import Path

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
# Variables that change where Python and npm look for packages, and where they install them. Those that name a registry stay.
CLEARED = {
    "language", "node_env", "node_path", "npm_config_global", "npm_config_location", "npm_config_omit", "npm_config_prefix", "pip_prefix",
    "pip_target", "pip_user", "pythonhome", "pythonpath", "pythonstartup", "pythonwarnings", "virtual_env",
}  # fmt: skip
# Variables of the user that programs under test would read; an installation may need them.
OF_THE_USER = {
    "clicolor", "clicolor_force", "force_color", "node_options", "no_color", "xdg_cache_home", "xdg_config_home", "xdg_data_home",
    "xdg_runtime_dir", "xdg_state_home",
}  # fmt: skip
LOOPBACK = "127.0.0.1,localhost,::1"
# Below the range from which Linux takes ports for connections and for port 0, so that no other program gets one by chance.
PORTS = range(20000, 32000)


def isolate() -> None:
    """Has this process and its children use defaults. To be called first, before there are threads."""
    if not sys.flags.utf8_mode and locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for number in SIGNALS:
        # A handler is replaced by the default disposition in a child. This process still ignores the signal.
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.umask(0o022)
    for name in list(os.environ):
        if name.lower() in CLEARED:
            del os.environ[name]
    os.environ |= {"LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1"}
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), LOOPBACK]))


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a program under test, whose home is in `folder`."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name.lower() not in OF_THE_USER}
    return {**kept, "HOME": str(home), **more}


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on."""
    while True:
        with socket.socket() as probe:
            port = random.choice(PORTS)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass

#!/usr/bin/env python3
"""Stands in front of a server on this machine: speaks TLS with clients, and hands on what is in it.

tls_front.py CERTIFICATE PORT prints the port that it listens at, and ends with its standard input.
"""
import os
import socket
import ssl
import sys
import threading


def carry(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, context, port):
    try:
        client = context.wrap_socket(client, server_side=True)
    except OSError:
        return  # It trusts nobody here.
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        outward = threading.Thread(target=carry, args=(server, client), daemon=True)
        outward.start()
        carry(client, server)
        outward.join()


def accept(listener, context, port):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, context, port), daemon=True).start()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, args=(listener, context, int(sys.argv[2])), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()

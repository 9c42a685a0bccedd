#!/usr/bin/env python3
"""Stands in front of a server on this machine: speaks TLS with clients, and hands on what is in it.

tls_front.py CERTIFICATE PORT [AUTHORITY] prints the port that it listens at, and ends with its standard input. With an authority, clients need a
certificate of it.
"""
import asyncio
import os
import ssl
import sys


async def carry(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main():
    async def serve(reader, writer):
        try:
            server = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, server[1]), carry(server[0], writer))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    if len(sys.argv) > 3:
        context.load_verify_locations(sys.argv[3])
        context.verify_mode = ssl.CERT_REQUIRED
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())

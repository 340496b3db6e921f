#!/usr/bin/env python3
"""How near `apply` comes to the ideal: requests x latency / concurrency.

    benches/http/measure.py [--binary target/release/letterpress] [--templates 1000] [--runs 5]

New templates take two requests each. The built-in service answers after a delay that its faults file sets; a small Node service
(`service.mjs`) speaks TLS, HTTP/1.1 and HTTP/2, also over a line with a round-trip time. Prints a table of medians.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CONCURRENCY = 16


def project(root, templates):
    for at in range(templates):
        folder = root / "templates" / f"group-{at // 50:03}" / f"template-{at:05}"
        folder.mkdir(parents=True)
        (folder / "manifest.yaml").write_text(f"name: Template {at}\nsubject: Number {at}\nsender_email: a@example.com\n")
        (folder / "body.html").write_text(f"<!doctype html><html lang=en><meta charset=utf-8><title>x</title><p>Number {at}</p></html>\n" * 20)
        (folder / "body.txt").write_text(f"Number {at}\n")


def letterpress(binary, root, key, *arguments, certificates=None):
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "LETTERPRESS_API_KEY": key}
    if certificates:
        environment["SSL_CERT_FILE"] = str(certificates)
    started = time.perf_counter()
    before = os.times()
    subprocess.run([binary, "-C", root, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cpu


def configure(root, url):
    shutil.rmtree(root / ".letterpress", ignore_errors=True)
    (root / "letterpress.toml").write_text(f'[environments.bench]\nbase_url = "{url}"\nconcurrency = {CONCURRENCY}\n')


def sandbox(binary, root, faults):
    """One apply to the built-in service: seconds, CPU seconds, requests."""
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder) / "sandbox.sqlite"
        rules = pathlib.Path(folder) / "faults.toml"
        rules.write_text(faults)
        command = [binary, "sandbox", "--listen", "127.0.0.1:0", "--db", database, "--faults", rules]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = service.stdout.readline().split()[-1]
            key = service.stdout.readline().split()[2]
            configure(root, url)
            letterpress(binary, root, key, "state", "init")
            seconds, cpu = letterpress(binary, root, key, "apply", "--yes")
            rows = sqlite3.connect(database).execute("SELECT count(*) FROM requests WHERE path = '/template/create'")
            return seconds, cpu, rows.fetchone()[0], None
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()


def certificates(folder):
    """A throw-away authority and a certificate for this machine."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=bench", "-days", "2")
    openssl("req", *curve, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=bench")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "cert.pem", "-days", "2", "-extfile", str(extensions))


def over_tls(binary, root, protocol, latency, rtt):
    """One apply to the Node service: seconds, CPU seconds, requests, connections."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        certificates(folder)
        command = ["node", HERE / "service.mjs", protocol, str(latency), str(rtt), folder / "cert.pem", folder / "key.pem"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            configure(root, f"https://127.0.0.1:{service.stdout.readline().strip()}")
            letterpress(binary, root, "key", "state", "init", certificates=folder / "ca.pem")
            seconds, cpu = letterpress(binary, root, "key", "apply", "--yes", certificates=folder / "ca.pem")
        finally:
            service.send_signal(signal.SIGTERM)
            requests, connections = map(int, service.stdout.readline().split())
            service.wait()
        return seconds, cpu, requests, connections


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parents[1] / "target/release/letterpress"))
    parser.add_argument("--templates", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows whose name has this in it")
    args = parser.parse_args()

    def delay(milliseconds):
        return f"[[rule]]\npath = '/template/create'\ndelay_ms = {milliseconds}\n"

    # Every fiftieth request is refused with 429, the others take 50 ms.
    throttled = "[[rule]]\npath = '/template/create'\nrequests = '*/50'\nanswer = 'status'\nstatus = 429\nretry_after = 0\n" + delay(50)
    rows = [
        ("sandbox, 0 ms", 0, 0, lambda root: sandbox(args.binary, root, "")),
        ("sandbox, 50 ms", 50, 0, lambda root: sandbox(args.binary, root, delay(50))),
        ("sandbox, 200 ms", 200, 0, lambda root: sandbox(args.binary, root, delay(200))),
        ("sandbox, 50 ms, 429 each 50th", 50, 0, lambda root: sandbox(args.binary, root, throttled)),
    ]
    if shutil.which("node") and shutil.which("openssl"):
        for protocol in ["http1", "http2"]:
            for rtt in [0, 50]:
                name = f"TLS {protocol}, 50 ms" + (f", line of {rtt} ms" if rtt else "")
                rows.append((name, 50, rtt, lambda root, p=protocol, r=rtt: over_tls(args.binary, root, p, 50, r)))

    print(f"{args.templates} new templates, concurrency {CONCURRENCY}, medians of {args.runs}\n")
    print("| service | requests | connections | ideal s | measured s | ratio | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for name, latency, rtt, run in rows:
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            project(root, args.templates)
            runs = sorted(run(root) for _ in range(args.runs))
        seconds, cpu, requests, connections = runs[len(runs) // 2]
        ideal = 2 * args.templates * (latency + rtt) / 1000 / CONCURRENCY
        ratio = f"{seconds / ideal:.2f}" if ideal else "-"
        cpu = statistics.median(run[1] for run in runs)
        connections = "" if connections is None else connections
        print(f"| {name} | {requests} | {connections} | {ideal:.2f} | {seconds:.2f} | {ratio} | {cpu:.2f} |", flush=True)


if __name__ == "__main__":
    main()

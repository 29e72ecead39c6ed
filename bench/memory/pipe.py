#!/usr/bin/env python3
"""Figures of holdfast-memory from outside, over its own stdio: pipe.py PROGRAM [TURNS].

Spawn to first answer, resident memory idle and after TURNS turns, a cheap call beside a bare pipe echo (cat), and
turn.start and turn.end. Medians; a fresh home that is removed at the end.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
    return 0.0


class Client:
    def __init__(self, program, home):
        self.process = subprocess.Popen([program, "--agent=bench", "--no-viewer", f"--home={home}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.out = os.fdopen(os.dup(self.process.stdout.fileno()), "rb", buffering=1 << 16)
        self.number = 0

    def call(self, method, **params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.out.readline())
        if "error" in answer:
            raise RuntimeError(answer)
        return answer["result"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def median_ms(action, times):
    taken = []
    for number in range(times):
        begun = time.perf_counter()
        action(number)
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def main():
    program = sys.argv[1]
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    home = tempfile.mkdtemp(prefix="hf-memory-bench-")
    try:
        starts = []
        for _ in range(20):
            begun = time.perf_counter()
            client = Client(program, home)
            client.call("core.health")
            starts.append((time.perf_counter() - begun) * 1000)
            client.end()
        print(f"spawn to first answer      {statistics.median(starts):8.2f} ms")
        client = Client(program, home)
        while client.call("core.health")["phase"] != "ready":
            pass
        print(f"resident, idle             {resident_mb(client.process.pid):8.1f} MB")
        echo = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

        def bare(_):
            echo.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"core.health","params":{}}\n')
            echo.stdout.read(4096)

        print(f"bare pipe echo             {median_ms(bare, 2000):8.3f} ms")
        echo.stdin.close()
        echo.wait()
        print(f"core.health                {median_ms(lambda _: client.call('core.health'), 2000):8.3f} ms")
        client.call("session.open", agent="bench", sessionId="s")
        episode = client.call("episode.open", sessionId="s")["episodeId"]

        def turn_end(number):
            client.call("turn.end", agent="bench", sessionId="s", episodeId=episode, userText=f"question {number} about item{number % 977}",
                        agentText=f"answer {number} mentions place{number % 613} and thing{number % 89}", toolCalls=[], ts=1700000000000 + number)

        print(f"turn.end                   {median_ms(turn_end, turns):8.3f} ms  over {turns} turns")
        print(f"turn.start                 "
              f"{median_ms(lambda n: client.call('turn.start', agent='bench', sessionId='s', userText=f'where is item{n} and place{n}?', ts=1800000000000 + n), 300):8.3f} ms")
        print(f"resident after the turns   {resident_mb(client.process.pid):8.1f} MB")
        if client.end() != 0:
            print("the program did not end well", file=sys.stderr)
            return 1
        return 0
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

"""The processes of a run: started on free ports, with their output in a file each, and stopped at its end."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

#: How long a process may take to answer; reached only by one that never does.
START_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Process:
    """A process that answers HTTP at `url`."""

    def __init__(self, command, port, log, probe, **variables):
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        with open(log, "w") as output:
            self.process = subprocess.Popen(
                command, env={**os.environ, **variables}, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            self.await_answer(self.url + probe)
        except BaseException:
            self.stop()
            raise

    def await_answer(self, url):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(url, timeout=2).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"{url} does not answer:\n{self.log.read_text()[-4000:]}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

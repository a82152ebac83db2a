"""One deployment for all tests, on an emulator of their own."""

import os
import time
from pathlib import Path

import pytest
from deployment import Cloud, deploy
from shop import Shop

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cloud():
    target = Path(os.environ["TARGET"])
    cloud = Cloud.start(ROOT, target, Path(os.environ["TOOLS"]))
    yield cloud
    cloud.keep_logs()
    cloud.stop()


@pytest.fixture(scope="session")
def shop(cloud):
    target = Path(os.environ["TARGET"])
    began = time.monotonic()
    outputs = deploy(cloud, ROOT, Path(os.environ["FUNCTIONS"]), target, os.environ["SAM"])
    cloud.warm()
    print(f"\ndeployed in {time.monotonic() - began:.0f} s")
    return Shop(cloud, outputs)

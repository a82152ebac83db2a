"""The real template on the emulator: `sam deploy` of what `sam build` made."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass

import boto3
from processes import Process, free_port

REGION = "us-east-1"
ACCOUNT = "000000000000"
STACK = "shop"
BUCKET = "deployment"
AUDIENCE = "order-expiry-emulator"
SECRET = "sim-secret-of-the-emulator"

#: Seconds from the creation of an order to its deadline, by rule: `patient` is long enough to begin a payment on a bad wire.
WINDOWS = {"default": 10, "patient": 25, "scheduled": 130, "hour": 3600}
#: The scan runs every minute and leaves an order this long to its wake-up.
SCAN_GRACE_SECONDS = 15
LEASE_SECONDS = 5


def client(service, process):
    """A client of a service at an emulator, or at the wire in front of one."""
    return boto3.client(
        service, endpoint_url=process.url, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test",
    )


@dataclass
class Cloud:
    """The emulator, the wire in front of it, and what stands outside the shop."""

    emulator: Process
    wire: Process
    outside: Process
    calls: object
    logs: object

    @classmethod
    def start(cls, root, target, tools):
        logs = target / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        calls = target / "calls.jsonl"
        calls.unlink(missing_ok=True)
        ports = {name: free_port() for name in ("emulator", "wire", "outside")}
        started = []
        try:
            started.append(Process(
                [tools / "ministack"], ports["emulator"], logs / "emulator.log", "/_ministack/health",
                # Every call of a function is checked against its own role.
                AUTH="true",
                GATEWAY_PORT=str(ports["emulator"]), BIND_HOST="127.0.0.1", MINISTACK_REGION=REGION,
                # What the functions are told to call: the emulator hands its own variable on to them.
                AWS_ENDPOINT_URL=f"http://127.0.0.1:{ports['wire']}",
                AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", TMPDIR=str(target / "tmp"),
            ))
            started.append(Process(
                [tools / "python", root / "tests/emulator/wire.py", started[0].url, str(ports["wire"]), calls],
                ports["wire"], logs / "wire.log", "/_microburst/health",
            ))
            started.append(Process(
                [os.environ["OUTSIDE"], "outside"], ports["outside"], logs / "outside.log",
                "/.well-known/jwks.json", PORT=str(ports["outside"]), SIM_CHANNEL_SECRET=SECRET, RUST_LOG="info",
            ))
        except BaseException:
            for process in started:
                process.stop()
            raise
        return cls(*started, calls, logs)

    def client(self, service, process=None):
        return client(service, process or self.emulator)

    def warm(self):
        """The first call of a service loads its model, in the emulator and on the wire, for longer than a function waits."""
        for service, call in [
            ("dynamodb", "list_tables"), ("sqs", "list_queues"), ("scheduler", "list_schedules"), ("secretsmanager", "list_secrets"),
        ]:
            getattr(self.client(service, self.wire), call)()

    def keep_logs(self):
        """What the functions logged, in a file each: the emulator's log groups go with it."""
        logs = self.client("logs")
        for group in logs.describe_log_groups(logGroupNamePrefix="/aws/lambda/")["logGroups"]:
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
            lines = [event["message"].rstrip() for page in pages for event in page["events"]]
            (self.logs / f"{group['logGroupName'].rsplit('/', 1)[-1]}.log").write_text("\n".join(lines))

    def stop(self):
        for process in (self.outside, self.wire, self.emulator):
            process.stop()


def parameters(cloud):
    rules = [{"id": name, "version": 1, "seconds": seconds} for name, seconds in WINDOWS.items()]
    return {
        "Architecture": {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()],
        "ExpiryRules": json.dumps(rules, separators=(",", ":")),
        "LeaseSeconds": LEASE_SECONDS,
        "ScanPeriodMinutes": 1,
        "ScanGraceSeconds": SCAN_GRACE_SECONDS,
        "MaxOpenOrdersPerUser": 3,
        "Channels": "sim",
        "ChannelCallSeconds": 2,
        "SimChannelUrl": cloud.outside.url,
        "SimChannelSecretName": "sim",
        "JwtIssuer": cloud.outside.url,
        "JwtAudience": AUDIENCE,
        "DeletionProtection": "false",
    }


def rename_schedules(cloud):
    """MiniStack 1.5.33 takes every schedule for one of the group `default` when it checks a role (its `iam_actions.py`), so what a
    role allows in our group it is allowed there as well: the same actions, and none that the template does not give."""
    iam = cloud.client("iam")
    for role in iam.list_roles()["Roles"]:
        for name in iam.list_role_policies(RoleName=role["RoleName"])["PolicyNames"]:
            document = iam.get_role_policy(RoleName=role["RoleName"], PolicyName=name)["PolicyDocument"]
            ours = [each for each in document["Statement"] if f":schedule/{STACK}-wake/" in str(each["Resource"])]
            if ours:
                there = [each | {"Resource": f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/*"} for each in ours]
                iam.put_role_policy(
                    RoleName=role["RoleName"], PolicyName="emulator",
                    PolicyDocument=json.dumps(document | {"Statement": there}),
                )


def deploy(cloud, build, target, sam):
    """Deploys what `sam build` left in the folder `build`, and returns the stack's outputs."""
    cloud.client("s3").create_bucket(Bucket=BUCKET)
    cloud.client("secretsmanager").create_secret(Name="sim", SecretString=SECRET)
    quoted = [f'{name}="{str(value).replace(chr(34), chr(92) + chr(34))}"' for name, value in parameters(cloud).items()]
    subprocess.run(
        [
            sam, "deploy", "--template-file", build / "template.yaml", "--stack-name", STACK, "--region", REGION,
            # Longer than an inline template may be.
            "--s3-bucket", BUCKET, "--capabilities", "CAPABILITY_IAM", "--no-progressbar", "--no-confirm-changeset",
            "--parameter-overrides", *quoted,
        ],
        check=True,
        cwd=target,
        env={
            **os.environ, "AWS_ENDPOINT_URL": cloud.emulator.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        },
    )
    rename_schedules(cloud)
    stack = cloud.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

"""The wire between the functions and the emulator: microburst, which breaks it as the tests ask, and a record of every call.

    wire.py <emulator's URL> <port> <file>

A line of the file is `[access key, action, ARN]`, as IAM names them, once for each; a transaction counts as the items in it.
"""

import json
import sys

from aiohttp import web
from microburst.app import make_app
from microburst.core.pipeline import Microburst

ACCOUNT = "000000000000"


def calls(context):
    """What IAM is asked about a request: pairs of action and ARN."""
    arn = f"arn:aws:{context.service}:{context.region}:{ACCOUNT}:"
    body = json.loads(context.body or b"{}")
    match context.service, context.operation:
        case "dynamodb", "TransactWriteItems":
            for item in body["TransactItems"]:
                for member, write in item.items():
                    # A condition alone is checked under an action of its own.
                    action = "ConditionCheckItem" if member == "ConditionCheck" else f"{member}Item"
                    yield f"dynamodb:{action}", f"{arn}table/{write['TableName']}"
        case "dynamodb", "BatchGetItem":
            for table in body["RequestItems"]:
                yield "dynamodb:BatchGetItem", f"{arn}table/{table}"
        case "dynamodb", operation:
            index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
            yield f"dynamodb:{operation}", f"{arn}table/{body['TableName']}{index}"
        case "sqs", operation:
            yield f"sqs:{operation}", arn + body["QueueUrl"].rsplit("/", 1)[-1]
        case "scheduler", operation:
            group = body.get("GroupName") or context.query.get("groupName")
            yield f"scheduler:{operation}", f"{arn}schedule/{group}/{context.path.rsplit('/', 1)[-1]}"
        case "secretsmanager", operation:
            # The six characters that Secrets Manager adds to a name are not in the request.
            yield f"secretsmanager:{operation}", f"{arn}secret:{body['SecretId']}-??????"
        case service, operation:
            yield f"{service}:{operation}", "*"


def main(upstream, port, record):
    burst = Microburst(upstream)
    seen = set()

    def note(context):
        # Of a role; others are the tests' own.
        if not (context.access_key or "").startswith("ASIA"):
            return
        with open(record, "a") as file:
            for action, arn in calls(context):
                line = json.dumps([context.access_key, action, arn])
                if line not in seen:
                    seen.add(line)
                    print(line, file=file)

    decide = burst.engine.decide
    burst.engine.decide = lambda context: (note(context), decide(context))[1]

    # microburst names its upstream in `Host`; the emulator checks signatures, which are made for the host that was called.
    headers = burst.upstream._outbound_headers
    burst.upstream._outbound_headers = lambda request: {**headers(request), "host": request.headers["host"]}

    web.run_app(make_app(burst), host="127.0.0.1", port=int(port), print=None, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])

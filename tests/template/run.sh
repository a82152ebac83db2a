#!/usr/bin/env bash
# Checks template.yaml with the two tools that know CloudFormation and SAM. Both run offline and need no AWS account or credentials;
# only their installation reaches PyPI. No rule is switched off.
set -euo pipefail
cd "$(dirname "$0")/../.."

requirements=tests/template/requirements.txt
tools=target/template-tools
if ! cmp --silent "$requirements" "$tools/installed.txt"; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$requirements"
    cp "$requirements" "$tools/installed.txt"
fi

# sam would report its use to AWS, and keep its state in the home directory.
export SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR="$PWD/$tools/sam"

echo "cfn-lint template.yaml"
"$tools/bin/cfn-lint" --template template.yaml
"$tools/bin/sam" validate --lint --template-file template.yaml

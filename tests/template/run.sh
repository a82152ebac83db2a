#!/usr/bin/env bash
# Checks the templates and the workflows with the tools that know CloudFormation, SAM, their risks, and GitHub's. All run offline and
# need no AWS account or credentials; only their installation reaches PyPI. Of cfn-lint, sam and zizmor no rule is switched off; those
# of checkov that are stand in checkov.yaml, each with its reason.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Installs what a list names, with nothing else, into a virtual environment under target/.
install() {
    if ! cmp --silent "$1" "$2/installed.txt"; then
        rm -rf "$2"
        python3 -m venv "$2"
        "$2/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$1"
        cp "$1" "$2/installed.txt"
    fi
}
tools=target/template-tools
security=target/security-tools
install tests/template/requirements.txt "$tools"
install tests/template/security-requirements.txt "$security"

# sam would report its use to AWS, and keep its state in the home directory.
export SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR="$PWD/$tools/sam"

templates=(template.yaml infra/observability/*.yaml)
echo "cfn-lint ${templates[*]}"
"$tools/bin/cfn-lint" "${templates[@]}"
"$tools/bin/sam" validate --lint --template-file template.yaml
"$security/bin/checkov" --config-file tests/template/checkov.yaml --file "${templates[@]}" .github/workflows/*.yml
"$security/bin/zizmor" --offline --quiet --persona pedantic --strict-collection .github/workflows

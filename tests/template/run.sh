#!/usr/bin/env bash
# Checks the templates and the workflows with the tools that know CloudFormation, SAM, their risks, and GitHub's. All run offline and
# need no AWS account or credentials; only their installation reaches PyPI. Of cfn-lint, sam and zizmor no rule is switched off; those
# of checkov that are stand in checkov.yaml, each with its reason.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/tools.sh

deployment=target/template-tools
security=target/security-tools
sam_tools
tools "$security" tests/template/security-requirements.txt --no-deps

templates=(template.yaml infra/observability/*.yaml)
echo "cfn-lint ${templates[*]}"
"$deployment/bin/cfn-lint" "${templates[@]}"
"$SAM" validate --lint --template-file template.yaml
"$security/bin/checkov" --config-file tests/template/checkov.yaml --file "${templates[@]}" .github/workflows/*.yml
"$security/bin/zizmor" --offline --quiet --persona pedantic --strict-collection .github/workflows

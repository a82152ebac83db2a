# Sourced by the scripts beside it, in the repository's root: tools from PyPI, and what is built with them.

# tools FOLDER LIST [OPTION…]: installs what LIST pins into a virtual environment of its own in FOLDER, with these options of pip, unless
# it is there already. Tools disagree about what they need, so no two lists share one.
tools() {
    local folder=$1 list=$2
    shift 2
    if ! cmp --silent "$list" "$folder/installed.txt"; then
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" --requirement "$list"
        cp "$list" "$folder/installed.txt"
    fi
}

# sam_tools: sam and cfn-lint, in target/template-tools.
sam_tools() {
    tools target/template-tools tests/template/requirements.txt --no-deps
    # sam would report its use to AWS, and keep its state in the home directory.
    export SAM=$PWD/target/template-tools/bin/sam SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR=$PWD/target/template-tools/sam
}

# sam_build TARGET: builds every function into TARGET/functions, each in a folder by its logical name, as `sam build` does for a
# deployment, but for this machine's architecture. TARGET is absolute; the tools are installed below it.
sam_build() {
    local target=$1
    sam_tools
    tools "$target/cargo-lambda" tests/emulator/cargo-lambda.txt --no-deps
    PATH=$target/cargo-lambda/bin:$PATH "$SAM" build --build-dir "$target/functions" \
        --parameter-overrides "Architecture=$(uname -m | sed s/aarch64/arm64/)"
}

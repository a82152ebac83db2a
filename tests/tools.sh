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

# build_functions TARGET FOLDER [OPTION…]: builds every function into FOLDER with one call of cargo-lambda, so that what they share is
# compiled once; the options are cargo's. cargo-lambda itself is installed below TARGET, an absolute path.
build_functions() {
    local cargo_lambda=$1/emulation/cargo-lambda folder=$2 packages
    shift 2
    tools "$cargo_lambda" tests/emulator/cargo-lambda.txt --no-deps
    packages=$(cd functions && printf -- '--package %s ' *)
    # shellcheck disable=SC2086 # A list of words.
    PATH=$cargo_lambda/bin:$PATH cargo lambda build --quiet --locked --lambda-dir "$folder" $packages "$@"
}

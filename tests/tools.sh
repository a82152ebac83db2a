# Sourced by the scripts beside it, in the repository's root: tools from PyPI.

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

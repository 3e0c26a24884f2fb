#!/usr/bin/env bash
# Fetches the authors' codes into a folder outside the repository, and builds a program for `ogive-research` around each.
set -euo pipefail

usage() {
    cat <<'END'
Usage: research/authors/build.sh FOLDER [--from PREFIX]

Clones the public codes of the AULID paper and of the evaluation of disk indexes into FOLDER, at pinned commits, builds
an adapter around each index, and prints the options of ogive-research that measure them. Writes nothing elsewhere. A
FOLDER that it has filled before is built again without fetching.

  --from PREFIX  Clone PREFIX/AULID and PREFIX/LearnedIndexDiskExp: another address, or a folder with copies for a
                 machine without internet [default: https://github.com/rmitbggroup]
  --help         Print this

The compiler is c++, or the one in the variable CXX.

Example:
  research/authors/build.sh ~/authors
  ogive-research run disk/lookups --keys lognormal:1M --structure btree fiting "program:$HOME/authors/fiting"
END
}

fail() {
    echo "build.sh: $1" >&2
    exit 1
}

prefix=https://github.com/rmitbggroup
folder=
while [[ $# -gt 0 ]]; do
    case $1 in
        --help | -h)
            usage
            exit 0
            ;;
        --from)
            [[ $# -ge 2 ]] || fail "--from needs an address or a folder; see --help"
            prefix=${2%/}
            shift
            ;;
        -*) fail "unknown option $1; see --help" ;;
        *)
            [[ -z $folder ]] || fail "one folder only, not also $1; see --help"
            folder=$1
            ;;
    esac
    shift
done
[[ -n $folder ]] || fail "a folder is missing; see --help"

compiler=${CXX:-c++}
command -v git >/dev/null || fail "git is missing: install it"
command -v "$compiler" >/dev/null || fail "the C++ compiler $compiler is missing: install g++, or set CXX"
echo 'int main() { if constexpr (true) return 0; }' | "$compiler" -std=c++17 -x c++ -fsyntax-only - 2>/dev/null ||
    fail "$compiler does not compile C++17: set CXX to a compiler that does"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
repository=$(cd "$here/../.." && pwd -P)
parent=$(cd "$(dirname "$folder")" 2>/dev/null && pwd -P) || fail "there is no folder $(dirname "$folder")"
folder=${parent%/}/$(basename "$folder")
case $folder/ in
    "$repository"/*) fail "$folder is in the repository: choose a folder outside it" ;;
esac
# A shell runs the programs, by the path that this prints.
[[ $folder =~ ^[[:alnum:]/._+@-]+$ ]] || fail "$folder has spaces or other special characters: choose another path"
[[ $prefix == *:* || $prefix == /* ]] || prefix=$PWD/$prefix
mkdir -p "$folder"

# Clones a repository at a commit, or resets the clone that is there.
fetch() {
    local name=$1 commit=$2
    if [[ ! -d $folder/$name/.git ]]; then
        echo "fetching $prefix/$name"
        git clone --quiet --no-checkout "$prefix/$name" "$folder/$name" || fail "cannot clone $prefix/$name; see --from"
    fi
    git -C "$folder/$name" cat-file -e "$commit^{commit}" 2>/dev/null ||
        fail "$folder/$name has no commit $commit: remove the folder, or clone from another place"
    git -C "$folder/$name" update-ref --no-deref HEAD "$commit"
    git -C "$folder/$name" reset --quiet
    # Without the report in PDF, which copies may lack.
    git -C "$folder/$name" checkout --quiet "$commit" -- . ':(exclude)*.pdf'
}

# Changes a file of a clone; fails if the pattern is not there.
fix() {
    local file=$folder/$1 script=$2
    cp "$file" "$file.before"
    sed "$script" "$file.before" >"$file"
    ! cmp -s "$file" "$file.before" || fail "nothing to change in $file by $script"
    rm "$file.before"
}

aulid=6bd96b39754a1ebf44667d7ac8fdb6e0279bb680
evaluation=ce55a871f434c0ffefc9475f8588f69620ed22f8
fetch AULID "$aulid"
fetch LearnedIndexDiskExp "$evaluation"

# A pool of ten million nodes, 3.3 GB, for the variant with inner nodes in memory, which is not measured.
fix AULID/lipp.h 's/_ < 1e7/_ < 1/'
# Blocks of 8 KiB, where all others have 4.
fix LearnedIndexDiskExp/code/ALEX/src/core/storage_management.h 's/BlockSize = 8192L/BlockSize = 4096L/'
# A scan cuts the key it starts from to 32 bits.
fix LearnedIndexDiskExp/code/fiting_tree/fiting_tree_memory.h \
    's/void scan_in_a_segment(int start, int end, int key,/void scan_in_a_segment(int start, int end, KeyType key,/'
# A lookup reads the payload and drops it: keep it, without another read.
fix LearnedIndexDiskExp/code/PGM-index/include/pgm/pgm_index_dynamic.hpp \
    's/int find_on_disk(const K &key, int/V found_payload{}; &/; s/ item\.key == key) {$/& found_payload = item.value;/'

programs=()
# Builds the adapter of an index, with the folders of its headers; says so if it does not compile.
build() {
    local name=$1 commit=$2
    shift 2
    echo "building $name"
    # Debugging checks off, and the authors' warnings.
    if "$compiler" -O3 -std=c++17 -w -DNDEBUG "-DAUTHORS_COMMIT=\"${commit:0:8}\"" "${@/#/-I$folder/}" \
        -o "$folder/$name" "$here/$name.cpp"; then
        programs+=("$name")
    else
        echo "build.sh: $name does not compile here, and is left out" >&2
    fi
}

experiment=LearnedIndexDiskExp/code
build aulid "$aulid" AULID
build btree "$evaluation" "$experiment/b+_tree" "$experiment/b+_tree/stx-btree-0.9/include"
build fiting "$evaluation" "$experiment/fiting_tree" "$experiment/fiting_tree/stx-btree-0.9/include"
build pgm "$evaluation" "$experiment/PGM-index/include"
build alex "$evaluation" "$experiment/ALEX/src/core"
build lipp "$evaluation" "$experiment/lipp"

[[ ${#programs[@]} -gt 0 ]] || fail "no index compiles here"
echo "measure them with:"
for name in "${programs[@]}"; do
    echo "  --structure 'program:$folder/$name'"
done

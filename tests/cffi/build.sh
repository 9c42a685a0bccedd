# What the scripts of this folder share: where things are, and how a C program is built with the library. To be sourced, in the root of the tree.
# shellcheck shell=bash

profile=${MCPLINK_PROFILE:-release}
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
out=$folder/cffi${MCPLINK_SANITIZE:+-sanitized}
archive=$folder/libmcplink.a
shared=$folder/libmcplink.so
# What programs are linked with. Half of the time to link an archive that is not optimised goes into its line numbers, so they are left out.
linked=$archive
[ "$profile" != dev ] || linked=$folder/libmcplink_stripped.a
# On Linux; compared with what rustc says.
native=${native:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}
mkdir -p "$out/guests" "$out/parts" "$out/cpp"

# These programs ignore what they do not test; parts/mistakes.c tests the warnings.
c_flags=(-std=c11 -D_GNU_SOURCE -DMCPLINK_NO_NODISCARD -g -Wall -Wextra -Werror -pedantic -Wstrict-prototypes -Iinclude)
# What hosts compile their own code with.
cpp_flags=(-g -Wall -Wextra -Werror -pedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Iinclude)
check=()
if [ -n "${MCPLINK_SANITIZE:-}" ]; then
  sanitizers=(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  c_flags+=("${sanitizers[@]}")
  cpp_flags+=("${sanitizers[@]}")
fi
if [ -n "${MCPLINK_VALGRIND:-}" ]; then
  check=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible
    --errors-for-leak-kinds=definite,indirect,possible --child-silent-after-fork=yes --suppressions=tests/cffi/valgrind.supp)
fi

# The one command that builds a library, as CMakeLists.txt has it too. Without the optimiser, which CMake does not ask for, both libraries are
# compiled at once.
features=${MCPLINK_FEATURES:-http-client,http-server,tls,auth,jwt}
# What the archives of a release leave out is tried with this one.
[ "$profile" != dev ] || [ -n "${MCPLINK_FEATURES:-}" ] || features+=,skills
build_library() {
  local types=$1
  [ "$profile" != dev ] || types=staticlib,cdylib
  CARGO_TARGET_DIR=$target cargo rustc --locked --profile "$profile" --lib --no-default-features --features "cffi,$features" --crate-type "$types"
}

build_archive() {
  build_library staticlib
  [ "$linked" = "$archive" ] || strip --strip-debug "$archive" -o "$linked"
}

build_shared() {
  build_library cdylib
}

# What rustc says that a static library has to be linked with. That ours needs no more is seen when programs are linked.
native_libraries() {
  rustc --crate-type staticlib --print native-static-libs -o "$out/empty.a" - </dev/null 2>&1 | sed -n 's/.*native-static-libs: //p'
}

# build_program NAME [FLAG …]: the program of tests/cffi/NAME.c, or one that is made of the prototypes; and of NAME.rs if there is one, which is
# a Rust library of the host's.
build_program() {
  local name=$1 more=() source=tests/cffi/$1.c
  shift
  case $name in
    nulls | triples) source=$out/$name.c && tests/cffi/calls.py "$name" "$source" ;;
    restricts) source=$out/$name.c && tests/cffi/restricts.py c "$source" ;;
    link) source=$out/link.c && tests/cffi/abi.py link "$source" ;;
    fuzz) tests/cffi/calls.py cases "$out/cases.h" ;;
    kinds) tests/cffi/calls.py kinds "$out/kinds.h" ;;
  esac || return
  if [ -f "tests/cffi/$name.rs" ]; then
    rustc --edition 2021 --crate-type staticlib -C panic=unwind -O "tests/cffi/$name.rs" -o "$out/$name.a"
    more+=("$out/$name.a")
  fi
  # shellcheck disable=SC2086
  "${CC:-gcc}" "${c_flags[@]}" -Itests/cffi "-I$out" "$source" "$@" "${more[@]}" "$linked" $native -o "$out/$name"
}

# build_cpp NAME [FLAG …]: the program of tests/cffi/cpp/NAME.cpp, or the one that is made of the prototypes.
build_cpp() {
  local name=$1 source=tests/cffi/cpp/$1.cpp
  shift
  [ "$name" != restricts ] || { source=$out/cpp/$name.cpp && tests/cffi/restricts.py cpp "$source"; } || return
  # shellcheck disable=SC2086
  g++ -std=c++17 "${cpp_flags[@]}" "$@" -Itests/cffi "$source" "$linked" $native -o "$out/cpp/$name"
}

# run_built NAME: runs a program that is built, with the default dispositions of signals, whatever the starting process ignores.
run_built() {
  MCPLINK_TEST_FOLDER=$out MCPLINK_TEST_STACK_KB=$([ "$profile" = dev ] && echo 1024 || echo 64) timeout 300 \
    env --default-signal=HUP,INT,QUIT,PIPE,TERM "${check[@]}" "$out/$1"
}

# run_program NAME: builds and runs a program; once more when it fails and has a second chance.
run_program() {
  local status=0
  # A program of an earlier build must not stand in for one that does not compile.
  rm -f "$out/$1"
  # Whoever calls this function tests its status, so no command that fails ends it by itself.
  case $1 in
    cpp/*) build_cpp "${1#cpp/}" ;;
    *) build_program "$1" ;;
  esac || { printf 'FAIL %s: it does not compile\n' "$1" && return 1; }
  printf -- '-- %s\n' "$1"
  run_built "$1" || status=$?
  [ "$status" -ne 0 ] || return 0
  printf 'FAIL %s: exit status %s\n' "$1" "$status"
  python3 tests/second_chance.py "tests/cffi/run $1" || return "$status"
  run_built "$1" || return
  printf 'FLAKY %s\n' "$1"
}

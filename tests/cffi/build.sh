# What the scripts of this folder share: where things are, and how a C program is built with the library. To be sourced, in the root of the tree.
# shellcheck shell=bash

profile=${MCPLINK_PROFILE:-release}
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
out=$folder/cffi${MCPLINK_SANITIZE:+-sanitized}
archive=$folder/libmcplink.a
shared=$folder/libmcplink.so
# On Linux; asked of rustc where the archive is built.
native=${native:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}
mkdir -p "$out/guests" "$out/parts"

c_flags=(-std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -pedantic -Wstrict-prototypes -Iinclude)
check=()
if [ -n "${MCPLINK_SANITIZE:-}" ]; then
  c_flags+=(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
fi
if [ -n "${MCPLINK_VALGRIND:-}" ]; then
  check=(valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible
    --errors-for-leak-kinds=definite,indirect,possible --child-silent-after-fork=yes --suppressions=tests/cffi/valgrind.supp)
fi

# The static library, and what has to be linked with it, in `native`.
build_archive() {
  local features=${MCPLINK_FEATURES:-cffi} asked
  asked=$(cargo rustc --locked --lib --profile "$profile" --features "$features" --crate-type staticlib -- --print native-static-libs 2>&1 \
    | tee /dev/stderr | sed -n 's/.*native-static-libs: //p' | tail -1)
  # What cargo has built before it prints no more.
  native=${asked:-$native}
}

# The shared library. Cargo links it with what build.rs asks for.
build_shared() {
  cargo rustc --locked --lib --profile "$profile" --features "${MCPLINK_FEATURES:-cffi}" --crate-type cdylib
}

# build_program NAME [FLAG …]: the program of tests/cffi/NAME.c, or one that is made of the prototypes; and of NAME.rs if there is one, which is
# a Rust library of the host's.
build_program() {
  local name=$1 more=() source=tests/cffi/$1.c
  shift
  case $name in
    nulls | triples) source=$out/$name.c && tests/cffi/calls.py "$name" "$source" ;;
    link) source=$out/link.c && tests/cffi/abi.py link "$source" ;;
    fuzz) tests/cffi/calls.py cases "$out/cases.h" ;;
  esac
  if [ -f "tests/cffi/$name.rs" ]; then
    rustc --edition 2021 --crate-type staticlib -C panic=unwind -O "tests/cffi/$name.rs" -o "$out/$name.a"
    more+=("$out/$name.a")
  fi
  # shellcheck disable=SC2086
  "${CC:-gcc}" "${c_flags[@]}" -Itests/cffi "-I$out" "$source" "$@" "${more[@]}" "$archive" $native -o "$out/$name"
}

run_program() {
  build_program "$1"
  printf '== %s\n' "$1"
  MCPLINK_TEST_FOLDER=$out MCPLINK_TEST_STACK_KB=$([ "$profile" = dev ] && echo 1024 || echo 64) timeout 300 "${check[@]}" "$out/$1"
}

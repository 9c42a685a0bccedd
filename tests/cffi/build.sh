# What the scripts of this folder share: where things are, and how a C program is built with the library. To be sourced, in the root of the tree.
# shellcheck shell=bash

profile=${MCPLINK_PROFILE:-release}
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")
out=$folder/cffi${MCPLINK_SANITIZE:+-sanitized}
archive=$folder/libmcplink.a
mkdir -p "$out/guests"

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
  local features=${MCPLINK_FEATURES:-cffi}
  native=$(cargo rustc --locked --lib --profile "$profile" --features "$features" --crate-type staticlib -- --print native-static-libs 2>&1 \
    | tee /dev/stderr | sed -n 's/.*native-static-libs: //p' | tail -1)
  # What cargo has built before it prints no more.
  native=${native:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}
}

# The shared library, in `shared`. Cargo links it with what build.rs asks for.
build_shared() {
  cargo rustc --locked --lib --profile "$profile" --features "${MCPLINK_FEATURES:-cffi}" --crate-type cdylib
  shared=$folder/libmcplink.so
}

# build_program NAME [FLAG …]: the program of tests/cffi/NAME.c, and of NAME.rs if there is one, which is a Rust library of the host's.
build_program() {
  local name=$1 more=()
  shift
  if [ -f "tests/cffi/$name.rs" ]; then
    rustc --edition 2021 --crate-type staticlib -C panic=unwind -O "tests/cffi/$name.rs" -o "$out/$name.a"
    more+=("$out/$name.a")
  fi
  # shellcheck disable=SC2086
  "${CC:-gcc}" "${c_flags[@]}" "tests/cffi/$name.c" "$@" "${more[@]}" "$archive" $native -o "$out/$name"
}

run_program() {
  build_program "$1"
  printf '== %s\n' "$1"
  MCPLINK_TEST_FOLDER=$out MCPLINK_TEST_STACK_KB=$([ "$profile" = dev ] && echo 1024 || echo 64) timeout 300 "${check[@]}" "$out/$1"
}

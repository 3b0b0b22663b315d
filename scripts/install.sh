# shellcheck shell=bash
# Sourced by the scripts beside it: installs programs with apt where that is possible.

# need PROGRAM=PACKAGE...: installs the packages whose program is missing. Says what it does; returns 1, having said what to install,
# where a program is still missing.
need() {
  local pair program missing=() packages=()
  for pair in "$@"; do
    have "${pair%%=*}" || packages+=("${pair#*=}")
  done
  if ((${#packages[@]})); then
    echo "missing: installing ${packages[*]}" >&2
    apt_install "${packages[@]}" || true
  fi
  for pair in "$@"; do
    program=${pair%%=*}
    have "$program" || missing+=("${pair#*=}")
  done
  if ((${#missing[@]})); then
    echo "still missing; install with your package manager: ${missing[*]}" >&2
    return 1
  fi
}

have() {
  # A file, and not the shell's own word of that name; the C compiler is the one that builds will call.
  if [[ $1 == cc ]]; then type -P "${CC:-cc}" >/dev/null; else type -P "$1" >/dev/null; fi
}

apt_install() {
  local root=()
  if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get here" >&2
    return 1
  fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      echo "apt-get needs root, and sudo without a password is not available" >&2
      return 1
    fi
    root=(sudo -n)
  fi
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 ||
    { "${root[@]}" apt-get update -q >&2 &&
      "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2; }
}

# need_rust: Rust itself is assumed; its absence is explained.
need_rust() {
  if ! command -v cargo >/dev/null; then
    echo "cargo is missing: install Rust 1.89 or newer (https://rustup.rs), then run this again" >&2
    return 1
  fi
}

# need_python PACKAGE==VERSION...: installs programs from PyPI into a folder of their own below target, and puts that on PATH.
need_python() {
  local folder=target/tools/python
  if [[ ! -x $folder/bin/pip ]]; then
    python3 -m venv "$folder" >&2 || { need_package python3-venv && python3 -m venv "$folder" >&2; } || return 1
  fi
  "$folder/bin/pip" install -q --disable-pip-version-check "$@" >&2 || return 1
  PATH=$PWD/$folder/bin:$PATH
}

need_package() {
  echo "missing: installing $1" >&2
  apt_install "$1"
}

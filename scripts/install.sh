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

# A program is a file, and not the shell's own word of that name; the C compiler is the one that builds will call. `lib:NAME` is a library that
# programs can be linked with, `icd:` a driver that OpenCL's loader finds, `hip:` what HIP's binding is built with.
have() {
  case $1 in
    cc) type -P "${CC:-cc}" >/dev/null ;;
    lib:*) [[ $("${CC:-cc}" "-print-file-name=lib${1#lib:}.so") == /* ]] ;;
    icd:) compgen -G "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/*.icd" >/dev/null ;;
    hip:) hip_root >/dev/null ;;
    *) type -P "$1" >/dev/null ;;
  esac
}

# hip_root: prints the folder in which HIP's headers stand, as HIP_PATH names it.
hip_root() {
  local root
  for root in ${HIP_PATH:+"$HIP_PATH"} ${ROCM_PATH:+"$ROCM_PATH"} /opt/rocm /usr; do
    if [[ -f $root/include/hip/hip_runtime_api.h ]]; then
      echo "$root"
      return
    fi
  done
  return 1
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

# need_npm PACKAGE@VERSION...: installs packages from npm into a folder of their own below target.
need_npm() {
  mkdir -p target/tools/npm
  npm install --no-audit --no-fund --silent --no-save --prefix target/tools/npm "$@" >&2
}

need_package() {
  echo "missing: installing $1" >&2
  apt_install "$1"
}

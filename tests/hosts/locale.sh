#!/usr/bin/env bash
# locale.sh HOST FOLDER: runs the host in a German locale, which is made in FOLDER.
set -euo pipefail
mkdir -p "$2"
if [[ ! -d $2/de_DE.UTF-8 ]] && ! localedef --inputfile=de_DE --charmap=UTF-8 "$2/de_DE.UTF-8"; then
  echo "skipped: the locale de_DE cannot be made (Debian: apt-get install locales)"
  exit 77
fi
LOCPATH=$2 exec "$1"

#!/bin/sh
# Builds the documentation as a site, without a network: scripts/site.sh [KYMO [FOLDER]]
#
# The reference is of the public headers, of the Python package, and of the command by its help. KYMO is that command,
# build/dev's if not given. FOLDER gets the site, build/site if not given. Fails where a link leads nowhere.
set -eu
cd "$(dirname "$0")/.."
kymo=${1:-build/dev/apps/kymo/kymo}
folder=$(realpath -m "${2:-build/site}")
source=$folder.source
rm -rf "$source" "$folder"
mkdir -p "$source/reference" "$source/src"
# The same folders, so that links between them hold.
cp -R docs examples README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE "$source"
cp src/rooms.txt "$source/src"
# A site has no folders to look into: each gets a page with its files, and links to it lead there.
find "$source/examples" -type d | while read -r examples; do
  {
    printf '# %s\n\n' "${examples#"$source/"}"
    (cd "$examples" && ls | grep -v '^contents.md$' | sed 's,.*,- [&](&),')
  } >"$examples/contents.md"
  (cd "$examples" && for name in */; do [ ! -d "$name" ] || sed -i "s,(${name%/}),(${name}contents.md)," contents.md; done)
done
sed -i 's,](\(\(\.\./\)\{0\,1\}examples[a-z_/]*\)),](\1/contents.md),g' "$source"/*.md "$source"/docs/*.md

# The built package, whose extension knows the docstrings of its functions, else the sources.
python=$(realpath -m "$(dirname "$kymo")/../../python")
[ -d "$python/kymograph" ] || python=$PWD/python

reference=$source/reference/kymo.md
{
  echo '# The command'
  echo
  echo 'What `kymo --help` says, and each command.'
  for command in '' $("$kymo" completions bash | sed -n 's/^    \([a-z-]*\)) flags=.*/\1/p'); do
    printf '\n## kymo %s\n\n~~~text\n' "$command"
    "$kymo" $command --help
    echo '~~~'
  done
} >"$reference"

{
  echo '# The Python package'
  echo
  echo '`import kymograph as kymo`. Modules whose names begin with an underscore are not for import.'
  printf '\n::: kymograph\n'
  (cd python/kymograph && grep -l '^__all__' [a-z]*.py */__init__.py) | sed 's,/__init__,,; s,\.py$,,; s,.*,\n::: kymograph.&,'
} >"$source/reference/python.md"

sed "s,^docs_dir:.*,docs_dir: $source,; s,^site_dir:.*,site_dir: $folder,; s,paths: .python.,paths: [$python]," mkdocs.yml >"$folder.yml"
NO_MKDOCS_2_WARNING=1 build/peers/bin/python -m mkdocs build --strict --config-file "$folder.yml" >"$folder.log" 2>&1 || {
  cat "$folder.log" >&2
  exit 1
}
rm -rf "$source" "$folder.yml" "$folder.log"

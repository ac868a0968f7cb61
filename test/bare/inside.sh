#!/bin/sh
# What a newcomer does, on the bare machine that test/bare.rb has made: `bin/try` with every line that it prints, and then
# `bin/test` with the arguments. Runs inside that machine, which has no Ruby before.
set -eu

cd /elah

# The printed lines run as they are; with this, curl fails when the status says so.
printf 'fail\nsilent\nshow-error\n' >"$HOME/.curlrc"
printed=$HOME/printed
lines=$HOME/lines
mkfifo "$printed"
: >"$lines"

bin/try >"$printed" 2>&1 &
try=$!
exec 3<"$printed"
is_up=
while read -r line <&3; do
  printf 'try: %s\n' "$line"
  case $line in
    'All run until '*) is_up=yes; break ;;
    'curl '* | *' | curl '*) printf '%s\n' "$line" >>"$lines" ;;
  esac
done
[ -n "$is_up" ] || { echo "bin/try ended by itself." >&2; exit 1; }

failed=
while read -r line <&4; do
  sh -c "$line" >"$HOME/answer" 2>&1 </dev/null || {
    failed=yes
    printf 'This line of bin/try failed:\n  %s\n' "$line" >&2
    cat "$HOME/answer" >&2
  }
done 4<"$lines"
[ "$(wc -l <"$lines")" -gt 50 ] || { echo "bin/try printed fewer lines than there are things to try." >&2; exit 1; }
kill -TERM "$try"
wait "$try" || { echo "bin/try did not end well: $?" >&2; exit 1; }
[ -z "$failed" ] || exit 1
rm "$HOME/.curlrc"
echo "try: all $(wc -l <"$lines") lines work"

exec bin/test "$@"

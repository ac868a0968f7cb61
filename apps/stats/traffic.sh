# Sends some visits per second for as long as somebody tries the app, so that the live page has something to show.
number=0
while sleep 0.25; do
  number=$((number + 1))
  set -- "$URL/stats?path=/" "$URL/stats?path=/docs/$((number % 4))"
  [ $((number % 2)) = 0 ] || set -- "$@" "$URL/stats?path=/pricing"
  [ $((number % 40)) -gt 12 ] || set -- "$@" "$URL/stats?path=/launch" "$URL/stats?path=/launch" "$URL/stats?path=/signup"
  curl -sS --fail -H 'Prefer: durability=disk' "$@" || exit
done

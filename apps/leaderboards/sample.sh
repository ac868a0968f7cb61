# Makes a game with two leaderboards in a store that is new: points with eight players, and laps with the time they took.
curl -sS --fail "$URL/games" -H 'Content-Type: application/json' -d '{"name": "Karts"}'
curl -sS --fail "$URL/games/1/leaderboards" -H 'Content-Type: application/json' -d '{"name": "Points"}'
curl -sS --fail "$URL/games/1/leaderboards" -H 'Content-Type: application/json' -d '{"name": "Laps", "order": ["desc", "asc"], "decimals": [0, 3]}'
for entry in ann:120 bob:150 cid:120 dan:90 eve:310 fay:205 gus:64 hal:177; do
  curl -sS --fail -X PUT "$URL/leaderboards/1/members/${entry%:*}" -d "{\"score\": ${entry#*:}}"
done
curl -sS --fail -X PUT "$URL/leaderboards/2/members/ann" -d '{"score": [12, "61.305"]}'
curl -sS --fail -X PUT "$URL/leaderboards/2/members/bob" -d '{"score": [12, "59.9"]}'

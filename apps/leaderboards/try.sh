# submit a score; the response has the rank. The better score counts
curl -X PUT $URL/leaderboards/1/members/ann -d '{"score": 180}'
curl -X PUT $URL/leaderboards/1/members/ann -d '{"score": 10, "operator": "set"}'
# the first members, one member, its neighbours, each in a style of ranking
curl "$URL/leaderboards/1/top?limit=3"
curl "$URL/leaderboards/1/members/cid?rank=competition"
curl "$URL/leaderboards/1/members/cid/around?distance=2"
# add to a score; a request repeated with the same key counts once
curl -i $URL/leaderboards/1/members/dan/increments -H 'Idempotency-Key: race-17' -H 'Content-Type: application/json' -d '{"by": 25}'
curl -i $URL/leaderboards/1/members/dan/increments -H 'Idempotency-Key: race-17' -H 'Content-Type: application/json' -d '{"by": 25}'
# a live page of the board and its event stream: open it, then submit scores
echo $URL/leaderboards/1/live
curl -N -m 2 $URL/leaderboards/1/feed || true
# several boards, all or nothing
curl $URL/submissions -H 'Content-Type: application/json' -d '{"submissions": [{"leaderboard": 1, "member": "ivy", "score": 99}, {"leaderboard": 2, "member": "ivy", "score": [11, 58]}]}'
# by rank, by score, page by page, friends, one member on several boards
curl "$URL/leaderboards/1/members?ranks=3..5"
curl "$URL/leaderboards/1/members?scores=100..200"
curl "$URL/leaderboards/1/members?limit=3"
curl $URL/leaderboards/1/list -H 'Content-Type: application/json' -d '{"members": ["hal", "ann", "nobody"]}'
curl "$URL/members/ann/standings?leaderboards=1,2"
# percentile, histogram
curl $URL/leaderboards/1/members/eve/percentile
curl "$URL/leaderboards/1/histogram?buckets=4"
# metadata; ban, lift the ban, delete
curl -X PUT $URL/leaderboards/1/members/fay -d '{"score": 205, "metadata": {"country": "NL"}}'
curl -X PUT $URL/leaderboards/1/bans/eve
curl "$URL/leaderboards/1/top?limit=3"
curl -X DELETE $URL/leaderboards/1/bans/eve
curl -i -X DELETE $URL/leaderboards/1/members/gus
# seasons: end one by hand, read it afterwards; a board that restarts every day at midnight in Berlin
curl -X POST $URL/leaderboards/2/seasons
curl "$URL/leaderboards/2/top?season=1"
curl $URL/games/1/leaderboards -H 'Content-Type: application/json' -d '{"name": "Today", "season": "day", "zone": "Europe/Berlin"}'
# scores with several components, exact decimals
curl $URL/leaderboards/2/top
# games and leaderboards; the original's way to read scores
curl $URL/games -d name=Chess
curl $URL/games/1/leaderboards -H 'Content-Type: application/json' -d '{"name": "Fastest", "order": "asc", "operator": "best"}'
curl $URL/games/1/leaderboards.json
curl -X PUT $URL/games/1/leaderboards/1.json -H 'Content-Type: application/json' -d '{"name": "Season points"}'
curl "$URL/leaderboards/1/users.json?page=1"
curl $URL/leaderboards/1/users/ann.json
# a board in parts, which may live in several workers; ranks are exact over all parts
curl $URL/games/1/leaderboards -H 'Content-Type: application/json' -d '{"name": "World", "parts": 4}'
curl -X PUT $URL/leaderboards/5/members/ann -d '{"score": 180}'
# export and import as lines of JSON
curl $URL/leaderboards/1/export
curl $URL/leaderboards/1/import -H 'Content-Type: application/x-ndjson' --data-binary '{"member": "jim", "score": 77}'
# health
curl $URL/readyz

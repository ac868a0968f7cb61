# submit a score; the answer has the rank. The better score stays
curl -X PUT $URL/leaderboards/1/members/ann -d '{"score": 180}'
curl -X PUT $URL/leaderboards/1/members/ann -d '{"score": 10, "operator": "set"}'
# the first, one member, its neighbours, each with the style of ranks that is asked for
curl "$URL/leaderboards/1/top?limit=3"
curl "$URL/leaderboards/1/members/cid?rank=competition"
curl "$URL/leaderboards/1/members/cid/around?distance=2"
# scores of several components, exact decimals
curl $URL/leaderboards/2/top
# games and leaderboards; the original's reading of scores
curl $URL/games -d name=Chess
curl $URL/games/1/leaderboards -H 'Content-Type: application/json' -d '{"name": "Fastest", "order": "asc", "operator": "best"}'
curl $URL/games/1/leaderboards.json
curl -X PUT $URL/games/1/leaderboards/1.json -H 'Content-Type: application/json' -d '{"name": "Season points"}'
curl "$URL/leaderboards/1/users.json?page=1"
curl $URL/leaderboards/1/users/ann.json
# health
curl $URL/readyz

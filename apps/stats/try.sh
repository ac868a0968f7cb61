# note a visit, with what a page or an application says about it
curl -i "$URL/stats?path=/pricing&campaign=autumn"
curl -i $URL/stats -d 'path=/signup&plan=small'
curl -i $URL/stats -H 'Content-Type: application/json' -d '{"path": "/signup", "plan": "small"}'
# noted when it is on the disk, or at its destination
curl -i $URL/stats -H 'Prefer: durability=disk' -d 'path=/order'
curl -i $URL/stats -H 'Prefer: durability=delivered, wait=5' -d 'path=/order'
# accepted = delivered + queued + dead, of every stream and minute
curl $URL/sinks
# health of the process, and of the destination
curl $URL/livez
curl $URL/readyz
curl $URL/sinkz
# many at once, a result for each; as lines, in gzip
curl -i $URL/stats/batch -H 'Content-Type: application/json' -d '[{"path": "/a", "id": "order-17"}, {"path": "/b", "event": "Signed up"}]'
printf '{"path":"/a"}\n{"path":"/b"}\n' | gzip | curl -i $URL/stats/batch -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' --data-binary @-
# from a page of another origin: a picture, a beacon
curl "$URL/stats/pixel.gif?path=/newsletter" -o $FOLDER/pixel.gif
curl -i $URL/stats/beacon -H 'Content-Type: text/plain' -d '{"path": "/leave"}'
# as Segment's libraries send it
curl -u any-key: $URL/v1/track -H 'Content-Type: application/json' -d '{"userId": "u17", "event": "Signed up", "properties": {"path": "/signup", "plan": "small"}}'
# sums, with the number of events that they are exact to
curl "$URL/stats/rollups?per=minute&by=path"
curl "$URL/stats/rollups?per=day"
# rules for events; what does not fit is parked, and goes on when the rules change
curl -X PUT $URL/schemas/Order -H 'Content-Type: application/json' -d '{"required": ["sum"], "properties": {"sum": {"type": "integer"}}}'
curl $URL/stats -H 'Content-Type: application/json' -d '{"event": "Order", "sum": "17"}'
curl $URL/parked
curl -X PUT $URL/schemas/Order -H 'Content-Type: application/json' -d '{"required": ["sum"]}'
# what is stored of a visitor, and to be forgotten
curl $URL/visitors/me
curl $URL/visitors/user:u17
curl -X DELETE $URL/visitors/user:u17
# see all of it live: $URL/stats/live in a browser
curl -I $URL/stats/live

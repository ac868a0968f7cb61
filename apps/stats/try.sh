# record a visit, with properties from a page or an application
curl -i "$URL/stats?path=/pricing&campaign=autumn"
curl -i $URL/stats -d 'path=/signup&plan=small'
curl -i $URL/stats -H 'Content-Type: application/json' -d '{"path": "/signup", "plan": "small"}'
# respond when the event is on disk, or at its destination
curl -i $URL/stats -H 'Prefer: durability=disk' -d 'path=/order'
curl -i $URL/stats -H 'Prefer: durability=delivered, wait=5' -d 'path=/order'
# accepted = delivered + queued + dead, per stream and minute
curl $URL/sinks
# health of the process and of the destination
curl $URL/livez
curl $URL/readyz
curl $URL/sinkz
# a batch with a result for each event; as gzipped lines
curl -i $URL/stats/batch -H 'Content-Type: application/json' -d '[{"path": "/a", "id": "order-17"}, {"path": "/b", "event": "Signed up"}]'
printf '{"path":"/a"}\n{"path":"/b"}\n' | gzip | curl -i $URL/stats/batch -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' --data-binary @-
# from a page of another origin: a tracking pixel, a beacon
curl "$URL/stats/pixel.gif?path=/newsletter" -o $FOLDER/pixel.gif
curl -i $URL/stats/beacon -H 'Content-Type: text/plain' -d '{"path": "/leave"}'
# the API of Segment's libraries
curl -u any-key: $URL/v1/track -H 'Content-Type: application/json' -d '{"userId": "u17", "event": "Signed up", "properties": {"path": "/signup", "plan": "small"}}'
# sums, with the number of events that they include
curl "$URL/stats/rollups?per=minute&by=path"
curl "$URL/stats/rollups?per=day"
# schemas: an event that does not match is parked, and is processed when the schema changes
curl -X PUT $URL/schemas/Order -H 'Content-Type: application/json' -d '{"required": ["sum"], "properties": {"sum": {"type": "integer"}}}'
curl $URL/stats -H 'Content-Type: application/json' -d '{"event": "Order", "sum": "17"}'
curl $URL/parked
curl -X PUT $URL/schemas/Order -H 'Content-Type: application/json' -d '{"required": ["sum"]}'
# show and delete the data of a visitor
curl $URL/visitors/me
curl $URL/visitors/user:u17
curl -X DELETE $URL/visitors/user:u17
# watch all of it live: open $URL/stats/live in a browser
curl -I $URL/stats/live

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

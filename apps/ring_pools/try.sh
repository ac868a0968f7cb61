# lend a number to a visitor, with parameters of the call; the same visitor gets the same number
curl -i $URL/pools/1/leases -H 'Content-Type: application/json' -d '{"session": "visitor-1", "parameters": {"page": "/pricing", "campaign": "autumn"}}'
curl -i $URL/pools/1/leases -H 'Content-Type: application/json' -d '{"session": "visitor-1"}'
# who has the number, now or at a given time
curl "$URL/numbers/+12025550100"
curl "$URL/numbers/+12025550100?at=2030-01-01T12:00:00Z"
# the pool's statistics, and how many numbers it would need for 200 allocations an hour
curl "$URL/pools/1?allocations_per_hour=200"
# renew, release
curl -X PUT $URL/pools/1/leases/12025550100-1
curl -i -X DELETE $URL/pools/1/leases/12025550100-1
# many numbers at once, in the original's format; one number as XML, JSON or CSV
curl -i $URL/api/2013-07-01/bulk.json -d "{\"requests\": [{\"api_suffix\": \"1/allocate_number.json?ring_pool_key=$(curl -s $URL/pools/1 | sed 's/.*"api_key":"\([^"]*\)".*/\1/')&m1=autos\", \"request_id\": \"193C5F\"}]}"
curl -H "X-Api-Key: $(curl -s $URL/pools/1 | sed 's/.*"api_key":"\([^"]*\)".*/\1/')" "$URL/api/2013-07-01/ring_pools/1/allocate_number.xml?param1=autos"
# create, list, resize, delete
curl -i $URL/pools -H 'Content-Type: application/json' -d '{"numbers": ["+12025550190", "+12025550191"], "overflow_number": "+18885550000", "lifetime_seconds": 300, "policy": "sticky"}'
curl "$URL/pools?limit=3"
curl -X PUT $URL/pools/2 -H 'Content-Type: application/json' -d '{"numbers": ["+12025550180", "+12025550181", "+12025550182"]}'
curl -X DELETE $URL/pools/2
# health
curl $URL/readyz

# draw one item; three different items with a tag; the same items again, by seed
curl $URL/items/random
curl "$URL/items/random?n=3&tag=ruby"
curl "$URL/items/random?n=2&seed=7"
# how uniform this process's draws were
curl $URL/items/uniformity
# list page by page
curl "$URL/items?limit=2&tag=rare"
# create, show, delete
curl -i $URL/items -H 'Content-Type: application/json' -d '{"name": "Seamless tangible toolset", "tags": ["mine"]}'
curl $URL/items/$(curl -s $URL/items/random | cut -d'"' -f6)
curl -i -X DELETE $URL/items/$(curl -s "$URL/items/random?tag=mine" | cut -d'"' -f6)
# the original's routes
curl $URL/v1/items/random
curl $URL/servicehealth/
# health
curl $URL/readyz

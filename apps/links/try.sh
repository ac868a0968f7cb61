# visit a link: GET redirects and counts; HEAD does not count; + shows a page with the target
curl -i $URL/ruby
curl -I $URL/ruby
curl $URL/ruby+
# create a link, with a generated code or your own
curl -i $URL/links -H 'Content-Type: application/json' -d '{"target": "https://example.com/a/long/path"}'
curl -i $URL/links -H 'Content-Type: application/json' -d '{"target": "https://example.com/mine", "code": "mine", "max_visits": 3, "find_if_exists": true}'
# show a link with its visits; list; change
curl $URL/links/ruby
curl "$URL/links?limit=3&tag=library"
curl -X PATCH $URL/links/mine -H 'Content-Type: application/json' -d '{"title": "Mine", "expires_in": 3600}'
# as a QR code
curl $URL/links/ruby/qr.svg
curl "$URL/links/ruby/qr.png?size=200" -o $FOLDER/ruby.png
# export and import, one JSON object per line
curl $URL/links/export
curl "$URL/links/import?find_if_exists=true" -H 'Content-Type: application/x-ndjson' -d '{"target": "https://example.com/imported", "tags": ["new"]}'
# delete; health
curl -i -X DELETE $URL/links/mine
curl $URL/readyz

# visit a link: the redirect, which counts; HEAD does not count; with + a page that names the target
curl -i $URL/ruby
curl -I $URL/ruby
curl $URL/ruby+
# create, with a code of the app's or of yours
curl -i $URL/links -H 'Content-Type: application/json' -d '{"target": "https://example.com/a/long/path"}'
curl -i $URL/links -H 'Content-Type: application/json' -d '{"target": "https://example.com/mine", "code": "mine", "max_visits": 3, "find_if_exists": true}'
# show, with the number of visits; list; change
curl $URL/links/ruby
curl "$URL/links?limit=3&tag=library"
curl -X PATCH $URL/links/mine -H 'Content-Type: application/json' -d '{"title": "Mine", "expires_in": 3600}'
# as a QR code
curl $URL/links/ruby/qr.svg
curl "$URL/links/ruby/qr.png?size=200" -o $FOLDER/ruby.png
# all links out and in, a JSON object per line
curl $URL/links/export
curl "$URL/links/import?find_if_exists=true" -H 'Content-Type: application/x-ndjson' -d '{"target": "https://example.com/imported", "tags": ["new"]}'
# delete; health
curl -i -X DELETE $URL/links/mine
curl $URL/readyz

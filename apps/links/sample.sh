# Sends the links of sample.ndjson to a store that is new.
curl -sS --fail -X POST -H 'Content-Type: application/x-ndjson' --data-binary @sample.ndjson "$URL/links/import"

# Sends a small batch to a collector whose store is new.
curl -sS --fail $URL/stats/batch -H 'Content-Type: application/json' -A 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' -d '[
  {"path": "/", "event": "Viewed"}, {"path": "/pricing", "event": "Viewed"}, {"path": "/pricing", "event": "Clicked", "button": "buy"},
  {"path": "/signup", "event": "Viewed"}, {"path": "/signup", "event": "Signed up", "plan": "small"}]'

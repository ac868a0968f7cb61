# Makes two pools in a store that is new: of ten numbers for half an hour, and of three for a minute.
curl -sS --fail "$URL/pools" -H 'Content-Type: application/json' -d '{"name": "Web site", "lifetime_seconds": 1800, "overflow_number": "+18885550000", "tracking_url": "https://example.com/c",
  "numbers": ["+12025550100", "+12025550101", "+12025550102", "+12025550103", "+12025550104", "+12025550105", "+12025550106", "+12025550107", "+12025550108", "+12025550109"]}'
curl -sS --fail "$URL/pools" -H 'Content-Type: application/json' -d '{"name": "Landing page", "lifetime_seconds": 60, "policy": "sticky", "overflow_number": "+18885550001",
  "numbers": ["+12025550180", "+12025550181", "+12025550182"]}'

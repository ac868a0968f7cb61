-- Sends bulk requests, one of the lines of a file at random, and prints wrk's results as one line of JSON. A second argument is the
-- pause of each connection between an answer and its next request, in milliseconds.

local prepared = {}
local pause = 0

function init(args)
  math.randomseed(1)
  for body in io.lines(args[1]) do
    prepared[#prepared + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, body)
  end
  pause = tonumber(args[2] or 0)
  if pause > 0 then delay = function() return pause end end
end

function request() return prepared[math.random(#prepared)] end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"p50_us":%.0f,"p90_us":%.0f,"p99_us":%.0f,' ..
    '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end

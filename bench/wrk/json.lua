-- Prints wrk's results as one line of JSON. With a file as argument every request takes one of its lines at random: a path, or verb, path and
-- JSON body with tabs between them.

local prepared = {}

function init(args)
  if not args[1] then return end
  math.randomseed(1)
  for line in io.lines(args[1]) do
    local verb, path, body = line:match("^(%u+)\t(%S+)\t(.*)$")
    local headers = body and { ["Content-Type"] = "application/json" }
    prepared[#prepared + 1] = wrk.format(verb or "GET", path or line, headers, body)
  end
  -- Defined only here: wrk builds the request once when no function is asked for it.
  request = function() return prepared[math.random(#prepared)] end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"p50_us":%.0f,"p99_us":%.0f,' ..
    '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end

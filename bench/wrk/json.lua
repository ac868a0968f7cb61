-- Prints wrk's results as one line of JSON. With a file of paths as argument every request takes one of them at random.

local prepared = {}

function init(args)
  if not args[1] then return end
  math.randomseed(1)
  for path in io.lines(args[1]) do
    prepared[#prepared + 1] = wrk.format("GET", path)
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

-- Sends one request again and again and prints wrk's results as one line of JSON. Arguments: verb, a file with the body or "-", and
-- headers as "Name: value".

function init(args)
  wrk.method = args[1]
  if args[2] ~= "-" then
    local file = assert(io.open(args[2], "rb"))
    wrk.body = file:read("*a")
    file:close()
  end
  for index = 3, #args do
    local name, value = args[index]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,"p50_us":%.0f,"p95_us":%.0f,"p99_us":%.0f,' ..
    '"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(95), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end

-- Prints wrk's results as one line of JSON. Owns the `done` of the other scripts here, which load it from the repository's root.

local PERCENTILES = { 50, 90, 95, 99 }

function done(summary, latency)
  local errors = summary.errors
  local latencies = {}
  for index, percentile in ipairs(PERCENTILES) do
    latencies[index] = string.format('"p%d_us":%.0f', percentile, latency:percentile(percentile))
  end
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"bytes":%d,%s,"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, table.concat(latencies, ","),
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end

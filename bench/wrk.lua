-- What wrk counted, as one line of JSON: its own text has few percentiles. Latencies in milliseconds.
-- Only done() is defined: wrk then sends one unchanging request, without asking Lua.
local percentiles = { p50 = 50, p75 = 75, p90 = 90, p95 = 95, p99 = 99, p999 = 99.9 }

function done(summary, latency)
  local errors = summary.errors
  local parts = {
    string.format('"requests":%d', summary.requests),
    string.format('"seconds":%.6f', summary.duration / 1e6),
    string.format('"bytes":%d', summary.bytes),
    string.format('"errors":%d', errors.connect + errors.read + errors.write + errors.status + errors.timeout),
    string.format('"mean":%.4f', latency.mean / 1e3),
    string.format('"worst":%.4f', latency.max / 1e3),
  }
  for name, percentile in pairs(percentiles) do
    table.insert(parts, string.format('"%s":%.4f', name, latency:percentile(percentile) / 1e3))
  end
  io.write("\n{" .. table.concat(parts, ",") .. "}\n")
end

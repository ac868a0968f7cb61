-- Sends one request again and again. With a file as argument every request takes one of its lines at random: a path, or verb, path and JSON body
-- with tabs between them.

dofile("bench/wrk/report.lua")

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

-- Sends bulk requests, one of the lines of a file at random. A second argument is the pause of each connection between an answer and its next
-- request, in milliseconds.

dofile("bench/wrk/report.lua")

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

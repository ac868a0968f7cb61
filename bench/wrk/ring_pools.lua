-- Sends bulk requests, one of the lines of a file at random.

dofile("bench/wrk/report.lua")

local prepared = {}

function init(args)
  math.randomseed(1)
  for body in io.lines(args[1]) do
    prepared[#prepared + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, body)
  end
end

function request() return prepared[math.random(#prepared)] end

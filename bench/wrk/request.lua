-- Sends one request again and again. Arguments: verb, a file with the body or "-", and headers as "Name: value".

dofile("bench/wrk/report.lua")

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

# frozen_string_literal: true

# The plain answers as a Rack app, for every server that runs one: what differs between those rows is the server alone.
require "json"

TEXT = { "content-type" => "text/plain" }.freeze
JSON_TYPE = { "content-type" => "application/json" }.freeze

SLEEP_SECONDS = 0.05

# Passenger leaves the length to the app.
def answer(headers, body) = [200, headers.merge("content-length" => body.bytesize.to_s), [body]]

run(lambda do |env|
  case env["PATH_INFO"]
  when "/hello" then answer(TEXT, "hello world")
  when "/json" then answer(JSON_TYPE, JSON.generate({ id: 42, title: "hello world", done: false, tags: %w[ruby rust] }))
  when "/sleep"
    sleep SLEEP_SECONDS
    answer(TEXT, "slept")
  else [404, TEXT, ["not found"]]
  end
end)

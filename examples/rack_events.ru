# frozen_string_literal: true

# Server-sent events from a Rack 3 app: the body is called with the stream, and the fiber sleeps between two events.
#
#   elah serve examples/rack_events.ru
#   curl -N http://127.0.0.1:9292/?count=3
require "rack"

run lambda { |env|
  count = Rack::Utils.parse_query(env["QUERY_STRING"]).fetch("count", 1).to_i
  events = lambda do |stream|
    1.upto(count) do |number|
      stream << "id: #{number}\ndata: #{number} of #{count}\n\n"
      sleep 0.1 if number < count
    end
  ensure
    stream.close
  end
  env["rack.response_finished"] << ->(_env, _status, _headers, error) { warn "the client has gone" if error }
  [200, { "content-type" => "text/event-stream", "cache-control" => "no-cache" }, events]
}

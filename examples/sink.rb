# frozen_string_literal: true

# An event collector: an event with a 202 response is never lost, even after kill -9.
#   curl -d page=/ -H 'Prefer: durability=disk' http://127.0.0.1:9292/events
#   curl http://127.0.0.1:9292/sinks     # accepted = delivered + queued + dead
STORE = Elah::Store.open(File.join(Elah.config.data, "events"))
EVENTS = Elah::Sink.new("events", to: Elah::Sink::StoreTable.new(STORE, "events"))

class Collector < Elah::API
  format :json
  helpers Elah::Sink::Preference

  params { requires :page, type: String }
  post :events do
    receipt = push_as_preferred(EVENTS, params.merge("at" => Time.now.utc.to_s))
    status 202
    { id: receipt.id, durability: receipt.durability }
  end

  mount Elah::Sink::Report => "/sinks"
end

run Collector

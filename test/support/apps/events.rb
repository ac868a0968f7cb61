# frozen_string_literal: true

# An app for the tests of notifications under the server: its subscriber writes down what it receives, as an APM agent
# does.
require "rubygems"
require "active_support"
require "active_support/notifications"

class Events < Elah::API
  format :json
  get("wait/:ms") { sleep(params[:ms].to_i / 1000.0) && {} }
  get(:hello) { {} }
  get(:stream) { stream { |out| out << "streamed" } }
  post(:upload, stream_body: true) do
    bytes = 0
    request.each_body_chunk { |piece| bytes += piece.bytesize }
    { bytes: bytes }
  end
  get(:seen) { SEEN }
  SEEN = []
end

ActiveSupport::Notifications.subscribe("endpoint_run.grape") do |_name, start, finish, _id, payload|
  Events::SEEN << [payload[:endpoint].route.origin, payload[:endpoint].request.path, ((finish - start) * 1000).round]
end

run Events

# frozen_string_literal: true

module Elah
  # Rack support: serves Rack apps. It never loads the gem rack, which belongs to the app.
  module Rack
    autoload :Adapter, "elah/rack/adapter"
    autoload :ResponseSender, "elah/rack/response_sender"
    autoload :Environment, "elah/rack/environment"
  end
end

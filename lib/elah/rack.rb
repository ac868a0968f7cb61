# frozen_string_literal: true

module Elah
  # Rack support: serves Rack apps. It never loads the gem rack, which belongs to the app.
  module Rack
    autoload :Adapter, "elah/rack/adapter"
    autoload :Answer, "elah/rack/answer"
    autoload :Environment, "elah/rack/environment"
  end
end

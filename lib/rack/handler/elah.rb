# frozen_string_literal: true

# Owns the name "elah" in Rack before 3, for `rackup -s elah`.
require "rack/handler"
require_relative "../../elah/rack/handler"

module Rack
  module Handler
    module Elah
      extend ::Elah::Rack::Handler
    end

    register "elah", "Rack::Handler::Elah"
  end
end

# frozen_string_literal: true

# Owns the name "elah" in Rackup, which comes with Rack 3, for `rackup -s elah`.
require "rackup/handler"
require_relative "../../elah/rack/handler"

module Rackup
  module Handler
    module Elah
      extend ::Elah::Rack::Handler
    end

    register "elah", Elah
  end
end

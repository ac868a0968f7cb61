# frozen_string_literal: true

module Elah
  # How Rack apps are served, and what Rack knows of a request. It never loads the gem rack, which is the app's affair.
  module Rack
    autoload :Adapter, "elah/rack/adapter"
    autoload :Answer, "elah/rack/answer"
    autoload :Environment, "elah/rack/environment"
  end
end

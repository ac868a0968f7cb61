# frozen_string_literal: true

# The records of a class body for the compiler: one per endpoint and per mounted app.
module Elah
  module Framework
    # A defined endpoint.
    #
    # verbs: upper-case methods, or ["*"] · paths: raw paths · options: the Hash given to the verb · block: the handler ·
    # layers: the settings at that point · description: the Hash of `desc` · parameters: the `params` blocks that hold ·
    # route_settings: custom `route_setting` values · api: the class
    Definition = Struct.new(:verbs, :paths, :options, :block, :layers, :description, :parameters, :route_settings, :api,
                            keyword_init: true)

    # A mounted app. app: an Elah::API class or a Rack app · path: its path · layers: the settings at that point
    Mount = Struct.new(:app, :path, :layers, :api, keyword_init: true)
  end
end

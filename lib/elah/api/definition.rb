# frozen_string_literal: true

# Owns what a class body leaves behind for the compiler: one record per endpoint and per mounted app.
module Elah
  class API
    # An endpoint as it was written.
    #
    # verbs: upper-case methods, or ["*"] · paths: raw paths · options: the Hash given to the verb · block: the handler ·
    # layers: the settings at that point · description: the Hash of `desc` · parameters: the `params` blocks that hold ·
    # route_settings: custom `route_setting` values · api: the class
    Definition = Struct.new(:verbs, :paths, :options, :block, :layers, :description, :parameters, :route_settings, :api,
                            keyword_init: true)

    # An app as it was mounted. app: an Elah::API class or a Rack app · path: where · layers: the settings at that point
    Mount = Struct.new(:app, :path, :layers, :api, keyword_init: true)
  end
end

# frozen_string_literal: true

module Elah
  # The apps that an app consists of: what middleware, Rack::URLMap, Rack::Cascade and Rack::Builder call.
  module AppParts
    # Yields an app, then the apps within it, and so on.
    #
    # @param app [#call]
    # @param prefix [String] the path of the app
    # @param around [Array<#call>] the apps that it is within
    # @yieldparam part [#call]
    # @yieldparam path [String] what the apps around it strip from the path of a request, with //HOST before it when they choose by that
    # @yieldreturn [Boolean] whether to look within it
    # @return [void]
    def self.each(app, prefix = "", around = [], &block)
      return if around.any? { |one| one.equal?(app) } || !yield(app, prefix)

      within(app).each { |path, inner| each(inner, prefix + path, [*around, app], &block) }
    end

    # Middleware keeps its app in `@app`. A proxy, which is no Object, has no variables to read.
    def self.within(app)
      return [] unless Object === app

      case app.class.name
      when "Rack::URLMap" then app.instance_variable_get(:@mapping).map { |host, location, _, inner| ["#{"//#{host}" if host}#{location}", inner] }
      when "Rack::Cascade" then app.apps.map { |inner| ["", inner] }
      when "Rack::Builder" then [["", app.to_app]]
      else
        inner = app.instance_variable_get(:@app)
        Object === inner && inner.respond_to?(:call) ? [["", inner]] : []
      end
    end
    private_class_method :within
  end
end

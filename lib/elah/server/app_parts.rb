# frozen_string_literal: true

module Elah
  # The apps that an app consists of: what middleware, Rack::URLMap, Rack::Cascade and Rack::Builder call.
  module AppParts
    # Yields an app, then the apps within it, and so on, as far as they can be found.
    #
    # @param app [#call]
    # @param prefix [String] the path of the app
    # @param around [Array<#call>] the apps that it is within
    # @param builds [Boolean] whether to look within a Rack::Builder, which makes its middleware for that
    # @yieldparam part [#call]
    # @yieldparam path [String] what the apps around it strip from the path of a request, with //HOST before it when they choose by that
    # @yieldreturn [Boolean] whether to look within it
    # @return [void]
    def self.each(app, prefix = "", around = [], builds: false, &block)
      return if around.any? { |one| one.equal?(app) } || !yield(app, prefix)

      within(app, builds).each { |path, inner| each(inner, prefix + path, [*around, app], builds: builds, &block) }
    end

    # Middleware keeps its app in `@app`. A proxy, which is no Object, has no variables to read. An app may have any methods, also a `class` or a
    # `respond_to?` of its own.
    def self.within(app, builds)
      return [] unless Object === app
      return inner_app(app) unless defined?(::Rack)

      case app
      when ::Rack::URLMap then app.instance_variable_get(:@mapping).map { |host, location, _, inner| ["#{"//#{host}" if host}#{location}", inner] }
      when ::Rack::Cascade then app.apps.map { |inner| ["", inner] }
      when ::Rack::Builder then builds ? [["", app.to_app]] : []
      else inner_app(app)
      end
    rescue StandardError
      []
    end

    def self.inner_app(app)
      inner = app.instance_variable_get(:@app)
      Object === inner && inner.respond_to?(:call) ? [["", inner]] : []
    end
    private_class_method :within, :inner_app
  end
end

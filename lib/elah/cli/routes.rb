# frozen_string_literal: true

require "tmpdir"
require_relative ".."

module Elah
  module CLI
    # The command `elah routes [FILE]`: lists verb, path and description of every route of an app with `routes`, such as Elah::API and Grape,
    # also inside middleware, Rack::URLMap, Rack::Cascade and Rack::Builder.
    module Routes
      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error]
      def self.run(argv, out:)
        arguments = Arguments.new(argv)
        return Help.run(["routes"], out: out) if arguments.help?

        app = load(arguments)
        found = collect(app)
        if found.empty? && !lists_routes?(app)
          raise AppFileError, "Cannot list the routes of #{app.is_a?(Module) ? app : "a #{app.class}"}: it has no `routes` as an Elah::API has."
        end

        print_table(found.map { |prefix, route| [route.request_method.to_s, join(prefix, path(route)), route.description.to_s] }, out)
      end

      # @param app [#call]
      # @return [Array<Array(String, Object)>] the routes, each with its prefix
      def self.collect(app)
        found = []
        AppParts.each(app, builds: true) do |part, prefix|
          next true unless lists_routes?(part)

          found.concat(part.routes.map { |route| [prefix, route] })
          false
        end
        found
      end

      # A Rails or Sinatra app has `routes` of another kind.
      def self.lists_routes?(app)
        app.respond_to?(:routes) && app.routes.respond_to?(:to_ary) && app.routes.all? { |route| route.respond_to?(:request_method) }
      end

      def self.join(prefix, path) = path == "/" && !prefix.empty? ? prefix : prefix + path

      # A version in the path as clients write it: v1, or v1|v2 when there are several.
      def self.path(route)
        versions = Array(route.version) if route.respond_to?(:version)
        versions.nil? || versions.empty? ? route.path : route.path.sub(":version", versions.join("|"))
      end

      # In a temporary data folder and without the cluster, because listing routes must not create a database.
      def self.load(arguments)
        Dir.mktmpdir("elah-routes") do |folder|
          Elah.config = arguments.config(data: folder, without: [:cluster])
          Options::Environment.announce(Elah.config)
          AppFile.load(arguments.file)
        end
      end

      def self.print_table(rows, out)
        widths = [0, 1].map { |column| rows.map { |row| row[column].size }.max.to_i }
        rows.each { |verb, path, text| out.puts "#{verb.ljust(widths[0])}  #{path.ljust(widths[1])}  #{text}".rstrip }
      end
      private_class_method :collect, :lists_routes?, :join, :path, :load, :print_table
    end
  end
end

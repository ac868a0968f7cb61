# frozen_string_literal: true

require "tmpdir"
require_relative "../../elah"

module Elah
  module CLI
    # Owns `elah routes [FILE]`: it lists verb, path and description of every route of an app that can tell them, as
    # Elah::API and Grape can.
    module Routes
      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error]
      def self.run(argv, out:)
        arguments = Arguments.new(argv)
        return Help.run(["routes"], out: out) if arguments.help?

        app = load(arguments)
        unless app.respond_to?(:routes)
          raise AppFileError, "The app is a #{app.is_a?(Module) ? app : app.class}, which does not tell its routes; an Elah::API does."
        end

        print_table(app.routes.map { |route| [route.request_method, path(route), route.description].map(&:to_s) }, out)
      end

      # A version in the path is written as clients write it: as v1, or as v1|v2 when there are several.
      def self.path(route)
        versions = Array(route.version) if route.respond_to?(:version)
        versions.nil? || versions.empty? ? route.path : route.path.sub(":version", versions.join("|"))
      end

      # What the app opens as it is loaded is not left behind: a list of routes makes no database.
      def self.load(arguments)
        Dir.mktmpdir("elah-routes") do |folder|
          Elah.config = arguments.config(data: folder)
          AppFile.load(arguments.file)
        end
      end

      def self.print_table(rows, out)
        widths = [0, 1].map { |column| rows.map { |row| row[column].size }.max.to_i }
        rows.each { |verb, path, text| out.puts "#{verb.ljust(widths[0])}  #{path.ljust(widths[1])}  #{text}".rstrip }
      end
      private_class_method :path, :load, :print_table
    end
  end
end

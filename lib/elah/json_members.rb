# frozen_string_literal: true

module Elah
  module JSON
    # A few texts out of a JSON object, without a Hash of all that is in it. The other half is native (ext/elah/src/json_members.rs).
    #
    # @example
    #   members = Elah::JSON::Members.new("path", %w[params plan])
    #   members.texts('{"path":"/a","params":{"plan":"small","seats":3},"n":[1]}') # => ["/a", "small"]
    class Members
      # @param paths [Array<String, Array<String>>] each the name of a member, or the names that lead to one in objects inside of objects; up
      #   to 64
      # @return [Members]
      # @raise [ArgumentError] when there are more, or one has no name
      def self.new(*paths) = open(paths.map { |path| Array(path) })

      # @param json [String]
      # @return [Array<String, nil>] one for each of the paths; nil where there is none, or something that is no text
      # @raise [JSON::ParseError]
      def texts(json)
        read(json) || paths.map { |path| text_at(JSON.parse(json), path) }
      end

      private

      def text_at(value, path)
        found = path.reduce(value) { |object, name| object[name] if object.is_a?(Hash) }
        found if found.is_a?(String)
      end

      private_class_method :open
      private :read, :paths
    end
  end
end

# frozen_string_literal: true

# The two header hashes of handlers. Look-ups ignore case. Response headers are kept in lower case, as HTTP/2 and Rack 3 require, and request
# headers in Grape's spelling.
module Elah
  module Framework
    # Headers of a response, with lower-case names.
    class ResponseHeaders < Hash
      alias given? key?
      alias give store
      private :given?, :give

      # @api private
      def self.normalize(name) = name.to_s.downcase

      # @param type [String] media type of the body, unless the handler has set one
      # @return [self]
      # @api private
      def with_content_type(type)
        give("content-type", type) unless given?("content-type")
        self
      end

      # @param name [String, Symbol] in any case
      # @return [String, Array<String>, nil]
      def [](name) = super(name.to_s.downcase)

      # A nil value removes the header. Cookies may come as the helpers of Rack join them: those that are there, and another one, by line breaks.
      #
      # @param name [String, Symbol]
      # @param value [Object, nil]
      # @return [Object]
      def []=(name, value)
        return delete(name) if value.nil?

        name = name.to_s.downcase
        value = value.is_a?(Array) ? value.map(&:to_s) : value.to_s
        super(name, name == "set-cookie" && value.is_a?(String) && value.include?("\n") ? joined(value) : value)
      end
      alias store []=

      def key?(name) = super(name.to_s.downcase)
      alias has_key? key?
      alias include? key?

      def fetch(name, *default, &block) = super(name.to_s.downcase, *default, &block)
      def delete(name) = super(name.to_s.downcase)

      def merge!(*others)
        others.each { |other| other.each_pair { |name, value| self[name] = value } }
        self
      end
      alias update merge!

      def merge(*others) = dup.merge!(*others)

      private

      # With any other line break it stays as it is, and is refused when the response is sent: it may be the text of a client.
      def joined(cookies)
        *known, new = cookies.split("\n", -1)
        (known - Array(self["set-cookie"])).empty? ? [*known, new] : cookies
      end
    end

    # Headers that are checked once and sent many times. Equal headers share one object.
    module PreparedHeaders
      @sets = {}

      # @param headers [Hash{String=>String}] lower-case names
      # @return [Elah::HeaderSet]
      def self.set(headers) = @sets[headers] ||= HeaderSet.new(headers)
    end

    # Headers of a request, spelled `X-Api-Key`; a look-up ignores case.
    class RequestHeaders < Hash
      # @param headers [Hash{String=>String}] lower-case names
      # @api private
      def self.from(headers)
        headers.each_with_object(new) { |(name, value), all| all.store(spelled(name), value) }
      end

      # @return [String] `x-api-key` as `X-Api-Key`
      # @api private
      def self.spelled(name) = name.to_s.split(/[-_]/).map!(&:capitalize).join("-")

      # @param name [String] in any case
      # @return [String, nil]
      def [](name) = super(name) || super(self.class.spelled(name))
      def key?(name) = super(name) || super(self.class.spelled(name))
      alias has_key? key?
      alias include? key?

      def fetch(name, *default, &block)
        super(key?(name) && !keys.include?(name) ? self.class.spelled(name) : name, *default, &block)
      end
    end
  end
end

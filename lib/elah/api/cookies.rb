# frozen_string_literal: true

# The cookies of a request, and those that its response sets.
require_relative "standard_library"

module Elah
  module Framework
    # Cookies by name. Assigned cookies are sent.
    class Cookies
      include Enumerable

      # @param header [String, nil] the Cookie header
      # @api private
      def initialize(header)
        @cookies = parse(header)
        @sent = {}
      end

      # @param name [String, Symbol]
      # @return [String, Hash{Symbol=>Object}, nil]
      def [](name) = @cookies[name.to_s]

      # @param name [String, Symbol]
      # @param value [String, Hash{Symbol=>Object}] a value, or value, path, domain, expires (Time), max_age, secure, httponly, same_site
      # @return [void]
      def []=(name, value)
        @cookies[name.to_s] = value
        @sent[name.to_s] = value
      end

      # @yieldparam cookie [Array(String, Object)] name and value
      # @return [void]
      def each(&block) = @cookies.each(&block)

      # Deletes a cookie in the client.
      #
      # @param name [String, Symbol]
      # @param options [Hash{Symbol=>Object}] path and domain with which it was set
      # @return [void]
      def delete(name, **options) = self[name] = options.merge(value: "deleted", expires: Time.at(0))

      # @return [Array<String>] Set-Cookie headers
      # @api private
      def set_cookies = @sent.map { |name, value| written(name, value.is_a?(Hash) ? value : { value: value }) }

      private

      def parse(header)
        return {} if header.nil?

        header.split(";").each_with_object({}) do |pair, all|
          name, value = pair.split("=", 2)
          all[name.strip] ||= unescape(value) if name && value
        end
      end

      # @return [String] binary if the bytes are no text, as a header is
      def unescape(value)
        text = URI.decode_www_form_component(value)
        text.valid_encoding? ? text : text.b
      rescue ArgumentError
        value
      end

      def written(name, options)
        parts = ["#{escape(name)}=#{Array(options[:value]).map { |value| escape(value) }.join('&')}"]
        parts << "domain=#{options[:domain]}" if options[:domain]
        parts << "path=#{options[:path]}" if options[:path]
        parts << "max-age=#{options[:max_age]}" if options[:max_age]
        parts << "expires=#{http_date(options[:expires])}" if options[:expires]
        parts << "secure" if options[:secure]
        parts << "HttpOnly" if options[:httponly] || options[:http_only]
        parts << "SameSite=#{same_site(options[:same_site])}" if options[:same_site]
        parts.join("; ").delete("\r\n")
      end

      def same_site(value) = value == true ? "Strict" : value.to_s.capitalize

      def http_date(time)
        require "time"
        time.httpdate
      end

      def escape(value) = URI.encode_www_form_component(value.to_s)
    end
  end
end

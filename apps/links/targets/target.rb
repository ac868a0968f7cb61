# frozen_string_literal: true

require_relative "../errors"
require_relative "authority"

module Links
  module Targets
    # The URLs that a link may lead to. Accepted ones are ASCII without control characters and spaces, so they cannot end the
    # header.
    module Target
      BYTES_MAX = 4096
      PORTS = { "http" => 80, "https" => 443 }.freeze

      # The usual form of a target. Only its length and its host have to be checked, and nothing has to be encoded. Its host is
      # already canonical, with at most 247 characters.
      PLAIN = %r{\Ahttps?://((?:[a-z0-9](?:[a-z0-9-]{0,59}[a-z0-9])?\.){1,3}[a-z]{2,61})(?:[/?\#][!-\[\]-~]*)?\z}
      PARTS = %r{\A([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?\#\\]*))?(.*)\z}m

      # Spaces of any script, control characters, and characters that change the display of others.
      UNSEEN = /[[:space:]\p{Cc}\p{Cf}]/

      class << self
        # @param text [String]
        # @param own [Array<Authority>] where this service itself is reached
        # @return [String] the URL with everything that is not ASCII percent-encoded, else as it was
        # @raise [Invalid]
        def check(text, own: [])
          check_length(text)
          refuse("A target is UTF-8.") unless text.valid_encoding?
          if (host = text[PLAIN, 1])
            check_leads_away(Authority.new(host, PORTS[text.start_with?("https") ? "https" : "http"]), own)
            return text
          end

          refuse("A target has no spaces and no control characters; write them as %20 and so on.") if text.match?(UNSEEN)
          scheme, authority, rest = split(text)
          check_authority(scheme, authority, own)
          refuse("A target has no backslash; write %5C.") if rest.include?("\\")
          check_length(encode(text))
        end

        private

        def check_length(encoded)
          refuse("A target has at most #{BYTES_MAX} bytes; this one has #{encoded.bytesize}.") if encoded.bytesize > BYTES_MAX

          encoded
        end

        def split(text)
          scheme, authority, rest = text.match(PARTS)&.captures
          refuse("A target is an absolute URL, as https://example.com/page.") unless scheme
          unless PORTS.key?(scheme.downcase)
            raise Invalid.new("scheme_refused", "A target begins with #{PORTS.keys.join(':// or ')}://, not with #{scheme}:.")
          end

          refuse("A target names a host after the scheme, as https://example.com/page.") if authority.nil? || authority.empty?

          [scheme.downcase, authority, rest]
        end

        def check_authority(scheme, authority, own)
          refuse("A target has no user name and no password.") if authority.include?("@")
          refuse("Write the host in its ASCII form, as xn--bcher-kva.example.") unless authority.ascii_only?
          found = Authority.parse(authority, PORTS.fetch(scheme))
          refuse("#{authority} is not a host with an optional port.") unless found
          check_leads_away(found, own)
        end

        def check_leads_away(authority, own)
          return if own.none? { |mine| mine.same?(authority) }

          raise Invalid.new("target_loops", "A target must not lead back to this service.")
        end

        def encode(text)
          return text if text.ascii_only?

          text.gsub(/[^\x00-\x7f]/) { |character| character.bytes.map { |byte| format("%%%02X", byte) }.join }
        end

        def refuse(message) = raise(Invalid.new("invalid_target", message))
      end
    end
  end
end

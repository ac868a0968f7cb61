# frozen_string_literal: true

module Stats
  # The CORS headers. Any page may send events, but none may send cookies with them: an Origin that is not on the list never gets
  # credentials. `sendBeacon` with a Blob of JSON needs that, because browsers send it in the mode "include"; with text it does
  # not.
  class CORS
    METHODS = "GET, POST, OPTIONS"
    HEADERS = "authorization, content-type, content-encoding, prefer, x-api-key"
    PREFLIGHT = { "access-control-allow-methods" => METHODS, "access-control-allow-headers" => HEADERS, "access-control-max-age" => "86400" }.freeze
    EXPOSED = "preference-applied, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after"
    ANYBODY = { "access-control-allow-origin" => "*", "access-control-expose-headers" => EXPOSED }.freeze
    ORIGIN = %r{\Ahttps?://[a-z0-9.\[\]:-]+\z}

    # @param origins [Array<String>] that may send credentials, as https://example.com
    # @raise [Elah::OptionError]
    def initialize(origins)
      wrong = origins.find { |origin| !ORIGIN.match?(origin) }
      raise Elah::OptionError, "stats_origins must list origins such as https://example.com, separated by commas; #{wrong} is not an origin." if wrong

      @known = origins.to_h do |origin|
        [origin, { "access-control-allow-origin" => origin, "access-control-allow-credentials" => "true",
                   "access-control-expose-headers" => EXPOSED, "vary" => "origin" }.freeze]
      end
      @others = (origins.empty? ? ANYBODY : ANYBODY.merge("vary" => "origin")).freeze
    end

    # @return [Boolean] whether all origins get the same headers
    def uniform? = @known.empty?

    # @param origin [String, nil]
    # @return [Hash{String=>String}]
    def headers(origin) = @known[origin] || @others
  end
end

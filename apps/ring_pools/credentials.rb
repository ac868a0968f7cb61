# frozen_string_literal: true

require_relative "failure"

module RingPools
  # The pool and the key in a request for a number.
  module Credentials
    SUFFIX = %r{\A(\d{1,9})/allocate_number\.json(?:\?(.*))?\z}m
    KEY = "ring_pool_key="
    PARAMETERS_BYTES_MAX = 4096
    SUFFIX_RULE = "A request must have an api_suffix: POOL/allocate_number.json?ring_pool_key=KEY&NAME=VALUE"
    PARAMETERS_RULE = "The parameters of a request must have at most #{PARAMETERS_BYTES_MAX} bytes"
    NO_PARAMETERS = "At least one RingPool parameter must be present, even if its value is empty"

    class << self
      # Parses an api_suffix of any form.
      #
      # @param suffix [String]
      # @param directory [Directory]
      # @param api_key [Elah::ApiKey, nil] of the service
      # @param header_key [String, nil]
      # @return [Array(Entry, String)] the pool, and the parameters without the key
      # @raise [Failure]
      def read(suffix, directory, api_key, header_key)
        id, query = suffix.match(SUFFIX)&.captures
        raise Failure.new("InvalidRequest", SUFFIX_RULE) unless id && suffix.valid_encoding?

        entry = directory[id.to_i] or raise Failure.new("RecordNotFound", "Could not find RingPool '#{id}'")
        key, parameters = split(query.to_s)
        check(entry.definition, key || header_key, api_key)
        raise Failure.new("MissingParameter", NO_PARAMETERS) if parameters.empty?

        [entry, parameters]
      end

      # @param query [String]
      # @return [Array((String, nil), String)] the key, and the other parameters as they came
      def split(query)
        keys, parameters = query.split("&").partition { |parameter| parameter.start_with?(KEY) }
        [keys.first&.delete_prefix(KEY), parameters.join("&")]
      end

      # @param definition [Definition]
      # @param offered [String, nil]
      # @param api_key [Elah::ApiKey, nil] of the service
      # @raise [Failure] unless it is the pool's key or the service's
      def check(definition, offered, api_key)
        return if offered && (Elah::ApiKey.new(definition.api_key).match?(offered) || api_key&.match?(offered))

        shown = offered.to_s.byteslice(0, 64).force_encoding(Encoding::UTF_8).scrub
        raise Failure.new("InvalidKey", "API Key '#{shown}' is not valid for resource '#{definition.id}'")
      end

      # @param request [Elah::Request]
      # @return [String, nil] the key that came in a header
      def header(request)
        request.header("x-ring-pool-key") || Elah::ApiKey.offered(request)
      end
    end
  end
end

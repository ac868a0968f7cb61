# frozen_string_literal: true

require_relative "../errors"

module Links
  module Codes
    # The codes that a client may choose.
    module Custom
      LENGTH = (3..64).freeze
      PATTERN = /\A[A-Za-z0-9_-]+\z/

      # Paths of this API and usual neighbours; nobody may use them, in any case.
      RESERVED = %w[
        about account admin api app apps assets auth blog contact css dashboard docs download export favicon health healthz
        help home images img import index info js link links live livez login logout manifest media metrics openapi ping
        preview privacy qr ready readyz register robots search security settings signin signup sitemap static stats status
        support swagger terms user users version well-known www
      ].to_h { |word| [word, true] }.freeze

      # @param code [Object]
      # @return [String] the code
      # @raise [Invalid] when it cannot be a code
      def self.check(code)
        unless code.is_a?(String) && LENGTH.cover?(code.length) && code.match?(PATTERN)
          raise Invalid.new("invalid_code", "A code must have #{LENGTH.begin} to #{LENGTH.end} characters out of A-Z, a-z, 0-9, - and _.")
        end
        raise Invalid.new("code_reserved", "The code #{code} is reserved; choose another one.") if reserved?(code)

        code
      end

      # @param code [String] from a path
      # @return [Boolean] whether it is valid
      def self.possible?(code) = code.length.between?(1, LENGTH.end) && code.match?(PATTERN)

      # @param code [String]
      def self.reserved?(code) = RESERVED.key?(code.downcase)
    end
  end
end

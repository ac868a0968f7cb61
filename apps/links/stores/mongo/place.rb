# frozen_string_literal: true

module Links
  module Stores
    class Mongo
      # The text that orders links by their creation. Servers compare texts byte by byte, but byte strings by their length first.
      module Place
        PATTERN = /\A\h{16}[A-Za-z0-9_-]{1,64}\z/

        class << self
          # @param link [Link]
          # @return [String]
          def of(link) = format("%016x", link.created_at) << link.code

          # @param text [String] binary, as a client sent it
          # @return [String] that can be compared with places
          def read(text) = text.dup.force_encoding(Encoding::UTF_8)
        end
      end

      private_constant :Place
    end
  end
end

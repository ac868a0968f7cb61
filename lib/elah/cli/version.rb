# frozen_string_literal: true

require_relative "../version"

module Elah
  module CLI
    # The command `elah version`.
    module Version
      # @param out [IO]
      def self.run(_argv, out:)
        out.puts "elah #{VERSION} (ruby #{RUBY_VERSION}, #{RUBY_PLATFORM})"
      end
    end
  end
end

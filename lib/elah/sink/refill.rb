# frozen_string_literal: true

require "fileutils"

module Elah
  class Sink
    # The lock of a replay or a salvage, for all processes of the machine. Two at once would put the same events into the journal twice, and count
    # them twice; the second one waits. The lock ends with its process.
    # @api private
    module Refill
      private

      def alone
        FileUtils.mkdir_p(@folder)
        File.open(@folder) do |folder|
          folder.flock(File::LOCK_EX)
          yield
        end
      end
    end
  end
end

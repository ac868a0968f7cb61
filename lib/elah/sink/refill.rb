# frozen_string_literal: true

require "fileutils"

module Elah
  class Sink
    # The lock of a replay or a salvage. Two at once would put the same events into the journal twice, and count them twice. The lock ends with its
    # process.
    # @api private
    module Refill
      private

      def alone
        FileUtils.mkdir_p(@folder)
        File.open(@folder) do |folder|
          next yield if folder.flock(File::LOCK_EX | File::LOCK_NB)

          raise Error, "Another replay or salvage of the sink #{@name} is running: run this again when it has ended."
        end
      end
    end
  end
end

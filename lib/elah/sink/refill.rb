# frozen_string_literal: true

require "fileutils"

module Elah
  class Sink
    # The lock of a replay or a salvage, for all processes of the machine. Two at once would put the same events into the journal twice, and count
    # them twice; the second one waits. The lock ends with its process.
    # Forks of that share it, so the end of the work ends it also for them.
    # @api private
    module Refill
      private

      def alone
        FileUtils.mkdir_p(@folder)
        owner = Process.pid
        File.open(@folder) do |folder|
          folder.flock(File::LOCK_EX)
          yield
        ensure
          folder.flock(File::LOCK_UN) if owner == Process.pid
        end
      end
    end
  end
end

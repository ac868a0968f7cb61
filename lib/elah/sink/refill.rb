# frozen_string_literal: true

require "fileutils"

module Elah
  class Sink
    # Who puts events into the journal again is alone: two at once would put the same events into it twice, and count them twice. The lock ends
    # with its process.
    module Refill
      private

      def alone
        FileUtils.mkdir_p(@folder)
        File.open(@folder) do |folder|
          next yield if folder.flock(File::LOCK_EX | File::LOCK_NB)

          raise Error, "Somebody replays or salvages the sink #{@name} already: run it again when that has ended."
        end
      end
    end
  end
end

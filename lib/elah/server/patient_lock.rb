# frozen_string_literal: true

module Elah
  # The lock of a file or folder, for which a start waits a while: another start needs milliseconds, but somebody else may hold it for ever.
  # @api private
  module PatientLock
    SECONDS = 5
    PAUSE_SECONDS = 0.01
    private_constant :SECONDS, :PAUSE_SECONDS

    # @param file [File]
    # @return [Boolean] whether it is locked, until the file is closed
    def self.take(file)
      give_up_at = Concurrency.now + SECONDS
      until file.flock(File::LOCK_EX | File::LOCK_NB)
        return false if Concurrency.now > give_up_at

        sleep(PAUSE_SECONDS)
      end
      true
    end
  end
end

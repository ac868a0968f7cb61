# frozen_string_literal: true

require_relative "../errors"

module Elah
  # The limit of processes, of a user or of a control group. Ruby's `fork` and `spawn` try again at it once a second, for ever, and stop their thread
  # meanwhile: the supervisor asks before.
  # @api private
  module ProcessLimit
    # @return [void]
    # @raise [Elah::Error] when the system would refuse another process; it counts threads too
    def self.check
      Thread.new { nil }.join
    rescue ThreadError => e
      raise Error, "The system refuses another process (ulimit -u, or pids.max of a control group, TasksMax of systemd): #{e.message}."
    end
  end
end

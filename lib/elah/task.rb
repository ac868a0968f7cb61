# frozen_string_literal: true

module Elah
  # One thread of control in the loop: a request that is being handled, or a fiber that the application spawned.
  class Task
    # @return [Elah::Request, nil] nil for a spawned fiber
    attr_accessor :request

    # @return [Fiber] the fiber to enter next: the task's own, or one that the handler made and waits in
    attr_accessor :suspended

    # @return [Integer, nil] the wait that the task was suspended for last
    attr_accessor :wait
  end
end

# frozen_string_literal: true

require "fiddle"

module Lab
  # Keeps descendants that a process has let go within its tree: Passenger's, for one, begin sessions of their own, and their time and memory would
  # count for nobody. They become children of the nearest ancestor that asked for it, and it stays so over an exec.
  module Subreaper
    PR_SET_CHILD_SUBREAPER = 36

    module_function

    # Makes the calling process such an ancestor. Does nothing where there is no prctl.
    def become
      prctl = Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], [Fiddle::TYPE_INT, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_INT)
      prctl.call(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    rescue Fiddle::DLError
      nil
    end
  end
end

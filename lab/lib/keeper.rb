# frozen_string_literal: true

require "fiddle"

module Lab
  # The process between the lab and a server. What a server lets go (Passenger's workers begin sessions of their own) becomes the keeper's child, so
  # that its time and its memory still count, and it is waited for.
  module Keeper
    PR_SET_PDEATHSIG = 1
    PR_SET_CHILD_SUBREAPER = 36
    # They are sent to the group, and are for the server.
    SIGNALS = %w[TERM INT QUIT HUP].freeze

    module_function

    # Forks one, in a process group of its own, that runs the command and ends as it ends.
    # @param environment [Hash{String=>String}] added to the command's
    # @param words [Array<String>]
    # @param log [String] file of its output, and of why it could not be run
    # @param limits [Hash] for Process.spawn
    # @return [Integer] pid
    def start(environment, words, log:, **limits)
      fork do
        SIGNALS.each { |name| trap(name) { nil } }
        Process.setpgrp
        ask_kernel(PR_SET_PDEATHSIG, Signal.list.fetch("KILL"))
        ask_kernel(PR_SET_CHILD_SUBREAPER, 1)
        keep(Process.spawn(environment, *words, in: File::NULL, %i[out err] => log, **limits))
      rescue SystemCallError => e
        File.write(log, e.message)
      ensure
        exit!(127)
      end
    end

    def keep(server)
      ended = nil
      ended = Process.wait2.last until ended&.pid == server
      exit!(ended.exitstatus || (128 + ended.termsig))
    end

    # Does nothing where there is no prctl.
    def ask_kernel(option, value)
      prctl = Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], [Fiddle::TYPE_INT, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_INT)
      prctl.call(option, value, 0, 0, 0)
    rescue Fiddle::DLError
      nil
    end
  end
end

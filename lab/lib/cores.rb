# frozen_string_literal: true

require "etc"
require_relative "presence"

module Lab
  # Where what runs: the server under test on one core, the generator and the databases on another.
  class Cores
    SERVER = 0
    GENERATOR = 1

    # @param count [Integer] cores that the lab may use
    # @param taskset [Boolean] whether there is the command that binds a process to a core
    # @param guard [Boolean] whether there is a command that ends a server when the lab is killed
    def initialize(count: Etc.nprocessors, taskset: Presence.command?("taskset"), guard: Presence.command?("setpriv"))
      @count = count
      @taskset = taskset
      @guard = guard
    end

    # @return [Array<String>] words before a server's command
    def server = guard + pin(SERVER)

    # @return [Array<String>] words before a generator's or a database's command
    def generator = pin(GENERATOR)

    # @return [Array<String>] what the reader must know of the figures, in whole sentences
    def notices
      notices = []
      notices << "There is no taskset: servers and generator were not bound to cores, and take time from each other." unless @taskset
      notices << "There is one core only: servers, generator and databases share it, and what is shown is that sharing." if @count == 1
      notices
    end

    # @return [Boolean] whether the server has a core for itself
    def apart? = @taskset && @count > 1

    private

    def pin(core) = apart? ? ["taskset", "-c", core.to_s] : []

    # `kill -9` of the lab would leave the server behind otherwise.
    def guard = @guard ? %w[setpriv --pdeathsig KILL] : []
  end
end

# frozen_string_literal: true

require_relative "../workloads/items"
require_relative "../workloads/leaderboards"
require_relative "../workloads/links"
require_relative "../workloads/ring_pools"
require_relative "../workloads/stats"

module Lab
  # What is put into servers before they are asked, by the name that workloads.yml gives it. Each has `paths_file`, the requests that are sent at
  # random, one per line, and `load(server)`, which puts it in over HTTP. Items are too many for that: Items has the file of them.
  module Workloads
    KINDS = {
      "links" => -> { Links.new(WORK_FOLDER) }, "links_writes" => -> { Links.new(WORK_FOLDER, writes: true) },
      "ring_pools" => -> { RingPools.new(WORK_FOLDER) },
      "leaderboards" => -> { Leaderboards.new(WORK_FOLDER) }, "leaderboards_writes" => -> { Leaderboards.new(WORK_FOLDER, writes: true) },
      "stats_writes" => -> { Stats.new(WORK_FOLDER) }
    }.freeze

    # @param name [String]
    # @return [Object]
    # @raise [Lab::Error]
    def self.for(name)
      KINDS.fetch(name) { raise Error, "workloads.yml: there is no data #{name}; there are #{KINDS.keys.join(', ')}." }.call
    end
  end
end

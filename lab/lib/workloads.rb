# frozen_string_literal: true

require_relative "../workloads/items"
require_relative "../workloads/leaderboards"
require_relative "../workloads/links"

module Lab
  # What is put into servers before they are asked, by the name that workloads.yml gives it. Each has `paths_file`, the paths that are asked for at
  # random, and `load(server)`, which puts it in over HTTP.
  module Workloads
    KINDS = { "links" => -> { Links.new(WORK_FOLDER) }, "items" => -> { Items.new }, "leaderboards" => -> { Leaderboards.new(WORK_FOLDER) } }.freeze

    # @param name [String]
    # @return [Object]
    # @raise [Lab::Error]
    def self.for(name)
      KINDS.fetch(name) { raise Error, "workloads.yml: there is no data #{name}; there are #{KINDS.keys.join(', ')}." }.call
    end
  end
end

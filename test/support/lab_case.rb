# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "yaml"
require_relative "../../lab/lib/lab"

# Owns what the tests of the lab share: catalogues of small contenders, plans of seconds, and records in a temporary
# folder.
module LabCase
  PLAN = { name: "tiny", rounds: 1, seconds: 1, warmup: 0, pace_seconds: 1, shares: [], soak_seconds: 0 }.freeze
  WORKLOAD = { "title" => "a text", "contract" => "specs/plain.yml", "cases" => ["a text"], "path" => "/hello",
               "status" => 200, "connections" => [4], "rate" => 50 }.freeze

  def setup
    super
    @folder = Dir.mktmpdir("lab-test")
    Dir.chdir(Lab::ROOT)
  end

  def teardown
    FileUtils.remove_entry(@folder, true)
    super
  end

  # @param modes [Array<String>] of test/support/lab/contender.rb, which are the contenders' names too
  # @param workload [Hash{String=>Object}] what differs in the one workload
  # @param more [Hash{String=>Object}] of every contender's entry
  # @return [Lab::Catalogue]
  def catalogue(*modes, workload: {}, **more)
    entries = modes.to_h do |mode|
      [mode, { "title" => mode.capitalize, "kind" => "Ruby", "version" => %w[ruby --version],
               "workloads" => ["hello"], "ready_seconds" => 5,
               "run" => [RbConfig.ruby, "--disable=gems", "test/support/lab/contender.rb", "{port}", mode, pids_file],
               **more }]
    end
    Lab::Catalogue.new(contenders: written("contenders.yml", entries),
                       workloads: written("workloads.yml", { "hello" => WORKLOAD.merge(workload) }))
  end

  def written(name, content)
    File.join(@folder, name).tap do |file|
      File.write(file, content.is_a?(String) ? content : YAML.dump(content))
    end
  end

  # @return [String] where every contender writes its pid
  def pids_file = File.join(@folder, "pids")

  def contender_pids = File.exist?(pids_file) ? File.readlines(pids_file).map(&:to_i) : []
  def alive?(pid) = File.exist?("/proc/#{pid}") && !File.read("/proc/#{pid}/stat").match?(/\) Z /)

  # @return [Lab::Record] of a run of all of a catalogue's contenders
  def run_lab(catalogue, **plan)
    Lab::Session.new(contenders: catalogue.contenders.values, workloads: catalogue.workloads.values,
                     plan: Lab::Plan.new(**PLAN, **plan), command: "bin/lab", out: StringIO.new, parent: @folder,
                     stores_folder: File.join(@folder, "stores")).run
  end
end

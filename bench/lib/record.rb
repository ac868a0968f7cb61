# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "machine"

module Bench
  # The results of one day under bench/record/<date>/: raw JSON per command, from which the summary is made.
  class Record
    DIRECTORY = "bench/record"

    # @return [String]
    attr_reader :directory

    # @return [Record] the newest that there is
    # @raise [RuntimeError] when there is none
    def self.newest
      newest = Dir.glob(File.join(DIRECTORY, "*/")).max or raise "bench/record is empty: run bench/ratios --record first"
      new(File.basename(newest))
    end

    # @param date [String] as in 2026-11-20
    # @param parent [String] the folder of all days
    def initialize(date = Time.now.utc.strftime("%F"), parent: DIRECTORY)
      @parent = parent
      @directory = File.join(parent, date)
    end

    # Writes the results of one command.
    # @param name [String] of the command
    # @param results [Hash] its results; the machine's facts are added
    # @return [String] the file
    def write(name, results)
      FileUtils.mkdir_p(directory)
      file = File.join(directory, "#{name}.json")
      File.write(file, "#{JSON.pretty_generate(machine: Machine.facts, **results)}\n")
      file
    end

    # Writes the results of one contest of a command, each with the machine's facts. Those of its other contests stay as they were recorded, on this
    # day or before. A command does so whenever a contest is done: one that fails later costs nothing but itself.
    # @param name [String] of the command
    # @param list [Symbol] under which the command's results stand
    # @param results [Array<Hash{Symbol=>Object}>]
    # @param by [Symbol] what names a result: recorded ones of the same names give their place to these
    # @param options [Hash] of the command, as it was run last
    # @return [String] the file
    def replace(name, list, results, by:, options:)
      before = read(name).to_h
      recorded = before.fetch(list, []).map { |result| { machine: before[:machine], **result } }
      names = results.map { |result| result[by] }
      place = recorded.index { |result| names.include?(result[by]) } || recorded.size
      kept = recorded.reject { |result| names.include?(result[by]) }
      facts = Machine.facts
      write(name, options: options, list => kept.insert(place, *results.map { |result| { **result, machine: facts } }))
    end

    # @return [Hash{Symbol=>Object}, nil] what `write` wrote under that name on this day, or else the last time before it
    def read(name)
      file = Dir.glob(File.join(@parent, "*", "#{name}.json")).select { |path| File.dirname(path) <= directory }.max
      JSON.parse(File.read(file), symbolize_names: true) if file
    end
  end
end

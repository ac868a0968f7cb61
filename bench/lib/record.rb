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
    def initialize(date = Time.now.utc.strftime("%F"))
      @directory = File.join(DIRECTORY, date)
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

    # @return [Hash{Symbol=>Object}, nil] what `write` wrote under that name on this day, or else the last time before it
    def read(name)
      file = Dir.glob(File.join(DIRECTORY, "*", "#{name}.json")).select { |path| File.dirname(path) <= directory }.max
      JSON.parse(File.read(file), symbolize_names: true) if file
    end
  end
end

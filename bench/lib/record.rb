# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "machine"

module Bench
  # The latest results of each command under bench/record: raw JSON, from which the summary is made. Each has the facts of the machine, and its date.
  class Record
    FOLDER = "bench/record"

    # @return [String]
    attr_reader :folder

    # @param folder [String]
    def initialize(folder = FOLDER)
      @folder = folder
    end

    # Writes the results of one command in place of its last ones.
    # @param name [String] of the command
    # @param results [Hash] its results; the machine's facts are added
    # @return [String] the file
    def write(name, results)
      FileUtils.mkdir_p(folder)
      file(name).tap { |file| File.write(file, "#{JSON.pretty_generate(machine: Machine.facts, **results)}\n") }
    end

    # Writes the results of one contest of a command, each with the machine's facts. Those of its other contests stay as they were recorded.
    # A command does so whenever a contest is done: one that fails later costs nothing but itself.
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

    # @param name [String] of a command
    # @return [Hash{Symbol=>Object}, nil] what was written under that name
    def read(name) = (JSON.parse(File.read(file(name)), symbolize_names: true) if File.exist?(file(name)))

    private

    def file(name) = File.join(folder, "#{name}.json")
  end
end

# frozen_string_literal: true

require "fileutils"
require "json"
require "time"
require_relative "../../bench/lib/machine"

module Lab
  # What was measured, in a folder of its own under lab/record: `about.json` (machine, versions, plan), and `runs.ndjson` with one line per
  # run, written when the run ends, so that whoever interrupts loses nothing.
  class Record
    FOLDER = "lab/record"

    # @return [String]
    attr_reader :folder

    # @return [Record] the newest that there is
    # @raise [Lab::Error]
    def self.newest(parent = FOLDER)
      newest = Dir.glob("*/about.json", base: parent).max or raise Error, "#{parent} is empty: run bin/lab first."
      new(File.join(parent, File.dirname(newest)))
    end

    # @param about [Hash] plan, contenders, workloads, versions, notices
    # @return [Record] a new one
    def self.create(about, parent: FOLDER, now: Time.now.utc)
      folder = File.join(parent, "#{now.strftime('%Y-%m-%d-%H%M%S')}-#{about.fetch(:plan).fetch(:name)}")
      FileUtils.mkdir_p(folder)
      new(folder).tap { |record| record.about = about }
    end

    # @param folder [String]
    # @raise [Lab::Error] when there is no record
    def initialize(folder)
      raise Error, "#{folder} is no record." unless File.directory?(folder)

      @folder = folder.chomp("/")
    end

    # Writes what is known before the first run, or adds to it.
    def about=(facts)
      File.write(file("about.json"), "#{JSON.pretty_generate(facts)}\n")
    end

    # @return [Hash{Symbol=>Object}]
    def about = JSON.parse(File.read(file("about.json"), encoding: "UTF-8"), symbolize_names: true)

    # @param run [Hash] as Measurement and Soak give it
    def append(run)
      File.open(file("runs.ndjson"), "a") { |out| out.write("#{JSON.generate(run)}\n") }
    end

    # @param runs [Array<Hash{Symbol=>Object}>] all that it is to have
    def runs=(runs)
      File.write(file("runs.ndjson.new"), runs.map { |run| "#{JSON.generate(run)}\n" }.join)
      File.rename(file("runs.ndjson.new"), file("runs.ndjson"))
    end

    # @return [Array<Hash{Symbol=>Object}>] a line that was cut off by a crash is left out
    def runs
      return [] unless File.exist?(file("runs.ndjson"))

      File.foreach(file("runs.ndjson"), encoding: "UTF-8").filter_map { |line| JSON.parse(line, symbolize_names: true) if line.end_with?("\n") }
    end

    # @param name [String]
    # @return [String] path of a file of this record
    def file(name) = File.join(folder, name)
  end
end

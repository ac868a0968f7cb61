# frozen_string_literal: true

# What the benchmark's commands share: where things are, how they are built, and where results go.
require "fileutils"
require "json"
require_relative "answer"
require_relative "duel"
require_relative "generators"
require_relative "links"
require_relative "machine"
require_relative "procfs"
require_relative "record"
require_relative "server"
require_relative "statistics"
require_relative "workloads"

Dir.chdir(Bench::ROOT)

module Bench
  SERVER_CORE = 0
  GENERATOR_CORE = 1
  CONNECTIONS = 64
  # Room for whatever a command puts into an embedded store.
  STORE_BYTES_MAX = 64 * 1024**3

  # Relative to ROOT, where every command of the benchmark runs, so that recorded commands can be repeated elsewhere.
  WORK_DIRECTORY = "tmp/bench"
  RELEASE_DIRECTORY = "target/release"

  module_function

  # Builds the programs in release, Ruby's extension included.
  # @param features [String, nil] the clients that the extension has, by their cargo features
  def build(features: nil)
    run("cargo", "build", "--release", "--quiet", "-p", "elah-load", "-p", "bare_hyper")
    run("cargo", "build", "--release", "--quiet", "-p", "elah", *(["--features", features] if features))
    FileUtils.install(File.join(RELEASE_DIRECTORY, "libelah.so"), "lib/elah/elah.so")
    run("wrk", "-v", out: File::NULL, statuses: [0, 1])
  end

  # @param app [String] the application file
  # @param options [Array<String>] more options of `elah serve`
  # @param workers [Integer] how many, on as many cores: with more than one the last shares the generator's
  # @param name [String] of the server, which servers that run at the same time must not share
  # @param env [Hash{String=>String}]
  # @return [Server] Elah
  def elah(app, *options, workers: 1, name: "elah-#{File.basename(app, ".*")}", env: {})
    cores = (SERVER_CORE...SERVER_CORE + workers).to_a.join(",")
    Server.new(name, core: cores, directory: work_directory, env: env) do |port|
      ["exe/elah", "serve", app, "--bind", "tcp://127.0.0.1:#{port}", "--workers", workers.to_s, *options]
    end
  end

  # @param links [Links] the redirects that it knows
  # @param options [Array<String>] more options
  # @return [Server] the yardstick
  def bare_hyper(links, name = "bare_hyper", *options)
    Server.new(name, core: SERVER_CORE, directory: work_directory) do |port|
      [File.join(RELEASE_DIRECTORY, "bare_hyper"), "--port", port.to_s, "--links", links.table_file, *options]
    end
  end

  # @return [Generators]
  def generators
    Generators.new(core: GENERATOR_CORE, elah_load: File.join(RELEASE_DIRECTORY, "elah-load"), connections: CONNECTIONS)
  end

  # @return [String] for files that are not kept
  def work_directory
    FileUtils.mkdir_p(WORK_DIRECTORY).first
  end

  # Moves a process that runs already, with all its threads.
  def pin(process_id, core)
    run("taskset", "--all-tasks", "--cpu-list", "--pid", core.to_s, process_id.to_s, out: File::NULL)
  end

  def run(*command, out: $stdout, statuses: [0])
    system(*command, out: out)
    raise "#{command.join(" ")} failed" unless $?.exited? && statuses.include?($?.exitstatus)
  rescue Errno::ENOENT
    raise "#{command.first} is not installed"
  end
end

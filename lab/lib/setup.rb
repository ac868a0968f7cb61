# frozen_string_literal: true

require "fileutils"
require_relative "fingerprint"
require_relative "presence"
require_relative "shell"

module Lab
  # Brings what the chosen contenders and the generators need: Debian's packages, builds, and a word of each about its version. It says what
  # it does before it does it; what is there already costs a checksum.
  class Setup
    GENERATOR = %w[cargo build --release --locked --quiet --package elah-load].freeze
    TOOLS = { "wrk" => "wrk", "taskset" => "util-linux" }.freeze

    # @yieldparam line [String] what is done now
    def initialize(install: true, &say)
      @install = install
      @say = say
      @set_up = {}
    end

    # @raise [Lab::Error] when there is no generator
    def generators
      install(TOOLS.reject { |command, _| Presence.command?(command) }.values, "the generator")
      raise Error, "wrk is missing: install the package wrk." unless Presence.command?("wrk")

      build("elah-load", GENERATOR, ["crates/elah-load", "Cargo.lock"], "tmp/lab/build/elah-load")
    end

    # @param contender [Contender]
    # @param stores [Boolean] whether it will have to reach a database server
    # @return [String] its version, as it proved it
    # @raise [Lab::Error] when it cannot be had
    def contender(contender, stores: false)
      require_presence(contender)
      prepare(contender, stores)
      build(contender.name, contender.build_command, contender.sources, contender.build_folder) if contender.build_command
      version(contender)
    end

    private

    def require_presence(contender)
      presence = Presence.new(contender)
      return if presence.complete?
      raise Error, "#{presence.missing.join(', ')} is missing: #{presence.obstacle}." if presence.obstacle

      install(presence.packages, contender.title)
      missing = Presence.new(contender).missing
      raise Error, "#{missing.join(', ')} is missing#{": no Debian package is known to bring it" if presence.packages.empty?}." if missing.any?
    end

    def install(packages, reason)
      return if packages.empty? || !@install

      @say.call("apt-get install #{packages.join(' ')} (#{reason})")
      sudo = Process.uid.zero? ? [] : ["sudo"]
      @updated ||= Shell.run(*sudo, "apt-get", "update")
      Shell.run(*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--no-install-recommends", *packages)
    end

    def prepare(contender, stores)
      command = contender.set_up_command(stores: stores) or return
      @set_up[command] ||= begin
        @say.call(command.join(" "))
        Shell.run(*command)
      end
    end

    def build(name, command, sources, folder)
      FileUtils.mkdir_p(folder)
      stamp = File.join(folder, "sources.sha256")
      print = Fingerprint.of(command, sources)
      return if File.exist?(stamp) && File.read(stamp) == print

      @say.call("building #{name}: #{command.join(' ')}")
      Shell.run(*command)
      File.write(stamp, print)
    end

    def version(contender)
      output = Shell.run(*contender.version_command.map { |word| word.gsub("{build}", contender.build_folder).gsub("{folder}", contender.folder) })
      output[contender.version_pattern, 1] or raise Error, "`#{contender.version_command.join(' ')}` names no version: #{output.lines.first}"
    end
  end
end

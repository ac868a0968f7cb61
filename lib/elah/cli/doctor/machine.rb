# frozen_string_literal: true

module Elah
  module CLI
    module Doctor
      # What the process may open and write: file descriptors, and the data folder with the processes that use it.
      class Machine
        # @param config [Elah::Config]
        def initialize(config)
          @config = config
        end

        # @return [Array<Finding>]
        def findings = { descriptors: :descriptors, folder: :data, users: :data }.flat_map { |name, check| Doctor.attempt(check) { send(name) } }

        private

        # The server raises the soft limit to the hard one.
        def descriptors
          hard = Process.getrlimit(:NOFILE).last
          allowed = Descriptors.connections_max(@config, limit: hard)
          shown = hard == Process::RLIM_INFINITY ? "unlimited" : hard
          return Finding.new(level: :ok, check: :descriptors, message: "File descriptors: #{shown}") if allowed == @config.connections_max

          Finding.new(level: :warning, check: :descriptors,
                      message: "The hard limit of #{hard} file descriptors allows #{allowed} connections, " \
                               "not connections_max (#{@config.connections_max})",
                      remedy: "raise it (`ulimit -Hn`, LimitNOFILE= in systemd), or lower connections_max", page: "docs/operating.md#systemd")
        end

        def folder
          existing = @config.data
          existing = File.dirname(existing) until File.exist?(existing)
          return Finding.new(level: :ok, check: :data, message: "The data folder #{@config.data} is writable") if usable?(existing)

          Finding.new(level: :warning, check: :data, message: "The data folder #{@config.data} is not writable: #{existing} is #{what(existing)}",
                      remedy: "set --data to a folder that this user may write", page: "docs/store.md")
        end

        def usable?(path) = File.directory?(path) && File.writable?(path)
        def what(path) = File.directory?(path) ? "not this user's to write" : "not a folder"

        def users
          found = FolderUsers.of(@config.data)
          return if found.empty?

          Finding.new(level: :warning, check: :data, message: "The data folder #{@config.data} is in use by #{found.join(', ')}",
                      remedy: "stop it before you start another server there, or restart it with HUP", page: "docs/entities.md")
        end
      end
    end
  end
end

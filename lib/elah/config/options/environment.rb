# frozen_string_literal: true

require_relative "."

module Elah
  module Options
    # All access of the library to environment variables; nothing else in lib/ uses ENV.
    module Environment
      # The sizes of a fiber's stacks, as large as those of a thread. Ruby reads them as it starts, and `exe/elah` sets them.
      STACKS = { "RUBY_FIBER_VM_STACK_SIZE" => "1048576", "RUBY_FIBER_MACHINE_STACK_SIZE" => "1048576" }.freeze

      # The variables of a service manager that passes sockets.
      LISTEN = %w[LISTEN_PID LISTEN_FDS LISTEN_FDNAMES].freeze
      private_constant :LISTEN

      module_function

      # @param env [Hash{String=>String}]
      # @param own_only [Boolean] whether only names that begin with ELAH_ count
      # @return [Hash{Symbol=>Object}] the checked values of the options that have a variable set
      # @raise [OptionError] when a variable holds a wrong value
      def read(env = ENV, own_only: false)
        Options.all.each_with_object({}) do |option, values|
          name = option.variables.first(own_only ? 1 : 2).find { |variable| present?(env[variable]) }
          values[option.name] = option.check(env[name], source: "environment variable #{name}") if name
        end
      end

      # @return [Array<String>] the variables that begin with ELAH_ without belonging to an option
      def unknown(env = ENV) = env.keys.grep(/\AELAH_/) - variables - ["ELAH_RESTART"]

      # @return [Array<String>] of all options
      def variables = Options.all.flat_map(&:variables)

      # Ignores the common prefix, which would make every variable similar.
      #
      # @param name [String] of a variable that begins with ELAH_
      # @return [String] " Did you mean ELAH_X?", or an empty String when nothing is close
      def nearest(name)
        words = variables.grep(/\AELAH_/).map { |variable| variable.delete_prefix("ELAH_") }
        Options.did_you_mean(name.delete_prefix("ELAH_"), words).sub("mean ", "mean ELAH_")
      end

      # @param name [String, Symbol] of a setting, such as links_api_key
      # @return [String] its variable, such as LINKS_API_KEY
      def variable(name) = name.to_s.upcase

      # @param name [String, Symbol] of a setting
      # @return [String, nil] nil when the variable is unset. An empty one is a value: as an API key it must not be taken for none
      def setting(name, env = ENV) = env[variable(name)]

      # Tells the app which environment it runs in, for the frameworks that read RACK_ENV as they are loaded.
      #
      # @param config [Elah::Config]
      def announce(config, env = ENV)
        env["RACK_ENV"] = config.environment
      end

      # Reads and removes the state that the previous image of this process left, so that processes of the app do not see it.
      #
      # @return [String, nil]
      def take_restart(env = ENV) = env.delete("ELAH_RESTART")

      # @return [Boolean] whether the previous image of this process left its state
      def restarted?(env = ENV) = env.key?("ELAH_RESTART")

      # @return [Hash{String=>String}] all variables, except those that were meant for this image alone
      def lasting(env = ENV) = env.to_h.except("ELAH_RESTART", *LISTEN)

      # @return [String] the working directory by the name under which it was entered: a symlink may point elsewhere at the next start
      def working_folder(env = ENV)
        named = env["PWD"]
        present?(named) && File.identical?(named, Dir.pwd) ? named : Dir.pwd
      end

      # @return [String, nil] the runtime folder of this user
      def runtime_folder(env = ENV)
        folder = env["XDG_RUNTIME_DIR"]
        folder if present?(folder) && File.directory?(folder) && File.writable?(folder)
      end

      # @return [String] the folder for temporary files
      def temporary_folder(env = ENV) = present?(env["TMPDIR"]) && File.directory?(env["TMPDIR"]) ? env["TMPDIR"] : "/tmp"

      # @return [Hash{String=>String}] those of {STACKS} that are unset
      def unset_stacks(env = ENV) = STACKS.reject { |name, _| env.key?(name) }

      # Reads and removes the variables of a service manager that passes sockets.
      #
      # @return [Array(Integer, Integer)] the process that they are for, and how many; zeros when there are none
      def take_listen_descriptors(env = ENV)
        LISTEN.map { |name| Integer(env.delete(name) || 0, 10, exception: false) || 0 }.first(2)
      end

      # @return [String, nil] the socket of the service manager
      def notify_socket(env = ENV) = present?(env["NOTIFY_SOCKET"]) ? env["NOTIFY_SOCKET"] : nil

      # @return [Float, nil] seconds between two watchdog signals that the service manager expects
      def watchdog_seconds(env = ENV)
        return if present?(env["WATCHDOG_PID"]) && env["WATCHDOG_PID"].to_i != Process.pid

        microseconds = Integer(env["WATCHDOG_USEC"] || 0, 10, exception: false) || 0
        microseconds / 1_000_000.0 if microseconds.positive?
      end

      def present?(text) = !text.nil? && !text.empty?
    end
  end
end

# frozen_string_literal: true

require_relative "../options"

module Elah
  module Options
    # Owns all that the library reads from or writes to environment variables; nothing else in lib/ touches ENV.
    module Environment
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

      # @return [Array<String>] the variables that begin as those of options do, and are none
      def unknown(env = ENV) = env.keys.grep(/\AELAH_/) - variables - ["ELAH_RESTART"]

      # @return [Array<String>] of all options
      def variables = Options.all.flat_map(&:variables)

      # What all variables begin with makes none of them the nearest.
      #
      # @param name [String] of a variable that begins as those of options do
      # @return [String] " Did you mean ELAH_X?", or an empty text when nothing is near
      def nearest(name)
        words = variables.grep(/\AELAH_/).map { |variable| variable.delete_prefix("ELAH_") }
        Options.did_you_mean(name.delete_prefix("ELAH_"), words).sub("mean ", "mean ELAH_")
      end

      # @param name [String, Symbol] of a setting, as links_api_key
      # @return [String] its variable, as LINKS_API_KEY
      def variable(name) = name.to_s.upcase

      # @param name [String, Symbol] of a setting
      # @return [String, nil] nil when the variable is unset or empty
      def setting(name, env = ENV)
        value = env[variable(name)]
        value if present?(value)
      end

      # Tells the app which environment it runs in, for the frameworks that read RACK_ENV as they are loaded.
      #
      # @param config [Elah::Config]
      def announce(config, env = ENV)
        env["RACK_ENV"] = config.environment
      end

      # Takes what the image of this process before this one has left, so that no process of the app's finds it.
      #
      # @return [String, nil]
      def take_restart(env = ENV) = env.delete("ELAH_RESTART")

      # @param state [String]
      # @return [Hash{String=>String}] the variables of the next image, or of a trial run
      def restart(state) = { "ELAH_RESTART" => state }

      # @return [String] the working directory by the name under which it was entered: a link may point elsewhere at the next start
      def working_folder(env = ENV)
        named = env["PWD"]
        present?(named) && File.identical?(named, Dir.pwd) ? named : Dir.pwd
      end

      # @return [String, nil] the folder that the system keeps for what this user runs
      def runtime_folder(env = ENV)
        folder = env["XDG_RUNTIME_DIR"]
        folder if present?(folder) && File.directory?(folder) && File.writable?(folder)
      end

      # @return [String] the folder for temporary files
      def temporary_folder(env = ENV) = present?(env["TMPDIR"]) && File.directory?(env["TMPDIR"]) ? env["TMPDIR"] : "/tmp"

      # Takes what a service manager says of the sockets that it passes.
      #
      # @return [Array(Integer, Integer)] for which process they are, and how many; zeros when there are none
      def take_listen_descriptors(env = ENV)
        env.delete("LISTEN_FDNAMES")
        %w[LISTEN_PID LISTEN_FDS].map { |name| Integer(env.delete(name) || 0, 10, exception: false) || 0 }
      end

      # @return [String, nil] where the service manager listens
      def notify_socket(env = ENV) = present?(env["NOTIFY_SOCKET"]) ? env["NOTIFY_SOCKET"] : nil

      # @return [Float, nil] how often the service manager wants a sign of life from this process
      def watchdog_seconds(env = ENV)
        return if present?(env["WATCHDOG_PID"]) && env["WATCHDOG_PID"].to_i != Process.pid

        microseconds = Integer(env["WATCHDOG_USEC"] || 0, 10, exception: false) || 0
        microseconds / 1_000_000.0 if microseconds.positive?
      end

      def present?(text) = !text.nil? && !text.empty?
    end
  end
end

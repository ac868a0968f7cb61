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

      def present?(text) = !text.nil? && !text.empty?
    end
  end
end

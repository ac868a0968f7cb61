# frozen_string_literal: true

require_relative "options/environment"

module Elah
  # Owns the settings of an app, which Elah hands on without knowing them. The setting `links_api_key` is given by
  # `--set links_api_key=VALUE`, else by the environment variable LINKS_API_KEY, else by `set :links_api_key, VALUE` in
  # config/elah.rb. From the first two it is a String.
  class Settings
    # @param flags [Hash{String=>String}] what `--set` gave
    # @param file [Hash{String=>Object}] what the config file gave
    # @param env [Hash{String=>String}]
    def initialize(flags: {}, file: {}, env: ENV)
      @flags = flags.freeze
      @file = file.freeze
      @env = env
      @asked = {}
      freeze
    end

    # @param name [String, Symbol]
    # @return [Object, nil] nil when it is not set
    def [](name)
      name = name.to_s
      @asked[name] = true
      @flags.fetch(name) { Options::Environment.setting(name, @env) || @file[name] }
    end

    # @param name [String, Symbol]
    # @param default [Object] what to take when it is not set
    # @return [Object]
    # @raise [Elah::OptionError] when it is not set and there is no default
    def fetch(name, *default)
      value = self[name]
      return value unless value.nil?
      return default.first unless default.empty?

      raise OptionError, "The setting #{name} is missing: give --set #{name}=VALUE, the environment variable " \
                         "#{Options::Environment.variable(name)}, or `set :#{name}, VALUE` in the config file."
    end

    # @return [Boolean] whether it has a value
    def key?(name) = !self[name].nil?

    # What is misspelled is asked for by nobody: an API key, for example, that keeps nobody out.
    #
    # @return [Array<String>] a sentence for each setting of `--set` and of the config file, and each variable that begins with ELAH_, for
    #   which nobody has asked so far
    def warnings
      settings = (@flags.keys | @file.keys) - @asked.keys
      variables = Options::Environment.unknown(@env) - @asked.keys.map { |name| Options::Environment.variable(name) }
      settings.map { |name| "No part of the app has asked for the setting #{name} so far.#{Options.did_you_mean(name, @asked.keys)}" } +
        variables.map { |name| "No option has the variable #{name}.#{Options::Environment.nearest(name)}" }
    end

    # Values may be secrets, so they are not shown.
    def inspect = "#<#{self.class} #{(@flags.keys | @file.keys).join(', ')}>"
  end
end

# frozen_string_literal: true

require_relative "options/environment"

module Elah
  # The settings of an app, which Elah passes on without interpreting them. The setting `links_api_key` comes from
  # `--set links_api_key=VALUE`, else from the environment variable LINKS_API_KEY, else from `set :links_api_key, VALUE` in
  # config/elah.rb. From the first two it is a String.
  class Settings
    # @param flags [Hash{String=>String}] of `--set`
    # @param file [Hash{String=>Object}] of the config file
    # @param env [Hash{String=>String}]
    # @api private
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

    # @overload fetch(name, default)
    #   @param name [String, Symbol]
    #   @param default [Object] the value when it is not set
    #   @return [Object]
    # @overload fetch(name)
    #   @param name [String, Symbol]
    #   @return [Object]
    # @raise [Elah::OptionError] when it is not set and there is no default
    def fetch(name, *default)
      value = self[name]
      return value unless value.nil?
      return default.first unless default.empty?

      raise OptionError, "The setting #{name} is missing: pass --set #{name}=VALUE, or set the environment variable " \
                         "#{Options::Environment.variable(name)}, or `set :#{name}, VALUE` in the config file."
    end

    # @param name [String, Symbol]
    # @param default [Integer]
    # @param range [Range<Integer>] the valid values
    # @return [Integer]
    # @raise [Elah::OptionError] when the value is not a whole number, or out of range
    def integer(name, default, range)
      value = fetch(name, default).to_s
      return value.to_i if value.match?(/\A-?\d{1,18}\z/) && range.cover?(value.to_i)

      raise OptionError, "#{name} must be a whole number from #{range.begin} to #{range.end}, not #{value}."
    end

    # @param name [String, Symbol]
    # @param choices [Array<String>] the valid values; the first one is the default
    # @return [String]
    # @raise [Elah::OptionError] when the value is none of them
    def choice(name, choices)
      value = fetch(name, choices.first).to_s
      return value if choices.include?(value)

      raise OptionError, "#{name} must be #{choices.join(' or ')}, not #{value}."
    end

    # @param name [String, Symbol] of a text with commas or spaces between its parts
    # @return [Array<String>] empty when it is not set
    def list(name) = self[name].to_s.split(/[,\s]+/)

    # @param name [String, Symbol]
    # @return [Boolean] whether it has a value
    def key?(name) = !self[name].nil?

    # Finds misspelled names, such as that of an API key that would protect nothing.
    #
    # @return [Array<String>] a sentence for each setting of `--set` and the config file, and each variable that begins with ELAH_, that the
    #   app has not read so far
    def warnings
      settings = (@flags.keys | @file.keys) - @asked.keys
      variables = Options::Environment.unknown(@env) - @asked.keys.map { |name| Options::Environment.variable(name) }
      settings.map { |name| "The app has not read the setting #{name}.#{Options.did_you_mean(name, @asked.keys)}" } +
        variables.map { |name| "No option reads the environment variable #{name}.#{Options::Environment.nearest(name)}" }
    end

    # Values may be secrets, so they are not shown.
    def inspect = "#<#{self.class} #{(@flags.keys | @file.keys).join(', ')}>"
  end
end

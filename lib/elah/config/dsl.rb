# frozen_string_literal: true

require_relative "."

module Elah
  class Config
    # The methods of config/elah.rb: every option (`port 3000`, `workers 1`, `request_seconds 5`), the hooks, and `set` for the
    # app's settings. The names are Puma's where Puma has them.
    class Dsl
      # @return [Hash{Symbol=>Object}] the checked values of the options in the file
      # @api private
      attr_reader :values

      # @return [Hash{Symbol=>Array<Proc>}]
      # @api private
      attr_reader :hooks

      # @return [Hash{String=>Object}]
      # @api private
      attr_reader :settings

      # @param path [String]
      # @return [Elah::Config::Dsl] after the file was evaluated
      # @raise [Elah::OptionError] with the file and the line of an unknown name or invalid value; when the file itself needs the configuration
      # @api private
      def self.read(path)
        outer = Thread.current[:elah_config_file]
        raise OptionError, "#{path} uses Elah.config while it is read: open stores and sinks in the app or in a hook." if path == outer

        Thread.current[:elah_config_file] = path
        new.tap { |dsl| dsl.evaluate(File.read(path, encoding: Encoding::UTF_8), path) }
      rescue SyntaxError => e
        raise OptionError, e.message
      ensure
        Thread.current[:elah_config_file] = outer
      end

      # @return [Array<String>] a sentence for each line that looks like an option and sets none
      # @api private
      attr_reader :warnings

      def initialize
        @values = {}
        @hooks = {}
        @settings = {}
        @warnings = []
      end

      # @api private
      def evaluate(source, path)
        scope = binding_of_file
        scope.eval(source, path, 1)
        ((scope.local_variables & Options.names) - [:config, *@values.keys]).each do |name|
          line = source.lines.index { |text| text.match?(/^\s*#{name}\b.*=/) }
          @warnings << "#{path}#{":#{line + 1}" if line} assigns a variable `#{name}`, which sets no option: write `#{name} VALUE`, without =."
        end
      end

      (Options.all.map(&:name) - %i[config bind]).each do |name|
        define_method(name) { |*values| @values[name] = Options.fetch(name, source: place).check(one(name, values), source: place) }
      end

      # Listens on one more address.
      #
      # @param url [Array<String>] one: tcp://HOST:PORT or unix:///PATH
      # @return [void]
      # @raise [Elah::OptionError]
      def bind(*url)
        @values[:bind] = [*@values[:bind], *Options.fetch(:bind, source: place).check(one(:bind, url), source: place)].freeze
      end

      # Registers a block for a moment: in the supervisor before it forks a worker or after a worker has ended, in each worker before it serves or
      # after its last request.
      #
      # @yieldparam arguments [Array<Object>]
      # @return [void]
      HOOKS.each do |name|
        define_method(name) do |&block|
          raise OptionError, "#{name} needs a block (#{place})." unless block

          (@hooks[name] ||= []) << block
        end
      end

      # Passes a setting to the app.
      #
      # @overload set(name, value)
      #   @param name [Symbol, String]
      #   @param value [Object]
      #   @return [void]
      # @raise [Elah::OptionError]
      def set(*setting)
        raise OptionError, "set needs a name and a value, as in `set :api_key, \"secret\"` (#{place})." unless setting.size == 2

        name, value = setting
        @settings[name.to_s] = value
      end

      def respond_to_missing?(_name, _include_private = false) = false

      private

      def binding_of_file = binding

      def method_missing(name, *)
        words = Options.names - [:config] + HOOKS + [:set]
        raise OptionError, "Unknown option #{name} (#{place}).#{Options.nearest(name, words)} Hooks: #{HOOKS.join(', ')}."
      end

      def one(name, values)
        return values.first if values.size == 1

        raise OptionError, "#{name} needs one value, and has #{values.empty? ? 'none' : values.size} (#{place})."
      end

      # The current line of the config file.
      def place
        line = caller_locations.find { |location| location.path != __FILE__ }
        "#{line.path}:#{line.lineno}"
      end
    end
  end
end

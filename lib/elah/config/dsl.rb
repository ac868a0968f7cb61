# frozen_string_literal: true

require_relative "."

module Elah
  class Config
    # The methods of config/elah.rb: every option (`port 3000`, `workers 1`, `request_seconds 5`), the hooks, and `set` for the
    # app's settings. The names are Puma's where Puma has them.
    class Dsl
      # What a file sets.
      #
      # @attr_reader [Hash{Symbol=>Object}] values the checked ones of the options
      # @attr_reader [Hash{Symbol=>Array<Proc>}] hooks
      # @attr_reader [Hash{String=>Object}] settings
      # @attr_reader [Array<String>] warnings a sentence for each line that looks like an option and sets none
      # @api private
      Contents = Struct.new(:values, :hooks, :settings, :warnings) do
        def self.empty = new({}, {}, {}, [])
      end

      # @param path [String]
      # @return [Contents]
      # @raise [Elah::OptionError] with the file and the line of an unknown name or invalid value; when the file itself needs the configuration
      # @api private
      def self.read(path)
        outer = Thread.current[:elah_config_file]
        raise ::Elah::OptionError, "#{path} uses Elah.config while it is read: open stores and sinks in the app or in a hook." if path == outer

        Thread.current[:elah_config_file] = path
        contents = Contents.empty
        new(contents).evaluate(File.read(path, encoding: Encoding::UTF_8), path)
        contents
      rescue SyntaxError => e
        raise ::Elah::OptionError, e.message
      ensure
        Thread.current[:elah_config_file] = outer
      end

      # The file runs in this object, so its methods and variables could replace Elah's. Elah's own begin with `_` or `@elah_`.
      #
      # @param contents [Contents]
      # @api private
      def initialize(contents) = @elah_contents = contents

      # @api private
      def evaluate(source, path)
        scope = binding_of_file
        scope.eval(source, path, 1)
        ((scope.local_variables & ::Elah::Options.names) - [:config, *@elah_contents.values.keys]).each do |name|
          line = source.lines.index { |text| text.match?(/^\s*#{name}\b.*=/) }
          place = "#{path}#{":#{line + 1}" if line}"
          @elah_contents.warnings << "#{place} assigns a variable `#{name}`, which sets no option: write `#{name} VALUE`, without =."
        end
      end

      (Options.all.map(&:name) - %i[config bind]).each do |name|
        define_method(name) { |*values| @elah_contents.values[name] = _checked(name, values) }
      end

      # Listens on one more address.
      #
      # @param url [Array<String>] one: tcp://HOST:PORT or unix:///PATH
      # @return [void]
      # @raise [Elah::OptionError]
      def bind(*url)
        @elah_contents.values[:bind] = [*@elah_contents.values[:bind], *_checked(:bind, url)].freeze
      end

      # Registers a block for a moment: in the supervisor before it forks a worker or after a worker has ended, in each worker before it serves or
      # after its last request.
      #
      # @yieldparam arguments [Array<Object>]
      # @return [void]
      HOOKS.each do |name|
        define_method(name) do |&block|
          raise ::Elah::OptionError, "#{name} needs a block (#{_place})." unless block

          (@elah_contents.hooks[name] ||= []) << block
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
        raise ::Elah::OptionError, "set needs a name and a value, as in `set :api_key, \"secret\"` (#{_place})." unless setting.size == 2

        name, value = setting
        @elah_contents.settings[name.to_s] = value
      end

      def respond_to_missing?(_name, _include_private = false) = false

      private

      def method_missing(name, *)
        words = ::Elah::Options.names - [:config] + HOOKS + [:set]
        raise ::Elah::OptionError, "Unknown option #{name} (#{_place}).#{::Elah::Options.nearest(name, words)} Hooks: #{HOOKS.join(', ')}."
      end

      def _checked(name, values) = ::Elah::Options.fetch(name, source: _place).check(_one(name, values), source: _place)

      def _one(name, values)
        return values.first if values.size == 1

        raise ::Elah::OptionError, "#{name} needs one value, and has #{values.empty? ? 'none' : values.size} (#{_place})."
      end

      # The current line of the config file.
      def _place
        line = caller_locations.find { |location| location.path != __FILE__ }
        "#{line.path}:#{line.lineno}"
      end
    end
  end
end

# Outside of `module Elah`, so that JSON, Redis or Task in a config file and its hooks are Ruby's and the app's, and not Elah::JSON.
class Elah::Config::Dsl
  private

  def binding_of_file = binding
end

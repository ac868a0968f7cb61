# frozen_string_literal: true

require_relative "../config"

module Elah
  class Config
    # Owns the words of config/elah.rb: every option by its name (`port 3000`, `workers 1`, `request_seconds 5`), the
    # hooks of a worker's life, and `set` for the app's settings. The names are Puma's where Puma has them.
    class Dsl
      # @return [Hash{Symbol=>Object}] the checked values of the options that the file gave
      attr_reader :values

      # @return [Hash{Symbol=>Array<Proc>}]
      attr_reader :hooks

      # @return [Hash{String=>Object}]
      attr_reader :settings

      # @param path [String]
      # @return [Elah::Config::Dsl] after the file was evaluated
      # @raise [Elah::OptionError] with the file and the line of a wrong word or value
      def self.read(path)
        new.tap { |dsl| dsl.instance_eval(File.read(path), path, 1) }
      rescue SyntaxError => e
        raise OptionError, e.message
      end

      def initialize
        @values = {}
        @hooks = {}
        @settings = {}
      end

      (Options.all.map(&:name) - %i[config bind]).each do |name|
        define_method(name) { |value| @values[name] = Options.fetch(name, source: place).check(value, source: place) }
      end

      # Listens on one more address.
      #
      # @param url [String] tcp://HOST:PORT or unix:///PATH
      def bind(url)
        @values[:bind] = [*@values[:bind], *Options.fetch(:bind, source: place).check(url, source: place)].freeze
      end

      HOOKS.each do |name|
        define_method(name) do |&block|
          raise OptionError, "#{name} needs a block (#{place})." unless block

          (@hooks[name] ||= []) << block
        end
      end

      # Gives the app a setting.
      #
      # @param name [Symbol, String]
      # @param value [Object]
      def set(name, value)
        @settings[name.to_s] = value
      end

      def respond_to_missing?(_name, _include_private = false) = false

      private

      def method_missing(name, *)
        words = Options.names - [:config] + HOOKS + [:set]
        raise OptionError, "There is no option #{name} (#{place}).#{Options.nearest(name, words)} Hooks are #{HOOKS.join(', ')}."
      end

      # The line of the config file that runs now.
      def place
        line = caller_locations.find { |location| location.path != __FILE__ }
        "#{line.path}:#{line.lineno}"
      end
    end
  end
end

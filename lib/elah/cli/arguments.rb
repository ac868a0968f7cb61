# frozen_string_literal: true

require "optparse"
require_relative "../config"

module Elah
  module CLI
    # Owns the flags of the commands that read the options: built from the table, parsed by OptionParser, handed to
    # Elah::Config.
    class Arguments
      SHORT = { bind: "-b", port: "-p", environment: "-e", workers: "-w", config: "-C" }.freeze
      HELP = %w[-h --help].freeze

      # @return [String, nil] the app file
      attr_reader :file

      # @return [Boolean] whether the line asks for the command's help
      attr_reader :help
      alias help? help

      # @param argv [Array<String>] what follows the command
      # @param env [Hash{String=>String}]
      # @raise [Elah::OptionError] when a flag is unknown or lacks its value, or more than one file is named
      def initialize(argv, env: ENV)
        @env = env
        @flags = {}
        @settings = {}
        refuse_unknown(argv)
        @file, *surplus = parser.parse(argv)
        raise OptionError, "One app file is served, not also #{surplus.join(' ')}." if surplus.any?
      rescue OptionParser::ParseError => e
        raise OptionError, "#{e.message}.".capitalize
      end

      # @return [Elah::Config]
      # @raise [Elah::OptionError] when a value is wrong
      def config = Config.load(flags: @flags, settings: @settings, env: @env)

      private

      # OptionParser completes abbreviations, and its exact mode refuses `--flag=value` on Ruby 3.1: so names are looked
      # up here first.
      def refuse_unknown(argv)
        known = Options.all.map(&:flag) + %w[--set --help] + Options.all.select { |o| o.type == :boolean }.map { |o| negated(o) }
        argv.take_while { |word| word != "--" }.grep(/\A--/) do |word|
          flag = word[/\A[^=]+/]
          next if known.include?(flag)

          raise OptionError, "There is no flag #{flag}.#{Options.did_you_mean(flag, known)} The flags are #{known.join(', ')}."
        end
      end

      def parser
        OptionParser.new do |parser|
          Options.all.each { |option| define(parser, option) }
          parser.on("--set NAME=VALUE") { |pair| set(pair) }
          parser.on(*HELP) { @help = true }
        end
      end

      def define(parser, option)
        case option.type
        when :boolean then parser.on(option.flag.sub("--", "--[no-]")) { |value| @flags[option.name] = value }
        when :listeners then parser.on(*SHORT[option.name], "#{option.flag} URL") { |url| (@flags[option.name] ||= []) << url }
        else parser.on(*SHORT[option.name], "#{option.flag} VALUE") { |value| @flags[option.name] = value }
        end
      end

      def negated(option) = option.flag.sub("--", "--no-")

      def set(pair)
        name, value = pair.split("=", 2)
        raise OptionError, "--set takes NAME=VALUE, not #{pair}." if value.nil? || !name.match?(/\A[a-z]\w*\z/)

        @settings[name] = value
      end
    end
  end
end

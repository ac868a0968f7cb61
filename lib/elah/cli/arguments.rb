# frozen_string_literal: true

require_relative "../config"

module Elah
  module CLI
    # The command line of commands that read options: flags from the table of options, passed to Elah::Config. Without OptionParser, which
    # would stay in a server's memory.
    class Arguments
      SHORT = { bind: "-b", port: "-p", environment: "-e", workers: "-w", config: "-C" }.freeze
      HELP = %w[-h --help].freeze
      SET = "--set"

      # @return [Array<String>] the words that are no flags
      attr_reader :words

      # @return [Boolean] whether the line asks for the command's help
      attr_reader :help
      alias help? help

      # @param argv [Array<String>] the words after the command
      # @param env [Hash{String=>String}]
      # @param files_max [Integer] number of words that are allowed
      # @raise [Elah::OptionError] when a flag is unknown, lacks its value or does not accept one, or there is more than one file
      def initialize(argv, env: ENV, files_max: 1)
        @env = env
        @flags = {}
        @settings = {}
        @words = read(argv.dup)
        raise OptionError, "Only one app file is allowed: remove #{@words.drop(files_max).join(' ')}." if @words.size > files_max
      end

      # @return [String, nil] the app file
      def file = @words.first

      # @param without [Array<Symbol>] options that keep their default
      # @param flags [Hash{Symbol=>Object}] options that override the command line
      # @return [Elah::Config]
      # @raise [Elah::OptionError] when a value is wrong
      def config(without: [], **flags) = Config.load(flags: @flags.merge(flags), settings: @settings, env: @env, without: without)

      private

      # Flags and other words stand in any order; after `--` there are no flags.
      #
      # @return [Array<String>]
      def read(argv)
        words = []
        while (word = argv.shift)
          return words + argv if word == "--"

          word.match?(/\A-./) ? read_flag(word, argv) : words << word
        end
        words
      end

      def read_flag(word, words)
        flag, value = split(word)
        option, switch = flags.fetch(flag) { unknown(flag) }
        return switch(option, flag, switch, value) if [true, false].include?(switch)

        value ||= words.shift or raise OptionError, "The flag #{flag} needs a value."
        case option
        when SET then set(value)
        else keep(option, value)
        end
      end

      # @return [Array(String, String)] the flag and its value, for --port=80 and -p80; nil for -p, whose value is the next word
      def split(word)
        return word.split("=", 2) if word.start_with?("--")

        [word[0, 2], (word[2..] unless word.size == 2)]
      end

      # @return [Hash{String=>Array}] for every flag its option, SET or :help; and true or false when it accepts no value
      def flags
        @all_flags ||= Options.all.each_with_object({ SET => [SET] }) do |option, flags|
          if option.type == :boolean
            flags.update(option.flag => [option, true], option.flag.sub("--", "--no-") => [option, false])
          else
            [option.flag, SHORT[option.name]].compact.each { |flag| flags[flag] = [option] }
          end
        end.update(HELP.to_h { |flag| [flag, [:help, true]] })
      end

      def unknown(flag)
        raise OptionError, "Unknown flag #{flag}.#{Options.nearest(flag, flags.keys.grep(/\A--/))}"
      end

      def switch(option, flag, is_on, value)
        raise OptionError, "The flag #{flag} does not accept a value: remove =#{value}." if value

        option == :help ? @help = true : @flags[option.name] = is_on
      end

      def keep(option, value)
        return @flags[option.name] = value unless option.type == :listeners

        (@flags[option.name] ||= []) << value
      end

      def set(pair)
        name, value = pair.split("=", 2)
        raise OptionError, "--set must be NAME=VALUE, not #{pair}." if value.nil? || !name.match?(/\A[a-z]\w*\z/)

        @settings[name] = value
      end
    end
  end
end

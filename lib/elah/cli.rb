# frozen_string_literal: true

require_relative "errors"
require_relative "config/options"
require_relative "cli/arguments"

module Elah
  # The command `elah`: finds the subcommand, passes the arguments to it and reports its errors on standard error.
  # Exit status: 0 success, 1 the app or the server failed, 2 the command line or the configuration is wrong.
  module CLI
    autoload :Cluster, "elah/cli/cluster"
    autoload :Doctor, "elah/cli/doctor"
    autoload :FolderUsers, "elah/cli/folder_users"
    autoload :Help, "elah/cli/help"
    autoload :Routes, "elah/cli/routes"
    autoload :Serve, "elah/cli/serve"
    autoload :Sink, "elah/cli/sink"
    autoload :Status, "elah/cli/status"
    autoload :Store, "elah/cli/store"
    autoload :Version, "elah/cli/version"

    COMMANDS = { "serve" => :Serve, "status" => :Status, "routes" => :Routes, "doctor" => :Doctor, "sink" => :Sink, "store" => :Store,
                 "cluster" => :Cluster, "version" => :Version, "help" => :Help }.freeze
    ALIASES = { nil => "help", "-h" => "help", "--help" => "help", "-v" => "version", "--version" => "version" }.freeze

    # Names of `serve` in other servers and frameworks.
    SERVE_ELSEWHERE = %w[run server start up].freeze
    private_constant :SERVE_ELSEWHERE

    class << self
      # @param argv [Array<String>]
      # @param out [IO] for output
      # @param err [IO] for errors
      # @return [Integer] the exit status
      def start(argv, out: $stdout, err: $stderr)
        broken = argv.find { |argument| !argument.valid_encoding? }
        raise OptionError, "The argument #{broken.inspect} is not valid #{broken.encoding}." if broken

        word, *rest = argv
        command(word).run(rest, out: out)
        0
      rescue OptionError => e
        err.puts "elah: #{e.message}"
        2
      rescue Error => e
        err.puts "elah: #{e.message}"
        1
      rescue ScriptError, StandardError => e # of the app; Ruby itself would escape its message
        err.puts e.backtrace.to_a.empty? ? Text.of_exception(e) : e.full_message(highlight: false)
        1
      end

      # @param word [String, nil] the name of a command, or an alias
      # @return [Module] its implementation
      # @raise [Elah::OptionError] when there is no such command
      def command(word)
        name = COMMANDS.fetch(ALIASES.fetch(word, word)) do
          raise OptionError, "Unknown command #{word}.#{hint(word)} Commands: #{COMMANDS.keys.join(', ')}."
        end
        const_get(name)
      end

      private

      def hint(word)
        return " Did you mean elah serve #{word}?" if File.file?(word)

        SERVE_ELSEWHERE.include?(word) ? " Did you mean elah serve [FILE]?" : Options.did_you_mean(word, COMMANDS.keys)
      end
    end
  end
end

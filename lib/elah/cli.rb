# frozen_string_literal: true

require_relative "errors"
require_relative "options"
require_relative "cli/arguments"

module Elah
  # Owns the command `elah`: it finds the subcommand, hands it the arguments and turns its errors into a line on standard
  # error and an exit status: 0 done, 1 the app or the server failed, 2 the command line or the configuration is wrong.
  module CLI
    autoload :Help, "elah/cli/help"
    autoload :Routes, "elah/cli/routes"
    autoload :Serve, "elah/cli/serve"
    autoload :Sink, "elah/cli/sink"
    autoload :Status, "elah/cli/status"
    autoload :Store, "elah/cli/store"
    autoload :Version, "elah/cli/version"

    COMMANDS = { "serve" => :Serve, "status" => :Status, "routes" => :Routes, "sink" => :Sink, "store" => :Store, "version" => :Version,
                 "help" => :Help }.freeze
    ALIASES = { nil => "help", "-h" => "help", "--help" => "help", "-v" => "version", "--version" => "version" }.freeze

    class << self
      # @param argv [Array<String>]
      # @param out [IO] where answers go
      # @param err [IO] where errors go
      # @return [Integer] the exit status
      def start(argv, out: $stdout, err: $stderr)
        word, *rest = argv
        command(word).run(rest, out: out)
        0
      rescue OptionError => e
        err.puts "elah: #{e.message}"
        2
      rescue Error => e
        err.puts "elah: #{e.message}"
        1
      end

      # @param word [String, nil] a command as it was typed
      # @return [Module] what runs it
      # @raise [Elah::OptionError] when there is no such command
      def command(word)
        name = COMMANDS.fetch(ALIASES.fetch(word, word)) do
          hint = File.file?(word) ? " Did you mean elah serve #{word}?" : Options.did_you_mean(word, COMMANDS.keys)
          raise OptionError, "There is no command #{word}.#{hint} The commands are #{COMMANDS.keys.join(', ')}."
        end
        const_get(name)
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../options"

module Elah
  module CLI
    # Owns the texts of `elah help`; the part on options is written from the table.
    module Help
      OVERVIEW = <<~TEXT
        Usage: elah COMMAND

          elah serve [FILE]    serves an app: an Elah::API or any Rack app (default: app.rb, else config.ru)
          elah status          shows the servers that run: workers, connections, memory
          elah routes [FILE]   lists the routes of an app
          elah sink ACTION     shows what is in the sinks, replays dead letters, and reads damaged files
          elah store check     looks for damage in the embedded stores
          elah version         prints the version
          elah help [COMMAND]  prints this, or the help of one command; that of serve lists all options
      TEXT
      ROUTES = <<~TEXT
        Usage: elah routes [FILE] [--config PATH] [--environment NAME]

        Lists verb, path and description of every route of the app in FILE (default: app.rb, else config.ru).
      TEXT
      STATUS = <<~TEXT
        Usage: elah status [--json] [--run-dir PATH] [--pidfile PATH]

        Shows every server of this user with its workers: state, connections, open requests, fibers, lag of the loop, memory, shards, and
        how often each was replaced. --pidfile shows the server in that file alone. It reads what the servers write, and asks nobody.
      TEXT
      VERSION = "Usage: elah version\n"
      SINK = <<~TEXT
        Usage: elah sink status [NAME]               what was accepted, delivered, queued and parked
               elah sink dead NAME                   lists the dead letters with their reasons
               elah sink show NAME ID                prints the event of a dead letter
               elah sink replay NAME [ID...]         puts these or all dead letters into the journal again
               elah sink discard NAME ID...          forgets these dead letters; --all forgets all
               elah sink salvage NAME                puts what damaged files still hold into the journal again

        The sinks are below the folder of --data. The server may run or not: it delivers what was replayed or salvaged within `sink_adopt_seconds`,
        or when it starts.
      TEXT
      STORE = <<~TEXT
        Usage: elah store check [DIR...] [--data PATH]

        Looks at every page of the embedded stores in these folders, or of all below the folder of --data, and says which are damaged. The
        server may run meanwhile. Exits with 1 when a store is damaged.
      TEXT
      SERVE = <<~TEXT
        Usage: elah serve [FILE] [options]

        Serves the app in FILE (default: app.rb, else config.ru) until INT or TERM.

        A flag beats the environment, which beats the config file, which beats the default. The variable of an option is
        ELAH_ and its name in capitals, as ELAH_QUEUE_MAX; the config file takes the name itself, as `queue_max 500`.
        A number of bytes may end in K, M or G. Relative paths start at the working directory.
      TEXT
      WIDTH = 100

      class << self
        # @param argv [Array<String>] the name of a command, or nothing
        # @param out [IO]
        # @raise [Elah::OptionError] when there is no such command
        def run(argv, out:)
          return out.puts(OVERVIEW) if argv.empty?

          CLI.command(argv.first)
          texts = { "routes" => ROUTES, "sink" => SINK, "store" => STORE, "status" => STATUS, "version" => VERSION }
          out.puts(argv.first == "serve" ? serve : texts.fetch(argv.first, OVERVIEW))
        end

        private

        def serve
          groups = Options::GROUPS.map do |group, title|
            "\n#{title}:\n#{Options.all.select { |option| option.group == group }.map { |option| entry(option) }.join}"
          end
          SERVE + groups.join + settings
        end

        def entry(option)
          flag = option.type == :boolean ? option.flag.sub("--", "--[no-]") : option.flag
          head = [Arguments::SHORT[option.name], flag].compact.join(", ")
          head = "#{head} #{option.placeholder}" if option.placeholder
          "  #{head}\n#{wrap(option.summary)}#{wrap("(#{facts(option).join('; ')})")}"
        end

        def facts(option)
          ["default #{option.default_text || 'none'}",
           ("from #{option.range_text}" if option.range),
           ("also #{option.variable} in the environment" if option.variable)].compact
        end

        def settings
          "\nSettings of the app:\n  --set NAME=VALUE\n" +
            wrap("Gives the app a setting, which it reads as Elah.settings[\"name\"]; may be repeated. " \
                 "The environment variable NAME and `set :name, VALUE` in the config file do the same.")
        end

        def wrap(text) = text.gsub(/(.{1,#{WIDTH - 8}})(?:\s+|\z)/) { "        #{Regexp.last_match(1)}\n" }
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../config/options"

module Elah
  module CLI
    # The texts of `elah help`; the list of options comes from the table.
    module Help
      OVERVIEW = <<~TEXT
        Usage: elah COMMAND

          elah serve [FILE]    serves an app: an Elah::API or any Rack app (default: app.rb, else config.ru)
          elah status          shows running servers: workers, connections, memory
          elah routes [FILE]   lists the routes of an app
          elah doctor [FILE]   checks an app and the machine for what does not go with Elah
          elah sink ACTION     shows sinks, replays dead letters, recovers events from damaged files
          elah store ACTION    backs up, restores, checks, measures and compacts the embedded stores
          elah cluster ACTION  shows the processes of a cluster, empties a machine, checks it, imports a folder
          elah version         prints the version
          elah help [COMMAND]  prints this help, or that of a command; `elah help serve` lists all options
      TEXT
      ROUTES = <<~TEXT
        Usage: elah routes [FILE] [--config PATH] [--environment NAME]

        Lists verb, path and description of every route of the app in FILE (default: app.rb, else config.ru).
      TEXT
      DOCTOR = <<~TEXT
        Usage: elah doctor [FILE] [options of serve] [--json]

        Loads the app in FILE (default: app.rb, else config.ru) without serving it. Prints a line for each finding, with its remedy and a page of
        the documentation. Exit status: 0 when there is no warning, 1 when there is one, 2 when the command line is wrong.
      TEXT
      STATUS = <<~TEXT
        Usage: elah status [--json] [--run-dir PATH] [--pidfile PATH]

        Shows every server of this user with its workers: state, connections, open requests, fibers, lag of the loop, memory, shards, and
        number of replacements. --pidfile shows only the server in that file. Works while a server is stuck: it reads files that the servers write.
      TEXT
      VERSION = "Usage: elah version\n"
      SINK = <<~TEXT
        Usage: elah sink status [NAME]               shows accepted, delivered, queued and dead events
               elah sink dead NAME                   lists dead letters with their reasons
               elah sink show NAME ID                prints the event of a dead letter
               elah sink replay NAME [ID...]         puts these or all dead letters into the journal again
               elah sink discard NAME ID...          deletes these dead letters; --all deletes all
               elah sink salvage NAME                recovers events from damaged files into the journal

        Sinks are below the folder of --data. Run it as the user of the server, which may run or not. The server delivers replayed and recovered
        events within `sink_adopt_seconds`, or when it starts.
      TEXT
      CLUSTER = <<~TEXT
        Usage: elah cluster status [--json]     shows processes, machines and their shards
               elah cluster drain NODE          has the processes of a machine hand over their shards
               elah cluster check               checks the database and the owners of the shards, and calls the processes
               elah cluster import FOLDER       copies the store in a folder, or the only one of a data folder, to an empty cluster

        --cluster URL (or ELAH_CLUSTER, or the config file) names the database.
        Exit status: 0 success, 1 warnings or failed, 2 the command line is wrong.
      TEXT
      STORE = <<~TEXT
        Usage: elah store backup TO [--data PATH]           copies all stores and sinks to a new folder, or with - to a tar stream
               elah store restore FROM [--data PATH]        puts a backup into an empty folder; FROM is a folder, a tar file, or -
               elah store check [DIR...] [--data PATH]      checks every page, and lists damaged stores
               elah store stats [DIR...] [--data PATH]      shows bytes, pages, tables, counters and processes; --json for scripts
               elah store compact [DIR...] [--data PATH]    copies each store to a smaller file without free pages

        Without DIR: all stores below the folder of --data. The server may run meanwhile, except for compact and restore. A backup has all that was
        confirmed before it began; without its last file, backup.json, it is not restored.
        Exit status: 0 success, 1 damaged or failed, 2 the command line is wrong.
      TEXT
      SERVE = <<~TEXT
        Usage: elah serve [FILE] [options]

        Serves the app in FILE (default: app.rb, else config.ru) until INT or TERM.

        A flag overrides the environment, which overrides the config file, which overrides the default. The variable of an
        option is ELAH_ and its name in capitals, such as ELAH_QUEUE_MAX. In the config file write `queue_max 500`.
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
          texts = { "routes" => ROUTES, "doctor" => DOCTOR, "sink" => SINK, "store" => STORE, "cluster" => CLUSTER, "status" => STATUS,
                    "version" => VERSION }
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
            wrap("Passes a setting to the app, which reads it as Elah.settings[\"name\"]; may be repeated. " \
                 "The environment variable NAME and `set :name, VALUE` in the config file do the same.")
        end

        def wrap(text) = text.gsub(/(.{1,#{WIDTH - 8}})(?:\s+|\z)/) { "        #{Regexp.last_match(1)}\n" }
      end
    end
  end
end

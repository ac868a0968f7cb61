# frozen_string_literal: true

require "tmpdir"
require_relative ".."

module Elah
  module CLI
    # The command `elah doctor [FILE]`: loads the app without serving it, and reports what would block the loop, share state between requests, or
    # prevent the server from reaching its limits.
    module Doctor
      autoload :Gems, "elah/cli/doctor/gems"
      autoload :Machine, "elah/cli/doctor/machine"
      autoload :Records, "elah/cli/doctor/records"
      autoload :Software, "elah/cli/doctor/software"
      autoload :ThreadState, "elah/cli/doctor/thread_state"

      # level:: `ok`, `note`, or `warning`, which makes the exit status 1 · check:: the name of the check · message:: what was found
      # remedy:: what to do, or nil · page:: the page of the documentation, or nil
      Finding = Struct.new(:level, :check, :message, :remedy, :page, keyword_init: true) do
        # @return [String] one line
        def to_s
          line = "#{level.to_s.ljust(8)} #{check.to_s.ljust(12)} #{message}"
          line << ". #{remedy[0].upcase}#{remedy[1..]}" if remedy
          page ? "#{line}. See #{page}" : line
        end
      end

      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error] when there is a warning, or no app file
        def run(argv, out:)
          is_json = !argv.delete("--json").nil?
          arguments = Arguments.new(argv)
          return Help.run(["doctor"], out: out) if arguments.help?

          findings = examine(arguments)
          warnings = findings.count { |finding| finding.level == :warning }
          is_json ? print_json(findings, warnings, out) : findings.each { |finding| out.puts finding }
          raise Error, "Warnings: #{warnings} of #{findings.size} findings." if warnings.positive?
        end

        # Makes one check. An app can break any of them: the fault is a finding, and the other checks are made.
        #
        # @param check [Symbol] its name
        # @yieldreturn [Array<Finding>, Finding, nil]
        # @return [Array<Finding>]
        def attempt(check)
          [yield].flatten.compact
        rescue SignalException
          raise
        rescue Exception => e
          place = place(e)
          [Finding.new(level: :warning, check: check, message: "This check failed: #{brief(e)}", remedy: place && "look at #{place}")]
        end

        private

        def examine(arguments)
          config = arguments.config
          path = AppFile.find(arguments.file) # before the app can change the folder
          app, failure = load(arguments, path)
          software = Software.new(config)
          files = [path, *$LOADED_FEATURES.select { |feature| feature.end_with?(".rb") }]
          [*failure, *software.versions, *Machine.new(config).findings, *Gems.findings(config), *Records.new(config, app).findings,
           *attempt(:hosts) { software.hosts }, *attempt(:state) { ThreadState.findings(files) }]
        end

        # With a data folder of its own and without the cluster, because an examination must not create a database.
        #
        # @return [Array(#call, Array<Finding>)] the app and nothing, or nil and why it cannot be loaded
        def load(arguments, path)
          Dir.mktmpdir("elah-doctor") do |folder|
            Elah.config = arguments.config(data: folder, without: [:cluster])
            Options::Environment.announce(Elah.config)
            app = aside { AppFile.load(path) }
            AppFile.compile(app)
            [app, []]
          end
        rescue AppFileError, OptionError, SignalException
          raise
        rescue Exception => e
          [nil, [refusal(e)]]
        end

        # What an app prints goes to standard error, so that a program can read the findings.
        def aside
          previous = $stdout
          $stdout = $stderr
          yield
        ensure
          $stdout = previous
        end

        def refusal(error)
          Finding.new(level: :warning, check: :app, message: "The app cannot be loaded: #{brief(error)}",
                      remedy: "correct #{place(error) || 'its file'}; what depends on the app was not checked")
        end

        def brief(error) = Text.of_exception(error)[/\A.*/]

        # @return [String, nil] the first line of the app in the backtrace
        def place(error)
          lines = error.backtrace.to_a.map { |line| Text.utf8(line)[/\A.+?:\d+/].to_s }
          lines.find { |line| GemOrigin.app?(line.sub(/:\d+\z/, "")) }
        end

        def print_json(findings, warnings, out)
          list = findings.map { |finding| finding.to_h.compact }
          out.puts JSON.generate({ elah: VERSION, ruby: RUBY_VERSION, ok: warnings.zero?, findings: list })
        end
      end
    end
  end
end

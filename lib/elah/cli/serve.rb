# frozen_string_literal: true

require_relative ".."

module Elah
  module CLI
    # The command `elah serve [FILE]`: loads the configuration and the app, and runs the server.
    module Serve
      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error]
      def self.run(argv, out:)
        Restart.current.hold_stop
        arguments = Arguments.new(argv)
        return Help.run(["serve"], out: out) if arguments.help?

        config = Elah.config = arguments.config
        Options::Environment.announce(config)
        Elah::Store.check_restored(config.data)
        $stdout.sync = true # output of the app to a file would otherwise appear at exit
        app = AppFile.load(arguments.file)
        config.check_store!
        config.check_cluster!
        server = Server.new(app, config)
        if Restart.current.trial?
          Pidfile.check(config.pidfile, Process.ppid)
          return server.try
        end

        Pidfile.hold(config.pidfile, earlier: Restart.current.state["pidfile"]) { server.run }
      end
    end
  end
end

# frozen_string_literal: true

require_relative "../../elah"

module Elah
  module CLI
    # Owns `elah serve [FILE]`: it brings the configuration, the app and the server together.
    module Serve
      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error]
      def self.run(argv, out:)
        arguments = Arguments.new(argv)
        return Help.run(["serve"], out: out) if arguments.help?

        config = Elah.config = arguments.config
        Options::Environment.announce(config)
        $stdout.sync = true # what the app prints would come out at its end where that is a file
        app = AppFile.load(arguments.file)
        config.check_store!
        server = Server.new(app, config)
        return server.try if Restart.current.trial?

        Pidfile.hold(config.pidfile) { server.run }
      end
    end
  end
end

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

        server = load(arguments)
        pidfile = Elah.config.pidfile
        if Restart.current.trial?
          Pidfile.check(pidfile, Process.ppid)
          return server.try
        end

        Pidfile.hold(pidfile, earlier: Restart.current.options[:pidfile]) { server.run }
      end

      # What the trial run has loaded may fail now, as when a database is gone. The workers of the previous image then stay.
      #
      # @return [Elah::Server]
      def self.load(arguments)
        config = Elah.config = arguments.config
        Options::Environment.announce(config)
        Elah::Store.check_restored(config.data)
        $stdout.sync = true # output of the app to a file would otherwise appear at exit
        app = AppFile.load(arguments.file)
        config.check_store!
        config.check_cluster!
        app.compile! if app.respond_to?(:compile!)
        Server.new(app, config)
      rescue Exception => e # -- an app may call exit
        raise unless Restart.current.supervises?

        Elah.config = Config.build(**Restart.current.options)
        Log.new(level: Elah.config.log_level).exception(e, "The code failed to load after its trial run: the workers continue with the old code. " \
                                                           "Restart again when the cause is gone")
        Server.new(nil, Elah.config)
      end
      private_class_method :load
    end
  end
end

# frozen_string_literal: true

require_relative ".."

module Elah
  module CLI
    # The command `elah serve [FILE]`: loads the configuration and the app, and runs the server.
    module Serve
      # Ends a load that takes too long. It is no StandardError, which an app may rescue.
      class Overdue < Exception; end # rubocop:disable Lint/InheritException
      private_constant :Overdue

      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error]
      def self.run(argv, out:)
        Restart.current.hold_signals
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
        Restart.current.check_data_folder(config) # before the app makes another one
        Elah::Store.check_restored(config.data)
        $stdout.sync = true # output of the app to a file would otherwise appear at exit
        app = within_boot_seconds { AppFile.load(arguments.file) }
        config.check_store!
        config.check_cluster!
        AppFile.compile(app)
        Server.new(app, config)
      rescue Exception => e # -- an app may call exit
        raise unless Restart.current.supervises?

        Elah.config = Config.build(**Restart.current.options)
        Log.new(level: Elah.config.log_level).exception(e, "The code failed to load after its trial run: the workers continue with the old code. " \
                                                           "Restart again when the cause is gone")
        Server.new(nil, Elah.config)
      end
      private_class_method :load

      # The workers of the previous image have no supervisor while the app loads, which may wait for a service that is away now.
      def self.within_boot_seconds
        return yield unless Restart.current.supervises?

        seconds = Restart.current.options.fetch(:boot_seconds)
        loader = Thread.current
        timer = Thread.new do
          sleep(seconds)
          loader.raise(Overdue, "The app did not load within #{seconds} s (boot_seconds).")
        end
        yield
      ensure
        timer&.kill
      end
      private_class_method :within_boot_seconds
    end
  end
end

# frozen_string_literal: true

require_relative ".."

module Elah
  module Rack
    # The handler for rackup: its Host and Port become an address to bind, and every option of Elah may follow as `-O queue_max=500`. The
    # environment and config/elah.rb apply as with `elah serve`.
    module Handler
      # Options of Elah whose names have another meaning in rackup.
      RACKUP_OWN = %i[config pidfile].freeze

      # Options that an app reads while it is loaded, as with `Elah::Store.open(Elah.config.data)`.
      EARLY = Options.all.select { |option| %i[store cluster sinks].include?(option.group) }.map(&:name) + %i[data shards]
      private_constant :EARLY

      # @param app [#call] a Rack app
      # @param options [Hash] Host, Port and other options of rackup; names unknown to Elah are ignored
      # @yieldparam server [Elah::Server] before it runs
      # @raise [Elah::Error]
      def run(app, **options)
        enter_app_folder(options) if options[:daemonize]
        flags = options.slice(*(Options.names - RACKUP_OWN))
        flags[:bind] ||= address(options) if options[:Port]
        seen = Elah.config if Elah.config?
        Elah.config = Config.load(flags: flags)
        check(seen, flags.keys)
        $stdout.sync = true # as under `elah serve`
        server = Server.new(app, Elah.config)
        yield server if block_given?
        restart = Restart.current
        restart.rack_pid_file = options[:pid]
        restart.trial? ? server.try : server.run
      end

      # @return [Hash{String=>String}] options that `rackup -s elah -h` lists
      def valid_options
        (Options.all.reject { |option| RACKUP_OWN.include?(option.name) })
          .to_h { |option| ["#{option.name}=#{option.placeholder || 'true|false'}", option.summary] }
      end

      private

      # The options of rackup come when the app is loaded.
      #
      # @param seen [Elah::Config, nil] the configuration that the app has read
      # @param flags [Array<Symbol>]
      def check(seen, flags)
        (seen || Elah.config).check_store!
        Elah.config.check_cluster!
        late = (flags & EARLY).reject { |name| seen.nil? || seen.public_send(name) == Elah.config.public_send(name) }
        return if late.empty? || Restart.current.trial?

        variables = late.map { |name| "ELAH_#{name.upcase}" }
        Log.new(level: Elah.config.log_level).warn("The app was loaded before rackup passed #{late.join(', ')}: what it opened by then uses other " \
                                                   "values. Set #{variables.join(', ')} or config/elah.rb instead")
      end

      # `rackup -D` and `rails server -d` have entered "/", where neither config/elah.rb nor the data are.
      def enter_app_folder(options)
        Dir.chdir((::Rails.root if defined?(::Rails.root)) || File.dirname(options[:config]))
      end

      def address(options)
        host = options[:Host] || "localhost"
        "tcp://#{host.include?(':') ? "[#{host}]" : host}:#{options[:Port]}"
      end
    end
  end
end

# frozen_string_literal: true

require_relative ".."

module Elah
  module Rack
    # The handler for rackup: its Host and Port become an address to bind, and every option of Elah may follow as `-O queue_max=500`. The
    # environment and config/elah.rb apply as with `elah serve`.
    module Handler
      # Options of Elah whose names have another meaning in rackup.
      RACKUP_OWN = %i[config pidfile].freeze

      # @param app [#call] a Rack app
      # @param options [Hash] Host, Port and other options of rackup; names unknown to Elah are ignored
      # @yieldparam server [Elah::Server] before it runs
      # @raise [Elah::Error]
      def run(app, **options)
        enter_app_folder(options) if options[:daemonize]
        flags = options.slice(*(Options.names - RACKUP_OWN))
        flags[:bind] ||= address(options) if options[:Port]
        Elah.config = Config.load(flags: flags)
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

# frozen_string_literal: true

module Elah
  module CLI
    module Doctor
      # The versions of Ruby, Rack and Rails, the compiler, the native clients, and the hosts that Rails lets through.
      class Software
        # The versions that the tests have run with.
        RUBIES = %w[3.1 3.3 3.4 4.0].freeze
        RAILS = %w[6.1 7.2].freeze
        RACKS = %w[2.2 3.1].freeze

        CLIENTS = %w[Redis SQL Mongo].freeze
        private_constant :RUBIES, :RAILS, :RACKS, :CLIENTS

        # @param config [Elah::Config]
        def initialize(config)
          @config = config
        end

        # @return [Array<Finding>]
        def versions = %i[ruby yjit rack rails clients].flat_map { |check| Doctor.attempt(check) { send(check) } }

        # In development Rails refuses names that it does not know with 403, so that other machines meet an error that no log of Elah has.
        #
        # @return [Array<Finding>]
        def hosts
          application = (::Rails.application if defined?(::Rails) && ::Rails.respond_to?(:application)) or return []
          names = application.config.respond_to?(:hosts) ? Array(application.config.hosts) : []
          return [] if names.empty? || local?

          [Finding.new(level: :note, check: :hosts, message: "Rails lets #{names.size} hosts through and refuses others with 403",
                       remedy: "add yours to config.hosts", page: "docs/observability.md#what-elah-doctor-checks")]
        end

        private

        def local? = @config.bind.all? { |listener| listener.to_s.match?(%r{\A(?:unix:|tcp://(?:127\.|localhost|\[::1\]))}) }

        def ruby
          compared("ruby", RUBY_VERSION, RUBIES, "Ruby #{RUBY_VERSION} on #{RUBY_PLATFORM}, for which the native extension is built")
        end

        def yjit
          compiler = defined?(::RubyVM::YJIT) ? ::RubyVM::YJIT : nil
          return Finding.new(level: :ok, check: :yjit, message: "YJIT is not part of this Ruby") unless compiler
          return Finding.new(level: :ok, check: :yjit, message: "YJIT is on") if compiler.enabled?

          Finding.new(level: :note, check: :yjit, message: "YJIT is off", remedy: "try RUBYOPT=--yjit with a Rails or Sinatra app",
                      page: "docs/configuration.md#yjit")
        end

        def rack = (framework("Rack", ::Rack.release, RACKS) if defined?(::Rack) && ::Rack.respond_to?(:release))
        def rails = (framework("Rails", ::Rails.version, RAILS) if defined?(::Rails) && ::Rails.respond_to?(:version))

        # An app may define the constant without a version.
        def framework(name, version, known)
          version = version.to_s
          compared(name.downcase, version, known, version.empty? ? "#{name} does not name its version" : "#{name} #{version}")
        end

        def compared(check, version, known, message)
          return Finding.new(level: :ok, check: check, message: message) if known.include?(version[/\A\d+\.\d+/])

          Finding.new(level: :note, check: check, message: "#{message}; Elah's tests ran with #{known.join(', ')}",
                      remedy: "run your own tests on `elah serve` first", page: "README.md")
        end

        def clients
          missing = CLIENTS.reject { |name| defined?(Elah::Clients) && Elah::Clients.const_defined?(name, false) }
          return Finding.new(level: :ok, check: :clients, message: "The native clients #{CLIENTS.join(', ')} are built") if missing.empty?

          Finding.new(level: :note, check: :clients, message: "The native clients #{missing.join(', ')} are not built",
                      remedy: "`bin/setup --clients` builds them, if you use them", page: "docs/sql.md")
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative "template"

module Servers
  # Owns PostgreSQL. It refuses to run as root: root starts it as the user `postgres`.
  class PostgreSQL < Server
    STOP_SIGNAL = :INT # rolls open transactions back; TERM would wait for the clients
    READY = /database system is ready to accept connections/.freeze
    BIN = Dir["/usr/lib/postgresql/*/bin"].max_by { |path| path[/\d+/].to_i }
    USER = "elah"
    PASSWORD = "secret"
    DATABASE = "test"
    INITDB = %w[--encoding=UTF8 --locale=C --no-sync --wal-segsize=1 --auth=scram-sha-256].freeze
    UNSYNCED = { "fsync" => "off", "synchronous_commit" => "off", "full_page_writes" => "off" }.freeze

    # @return [String] postgres://elah:secret@127.0.0.1:PORT/test
    def url = "postgres://#{USER}:#{PASSWORD}@#{address}/#{DATABASE}"

    # @return [String] the same through its Unix socket
    def socket_url = "postgres://#{USER}:#{PASSWORD}@localhost:#{port}/#{DATABASE}?host=#{folder}"

    private

    def prepare
      version = Template.run("#{BIN}/postgres", "--version")[/[\d.]+/]
      Template.copy("postgresql-#{version}", __FILE__, data_path) { |template| build(template) }
      give_away(@folder)
    end

    # Made in a folder that the user `postgres` reaches, whatever is above the cache.
    def build(template)
      Dir.mktmpdir("elah-postgresql-template") do |folder|
        data = File.join(folder, "data")
        password_file = File.join(folder, "password").tap { |path| File.write(path, PASSWORD) }
        give_away(folder)
        Template.run(*as_user("#{BIN}/initdb", *INITDB, "--username=#{USER}", "--pwfile=#{password_file}",
                              "--pgdata=#{data}"), chdir: folder)
        Template.run(*as_user("#{BIN}/postgres", "--single", "-F", "-D", data, "postgres"),
                     stdin_data: "CREATE DATABASE #{DATABASE}\n", chdir: folder)
        Template.run("cp", "--archive", data, template)
      end
    end

    def command
      settings = arguments.merge(@settings)
      as_user("#{BIN}/postgres", "-D", data_path, *settings.flat_map { |name, value| ["-c", "#{name}=#{value}"] })
    end

    def arguments
      settings = { "port" => port, "listen_addresses" => "127.0.0.1", "unix_socket_directories" => @folder,
                   "max_connections" => 200 }
      settings.update(@durable ? { "recovery_init_sync_method" => "syncfs" } : UNSYNCED)
      settings.update("ssl" => "on", "ssl_cert_file" => @certificate.path,
                      "ssl_key_file" => @certificate.key_path) if tls?
      settings
    end

    def root? = Process.uid.zero?

    def as_user(*command)
      root? ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command] : command
    end

    def give_away(folder) = root? && FileUtils.chown_R("postgres", "postgres", folder)
  end
end

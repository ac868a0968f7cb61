# frozen_string_literal: true

require "etc"
require_relative "template"

module Servers
  # Owns MariaDB.
  class MariaDB < Server
    STOP_SIGNAL = :TERM
    READY = /ready for connections/.freeze
    USER = "elah"
    PASSWORD = "secret"
    DATABASE = "test"
    # The installation runs without accounts until the first line.
    SETUP = <<~SQL
      FLUSH PRIVILEGES;
      CREATE DATABASE #{DATABASE} CHARACTER SET utf8mb4;
      CREATE USER #{USER}@'127.0.0.1' IDENTIFIED BY '#{PASSWORD}';
      GRANT ALL ON *.* TO #{USER}@'127.0.0.1' WITH GRANT OPTION;
      CREATE USER #{USER}@localhost IDENTIFIED BY '#{PASSWORD}';
      GRANT ALL ON *.* TO #{USER}@localhost;
    SQL
    # Small files: what is copied for every start.
    LAYOUT = %w[--innodb-log-file-size=4M --innodb-data-file-path=ibdata1:5M:autoextend
                --innodb-undo-tablespaces=0].freeze

    # Settings for inserts without a pause. With the 4 MB of redo log above all who insert would wait for checkpoints:
    # they spin, and on one core the thread that makes the checkpoint may never get its turn.
    UNDER_LOAD = { "innodb-buffer-pool-size" => "2G", "innodb-log-file-size" => "512M" }.freeze

    # @return [String] mysql://elah:secret@127.0.0.1:PORT/test
    def url = "mysql://#{USER}:#{PASSWORD}@#{address}/#{DATABASE}"

    # @return [String] the same through its Unix socket
    def socket_url = "mysql://#{USER}:#{PASSWORD}@localhost/#{DATABASE}?socket=#{socket_path}"

    private

    def socket_path = File.join(@folder, "socket")

    def prepare
      version = Template.run("mariadbd", "--version")[/[\d.]+-MariaDB/]
      Template.copy("mariadb-#{version}", __FILE__, data_path) { |template| build(template) }
    end

    def build(template)
      setup = File.join(@folder, "setup.sql")
      File.write(setup, SETUP)
      Template.run("mariadb-install-db", "--no-defaults", "--datadir=#{template}", "--user=#{user}",
                   "--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=normal",
                   "--extra-file=#{setup}", *LAYOUT)
    end

    def command
      settings = arguments.merge(@settings)
      ["mariadbd", "--no-defaults", *LAYOUT, *settings.map { |name, value| "--#{name}=#{value}" }]
    end

    def arguments
      settings = { "datadir" => data_path, "port" => port, "bind-address" => "127.0.0.1", "socket" => socket_path,
                   "user" => user, "pid-file" => File.join(@folder, "pid"), "skip-name-resolve" => "ON",
                   "performance-schema" => "OFF", "innodb-fast-shutdown" => 2, "character-set-server" => "utf8mb4",
                   "max-connections" => 200 }
      settings.update("innodb-flush-log-at-trx-commit" => 0, "innodb-doublewrite" => 0,
                      "innodb-flush-method" => "nosync") unless @durable
      settings["ssl"] = "OFF" # of MariaDB 11.4 and later
      settings.update(tls) if tls?
      settings
    end

    def tls
      { "ssl" => "ON", "ssl-ca" => ca_file, "ssl-cert" => @certificate.path, "ssl-key" => @certificate.key_path }
    end

    # It runs as whoever runs the tests, and wants root to say so.
    def user = Etc.getpwuid.name
  end
end

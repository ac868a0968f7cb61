# frozen_string_literal: true

require "json"
require "net/http"
require "socket"
require "tmpdir"

module Servers
  # Owns three members of Patroni on 127.0.0.1, each with its PostgreSQL, which agree by Patroni's own Raft. Synchronous
  # mode is strict: without a synchronous standby nothing is committed.
  class Patroni
    PROGRAM = "/usr/bin/patroni"
    NAMES = %w[one two three].freeze
    # The least that Patroni accepts.
    TIMES = { ttl: 20, loop_wait: 1, retry_timeout: 3 }.freeze
    START_SECONDS = 180
    SUPERUSER = { username: PostgreSQL::USER, password: PostgreSQL::PASSWORD }.freeze
    REPLICATION = { username: "replicator", password: PostgreSQL::PASSWORD }.freeze
    PARAMETERS = { max_connections: 100, synchronous_commit: "on", shared_buffers: "32MB" }.freeze
    HBA = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256",
           "host replication all 127.0.0.1/32 scram-sha-256"].freeze
    AS_POSTGRES = %w[setpriv --reuid=postgres --regid=postgres --init-groups].freeze

    # @return [String, nil] why it cannot run here
    def self.obstacle
      "Patroni is missing: install the Debian packages patroni and python3-pysyncobj" unless File.executable?(PROGRAM)
    end

    # @yieldparam patroni [Patroni] with a leader and a synchronous standby; removed after the block
    def self.start
      patroni = new
      yield patroni
    ensure
      patroni&.remove
    end

    # @return [String] its temporary folder
    attr_reader :folder

    def initialize
      @folder = Dir.mktmpdir("elah-patroni")
      @ports = NAMES.to_h { |name| [name, { postgresql: free_port, api: free_port, raft: free_port }] }
      NAMES.each { |name| configure(name) }
      FileUtils.chown_R("postgres", "postgres", @folder)
      @processes = NAMES.to_h { |name| [name, launch(name)] }
      wait_for("all members") { members.size == NAMES.size && roles.values_at("leader", "sync_standby").all? }
      create_database
    rescue StandardError
      remove
      raise
    end

    # @return [String] postgres://elah:secret@HOST:PORT,HOST:PORT,HOST:PORT/test
    def url(database = PostgreSQL::DATABASE)
      hosts = @ports.values.map { |ports| "127.0.0.1:#{ports[:postgresql]}" }.join(",")
      "postgres://#{PostgreSQL::USER}:#{PostgreSQL::PASSWORD}@#{hosts}/#{database}"
    end

    # Kills the leader with its PostgreSQL, as a machine that dies.
    #
    # @return [String] its name
    def kill_leader
      roles.fetch("leader").tap { |name| [@processes.delete(name).pid, postgres(name)].each { |pid| kill(pid) } }
    end

    # @return [Hash{String=>String}] names by role: `leader`, `sync_standby`, `replica`
    def roles = members.to_h { |member| member.values_at("role", "name") }

    def log = NAMES.map { |name| "#{name}:\n#{File.read(log_path(name)).lines.last(30).join}" }.join("\n")

    # Ends all members, and removes their data.
    def remove
      @processes.to_h.each do |name, process|
        kill(process.pid)
        kill(postgres(name)) if File.exist?(pid_file(name))
      end
      @processes = nil
      FileUtils.remove_entry(@folder, true)
    end

    private

    def data(name) = File.join(@folder, name)
    def pid_file(name) = File.join(data(name), "postmaster.pid")
    def postgres(name) = File.read(pid_file(name)).to_i
    def log_path(name) = File.join(@folder, "#{name}.log")
    def local(port) = "127.0.0.1:#{port}"

    def free_port
      server = TCPServer.new("127.0.0.1", rand(Server::PORTS))
      server.local_address.ip_port.tap { server.close }
    rescue Errno::EADDRINUSE
      retry
    end

    # JSON is YAML.
    def configure(name)
      own = @ports.fetch(name)
      file = { scope: "elah", name: name, bootstrap: bootstrap,
               restapi: { listen: local(own[:api]), connect_address: local(own[:api]) },
               raft: { data_dir: File.join(@folder, "raft"), self_addr: local(own[:raft]),
                       partner_addrs: @ports.except(name).values.map { |ports| local(ports[:raft]) } },
               postgresql: postgresql(name, local(own[:postgresql])) }
      File.write(File.join(@folder, "#{name}.json"), JSON.generate(file))
    end

    def bootstrap
      { dcs: { **TIMES, synchronous_mode: true, synchronous_mode_strict: true,
                        postgresql: { parameters: PARAMETERS } },
        initdb: [{ encoding: "UTF8" }, { locale: "C" }] }
    end

    def postgresql(name, address)
      { listen: address, connect_address: address, data_dir: data(name), bin_dir: PostgreSQL::BIN,
        pgpass: File.join(@folder, "#{name}.pgpass"),
        authentication: { superuser: SUPERUSER, replication: REPLICATION }, pg_hba: HBA,
        parameters: { unix_socket_directories: @folder } }
    end

    def launch(name)
      command = [*AS_POSTGRES, PROGRAM, File.join(@folder, "#{name}.json")]
      Process.detach(Process.spawn(*command, in: File::NULL, %i[out err] => [log_path(name), "a"], chdir: @folder))
    end

    def create_database
      sql = Elah::SQL.new(leader_url("postgres"), connections_max: 1)
      sql.execute("CREATE DATABASE #{PostgreSQL::DATABASE}")
    ensure
      sql&.close
    end

    def leader_url(database)
      url(database).sub(/@[^\/]+/, "@#{local(@ports.fetch(roles.fetch('leader'))[:postgresql])}")
    end

    # @return [Array<Hash>] as a living member's API shows them
    def members
      @processes.to_h.each_key do |name|
        body = Net::HTTP.get(URI("http://#{local(@ports.fetch(name)[:api])}/cluster"))
        return JSON.parse(body).fetch("members").select { |member| %w[running streaming].include?(member["state"]) }
      rescue SystemCallError, IOError, JSON::ParserError, KeyError, Timeout::Error
        next
      end
      []
    end

    def kill(pid)
      Process.kill(:KILL, pid)
    rescue Errno::ESRCH
      nil # it has ended
    end

    def wait_for(what)
      give_up_at = monotonic + START_SECONDS
      until yield
        raise Failure, "Waited #{START_SECONDS} s for #{what}:\n#{log}" if monotonic > give_up_at

        IO.select(nil, nil, nil, 0.1)
      end
    end

    def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

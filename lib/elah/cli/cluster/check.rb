# frozen_string_literal: true

require "tmpdir"
require_relative "../../entity/peer_links"

module Elah
  module CLI
    module Cluster
      # What `elah cluster check` finds: a database that may lose confirmed writes, and processes that others cannot call. It calls each process that
      # has an address, from this machine.
      class Check
        # What the database must be like, with the query and the remedy for each.
        DATABASE = {
          "SELECT current_setting('server_version_num')::int >= 150000" => "PostgreSQL is older than 15: use a later one.",
          "SELECT current_setting('fsync')::bool" => "fsync is off: a crash of the database loses confirmed writes.",
          "SELECT current_setting('synchronous_commit') <> 'off'" => "synchronous_commit is off: a crash of the database loses confirmed writes.",
          "SELECT current_setting('synchronous_standby_names') <> ''" =>
            "There is no synchronous standby: a failover may lose confirmed writes. Set synchronous_standby_names.",
          "SELECT current_setting('synchronous_standby_names') = '' OR current_setting('synchronous_commit') IN ('off', 'on', 'remote_apply')" =>
            "synchronous_commit does not wait until the standby has a write on its disk: a failover may lose confirmed writes. Set it to on.",
          "SELECT NOT pg_is_in_recovery()" => "This is a standby: name the primary in the URL.",
          "SELECT pg_is_in_recovery() OR NOT current_setting('transaction_read_only')::bool" =>
            "The database is read-only for this user: set default_transaction_read_only to off.",
          "SELECT current_setting('statement_timeout') = '0'" =>
            "statement_timeout is set for this user: it may report a write as failed that is stored. Set it to 0."
        }.freeze
        NAME = "SELECT name::text FROM elah_cluster"
        PROCESSES = "SELECT writer, node, address FROM elah_writers WHERE serves AND NOT fenced ORDER BY node, started"
        # A call with no effect: no events of broadcasts.
        NOTHING = [nil, false, []].freeze
        CALL_SECONDS = 5
        private_constant :DATABASE, :NAME, :PROCESSES, :NOTHING, :CALL_SECONDS

        # @param sql [Elah::SQL] the database
        # @param config [Elah::Config] of a machine of the cluster: `cluster_node` and `cluster_tls`
        def initialize(sql, config)
          @sql = sql
          @config = config
          @processes = sql.query(PROCESSES).to_a
          @name = sql.value(NAME)
        end

        # @return [Array<String>] what is wrong, each with the remedy
        def findings = database + names + (calls? ? calls : [])

        # @return [Boolean] whether it calls the processes: for most addresses this needs a certificate
        def calls? = !@config.cluster_tls.nil? || addresses.none? { |address| address.start_with?("tls:") }

        private

        def database = DATABASE.filter_map { |query, finding| finding unless @sql.value(query) }

        def names
          nodes = @processes.group_by { |process| process["node"] }
          nodes.filter_map do |node, processes|
            hosts = processes.map { |process| process["address"][/@(.+):/, 1] }.uniq
            next "#{node} is the name of several machines (#{hosts.join(', ')}): give each another cluster_node." if hosts.compact.size > 1

            "No other machine can call the processes of #{node}: set cluster_listen there." if nodes.size > 1 && hosts.include?(nil)
          end
        end

        def addresses = @processes.filter_map { |process| "#{process['address']}/#{process['writer']}" unless process["address"].empty? }

        def calls
          Dir.mktmpdir do |folder|
            Elah.run do
              links = PeerLinks.open(Elah.current_loop, File.join(folder, "check.sock"), port: PeerLinks::Port.for_calls(@config)) { nil }
              links.identify(@name, Random.rand(1 << 62))
              addresses.filter_map { |address| Elah.async { failure(links.peer(address)) } }.filter_map(&:value)
            ensure
              links&.close
            end
          end
        end

        def failure(peer)
          peer.call(NOTHING, CALL_SECONDS)
          nil
        rescue DeadlineExceeded, Unavailable => e
          "#{peer.address} was called in vain: #{e.message}"
        end
      end
    end
  end
end

# frozen_string_literal: true

require_relative ".."
require_relative "../store"
require_relative "cluster/check"

module Elah
  module CLI
    # The command `elah cluster ACTION`: shows the processes of a cluster, empties a machine, checks the database, and imports a folder.
    module Cluster
      ACTIONS = %w[status drain check import].freeze
      FIGURES = %w[lag_ms losses restores drops moves].freeze
      COLUMNS = ["writer", "node", "state", "version", "shards", *FIGURES.map { |name| name.tr("_", " ") }, "address"].freeze
      WRITERS = <<~SQL
        SELECT w.writer, w.node, w.address, w.version, w.serves, w.ready, w.draining, count(s.shard) AS shards,
          coalesce(f.lag_ms, 0) AS lag_ms, coalesce(f.losses, 0) AS losses, coalesce(f.restores, 0) AS restores,
          coalesce(f.drops, 0) AS drops, coalesce(f.moves, 0) AS moves
        FROM elah_writers w LEFT JOIN elah_shards s USING (writer) LEFT JOIN elah_figures f USING (writer)
        WHERE NOT w.fenced GROUP BY w.writer, f.writer ORDER BY w.node, w.started
      SQL
      VERSION = "SELECT version FROM elah_cluster"
      STANDBYS = "SELECT application_name AS name, sync_state AS state, extract(epoch FROM coalesce(replay_lag, '0'))::float8 AS lag_seconds " \
                 "FROM pg_stat_replication ORDER BY 1"
      FREE = <<~SQL
        SELECT count(*) FROM elah_shards s WHERE NOT EXISTS (SELECT FROM elah_writers w WHERE w.writer = s.writer AND NOT w.fenced)
      SQL
      # Machines, and whether a process there takes shards.
      NODES = "SELECT node, bool_or(ready AND NOT draining) FROM elah_writers WHERE NOT fenced GROUP BY node"
      DRAIN = "UPDATE elah_writers SET draining = true WHERE node = ? AND NOT fenced"
      # The channel by which processes tell each other to look at the owners.
      ANNOUNCE = "NOTIFY elah_owners"
      private_constant :FIGURES, :WRITERS, :VERSION, :STANDBYS, :FREE, :NODES, :DRAIN

      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error]
        def run(argv, out:)
          is_json = argv.include?("--json")
          arguments = Arguments.new(argv - ["--json"], files_max: Float::INFINITY)
          action, *names = arguments.words
          return Help.run(["cluster"], out: out) if arguments.help? || action.nil?

          ACTIONS.include?(action) or raise OptionError, "Unknown action #{action}.#{Options.did_you_mean(action, ACTIONS)} " \
                                                         "Actions: #{ACTIONS.join(', ')}."
          url = arguments.config.cluster or raise OptionError, "Set --cluster to the URL of the cluster's database, or ELAH_CLUSTER."
          return import(arguments.config, url, names, out) if action == "import"

          with_database(url) do |sql|
            case action
            when "status" then status(sql, is_json, out)
            when "drain" then drain(sql, names, out)
            when "check" then check(sql, arguments.config, out)
            end
          end
        end

        private

        def import(config, url, paths, out)
          raise OptionError, "elah cluster import needs the folder of one store, or the data folder of an app with one." unless paths.size == 1

          Elah.config = config
          folder, identity = store_in(Text.path(paths.first), config.data)
          import = Elah::Store::Cluster::Import.new(folder, identity, url, config.shards)
          report = import.run { |name, done, total| out.puts "#{Text.printable(name)}: #{done} of #{total} entries" }
          out.puts "Imported #{report.tables} tables with #{report.entries} entries (#{report.bytes} bytes), and #{report.counters} counters with " \
                   "#{report.counts} counts. The database has as many."
        rescue Elah::Store::InUse => e
          users = FolderUsers.of(folder)
          raise Error, users.empty? ? e.message : "#{e.message} It is in use by #{users.join(', ')}."
        end

        # The folder of the store, and its identity for the app.
        def store_in(path, data)
          dir = File.realpath(path)
          found = Elah::Store::Backup::Contents.stores(dir).reject { |store| Elah::Store::Backup::Contents.ledger?(File.join(dir, store)) }
          return [dir, Elah::Store.identity_of(dir, data)] if found == ["."]
          return [File.join(dir, found[0]), found[0]] if found.size == 1

          names = found.empty? ? "no store" : "several stores (#{found.join(', ')}): name the folder of one"
          raise Error, "#{path} has #{names}. The ledgers of sinks stay with their machine."
        rescue SystemCallError => e
          raise Error, "#{path} cannot be read: #{e.message}."
        end

        def with_database(url)
          sql = SQL.new(Elah::Store::Cluster.primary(url), connections_max: 1)
          yield sql
        rescue SQL::SyntaxError
          raise Error, "The database has no cluster of this version: the first server that opens it creates its tables."
        ensure
          sql&.close
        end

        def status(sql, is_json, out)
          writers = sql.query(WRITERS)
          free = sql.value(FREE)
          version = sql.value(VERSION)
          standbys = sql.query(STANDBYS)
          if is_json
            return out.puts(JSON.generate("writers" => writers, "shards_without_owner" => free, "version" => version, "standbys" => standbys))
          end

          out.puts "#{writers.size} processes on #{writers.map { |writer| writer['node'] }.uniq.size} machines, #{free} shards without an owner"
          out.puts "All work by version #{version} of the protocol" if writers.any? { |writer| writer["version"] != version }
          standbys.each { |standby| out.puts format("standby %<name>s: %<state>s, %<lag>.3f s behind", **of_standby(standby)) }
          Status.print_table([COLUMNS, *writers.map { |writer| row(writer) }], out) if writers.any?
        end

        def row(writer)
          ready = writer["ready"] ? "ready" : "joining"
          ready = "script" unless writer["serves"]
          address = writer["address"].empty? ? "-" : writer["address"]
          state = writer["draining"] ? "draining" : ready
          [*writer.values_at("writer", "node"), state, *writer.values_at("version", "shards", *FIGURES), address].map(&:to_s)
        end

        # A user who may not see them has no names and times.
        def of_standby(standby) = { name: standby["name"] || "?", state: standby["state"] || "?", lag: standby["lag_seconds"] || 0 }

        # Its processes hand over their shards, and go on to serve requests, until they are restarted.
        def drain(sql, nodes, out)
          raise OptionError, "elah cluster drain needs the name of one machine; see elah cluster status." unless nodes.size == 1

          node = nodes[0]
          takes_shards = sql.rows(NODES).to_h
          raise Error, "No process of the cluster runs on #{node}; see elah cluster status." unless takes_shards.key?(node)
          unless takes_shards.except(node).value?(true)
            raise Error, "No other machine takes the shards of #{node}, so it keeps them: start another one, or restart one that was drained."
          end

          count = sql.execute(DRAIN, node).affected_rows
          sql.execute(ANNOUNCE)
          out.puts "#{count} processes of #{node} hand over their shards. Restart them to give them shards again."
        end

        def check(sql, config, out)
          check = Check.new(sql, config)
          findings = check.findings
          free = sql.value(FREE)
          findings << "#{free} shards have no owner: no process of the cluster runs, or it just changes." unless free.zero?
          out.puts "The processes were not called: this needs the options cluster_node and cluster_tls of a machine." unless check.calls?
          findings.each { |finding| out.puts "warning  #{finding}" }
          raise Error, "#{findings.size} warning#{'s' unless findings.one?}." if findings.any?

          out.puts "The database, the owners and the calls between processes are as they should be."
        end
      end
    end
  end
end

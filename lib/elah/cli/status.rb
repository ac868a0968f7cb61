# frozen_string_literal: true

require_relative ".."
require_relative "../server/status"

module Elah
  module CLI
    # The command `elah status`: finds the servers of this user by their boards, and prints their figures.
    module Status
      COLUMNS = %w[worker process state up connections requests open waiting fibers lag memory shards replaced].freeze
      ENTITY_COLUMNS = %w[worker entities claimed received sent].freeze
      PEER_COLUMNS = %w[worker calls state allowance open late limited].freeze

      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error] when no server runs
      # @raise [Elah::OptionError]
      def self.run(argv, out:)
        is_json = !argv.delete("--json").nil?
        arguments = Arguments.new(argv)
        return Help.run(["status"], out: out) if arguments.help?
        raise OptionError, "elah status accepts flags only: remove #{arguments.file}. --pidfile chooses a server." if arguments.file

        found = servers(arguments.config)
        return out.puts(JSON.generate(found.map { |dir, status| values(dir, status) })) if is_json

        found.each { |dir, status| print_server(dir, status, out) }
      end

      def self.servers(config)
        process_id = written(config.pidfile) if config.pidfile
        dirs = RunDir.all(config.run_dir)
        dirs.select! { |dir| dir.process_id == process_id } if process_id
        raise Error, none(config, process_id) if dirs.empty?

        dirs.filter_map do |dir|
          [dir, Elah::Status.new(Scoreboard.open(dir.scoreboard_path))]
        rescue RunDirError => e # of another version of Elah, or of a server that has ended meanwhile
          raise if dirs.one?

          warn "elah: #{e.message}"
        end
      end

      def self.written(pidfile)
        File.read(pidfile).to_i
      rescue SystemCallError => e
        raise Error, "The pid file #{pidfile} cannot be read: #{e.class.new.message}. Set --pidfile to that of a running server."
      end

      def self.none(config, process_id)
        base = RunDir.base(config.run_dir)
        return "No server of this user runs below #{base}: set --run-dir to the folder of the server." unless process_id

        "No server of this user runs below #{base} as process #{process_id} of #{config.pidfile}: set --run-dir to the folder of the server."
      end

      def self.values(dir, status) = { pid: dir.process_id, folder: dir.path, addresses: dir.addresses, **status.to_h }

      def self.print_server(dir, status, out)
        server = status.server
        title = [dir.process_id, dir.addresses].compact.join(" on ")
        out.puts "Process #{title}, up #{duration(server[:uptime_seconds])}, #{supervision(server)}, #{server[:shards]} shards"
        replaced = status.replaced
        workers = status.workers
        print_table([COLUMNS, *workers.map { |worker| row(worker, replaced) }], out)
        print_entities(workers, out)
        apps = workers.reject { |worker| worker[:app].empty? }
        apps.each { |worker| out.puts "worker #{worker[:slot]}: #{worker[:app].map { |name, value| "#{name} #{value}" }.join(', ')}" }
      end

      # Only for a server whose workers have entities or have called some.
      def self.print_entities(workers, out)
        entities = workers.map { |worker| worker.values_at(:slot, :entities, :shards_claimed, :calls_received, :calls_sent) }
        print_table([ENTITY_COLUMNS, *entities], out, "Entities") if entities.any? { |row| row.drop(1).any?(&:positive?) }
        peers = workers.flat_map { |worker| worker[:peers].map { |peer| [worker[:slot], *peer_row(peer)] } }
        print_table([PEER_COLUMNS, *peers], out, "Calls between workers") if peers.any?
      end

      def self.peer_row(peer)
        [peer[:slot], peer[:state], peer[:allowance] || "unlimited", *peer.values_at(:calls, :late_calls, :limited_calls)]
      end

      def self.supervision(server)
        return "one process" if server[:supervisor_pid].zero?
        return "its supervisor has been silent for #{server[:silent_seconds]} s" if server[:silent_seconds].positive?

        "#{server[:slots]} workers wanted"
      end

      def self.row(worker, replaced)
        state = worker[:silent_seconds].positive? ? "silent #{worker[:silent_seconds]} s" : worker[:state]
        counts = replaced.fetch(worker[:slot], {}).select { |_, count| count.positive? }
        [worker[:slot], worker[:pid], state, duration(worker[:uptime_seconds]),
         *worker.values_at(:connections, :requests, :open_requests, :waiting_requests, :fibers),
         "#{worker[:lag_ms]} ms (max #{worker[:lag_ms_max]})", "#{(worker[:anonymous_bytes] / 1_000_000.0).round(1)} MB", worker[:shards],
         counts.empty? ? "0" : counts.map { |reason, count| "#{count} #{reason}" }.join(", ")]
      end

      def self.duration(seconds)
        return "#{seconds.round} s" if seconds < 120

        seconds < 7200 ? "#{(seconds / 60).round} min" : "#{(seconds / 3600).round} h"
      end

      # Prints rows in columns.
      #
      # @param rows [Array<Array<#to_s>>]
      # @param out [IO]
      # @param title [String, nil] a line above them
      def self.print_table(rows, out, title = nil)
        out.puts title if title
        rows = rows.map { |row| row.map(&:to_s) }
        widths = rows.transpose.map { |column| column.map(&:size).max }
        rows.each { |row| out.puts row.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }
      end
      private_class_method :servers, :written, :none, :values, :print_server, :print_entities, :peer_row, :supervision, :row, :duration
    end
  end
end

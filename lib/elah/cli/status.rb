# frozen_string_literal: true

require_relative "../../elah"
require_relative "../status"

module Elah
  module CLI
    # Owns `elah status`: it finds the servers of this user by their boards, and prints what these say.
    module Status
      COLUMNS = %w[worker process state up connections requests open waiting fibers lag memory shards replaced].freeze

      # @param argv [Array<String>]
      # @param out [IO]
      # @raise [Elah::Error] when no server runs
      def self.run(argv, out:)
        is_json = !argv.delete("--json").nil?
        arguments = Arguments.new(argv)
        return Help.run(["status"], out: out) if arguments.help?

        found = servers(arguments.config)
        return out.puts(JSON.generate(found.map { |dir, status| { pid: dir.process_id, folder: dir.path, **status.to_h } })) if is_json

        found.each { |dir, status| print_server(dir, status, out) }
      end

      def self.servers(config)
        dirs = RunDir.all(config.run_dir)
        dirs.select! { |dir| dir.process_id == File.read(config.pidfile).to_i } if config.pidfile
        raise Error, "No server of this user runs below #{RunDir.base(config.run_dir)}." if dirs.empty?

        dirs.to_h { |dir| [dir, Elah::Status.new(Board.open(dir.board_path))] }
      rescue Errno::ENOENT
        raise Error, "There is no pid file #{config.pidfile}."
      end

      def self.print_server(dir, status, out)
        server = status.server
        out.puts "Process #{dir.process_id}, up #{duration(server[:uptime_seconds])}, #{supervision(server)}, #{server[:shards]} shards"
        replaced = status.replaced
        rows = status.workers.map { |worker| row(worker, replaced) }
        print_table([COLUMNS, *rows], out)
        apps = status.workers.reject { |worker| worker[:app].empty? }
        apps.each { |worker| out.puts "worker #{worker[:slot]}: #{worker[:app].map { |name, value| "#{name} #{value}" }.join(', ')}" }
      end

      def self.supervision(server)
        return "one process" if server[:supervisor_pid].zero?
        return "its supervisor is silent for #{server[:silent_seconds]} s" if server[:silent_seconds].positive?

        "#{server[:slots]} workers wanted"
      end

      def self.row(worker, replaced)
        state = worker[:silent_seconds].positive? ? "silent #{worker[:silent_seconds]} s" : worker[:state]
        counts = replaced.fetch(worker[:slot], {}).select { |_, count| count.positive? }
        [worker[:slot], worker[:pid], state, duration(worker[:uptime_seconds]),
         *worker.values_at(:connections, :requests, :open_requests, :waiting_requests, :fibers),
         "#{worker[:lag_ms]} ms (max #{worker[:lag_ms_max]})", "#{(worker[:rss_bytes] / 1_000_000.0).round(1)} MB", worker[:shards],
         counts.empty? ? "0" : counts.map { |reason, count| "#{count} #{reason}" }.join(", ")].map(&:to_s)
      end

      def self.duration(seconds)
        return "#{seconds.round} s" if seconds < 120

        seconds < 7200 ? "#{(seconds / 60).round} min" : "#{(seconds / 3600).round} h"
      end

      def self.print_table(rows, out)
        widths = rows.transpose.map { |column| column.map(&:size).max }
        rows.each { |row| out.puts row.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }
      end
      private_class_method :servers, :print_server, :supervision, :row, :duration, :print_table
    end
  end
end

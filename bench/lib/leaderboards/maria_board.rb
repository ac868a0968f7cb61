# frozen_string_literal: true

require_relative "../../../test/support/servers"

module Bench
  class Leaderboards
    # Owns a MariaDB with the original's tables, filled by itself: ten games, boards and 10,000 scores on each, as its seeds had them.
    module MariaBoard
      APP = "apps/leaderboards/grape_active_record/config.ru"
      BOARDS = 10
      SCORES = 10_000
      # More than requests are under way at once.
      SETTINGS = { "max-connections" => 1200, "innodb-buffer-pool-size" => "512M" }.freeze
      FILL = [
        "INSERT INTO games SELECT seq, concat('game ', seq), now(), now() FROM seq_1_to_#{BOARDS}",
        "INSERT INTO leaderboards SELECT seq, concat('board ', seq), now(), now(), seq FROM seq_1_to_#{BOARDS}",
        "INSERT INTO users SELECT seq, concat('user ', seq), now(), now(), null FROM seq_1_to_#{SCORES}",
        "INSERT INTO scores (leaderboard_id, user_id, value, created_at, updated_at) " \
        "SELECT b.seq, u.seq, floor(rand(1) * 1000000000), now(), now() FROM seq_1_to_#{BOARDS} b, seq_1_to_#{SCORES} u"
      ].freeze

      module_function

      # @yieldparam url [String]
      def start
        ::Servers::MariaDB.start(settings: SETTINGS) do |database|
          fill(database.url)
          Bench.pin(database.pid, GENERATOR_CORE)
          yield database.url
        end
      end

      def fill(url)
        # Not before the extension is built with the clients.
        $LOAD_PATH.unshift(File.join(ROOT, "lib"))
        require "elah"
        require_relative "../../../apps/leaderboards/grape_active_record/records"
        ActiveRecord::Base.establish_connection(url: url.sub("mysql:", "mysql2:"))
        ::Leaderboards::Records.make_tables
        FILL.each { |statement| ActiveRecord::Base.connection.execute(statement) }
        ActiveRecord::Base.connection_pool.disconnect!
      end

      # @return [String] a file of 10,000 paths, each of one user
      def paths_file
        random = Random.new(1)
        file = File.join(Bench.work_directory, "leaderboards-users.txt")
        File.write(file, Array.new(LINES) { "/leaderboards/#{random.rand(1..BOARDS)}/users/#{random.rand(1..SCORES)}\n" }.join)
        file
      end
    end
  end
end

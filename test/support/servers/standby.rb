# frozen_string_literal: true

module Servers
  # Owns a standby of a PostgreSQL server: a copy that follows the primary until it is promoted.
  class Standby < PostgreSQL
    READY = /database system is ready to accept (read-only )?connections/.freeze
    NAME = "standby"
    SENDER = "SELECT pid, sync_state FROM pg_stat_replication WHERE application_name = ? AND state = 'streaming'"

    # @param primary [PostgreSQL]
    # @param synchronous [Boolean] whether each commit of the primary waits for it
    # @return [Standby] one that follows
    def self.start(primary, synchronous:, **options)
      super(primary: primary, **options).tap { |standby| standby.follow(synchronous) }
    end

    def initialize(primary:, **options)
      @primary = primary
      super(**options)
    end

    # Waits until the primary sends, and waits for the standby if that is wanted.
    #
    # @api private
    def follow(synchronous)
      ask do |sql|
        sql.execute("ALTER SYSTEM SET synchronous_standby_names = '#{"FIRST 1 (#{NAME})" if synchronous}'")
        sql.execute("SELECT pg_reload_conf()")
        state = synchronous ? "sync" : "async"
        wait_for("the primary to send") { sql.rows(SENDER, NAME).dig(0, 1) == state }
      end
    end

    # Stops the process of the primary that sends to the standby: what is committed from now on does not arrive.
    def cut_off
      pid = ask { |sql| sql.rows(SENDER, NAME).fetch(0).fetch(0) }
      send_signal(:STOP, pid)
      wait_for("the sender to stand still") { thread_states(pid).all?("T") }
    end

    # Makes it the primary. Returns when it accepts writes.
    def promote
      Template.run(*as_user("#{BIN}/pg_ctl", "promote", "--wait", "--timeout=#{START_SECONDS}", "-D", data_path))
    end

    private

    def ask
      sql = Elah::SQL.new(@primary.url, connections_max: 1)
      yield sql
    ensure
      sql&.close
    end

    def prepare
      give_away(@folder)
      source = "host=127.0.0.1 port=#{@primary.port} user=#{USER} password=#{PASSWORD} application_name=#{NAME}"
      Template.run(*as_user("#{BIN}/pg_basebackup", "--dbname=#{source}", "--write-recovery-conf", "--checkpoint=fast",
                            "--pgdata=#{data_path}"), chdir: @folder)
    end
  end
end

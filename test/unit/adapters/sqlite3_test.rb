# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "support/gems"
return unless Gems.present?("sqlite3")

require "sqlite3"
require "tmpdir"

# A fiber that waits for another connection's lock, from outside.
class SQLite3AdapterTest < Minitest::Test
  # The exception could not pass through SQLite, and keeping it failed: the fiber was told that the database is busy,
  # and nobody had cancelled it.
  def test_who_is_cancelled_in_the_wait_for_a_lock_is_told_so_at_its_next_wait
    Dir.mktmpdir do |folder|
      Elah::Adapters.install
      holder, waiter = Array.new(2) { SQLite3::Database.new(File.join(folder, "database")) }
      holder.execute("BEGIN EXCLUSIVE")
      waiter.busy_timeout = 60_000
      Elah.run do
        busy = nil
        fiber = Elah.async do
          busy = assert_raises(SQLite3::BusyException) { waiter.execute("BEGIN EXCLUSIVE") }
          Thread::Queue.new.pop
        end
        fiber.cancel
        assert_raises(Elah::Cancelled) { fiber.value }
        assert busy
      end
    ensure
      [holder, waiter].each(&:close)
    end
  end
end

# frozen_string_literal: true

# What the errors of drivers mean, with the drivers' own classes.
require "test_helper"
require "support/gems"
return unless Gems.present?("activerecord", "mysql2", "pg", "redis")

require "active_record"
require "mysql2"
require "pg"
require "redis"

class ErrorMappingTest < Minitest::Test
  def meaning(exception)
    meaning = Elah::Adapters::ErrorMapping.of(exception)
    meaning && [meaning.status, meaning.code]
  end

  # An error as ActiveRecord raises it: with what the driver said as its cause.
  def wrapped(cause)
    raise cause
  rescue StandardError
    begin
      raise ActiveRecord::StatementInvalid, "wrapped"
    rescue ActiveRecord::StatementInvalid => e
      e
    end
  end

  def test_a_pool_without_a_free_connection
    assert_equal [503, "pool_exhausted"], meaning(ActiveRecord::ConnectionTimeoutError.new("none"))
  end

  def test_a_server_that_is_away
    [PG::ConnectionBad.new("gone"), PG::AdminShutdown.new("stopped"), Redis::CannotConnectError.new("refused"),
     Mysql2::Error::ConnectionError.new("gone"),
     ActiveRecord::ConnectionNotEstablished.new("refused")].each do |exception|
      assert_equal [503, "store_unavailable"], meaning(exception), exception.class
    end
  end

  def test_a_query_that_took_too_long
    [ActiveRecord::QueryCanceled.new("late"), ActiveRecord::StatementTimeout.new("late"),
     PG::QueryCanceled.new("late")].each do |exception|
      assert_equal [504, "query_timeout"], meaning(exception), exception.class
    end
  end

  def test_what_active_record_has_wrapped
    assert_equal [503, "store_unavailable"], meaning(wrapped(PG::UnableToSend.new("no connection")))
    assert_nil meaning(wrapped(PG::UndefinedTable.new("no table")))
  end

  def test_what_is_the_apps_own_affair
    assert_nil meaning(ActiveRecord::RecordNotFound.new("none"))
    assert_nil meaning(ArgumentError.new("wrong"))
  end

  def test_the_message_is_kept
    assert_equal "gone", Elah::Adapters::ErrorMapping.of(PG::ConnectionBad.new("gone")).message
  end
end
